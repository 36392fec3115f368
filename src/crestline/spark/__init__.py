"""The same queries on Spark: the only place that knows pyspark."""

from crestline.core.extras import need

for _package in ("pyspark", "pandas"):  # PySpark hands batches to Python by pandas
    need(_package, "Spark")

from crestline.spark.each_batch import EachBatch  # noqa: E402  (after the check)
from crestline.spark.explain import FrameExplanation, explain  # noqa: E402
from crestline.spark.pipeline import rejects, topk  # noqa: E402

__all__ = ["EachBatch", "FrameExplanation", "explain", "rejects", "topk"]

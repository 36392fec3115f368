"""The same queries on Spark: the only place that knows pyspark."""

from crestline.spark.pipeline import rejects, topk

__all__ = ["rejects", "topk"]

"""The stages that run in Spark's Python workers.

The stages know no Spark. They take and give Arrow batches, frames of bytes and state bytes, so they
can be tested without a cluster. A few rows of bytes move between them: every type stays as it is,
and neither pandas nor the JVM looks inside. Where all tasks reach one folder, what is large goes
there as a file, and the row tells its place.

=========  =======================================  ===========================================
stage      takes                                    gives
=========  =======================================  ===========================================
``Scan``   numbers of tasks; it reads their files   ``bucket, payload``: records that can matter
``Prune``  the projected records of a frame         the same
``Step``   all payloads of a bucket, and its state  ``member, query, kind, payload ...``, state
``Merge``  those rows, of all buckets               the same, with answers of shards merged
``Unpack`` those rows                               result rows, or rejects
=========  =======================================  ===========================================
"""

from crestline.spark.stages.member import Member
from crestline.spark.stages.merge import Merge
from crestline.spark.stages.prune import Prune
from crestline.spark.stages.scan import Layout, NumberedPiece, Scan
from crestline.spark.stages.sieve import Reading
from crestline.spark.stages.step import (
    BoundedRun,
    KeptRun,
    Run,
    RunTasks,
    Step,
    bounded_step,
    stateful_step,
)
from crestline.spark.stages.unpack import Unpack

__all__ = [
    "BoundedRun",
    "KeptRun",
    "Layout",
    "Member",
    "Merge",
    "NumberedPiece",
    "Prune",
    "Reading",
    "Run",
    "RunTasks",
    "Scan",
    "Step",
    "Unpack",
    "bounded_step",
    "stateful_step",
]

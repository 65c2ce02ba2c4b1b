"""Where work runs: a function over partitions, here, in local processes, or on a Dask cluster.

What comes out is the same wherever it runs: partitions depend on the input alone, results come
in their order, and a partition's output takes its place only when it is whole.
"""

from dialeval.engine.inputs import Partition, partitions
from dialeval.engine.outputs import Output
from dialeval.engine.shuffle import bucket_frames, buckets_for, spilling
from dialeval.engine.work import Work, opened_work
from dialeval.engine.workers import Engine, WorkerLostError, open_engine, without_cycles

__all__ = [
    "Engine",
    "Output",
    "Partition",
    "Work",
    "WorkerLostError",
    "bucket_frames",
    "buckets_for",
    "open_engine",
    "opened_work",
    "partitions",
    "spilling",
    "without_cycles",
]

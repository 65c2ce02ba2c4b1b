"""Where work runs: a function over partitions, here, in local processes, or on a Dask cluster.

What comes out is the same wherever it runs: partitions depend on the input alone, results come
in their order, and a partition's output takes its place only when it is whole.
"""

from dialeval.engine.inputs import Partition, partitions
from dialeval.engine.outputs import Conversion, Output, convert_part
from dialeval.engine.shuffle import bucket_frames, buckets_for, spilling
from dialeval.engine.work import Work, opened_work, room_beside
from dialeval.engine.workers import Engine, WorkerLostError, open_engine, without_cycles

__all__ = [
    "Conversion",
    "Engine",
    "Output",
    "Partition",
    "Work",
    "WorkerLostError",
    "bucket_frames",
    "buckets_for",
    "convert_part",
    "open_engine",
    "opened_work",
    "partitions",
    "room_beside",
    "spilling",
    "without_cycles",
]

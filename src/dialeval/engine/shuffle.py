"""A shuffle: rows that share a key come together, wherever they were, through files on disk.

Every partition writes one spill file, its rows in buckets by the hash of their key; then every
bucket is read from all spill files. Memory holds a part of a partition, or one bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from dialeval.core.files import replacing
from dialeval.engine.inputs import SIZE, Partition

HELD = 2 * SIZE
"""Bytes of rows that a spill holds in memory before it writes them."""
Frame = tuple[list[str], list[bytes]]
"""Keys, and the rows that they are of."""
_FRAME = msgspec.msgpack.Decoder(Frame)
_OFFSET = np.dtype("<u8")


def buckets_for(parts: Sequence[Partition], size: int = SIZE) -> int:
    """How many buckets the rows of these partitions need, to be of about `size` bytes each."""
    return max(1, -(-sum(part.weight for part in parts) // size))


def bucket_of(keys: Sequence[str], buckets: int) -> NDArray[np.uint32]:
    """The bucket of each key: on any machine the same.

    >>> bucket_of(["a", "b", "a"], 10).tolist()
    [7, 1, 7]
    """
    hashes = np.fromiter(map(crc32, map(str.encode, keys)), np.uint32, len(keys))
    return hashes % np.uint32(buckets)


class Spill:
    """Rows of one partition on their way to the buckets of their keys.

    A file holds runs, written whenever enough rows have come; a run holds a frame a bucket.
    At the end stand the offsets of all frames, and the number of runs.
    """

    def __init__(self, stream: IO[bytes], buckets: int, held: int = HELD) -> None:
        self.buckets, self.held = buckets, held
        self._stream = stream
        self._offsets: list[int] = []
        self._runs = 0
        self._begin()

    def _begin(self) -> None:
        self._frames: list[Frame] = [([], []) for _ in range(self.buckets)]
        self._size = 0

    def add(self, keys: Sequence[str], rows: Sequence[bytes]) -> None:
        """Take rows with their keys; rows of a bucket keep their order."""
        if not keys:
            return
        bucket = bucket_of(keys, self.buckets)
        order = np.argsort(bucket, kind="stable")
        by_key, by_row = np.array(keys, object)[order].tolist(), _objects(rows)[order].tolist()
        ends = np.searchsorted(bucket[order], np.arange(self.buckets), side="right").tolist()
        start = 0
        for (held_keys, held_rows), end in zip(self._frames, ends, strict=True):
            if end > start:
                held_keys += by_key[start:end]
                held_rows += by_row[start:end]
            start = end
        self._size += sum(map(len, rows))
        if self._size >= self.held:
            self.write_run()

    def write_run(self) -> None:
        """Write what is held."""
        encode = msgspec.msgpack.Encoder().encode
        for place, frame in enumerate(self._frames):
            self._offsets.append(self._stream.tell())
            if frame[0]:
                self._stream.write(encode(frame))
            self._frames[place] = ([], [])
        self._offsets.append(self._stream.tell())
        self._runs += 1
        self._begin()

    def finish(self) -> None:
        """Write the rest, and the offsets."""
        if self._size or not self._runs:
            self.write_run()
        self._stream.write(np.array([*self._offsets, self._runs], _OFFSET).tobytes())


def _objects(rows: Sequence[bytes]) -> NDArray[np.object_]:
    array = np.empty(len(rows), object)
    array[:] = rows
    return array


@contextmanager
def spilling(path: Path, buckets: int) -> Iterator[Spill]:
    """A spill that becomes the file `path`, whole, when the block ends well.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with spilling(Path(folder) / "spill", buckets=2) as spill:
    ...         spill.add(["a", "b", "d", "a"], [b"1", b"2", b"3", b"4"])
    ...     [*bucket_frames([Path(folder) / "spill"], 1, buckets=2)]
    [(['a', 'b', 'a'], [b'1', b'2', b'4'])]
    """
    with replacing(path) as temporary, temporary.open("wb") as stream:
        spill = Spill(stream, buckets)
        yield spill
        spill.finish()


def bucket_frames(spills: Iterable[Path], bucket: int, buckets: int) -> Iterator[Frame]:
    """The rows of a bucket with their keys, from all spill files in their order."""
    width = buckets + 1
    for path in spills:
        with path.open("rb") as stream:
            end = stream.seek(-_OFFSET.itemsize, 2)
            runs = int(np.frombuffer(stream.read(), _OFFSET)[0])
            index = end - runs * width * _OFFSET.itemsize
            for run in range(runs):
                stream.seek(index + (run * width + bucket) * _OFFSET.itemsize)
                start, stop = np.frombuffer(stream.read(2 * _OFFSET.itemsize), _OFFSET).tolist()
                if stop > start:
                    stream.seek(start)
                    yield _FRAME.decode(stream.read(stop - start))

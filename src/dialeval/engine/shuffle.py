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

MANY, FEWER = 1024, 16
"""Small buckets are fastest: a sixteenth of a partition. But rather than more than 1024 there are
larger ones, of up to a partition."""
TOGETHER = 2048
"""Rows that are put into their buckets at once."""
HELD = 1 << 27
"""Bytes of rows that a spill holds in memory before it writes them."""
Frame = tuple[list[str], list[bytes]]
"""Keys, and the rows that they are of."""
_FRAME = msgspec.msgpack.Decoder(Frame)
_OFFSET = np.dtype("<u8")


def buckets_for(parts: Sequence[Partition], size: int = SIZE) -> int:
    """How many buckets the rows of partitions of this size need: by their bytes alone.

    >>> [buckets_for([Partition(0, "", "", weight=gigabytes << 30)]) for gigabytes in (1, 10, 100)]
    [256, 1024, 1600]
    """
    total = sum(part.weight for part in parts)
    return max(1, min(-(-total * FEWER // size), MANY), -(-total // size))


def bucket_of(keys: Sequence[str], buckets: int) -> NDArray[np.uint32]:
    """The bucket of each key: on any machine the same.

    >>> bucket_of(["a", "b", "a"], 10).tolist()
    [7, 1, 7]
    """
    hashes = np.fromiter(map(crc32, map(str.encode, keys)), np.uint32, len(keys))
    return hashes % np.uint32(buckets)


class Spill:
    """Rows of one partition on their way to the buckets of their keys.

    A file holds runs, written whenever enough rows have come; a run holds the frames of a bucket
    one after another, each after its length. At the end stand the offsets of the buckets in all
    runs, and the number of runs.
    """

    def __init__(self, stream: IO[bytes], buckets: int, held: int = HELD) -> None:
        self.buckets, self.held = buckets, held
        self._stream = stream
        self._encode = msgspec.msgpack.Encoder().encode
        self._keys: list[str] = []
        self._rows: list[bytes] = []
        self._frames = [bytearray() for _ in range(buckets)]
        self._size = 0
        self._offsets: list[int] = []
        self._runs = 0

    def add(self, keys: Sequence[str], rows: Sequence[bytes]) -> None:
        """Take rows with their keys; rows of a bucket keep their order."""
        self._keys += keys
        self._rows += rows
        if len(self._keys) >= TOGETHER:
            self._distribute()
            if self._size >= self.held:
                self._write_run()

    def _distribute(self) -> None:
        """Put the rows that have come into frames of their buckets."""
        bucket = bucket_of(self._keys, self.buckets)
        order = np.argsort(bucket, kind="stable")
        found, starts = np.unique(bucket[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        keys, rows = _objects(self._keys)[order].tolist(), _objects(self._rows)[order].tolist()
        for place, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
            frame = self._encode((keys[start:end], rows[start:end]))
            self._frames[place] += len(frame).to_bytes(_OFFSET.itemsize, "little") + frame
            self._size += len(frame)
        self._keys, self._rows = [], []

    def _write_run(self) -> None:
        for frames in self._frames:
            self._offsets.append(self._stream.tell())
            self._stream.write(frames)
            frames.clear()
        self._offsets.append(self._stream.tell())
        self._runs += 1
        self._size = 0

    def finish(self) -> None:
        """Write the rest, and the offsets."""
        if self._keys:
            self._distribute()
        if self._size or not self._runs:
            self._write_run()
        self._stream.write(np.array([*self._offsets, self._runs], _OFFSET).tobytes())


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), object)
    array[:] = values
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
                stream.seek(start)
                content = memoryview(stream.read(stop - start))
                while content:
                    size = _OFFSET.itemsize
                    end = size + int.from_bytes(content[:size], "little")
                    yield _FRAME.decode(content[size:end])
                    content = content[end:]

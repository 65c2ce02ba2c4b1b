"""Taking a part of the threads: dialogues with the active accounts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from dialeval.core.records import decode_part
from dialeval.engine import Output, Partition, without_cycles
from dialeval.mine.counts import Step
from dialeval.mine.dialogues import Extraction
from dialeval.mine.settings import Settings
from dialeval.mine.threads import Thread


class Extract(msgspec.Struct, frozen=True):
    """A part of threads to take dialogues from."""

    number: int
    partition: Partition
    settings: Settings
    folder: str
    output: Output


class Extracted(msgspec.Struct):
    """What was in a part of threads."""

    active: Step
    step: Step
    rows: int


def active_file(folder: Path) -> Path:
    """Where the active accounts are kept: names by key."""
    return folder / "active.json"


@without_cycles
def extract(task: Extract) -> Extracted:
    """Write the dialogues of a part of the threads."""
    folder = Path(task.folder)
    active = msgspec.json.decode(active_file(folder).read_bytes(), type=dict[str, str])
    extraction = Extraction(active, task.settings)
    rows = task.output.write_part(
        folder / "dialogues", task.number, _rows(task.partition, extraction)
    )
    return Extracted(extraction.active, extraction.step, rows)


def _rows(partition: Partition, extraction: Extraction) -> Iterator[bytes]:
    decoder, encode = msgspec.json.Decoder(Thread), msgspec.json.Encoder().encode
    for record in partition.records():
        thread = decode_part(decoder, record, partition.origin)
        yield from map(encode, extraction.dialogues(thread))

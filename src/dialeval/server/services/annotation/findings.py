"""A project's votes as files, and how far people agree in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dialeval import __version__
from dialeval.agreement.analysis import agreement_of
from dialeval.agreement.findings import Agreement
from dialeval.core.collection import Collection
from dialeval.core.encode import lines_of
from dialeval.core.rubric import QUALITY
from dialeval.report.agreement import AgreementReport
from dialeval.report.agreement_page import agreement_page
from dialeval.report.provenance import Provenance
from dialeval.server.context import Context
from dialeval.server.problems import bad_request
from dialeval.server.services.annotation.overview import annotated, annotated_records
from dialeval.server.services.annotation.projects import project_in

HEAD = ("dialogue", "turn", "speaker", "criterion", "annotator", "round", "label")


def exported(context: Context, slug: str, format: str, *, pseudonyms: bool) -> tuple[bytes, str]:
    """The dialogues with their votes as a file, and its media type."""
    with context.database.read() as session:
        project = project_in(session, slug)
        records = [*annotated_records(context, session, project, pseudonyms=pseudonyms)]
    if format == "csv":
        return _csv(records).encode(), "text/csv; charset=utf-8"
    if format == "jsonl":
        return b"".join(lines_of(records)), "application/x-ndjson"
    return msgspec.json.encode(records), "application/json"


def _csv(records: Iterable[dict[str, Any]]) -> str:
    """A line a vote."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(HEAD)
    for record in records:
        for annotation in record.get("annotations", ()):
            who = (annotation.get("annotator", ""), annotation.get("round", 1))
            for turn, speaker, criterion, label in _votes(record, annotation):
                writer.writerow((record["id"], turn, speaker, criterion, *who, label))
    return stream.getvalue()


def _votes(
    record: dict[str, Any], annotation: dict[str, Any]
) -> Iterator[tuple[str, str, str, str]]:
    for criterion, label in annotation.get(QUALITY, {}).items():
        yield "", "", criterion, str(label)
    for criterion, labels in annotation.items():
        if isinstance(labels, list):
            for number, label in enumerate(labels):
                if label is not None:
                    yield str(number), record["turns"][number].sender, criterion, label


def agreement(context: Context, slug: str) -> dict[str, Any]:
    """The numbers of `dialeval agreement` on the votes so far."""
    found, provenance = _agreement(context, slug)
    return AgreementReport(found, provenance).to_json()


def agreement_html(context: Context, slug: str) -> str:
    """The page of `dialeval agreement` on the votes so far."""
    return agreement_page(*_agreement(context, slug))


def _agreement(context: Context, slug: str) -> tuple[Agreement, Provenance]:
    collection = annotated(context, slug)
    _check_enough(collection)
    options = {"project": slug, "at": context.now().isoformat()}
    return agreement_of(collection), Provenance(__version__, 0, options, {})


def _check_enough(collection: Collection) -> None:
    if len(collection.annotators) < 2:
        raise bad_request("agreement needs votes of at least two annotators")

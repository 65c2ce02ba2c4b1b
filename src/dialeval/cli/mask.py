"""`dialeval mask`: placeholders for what tells who somebody is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    ColumnOption,
    EngineOption,
    FormatOption,
    GapOption,
    JobsOption,
    JsonOption,
    KeepOption,
    PartsOption,
    RubricOption,
    SchedulerOption,
    SeedOption,
    SpeakerOption,
    reading_of,
)

if TYPE_CHECKING:
    from dialeval.mine.masking.review import Summary


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Dialogues, a folder of them, or an export of another program."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="A file, or a folder of parts.")
    ],
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="DIR",
            help="Counts, and a review sample that shows what was masked.",
        ),
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            "--secret",
            envvar="DIALEVAL_MASK_SECRET",
            help="The same secret gives the same placeholders again; else a new one, kept nowhere.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="Mask only this; repeatable.")
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option("--region", help="Telephone numbers as in this country (GB); repeatable."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="FIELD", help="A field of names, besides author."),
    ] = None,
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Other ids for the dialogues, by the secret.")
    ] = False,
    examples: Annotated[
        int, typer.Option("--examples", min=0, help="Of each sort, in the review sample.")
    ] = 5,
    rubric: RubricOption = "helpdesk",
    format: FormatOption = None,
    speaker: SpeakerOption = None,
    column: ColumnOption = None,
    gap: GapOption = None,
    keep: KeepOption = None,
    parts: PartsOption = None,
    jobs: JobsOption = 1,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Mask telephone numbers, e-mail addresses, identity, card and order numbers and @names.

    The same value gets the same placeholder, such as [PHONE-qmxkdzra], all through the collection.
    Kinds: PHONE, EMAIL, ID, CARD, ORDER, ACCOUNT (QQ, WeChat), NAME. Texts in other fields of a
    dialogue are masked, too.

    Example: dialeval mask chats.jsonl --out masked.jsonl --report review
    """
    import secrets

    from dialeval.cli.output import print_json, progress_bar
    from dialeval.core.files import format_for_writing
    from dialeval.core.rubric import load_rubric
    from dialeval.engine import open_engine
    from dialeval.mine.masking.masker import Masker
    from dialeval.mine.masking.rules import KINDS
    from dialeval.mine.masking.work import mask_files

    if out.suffix:
        format_for_writing(out)
    masker = Masker(
        secret.encode() if secret else secrets.token_bytes(32),
        tuple(one.upper() for one in kind) if kind else KINDS,
        tuple(one.upper() for one in region or ()),
        ("author", *(name or ())),
        new_ids,
    )
    with open_engine(jobs, engine, scheduler) as workers, progress_bar() as progress:
        summary = mask_files(
            file,
            out,
            masker,
            load_rubric(rubric),
            workers,
            reading=reading_of(format, speaker, column, gap, keep),
            parts=parts,
            by_dialogue=None if report is None else report / "masks.csv",
            examples=examples,
            seed=seed,
            progress=progress,
        )
    if report is not None:
        _write_review(report, summary)
    if json:
        print_json(_as_json(summary))
    else:
        _print(out, report, summary)


def _write_review(folder: Path, summary: Summary) -> None:
    """The review shows what was masked: only its owner may read it."""
    import msgspec

    from dialeval.core.cells import write_cells
    from dialeval.core.files import write_text
    from dialeval.mine.masking.review import review_rows

    path = folder / "review.csv"
    write_cells(path, review_rows(summary))
    path.chmod(0o600)
    text = msgspec.json.format(msgspec.json.encode(_as_json(summary)), indent=2)
    write_text(folder / "summary.json", text.decode() + "\n")


def _as_json(summary: Summary) -> dict[str, object]:
    return {
        "dialogues": summary.dialogues,
        "dialogues_with_masks": summary.with_masks,
        "masks": summary.masks,
        "dialogues_by_kind": summary.dialogues_by_kind,
        "recognised_by": summary.rules,
        "left": summary.left,
    }


def _print(out: Path, report: Path | None, summary: Summary) -> None:
    from dialeval.cli.output import print_table

    rows = [
        [kind, f"{count:,}", f"{summary.dialogues_by_kind[kind]:,}"]
        for kind, count in summary.masks.items()
    ]
    total = f"{sum(summary.masks.values()):,}"
    rows += [[], ["all", total, f"{summary.with_masks:,}"]]
    title = f"{out}: {summary.dialogues:,} dialogues masked"
    print_table(title, ["masked as", "places", "dialogues"], rows, numbers=(1, 2))
    if summary.left:
        left = [[reason, f"{count:,}"] for reason, count in summary.left.items()]
        print_table("Left as they are", ["looks like", "places"], left, numbers=(1,))
    if report is not None:
        print(f"{report / 'review.csv'}: look through it; it shows what was masked")

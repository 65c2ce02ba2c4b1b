"""`dialeval generate`: posts to try `dialeval mine` on, with known answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import PartsOption, RubricOption, SeedOption


def command(
    out: Annotated[
        Path, typer.Argument(metavar="POSTS", help="A .jsonl(.gz) file, or a folder for parts.")
    ],
    posts: Annotated[int, typer.Option("--posts", min=1, help="How many, at least.")] = 10_000,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="DIR", help="Write what must be found in them."),
    ] = None,
    trouble: Annotated[
        float,
        typer.Option("--trouble", min=0, max=1, help="The share of threads with a bad post."),
    ] = 0.001,
    rubric: RubricOption = "helpdesk",
    seed: SeedOption = 0,
    parts: PartsOption = None,
    part_size: Annotated[
        int, typer.Option("--part-size", min=1, help="Posts of each file of a folder.")
    ] = 250_000,
) -> None:
    """Write synthetic posts of a microblog: helpdesks and people, in English and Chinese.

    With --answers, `dialogues.jsonl` holds the dialogues that must come out, and `answers.json` the
    active helpdesks and how many bad posts of each kind there are.

    Example: dialeval generate posts.jsonl --posts 100000 --answers known
    """
    from itertools import islice
    from tempfile import TemporaryDirectory

    import msgspec

    from dialeval.cli.output import progress_bar
    from dialeval.core.errors import UsageError
    from dialeval.core.files import write_text, writing
    from dialeval.core.rubric import load_rubric
    from dialeval.engine import Output
    from dialeval.mine.synthetic import COLUMNS, Expected, Microblog

    speakers = load_rubric(rubric).speakers
    if len(speakers) != 2:
        raise UsageError(f"rubric {rubric}: {len(speakers)} speakers, expected two")
    output = Output.at(out, parts, COLUMNS)
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        progress_bar() as show,
        TemporaryDirectory(dir=out.parent) as name,
        writing((answers or Path(name)) / "dialogues.jsonl") as expected,
    ):

        def expect(dialogue: Expected) -> None:
            expected.write(msgspec.json.encode(dialogue) + b"\n")

        microblog = Microblog(seed, (speakers[0], speakers[1]), expect, trouble)
        lines = microblog.lines(posts)
        rows: list[int] = []
        while not rows or rows[-1] == part_size:
            part = islice(lines, part_size)
            rows.append(output.write_part(Path(name), len(rows), part))
            show("posts", min(sum(rows), posts), posts)
        output.publish(Path(name), rows)
    known = microblog.answers.to_json()
    if answers is not None:
        text = msgspec.json.format(msgspec.json.encode(known), indent=2).decode()
        write_text(answers / "answers.json", text + "\n")
    print(f"{out}: {known['posts']:,} posts, {known['threads']:,} threads")

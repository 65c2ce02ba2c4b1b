"""`dialeval sample`: choose dialogues or questions at random, and split them for training."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    EngineOption,
    JobsOption,
    JsonOption,
    PartsOption,
    SchedulerOption,
    SeedOption,
)

if TYPE_CHECKING:
    from dialeval.mine.drawing import Drawn, Sizes


class SplitName(StrEnum):
    """How the two sides are made."""

    random = "random"
    time = "time"


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A row an item: .csv, .tsv, .json, .jsonl, .gz, .parquet, a folder.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the sample goes.")],
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="FIELD", help="The field of the strata; turns: their number."),
    ] = None,
    take: Annotated[
        list[str] | None,
        typer.Option(
            "--take", "--quota", metavar="VALUE:N", help="N of a value, or of each in 2-6:N."
        ),
    ] = None,
    each: Annotated[
        int | None, typer.Option("--each", min=0, help="How many of every value of the field.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="How many in all, in proportion.")
    ] = None,
    rest: Annotated[
        Path | None, typer.Option("--rest", metavar="FILE", help="Where all others go.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", help="Where the test set goes.")
    ] = None,
    test_take: Annotated[
        list[str] | None, typer.Option("--test-take", metavar="VALUE:N", help="As --take.")
    ] = None,
    test_each: Annotated[int | None, typer.Option("--test-each", min=0, help="As --each.")] = None,
    test_size: Annotated[int | None, typer.Option("--test-size", min=1, help="As --size.")] = None,
    split: Annotated[
        SplitName, typer.Option("--split", help="The test set at random, or the latest.")
    ] = SplitName.random,
    time: Annotated[str, typer.Option("--time", metavar="FIELD", help="The time.")] = "time",
    apart: Annotated[
        list[str] | None,
        typer.Option(
            "--apart", metavar="FIELD", help="No value of it on both sides (author); repeatable."
        ),
    ] = None,
    similarity: Annotated[
        float,
        typer.Option(
            "--similarity", min=0, max=1, help="Texts so similar are on one side; 0: not compared."
        ),
    ] = 0.8,
    parts: PartsOption = None,
    jobs: JobsOption = 1,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Choose a stratified random sample, or a training and a test set with nothing in common.

    --take says a number for one value, or for each of a range; --each the same number for every
    value; --size shares a total out in proportion. With --test, --out is the training set: all
    that is left for it unless numbers are given. What shares an author (--apart author) or is
    nearly the same text is never on both sides.

    Example: dialeval sample all.jsonl --by turns --take 2-6:700 --take 7:200 --out train.jsonl
    --test test.jsonl --test-take 2-7:65 --apart author
    """
    from dialeval.cli.output import print_json, progress_bar
    from dialeval.core.errors import UsageError
    from dialeval.engine import open_engine
    from dialeval.mine.drawing import Plan, check_outputs, draw

    sizes = _sizes(take, each, size, "")
    test_sizes = _sizes(test_take, test_each, test_size, "test-")
    if test is None and not sizes.given:
        raise UsageError("give either --size, or --each and --take")
    if (test is not None) != test_sizes.given:
        raise UsageError("--test goes with --test-size, or --test-each and --test-take")
    if test is None and (apart or split is SplitName.time):
        raise UsageError("--apart and --split are about two sides: give --test FILE")
    if by is None and (take or test_take):
        raise UsageError("--take needs --by FIELD")
    outputs = {"out": out}
    outputs |= {} if test is None else {"test": test}
    outputs |= {} if rest is None else {"rest": rest}
    check_outputs(outputs)
    plan = Plan(
        by=by,
        sizes=sizes,
        test=None if test is None else test_sizes,
        by_time=split is SplitName.time,
        time=time,
        apart=tuple(apart or ()),
        similarity=similarity,
        seed=seed,
    )
    with open_engine(jobs, engine, scheduler) as workers, progress_bar() as progress:
        drawn = draw(file, outputs, plan, workers, parts=parts, progress=progress)
    if json:
        print_json(_as_json(by or "all", drawn, test is not None))
    else:
        _print(file, out, test, by or "", drawn)


def _sizes(take: list[str] | None, each: int | None, size: int | None, prefix: str) -> Sizes:
    from dialeval.core.errors import UsageError
    from dialeval.mine.drawing import Sizes

    if size is not None and (each is not None or take):
        raise UsageError(f"give either --{prefix}size, or --{prefix}each and --{prefix}take")
    return Sizes(each=each, total=size, of=_numbers(take or [], f"--{prefix}take"))


def _numbers(given: list[str], option: str) -> dict[str, int]:
    """From VALUE:N, VALUE=N or FROM-TO:N to the number for each value."""
    from dialeval.core.errors import UsageError

    numbers: dict[str, int] = {}
    for text in given:
        match = re.fullmatch(r"(.+)[:=]([0-9]+)", text)
        if match is None:
            raise UsageError(f"{option}: found {text!r}, expected VALUE=N, or FROM-TO:N")
        values = [match[1]]
        if limits := re.fullmatch(r"([0-9]{1,6})-([0-9]{1,6})", match[1]):
            values = [str(value) for value in range(int(limits[1]), int(limits[2]) + 1)]
        for value in values:
            if value in numbers:
                raise UsageError(f"{option}: found {value!r} twice, expected it once")
            numbers[value] = int(match[2])
    return numbers


def _as_json(by: str, drawn: Drawn, two_sides: bool) -> dict[str, object]:
    def row(value: str) -> dict[str, int]:
        own = {"found": drawn.found[value], "chosen": drawn.out.get(value, 0)}
        return own | ({"test": drawn.test.get(value, 0)} if two_sides else {})

    result: dict[str, object] = {
        "found": sum(drawn.found.values()),
        "chosen": sum(drawn.out.values()),
    }
    if two_sides:
        result["test"] = sum(drawn.test.values())
        result["similar_pairs"] = drawn.pairs
        result["connected"] = drawn.connected
        result["on_neither_side"] = drawn.between
    return result | {by: {value: row(value) for value in drawn.found}}


def _print(file: Path, out: Path, test: Path | None, by: str, drawn: Drawn) -> None:
    from dialeval.cli.output import print_table

    values = sorted(drawn.found, key=lambda v: (0, int(v), v) if v.isdecimal() else (1, 0, v))
    columns = [drawn.found, drawn.out] + ([] if test is None else [drawn.test])
    cells = [[value, *(f"{counts.get(value, 0):,}" for counts in columns)] for value in values]
    cells += [[], ["all", *(f"{sum(counts.values()):,}" for counts in columns)]]
    heads = [by, "found", "chosen"] + ([] if test is None else ["test"])
    target = str(out) if test is None else f"{out} and {test}"
    print_table(f"{target}: a sample of {file}", heads, cells, numbers=(1, 2, 3))
    if test is not None:
        pairs = f"{drawn.pairs:,} pairs of similar texts"
        print(
            f"{drawn.connected:,} are connected with others ({pairs}); "
            f"{drawn.between:,} are on neither side"
        )

"""`dialeval sample`: choose questions or dialogues at random, evenly over some field."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import JsonOption, SeedOption


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A row an item: .csv, .tsv, .json, .jsonl, .gz.")
    ],
    by: Annotated[str, typer.Option("--by", metavar="FIELD", help="The field of the strata.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the sample goes.")],
    each: Annotated[
        int | None, typer.Option("--each", min=0, help="How many of every value of the field.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="How many in all, in proportion.")
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option("--quota", metavar="VALUE=N", help="How many of this value; repeatable."),
    ] = None,
    rest: Annotated[
        Path | None, typer.Option("--rest", metavar="FILE", help="Where all others go.")
    ] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Choose a stratified random sample: the same seed gives the same one.

    --each takes as many of every value; --quota says a number for one value, alone or beside
    --each; --size shares a total out in proportion to how many there are.

    Example: dialeval sample questions.csv --by domain --size 500 --out test.csv --rest others.csv
    """
    from collections import Counter

    from dialeval.cli.output import print_json, print_table
    from dialeval.core.errors import UsageError
    from dialeval.core.rows import check_writable, field, read_rows, write_rows
    from dialeval.mine.sampling import proportional, stratified

    if (size is None) == (each is None and not quota):
        raise UsageError("give either --size, or --each and --quota")
    for path in (out, rest):
        if path is not None:
            check_writable(path)
    if rest is not None and rest.resolve() == out.resolve():
        raise UsageError("--out and --rest: expected two files")
    origin, numbered = read_rows(file)
    rows, strata = [], []
    for number, row in numbered:
        value = field(row, by, number, origin)
        if isinstance(value, list | dict) or value is None:
            raise origin.error(number, f".{by}", "no plain value", "text or a number")
        rows.append(row)
        strata.append(str(value))
    if size is not None:
        sizes = proportional(strata, size)
    else:
        sizes = dict.fromkeys(strata, each or 0) | _quotas(quota or [])
    chosen = stratified(strata, sizes, seed=seed)
    heads = [*dict.fromkeys(head for row in rows for head in row)]
    write_rows(out, [rows[place] for place in chosen.places], heads)
    if rest is not None:
        write_rows(rest, [rows[place] for place in chosen.rest], heads)
    counts = {value: (n, sizes.get(value, 0)) for value, n in Counter(strata).items()}
    if json:
        found = {value: {"found": n, "chosen": k} for value, (n, k) in counts.items()}
        print_json({"found": len(rows), "chosen": len(chosen.places), by: found})
        return
    cells = [[value, str(n), str(k)] for value, (n, k) in counts.items()]
    cells += [[], ["all", str(len(rows)), str(len(chosen.places))]]
    print_table(f"{out}: a sample of {file}", [by, "found", "chosen"], cells, numbers=(1, 2))


def _quotas(given: list[str]) -> dict[str, int]:
    from dialeval.core.errors import UsageError

    quotas = {}
    for text in given:
        value, _, number = text.rpartition("=")
        if not value or not number.isdecimal():
            raise UsageError(f"--quota: found {text!r}, expected VALUE=N")
        if value in quotas:
            raise UsageError(f"--quota: found {value!r} twice, expected it once")
        quotas[value] = int(number)
    return quotas

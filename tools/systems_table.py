"""The table of docs/systems.md from what `dialeval reproduce` wrote.

    python tools/systems_table.py OUT... [--docs docs/systems.md]

Each OUT is the --out folder of a `reproduce`, for a campaign. With --docs the table takes its place
between the marks in that file; else it is printed.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from pathlib import Path

from dialeval.report.published import CAMPAIGNS

MARKS = ("<!-- systems table -->\n", "<!-- end of systems table -->\n")


def systems_table(folders: Sequence[Path]) -> str:
    """A Markdown table for each language: our mean, in brackets the published one."""
    cells: dict[str, dict[tuple[str, ...], dict[str, str]]] = {}
    more: dict[tuple[str, ...], tuple[str, str]] = {}
    for folder in folders:
        options = json.loads((folder / "provenance.json").read_text())["options"]
        campaign = CAMPAIGNS[options["campaign"]]
        how = "held out" if options["test"] else f"{options['folds']} folds"
        with (folder / "tables" / "reproduction.csv").open() as stream:
            for row in csv.DictReader(stream):
                known = f" ({float(row['published']):.4f})" if row["published"] else ""
                of_language = cells.setdefault(row["language"], {})
                own = of_language.setdefault((row["run"], campaign, how), {})
                name = f"{row['criterion']} {row['measure'].upper()}"
                own[name] = f"{float(row['mean']):.4f}{known}"
                more[row["language"], row["run"], campaign, how] = (row["seconds"], row["remarks"])
    parts = []
    for language, runs in cells.items():
        names = [*dict.fromkeys(name for own in runs.values() for name in own)]
        lines = [["run", "campaign", "dialogues", *names, "s", ""]]
        lines.append(["---"] * 3 + ["---:"] * (len(names) + 1) + ["---"])
        for key, own in runs.items():
            seconds, remarks = more[language, *key]
            scores = [own.get(name, "–") for name in names]
            lines.append([*key, *scores, f"{float(seconds):.0f}", remarks])
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"### {language}\n\n{table}\n")
    return "\n".join(parts)


def main() -> None:
    """Print the table, or put it into the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, nargs="+", help="folders of `dialeval reproduce`")
    parser.add_argument("--docs", type=Path, help="the file with the marks")
    arguments = parser.parse_args()
    table = systems_table(arguments.out)
    if arguments.docs is None:
        print(table)
        return
    text = arguments.docs.read_text()
    before, _, rest = text.partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    arguments.docs.write_text(f"{before}{MARKS[0]}{table}{MARKS[1]}{after}")


if __name__ == "__main__":
    main()

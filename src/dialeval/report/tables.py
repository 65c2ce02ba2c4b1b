"""Tables in every form: for a terminal, CSV, Markdown, LaTeX (booktabs), JSON, data frames."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from dialeval.core.files import write_text
from dialeval.report.provenance import Provenance

Kind = Literal["text", "score", "p", "effect", "number"]
NONE = "–"


@dataclass(frozen=True)
class Column:
    """A column's head and how its values are shown."""

    name: str
    kind: Kind = "text"


def shown(value: Any, kind: Kind) -> str:
    """A value as people read it: four digits for scores, "< 0.0001" for tiny p-values.

    >>> shown(0.12345, "score"), shown(0.00002, "p"), shown(1.3624, "effect"), shown(None, "p")
    ('0.1235', '< 0.0001', '1.362', '–')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE
    if kind == "text" or isinstance(value, str):
        return str(value)
    if kind == "p":
        return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
    if kind == "score":
        return f"{value:.4f}"
    if kind == "effect":
        return f"{value:.3f}"
    return f"{value:g}"


@dataclass(frozen=True)
class Table:
    """Rows of plain values under typed columns."""

    name: str
    """A short name, used for the file."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def cells(self) -> list[list[str]]:
        """The values as people read them."""
        kinds = [column.kind for column in self.columns]
        return [[shown(v, k) for v, k in zip(row, kinds, strict=True)] for row in self.rows]

    @property
    def numbers(self) -> list[int]:
        """The places of the columns that are set flush right."""
        return [place for place, column in enumerate(self.columns) if column.kind != "text"]

    def to_csv(self, provenance: str | None = None) -> str:
        """CSV with full precision; a column with the provenance's id where there is one."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        more = [] if provenance is None else [provenance]
        heads = [column.name for column in self.columns]
        writer.writerow([*heads, *(["provenance"] if more else [])])
        for row in self.rows:
            writer.writerow(["" if value is None else value for value in (*row, *more)])
        return text.getvalue()

    def to_markdown(self) -> str:
        """A GitHub-flavoured table under its title.

        >>> print(Table("t", "T", (Column("run"), Column("p", "p")), (("a|b", 0.0),)).to_markdown())
        **T**
        <BLANKLINE>
        | run | p |
        | --- | ---: |
        | a\\|b | &lt; 0.0001 |
        <BLANKLINE>
        """
        heads = [markdown_escaped(column.name) for column in self.columns]
        rule = ["---:" if place in self.numbers else "---" for place in range(len(heads))]
        lines = [heads, rule, *([markdown_escaped(cell) for cell in row] for row in self.cells)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{markdown_escaped(self.title)}**\n\n{table}\n"

    def to_latex(self) -> str:
        """A booktabs table, ready for a paper."""
        align = "".join("r" if place in self.numbers else "l" for place in range(len(self.columns)))
        head = " & ".join(latex_escaped(column.name) for column in self.columns)
        body = "\n".join(
            "    " + " & ".join(latex_escaped(cell) for cell in row) + r" \\" for row in self.cells
        )
        return "\n".join(
            [
                r"\begin{table}[t]",
                r"  \centering",
                rf"  \caption{{{latex_escaped(self.title)}}}",
                rf"  \label{{tab:{self.name}}}",
                rf"  \begin{{tabular}}{{{align}}}",
                r"    \toprule",
                rf"    {head} \\",
                r"    \midrule",
                body,
                r"    \bottomrule",
                r"  \end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Each row as a dictionary by column."""
        heads = [column.name for column in self.columns]
        return [dict(zip(heads, row, strict=True)) for row in self.rows]

    def write(self, folder: Path, provenance: Provenance) -> None:
        """The table as CSV, Markdown and LaTeX, with where it comes from."""
        write_text(folder / f"{self.name}.csv", self.to_csv(provenance.id))
        comment = provenance.line.replace("--", "- -")
        write_text(folder / f"{self.name}.md", f"{self.to_markdown()}\n<!-- {comment} -->\n")
        write_text(folder / f"{self.name}.tex", f"% {provenance.line}\n{self.to_latex()}")

    def to_frame(self) -> Any:
        """A pandas data frame."""
        from dialeval.core.frames import data_frame

        heads: Sequence[str] = [column.name for column in self.columns]
        return data_frame({head: [row[i] for row in self.rows] for i, head in enumerate(heads)})


def json_text(value: Any) -> str:
    """A value as indented JSON; numbers that are not finite become null."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "–": "--",
    "\n": " ",
}


def latex_escaped(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> print(latex_escaped("my_run {50%} < 1"))
    my\\_run \\{50\\%\\} $<$ 1
    """
    return "".join(_LATEX.get(char, char) for char in text)


def markdown_escaped(text: str) -> str:
    """Text that Markdown shows as it is inside a table."""
    escaped = "".join("\\" + char if char in "\\|*_`[]" else char for char in text)
    return escaped.replace("<", "&lt;").replace("\n", " ")

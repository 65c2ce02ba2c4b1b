"""`dialeval models`: what there is to predict with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import JsonOption


def command(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Show the card of fast-en, or of a folder."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the models: what each is, what it needs, its size; or show the card of one.

    Example: dialeval models accurate-zh
    """
    from dialeval.cli.output import print_json, print_table
    from dialeval.core.errors import unknown_name
    from dialeval.predictors.bundled import bundled_folder, default_kind
    from dialeval.predictors.registry import get, names
    from dialeval.predictors.store import is_model, load_saved

    folders = {f.name: f for f in sorted(bundled_folder().iterdir()) if is_model(f)}
    if model is not None:
        folder = folders.get(model) or (Path(model) if is_model(Path(model)) else None)
        if folder is None:
            raise unknown_name("model", model, [*folders, "a folder of `dialeval train`"])
        if json:
            print_json(load_saved(folder).card)
        else:
            print((folder / "CARD.md").read_text(), end="")
        return
    rows = []
    for name in names():
        kind = get(name)
        about = (kind.__doc__ or "").splitlines()[0]
        rows.append([name, "yes" if kind.trainable else "no", kind.needs or "-", "-", about])
    for name, folder in folders.items():
        card = load_saved(folder).card
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        needs = get(card.model).needs or "-"
        chosen = ", the default" if card.model == default_kind() else ""
        trained = f"bundled{chosen}: {sum(d.dialogues for d in card.data):,} dialogues"
        rows.append([name, "done", needs, f"{size:.1f} MB", trained])
    columns = ["model", "trainable", "extra", "size", "what it is"]
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("Models", columns, rows, numbers=(3,))

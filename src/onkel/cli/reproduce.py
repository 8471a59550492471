"""onkel reproduce: a table or figure of a paper, ours beside theirs."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape

from onkel.cli import options
from onkel.cli.screen import NOTES, as_json, note, show_json
from onkel.reproduce import check_stored, targets
from onkel.reproduce import reproduce as run


@click.command()
@click.argument("target", metavar="PAPER[/TABLE]", required=False)
@click.option("--permutations", type=options.COUNT, help="[the paper's]")
@click.option("--data", "datasets", multiple=True, help="Only this data set.")
@click.option("--system", "systems", multiple=True, help="Only this system.")
@click.option(
    "--cell-seconds",
    type=click.FloatRange(min=0.0, min_open=True),
    default=60.0,
    help="For the passes of a cell of a table; what needs more has fewer orders, or "
    "none. The search for parameters comes before.",
)
@click.option("--jobs", type=options.COUNT, default=1)
@click.option(
    "--cells",
    type=options.COUNT,
    default=20,
    help="With `check`: how many stored cells are run again.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    help="With `check`: which ones.",
)
@options.output(
    "Folder of pages, pictures and results; what is there is not run again.",
    options.FOLDER,
    Path("reproduce"),
)
@as_json
def reproduce(
    target: str | None, as_json: bool, cells: int, seed: int, **given: Any
) -> None:
    """Repeat a table or a figure of a paper by its protocol.

    Without PAPER: what can be repeated. Parameters are chosen as the paper did, and
    recorded; every number stands beside the published one, with a verdict. `claims`
    judges the papers by what was measured, `check` runs stored cells again.
    """
    if target is None:
        if as_json:
            show_json(targets())
            return
        for name, said in targets().items():
            click.echo(f"{name:18} {said}")
        return
    output = given.pop("output")
    wanted: dict[str, Any] = {name: value or None for name, value in given.items()}
    with NOTES.status(escape(f"Reproducing {target}")) as status:
        if target == "check":
            drawn = {"cells": cells, "seed": seed, "jobs": given["jobs"]}
            pages = check_stored(output, announce=status.update, **drawn)[:1]
        else:
            pages = run(target, output, announce=status.update, **wanted)
    if as_json:
        show_json({"pages": [str(page) for page in pages]})
        return
    for page in pages:
        Console().print(Markdown(page.read_text()))
        note(f"Written: {page}")

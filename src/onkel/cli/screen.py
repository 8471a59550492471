"""Screen: tables, bars and JSON. Results go to stdout, everything else to stderr."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
NOTES = Console(stderr=True)


def _plain(value: Any) -> Any:
    """Return a value for JSON, which has neither numpy's types nor infinity: null."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show_json(result: Any) -> None:
    """Print a result for machines."""
    json.dump(_plain(result), sys.stdout, indent=2, allow_nan=False)
    print()


def note(text: str) -> None:
    """Say something that is no result."""
    NOTES.print(text, style="dim", markup=False, highlight=False, soft_wrap=True)


def warn(text: str) -> None:
    """Say what nobody should miss."""
    NOTES.print(f"Note: {text}.", style="yellow", markup=False, soft_wrap=True)


def show(
    result: Mapping[str, Any], title: str, baseline: Mapping[str, Any] | None = None
) -> None:
    """Print names and values for people; beside them, those of the best constant."""
    head = baseline is not None
    table = Table(title=title, box=SIMPLE_HEAD, show_header=head, title_justify="left")
    table.add_column(style="dim", no_wrap=True)
    table.add_column("this model" if head else "", overflow="fold")
    if baseline is not None:
        always = escape(_text(baseline["always"]))
        table.add_column(f"always {always}", style="dim", overflow="fold")
    for name, value in result.items():
        beside = [baseline[name]] if baseline and name in baseline else []
        words = [escape(_text(one)) for one in (value, *beside)]
        table.add_row(name.replace("_", " "), *words)
    Console().print(table)


def report(
    result: Mapping[str, Any],
    title: str,
    baseline: Mapping[str, Any],
    warnings: Iterable[str],
    as_json: bool,
) -> None:
    """Print a result beside the best constant's, and what nobody should miss."""
    if as_json:
        show_json({**result, "baseline": baseline, "warnings": list(warnings)})
    else:
        show(result, title, baseline)
    for warning in warnings:
        warn(warning)


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(part)}" for key, part in value.items()) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


@contextmanager
def bar(text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a bar; it moves to the number that the function it yields is called with."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=NOTES,
        transient=True,
        disable=not NOTES.is_terminal,
    ) as progress:
        task = progress.add_task(escape(text), total=total)
        yield lambda done: progress.update(task, completed=done)

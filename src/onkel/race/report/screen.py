"""Screen: a race as it goes, and its leaderboard, on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from onkel.race.outcome import Outcome, Result
from onkel.race.problem import Problem
from onkel.race.report import words


@contextmanager
def shares(console: Console | None = None) -> Iterator[Callable[[str, float], None]]:
    """Show a bar for the `announce` of a race."""
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=1.0)

        def announce(text: str, share: float) -> None:
            bar.update(task, completed=share, description=escape(text))

        yield announce


def table(outcome: Outcome) -> Table:
    """Lay out the leaderboard for the screen."""
    drawn = Table(
        title=f"[bold]{escape(outcome.name)}",
        caption=escape(f"{words.caption(outcome)} {words.method(outcome)}"),
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for title in words.heads(outcome):
        side = "left" if title == "system" else "right"
        drawn.add_column(title, justify=side, no_wrap=True)  # type: ignore[arg-type]
    lines = zip(outcome.results, words.cells(outcome), strict=True)
    for place, (result, row) in enumerate(lines, 1):
        dim = result.is_reference or not result.is_ranked
        style = "bold green" if place == 1 else "dim" if dim else ""
        drawn.add_row(*map(escape, row), style=style)
    return drawn


def show(outcome: Outcome, console: Console | None = None) -> None:
    """Print the leaderboard of a race, and who has no place in it."""
    console = console or Console()
    console.print()
    console.print(table(outcome))
    for line in words.unplaced(outcome):
        console.print(escape(line))
    for line in words.warnings(outcome):
        console.print(f"[yellow]Note: {escape(line)}.")


def line(problem: Problem, result: Result) -> str:
    """How one contestant did, as soon as it is known."""
    speed = f"{words.number(result.rows_per_second):>10} rows/s"
    stopped = "" if result.stopped is None else f"  {result.stopped}"
    return (
        f"{result.name:<18} {words.with_spread(problem, result):>18} {speed}{stopped}"
    )

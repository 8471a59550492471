"""What is left of a race: a table, a page, pictures, and the numbers as JSON."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onkel
from onkel.race.contestants import Problem
from onkel.race.outcome import Outcome, Result, Run
from onkel.race.race import slug
from onkel.race.tables import literal, markdown

try:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Table

    from onkel.race import pictures
    from onkel.race.page import caption, method, page, warnings, with_spread
except ImportError as error:
    raise ImportError(
        "the race draws with matplotlib and rich, which are not installed with onkel "
        f'itself ({error.name} is missing): pip install "onkel[cli]"'
    ) from error

DPI = 130  # of the pictures that are files


# ---- on the screen -------------------------------------------------------------------


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar; it advances when the function it yields is called with a text."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns) as bar:
        task = bar.add_task("", total=total)
        started = 0

        def announce(text: str) -> None:
            nonlocal started
            bar.update(task, completed=started, description=text)
            started += 1

        yield announce
        bar.update(task, completed=total, description="done")


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


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def heads(outcome: Outcome) -> list[str]:
    """Headings of the leaderboard."""
    error = "RMSE" if outcome.problem.is_regression else "mistakes"
    return ["", "system", error, "rows/s", "size", "KB", "updates"]


def cells(outcome: Outcome) -> list[list[str]]:
    """Rows of the leaderboard, the best first, those without a place last."""
    ranked = len(outcome.ranked)
    return [
        [
            str(place) if place <= ranked else "-",
            result.name,
            with_spread(outcome.problem, result),
            _number(result.rows_per_second),
            _number(result.size),
            _number(None if result.memory is None else result.memory / 1024),
            _number(result.updates),
        ]
        for place, result in enumerate(outcome.results, 1)
    ]


def unplaced(outcome: Outcome) -> list[str]:
    """Who has no place, and why."""
    stopped = [
        f"{result.name}: {result.stopped}"
        for result in outcome.results
        if not result.is_ranked
    ]
    alike: dict[str, list[str]] = {}
    for name, reason in outcome.left_out.items():
        alike.setdefault(reason, []).append(name)
    return stopped + [
        f"{', '.join(names)} did not start: {'each' if names[1:] else 'it'} {reason}"
        for reason, names in alike.items()
    ]


def table(outcome: Outcome) -> Table:
    """Lay out the leaderboard for the screen."""
    drawn = Table(
        title=f"[bold]{escape(outcome.name)}",
        caption=escape(f"{caption(outcome)} {method(outcome)}"),
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for title in heads(outcome):
        side = "left" if title == "system" else "right"
        drawn.add_column(title, justify=side, no_wrap=True)  # type: ignore[arg-type]
    lines = zip(outcome.results, cells(outcome), strict=True)
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
    for line in unplaced(outcome):
        console.print(escape(line))
    for line in warnings(outcome):
        console.print(f"[yellow]Note: {escape(line)}.")


def line(problem: Problem, result: Result) -> str:
    """How one contestant did, as soon as it is known."""
    speed = f"{_number(result.rows_per_second):>10} rows/s"
    stopped = "" if result.stopped is None else f"  {result.stopped}"
    return f"{result.name:<18} {with_spread(problem, result):>18} {speed}{stopped}"


def written(outcome: Outcome, command: str) -> str:
    """Leaderboard and pictures in Markdown."""
    name = slug(outcome.name)
    lines = [
        *(f"# {literal(outcome.name)}", ""),
        # a name may have several lines, which are to stay within the block
        *(f"    {line}" for line in command.splitlines()),
        "",
        *(literal(f"{caption(outcome)} {method(outcome)}"), ""),
        *(f"**Note**: {literal(said)}.\n" for said in warnings(outcome)),
        *markdown(heads(outcome), [[*map(literal, row)] for row in cells(outcome)]),
        *(f"{literal(line)}  " for line in unplaced(outcome)),
        *("", "{processor}, {cores} cores, {platform}.".format(**outcome.machine), ""),
        *(f"![{kind}]({name}-{kind}.png)" for kind in ("time", "size", "curves")),
    ]
    return "\n".join(lines) + "\n"


# ---- the numbers ---------------------------------------------------------------------


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _of_run(run: Run) -> dict[str, Any]:
    return {
        "rows": run.rows,
        "error": _finite(run.error),
        "seconds": run.seconds,
        "model_size": run.size,
        "updates": run.updates,
        "memory_bytes": run.memory,
        "stopped": run.stopped,
        "summed_errors": run.curve.tolist(),
    }


def _of_result(place: int | None, result: Result) -> dict[str, Any]:
    return {
        "place": place,
        "system": result.name,
        "is_reference": result.is_reference,
        "model": result.model,
        "budget": result.budget,
        "error": _finite(result.error),
        "spread": _finite(result.spread),
        "rows_per_second": result.rows_per_second,
        "model_size": result.size,
        "memory_bytes": result.memory,
        "updates": result.updates,
        "stopped": result.stopped,
        "runs": [_of_run(run) for run in result.runs],
    }


def numbers(outcome: Outcome) -> dict[str, Any]:
    """Everything that was measured, and where and with what.

    `summed_errors` are mistakes, or squared errors, up to each of `marks`.
    """
    ranked = len(outcome.ranked)
    rows, features, classes = outcome.problem
    return {
        "data": {
            "name": outcome.name,
            "rows": rows,
            "features": features,
            "classes": classes or None,
            "in_order": outcome.in_order,
            "order": outcome.order,
            "description": outcome.description,
        },
        "measure": pictures.measure(outcome),
        "settings": outcome.settings,
        "baseline": {
            "always": outcome.baselines.constant,
            "error": outcome.baselines.constant_error,
            "error_of_the_last": outcome.baselines.last_error,
        },
        "warnings": warnings(outcome),
        "gamma": outcome.gamma,
        "gamma_trials": [
            {"gamma": trial.gamma}
            | {name: _finite(error) for name, error in trial.errors.items()}
            for trial in outcome.trials
        ],
        "machine": outcome.machine,
        "seconds": outcome.seconds,
        "marks": outcome.marks.tolist(),
        "results": [
            _of_result(place if place <= ranked else None, result)
            for place, result in enumerate(outcome.results, 1)
        ],
        "left_out": outcome.left_out,
    }


def _call(outcome: Outcome) -> str:
    """Write down the call of `race` that led to an outcome."""
    given = outcome.settings | {"gamma": outcome.gamma}
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"race(dataset({outcome.name!r}), {arguments})"


def save(
    outcomes: list[Outcome], folder: Path, commands: list[str] | None = None
) -> list[Path]:
    """Write the page, the pictures and the numbers of one race or several.

    Parameters
    ----------
    outcomes
        The races.
    folder
        Where to; it is made.
    commands
        For each race, how to repeat it from a command line; None for the call of
        `race`.

    Returns
    -------
    paths
        Of race.html, race.json, and a page in Markdown and pictures for each race.
    """
    folder.mkdir(parents=True, exist_ok=True)
    commands = commands or [_call(outcome) for outcome in outcomes]
    document, data = folder / "race.html", folder / "race.json"
    drawn = [pictures.pictures(outcome) for outcome in outcomes]
    document.write_text(page(outcomes, commands, drawn), encoding="utf-8")
    measured = {
        "onkel": onkel.__version__,
        "races": [
            numbers(outcome) | {"command": command}
            for outcome, command in zip(outcomes, commands, strict=True)
        ],
    }
    text = json.dumps(measured, indent=1, default=str, allow_nan=False)
    data.write_text(text + "\n", encoding="utf-8")
    paths = [document, data]
    for outcome, command, figures in zip(outcomes, commands, drawn, strict=True):
        paths.append(folder / f"{slug(outcome.name)}.md")
        paths[-1].write_text(written(outcome, command), encoding="utf-8")
        for name, (figure, _) in figures.items():
            paths.append(folder / f"{slug(outcome.name)}-{name}.png")
            figure.savefig(paths[-1], dpi=DPI)
    return paths

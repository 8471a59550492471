"""onkel tune: find parameters on a part of the rows."""

from functools import partial
from typing import Any

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sklearn.dummy import DummyClassifier, DummyRegressor

from onkel.cli import options
from onkel.cli.screen import as_json, bar, show_json
from onkel.data import Dataset
from onkel.data.shuffling import stacked
from onkel.tune import devices
from onkel.tune import tune as tuning
from onkel.tune.grid_search import Tried, tried
from onkel.tune.sample import Sample

SHOWN = 8  # trials in a table
FEWEST = 20  # rows of a search


def _numbers(context: Any, parameter: Any, text: str | None) -> list[int]:
    try:
        return [int(number) for number in (text or "").split(",") if number]
    except ValueError as error:
        raise click.BadParameter("numbers and commas, as in 50,100,200") from error


def sampled(data: Dataset, rows: int, batch_rows: int, seed: int) -> Sample:
    """Draw rows evenly from the whole data set, in one bounded pass."""
    rng = np.random.default_rng(seed)
    wanted = np.sort(rng.permutation(data.n_rows)[:rows])
    parts, labels = [], []
    for X, y, first in data.batches(batch_rows):
        taken = wanted[(wanted >= first) & (wanted < first + len(y))] - first
        parts.append(X[taken])
        labels.append(y[taken])
    X, y = stacked(parts), np.concatenate(labels)
    order = rng.permutation(len(y))
    return Sample(X[order], y[order], data.is_regression)


@click.command()
@click.argument("data")
@options.of_data
@click.option(
    "--system",
    default="bsgd",
    help="For example avm, bogd, fogd; kernel finds its parameters itself.",
)
@options.budget
@options.parameters
@click.option(
    "--rows",
    type=click.IntRange(min=FEWEST),
    default=5000,
    help="Rows to search with.",
)
@click.option(
    "--preset",
    type=click.Choice(["optuna", "avm", "bogd", "bsca", "dualsvrg", "nbsgd"]),
    default="optuna",
    help="optuna's search, or the grid of a paper.",
)
@click.option("--trials", type=options.COUNT, default=40)
@click.option(
    "--device",
    type=click.Choice(devices.NAMES),
    default=devices.AUTO,
    help="cuda: a GPU learns with all parameters of a grid at once, in single "
    "precision (rbp, forgetron, bogd, bsgd, fogd; needs onkel[gpu]). auto: if there "
    "is one, and many rows to learn.",
)
@click.option(
    "--budgets",
    callback=_numbers,
    metavar="B,B,...",
    help="Then the smallest of these budgets that is as good as the best.",
)
@options.batch_rows
@options.seed
@as_json
@click.pass_context
def tune(context: click.Context, /, data: str, **given: Any) -> None:
    """Find gamma, alpha or C, eta0 and radius of a system for DATA.

    Prints the best command line. Parameters given by --budget and -p stay as they are.
    Beside its error stand those of always the most frequent label, or the mean, and of
    the system that needs no search, on the same rows held out.
    """
    if given["system"] == options.NO_KNOBS:
        raise ValueError(
            "the system kernel finds gamma and C itself when it is fitted: `onkel fit` "
            "and `onkel evaluate` take it by default"
        )
    rows = options.opened(data, given)
    if rows.n_rows < FEWEST:
        raise ValueError(f"{rows.name} has {rows.n_rows} rows: too few to search with")
    sample = sampled(rows, given["rows"], given["batch_rows"], given["seed"])
    fixed = options.parsed(given["parameters"], budget=given["budget"])
    sought = tuning.Tuning(
        sample, given["system"], given["seed"], fixed, given["device"]
    )
    with bar(f"Trying {given['system']}", total=None) as advance:
        found = tuning.tune(sought, given["preset"], given["trials"], advance)
    best = fixed | found.best.parameters
    budgets: list[Tried] = []
    if given["budgets"]:
        best["budget"], budgets = tuning.smallest_budget(sought, best, given["budgets"])
    others = _others(sample, given["seed"])
    typed = options.typed(context, options.DATA_OPTIONS)
    command = tuning.command_line([data, *typed], given["system"], best)
    if given["as_json"]:
        show_json(
            {
                "best": best,
                "error": found.best.error,
                "spread": found.best.spread,
                "beside": {name: trial._asdict() for name, trial in others.items()},
                "command": command,
                "screened": {f"{gamma:g}": e for gamma, e in found.screened.items()},
                "trials": [trial._asdict() for trial in found.tested],
                "budgets": [trial._asdict() for trial in budgets],
            }
        )
        return
    _show(found.tested, budgets, others, sample.is_regression)
    Console().print(
        f"{len(sample.y):,} of {rows.n_rows:,} rows; errors are those of the search, "
        "of which the best is a little too good. Best:\n"
    )
    click.echo(command)


def _show(
    tested: list[Tried],
    budgets: list[Tried],
    others: dict[str, Tried],
    is_regression: bool,
) -> None:
    console = Console()
    console.print(_table(tested, is_regression, "trial"))
    if budgets:
        console.print(_table(budgets, is_regression, "budget"))
    for name, other in others.items():
        console.print(escape(f"{name}: {_error(other, is_regression)}"))


def _others(sample: Sample, seed: int) -> dict[str, Tried]:
    """Errors of those that have nothing to search for, on the same rows held out."""
    regression = sample.is_regression
    always = "Always the mean" if regression else "Always the most frequent label"
    constant = DummyRegressor if regression else DummyClassifier
    ready = tuning.class_of(options.NO_KNOBS, regression)
    others = {
        always: constant,
        f"{ready.__name__}, which needs no search": partial(ready, random_state=seed),
    }
    return {
        name: tried({}, make, sample.splits(seed), sample.held_out)
        for name, make in others.items()
    }


def _error(trial: Tried, is_regression: bool) -> str:
    if is_regression:
        return f"{trial.error:.4g} ± {trial.spread:.2g}"
    return f"{trial.error:.2%} ± {trial.spread:.2%}"


def _table(tested: list[Tried], is_regression: bool, title: str) -> Table:
    """Lay out the best trials, the best first."""
    ranked = sorted(tested, key=lambda trial: trial.error)[:SHOWN]
    kind = "root mean squared error" if is_regression else "error"
    table = Table(title=f"Best of {len(tested)} {title}s", box=SIMPLE_HEAD)
    names = list(ranked[0].parameters)
    for name in (*names, kind):
        table.add_column(name, justify="right")
    for trial in ranked:
        values = [
            f"{trial.parameters[name]:.4g}"
            if isinstance(trial.parameters[name], float)
            else str(trial.parameters[name])
            for name in names
        ]
        table.add_row(*map(escape, values), _error(trial, is_regression))
    return table

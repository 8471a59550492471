"""Grids on a GPU: rows that agree with the processor, and what a row costs.

Every system learns some thousand rows beside the processor, of two classes, of four,
and with numbers as targets; scores agree if they differ by less than a thousandth of
the largest. A decision that hangs on rounding may fall the other way, and then scores
differ from that row on. Where there is no GPU, nothing is measured.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.markup import escape

import onkel
from benchmarks.tables import table
from onkel.refit.devices import NoGpuError
from onkel.tune import side_by_side
from onkel.tune.pupils import Lesson, Pupil

FEATURES, COMPARED, SMALL = 10, 3000, 100
ROWS, BUDGET, MODELS = 10_000, 1024, 528
CLOSE = 1e-3


class System(NamedTuple):
    """A system of the grid."""

    name: str
    estimator: str
    parameters: dict[str, Any]


STEPS = {"eta0": 0.3, "alpha": 1e-3}
SYSTEMS = (
    System("RBP", "RBP", {}),
    System("Forgetron", "Forgetron", {}),
    System("BOGD", "BOGD", STEPS),
    System("BOGD++", "BOGD", {**STEPS, "sampling": "weighted"}),
    System("BOGD++ as printed", "BOGD", {**STEPS, "sampling": "as_printed"}),
    System("BSGD, removal", "BSGD", {"alpha": 1e-3, "maintenance": "removal"}),
    System("BSGD, merging", "BSGD", {"alpha": 1e-3}),
    System("FOGD", "FOGD", STEPS),
)


def rows_of(count: int, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and targets: two classes, four, or numbers; with some noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, FEATURES)).astype(np.float32)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=count)
    if task == "numbers":
        return X, y
    return X, np.digitize(y, [0.0] if task == "two classes" else [-0.7, 0.0, 0.7])


def model(system: System, task: str, budget: int, gamma: float, seed: int = 0) -> Any:
    ending = "Regressor" if task == "numbers" else "Classifier"
    size = {"n_components" if system.name == "FOGD" else "budget": budget}
    given = {**system.parameters, **size, "gamma": gamma, "random_state": seed}
    return getattr(onkel, system.estimator + ending)(**given)


class Agreement(NamedTuple):
    """Scores of a GPU beside those of the processor."""

    rows: float  # share of those that agree
    first: int | None  # row that does not
    difference: float  # largest of all before that, over the largest score


def agreement(found: np.ndarray, expected: np.ndarray) -> Agreement:
    """Compare scores, row by row.

    Examples
    --------
    >>> agreement(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 4.0, 4.0]))
    Agreement(rows=0.75, first=2, difference=0.0)
    """
    apart = np.abs(found - expected).reshape(len(found), -1).max(axis=1)
    apart /= np.abs(expected).max()
    far = np.flatnonzero(apart > CLOSE)
    first = int(far[0]) if len(far) else None
    return Agreement(
        1.0 - len(far) / len(apart), first, float(apart[:first].max(initial=0.0))
    )


def compare(console: Console) -> None:
    """Show whether rows agree, of two models of each system and task."""
    shown = table(
        f"{COMPARED:,} rows, {FEATURES} features, budget {SMALL}, on GPU and processor",
        ["system", "targets", "rows that agree", "first other", "difference before"],
        ["system", "targets"],
    )
    for system in SYSTEMS:
        for task in ("two classes", "four classes", "numbers"):
            X, y = rows_of(COMPARED, task)
            models = [model(system, task, SMALL, gamma) for gamma in (0.05, 0.2)]
            classes = None if task == "numbers" else np.unique(y)
            for one, found in zip(
                models, side_by_side.progressive(models, X, y), strict=True
            ):
                result = agreement(found, onkel.progressive(one, X, y, classes))
                first = "none" if result.first is None else f"{result.first:,}"
                figures = f"{result.rows:.2%}", first, f"{result.difference:.0e}"
                shown.add_row(system.name, task, *figures)
    console.print(shown)


def seconds_of(models: list[Any], X: np.ndarray, y: np.ndarray) -> float:
    """Less seconds of two in which a GPU takes models through all rows."""
    pupils, targets = [], y
    for one in models:
        targets, outputs = one._encoded(y)
        learner, _ = one._new_learner(X, outputs, None)
        pupils.append(Pupil(learner, np.arange(len(y))))
    lesson = Lesson(X, targets, len(y), len(y), len(y) - 1)
    spent = []
    for _ in range(2):
        start = time.perf_counter()
        side_by_side.taught(pupils, lesson)
        spent.append(time.perf_counter() - start)
    return min(spent)


def measure(console: Console) -> None:
    """Show what a row costs, of one model, of many, and on one core."""
    shown = table(
        f"{ROWS:,} rows of two classes, {FEATURES} features, budget {BUDGET:,}",
        [
            *("system", "one model, us a row", f"{MODELS} models, us a row"),
            *(
                "model-steps a second",
                "one core, us a row",
                "cores that a GPU is worth",
            ),
        ],
    )
    X, y = rows_of(ROWS, "two classes")
    for system in SYSTEMS:
        gammas = np.geomspace(0.02, 0.5, MODELS)
        models = [model(system, "two classes", BUDGET, gamma) for gamma in gammas]
        alone = seconds_of(models[:1], X, y) / ROWS
        together = seconds_of(models, X, y) / ROWS
        start = time.perf_counter()
        onkel.progressive(models[MODELS // 2], X, y, np.unique(y))
        core = (time.perf_counter() - start) / ROWS
        shown.add_row(
            *(system.name, f"{1e6 * alone:.2f}", f"{1e6 * together:.2f}"),
            *(f"{MODELS / together / 1e6:.0f} M", f"{1e6 * core:.2f}"),
            f"{MODELS * core / together:.0f}",
        )
    console.print(shown)


def main(console: Console) -> None:
    start = time.perf_counter()
    try:
        compare(console)
    except NoGpuError as error:
        console.print(f"skipped: {escape(str(error))}")
        return
    measure(console)
    console.print(f"{time.perf_counter() - start:.0f} s in all")

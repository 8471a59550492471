"""BSCA: table 1, the exact machine, its figures, curves by epoch or time, its theory.

The paper prints no number of BSCA or BSGD, only curves; ours have the spread over seeds
and are beside the exact machine. C and gamma are the paper's, chosen for that machine.
The answer of BSCA is the mean of its last iterates here, the very last in the paper;
both come from the same runs.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sklearn.svm import SVC

from onkel.reproduce.bsca_curves import EPOCHS, curves, facts
from onkel.reproduce.bsca_figures import (
    MANY,
    draw_errors,
    draw_errors_over_time,
    draw_merging,
    draw_objectives,
    draw_objectives_over_time,
    error_rows,
    merging_rows,
    objective_rows,
    time_rows,
)
from onkel.reproduce.bsca_lemma import (
    draw_shares,
    share_rows,
    shares,
    systems,
    without_budget,
)
from onkel.reproduce.bsca_theorem import (
    budgets,
    draw_progress,
    progress,
    progress_rows,
    small,
)
from onkel.reproduce.limited_fit import fit_within
from onkel.reproduce.problems import few, problem
from onkel.reproduce.protocol import Cell, EstimatorSetup, Table, table
from onkel.reproduce.runner import PERCENT

CACHE = 4000  # MB: all kernel values of ADULT's rows


def exact(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Fit SVC in a process of its own, which is stopped at the limit."""
    case = problem(name)
    outcome = facts(case, is_accuracy=True)
    machine = SVC(C=case.C, gamma=case.gamma, cache_size=CACHE)
    try:
        model, seconds = fit_within(limit, machine, case.X, case.y)
    except TimeoutError as reason:
        return outcome | {"why_not": str(reason), "needs": limit + 1}
    accuracy = PERCENT * model.score(case.X_test, case.y_test)
    found = {"values": accuracy, "sizes": len(model.support_)}
    found["seconds"] = round(seconds, 1)
    return outcome | {name: [value] for name, value in found.items()}


NAMES = ("BSCA", "BSGD")


def budgeted(
    *budgets: int, names: Sequence[str] = NAMES, **fixed: Any
) -> dict[str, EstimatorSetup]:
    """Return BSCA and BSGD, or one of them, with these budgets."""
    return {
        f"{name}, B = {budget}": EstimatorSetup(
            f"{name}Classifier", {"budget": budget, **fixed}
        )
        for budget in budgets
        for name in names
    }


def _figure(name: str, added: Mapping[str, EstimatorSetup], **code: Any) -> Table:
    return table(
        "bsca", name, load=problem, measure=curves, extra=lambda name: added, **code
    )


def _figure_of_few(
    name: str, added: Mapping[str, EstimatorSetup], **code: Any
) -> Table:
    """Return a figure of a few rows of each problem, without a budget or long."""
    run = partial(curves, load=few)
    return table("bsca", name, load=few, measure=run, extra=lambda name: added, **code)


OVER_TIME = budgeted(200, 500, names=("BSCA",))
TABLES = (
    table(
        "bsca",
        "table1",
        load=problem,
        setup_of=lambda number, name: EstimatorSetup("SVC"),
        measure=exact,
    ),
    _figure("figure1", budgeted(500), draw=draw_objectives, rows=objective_rows),
    _figure("figure2", budgeted(500), draw=draw_errors, rows=error_rows),
    _figure("figure3", budgeted(200, 500, 1000), draw=draw_merging, rows=merging_rows),
    _figure_of_few(
        "figure4",
        {
            "SCA": EstimatorSetup("BSCAClassifier", {"budget": None, "average": None}),
            "SGD": without_budget(EPOCHS),
        },
        draw=draw_errors,
        rows=error_rows,
    ),
    _figure("figure5", budgeted(200), draw=draw_errors, rows=error_rows),
    _figure("figure6", OVER_TIME, draw=draw_errors_over_time, rows=time_rows),
    _figure("figure7", OVER_TIME, draw=draw_objectives_over_time, rows=objective_rows),
    _figure_of_few(
        "figure8",
        budgeted(200, 500, 1000, max_iter=MANY[-1]),
        draw=partial(draw_merging, scale="log"),
        rows=partial(merging_rows, epochs=MANY),
    ),
    table(
        "bsca",
        "lemma2",
        load=few,
        measure=shares,
        extra=systems,
        draw=draw_shares,
        rows=share_rows,
    ),
    table(
        "bsca",
        "theorem1",
        load=small,
        measure=progress,
        extra=budgets,
        draw=draw_progress,
        rows=progress_rows,
    ),
)

"""BOGD and BOGD++ (ICML 2012): tables 2 and 3, mistakes of one pass; theory, times."""

from dataclasses import replace
from typing import Any

from onkel.reproduce.bogd_regret import (
    draw_regret,
    regret,
    regret_rows,
    rows_of,
    systems,
)
from onkel.reproduce.bogd_times import (
    budgets,
    draw_times,
    some_rows,
    time_rows,
    turns,
)
from onkel.reproduce.online_data import positive_first
from onkel.reproduce.protocol import EstimatorSetup, table
from onkel.reproduce.published import PublishedNumber
from onkel.tune.grids import BOGD_ETAS, BOGD_GAMMA, BOGD_MAX_COEFS

UNTUNED_STEP = 1.0
# Systems with nothing to choose but kernel and budget: our estimators, what is fixed.
UNTUNED: dict[str, tuple[str, dict[str, Any]]] = {
    "Perceptron": ("KernelPerceptronClassifier", {}),
    "RBP": ("RBPClassifier", {}),
    "Forgetron": ("ForgetronClassifier", {}),
    "Projectron": ("ProjectronClassifier", {"projection_threshold": 0.0}),
    "Projectron++": (
        "ProjectronClassifier",
        {"projection_threshold": 0.001, "aggressive": True},
    ),
}
SAMPLING = {"BOGD": "uniform", "BOGD++": "weighted"}


def setup_of(number: PublishedNumber, name: str) -> EstimatorSetup | str:
    """Return our setup for a published number."""
    if number.size.startswith("unknown"):
        return "its budget is lost in our copy of the text"
    fixed: dict[str, Any] = {"gamma": BOGD_GAMMA}
    if number.maintenance != "none":
        fixed["budget"] = int(number.size)
    if number.algorithm in UNTUNED:
        kind, more = UNTUNED[number.algorithm]
        return EstimatorSetup(kind, {**fixed, **more})
    kind, grid = "OGDClassifier", {"eta0": BOGD_ETAS}
    fixed["alpha"] = 1.0
    if number.algorithm in SAMPLING:
        kind, grid["max_coef"] = "BOGDClassifier", BOGD_MAX_COEFS
        fixed["sampling"] = SAMPLING[number.algorithm]
    return EstimatorSetup(kind, fixed, grid, {"alpha": "1/n^2"})


def untuned(name: str) -> dict[str, EstimatorSetup]:
    """Return OGD with a step of 1, which the published sizes point to."""
    fixed = {"gamma": BOGD_GAMMA, "alpha": 1.0, "eta0": UNTUNED_STEP}
    return {
        "OGD, eta = 1": EstimatorSetup("OGDClassifier", fixed, units={"alpha": "1/n^2"})
    }


TABLE3 = table("bogd", "table3", load=positive_first, setup_of=setup_of)


def as_printed(name: str) -> dict[str, EstimatorSetup]:
    """Return BOGD++ with the probabilities that are printed, for all of its budgets."""
    return {
        f"BOGD++ as printed, B = {cell.size}": replace(
            cell.setup, fixed={**cell.setup.fixed, "sampling": "as_printed"}
        )
        for cell in TABLE3.cells()
        if cell.setup is not None
        and cell.algorithm == "BOGD++"
        and TABLE3.data[cell.data] == name
    }


TABLES = (
    table("bogd", "table2", load=positive_first, setup_of=setup_of, extra=untuned),
    replace(
        TABLE3,
        extra=as_printed,
        beside={
            label: "BOGD++"
            for name in TABLE3.data.values()
            for label in as_printed(name)
        },
    ),
    table(
        "bogd",
        "theorem3",
        load=rows_of,
        measure=regret,
        extra=systems,
        draw=draw_regret,
        rows=regret_rows,
    ),
    table(
        "bogd",
        "times",
        load=some_rows,
        measure=turns,
        extra=budgets,
        draw=draw_times,
        rows=time_rows,
    ),
)

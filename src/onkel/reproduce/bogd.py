"""BOGD and BOGD++ (ICML 2012): tables 2 and 3, mistakes of one pass; theory, times."""

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
from onkel.reproduce.online_data import OnlineData, whole
from onkel.reproduce.protocol import EstimatorSetup, table
from onkel.reproduce.published import PublishedNumber
from onkel.tune.grids import BOGD_ETAS, BOGD_GAMMA, BOGD_MAX_COEFS

SEARCH_ROWS = 20_000
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


def load(name: str) -> OnlineData:
    """Return all rows as they are, dense."""
    work = whole(name)
    return work._replace(n_train=len(work.y))


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
    return EstimatorSetup(kind, fixed, grid, {"alpha": "1/n^2"}, SEARCH_ROWS)


TABLES = (
    *(
        table("bogd", name, load=load, setup_of=setup_of)
        for name in ("table2", "table3")
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

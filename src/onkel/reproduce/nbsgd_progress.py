"""NBSGD's figure 1: the objective during a pass of SGD, BSGD and NBSGD.

All three have the same kernel and lambda: at another lambda there is another objective.
The kernel is, of the paper's grid, the one next to what the BSCA paper found for these
data, lambda one of the two smallest of the grid; beyond, hardly anything is learnt.
"""

from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from onkel.reproduce.bands import band
from onkel.reproduce.objective import Objective
from onkel.reproduce.online_data import OnlineData, whole
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.reproduce.summary import measured

ROWS = 4000
POINTS = tuple(np.unique(np.geomspace(50, ROWS, 14).astype(int)).tolist())
# Of the rows: the size at which maintenance begins, and beta.
SHARE, BETA = 0.05, 0.6
LAMBDAS = {"2^-8": 2.0**-8, "2^-4": 2.0**-4}
GAMMAS = {"a9a": 2.0**-8, "ijcnn1": 1.0}
LINES = {"2^-8": "-", "2^-4": "--"}
COLOURS = {"SGD": "#000000", "NBSGD": "#117733", "BSGD": "#CC6677"}


@cache
def first_rows(name: str) -> OnlineData:
    """Load the first 4,000 training rows of a problem with two classes, dense."""
    work = whole(name)
    X = work.X[:ROWS]
    dense = X.toarray() if hasattr(X, "toarray") else X
    y = np.where(work.y[:ROWS] > 0, 1, -1)
    return OnlineData(name, np.ascontiguousarray(dense), y, False, ROWS)


def three(name: str) -> dict[str, EstimatorSetup]:
    """Return SGD, BSGD and NBSGD, with each lambda."""
    found: dict[str, EstimatorSetup] = {}
    for power, value in LAMBDAS.items():
        common: dict[str, Any] = {
            **{"loss": "hinge", "alpha": value},
            "gamma": GAMMAS.get(name, 1.0),
        }
        budget = {**common, "maintenance": "removal", "budget": SHARE}
        faded = {**budget, "maintenance_rate": BETA}
        both = {"budget": "rows", "maintenance_rate": "rows"}
        of_one = {"budget": "rows"}
        found |= {
            f"SGD, lambda {power}": EstimatorSetup("KernelSGDClassifier", common),
            f"BSGD, lambda {power}": EstimatorSetup(
                "BSGDClassifier", budget, {}, of_one
            ),
            f"NBSGD, lambda {power}": EstimatorSetup(
                "NBSGDClassifier", faded, {}, both
            ),
        }
    return found


@cache
def _objective(name: str, gamma: float, alpha: float) -> Objective:
    work = first_rows(name)
    return Objective(work.X, work.y, gamma, alpha)


def objectives(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn in several orders, and note the objective on all rows on the way."""
    work, setup = first_rows(name), cell.setup
    assert setup is not None
    objective = _objective(name, setup.fixed["gamma"], setup.fixed["alpha"])
    found: list[list[float]] = []
    sizes: list[int] = []
    for seed in range(wanted):
        order = np.random.default_rng(seed).permutation(ROWS)
        model = setup.build(work, ROWS, random_state=seed)
        curve, start = [], 0
        for stop in POINTS:
            rows = order[start:stop]
            model.partial_fit(work.X[rows], work.y[rows], classes=[-1, 1])
            curve.append(objective.of_model(model))
            start = stop
        found.append(curve)
        sizes.append(int(model.model_size_))
    return {
        **{"rows": ROWS, "features": work.X.shape[1]},
        **{"values": [run[-1] for run in found], "sizes": sizes},
        "curves": {"objective": found},
    }


def objective_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out the objective on the way and at the end."""
    shown = (0, len(POINTS) // 2, len(POINTS) - 1)
    heads = [f"after {POINTS[place]:,} rows" for place in shown]
    rows = [["data", "system", *heads, "centres"]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            runs = np.array(outcome["curves"]["objective"])
            numbers = [measured(runs[:, place].tolist()).shown(4) for place in shown]
            size = f"{measured(outcome['sizes']).mean:,.0f}"
            rows.append([data, label, *numbers, size])
    return rows


def draw_objectives(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw the objective against the rows learnt."""
    picture = Picture(figsize=(4.8 * len(outcomes), 3.8), layout="constrained")
    panels = picture.subplots(1, len(outcomes), squeeze=False)
    for panel, (data, found) in zip(panels[0], outcomes.items(), strict=True):
        for label, outcome in found.items():
            runs = outcome["curves"]["objective"]
            system, _, power = label.partition(", lambda ")
            look = {"label": label, "ls": LINES[power]}
            band(panel, POINTS, runs, COLOURS[system], **look)
        panel.set(title=data, xlabel="rows learnt", xscale="log", yscale="log")
        panel.grid(alpha=0.3, which="both")
    panels[0, 0].set_ylabel("objective")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return picture

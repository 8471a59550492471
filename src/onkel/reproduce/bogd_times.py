"""Time of BOGD and BOGD++: processor time of passes that take turns in one process."""

import time
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import onkel
from onkel.reproduce.online_data import OnlineData, whole
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.tune.grids import BOGD_GAMMA

ROWS, TURNS = 20_000, 9
BUDGETS = {
    "spambase": (100, 300),
    "magic04": (500, 1500),
    "ijcnn1": (500, 2000),
}
SAMPLING = {"BOGD": "uniform", "BOGD++": "weighted"}


@cache
def some_rows(name: str) -> OnlineData:
    """Load up to 20,000 rows, as they are."""
    work = whole(name)
    few = np.random.default_rng(0).permutation(len(work.y))[:ROWS]
    X = np.ascontiguousarray(work.X[few])
    return OnlineData(name, X, work.y[few], False, len(few))


def budgets(name: str) -> dict[str, EstimatorSetup]:
    """Return the smallest and the largest budget of table 3, for both systems."""
    return {
        f"B = {budget}": EstimatorSetup(
            "BOGDClassifier",
            {
                **{"budget": budget, "gamma": BOGD_GAMMA, "eta0": 1.0},
                **{"max_coef": 4.0, "alpha": 1e-9},
            },
        )
        for budget in BUDGETS[name]
    }


def turns(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Make passes of both systems in turns."""
    work, setup = some_rows(name), cell.setup
    assert setup is not None
    found: dict[str, list[float]] = {system: [] for system in SAMPLING}
    updates: dict[str, list[float]] = {system: [] for system in SAMPLING}
    for turn in range(TURNS + 1):  # the first compiles
        for system, sampling in SAMPLING.items():
            model = onkel.BOGDClassifier(
                **setup.fixed, sampling=sampling, random_state=turn
            )
            start = time.process_time()
            onkel.progressive(model, work.X, work.y, classes=np.unique(work.y))
            if turn > 0:
                found[system].append(time.process_time() - start)
                updates[system].append(model.n_updates_)
    ratios = np.array(found["BOGD++"]) / np.array(found["BOGD"])
    return {
        **{"rows": len(work.y), "features": work.X.shape[1]},
        **{"values": ratios.tolist(), "curves": found},
        "updates": {name: float(np.mean(of)) for name, of in updates.items()},
    }


def time_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out medians, updates and the ratio."""
    rows = [
        [
            *("data", "budget", "BOGD, s", "BOGD++, s", "ratio, median", "range"),
            *("updates of BOGD", "of BOGD++"),
        ]
    ]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            ratios = outcome["values"]
            times = [f"{np.median(of):.3f}" for of in outcome["curves"].values()]
            edges = f"{min(ratios):.2f} to {max(ratios):.2f}"
            steps = [f"{of:,.0f}" for of in outcome["updates"].values()]
            median = f"{np.median(ratios):.2f}"
            rows.append([data, label, *times, median, edges, *steps])
    return rows


def draw_times(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw the ratio of every turn."""
    picture = Picture(figsize=(6.4, 3.6), layout="constrained")
    panel = picture.subplots()
    cases = [
        (f"{data}\n{label}", outcome["values"])
        for data, found in outcomes.items()
        for label, outcome in found.items()
    ]
    for place, (_, ratios) in enumerate(cases):
        panel.plot([place] * len(ratios), ratios, "o", ms=4, alpha=0.5, color="#4477AA")
    panel.axhline(1.0, color="grey", ls=":")
    panel.set_xticks(range(len(cases)), [name for name, _ in cases], fontsize=8)
    panel.set(ylabel="time of BOGD++ / BOGD", ylim=(0, None))
    panel.grid(alpha=0.3)
    return picture

"""AVM's theorem 5: how far cells take the objective from that of SGD.

Both learn the same rows, drawn with replacement from 2,000, and answer with the mean of
their iterates, as the theorem does. The theorem bounds what cells add by a constant
times delta_Phi, the diameter of a cell in feature space, and it is 0 with delta.
"""

from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

import onkel
from onkel.reproduce.bands import band
from onkel.reproduce.objective import Objective
from onkel.reproduce.powers import Power, power_of
from onkel.reproduce.problems import Problem, problem
from onkel.reproduce.protocol import Cell, EstimatorSetup

ROWS, LENGTH, LAMBDA = 2000, 8000, 1e-3
# delta_Phi is sqrt(2) where points of a cell may be nothing alike.
GAPS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
ROUNDING = 1e-6  # of the objective
COLOURS = {"hinge": "#CC6677", "log_loss": "#4477AA"}


def few_rows(name: str) -> Problem:
    """Load 2,000 rows of a problem."""
    return problem(name).head(ROWS)


def losses(name: str) -> dict[str, EstimatorSetup]:
    """Return AVM with its two losses; cells are given later."""
    return {
        loss: EstimatorSetup(
            "AVMClassifier",
            {
                **{"loss": loss, "alpha": LAMBDA, "average": "full"},
                **{"lazy_core": False, "shuffle": False},
            },
        )
        for loss in COLOURS
    }


@cache
def _objective(name: str, loss: str) -> Objective:
    case = few_rows(name)
    return Objective(case.X, case.y, case.gamma, LAMBDA, loss)


def radius_of(gap: float, gamma: float) -> float:
    """Return the radius of cells with this diameter in feature space."""
    return float(np.sqrt(-np.log1p(-0.5 * gap * gap) / gamma) / 2)


def gaps(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn with cells of all sizes, and note what they add to SGD's objective."""
    case, setup = few_rows(name), cell.setup
    assert setup is not None
    objective = _objective(name, setup.fixed["loss"])
    common = {"alpha": LAMBDA, "gamma": case.gamma, "loss": setup.fixed["loss"]}
    found: dict[str, list[list[float]]] = {"gap": [], "size": []}
    for seed in range(wanted):
        drawn = np.random.default_rng(seed).integers(len(case.y), size=LENGTH)
        X, y = case.X[drawn], case.y[drawn]
        plain = onkel.KernelSGDClassifier(**common, average="full", shuffle=False)
        base = objective.of_model(plain.fit(X, y))
        added, sizes = [], []
        for wide in GAPS:
            model = onkel.AVMClassifier(
                **setup.fixed,
                gamma=case.gamma,
                coverage_radius=radius_of(wide, case.gamma),
            ).fit(X, y)
            added.append(objective.of_model(model) - base)
            sizes.append(float(model.model_size_))
        found["gap"].append(added)
        found["size"].append(sizes)
    return {
        **{"rows": len(case.y), "features": case.X.shape[1]},
        **{"values": [run[-1] for run in found["gap"]], "curves": found},
    }


def slope(outcome: dict[str, Any]) -> Power | None:
    """Return the power of delta_Phi that the gap follows, where it is a gap at all."""
    means = np.mean(outcome["curves"]["gap"], axis=0)
    told = means > ROUNDING
    if told.sum() < 3:
        return None
    x = np.array(GAPS)[told].tolist()
    return power_of(x, [means[told].tolist()])


def gap_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out gaps and sizes by delta_Phi."""
    heads = [f"delta_Phi = {gap:g}" for gap in GAPS]
    rows = [["data", "loss", "", *heads, "power"]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            added, sizes = (
                np.mean(outcome["curves"][key], axis=0) for key in ("gap", "size")
            )
            power = slope(outcome)
            shown = f"{power.mean:.2f}" if power else "-"
            rows += [
                [data, label, "gap", *(f"{one:.2g}" for one in added), shown],
                [data, label, "cores", *(f"{one:,.0f}" for one in sizes), ""],
            ]
    return rows


def draw_gaps(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw gaps against delta_Phi, with a line in proportion to it."""
    picture = Picture(figsize=(4.6 * len(outcomes), 3.8), layout="constrained")
    panels = picture.subplots(1, len(outcomes), squeeze=False)
    for panel, (data, found) in zip(panels[0], outcomes.items(), strict=True):
        for label, outcome in found.items():
            runs = np.maximum(outcome["curves"]["gap"], ROUNDING)
            band(panel, GAPS, runs, COLOURS[label], label=label, marker="o", ms=3)
            last = float(np.mean(runs, axis=0)[-1])
            line = [last * gap / GAPS[-1] for gap in GAPS]
            panel.plot(GAPS, line, color=COLOURS[label], lw=0.8, ls=":")
        panel.set(title=data, xlabel="delta_Phi", xscale="log", yscale="log")
        panel.grid(alpha=0.3)
    panels[0, 0].set_ylabel("objective of AVM less that of SGD")
    panels[0, 0].legend(frameon=False, title="dotted: in proportion")
    return picture

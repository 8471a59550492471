"""NBSGD's theorems 11 and 12: what is left to the optimum after so many rows.

Rows are drawn with replacement from 2,000, the theorems' distribution, lambda is fixed,
and maintenance fades as they ask: with probability min(beta / t, 1), beta constant. In
the paper's experiments beta is 0.6 T.
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
from onkel.reproduce.summary import measured

ROWS, EPOCHS_EXACT = 2000, 1000
LENGTHS = tuple(2**k for k in range(8, 15))
FROM = 2  # place of 1,024
LAMBDA, BUDGET, RATE = 1e-3, 100, 500.0  # of NBSGD; its probabilities are RATE / t
OUTPUTS = {"last iterate": None, "suffix average": "suffix"}
COLOURS = {"SGD": "#000000", "NBSGD": "#117733", "BSGD": "#CC6677"}
LINES = {"last iterate": "-", "suffix average": "--"}


def small(name: str) -> Problem:
    """Load 2,000 rows of a problem."""
    return problem(name).head(ROWS)


def in_theory(name: str) -> dict[str, EstimatorSetup]:
    """Return SGD, NBSGD whose maintenance fades like 1/t, and BSGD."""
    common: dict[str, Any] = {"alpha": LAMBDA, "loss": "hinge", "shuffle": False}
    budget = {"budget": BUDGET, "maintenance": "removal"}
    return {
        "SGD": EstimatorSetup("KernelSGDClassifier", common),
        "NBSGD": EstimatorSetup(
            "NBSGDClassifier", {**common, **budget, "maintenance_rate": RATE}
        ),
        "BSGD": EstimatorSetup("BSGDClassifier", {**common, **budget}),
    }


@cache
def _optimum(name: str) -> tuple[Objective, float]:
    """Return the objective on a problem's rows, and its least value."""
    case = small(name)
    objective = Objective(case.X, case.y, case.gamma, LAMBDA)
    best = objective.best(case.X, case.gamma, EPOCHS_EXACT)
    return objective, objective.of_coef(best)


def suboptimality(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn so many rows drawn with replacement, and note what is left, by output."""
    case, (objective, best), setup = small(name), _optimum(name), cell.setup
    assert setup is not None
    found: dict[str, list[list[float]]] = {output: [] for output in OUTPUTS}
    sizes: list[int] = []
    for seed in range(wanted):
        drawn = np.random.default_rng(seed).integers(len(case.y), size=LENGTHS[-1])
        for output, average in OUTPUTS.items():
            answer: dict[str, Any] = {"average": average, "random_state": seed}
            if average and "budget" in setup.fixed:
                answer["average_exact"] = True
            left = []
            for length in LENGTHS:
                rows = drawn[:length]
                model = getattr(onkel, setup.kind)(
                    **setup.fixed, **answer, gamma=case.gamma
                ).fit(case.X[rows], case.y[rows])
                left.append(objective.of_model(model) - best)
            found[output].append(left)
            if average is None:
                sizes.append(int(model.model_size_))
    values = [run[-1] for run in found["suffix average"]]
    return {
        **{"rows": len(case.y), "features": case.X.shape[1]},
        **{"values": values, "sizes": sizes, "curves": found},
    }


def late_power(runs: list[list[float]]) -> Power:
    """Return the power of T from T = 1,024 on, where few rows are over."""
    return power_of(LENGTHS[FROM:], [run[FROM:] for run in runs])


def suboptimality_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out what is left by length, and the power of the length."""
    shown = range(0, len(LENGTHS), 2)
    heads = [f"T = {LENGTHS[place]:,}" for place in shown]
    rows = [["data", "system", "answer", *heads, "power of T", "centres"]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            for output, runs in outcome["curves"].items():
                means = np.mean(runs, axis=0)
                power = late_power(runs)
                numbers = [f"{means[place]:.4f}" for place in shown]
                size = f"{measured(outcome['sizes']).mean:,.0f}"
                rows.append([data, label, output, *numbers, power.shown(), size])
    return rows


def draw_suboptimality(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw what is left to the optimum against the length."""
    picture = Picture(figsize=(5 * len(outcomes), 4.2), layout="constrained")
    panels = picture.subplots(1, len(outcomes), squeeze=False, sharey=True)
    for panel, (data, found) in zip(panels[0], outcomes.items(), strict=True):
        for label, outcome in found.items():
            for output, runs in outcome["curves"].items():
                look = {"ls": LINES[output], "label": f"{label}, {output}"}
                band(panel, LENGTHS, runs, COLOURS[label], **look)
        start = LENGTHS[FROM]
        anchor = np.mean(found["SGD"]["curves"]["suffix average"], axis=0)[FROM] / 3
        ideal = [anchor * start / length for length in LENGTHS[FROM:]]
        panel.plot(LENGTHS[FROM:], ideal, color="grey", lw=1, label="1/T")
        panel.set(title=data, xlabel="rows T", xscale="log", yscale="log")
        panel.grid(alpha=0.3)
    panels[0, 0].set_ylabel("objective less its minimum")
    panels[0, -1].legend(frameon=False, fontsize=7)
    return picture

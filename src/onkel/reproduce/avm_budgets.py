"""AVM's figure 7: mistakes against time, of systems with six budgets, beside AVM.

Parameters are those that the table's budget has; they stay.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from onkel.reproduce.avm_curves import COLOURS
from onkel.reproduce.axes import wide
from onkel.reproduce.digits import short
from onkel.reproduce.online_data import OnlineData
from onkel.reproduce.protocol import EstimatorSetup
from onkel.reproduce.runner import PERCENT, has_time, stream, warm_up
from onkel.reproduce.summary import measured

MISTAKES, SECONDS, SIZE = "mistakes", "seconds", "size"
SWEPT = ("RBP", "Forgetron", "Projectron", "BPAS", "BOGD")
BUDGETS = {
    "a9a": (50, 100, 142, 250, 500, 1000),
    "cod-rna": (50, 100, 150, 250, 436, 1000),
}


def with_budgets(
    work: OnlineData, setup: EstimatorSetup, wanted: int, limit: float
) -> dict[str, Any]:
    """Learn in one order after the other with every budget, or once without any.

    Budgets take turns, so that a busy moment of the machine hits all of them.
    """
    rows, has_budget = len(work.y), "budget" in setup.fixed
    budgets = BUDGETS[work.name] if has_budget else ()
    changes = [{"budget": budget} for budget in budgets] or [{}]
    found: dict[str, list[float]] = {"values": [], "seconds": []}
    curves: dict[str, list[list[float]]] = {MISTAKES: [], SECONDS: [], SIZE: []}
    warm_up(work, setup, rows)
    for seed in range(wanted):
        if not has_time(found["seconds"], limit):
            break
        order = np.random.default_rng(seed).permutation(rows)
        runs: list[list[float]] = []
        for change in changes:
            model = setup.build(work, rows, **change, random_state=seed)
            error, seconds = stream(work, model, order, np.inf if seed else limit)
            runs.append([PERCENT * error, seconds, float(model.model_size_)])
        for kind, numbers in zip(curves, zip(*runs, strict=True), strict=True):
            curves[kind].append(short(numbers))
        found["values"].append(runs[-1][0])
        found["seconds"].append(sum(run[1] for run in runs))  # of all budgets
    return {**found, "budgets": list(budgets), "curves": curves}


def budget_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out mistakes, sizes and the shortest times by budget."""
    rows = [["data", "system", "B", "mistakes, %", "centres", "s", "orders"]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            runs = {kind: np.array(one) for kind, one in outcome["curves"].items()}
            for place, budget in enumerate(outcome["budgets"] or ["-"]):
                mistakes = runs[MISTAKES][:, place].tolist()
                rows.append(
                    [
                        *(data, label, f"{budget}"),
                        measured(mistakes).shown(2, is_single=len(mistakes) == 1),
                        f"{runs[SIZE][:, place].mean():,.0f}",
                        f"{runs[SECONDS][:, place].min():.3f}",
                        str(len(mistakes)),
                    ]
                )
    return rows


def draw_budgets(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw a panel a data set: a line a system, its marks the larger the budget."""
    picture = Picture(figsize=(6.5 * len(outcomes), 5.4), layout="constrained")
    panels = picture.subplots(1, len(outcomes), squeeze=False)[0]
    for panel, (data, found) in zip(panels, outcomes.items(), strict=True):
        for label, outcome in found.items():
            curves = outcome["curves"]
            x = np.min(curves[SECONDS], axis=0)
            y = np.mean(curves[MISTAKES], axis=0)
            colour = COLOURS[label]
            if not outcome["budgets"]:
                panel.plot(x, y, "*", color=colour, ms=14, label=label)
                continue
            sizes = 12 * np.arange(1, len(x) + 1)
            panel.plot(x, y, color=colour, lw=1.2, label=label)
            panel.scatter(x, y, s=sizes, color=colour)
        budgets = max(outcome["budgets"] for outcome in found.values())
        panel.set(xlabel="seconds", ylabel="mistakes, %")
        panel.set_title(f"{data}: B = {', '.join(map(str, budgets))}")
        panel.grid(alpha=0.3, which="both", lw=0.5)
        wide(panel, "x")
    handles = panels[0].get_legend_handles_labels()
    picture.legend(*handles, loc="outside upper center", ncols=6, frameon=False)
    return picture

"""BSCA's lemma 2: how often SGD and coordinate ascent change the model, and on what.

Without a budget the share of steps that change the model tends to mean(a*) / C for SGD
and to the share of free support vectors, 0 < a* < C, for coordinate ascent. The limits
come from a long run of coordinate ascent without a budget, which is exact. Beside them
what becomes of the margin violators of the exact machine, a* = C: how many have a
margin below 1 after an epoch, which is where SGD steps at every visit; how many have
their dual variable at C; how many of these variables the epoch moved.
"""

from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture

from onkel.reproduce.bsca_curves import estimator_for, facts
from onkel.reproduce.digits import short
from onkel.reproduce.every_pass import EveryPass
from onkel.reproduce.problems import FEW, Problem, few
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.reproduce.summary import measured

EXACT = "exact"
EPOCHS_EXACT, EPOCHS_DUAL, EPOCHS_SGD = 800, 300, 60
SMALL_MODELS = ("ijcnn1", "cod-rna")
AT_BOUND = 1e-6  # within this share of C of a bound a dual variable is at it
NOTED = ("below", "at_C", "moved")
LAST = 10  # epochs, whose mean is compared with the limit
COLOURS = {"SCA": "#117733", "SGD": "#CC6677", "BSCA": "#88CCEE", "BSGD": "#DDAA33"}


def without_budget(epochs: int) -> EstimatorSetup:
    """Return SGD for a few rows: BSGD with room for every step, which has a history."""
    return EstimatorSetup(
        "BSGDClassifier", {"budget": epochs * FEW, "max_iter": epochs}
    )


def systems(name: str) -> dict[str, EstimatorSetup]:
    """Return both systems, without a budget and with 500 centres, and the exact one.

    Where SGD steps on a third of the rows its model would grow for many minutes.
    """

    def dual(budget: int | None, epochs: int) -> EstimatorSetup:
        fixed = {"budget": budget, "average": None, "max_iter": epochs}
        return EstimatorSetup("BSCAClassifier", fixed)

    free = {"SCA": dual(None, EPOCHS_DUAL), "SGD": without_budget(EPOCHS_SGD)}
    return {
        EXACT: dual(None, EPOCHS_EXACT),
        **(free if name in SMALL_MODELS else {}),
        "BSCA, B = 500": dual(500, EPOCHS_DUAL),
        "BSGD, B = 500": EstimatorSetup(
            "BSGDClassifier", {"budget": 500, "max_iter": EPOCHS_SGD}
        ),
    }


def shares(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn with several seeds, and note the shares of rows in every epoch."""
    case, setup = few(name), cell.setup
    assert setup is not None
    if cell.algorithm == EXACT:
        return facts(case) | _limits(name)
    found: dict[str, list[Any]] = {key: [] for key in ("updates", *NOTED)}
    for seed in range(wanted):
        notes = _Notes(case, _exact(name).dual_variables_[0])
        model = estimator_for(case, setup, seed)
        watch = EveryPass(notes.take, model.max_iter)
        model.set_callbacks(watch).fit(case.X, case.y)
        found["updates"].append(short(model.history_["updates"]))
        for key in NOTED:
            found[key].append(short(notes.shares[key]))
    late = [float(np.mean(run[-LAST:])) for run in found["updates"]]
    return facts(case) | {"values": late, "curves": found}


@cache
def _exact(name: str) -> Any:
    """Return the machine without a budget, after very many epochs."""
    case, setup = few(name), systems(name)[EXACT]
    return estimator_for(case, setup, 0).fit(case.X, case.y)


def _limits(name: str) -> dict[str, Any]:
    """Find both limits, and the relative duality gap of where they come from."""
    model = _exact(name)
    share = model.dual_variables_[0] / few(name).C
    primal, dual = model.history_["primal"][-1], model.history_["dual"][-1]
    free = (share > AT_BOUND) & (share < 1 - AT_BOUND)
    return {
        "values": [(primal - dual) / primal],
        "limits": {"SGD": float(share.mean()), "SCA": float(free.mean())},
    }


class _Notes:
    """What is noted of the margin violators after every epoch."""

    def __init__(self, case: Problem, exact: np.ndarray) -> None:
        self.C, floor = case.C, (1 - AT_BOUND) * case.C
        self.rows = np.flatnonzero(exact > floor)
        self.X, self.y = case.X[self.rows], case.y[self.rows]
        self.floor, self.before = floor, np.zeros(len(self.rows))
        self.shares: dict[str, list[float]] = {key: [] for key in NOTED}

    def take(self, learner: Any) -> None:
        """Note how many are below the margin, at C, and moved."""
        scores = learner.score(self.X, coef=learner.last_coef)[:, 0]
        self.shares["below"].append(float(np.mean(self.y * scores < 1)))
        if not hasattr(learner.plan, "dual"):
            return
        dual = learner.plan.dual[0, self.rows]
        moved = np.abs(dual - self.before) > AT_BOUND * self.C
        self.shares["at_C"].append(float(np.mean(dual > self.floor)))
        self.shares["moved"].append(float(moved.mean()))
        self.before = dual


def _late(outcome: dict[str, Any], key: str) -> str:
    """Mean over the last epochs and all seeds, where it is known."""
    runs = [run[-LAST:] for run in outcome["curves"][key] if run]
    return f"{np.mean(runs):.3f}" if runs else "-"


def share_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out the shares over the last epochs beside their limits."""
    rows = [
        [
            *("data", "system", "changing steps", "limit"),
            *("violators below the margin", "at C", "moved in an epoch"),
        ]
    ]
    for data, found in outcomes.items():
        limits = found.get(EXACT, {}).get("limits", {})
        for label, outcome in found.items():
            if label == EXACT:
                continue
            limit = limits.get(label.split(",")[0].removeprefix("B"))
            numbers = [_late(outcome, key) for key in NOTED]
            shown = f"{limit:.3f}" if limit is not None else "-"
            rows.append(
                [data, label, measured(outcome["values"]).shown(3), shown, *numbers]
            )
    return rows


def draw_shares(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw changing steps above, what becomes of violators below."""
    outcomes = {data: found for data, found in outcomes.items() if set(found) - {EXACT}}
    picture = Picture(figsize=(4.4 * len(outcomes), 6.6), layout="constrained")
    panels = picture.subplots(2, len(outcomes), squeeze=False)
    for column, (data, found) in zip(panels.T, outcomes.items(), strict=True):
        limits = found.get(EXACT, {}).get("limits", {})
        for label, outcome in found.items():
            if label == EXACT:
                continue
            colour = COLOURS[label.split(",")[0]]
            curves = outcome["curves"]
            _line(column[0], curves["updates"], colour, label)
            if curves["at_C"][0]:  # SGD has no dual variables
                _line(column[1], curves["at_C"], colour, f"{label}: at C")
                _line(column[1], curves["moved"], colour, f"{label}: moved", "--")
        for name, limit in limits.items():
            colour = COLOURS[name]
            column[0].axhline(limit, color=colour, ls=":", label=f"limit of {name}")
        column[0].set(title=data, ylim=(0, None))
        for panel in column:
            panel.set(xlabel="epoch", xscale="log")
            panel.grid(alpha=0.3)
    panels[0, 0].set_ylabel("share of steps that change the model")
    panels[1, 0].set_ylabel("share of margin violators")
    for row in panels:
        row[0].legend(frameon=False, fontsize=8)
    return picture


def _line(panel: Any, runs: Any, colour: str, label: str, style: str = "-") -> None:
    """Draw the mean over the seeds, and their range."""
    values = np.array(runs)
    epochs = np.arange(1, values.shape[1] + 1)
    panel.plot(epochs, values.mean(axis=0), color=colour, ls=style, label=label)
    low, high = values.min(axis=0), values.max(axis=0)
    panel.fill_between(epochs, low, high, color=colour, alpha=0.15, lw=0)

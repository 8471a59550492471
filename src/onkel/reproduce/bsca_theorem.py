"""BSCA's theorem 1: what a step gains of the dual objective, beside what it promises.

On 300 rows all is known: Q, its smallest eigenvalue kappa, the optimum D*, and of every
state the dual variables a and the scores of the model on a budget, w~. Noted after
many epochs, with J the gain of the step that a row takes by w~, and J* by w:

- the suboptimality D* - D(a), over D*;
- the mean gain of a step, over the rows, as a share of the suboptimality: the theorem
  promises 2 kappa (1 - E) / ((1 + kappa) n);
- that promise with E = 1 - max J / J*, as printed, and with the minimum, which the
  proof needs: it takes every step to gain (1 - E) of its own J* at least. From E = 1 on
  nothing is promised;
- the theorem's bound on the suboptimality, (D* + n C^2 / 2) times the product of what
  every step promises to leave, with the E of the epoch;
- the longest step that the exact gradient still asks for, over C: the KKT violation.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure as Picture
from sklearn.metrics.pairwise import rbf_kernel

from onkel.reproduce.bsca_curves import estimator_for, facts
from onkel.reproduce.digits import short
from onkel.reproduce.every_pass import EveryPass
from onkel.reproduce.problems import Problem, problem
from onkel.reproduce.protocol import Cell, EstimatorSetup

ROWS, EPOCHS, EPOCHS_EXACT = 300, 500, 6000
# Epochs of which the state is kept.
POINTS = tuple(np.unique(np.geomspace(1, EPOCHS, 60).round().astype(int)).tolist())
BUDGETS = (None, 150, 75, 30)
KEYS = ("suboptimality", "gain", "promised", "promised_by_least", "violation")
SHOWN = tuple(POINTS[place] for place in np.searchsorted(POINTS, (1, 5, 20, EPOCHS)))
COLOURS = {None: "#000000", 150: "#117733", 75: "#DDAA33", 30: "#CC6677"}
LAST = 5  # states, whose violations are shown
ROUNDED = 1e-5  # numbers are stored with six digits
NEXT_TO_NOTHING = 1e-9  # of D*: gains below are rounding


def small(name: str) -> Problem:
    """Load 300 rows of a problem."""
    return problem(name).head(ROWS)


def budgets(name: str) -> dict[str, EstimatorSetup]:
    """Return BSCA, as printed, without a budget and with several."""
    return {
        _label(budget): EstimatorSetup(
            "BSCAClassifier", {"budget": budget, "average": None, "max_iter": EPOCHS}
        )
        for budget in BUDGETS
    }


def _label(budget: int | None) -> str:
    return "no budget" if budget is None else f"B = {budget}"


class Known(NamedTuple):
    """What is known of a problem."""

    case: Problem
    Q: np.ndarray
    kappa: float
    best: float  # D*


@cache
def _known(name: str) -> Known:
    case = small(name)
    Q = np.outer(case.y, case.y) * rbf_kernel(case.X, gamma=case.gamma)
    setup = EstimatorSetup("BSCAClassifier", {"budget": None, "average": None})
    exact = estimator_for(case, setup, 0).set_params(
        max_iter=EPOCHS_EXACT, monitor=False
    )
    a = exact.fit(case.X, case.y).dual_variables_[0]
    return Known(case, Q, float(np.linalg.eigvalsh(Q)[0]), _objective(Q, a))


def _objective(Q: np.ndarray, a: np.ndarray) -> float:
    return float(a.sum() - 0.5 * a @ Q @ a)


def _gains(Q: np.ndarray, slopes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return what a step of each variable would gain: lemma 1 of the paper."""
    return steps * slopes - 0.5 * np.diag(Q) * steps**2


def state(known: Known, a: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Return what is noted of a state: dual variables, scores by the model."""
    case, Q, kappa, best = known
    slopes = 1.0 - Q @ a

    def steps(margins_missed: np.ndarray) -> np.ndarray:
        return np.clip(a + margins_missed / np.diag(Q), 0.0, case.C) - a

    ideal = _gains(Q, slopes, steps(slopes))
    real = _gains(Q, slopes, steps(1.0 - case.y * scores))
    left = best - _objective(Q, a)
    told = ideal > NEXT_TO_NOTHING * best
    ratios = real[told] / ideal[told] if told.any() else np.ones(1)
    rate = 2.0 * kappa / ((1.0 + kappa) * len(a))
    return {
        "suboptimality": left / best,
        "gain": float(real.mean()) / left if left > 0 else 0.0,
        "promised": rate * float(ratios.max()),
        "promised_by_least": rate * float(ratios.min()),
        "violation": float(np.abs(steps(slopes)).max() / case.C),
    }


def _bound(known: Known, promised: list[float]) -> list[float]:
    """Return the theorem's bound after every epoch, over D*."""
    n, C = len(known.case.y), known.case.C
    left = n * np.cumsum(np.log1p(-np.array(promised)))
    return list((1 + n * C**2 / 2 / known.best) * np.exp(left))


def progress(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn with several seeds, and keep the state after some epochs."""
    known, setup = _known(name), cell.setup
    assert setup is not None
    case = known.case
    found: dict[str, list[Any]] = {key: [] for key in (*KEYS, "bound")}
    for seed in range(wanted):
        states: list[dict[str, float]] = []

        def note(learner: Any, states: list[dict[str, float]] = states) -> None:
            scores = learner.score(case.X, coef=learner.last_coef)[:, 0]
            states.append(state(known, learner.plan.dual[0], scores))

        model = estimator_for(case, setup, seed).set_params(monitor=False)
        model.set_callbacks(EveryPass(note, EPOCHS)).fit(case.X, case.y)
        room = _bound(known, [one["promised"] for one in states])
        for key in KEYS:
            found[key].append(short(states[epoch - 1][key] for epoch in POINTS))
        found["bound"].append(short(room[epoch - 1] for epoch in POINTS))
    values = [run[-1] for run in found["suboptimality"]]
    more = {"values": values, "curves": found, "kappa": known.kappa}
    return facts(case) | more


def kept(outcome: dict[str, Any], promise: str) -> float:
    """Return the share of states whose mean gain is what was promised, or more.

    States with nothing left to gain but rounding, or nothing promised, do not count.
    """
    found = {key: np.array(outcome["curves"][key]) for key in KEYS}
    told = (found["suboptimality"] > NEXT_TO_NOTHING) & (found[promise] > 0)
    held = found["gain"][told] >= found[promise][told] * (1 - ROUNDED)
    return float(held.mean()) if told.any() else 1.0


def promising(outcome: dict[str, Any]) -> float:
    """Return the share of states to which the least ratio promises anything: E < 1."""
    return float(np.mean(np.array(outcome["curves"]["promised_by_least"]) > 0))


def bounded(outcome: dict[str, Any]) -> float:
    """Return the share of states in which the theorem's bound holds for the mean."""
    means = {
        key: np.mean(outcome["curves"][key], axis=0)
        for key in ("suboptimality", "bound")
    }
    return float(np.mean(means["suboptimality"] <= means["bound"]))


def progress_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out suboptimality by epoch, violations, and promises that are kept."""
    rows = [
        [
            *("data", "kappa", "system"),
            *(f"suboptimality, epoch {epoch}" for epoch in SHOWN),
            *("KKT violation", "promise kept, %", "E < 1 by the least, %", "bound, %"),
        ]
    ]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            means = np.mean(outcome["curves"]["suboptimality"], axis=0)
            violation = np.mean(outcome["curves"]["violation"], axis=0)[-LAST:].mean()
            shares = kept(outcome, "promised"), promising(outcome), bounded(outcome)
            rows.append(
                [
                    *(data, f"{outcome['kappa']:.2g}", label),
                    *(f"{means[POINTS.index(epoch)]:.2g}" for epoch in SHOWN),
                    f"{violation:.2g}",
                    *(f"{100 * share:.1f}" for share in shares),
                ]
            )
    return rows


def draw_progress(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw suboptimality above, KKT violations below."""
    picture = Picture(figsize=(3.8 * len(outcomes), 6.2), layout="constrained")
    panels = picture.subplots(2, len(outcomes), squeeze=False, sharex=True)
    for column, (data, found) in zip(panels.T, outcomes.items(), strict=True):
        keys = ("suboptimality", "violation")
        for panel, key in zip(column, keys, strict=True):
            for budget in BUDGETS:
                if _label(budget) not in found:
                    continue
                runs = np.array(found[_label(budget)]["curves"][key])
                runs = np.maximum(runs, NEXT_TO_NOTHING)
                epochs = POINTS
                look = {"color": COLOURS[budget], "label": _label(budget)}
                panel.plot(epochs, np.exp(np.log(runs).mean(axis=0)), **look)
                low, high = runs.min(axis=0), runs.max(axis=0)
                panel.fill_between(
                    epochs, low, high, color=COLOURS[budget], alpha=0.15, lw=0
                )
            panel.set(yscale="log", xscale="log")
            panel.grid(alpha=0.3)
        column[0].set_title(data)
        column[1].set_xlabel("epoch")
    panels[0, 0].set_ylabel("(D* - D) / D*")
    panels[1, 0].set_ylabel("longest step left, over C")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return picture

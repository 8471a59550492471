"""BOGD's theorems 3 and 4: its loss beside the best fixed model, against T and B.

With eta = 1/sqrt(T), lambda eta T = 1 and gamma = 1 = L the theorems say of every f in
Omega(eta gamma), coefficients of at most eta,

    E sum_t l(f_t) - sum_t l(f) - sqrt(T) |f|^2  <=  ((B/(B-1))^2 + 1) sqrt(T),

and of every f, with eta = lambda = 1/sqrt(B), so that lambda eta = 1/B,

    ... - (sqrt(B) + T/sqrt(B))/2 |f|^2          <=  ((B/(B-1))^2 + 1) T/sqrt(B).

The left side is largest at the support vector machine with this penalty, whose
coefficients are no larger than eta/2: it is in Omega by itself. It is found by
coordinate ascent, to a gap that is known.

The first cannot hold for long where f is any good: B coefficients of at most gamma eta
make |f_t| <= B gamma / sqrt(T), so the hinge of T rows is T - B gamma sqrt(T) at least.
The proof takes the clipping of coefficients for a projection in the space.

Rows are the same in every run; orders and draws differ.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure as Picture

import onkel
from onkel.reproduce.bands import band
from onkel.reproduce.online_data import whole
from onkel.reproduce.powers import power_of
from onkel.reproduce.protocol import Cell, EstimatorSetup

LENGTHS = tuple(2**k for k in range(8, 15))
BUDGETS = (16, 64, 256, 1024, 4096)
FIXED_BUDGET, FIXED_LENGTH = 100, 2**13
GAMMAS = {"magic04": 1 / 128, "ijcnn1": 1.0}
EPOCHS = 20
BY_LENGTH, BY_BUDGET = "against T", "against B"
COLOURS = {"BOGD": "#117733", "BOGD++": "#CC6677"}
SAMPLING = {"BOGD": "uniform", "BOGD++": "weighted"}


class Rows(NamedTuple):
    """Rows in a fixed random order."""

    X: np.ndarray
    y: np.ndarray  # -1, 1


@cache
def rows_of(name: str) -> Rows:
    """Load as many rows as the longest stream has."""
    work = whole(name)
    few = np.random.default_rng(0).permutation(len(work.y))[: LENGTHS[-1]]
    y = np.where(work.y[few] == np.max(work.y), 1, -1)
    return Rows(np.ascontiguousarray(work.X[few]), y)


def systems(name: str) -> dict[str, EstimatorSetup]:
    """Return both kinds of sampling, against the length and against the budget."""
    return {
        f"{system}, {against}": EstimatorSetup(
            "BOGDClassifier",
            {
                **{"gamma": GAMMAS.get(name, 1.0), "max_coef": 1.0},
                "sampling": sampling,
                **({"budget": FIXED_BUDGET} if against == BY_LENGTH else {}),
            },
        )
        for against in (BY_LENGTH, BY_BUDGET)
        for system, sampling in SAMPLING.items()
    }


class Rival(NamedTuple):
    """The best fixed model with a penalty."""

    loss: float  # sum over the rows
    penalised: float
    gap: float  # between primal and dual, as a share


@cache
def rival(name: str, length: int, penalty: float) -> Rival:
    """Minimise sum of the hinge + penalty |f|^2 over the first rows."""
    X, y = rows_of(name)
    C = 0.5 / penalty
    model = onkel.BSCAClassifier(
        C=C,
        gamma=GAMMAS[name],
        budget=None,
        average=None,
        max_iter=EPOCHS,
        tol=1e-5,
        random_state=0,
    ).fit(X[:length], y[:length])
    scores = model.decision_function(X[:length])
    a = model.dual_variables_[0]
    norm2 = float(np.sum(a * y[:length] * scores))
    loss = float(np.maximum(0.0, 1.0 - y[:length] * scores).sum())
    primal = 0.5 * norm2 + C * loss
    dual = float(a.sum()) - 0.5 * norm2
    return Rival(loss, loss + penalty * norm2, (primal - dual) / primal)


def _total_loss(setup: EstimatorSetup, rows: Rows, seed: int, **given: Any) -> float:
    """Return the hinge of a pass, each row before its update, in a random order."""
    order = np.random.default_rng(seed).permutation(len(rows.y))
    model = onkel.BOGDClassifier(**{**setup.fixed, **given}, random_state=seed)
    X, y = rows.X[order], rows.y[order]
    scores = onkel.progressive(model, X, y, classes=[-1, 1])
    return float(np.maximum(0.0, 1.0 - y * scores).sum())


class Condition(NamedTuple):
    """A point of a curve."""

    length: int
    budget: int
    eta: float
    alpha: float
    penalty: float
    bound: float


def conditions(against: str) -> list[Condition]:
    """Return what the theorems ask for, and their bounds."""
    found = []
    if against == BY_LENGTH:
        for T in LENGTHS:
            root = float(np.sqrt(T))
            room = ((FIXED_BUDGET / (FIXED_BUDGET - 1)) ** 2 + 1) * root
            found.append(Condition(T, FIXED_BUDGET, 1 / root, 1 / root, root, room))
        return found
    T = FIXED_LENGTH
    for B in BUDGETS:
        root = float(np.sqrt(B))
        room = ((B / (B - 1)) ** 2 + 1) * T / root
        found.append(Condition(T, B, 1 / root, 1 / root, (root + T / root) / 2, room))
    return found


def regret(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Measure losses of passes, and what they exceed the best fixed model by."""
    rows, setup = rows_of(name), cell.setup
    assert setup is not None
    points = conditions(cell.algorithm.partition(", ")[2])
    rivals = [rival(name, one.length, one.penalty) for one in points]
    found: dict[str, list[list[float]]] = {"excess": [], "regret": []}
    for seed in range(wanted):
        totals = [
            _total_loss(
                setup,
                Rows(rows.X[: one.length], rows.y[: one.length]),
                seed,
                **{"budget": one.budget, "eta0": one.eta, "alpha": one.alpha},
            )
            for one in points
        ]
        pairs = list(zip(totals, rivals, strict=True))
        found["excess"].append([total - best.penalised for total, best in pairs])
        found["regret"].append([total - best.loss for total, best in pairs])
    return {
        **{"rows": len(rows.y), "features": rows.X.shape[1]},
        "values": [run[-1] for run in found["excess"]],
        "curves": found,
        "bound": [one.bound for one in points],
        "gap": max(best.gap for best in rivals),
    }


def largest_share(outcome: dict[str, Any]) -> float:
    """Return the excess, as a share of its bound, where that is largest."""
    means = np.mean(outcome["curves"]["excess"], axis=0)
    return float(np.max(means / np.array(outcome["bound"])))


def _varied(label: str) -> tuple[int, ...]:
    return LENGTHS if label.endswith(BY_LENGTH) else BUDGETS


def growth(label: str, outcome: dict[str, Any]) -> str:
    """Return the power of T or B that the regret follows, where it is positive."""
    runs = outcome["curves"]["regret"]
    if np.min(runs) <= 0:
        return "-"
    return power_of(_varied(label), runs).shown()


def regret_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out excess and bound at both ends of a curve."""
    rows = [
        [
            *("data", "system", "T or B", "excess", "bound", "T or B", "excess"),
            *("bound", "largest, of its bound", "power of the regret"),
        ]
    ]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            means = np.mean(outcome["curves"]["excess"], axis=0)
            ends = []
            for place in (0, -1):
                varied, bound = _varied(label)[place], outcome["bound"][place]
                ends += [f"{varied:,}", f"{means[place]:,.1f}", f"{bound:,.1f}"]
            share = f"{largest_share(outcome):.2f}"
            rows.append([data, label, *ends, share, growth(label, outcome)])
    return rows


def draw_regret(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw the excess as a share of its bound, against T and against B."""
    picture = Picture(figsize=(9.6, 3.6 * len(outcomes)), layout="constrained")
    panels = picture.subplots(len(outcomes), 2, squeeze=False)
    for row, (data, found) in zip(panels, outcomes.items(), strict=True):
        for panel, against in zip(row, (BY_LENGTH, BY_BUDGET), strict=True):
            for label, outcome in found.items():
                system, _, kind = label.partition(", ")
                if kind == against:
                    runs = np.array(outcome["curves"]["excess"]) / outcome["bound"]
                    band(panel, _varied(label), runs, COLOURS[system], label=system)
            panel.axhline(1.0, color="grey", ls=":", label="bound")
            panel.set(title=f"{data}, {against}", xscale="log", xlabel=against[-1])
            panel.set_yscale("symlog", linthresh=1.0)
            panel.yaxis.set_major_formatter("{x:g}")
            panel.grid(alpha=0.3)
        row[0].set_ylabel("excess over the bound")
    panels[0, 0].legend(frameon=False)
    return picture

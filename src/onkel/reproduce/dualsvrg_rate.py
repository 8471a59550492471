"""DualSVRG's theorem 2: a geometric rate, down to a gap that the memory decides.

Where its conditions are met: lambda = 0.1, eta = 1/(76 M), and a period n of 180.5 M /
lambda rows at least, which is 3,610 for the smooth hinge and 452 for the log loss.
Rows are drawn with replacement from 4,000. All of them move to the random features, so
that the optimum of the objective in that space is known, and the approximation of the
kernel, the theorem's epsilon, plays no part. Noted at the end of every period: the
objective less its minimum, for several sizes m of the memory.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure as Picture
from scipy.optimize import minimize

import onkel
from onkel.reproduce.bands import band
from onkel.reproduce.powers import Power, power_of
from onkel.reproduce.problems import Problem, problem
from onkel.reproduce.protocol import Cell, EstimatorSetup

ROWS, LAMBDA, FEATURES, SMOOTHING = 4000, 0.1, 200, 0.5
MEMORIES = (2, 10, 100, 1000)
COLOURS = ("#CC6677", "#DDAA33", "#117733", "#332288")
LABEL = "{}, n = {}"


class Case(NamedTuple):
    """A loss, its smoothness, and periods that the theorem allows."""

    loss: str
    smoothness: float
    period: int
    periods: int


CASES = (Case("smooth_hinge", 2.0, 4000, 8), Case("log_loss", 0.25, 500, 24))


def rows_of(name: str) -> Problem:
    """Load 4,000 rows of a problem."""
    return problem(name).head(ROWS)


def systems(name: str) -> dict[str, EstimatorSetup]:
    """Return DualSVRG-AM with both losses."""
    return {
        LABEL.format(case.loss, case.period): EstimatorSetup(
            "DualSVRGClassifier",
            {
                **{"loss": case.loss, "smoothing": SMOOTHING, "alpha": LAMBDA},
                **{"oracle": "always_move", "n_components": FEATURES},
                "eta0": 1 / (76 * case.smoothness),
                "snapshot_period": case.period,
            },
        )
        for case in CASES
    }


def _case(label: str) -> Case:
    return next(c for c in CASES if LABEL.format(c.loss, c.period) == label)


def _loss_and_slope(loss: str, margins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if loss == "log_loss":
        return np.logaddexp(0.0, -margins), -1.0 / (1.0 + np.exp(margins))
    missed = 1.0 - margins
    slope = -np.clip(missed / SMOOTHING, 0.0, 1.0)
    curved = missed**2 / (2 * SMOOTHING)
    straight = missed - SMOOTHING / 2
    lost = np.where(missed <= 0, 0.0, np.where(missed < SMOOTHING, curved, straight))
    return lost, slope


@cache
def features(name: str, seed: int) -> np.ndarray:
    """Return the random features of the rows, those of a model with this seed."""
    case = rows_of(name)
    mapping = onkel.FourierFeatures(
        gamma=case.gamma, n_components=FEATURES, random_state=seed
    )
    return np.asarray(mapping.fit_transform(case.X), dtype=np.float64)


def objective(
    loss: str, Z: np.ndarray, y: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the objective of weights, and its gradient."""
    lost, slope = _loss_and_slope(loss, y * (Z @ w))
    value = 0.5 * LAMBDA * w @ w + lost.mean()
    return float(value), LAMBDA * w + Z.T @ (slope * y) / len(y)


def rate(case: Case) -> float:
    """Return rho of the theorem."""
    eta, M = 1 / (76 * case.smoothness), case.smoothness
    left = 1 - 12 * eta * M
    first = 13 * M * eta / ((eta * LAMBDA + 1) * left)
    return float(first + 1 / (case.period * LAMBDA * eta * left))


def rate_of(label: str) -> float:
    """Return rho for a system."""
    return rate(_case(label))


def bounds(case: Case, m: int, start: float) -> np.ndarray:
    """Return the theorem's bounds after every period; `start` is what w = 0 has left.

    L is 1, and epsilon 0.
    """
    rho, eta = rate(case), 1 / (76 * case.smoothness)
    floor = 2 * (6 + 12 * case.smoothness) * eta / (m * (1 - rho))
    taken = 2 * 6 * eta / (m * (1 - rho))
    periods = np.arange(1, case.periods + 1)
    return rho**periods * (start - taken) + floor


def gaps(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    """Learn with every memory, and note what is left at the end of every period."""
    rows, setup, case = rows_of(name), cell.setup, _case(cell.algorithm)
    assert setup is not None
    found: list[list[list[float]]] = []  # (seed, m, period)
    starts = []
    for seed in range(wanted):
        Z = features(name, seed)
        zero = np.zeros(FEATURES)
        best = minimize(
            lambda w, Z=Z: objective(case.loss, Z, rows.y, w),
            zero,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9},
        ).fun
        starts.append(objective(case.loss, Z, rows.y, zero)[0] - best)
        size = case.period * case.periods
        drawn = np.random.default_rng(seed).integers(len(rows.y), size=size)
        runs = []
        for m in MEMORIES:
            model = onkel.DualSVRGClassifier(
                **setup.fixed, gamma=rows.gamma, memory_size=m, random_state=seed
            )
            left = []
            for part in np.split(drawn, case.periods):
                model.partial_fit(rows.X[part], rows.y[part], classes=[-1, 1])
                w = np.asarray(model._learner.weights[0], dtype=np.float64)
                left.append(objective(case.loss, Z, rows.y, w)[0] - float(best))
            runs.append(left)
        found.append(runs)
    return {
        **{"rows": len(rows.y), "features": rows.X.shape[1]},
        "values": [float(np.mean(runs[-1][-3:])) for runs in found],
        "start": float(np.mean(starts)),
        "gaps": found,
    }


def floors(outcome: dict[str, Any]) -> np.ndarray:
    """Return what is left in the last third of the periods, by seed and memory."""
    left = np.array(outcome["gaps"])
    return np.asarray(left[:, :, -(left.shape[2] // 3) :].mean(axis=2))


def power_of_memory(outcome: dict[str, Any]) -> Power:
    """Return the power of m that the floor follows."""
    return power_of(MEMORIES, floors(outcome).tolist())


def is_bounded(label: str, outcome: dict[str, Any]) -> bool:
    """Whether the mean is below the theorem's bound for every m and period."""
    means = np.mean(outcome["gaps"], axis=0)
    room = [bounds(_case(label), m, outcome["start"]) for m in MEMORIES]
    return bool(np.all(means <= np.array(room)))


def first_fall(outcome: dict[str, Any]) -> float:
    """Return by what factor the first period shrinks the gap, with the largest m."""
    return float(np.mean(outcome["gaps"], axis=0)[-1, 0] / outcome["start"])


def gap_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out floors by memory, their power, and the first period's fall."""
    heads = [f"m = {m}" for m in MEMORIES]
    rows = [
        [
            *("data", "system", "at w = 0", *heads, "power of m", "first period"),
            *("rho", "within the bound"),
        ]
    ]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            means = floors(outcome).mean(axis=0)
            numbers = [f"{one:.2g}" for one in (outcome["start"], *means)]
            fall = f"{first_fall(outcome):.3f}"
            held = "yes" if is_bounded(label, outcome) else "no"
            power = power_of_memory(outcome).shown()
            rho = f"{rate(_case(label)):.3f}"
            rows.append([data, label, *numbers, power, fall, rho, held])
    return rows


def draw_gaps(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw what is left by period, a curve a memory, and the bound for the largest."""
    picture = Picture(figsize=(10, 3.6 * len(outcomes)), layout="constrained")
    panels = picture.subplots(len(outcomes), len(CASES), squeeze=False)
    for row, (data, found) in zip(panels, outcomes.items(), strict=True):
        for panel, (label, outcome) in zip(row, found.items(), strict=False):
            left = np.array(outcome["gaps"])
            periods = np.arange(1, left.shape[2] + 1)
            for place, m in enumerate(MEMORIES):
                colour = COLOURS[place]
                band(panel, periods, left[:, place], colour, label=f"m = {m}")
                room = bounds(_case(label), m, outcome["start"])
                panel.plot(periods, room, color=colour, lw=0.8, ls=":")
            panel.set(title=f"{data}: {label}", yscale="log", xlabel="periods")
            panel.grid(alpha=0.3)
        row[0].set_ylabel("objective less its minimum")
    panels[0, 0].legend(frameon=False, fontsize=8, title="dotted: bounds")
    return picture

"""AVM's figures 4 to 6, 8 and 9: errors and seconds as rows come.

Errors are those of all rows so far, each predicted before it is learnt.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure as Picture
from matplotlib.lines import Line2D

from onkel.reproduce.axes import points, wide
from onkel.reproduce.bands import band
from onkel.reproduce.digits import short
from onkel.reproduce.online_data import OnlineData
from onkel.reproduce.protocol import EstimatorSetup
from onkel.reproduce.runner import (
    PERCENT,
    Piece,
    has_time,
    pieces,
    summed,
    warm_up,
)
from onkel.reproduce.summary import measured

POINTS = 100
SHADE = 0.07  # of a band, of which there are many
ERROR, SECONDS = "error", "seconds"
SHARES = (0.02, 0.1, 0.2, 0.4, 0.7)  # of the rows, after which a table shows errors
# By the paper's groups: blue what is said to settle, green to grey what is said to
# saturate, red to yellow what is said to keep improving.
COLOURS = {
    "BOGD": "#332288",
    "Projectron": "#0077BB",
    "Forgetron": "#77BBEE",
    "Perceptron": "#999999",
    "OGD": "#222222",
    "RBP": "#117733",
    "Projectron++": "#66AA55",
    "BPAS": "#44AA99",
    "FOGD": "#DDAA33",
    "NOGD": "#EE7733",
    "AVM-Hinge": "#CC3311",
    "AVM-Logit": "#AA4499",
    "AVM-eps": "#CC3311",
    "AVM-l1": "#AA4499",
    "AVM-l2": "#882255",
}
DASHED = ("AVM-Logit", "AVM-l1")


class Curve(NamedTuple):
    """Errors as rows come."""

    rows: np.ndarray  # that were seen
    errors: np.ndarray  # mean of the orders
    orders: int

    def at(self, share: float) -> float:
        """Return the error after a share of the rows."""
        return float(np.interp(share * self.rows[-1], self.rows, self.errors))


def curve_of(outcome: dict[str, Any]) -> Curve:
    """Return the mean curve of an outcome."""
    runs = np.array(outcome["curves"][ERROR])
    return Curve(points(outcome["rows"], POINTS), runs.mean(axis=0), len(runs))


def traced(
    work: OnlineData, setup: EstimatorSetup, wanted: int, limit: float
) -> dict[str, Any]:
    """Learn in one order after the other, and note errors and seconds on the way."""
    rows, unit = len(work.y), 1.0 if work.is_regression else PERCENT
    seen = points(rows, POINTS)
    names = ("values", "sizes", "seconds")
    found: dict[str, list[float]] = {name: [] for name in names}
    curves: dict[str, list[list[float]]] = {ERROR: [], SECONDS: []}
    warm_up(work, setup, rows)
    for seed in range(wanted):
        if not has_time(found["seconds"], limit):
            break
        order = np.random.default_rng(seed).permutation(rows)
        model = setup.build(work, rows, random_state=seed)
        left = np.inf if seed else limit
        passed = list(pieces(work, model, order, left))
        error, seconds = summed(work, passed)
        errors, spent = _progress(work, passed)
        numbers = (unit * error, model.model_size_, seconds)
        for name, number in zip(names, numbers, strict=True):
            found[name].append(float(number))
        curves[ERROR].append(short(unit * errors[seen - 1]))
        curves[SECONDS].append(short(spent[seen - 1]))
    return {**found, "curves": curves}


def _progress(
    work: OnlineData, passed: Sequence[Piece]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the error of all rows so far, and the seconds, after each row."""
    losses = np.concatenate([piece.losses for piece in passed])
    means = np.cumsum(losses) / np.arange(1, len(losses) + 1)
    lengths = [len(piece.losses) for piece in passed]
    a_row = np.repeat([piece.seconds for piece in passed], lengths)
    spent = np.cumsum(a_row / np.repeat(lengths, lengths))
    return np.sqrt(means) if work.is_regression else means, spent


def curve_rows(outcomes: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out errors after shares of the rows, and the time of a pass."""
    heads = [f"error after {PERCENT * share:g} %" for share in SHARES]
    rows = [["data", "system", *heads, "at the end", "s", "orders"]]
    for data, found in outcomes.items():
        for label, outcome in found.items():
            digits = 4 if outcome["metric"] == "rmse" else 2
            curve, values = curve_of(outcome), outcome["values"]
            on_the_way = (f"{curve.at(share):.{digits}f}" for share in SHARES)
            end = measured(values).shown(digits, is_single=len(values) == 1)
            seconds = f"{min(outcome['seconds']):.2f}"
            rows.append([data, label, *on_the_way, end, seconds, str(len(values))])
    return rows


def draw_curves(outcomes: dict[str, dict[str, Any]]) -> Picture:
    """Draw a row of panels a data set: errors, seconds, and one against the other."""
    picture = Picture(figsize=(15, 3.8 * len(outcomes) + 0.8), layout="constrained")
    lines = picture.subplots(len(outcomes), 3, squeeze=False)
    for panels, (data, found) in zip(lines, outcomes.items(), strict=True):
        for label, outcome in found.items():
            _draw_system(panels, label, outcome)
        some = next(iter(found.values()))
        is_rate = some["metric"] != "rmse"
        error = "mistakes so far, %" if is_rate else "root mean squared error so far"
        for panel, x, y in zip(
            panels,
            ("rows seen", "rows seen", "seconds"),
            (error, "seconds", error),
            strict=True,
        ):
            panel.set(xlabel=x, ylabel=y, title=data)
            panel.grid(alpha=0.3, which="both", lw=0.5)
            wide(panel, "x")
            wide(panel, "y")
    names = {label for found in outcomes.values() for label in found}
    lines_of = [Line2D([], [], **look(name)) for name in COLOURS if name in names]
    picture.legend(
        handles=lines_of, loc="outside upper center", ncols=12, frameon=False
    )
    return picture


def look(label: str) -> dict[str, Any]:
    """Return how a system is drawn: the second of two that may coincide dashed."""
    style = "--" if label in DASHED else "-"
    return {"color": COLOURS[label], "label": label, "lw": 1.4, "ls": style}


def _draw_system(panels: Any, label: str, outcome: dict[str, Any]) -> None:
    seen, drawn = points(outcome["rows"], POINTS), look(label)
    errors, seconds = (outcome["curves"][kind] for kind in (ERROR, SECONDS))
    means = (np.mean(runs, axis=0) for runs in (seconds, errors))
    panels[2].plot(*means, **drawn)
    colour = drawn.pop("color")
    for panel, runs in zip(panels, (errors, seconds), strict=False):
        band(panel, seen, runs, colour, **drawn).set_alpha(SHADE)

"""Scatter: errors against a price, and the front of those that nobody beats."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from onkel.race.outcome import Outcome, Result
from onkel.race.report import looks
from onkel.race.report.labels import name_points
from onkel.race.report.prices import Priced, priced
from onkel.race.report.words import measure


def scatter(
    outcome: Outcome, cost: Callable[[Result], float | None], label: str
) -> Figure:
    """Draw errors against a cost."""
    figure, axes = looks.blank((0.1, 0.13, 0.79, 0.79))
    axes.set(xscale="log", xlabel=label, ylabel=measure(outcome))
    points = priced(outcome, cost)
    if not points.results:
        return figure
    _, costs, errors = points
    near = errors <= looks.top_of(errors)
    _scale(axes, costs[near], errors)
    line = _front_line(points, near, axes.get_xlim()[1])
    axes.plot(
        *line.T, color=looks.INK, linewidth=1.2, linestyle=(0, (5, 3)), zorder=1.5
    )
    chosen, inside = looks.by_name(outcome), np.flatnonzero(near)
    names = [result.name for result in points.results]
    for i in inside[::-1]:
        is_reference = points.results[i].is_reference
        _mark(axes, costs[i], errors[i], chosen[names[i]], is_reference)
    looks.error_axis(axes, outcome)
    looks.note_far(
        axes, outcome, [(names[i], errors[i]) for i in np.flatnonzero(~near)]
    )
    where = np.stack([costs[inside], errors[inside]], axis=1)
    drawn = [names[i] for i in inside]
    name_points(axes, where, drawn, [chosen[name] for name in drawn], line)
    figure.text(
        axes.get_position().x0,
        0.012,
        "dashed: nobody errs less at that price; hollow: not of the library",
        fontsize=8,
        color=looks.GREY,
    )
    return figure


def _scale(axes: Axes, costs: np.ndarray, errors: np.ndarray) -> None:
    top = looks.top_of(errors)
    axes.set_ylim(looks.bottom_of(errors.min(), top), top)
    cheap, dear = costs.min(), costs.max()
    margin = max(dear / cheap, 4.0) ** 0.06
    axes.set_xlim(cheap / margin, dear * margin)
    # with few powers of ten in between, numbers between them, too
    between = (1.0,) if dear / cheap > 300 else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=between))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(looks.counted))


def _front_line(points: Priced, near: np.ndarray, end: float) -> np.ndarray:
    """Corners of a line: each price up to the next one has the error of the former."""
    best = points.front
    best = best[near[best]]
    steps = np.stack([points.costs[best], points.errors[best]], axis=1)
    line = np.repeat(np.vstack([steps, [end, 0.0]]), 2, axis=0)
    return np.stack([line[1:-1, 0], line[:-2, 1]], axis=1)


def _mark(
    axes: Axes, cost: float, error: float, look: looks.Look, is_reference: bool
) -> None:
    axes.plot(
        cost,
        error,
        marker=look.marker,
        markersize=8 if look.is_best else 5,
        # what is no system of the library is hollow
        markerfacecolor="none" if is_reference else look.colour,
        markeredgecolor=look.colour,
        markeredgewidth=1.6,
        linestyle="none",
        zorder=3 if look.is_best else 2,
    )

"""Pictures of a race: error against time and against memory, and learning curves.

The best are coloured, the others grey; every point and curve has its name beside it.
"""

import textwrap
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from sklearn.isotonic import isotonic_regression

from onkel.race.contestants import Problem
from onkel.race.outcome import Outcome, Result

# Paul Tol's "muted" palette, told apart also by the colour-blind, less its palest.
COLOURS = (
    "#332288",
    "#cc6677",
    "#117733",
    "#88ccee",
    "#882255",
    "#44aa99",
    "#999933",
    "#aa4499",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
INK, GREY, FAINT = "#1a1a1a", "#8a8a8a", "#dedede"
SIZE = (8.0, 5.6)  # inches
LABEL_GAP = 0.037  # between two labels of curves, as a part of the height
# A scale is for those that learn: what errs more than so many times the median is
# named, not drawn.
FAR = 2.0
LINE = 100  # letters of a line above a picture


class Look(NamedTuple):
    """How a contestant is drawn."""

    colour: str
    marker: str
    is_best: bool  # one of those that are coloured
    place: int  # from 0


def looks(outcome: Outcome) -> dict[str, Look]:
    """Colour and marker by name, the same in all pictures."""
    styles = zip(COLOURS, MARKERS, strict=True)
    ranked = outcome.ranked
    chosen: dict[str, Look] = {}
    for place, result in enumerate(ranked):
        colour, marker = next(styles, (GREY, "o"))
        chosen[result.name] = Look(colour, marker, colour != GREY, place)
    return chosen


def front(costs: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Those that nobody beats in one thing without losing in the other.

    Returns
    -------
    indices
        From the cheapest to the best.

    Examples
    --------
    >>> front(np.array([1.0, 2.0, 3.0, 4.0]), np.array([9.0, 5.0, 7.0, 1.0])).tolist()
    [0, 1, 3]
    """
    order = np.lexsort((errors, costs))
    best = np.minimum.accumulate(errors[order])
    improves = np.concatenate([[True], best[1:] < best[:-1]])
    return order[improves]


def spread(ends: np.ndarray, gap: float) -> np.ndarray:
    """Move labels as little as possible until each has room.

    Parameters
    ----------
    ends
        Where the labels should be, ascending.
    gap
        Least distance of neighbours.

    Examples
    --------
    >>> spread(np.array([1.0, 1.0, 5.0]), gap=2.0).tolist()
    [0.0, 2.0, 5.0]
    """
    # Least squares under a least distance is isotonic regression once the distance is
    # taken off.
    offsets = gap * np.arange(len(ends))
    return isotonic_regression(ends - offsets) + offsets


def figures(value: float, count: int) -> str:
    """Write a number with so many figures that count.

    Examples
    --------
    >>> figures(2.3, 4), figures(68_912.3, 4), figures(0.012345, 2), figures(0.0, 2)
    ('2.300', '68,912', '0.012', '0.0')
    """
    return f"{value:,.{decimals(value, count)}f}"


def decimals(value: float, count: int) -> int:
    """Return the digits behind the point of a number with so many that count."""
    return max(0, count - 1 - int(np.floor(np.log10(abs(value) or 1.0))))


def shown_error(problem: Problem, error: float) -> str:
    """An error as one reads it.

    Percent for mistakes, four figures in the unit of the targets for regression.
    """
    return figures(error, 4) if problem.is_regression else f"{error:.2%}"


def _short(outcome: Outcome, error: float) -> str:
    return figures(error, 3) if outcome.problem.is_regression else f"{error:.1%}"


def measure(outcome: Outcome) -> str:
    """What an error is."""
    return "root mean squared error" if outcome.problem.is_regression else "mistakes"


def _top(errors: np.ndarray) -> float:
    """The end of a scale on which those that learn can be told apart."""
    near = errors[errors <= FAR * np.median(errors)]
    return float(1.08 * near.max()) or 1.0


def _bottom(least: float, top: float) -> float:
    """Return the other end: 0 if it is not far from the best."""
    return max(0.0, least - 0.3 * (top - least))


def _counted(value: float, _: Any) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def _plain(axes: Axes) -> None:
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(GREY)
    axes.tick_params(colors=INK, which="both")
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def _note_far(axes: Axes, outcome: Outcome, far: list[tuple[str, float]]) -> None:
    if far:
        text = "Off the scale: " + ", ".join(
            f"{name} {_short(outcome, error)}" for name, error in far
        )
        lines = "\n".join(textwrap.wrap(text, LINE))
        axes.text(0.0, 1.01, lines, transform=axes.transAxes, fontsize=8.5, color=GREY)


def _error_axis(axes: Axes, outcome: Outcome) -> None:
    def percent(value: float, _: Any) -> str:
        return f"{round(100 * value, 6):g}%"

    if not outcome.problem.is_regression:
        axes.yaxis.set_major_formatter(FuncFormatter(percent))


# ---- points and their names ----------------------------------------------------------

# Pixels that a label would rather be away than cover a mark or another label, or
# a line; or than have its leader cross these.
COVERED, STRUCK, CROSSED, CROSSING = 1000.0, 80.0, 40.0, 8.0


def _offsets() -> np.ndarray:
    """Places for a label around its point, in points."""
    angles = np.deg2rad([0, 180, 40, -40, 140, -140, 90, -90, 65, -65, 115, -115])
    radii = np.array([8, 14, 22, 32, 44, 58, 74, 92])
    unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return (radii[:, None, None] * unit).reshape(-1, 2)


def _overlaps(boxes: np.ndarray, others: np.ndarray) -> int:
    """Count pairs of boxes, rows of x0, y0, x1, y1, that overlap."""
    one, other = boxes[:, None], others[None]
    apart = (one[..., :2] >= other[..., 2:]) | (other[..., :2] >= one[..., 2:])
    return int((~apart.any(axis=2)).sum())


def _along(corners: np.ndarray) -> np.ndarray:
    """Boxes around pieces of a line with these corners."""
    pieces = np.concatenate(
        [np.linspace(one, other, 30) for one, other in pairwise(corners)]
    )
    return np.hstack([pieces - 1, pieces + 1])


def _clearest(
    corners: np.ndarray,
    pixel: np.ndarray,
    size: np.ndarray,
    margin: np.ndarray,
    solid: np.ndarray,
    others: np.ndarray,
    thin: np.ndarray,
) -> np.ndarray | None:
    """Return the lower left corner where a label is least in the way, if there is one.

    To be far from the point is bad, too, so that most places need not be looked at.
    """
    clearest, least = None, np.inf
    nearest = np.clip(pixel, corners, corners + size)
    distances = np.hypot(*(nearest - pixel).T)
    for place in np.argsort(distances, kind="stable"):
        if distances[place] >= least:
            break
        corner = corners[place]
        box = np.hstack([corner - margin, corner + size + margin])[None]
        pieces = _along(_leader(pixel, corner, corner + size))
        cost = (
            distances[place]
            + COVERED * _overlaps(box, solid)
            + STRUCK * (_overlaps(box, thin) > 0)
            + CROSSED * (_overlaps(pieces, others) > 0)
            + CROSSING * (_overlaps(pieces, thin) > 0)
        )
        if cost < least:
            clearest, least = corner, cost
    return clearest


def _name_points(
    axes: Axes, where: np.ndarray, names: list[str], styles: list[Look], line: Any
) -> None:
    """Write names beside points, clear of points, of the line and of each other."""
    figure = cast(Figure, axes.figure)
    renderer: Any = cast(Any, FigureCanvasAgg(figure)).get_renderer()
    per_point = figure.dpi / 72
    pixels = axes.transData.transform(where)
    solid = np.hstack([pixels - 4.5 * per_point, pixels + 4.5 * per_point])
    thin = _along(axes.transData.transform(line))
    inside = axes.get_window_extent(renderer)
    # the right margin has room for names, too
    low, high = inside.p0, np.array([figure.bbox.x1, inside.y1])
    offsets, margin = _offsets() * per_point, np.array([3.0, 1.0]) * per_point
    for i, (xy, pixel, name) in enumerate(zip(where, pixels, names, strict=True)):
        label = axes.annotate(
            name,
            xy,
            (0, 0),
            textcoords="offset points",
            fontsize=9.5 if styles[i].is_best else 8,
            fontweight="bold" if styles[i].place == 0 else "normal",
            color=INK if styles[i].is_best else GREY,
            verticalalignment="center",
        )
        size = np.array(label.get_window_extent(renderer).size)
        # the side of the label that faces the point
        sides = 0.5 - 0.5 * np.sign(np.round(offsets[:, :1], 6))
        corners = pixel + offsets - size * np.hstack([sides, np.full_like(sides, 0.5)])
        fits = ((corners >= low) & (corners + size <= high)).all(axis=1)
        corner = _clearest(
            corners[fits], pixel, size, margin, solid, np.delete(solid, i, axis=0), thin
        )
        if corner is None:
            label.remove()
            continue
        solid = np.vstack([solid, np.hstack([corner - margin, corner + size + margin])])
        middle = corner + size * [0.0, 0.5]
        label.set_position(tuple((middle - pixel) / per_point))
        led = _leader(pixel, corner, corner + size)
        if np.hypot(*(led[-1] - led[0])) > 6 * per_point:
            thin = np.vstack([thin, _along(led)])
            axes.annotate(
                "",
                xy,
                tuple((led[-1] - pixel) / per_point),
                textcoords="offset points",
                arrowprops={
                    "arrowstyle": "-",
                    "color": styles[i].colour,
                    "linewidth": 0.6,
                    "shrinkA": 0,
                    "shrinkB": 4,
                },
            )


def _leader(pixel: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Ends of the line from the rim of a mark to the nearest corner of a label."""
    end = np.clip(pixel, low, high)
    length = np.hypot(*(end - pixel))
    return np.array([pixel + (end - pixel) * min(1.0, 6.5 / max(length, 1e-9)), end])


def _scatter(
    outcome: Outcome, cost: Callable[[Result], float | None], label: str
) -> Figure:
    """Draw errors against a cost, and the front of those that nobody beats."""
    chosen = looks(outcome)
    known = [(result, cost(result)) for result in outcome.ranked]
    drawn = [(result, value) for result, value in known if value is not None]
    figure = Figure(figsize=SIZE, dpi=100)
    axes = figure.add_axes((0.1, 0.13, 0.79, 0.79))
    _plain(axes)
    axes.set(xscale="log", xlabel=label, ylabel=measure(outcome))
    if not drawn:
        return figure
    costs = np.array([value for _, value in drawn])
    errors = np.array([result.error for result, _ in drawn])
    top = _top(errors)
    near = errors <= top
    axes.set_ylim(_bottom(errors.min(), top), top)
    cheap, dear = costs[near].min(), costs[near].max()
    margin = max(dear / cheap, 4.0) ** 0.06
    axes.set_xlim(cheap / margin, dear * margin)
    best = front(costs, errors)
    best = best[near[best]]
    # each price up to the next one on the front has the error of the former
    steps = np.stack([costs[best], errors[best]], axis=1)
    line = np.repeat(np.vstack([steps, [dear * margin, 0.0]]), 2, axis=0)
    line = np.stack([line[1:-1, 0], line[:-2, 1]], axis=1)
    axes.plot(*line.T, color=INK, linewidth=1.2, linestyle=(0, (5, 3)), zorder=1.5)
    for i in np.flatnonzero(near)[::-1]:
        result, look = drawn[i][0], chosen[drawn[i][0].name]
        axes.plot(
            costs[i],
            errors[i],
            marker=look.marker,
            markersize=8 if look.is_best else 5,
            # what is no system of the library is hollow
            markerfacecolor="none" if result.is_reference else look.colour,
            markeredgecolor=look.colour,
            markeredgewidth=1.6,
            linestyle="none",
            zorder=3 if look.is_best else 2,
        )
    _error_axis(axes, outcome)
    # with few powers of ten in between, numbers between them, too
    between = (1.0,) if dear / cheap > 300 else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=between))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_counted))
    far = [(drawn[i][0].name, errors[i]) for i in np.flatnonzero(~near)]
    _note_far(axes, outcome, far)
    inside = np.flatnonzero(near)
    names = [drawn[i][0].name for i in inside]
    _name_points(
        axes,
        np.stack([costs[inside], errors[inside]], axis=1),
        names,
        [chosen[name] for name in names],
        line,
    )
    figure.text(
        axes.get_position().x0,
        0.012,
        "dashed: nobody errs less at that price; hollow: not of the library",
        fontsize=8,
        color=GREY,
    )
    return figure


def microseconds(result: Result) -> float | None:
    """Time per row, to predict and learn it."""
    return 1e6 / result.rows_per_second if result.rows_per_second else None


def kilobytes(result: Result) -> float | None:
    """Memory that is kept between two rows."""
    return result.memory / 1024 if result.memory else None


def time_picture(outcome: Outcome) -> Figure:
    """Draw errors against the time per row."""
    return _scatter(outcome, microseconds, "microseconds per row (log scale)")


def size_picture(outcome: Outcome) -> Figure:
    """Draw errors against the memory of the model."""
    return _scatter(outcome, kilobytes, "size of the model, KB (log scale)")


# ---- curves --------------------------------------------------------------------------


def window_of(outcome: Outcome) -> int | None:
    """Points of a curve that are averaged over; None for all so far.

    Where the order of the rows means something, an average over all rows would hide
    what changes.
    """
    return len(outcome.marks) // 25 or 1 if outcome.in_order else None


def rates(
    sums: np.ndarray, marks: np.ndarray, window: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Errors per row over the last points of a curve, or over all so far.

    Parameters
    ----------
    sums : shape (points,)
        Errors up to each mark.
    marks : shape (points,)
        Rows seen there.
    window
        Points to average over; None for all so far.

    Returns
    -------
    seen, rate
        Without the first twenty-fifth of the stream, where a rate would be one of a
        few rows.

    Examples
    --------
    >>> seen, rate = rates(np.array([1.0, 2.0, 2.0]), np.array([1, 2, 4]), window=1)
    >>> seen.tolist(), rate.tolist()
    ([1, 2, 4], [1.0, 1.0, 0.0])
    """
    window = window or len(marks)
    before = np.concatenate([np.zeros(window), sums[:-window]])[: len(sums)]
    start = np.concatenate([np.zeros(window, int), marks[:-window]])[: len(marks)]
    kept = marks >= marks[-1] / 25
    return marks[kept], ((sums - before) / (marks - start))[kept]


def _curves(outcome: Outcome, result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Rows seen, and the error there for each run."""
    window = window_of(outcome)
    drawn = []
    for run in result.runs:
        seen, rate = rates(run.curve, outcome.marks, window)
        drawn.append(np.sqrt(rate) if outcome.problem.is_regression else rate)
    return seen, np.array(drawn)


def curve_picture(outcome: Outcome) -> Figure:
    """Draw errors over the rows, and over several runs their range."""
    chosen = looks(outcome)
    figure = Figure(figsize=SIZE, dpi=100)
    axes = figure.add_axes((0.1, 0.1, 0.65, 0.82))
    _plain(axes)
    window = window_of(outcome)
    over = (
        "all rows so far"
        if window is None
        else f"last {int(outcome.marks[min(window, len(outcome.marks)) - 1]):,} rows"
    )
    axes.set(xlabel="rows seen", ylabel=f"{measure(outcome)}, {over}")
    axes.xaxis.set_major_formatter(FuncFormatter(_counted))
    axes.set_xlim(0, outcome.problem.rows)
    ranked = outcome.ranked
    if not ranked:
        return figure
    curves = {result.name: _curves(outcome, result) for result in ranked}
    ends = {name: float(rate[:, -1].mean()) for name, (_, rate) in curves.items()}
    top = _top(np.array(list(ends.values())))
    best = [rate.mean(axis=0) for name, (_, rate) in curves.items() if ends[name] < top]
    low = min(float(rate.min()) for rate in best)
    bottom = _bottom(low, top)
    axes.set_ylim(bottom, top)
    _error_axis(axes, outcome)
    for result in reversed(ranked):
        look, (seen, rate) = chosen[result.name], curves[result.name]
        axes.plot(
            seen,
            rate.mean(axis=0),
            color=look.colour,
            linewidth=2.6 if look.place == 0 else 1.6 if look.is_best else 0.8,
            linestyle=(0, (5, 2)) if result.is_reference else "-",
            zorder=3 if look.is_best else 2,
        )
        if look.is_best and len(rate) > 1:
            axes.fill_between(
                seen,
                rate.min(axis=0),
                rate.max(axis=0),
                color=look.colour,
                alpha=0.18,
                linewidth=0,
            )
    far = [(name, end) for name, end in ends.items() if end > top]
    _note_far(axes, outcome, far)
    inside = sorted((name for name in ends if ends[name] <= top), key=ends.get)  # type: ignore[arg-type]
    gap = LABEL_GAP * (top - bottom)
    heights = spread(np.array([ends[name] for name in inside]), gap)
    heights += max(0.0, bottom - heights[0])
    beside = axes.get_yaxis_transform()  # x in parts of the width, y in data
    for name, height in zip(inside, heights, strict=True):
        look = chosen[name]
        axes.plot(
            [1.0, 1.025, 1.05],
            [ends[name], height, height],
            transform=beside,
            clip_on=False,
            color=look.colour,
            linewidth=1.1 if look.is_best else 0.6,
        )
        axes.text(
            1.06,
            height,
            f"{name}  {_short(outcome, ends[name])}",
            transform=beside,
            verticalalignment="center",
            fontsize=9 if look.is_best else 8,
            fontweight="bold" if look.place == 0 else "normal",
            color=INK if look.is_best else GREY,
        )
    return figure


Pictures = dict[str, tuple[Figure, str]]


def pictures(outcome: Outcome) -> Pictures:
    """Draw all pictures: figure and text for those who cannot see it, by name."""
    ranked = outcome.ranked

    def words(cost: Callable[[Result], float | None], unit: str) -> str:
        drawn = [(r, c) for r in ranked if (c := cost(r)) is not None]
        if not drawn:
            return "Nobody finished."
        best = front(
            np.array([c for _, c in drawn]), np.array([r.error for r, _ in drawn])
        )
        named = (
            f"{drawn[i][0].name} ({drawn[i][1]:.3g} {unit}, "
            f"{shown_error(outcome.problem, drawn[i][0].error)})"
            for i in best
        )
        return "Nobody errs less at the price of: " + ", ".join(named) + "."

    ends = ", ".join(
        f"{result.name} {shown_error(outcome.problem, result.error)}"
        for result in ranked[: len(COLOURS)]
    )
    what = measure(outcome)
    return {
        "time": (
            time_picture(outcome),
            f"Scatter plot of {what} against time per row. "
            + words(microseconds, "microseconds"),
        ),
        "size": (
            size_picture(outcome),
            f"Scatter plot of {what} against size of the model. "
            + words(kilobytes, "KB"),
        ),
        "curves": (
            curve_picture(outcome),
            f"Learning curves, {what} over rows seen. The best in all: {ends}.",
        ),
    }

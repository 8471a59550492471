"""Curves: errors over the rows of a race."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from onkel.race.outcome import Outcome, Result
from onkel.race.report import looks
from onkel.race.report.labels import spread
from onkel.race.report.words import measure

LABEL_GAP = 0.037  # between two labels of curves, as a part of the height


def window_of(outcome: Outcome) -> int | None:
    """Points of a curve that are averaged over; None for all so far.

    Where the order of the rows means something, an average over all rows would hide
    what changes.
    """
    return len(outcome.marks) // 25 or 1 if outcome.in_order else None


def rates(
    sums: np.ndarray, marks: np.ndarray, window: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows seen, and errors per row over the last points of a curve, or all so far.

    Without the first twenty-fifth of the stream, where a rate would be one of a few
    rows. `sums` are the errors up to each of `marks`.

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
    figure, axes = looks.blank((0.1, 0.1, 0.65, 0.82))
    window = window_of(outcome)
    over = (
        "all rows so far"
        if window is None
        else f"last {int(outcome.marks[min(window, len(outcome.marks)) - 1]):,} rows"
    )
    axes.set(xlabel="rows seen", ylabel=f"{measure(outcome)}, {over}")
    axes.xaxis.set_major_formatter(FuncFormatter(looks.counted))
    axes.set_xlim(0, outcome.problem.rows)
    if not outcome.ranked:
        return figure
    curves = {result.name: _curves(outcome, result) for result in outcome.ranked}
    ends = {name: float(rate[:, -1].mean()) for name, (_, rate) in curves.items()}
    top = looks.top_of(np.array(list(ends.values())))
    best = [rate.mean(axis=0) for name, (_, rate) in curves.items() if ends[name] < top]
    low = min(float(rate.min()) for rate in best)
    axes.set_ylim(looks.bottom_of(low, top), top)
    looks.error_axis(axes, outcome)
    chosen = looks.by_name(outcome)
    for result in reversed(outcome.ranked):
        _draw(axes, result, chosen[result.name], *curves[result.name])
    looks.note_far(
        axes, outcome, [(name, end) for name, end in ends.items() if end > top]
    )
    _name_ends(axes, outcome, {name: end for name, end in ends.items() if end <= top})
    return figure


def _draw(
    axes: Axes, result: Result, look: looks.Look, seen: np.ndarray, rate: np.ndarray
) -> None:
    """Draw a curve, and the range of its runs if it is one of the best."""
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


def _name_ends(axes: Axes, outcome: Outcome, ends: dict[str, float]) -> None:
    """Write names beside the ends of curves, each with room."""
    bottom, top = axes.get_ylim()
    inside = sorted(ends, key=lambda name: ends[name])
    gap = LABEL_GAP * (top - bottom)
    heights = spread(np.array([ends[name] for name in inside]), gap)
    heights += max(0.0, bottom - heights[0])
    beside = axes.get_yaxis_transform()  # x in parts of the width, y in data
    chosen = looks.by_name(outcome)
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
            f"{name}  {looks.short_error(outcome, ends[name])}",
            transform=beside,
            **look.lettering(9),
        )

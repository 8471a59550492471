"""The picture: error against seconds, a panel for each data set, names at the side."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.peers.tasks import SETS
from onkel.race.report.looks import COLOURS, FAINT, GREY, INK

KINDS = {
    "onkel": (COLOURS[1], "o"),
    "packages in Python": (COLOURS[0], "s"),
    "programs in C++": (COLOURS[6], "^"),
}
ONKEL, PACKAGE, PROGRAM = KINDS
# What errs more than a constant answer by so much is drawn at the upper edge.
FAR = 1.3
LETTERS = 6.5  # points
LEADING = 1.55  # of a line of names, in letters
LETTER = 0.6  # width of one, in their height
# Inches of a panel, at least, and of what is around all of them.
WIDE, HIGH = 4.3, 4.4
LEFT, BELOW, ABOVE, BETWEEN = 0.85, 0.65, 0.75, 0.7


class Point(NamedTuple):
    """A contestant in a panel."""

    name: str
    kind: str
    seconds: float
    error: float  # percent

    @property
    def told(self) -> str:
        """Its name, with the error."""
        return f"{self.name} {self.error:.2f}"


def points_of(cells: Mapping[str, Any]) -> list[Point]:
    """Those that came to their end."""
    found = []
    for name, record in cells.items():
        if "failed" in record:
            continue
        peer = PROGRAM if "program_seconds" in record else PACKAGE
        kind = peer if record["against"] else ONKEL
        seconds = max(record["seconds"], 1e-4)
        found.append(Point(name, kind, seconds, 100 * record["error"]))
    # Of those at the upper edge, too, the worst is the uppermost name.
    return sorted(found, key=lambda point: point.error)


def spaced(places: Sequence[float], gap: float, low: float, high: float) -> np.ndarray:
    """Move places apart to at least a gap, in order, as little as is simple.

    They stay between low and high if there is room for all of them.
    """
    order = np.argsort(places, kind="stable")
    moved = np.array(places, float)[order]
    if len(moved) > 1:
        gap = min(gap, (high - low) / (len(moved) - 1))
    for i in range(len(moved)):
        moved[i] = max(moved[i], low + i * gap, moved[i - 1] + gap if i else low)
    for i in range(len(moved) - 1, -1, -1):
        above = moved[i + 1] - gap if i + 1 < len(moved) else high
        moved[i] = min(moved[i], above)
    result = np.empty(len(moved))
    result[order] = moved
    return result


def _panel(axes: Axes, title: str, points: Sequence[Point], constant: float) -> None:
    top = max(min(max(p.error for p in points), FAR * constant), 1e-9)
    low = max(min(p.error for p in points) - 0.06 * top, 0.0)
    axes.set_xscale("log")
    seconds = [p.seconds for p in points]
    lowest, highest = math.log10(min(seconds) / 1.5), math.log10(max(seconds) * 1.5)
    axes.set_xlim(10 ** math.floor(lowest), 10 ** math.ceil(highest))
    axes.set_ylim(low, top + 0.04 * (top - low))
    heights = [min(p.error, top) for p in points]
    axes.axhline(constant, color=GREY, linewidth=0.8, linestyle=":")
    for kind, (colour, marker) in KINDS.items():
        of_kind = [
            (p.seconds, y)
            for p, y in zip(points, heights, strict=True)
            if p.kind == kind
        ]
        if of_kind:
            axes.plot(
                *zip(*of_kind, strict=True),
                marker,
                color=colour,
                markersize=5.5,
                zorder=3,
            )
    _names(axes, points, heights)
    axes.set_title(title, fontsize=11, loc="left")
    axes.xaxis.set_major_locator(LogLocator(numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _names(axes: Axes, points: Sequence[Point], heights: Sequence[float]) -> None:
    """Write names to the right, from the lowest error up, each tied to its point."""
    low, high = axes.get_ylim()
    inches = axes.get_window_extent().height / axes.figure.dpi
    gap = LEADING * LETTERS / 72 / inches * (high - low)
    places = spaced(heights, gap, low, high)
    for point, height, place in zip(points, heights, places, strict=True):
        colour = KINDS[point.kind][0]
        axes.annotate(
            point.told,
            (point.seconds, height),
            (1.03, (place - low) / (high - low)),
            textcoords="axes fraction",
            fontsize=LETTERS,
            color=colour,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "alpha": 0.25,
                "linewidth": 0.6,
                "shrinkB": 3,
                "relpos": (0.0, 0.5),
            },
        )


def _laid_out(panels: Sequence[Sequence[Point]], columns: int, lines: int) -> Figure:
    """Make a figure with room for all names: none is cut off or on another."""
    longest = max(len(point.told) for points in panels for point in points)
    names = WIDE * 0.03 + LETTER * LETTERS / 72 * longest
    high = max(HIGH, LEADING * LETTERS / 72 * max(len(points) for points in panels))
    width = LEFT + columns * (WIDE + names) + (columns - 1) * BETWEEN
    height = BELOW + ABOVE + lines * high + (lines - 1) * BETWEEN
    figure = Figure(figsize=(width, height))
    figure.subplots_adjust(
        left=LEFT / width,
        right=1 - names / width,
        wspace=(names + BETWEEN) / WIDE,
        hspace=BETWEEN / high,
        bottom=BELOW / height,
        top=1 - ABOVE / height,
    )
    return figure


def picture(content: Mapping[str, Any]) -> Figure:
    """Draw error against seconds, a panel for each data set at its first budget."""
    panels = {}
    for name in content["sets"]:
        task = f"{name}/{SETS[name].budgets[0]}"
        cells = {
            key.removeprefix(f"{task}/"): record
            for key, record in content["cells"].items()
            if key.startswith(f"{task}/")
        }
        if points := points_of(cells):
            panels[name] = points
    columns = min(2, len(panels))
    lines = math.ceil(len(panels) / max(columns, 1))
    figure = _laid_out(list(panels.values()), columns, lines)
    drawn = figure.subplots(lines, columns, squeeze=False)
    for axes in drawn.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (name, points) in zip(drawn.flat, panels.items(), strict=False):
        constant = 100 * content["sets"][name]["constant"]
        title = f"{name}, budget {SETS[name].budgets[0]}"
        _panel(axes, title, points, constant)
    figure.supxlabel("seconds to fit, one thread", fontsize=10, color=INK)
    figure.supylabel("test error, %", fontsize=10, color=INK)
    used = {point.kind for points in panels.values() for point in points}
    handles = [
        drawn.flat[0].plot([], [], marker, color=colour, label=kind)[0]
        for kind, (colour, marker) in KINDS.items()
        if kind in used
    ]
    handles += drawn.flat[0].plot([], [], ":", color=GREY, label="a constant answer")
    figure.legend(
        handles=handles, loc="upper center", ncols=4, frameon=False, fontsize=9
    )
    return figure

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

# Ours, packages, programs.
KINDS = {
    "onkel": (COLOURS[1], "o"),
    "installed": (COLOURS[0], "s"),
    "built": (COLOURS[6], "^"),
}
# What errs more than a constant answer by so much is drawn at the upper edge.
FAR = 1.3
LETTERS = 6.5  # points
LEADING = 1.55  # of a line of names, in letters


class Point(NamedTuple):
    """A contestant in a panel."""

    name: str
    kind: str
    seconds: float
    error: float  # percent


def points_of(cells: Mapping[str, Any]) -> list[Point]:
    """Those that came to their end."""
    found = []
    for name, record in cells.items():
        if "failed" in record:
            continue
        built = "built" if "program_seconds" in record else "installed"
        kind = built if record["against"] else "onkel"
        seconds = max(record["seconds"], 1e-4)
        found.append(Point(name, kind, seconds, 100 * record["error"]))
    return found


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
            f"{point.name} {point.error:.2f}",
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
            },
        )


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
    figure = Figure(figsize=(6.8 * columns, 5.2 * lines + 0.5))
    figure.subplots_adjust(
        left=0.07 if columns == 2 else 0.11,
        right=0.86 if columns == 2 else 0.72,
        wspace=0.55,
        hspace=0.22,
        bottom=0.09 if lines == 1 else 0.06,
        top=0.88 if lines == 1 else 0.93,
    )
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

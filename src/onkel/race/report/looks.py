"""Looks: the colours, marks, axes and scales that all pictures of a race share."""

import textwrap
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from onkel.race.outcome import Outcome
from onkel.race.report.words import figures

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

    def lettering(self, size: float) -> dict[str, Any]:
        """How its name is written, in that size if it is one of the best."""
        return {
            "fontsize": size if self.is_best else 8,
            "fontweight": "bold" if self.place == 0 else "normal",
            "color": INK if self.is_best else GREY,
            "verticalalignment": "center",
        }


def by_name(outcome: Outcome) -> dict[str, Look]:
    """How everyone who has a place is drawn, the same in all pictures."""
    styles = zip(COLOURS, MARKERS, strict=True)
    chosen: dict[str, Look] = {}
    for place, result in enumerate(outcome.ranked):
        colour, marker = next(styles, (GREY, "o"))
        chosen[result.name] = Look(colour, marker, colour != GREY, place)
    return chosen


def blank(place: tuple[float, float, float, float]) -> tuple[Figure, Axes]:
    """Return a picture with empty axes at a place: left, bottom, width and height."""
    figure = Figure(figsize=SIZE, dpi=100)
    axes = figure.add_axes(place)
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(GREY)
    axes.tick_params(colors=INK, which="both")
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure, axes


def top_of(errors: np.ndarray) -> float:
    """The end of a scale on which those that learn can be told apart."""
    near = errors[errors <= FAR * np.median(errors)]
    return float(1.08 * near.max()) or 1.0


def bottom_of(least: float, top: float) -> float:
    """Return the other end: 0 if it is not far from the best."""
    return max(0.0, least - 0.3 * (top - least))


def counted(value: float, _: Any) -> str:
    """Write a number at an axis."""
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def short_error(outcome: Outcome, error: float) -> str:
    """An error as it stands in a picture."""
    return figures(error, 3) if outcome.problem.is_regression else f"{error:.1%}"


def note_far(axes: Axes, outcome: Outcome, far: list[tuple[str, float]]) -> None:
    """Name those that are off the scale."""
    if far:
        text = "Off the scale: " + ", ".join(
            f"{name} {short_error(outcome, error)}" for name, error in far
        )
        lines = "\n".join(textwrap.wrap(text, LINE))
        axes.text(0.0, 1.01, lines, transform=axes.transAxes, fontsize=8.5, color=GREY)


def error_axis(axes: Axes, outcome: Outcome) -> None:
    """Label the axis of the errors, of mistakes in percent."""

    def percent(value: float, _: Any) -> str:
        return f"{round(100 * value, 6):g}%"

    if not outcome.problem.is_regression:
        axes.yaxis.set_major_formatter(FuncFormatter(percent))

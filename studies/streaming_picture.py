"""The picture of `studies.streaming`: the error so far against rows."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from onkel.measuring.records import Records
from onkel.race.report.looks import COLOURS, FAINT, INK
from studies.streaming_results import drawn, results
from studies.streaming_run import chunk_of
from studies.streaming_streams import STREAMS
from studies.streaming_summary import measure_of
from studies.streaming_systems import NEWCOMERS

SKIPPED = 1  # chunks at the start, whose errors would set the scale of the picture


class Look(NamedTuple):
    """How a system is drawn."""

    colour: str
    style: str
    width: float


def looks_of(systems: Iterable[str]) -> dict[str, Look]:
    """The same look in all panels; dashed when the colours are used up."""
    styles = itertools.product(("-", "--", ":"), COLOURS)
    looks = dict.fromkeys(NEWCOMERS, Look(INK, "-", 3.0))
    others = [name for name in dict.fromkeys(systems) if name not in looks]
    return looks | {
        name: Look(colour, style, 1.4)
        for name, (style, colour) in zip(others, styles, strict=False)
    }


def tidy(axes: Axes, title: str, rows: int) -> None:
    """Lay out a panel over the rows of a stream, with a legend from the best on."""
    axes.set_title(title, loc="left")
    axes.set_xlabel("rows")
    axes.set_xlim(0, rows)
    axes.grid(color=FAINT, lw=0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k"))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], frameon=False, fontsize=8)


def _panel(axes: Axes, name: str, records: Records, looks: dict[str, Look]) -> None:
    rows = records[name]["rows"]
    for result in reversed(drawn(results(records, name))):
        curve, look = np.array(result.best["curve"]), looks[result.system]
        stops = np.minimum(chunk_of(rows) * np.arange(1, len(curve) + 1), rows)
        axes.plot(
            stops[SKIPPED:],
            100 * curve[SKIPPED:],
            color=look.colour,
            ls=look.style,
            lw=look.width,
            label=f"{result.system}, {100 * result.best['error']:.2f} %",
        )
    tidy(axes, name, rows)
    if records[name]["classes"]:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(f"{measure_of(records[name])} so far, %")


def picture(records: Records) -> Figure:
    """Draw the error so far against the rows, a panel a stream."""
    there = [name for name in STREAMS if name in records]
    columns = min(2, len(there))
    lines = -(-len(there) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.0 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    looks = looks_of(r.system for name in there for r in drawn(results(records, name)))
    for axes, name in itertools.zip_longest(panels, there):
        if name is None:
            axes.set_visible(False)
        else:
            _panel(axes, name, records, looks)
    return figure

"""The picture of `studies.streaming`: mistakes so far against rows."""

import itertools
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from onkel.measuring.records import Records
from onkel.race.report.looks import COLOURS, FAINT, INK
from studies import streaming_run
from studies.streaming_results import drawn, results
from studies.streaming_systems import NEW, STREAMS

SKIPPED = 1  # chunks at the start, whose errors would set the scale of the picture


class Look(NamedTuple):
    """How a system is drawn."""

    colour: str
    style: str
    width: float


def _panel(axes: Axes, name: str, records: Records, looks: dict[str, Look]) -> None:
    for result in reversed(drawn(results(records, name))):
        mistakes = np.cumsum(result.best["mistakes"])
        rows = np.minimum(
            streaming_run.CHUNK * np.arange(1, len(mistakes) + 1), records[name]["rows"]
        )
        look = looks[result.system]
        axes.plot(
            rows[SKIPPED:],
            (100 * mistakes / rows)[SKIPPED:],
            color=look.colour,
            ls=look.style,
            lw=look.width,
            label=f"{result.system}, {100 * result.error:.2f} %",
        )
    axes.set_title(name, loc="left")
    axes.set_xlabel("rows")
    axes.set_xlim(0, records[name]["rows"])
    axes.set_ylim(bottom=0)
    axes.grid(color=FAINT, lw=0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k"))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], frameon=False, fontsize=8)


def picture(records: Records) -> Figure:
    """Draw the mistakes so far against the rows, a panel a stream."""
    there = [name for name in STREAMS if name in records]
    columns = min(2, len(there))
    lines = -(-len(there) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.0 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    shown = (r.system for name in there for r in drawn(results(records, name)))
    names = [system for system in dict.fromkeys(shown) if system != NEW]
    # The same look in all panels; dashed when the colours are used up.
    styles = itertools.product(("-", "--", ":"), COLOURS)
    looks = {NEW: Look(INK, "-", 3.0)}
    looks |= {
        k: Look(colour, style, 1.4)
        for k, (style, colour) in zip(names, styles, strict=False)
    }
    for axes, name in itertools.zip_longest(panels, there):
        if name is None:
            axes.set_visible(False)
        else:
            _panel(axes, name, records, looks)
            axes.set_ylabel("mistakes so far, %")
    return figure

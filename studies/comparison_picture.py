"""The picture of the comparison: error against seconds, a panel for each data set."""

import math
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from onkel.race.report.looks import FAINT, GREY
from studies.comparison_methods import METHODS, OURS
from studies.comparison_sets import REGRESSION
from studies.comparison_verdicts import Result, Results

# Paul Tol's muted colours, as in the other pictures.
LOOKS = {
    "svc-grid": ("#332288", "s"),
    "svc": ("#88ccee", "D"),
    "nystroem": ("#117733", "^"),
    "falkon": ("#44aa99", "X"),
    "lightgbm": ("#999933", "v"),
    "lightgbm-tuned": ("#ddcc77", "<"),
    "onkel": ("#cc6677", "o"),
    "onkel-auto": ("#aa4499", "P"),
}


def _panel(axes: Axes, name: str, of_set: Mapping[str, Result]) -> None:
    for method, result in of_set.items():
        colour, marker = LOOKS[method]
        values = list(result.errors.values())
        axes.errorbar(
            result.seconds,
            result.error,
            yerr=np.std(values, ddof=1) if len(values) > 1 else None,
            color=colour,
            marker=marker,
            markersize=9 if method in OURS else 7,
            markerfacecolor="white" if result.is_extrapolated else colour,
            linestyle="none",
            linewidth=1,
            zorder=3 if method in OURS else 2,
        )
    axes.set_title(name + (" (values)" if name in REGRESSION else ""), fontsize=10)
    axes.set_xscale("log")
    # Whole decades, so that at least two are labelled.
    seconds = [result.seconds for result in of_set.values()]
    low, high = np.log10(min(seconds) / 1.5), np.log10(max(seconds) * 1.5)
    axes.set_xlim(10 ** np.floor(low), 10 ** np.ceil(high))
    axes.margins(y=0.15)
    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def picture(found: Results) -> Figure:
    """Draw error against seconds, a panel for each data set."""
    columns = min(4, len(found))
    rows = math.ceil(len(found) / columns)
    figure = Figure(figsize=(3.1 * columns, 2.5 * rows + 0.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)  # type: ignore[union-attr, call-arg]
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat[len(found) :]:
        axes.set_visible(False)
    for axes, (name, of_set) in zip(panels.flat, found.items(), strict=False):
        _panel(axes, name, of_set)
    figure.supxlabel("seconds to fit, of one thread, search included", fontsize=10)
    figure.supylabel(
        "test error, %  (values: 100 RMSE / standard deviation)", fontsize=10
    )
    handles = [
        panels.flat[0].plot(
            [],
            [],
            color=colour,
            marker=marker,
            linestyle="none",
            label=METHODS[method].label,
        )[0]
        for method, (colour, marker) in LOOKS.items()
        if any(method in of_set for of_set in found.values())
    ]
    hollow = {"color": GREY, "markerfacecolor": "white", "linestyle": "none"}
    handles += panels.flat[0].plot(
        [], [], marker="s", label="seconds extrapolated", **hollow
    )
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        frameon=False,
        fontsize=9,
    )
    return figure

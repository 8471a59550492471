"""The picture of time: error against seconds of ever larger models."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from onkel.race.report.looks import FAINT
from studies.comparison_methods import METHODS, Method
from studies.comparison_sets import REGRESSION
from studies.comparison_verdicts import Result, Results

SETS = ("covtype-7", "ijcnn1", "casp")
# By family and device: name, colour (Paul Tol's, as in the other pictures), mark.
LOOKS = {
    ("onkel", "cpu"): ("onkel, one thread", "#cc6677", "o"),
    ("onkel", "cuda"): ("onkel, GPU", "#882255", "s"),
    ("svc", "cpu"): ("SVC", "#88ccee", "D"),
    ("svc-grid", "cpu"): ("SVC, searched", "#332288", "D"),
    ("falkon", "cpu"): ("falkon", "#44aa99", "X"),
    ("lightgbm", "cpu"): ("LightGBM", "#999933", "v"),
    ("lightgbm-tuned", "cpu"): ("LightGBM, tuned", "#117733", "^"),
}
Point = tuple[Method, Result]


def _words(method: Method) -> str:
    return f"{method.size:,}" if isinstance(method.size, int) else method.size


def _draw(axes: Axes, points: list[Point], look: tuple[str, str]) -> None:
    _, colour, marker = LOOKS[look]
    line = {
        method.size: (result.seconds, result.error)
        for method, result in points
        if method.size != "auto"
    }
    ends = [line[size] for size in sorted(line, key=int)]
    if ends:
        axes.plot(*zip(*ends, strict=True), color=colour, linewidth=1.3)
    for method, result in points:
        is_star = method.size == "auto"
        axes.plot(
            result.seconds,
            result.error,
            color=colour,
            marker="*" if is_star else marker,
            markersize=12 if is_star else 6.5,
            markerfacecolor="white" if result.is_extrapolated else colour,
            zorder=3,
        )
        if method.size:
            # Below the line of the GPU, which is on the left; "auto" beyond the line.
            is_below = (look[1] == "cuda") != (method.size == "auto")
            axes.annotate(
                _words(method),
                (result.seconds, result.error),
                xytext=(-6, -11) if is_below else (6, 5),
                textcoords="offset points",
                horizontalalignment="right" if is_below else "left",
                color=colour,
                fontsize=8,
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
                zorder=2.5,
            )


def picture(found: Results) -> Figure | None:
    """Draw a panel for each of three sets; None if none of them is measured."""
    sets = [name for name in SETS if name in found]
    if not sets:
        return None
    figure = Figure(figsize=(4.8 * len(sets), 5.2), layout="constrained")
    panels = figure.subplots(1, len(sets), squeeze=False)[0]
    drawn = set()
    for axes, name in zip(panels, sets, strict=True):
        for look in LOOKS:
            points = [
                (METHODS[method], result)
                for method, result in found[name].items()
                if (METHODS[method].family, METHODS[method].device) == look
            ]
            if points:
                drawn.add(look)
                _draw(axes, points, look)
        axes.set_title(name + (" (values)" if name in REGRESSION else ""), fontsize=11)
        axes.set_xscale("log")
        axes.margins(x=0.16, y=0.1)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_locator(MaxNLocator(6))
        axes.grid(color=FAINT, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=9)
    figure.supxlabel(
        "seconds to fit: of one thread, or on the GPU's clock", fontsize=10
    )
    figure.supylabel("test error, %", fontsize=10)
    handles = [
        Line2D(
            *([], []),
            color=colour,
            marker=marker,
            label=label,
            linestyle="-" if look[0] in ("onkel", "lightgbm") else "none",
        )
        for look, (label, colour, marker) in LOOKS.items()
        if look in drawn
    ]
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        frameon=False,
        fontsize=9,
    )
    return figure

"""Pictures of a race: error against time and against memory, and learning curves.

The best are coloured, the others grey; every point and curve has its name beside it.
"""

from collections.abc import Callable

from matplotlib.figure import Figure

from onkel.race.outcome import Outcome, Result
from onkel.race.report.curves import curve_picture
from onkel.race.report.looks import COLOURS
from onkel.race.report.prices import kilobytes, microseconds, priced
from onkel.race.report.scatter import scatter
from onkel.race.report.words import measure, shown_error

Pictures = dict[str, tuple[Figure, str]]


def pictures(outcome: Outcome) -> Pictures:
    """Draw all pictures: figure and text for those who cannot see it, by name."""
    what = measure(outcome)
    ends = ", ".join(
        f"{result.name} {shown_error(outcome.problem, result.error)}"
        for result in outcome.ranked[: len(COLOURS)]
    )
    return {
        "time": (
            scatter(outcome, microseconds, "microseconds per row (log scale)"),
            f"Scatter plot of {what} against time per row. "
            + _front_in_words(outcome, microseconds, "microseconds"),
        ),
        "size": (
            scatter(outcome, kilobytes, "size of the model, KB (log scale)"),
            f"Scatter plot of {what} against size of the model. "
            + _front_in_words(outcome, kilobytes, "KB"),
        ),
        "curves": (
            curve_picture(outcome),
            f"Learning curves, {what} over rows seen. The best in all: {ends}.",
        ),
    }


def _front_in_words(
    outcome: Outcome, cost: Callable[[Result], float | None], unit: str
) -> str:
    points = priced(outcome, cost)
    if not points.results:
        return "Nobody finished."
    named = (
        f"{points.results[i].name} ({points.costs[i]:.3g} {unit}, "
        f"{shown_error(outcome.problem, points.results[i].error)})"
        for i in points.front
    )
    return "Nobody errs less at the price of: " + ", ".join(named) + "."

"""Words: how errors, rows and the method of a race are told, wherever that is."""

import numpy as np

from onkel.race.bandwidth import ROWS
from onkel.race.outcome import Outcome, Result
from onkel.race.problem import Problem
from onkel.race.references import piece_for
from onkel.race.report.prices import kilobytes


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


def number(value: float | None, digits: int = 0) -> str:
    """Write a number, or "-" for what is not known."""
    return "-" if value is None else f"{value:,.{digits}f}"


def shown_error(problem: Problem, error: float) -> str:
    """An error as one reads it.

    Percent for mistakes, four figures in the unit of the targets for regression.
    """
    return figures(error, 4) if problem.is_regression else f"{error:.2%}"


def with_spread(problem: Problem, result: Result) -> str:
    """An error and its standard deviation, as one reads them."""
    if result.error != result.error:
        return "-"
    if result.spread is None:
        return shown_error(problem, result.error)
    if problem.is_regression:
        digits = decimals(result.error, 4)
        return f"{result.error:,.{digits}f} ± {result.spread:,.{digits}f}"
    return f"{100 * result.error:.2f} ± {100 * result.spread:.2f} %"


def measure(outcome: Outcome) -> str:
    """What an error is."""
    return "root mean squared error" if outcome.problem.is_regression else "mistakes"


def without_looking(outcome: Outcome) -> tuple[str, str]:
    """The best constant, in words, and its error."""
    baselines = outcome.baselines
    constant = baselines.constant
    value = f"{constant:.4g}, the mean" if baselines.is_regression else str(constant)
    return f"always {value}", shown_error(outcome.problem, baselines.constant_error)


def caption(outcome: Outcome) -> str:
    """What was raced on, in a sentence or two."""
    always, error = without_looking(outcome)
    last = ""
    if outcome.in_order:
        repeated = shown_error(outcome.problem, outcome.baselines.last_error)
        last = f"; who repeats the answer of the row before, one of {repeated}"
    rows, features, classes = outcome.problem
    task = "regression" if outcome.problem.is_regression else f"{classes} classes"
    runs = outcome.settings["permutations"]
    return (
        f"{rows:,} rows, {features:,} features, {task}; budget "
        f"{outcome.settings['budget']:,}, gamma {outcome.gamma:.4g}, "
        f"{runs} run{'s' * (runs > 1)}. {outcome.order} Each row is predicted, then "
        f"learnt. Who looks at no row, and says {always}, has an error of {error}"
        + " ".join([f"{last}.", *outcome.description.get("notes", ())])
    )


def warnings(outcome: Outcome) -> list[str]:
    """What the reader should not miss."""
    said = outcome.baselines.warning
    if said is None:
        return []
    return [f"{said}. These errors say little about rows that come in another order"]


def method(outcome: Outcome) -> str:
    """How it was measured."""
    spread = " ± standard deviation over the runs" * (
        outcome.settings["permutations"] > 1
    )
    chosen = ""
    if outcome.trials:
        chosen = (
            "gamma was chosen with the labels of the first "
            f"{min(ROWS, outcome.problem.rows):,} rows of the first run, which count, "
            "too. "
        )
    if outcome.problem.is_regression:
        chosen += "Targets are in units of the spread of the first rows for learning. "
    told = (
        f"Errors are progressive: over all rows, the first ones included{spread}. "
        f"{chosen}Files are scaled by statistics of all their rows. "
        "rows/s: processor time of predicting and learning on one thread, compiled "
        "before, without reading. Model size: centres and features at the end; memory: "
        "bytes of the saved model (LightGBM: and of the rows it keeps). scikit-learn's "
        f"models predict, then learn, {piece_for(outcome.problem.rows)} rows at a time."
    )
    if growing := [result.name for result in outcome.results if result.grows]:
        told += f" Beyond the budget or without one: {', '.join(growing)}."
    return told


def unplaced(outcome: Outcome) -> list[str]:
    """Who has no place, and why."""
    stopped = [
        f"{result.name}: {result.stopped}"
        for result in outcome.results
        if not result.is_ranked
    ]
    alike: dict[str, list[str]] = {}
    for name, reason in outcome.left_out.items():
        alike.setdefault(reason, []).append(name)
    return stopped + [
        f"{', '.join(names)} did not start: {'each' if names[1:] else 'it'} {reason}"
        for reason, names in alike.items()
    ]


def heads(outcome: Outcome) -> list[str]:
    """Headings of the leaderboard."""
    error = "RMSE" if outcome.problem.is_regression else "mistakes"
    return ["", "system", error, "rows/s", "size", "KB", "updates"]


def cells(outcome: Outcome) -> list[list[str]]:
    """Rows of the leaderboard, the best first, those without a place last."""
    return [
        [
            number(place),
            result.name,
            with_spread(outcome.problem, result),
            number(result.rows_per_second),
            number(result.size),
            number(kilobytes(result)),
            number(result.updates),
        ]
        for place, result in outcome.places
    ]

"""Prices: what an error costs in time or in memory, and who has the best of both."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onkel.race.outcome import Outcome, Result


def front(costs: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Indices of those that nobody beats in one without losing in the other.

    They go from the cheapest to the best.

    Examples
    --------
    >>> front(np.array([1.0, 2.0, 3.0, 4.0]), np.array([9.0, 5.0, 7.0, 1.0])).tolist()
    [0, 1, 3]
    """
    order = np.lexsort((errors, costs))
    best = np.minimum.accumulate(errors[order])
    improves = np.concatenate([[True], best[1:] < best[:-1]])
    return order[improves]


def microseconds(result: Result) -> float | None:
    """Time per row, to predict and learn it."""
    return 1e6 / result.rows_per_second if result.rows_per_second else None


def kilobytes(result: Result) -> float | None:
    """Memory that is kept between two rows."""
    return result.memory / 1024 if result.memory else None


class Priced(NamedTuple):
    """Those who finished and whose cost is known, the best first."""

    results: list[Result]
    costs: np.ndarray
    errors: np.ndarray

    @property
    def front(self) -> np.ndarray:
        """Indices of those that nobody beats, from the cheapest to the best."""
        return front(self.costs, self.errors)


def priced(outcome: Outcome, cost: Callable[[Result], float | None]) -> Priced:
    """Return who finished, with its cost and its error."""
    known = [(r, c) for r in outcome.ranked if (c := cost(r)) is not None]
    results = [result for result, _ in known]
    costs = np.array([cost for _, cost in known])
    return Priced(results, costs, np.array([result.error for result in results]))

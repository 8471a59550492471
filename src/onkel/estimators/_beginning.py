"""The beginning of a stream: rows that say how wide a kernel must be.

A default such as gamma="scale" is a statistic of rows, and a stream has none to begin
with. It is taken from the first s rows, where s is the largest power of two that has
been reached, up to `LONGEST`; whenever s doubles, the rows so far are learnt anew with
the new statistic. So the model after n rows is a function of these rows alone, however
they were cut into calls, it is never worse informed than by half of them, and the rows
learnt twice are fewer than 2 `LONGEST` in all.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.refit.reservoir import Reservoir

# Rows after which the statistics of a stream are final.
LONGEST = 1024


def informing(rows: int, longest: int) -> int:
    """Return how many of the first rows statistics are taken from.

    Examples
    --------
    >>> [informing(rows, 1024) for rows in (0, 1, 5, 1023, 5000)]
    [0, 1, 4, 512, 1024]
    """
    rows = min(rows, longest)
    return 1 << rows.bit_length() >> 1


class Cut(NamedTuple):
    """Where further rows cut a beginning."""

    first: tuple[Any, np.ndarray, np.ndarray] | None  # rows to learn anew, if any
    known: int  # of these that were known before
    taken: int  # rows that are among them now
    rest: Reservoir | None  # the beginning after these rows; None once it is over


def cut(beginning: Reservoir, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Cut:
    """Add rows to the beginning of a stream, and say what is to be learnt anew."""
    weight = np.ones(len(y)) if weight is None else weight
    known, longest = len(beginning), beginning.size
    reached = informing(known + len(y), longest)
    taken = max(reached - known, 0)
    beginning = beginning.copy()
    if taken:
        beginning.add(X[:taken], y[:taken], weight[:taken])
    first = beginning.rows() if taken else None
    if known + len(y) >= longest:
        return Cut(first, known, taken, None)
    if taken < len(y):
        beginning.add(X[taken:], y[taken:], weight[taken:])
    return Cut(first, known, taken, beginning)

"""Which iterates the answer is a mean of, as the parameters say."""

import math
from typing import Any

from onkel.averages import DECAY, Window


def window_of(estimator: Any, n_rows: int | None) -> Window | None:
    """Window of the parameters average, suffix_fraction and average_exact.

    `n_rows` is None in a stream, which has no last half.
    """
    whole = getattr(estimator, "average_exact", False)
    if whole and getattr(estimator, "refit", False):
        raise ValueError(
            "average_exact=True keeps centres that refit=True could not give "
            "coefficients to: choose one of them"
        )
    if estimator.average is None:
        if whole:
            raise ValueError(
                'average_exact=True needs an average: give average="full", for example'
            )
        return None
    if estimator.average == "poly":
        return Window(decay=DECAY, whole=whole)
    if estimator.average == "full":
        return Window(whole=whole)
    if n_rows is None:
        raise ValueError(
            'average="suffix" is the mean of the last part of all rows, and a stream '
            'has no end: use average="poly" with partial_fit'
        )
    rows = n_rows * estimator.max_iter
    # The small term: 1 - fraction may be a rounding error above a whole number of rows.
    before = (1.0 - estimator.suffix_fraction) * rows
    return Window(start=math.ceil(before - 1e-9 * rows), whole=whole)

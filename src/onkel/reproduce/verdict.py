"""Verdicts: what our number says about a published one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

AGREES, BETTER, WORSE = "agrees", "better", "worse"
WIDE = 0.05  # spread, as a share of the published number, with which little is said
CONSTANT, DIFFER, NOT_RUN = "constant predictor", "data differ", "not run"
OURS_ONLY = "no published number"


class Measured(NamedTuple):
    """A mean, and the spread over orders: 0 where only one is known."""

    mean: float
    std: float


def measured(values: Sequence[float]) -> Measured:
    """Return mean and standard deviation of some runs.

    Examples
    --------
    >>> from onkel.reproduce.verdict import measured
    >>> measured([1.0, 3.0]).mean
    2.0
    """
    numbers = np.array(values, dtype=float)
    std = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
    return Measured(float(numbers.mean()), std)


def verdict(
    ours: Measured,
    theirs: Measured,
    *,
    constant: float,
    same_data: bool,
    digits: int,
    larger_is_better: bool,
) -> str:
    """Compare two numbers.

    Parameters
    ----------
    ours, theirs
        Mean and standard deviation.
    constant
        What the constant predictor has, on our data.
    same_data
        Whether theirs are the same rows, as far as their number tells.
    digits
        Decimals of the published number; half a unit of the last is its rounding.
    larger_is_better
        As an accuracy is; errors are not.

    Returns
    -------
    verdict
        "agrees" within two standard deviations of both and the rounding, with a
        warning where these are large, else "better" or "worse". "constant predictor"
        comes first, if ours or theirs equals it but for rounding, then "data differ".

    Examples
    --------
    >>> from onkel.reproduce.verdict import Measured, verdict
    >>> known = dict(constant=30.0, same_data=True, digits=1, larger_is_better=False)
    >>> verdict(Measured(20.0, 0.2), Measured(20.5, 0.2), **known)
    'agrees'
    >>> verdict(Measured(20.0, 0.1), Measured(20.5, 0.1), **known)
    'better'
    >>> verdict(Measured(20.0, 0.1), Measured(30.0, 0.0), **known)
    'constant predictor (theirs)'
    """
    unit = 10.0**-digits
    # A pass that comes to say always the same differs from the best constant by its
    # first rows.
    first_rows = max(unit, constant / 1000)
    is_constant = [
        who
        for who, number, room in (
            ("ours", ours, first_rows),
            ("theirs", theirs, unit / 2),
        )
        if abs(number.mean - constant) <= room + 1e-9 and (who == "ours" or same_data)
    ]
    if is_constant:
        return f"{CONSTANT} ({' and '.join(is_constant)})"
    if not same_data:
        return DIFFER
    difference = ours.mean - theirs.mean
    spread = float(np.hypot(ours.std, theirs.std))
    if abs(difference) <= 2 * spread + unit / 2:
        is_wide = spread > WIDE * abs(theirs.mean)
        return f"{AGREES} (wide spread)" if is_wide else AGREES
    return BETTER if (difference > 0) == larger_is_better else WORSE

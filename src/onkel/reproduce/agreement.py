"""Agreement: what our number says about a published one."""

import numpy as np

from onkel.reproduce.summary import Measured

AGREES, BETTER, WORSE = "agrees", "better", "worse"
WIDE = 0.05  # spread, as a share of the published number, with which little is said
CONSTANT, DIFFER, NOT_RUN = "constant predictor", "data differ", "not run"
OURS_ONLY = "no published number"


def agreement(
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
    agreement
        "agrees" within two standard deviations of both and the rounding, with a
        warning where these are large, else "better" or "worse". "constant predictor"
        comes first, if ours or theirs equals it but for rounding, then "data differ".

    Examples
    --------
    >>> from onkel.reproduce.agreement import agreement
    >>> from onkel.reproduce.summary import Measured
    >>> known = dict(constant=30.0, same_data=True, digits=1, larger_is_better=False)
    >>> agreement(Measured(20.0, 0.2), Measured(20.5, 0.2), **known)
    'agrees'
    >>> agreement(Measured(20.0, 0.1), Measured(30.0, 0.0), **known)
    'constant predictor (theirs)'
    """
    rounding = 10.0**-digits / 2
    known_rows = theirs if same_data else None
    constant_ones = _constant_ones(ours, known_rows, constant, rounding)
    if constant_ones:
        return f"{CONSTANT} ({' and '.join(constant_ones)})"
    if not same_data:
        return DIFFER
    difference = ours.mean - theirs.mean
    spread = float(np.hypot(ours.std, theirs.std))
    if abs(difference) <= 2 * spread + rounding:
        is_wide = spread > WIDE * abs(theirs.mean)
        return f"{AGREES} (wide spread)" if is_wide else AGREES
    return BETTER if (difference > 0) == larger_is_better else WORSE


def _constant_ones(
    ours: Measured, theirs: Measured | None, constant: float, rounding: float
) -> list[str]:
    """Return which of the numbers the constant predictor has, too."""
    # A pass that comes to say always the same differs from the best constant by its
    # first rows.
    first_rows = max(2 * rounding, constant / 1000)
    found = []
    if abs(ours.mean - constant) <= first_rows + 1e-9:
        found.append("ours")
    if theirs is not None and abs(theirs.mean - constant) <= rounding + 1e-9:
        found.append("theirs")
    return found

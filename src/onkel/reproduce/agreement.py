"""Agreement: what our number says about a published one.

Two means are compared by the error of the mean, not by the spread of runs: twenty runs
that scatter by a point know their mean to a quarter of one.
"""

import math
from typing import NamedTuple

from scipy.stats import t as student

from onkel.reproduce.summary import Measured

AGREES, BETTER, WORSE = "agrees", "better", "worse"
LEVEL = 0.01  # of Welch's t-test
WIDE = 0.05  # margin, as a share of the published number, with which little is said
CONSTANT, DIFFER, NOT_RUN = "constant predictor", "data differ", "not run"
OURS_ONLY = "no published number"
FIRST_ROWS = 0.001  # share of its error by which a pass misses the best constant


class Agreement(NamedTuple):
    """A verdict, and the difference behind it."""

    verdict: str
    difference: float  # ours less theirs
    margin: float  # to both sides: 99 % interval, and the rounding of theirs

    def shown(self, digits: int) -> str:
        """Return the difference with its interval."""
        return f"{self.difference:+.{digits}f} ± {self.margin:.{digits}f}"


def agreement(
    ours: Measured,
    theirs: Measured,
    *,
    constant: float,
    same_data: bool,
    digits: int,
    larger_is_better: bool,
) -> Agreement:
    """Compare two numbers.

    Parameters
    ----------
    ours, theirs
        Mean, standard deviation and number of runs: 1 where no deviation is known.
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
        "agrees" if 0 is in the interval of the difference, with a warning where that is
        wide, else "better" or "worse"; of two single runs only rounding is known.
        "constant predictor" comes first, if ours or theirs equals it but for rounding,
        then "data differ".

    Examples
    --------
    >>> from onkel.reproduce.agreement import agreement
    >>> from onkel.reproduce.summary import Measured
    >>> known = dict(constant=30.0, same_data=True, digits=1, larger_is_better=False)
    >>> agreement(Measured(20.0, 0.2, 5), Measured(20.3, 0.2, 5), **known).verdict
    'agrees'
    >>> agreement(Measured(20.0, 0.2, 20), Measured(20.5, 0.2, 20), **known).verdict
    'better'
    """
    rounding = 10.0**-digits / 2
    difference = ours.mean - theirs.mean
    margin = half_interval(ours, theirs) + rounding
    known_rows = theirs if same_data else None
    constant_ones = _constant_ones(ours, known_rows, constant, rounding)
    if constant_ones:
        verdict = f"{CONSTANT} ({' and '.join(constant_ones)})"
    elif not same_data:
        verdict = DIFFER
    elif abs(difference) <= margin + 1e-9:
        is_wide = margin > WIDE * abs(theirs.mean)
        verdict = f"{AGREES} (wide interval)" if is_wide else AGREES
    else:
        verdict = BETTER if (difference > 0) == larger_is_better else WORSE
        if ours.runs == theirs.runs == 1:
            verdict += " (single run)"
    return Agreement(verdict, difference, margin)


def half_interval(ours: Measured, theirs: Measured) -> float:
    """Return half of the 99 % interval of the difference of two means, as Welch has it.

    Without a published deviation only ours counts; a single run of ours is taken to
    scatter as theirs do.

    Examples
    --------
    >>> from onkel.reproduce.summary import Measured
    >>> round(half_interval(Measured(1.0, 0.3, 20), Measured(1.0, 0.4, 20)), 3)
    0.304
    """
    if ours.runs == 1 and theirs.runs > 1:
        variance = theirs.std**2 * (1 + 1 / theirs.runs)
        return _student(theirs.runs - 1) * math.sqrt(variance)
    known = [one for one in (ours, theirs) if one.runs > 1]
    errors = [one.std**2 / one.runs for one in known]
    if sum(errors) == 0:
        return 0.0
    shares = (e * e / (one.runs - 1) for e, one in zip(errors, known, strict=True))
    return _student(sum(errors) ** 2 / sum(shares)) * math.sqrt(sum(errors))


def _student(freedom: float) -> float:
    return float(student.ppf(1 - LEVEL / 2, freedom))


def is_constant(error: float, constant: float) -> bool:
    """Whether a metric is that of the best constant, but for the first rows of a pass.

    Examples
    --------
    >>> is_constant(9.5742, 9.5736), is_constant(9.2, 9.5736)
    (True, False)
    """
    return abs(error - constant) <= FIRST_ROWS * constant


def _constant_ones(
    ours: Measured, theirs: Measured | None, constant: float, rounding: float
) -> list[str]:
    """Return which of the numbers the constant predictor has, too."""
    found = []
    near = abs(ours.mean - constant) <= 2 * rounding + 1e-9
    if near or is_constant(ours.mean, constant):
        found.append("ours")
    if theirs is not None and abs(theirs.mean - constant) <= rounding + 1e-9:
        found.append("theirs")
    return found

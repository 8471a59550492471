"""Powers: how a measurement follows what is varied."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

LEVEL = 0.01  # of what is left outside of an interval
ROUNDING = 1e-9  # of a fitted power: the same numbers need not give the same last bit


class Power(NamedTuple):
    """An exponent, and its standard error over runs."""

    mean: float
    error: float
    runs: int = 1

    def is_at_most(self, claimed: float) -> bool:
        """Whether the 99 % interval reaches down to a claimed power, or is below.

        Examples
        --------
        >>> from onkel.reproduce.powers import Power
        >>> Power(-0.9, 0.05, 5).is_at_most(-1), Power(-0.9, 0.01, 5).is_at_most(-1)
        (True, False)
        """
        margin = 0.0
        if self.runs > 1:
            margin = self.error * float(student.ppf(1 - LEVEL / 2, self.runs - 1))
        return self.mean - margin <= claimed + ROUNDING

    def shown(self) -> str:
        """Return both with two decimals."""
        return f"{self.mean:.2f} ± {self.error:.2f}"


def power_of(x: Sequence[float], runs: Sequence[Sequence[float]]) -> Power:
    """Return the power of x that runs follow: the slope of their logarithms.

    Parameters
    ----------
    x
        What is varied.
    runs
        Measurements, a list for each seed.

    Examples
    --------
    >>> from onkel.reproduce.powers import power_of
    >>> power_of([1.0, 2.0, 4.0], [[3.0, 6.0, 12.0]]).shown()
    '1.00 ± 0.00'
    """
    logs = np.log(np.array(x, dtype=float))
    slopes = [float(np.polyfit(logs, np.log(run), 1)[0]) for run in runs]
    spread = float(np.std(slopes, ddof=1)) if len(slopes) > 1 else 0.0
    error = spread / float(np.sqrt(len(slopes)))
    return Power(float(np.mean(slopes)), error, len(slopes))

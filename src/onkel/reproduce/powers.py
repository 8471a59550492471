"""Powers: how a measurement follows what is varied."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Power(NamedTuple):
    """An exponent, and its standard error over runs."""

    mean: float
    error: float

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
    return Power(float(np.mean(slopes)), spread / np.sqrt(len(slopes)))

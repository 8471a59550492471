"""Runs summed up: their mean and spread, and the unrest of curves."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LATE = 10  # epochs at the end of a curve, over which its unrest is measured


class Measured(NamedTuple):
    """A mean, and the spread over orders: 0 where only one is known."""

    mean: float
    std: float
    runs: int = 1

    def shown(self, digits: int, is_single: bool = False) -> str:
        """Return both with so many decimals, the mean alone of a single order."""
        mean = f"{self.mean:.{digits}f}"
        return mean if is_single else f"{mean} ± {self.std:.{digits}f}"


def measured(values: Sequence[float]) -> Measured:
    """Return mean and standard deviation of some runs.

    Examples
    --------
    >>> from onkel.reproduce.summary import measured
    >>> measured([1.0, 3.0]).mean
    2.0
    """
    numbers = np.array(values, dtype=float)
    std = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
    return Measured(float(numbers.mean()), std, len(numbers))


def unrest(curves: np.ndarray) -> np.ndarray:
    """Return the spread of each run, a row, over its late epochs."""
    return curves[:, -LATE:].std(axis=1, ddof=1)

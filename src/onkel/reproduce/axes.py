"""Axes: places on a logarithmic one, and its numbers."""

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

POINTS, FIRST = 200, 200  # of a curve; rows before which a mean says little


def points(rows: int, count: int = POINTS) -> np.ndarray:
    """Return numbers of rows, evenly on a logarithmic axis.

    Examples
    --------
    >>> from onkel.reproduce.axes import points
    >>> points(20_000, count=3).tolist()
    [200, 2000, 20000]
    """
    few = np.geomspace(min(FIRST, rows), rows, count)
    return np.unique(few.round().astype(int))


def plain_numbers(axis: Any) -> None:
    """Write numbers without exponents on a logarithmic axis."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())

"""Axes: places on a logarithmic one, and its numbers."""

from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

DECADE = 10.0
DIGITS = 12  # of a number on an axis, at most: a million has no exponent
# Numbers of a decade that are written, by how many decades there are at most.
LABELLED = {1.5: (1.0, 2.0, 5.0), 3.0: (1.0, 3.0), np.inf: (1.0,)}
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


def wide(panel: Any, which: str) -> None:
    """Make an axis logarithmic if what is drawn needs it, with as many numbers as fit.

    Parameters
    ----------
    panel
        With all that is to be drawn.
    which
        "x" or "y".
    """
    low, high = np.sort(getattr(panel.dataLim, f"interval{which}"))
    axis = getattr(panel, f"{which}axis")
    if 0 < DECADE * low < high:
        getattr(panel, f"set_{which}scale")("log")
        decades = np.log10(high / low)
        fits = next(subs for most, subs in LABELLED.items() if decades <= most)
        axis.set_major_locator(LogLocator(subs=fits))
        plain_numbers(axis)


def plain_numbers(axis: Any) -> None:
    """Write numbers without exponents on a logarithmic axis."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.{DIGITS}g}"))
    axis.set_minor_formatter(NullFormatter())

"""Digits: numbers short enough to be stored by the thousand."""

from collections.abc import Iterable

KEPT = 6


def short(values: Iterable[float]) -> list[float]:
    """Return numbers with six significant digits.

    Examples
    --------
    >>> from onkel.reproduce.digits import short
    >>> short([0.123456789, 1234567.8])
    [0.123457, 1234570.0]
    """
    return [float(f"{value:.{KEPT}g}") for value in values]

"""Ranges: between which numbers an array or counter of a learner lies.

Compiled code checks no bounds, so what comes from a file is checked before (`storage`).
Whoever has arrays or counters says here, or with itself, in which ranges they lie.
"""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Counters beyond this would not be exact as floating-point numbers.
MOST = 2**53
SMALLEST, LARGEST = 5e-324, sys.float_info.max


class Sizes(NamedTuple):
    """Numbers of one learner that bound others."""

    outputs: int
    labels: int  # that a centre may have
    used: int = 0  # slots
    first: int = 0  # of them that belong to explicit features
    most: int = MOST  # slots that may be in use
    limit: int = MOST  # of the budget
    memory: int = 0  # rows that it remembers
    period: int = 1  # between its checkpoints
    room: int = 0  # for centres that left an average


Range = Callable[[Sizes], tuple[float, float]]


def WORK(sizes: Sizes) -> tuple[float, float]:  # noqa: N802, the one of its kind
    """Room to work in, and what follows from the rest: taken from an empty learner."""
    return -math.inf, math.inf


def finite(sizes: Sizes) -> tuple[float, float]:
    """Any number but infinity and NaN."""
    return -LARGEST, LARGEST


def positive(sizes: Sizes) -> tuple[float, float]:
    """Above 0."""
    return SMALLEST, LARGEST


def not_negative(sizes: Sizes) -> tuple[float, float]:
    """From 0 on."""
    return 0.0, LARGEST


def counter(sizes: Sizes) -> tuple[float, float]:
    """What can be counted."""
    return 0, MOST


def within(name: str, values: Any, least: float, most: float) -> None:
    """Refuse numbers that are not in a range, or not numbers at all.

    Examples
    --------
    >>> within("a slot", np.array([0, 7]), 0, 5)
    Traceback (most recent call last):
    ...
    ValueError: a slot is not within 0 and 5
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name} is no number")
    # As Python's numbers: a bound may be beyond single precision.
    if values.size and not (
        values.min().item() >= least and values.max().item() <= most
    ):
        raise ValueError(f"{name} is not within {least:g} and {most:g}")

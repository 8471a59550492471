"""Plan: what a gradient system needs to know, and its strategy of the model."""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import declaration
from onkel.compiled.functions import inner
from onkel.model.center_cache import Gram, Later, Nothing
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.problem.steps import Step


class Plan(NamedTuple):
    """What phase 2 needs to know besides the budget, which selects its code."""

    kernel: Kernel
    loss: Loss
    rate: Rate
    step: Step
    # Radius of the ball to project on, over that of the smallest which is known to hold
    # the minimiser; 0 for none.
    ball: float
    every_row: bool = False  # whether the budget sees rows without an update, too


# Kernel values in a cache line, in float32.
LINE = 16


@inner
def slots_for(size: int, rows: int, largest: int) -> int:
    """Slots that a block of rows may need, given the size before it.

    An odd number of cache lines: whole lines, so that vectors do not straddle them, and
    odd, so that a column of kernel values does not fall into a few sets of the cache.
    """
    lines = -(-min(size + rows, largest) // LINE)
    return (lines | 1) * LINE


def cache_of(budget: Any, ball: float) -> type:
    """Say what the model keeps of its centres, as a type of `onkel.model.center_cache`.

    The ball needs the Gram matrix where coefficients change: the norm does by f(c_j).
    """
    own = declaration(budget)
    cache = own.cache(budget)
    if ball and not own.only_grows and cache in (Nothing, Later):
        return Gram
    return cache


def table_of(budget: Any) -> np.ndarray:
    """Return the table that a strategy reads, which is not part of the model."""
    return declaration(getattr(budget, "maintenance", budget)).table()

"""Plan: the recipe of a system, as the compiled code reads it."""

import math
from typing import Any, NamedTuple

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.forget import Forget
from onkel.budget.grow import Grow
from onkel.budget.redundant import Redundant
from onkel.compiled import inner
from onkel.kernels import Kernel
from onkel.losses import Loss
from onkel.rates import Rate
from onkel.reads import Gram, Later, Nothing
from onkel.steps import Step


class Plan(NamedTuple):
    """What phase 2 needs to know besides the budget, which selects its code."""

    kernel: Kernel
    loss: Loss
    rate: Rate
    step: Step
    ball: bool  # project on the ball that is known to hold the minimiser


def largest_size(budget: Any) -> float:
    """Slots that a strategy may come to use, infinite where it may grow for ever."""
    if isinstance(budget, Grow):
        return math.inf
    if isinstance(budget, Bernoulli):
        # The newcomer has a slot of its own until maintenance is done.
        limit = budget.limit if math.isinf(budget.rate) else budget.hard_limit
        return limit + 1 if limit < UNLIMITED else math.inf
    return budget.limit + 1 if isinstance(budget, Redundant) else budget.limit


# A hard limit that no model reaches.
UNLIMITED = 2**62


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


def declared(budget: Any, ball: bool) -> type:
    """Say what the model keeps of its centres, as a type of `onkel.reads`.

    The ball needs the Gram matrix where centres leave: the norm changes by f(c_j).
    """
    if isinstance(budget, Redundant) or (ball and not isinstance(budget, Grow)):
        return Gram
    return Later if isinstance(budget, Forget) else Nothing

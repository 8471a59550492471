"""Plan: what a recipe needs, room and reads, and what does not combine."""

import math
from typing import Any

import numpy as np

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.cover import Cover
from onkel.budget.forget import Forget
from onkel.budget.grow import Grow
from onkel.budget.inherit import Inherit
from onkel.budget.project import Project
from onkel.budget.redundant import Redundant
from onkel.budget.represent import Represent
from onkel.budget.share import Share
from onkel.budget.spill import Spill
from onkel.compiled.functions import inner
from onkel.model.reads import Gram, Inverse, Later, Nearest, Nothing


def largest_size(budget: Any) -> float:
    """Slots that a strategy may come to use, infinite where it may grow for ever."""
    if isinstance(budget, Grow):
        return math.inf
    if isinstance(budget, Bernoulli):
        # The newcomer has a slot of its own until maintenance is done.
        limit = budget.limit if math.isinf(budget.rate) else budget.hard_limit
        return limit + 1 if limit < UNLIMITED else math.inf
    if isinstance(budget, Cover) and budget.beta > 0.0:
        return math.inf  # centres that are kept do not count
    limit = budget.limit + 1 if isinstance(budget, NEWCOMER_FIRST) else budget.limit
    return limit if limit < UNLIMITED else math.inf


# Strategies that let the newcomer in before they choose who leaves.
NEWCOMER_FIRST = (Redundant, Inherit, Spill)
# Strategies that work with the inverse Gram matrix.
INVERSE = (Represent, Inherit)

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
    """Say what the model keeps of its centres, as a type of `onkel.model.reads`.

    The ball needs the Gram matrix where centres leave: the norm changes by f(c_j).
    """
    if isinstance(budget, INVERSE) or isinstance(_maintenance(budget), Project):
        return Inverse
    if isinstance(budget, Share):
        return Nearest
    if isinstance(budget, Redundant) or (ball and not isinstance(budget, Grow)):
        return Gram
    return Later if isinstance(budget, Forget) else Nothing


def looked_up(budget: Any) -> np.ndarray:
    """Return the table that a strategy reads, which is not part of the model."""
    strategy = _maintenance(budget)
    if hasattr(strategy, "tabulated"):
        return strategy.tabulated()
    return np.zeros((0, 0), np.float32)


def _maintenance(budget: Any) -> Any:
    return getattr(budget, "maintenance", None)

"""Plan: what a strategy needs of a model, its room and its cache."""

from typing import Any

import numpy as np

from onkel.budget.declaration import declaration
from onkel.compiled.functions import inner
from onkel.model.center_cache import Gram, Later, Nothing

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
    """Say what the model keeps of its centres, as a type of `onkel.model.center_cache`.

    The ball needs the Gram matrix where coefficients change: the norm does by f(c_j).
    """
    own = declaration(budget)
    cache = own.cache(budget)
    if ball and not own.only_grows and cache in (Nothing, Later):
        return Gram
    return cache


def looked_up(budget: Any) -> np.ndarray:
    """Return the table that a strategy reads, which is not part of the model."""
    return declaration(getattr(budget, "maintenance", budget)).table()

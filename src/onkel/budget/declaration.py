"""What a strategy declares of itself; who asks need not know which there are."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from onkel.model.center_cache import Nothing
from onkel.model.ranges import Range

C = TypeVar("C", bound=type)

# A limit that no model reaches.
UNLIMITED = 2**62
NO_TABLE = np.zeros((0, 0), np.float32)


class Declaration(NamedTuple):
    """What the library asks a strategy for; see `strategy`."""

    cache: Callable[[Any], type]
    slots: Callable[[Any], float]
    newcomer: int
    only_grows: bool
    looks_ahead: bool
    table: Callable[[], np.ndarray]
    ranges: Mapping[str, Range]


DECLARED: dict[type, Declaration] = {}


def strategy(
    *,
    cache: type | Callable[[Any], type] = Nothing,
    slots: Callable[[Any], float] = lambda own: own.limit,
    newcomer: bool = False,
    only_grows: bool = False,
    looks_ahead: bool = False,
    table: Callable[[], np.ndarray] = lambda: NO_TABLE,
    ranges: Mapping[str, Range] | None = None,
) -> Callable[[C], C]:
    """Decorate the NamedTuple of a strategy with what it needs.

    Parameters
    ----------
    cache
        What the model keeps of its centres for it: a type of
        `onkel.model.center_cache`, or a function of the strategy that returns one.
    slots
        Most centres that it keeps, infinity where it may grow for ever.
    newcomer
        Whether the newcomer has a slot of its own before somebody leaves.
    only_grows
        Whether centres never leave, and their coefficients never change.
    looks_ahead
        Whether rows are projected before their turn (`onkel.model.rows_ahead`), on an
        Inverse. If a centre ever leaves it, the strategy's own walk has to say so.
    table
        What it looks up while it works and is not part of the model.
    ranges
        In which ranges its arrays and counters lie, by their names.

    Examples
    --------
    >>> @strategy(newcomer=True)
    ... class Patient(NamedTuple):
    ...     limit: int
    >>> largest_size(Patient(limit=10))
    11
    """

    def declare(cls: C) -> C:
        of_each = (lambda own: cache) if isinstance(cache, type) else cache
        DECLARED[cls] = Declaration(
            *(of_each, slots, int(newcomer), only_grows, looks_ahead),
            *(table, ranges or {}),
        )
        return cls

    return declare


def declaration(own: Any) -> Declaration:
    """Return what a strategy has declared."""
    if type(own) not in DECLARED:
        raise TypeError(
            f"{type(own).__name__} is no strategy: decorate it with @strategy"
        )
    return DECLARED[type(own)]


def largest_size(budget: Any) -> float:
    """Slots that a strategy may come to use, infinite where it may grow for ever."""
    declared = declaration(budget)
    limit = declared.slots(budget)
    return limit + declared.newcomer if limit < UNLIMITED else math.inf

"""Spill the smallest centres into the features (DualSGD).

An insertion beyond the limit moves a portion of the centres, those with the smallest
coefficients, the oldest on ties, the newcomer perhaps among them: each feature takes
over coefficient times the feature's value at the centre. Nothing is lost but what the
features cannot express.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb, resized
from onkel.compiled.draws import Draws
from onkel.features.dispatch import width
from onkel.model.expansion import (
    column,
    drop,
    first_smallest,
    insert,
    transfer_to_features,
)
from onkel.model.ranges import finite
from onkel.model.state import Block, Model, Update


@strategy(newcomer=True, ranges={"features": finite})
class Spill(NamedTuple):
    """A hard budget; `make` is the constructor."""

    limit: int
    portion: int  # centres that move at a time
    features: Any  # shape (capacity, features): of the centres, in the order of slots


@resized.register
def _resized(budget: Spill, model: Model) -> Spill:
    wide = width(model.mapping)
    shape = len(model.diag) - wide, wide
    features = np.zeros(shape, model.coef.dtype)
    features[: len(budget.features), : budget.features.shape[1]] = budget.features
    return budget._replace(features=features)


def make(limit: int, portion: int) -> Spill:
    """Make the strategy, without centres.

    Examples
    --------
    >>> make(limit=10, portion=2).portion
    2
    """
    return Spill(limit, portion, np.zeros((0, 0)))


@absorb.register(Spill)
def _absorb(
    budget: Spill, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters, start = model.counters[0], width(model.mapping)
    size = counters.count - start
    insert(model, block, t, update)
    budget.features[size] = column(model, block, t)[:start]
    size += 1
    if size <= budget.limit:
        return
    cost = block.scratch[:size]
    coef = model.coef[:, start:]
    for j in range(size):
        cost[j] = coef[0, j] * coef[0, j]
    for o in range(1, len(coef)):
        for j in range(size):
            cost[j] += coef[o, j] * coef[o, j]
    for _ in range(budget.portion):
        j = first_smallest(cost[:size], model.birth[start : start + size])
        transfer_to_features(model, start + j, budget.features[j])
        drop(model, block, t, start + j)
        size -= 1
        cost[j] = cost[size]
        budget.features[j] = budget.features[size]
    counters.maintenance += 1

"""Remove the centre that stays most correct without itself (Budget Perceptron).

The victim is argmax_j y_j (f(c_j) - a_j k_jj); with several outputs, the largest
Crammer-Singer margin of f without the centre's own share. The newcomer competes too.
"""

from typing import NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.model.center_cache import REFRESH, Gram, refresh
from onkel.model.expansion import drop, insert
from onkel.model.state import Block, Model, Update


@strategy(cache=Gram, newcomer=True)
class Redundant(NamedTuple):
    """A hard budget; declares the Gram matrix."""

    limit: int


@inner
def _margin_without_itself(model: Model, j: int) -> float:
    kjj = model.diag[j]
    if model.coef.shape[0] == 1:
        f = model.cache.scores[0, j] - model.coef[0, j] * kjj
        return f if model.coef[0, j] > 0 else -f
    own = model.label[j]
    best = -np.inf
    for o in range(model.coef.shape[0]):
        if o != own:
            best = max(best, model.cache.scores[o, j] - model.coef[o, j] * kjj)
    return model.cache.scores[own, j] - model.coef[own, j] * kjj - best


@absorb.register(Redundant)
def _absorb(
    budget: Redundant, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    insert(model, block, t, update)
    counters = model.counters[0]
    if counters.count <= budget.limit:
        return
    victim, largest = 0, -np.inf
    for j in range(counters.count):
        margin = _margin_without_itself(model, j)
        ties = margin == largest and model.birth[j] < model.birth[victim]
        if margin > largest or ties:
            victim, largest = j, margin
    drop(model, block, t, victim)
    counters.maintenance += 1
    if counters.maintenance % REFRESH == 0:
        refresh(model.cache, model.coef, counters.count, 0.0)

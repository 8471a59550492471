"""Let the newcomer and the victim's nearest neighbour stand in for it (BPA-NN).

For an old centre r with nearest neighbour n (the newcomer t is not one), d solves

    [[k_tt, k_tn], [k_tn, k_nn]] d = [k_tr, k_nr],

r = argmin a_r^2 (k_rr - <d, [k_tr, k_nr]>) leaves, t takes over a_r d_1 and n a_r d_2.
Where t and n are nearly the same point, t alone stands in, as in BPA-S.
"""

from typing import NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.model.center_cache import Nearest
from onkel.model.expansion import add, insert, replace
from onkel.model.state import Block, Model, Update

# k_tt k_nn - k_tn^2 below this share of k_tt k_nn: the two are one point.
SAME = 1e-6


@strategy(cache=Nearest)
class ProjectPair(NamedTuple):
    """A hard budget; declares nearest neighbours."""

    limit: int


class Parts(NamedTuple):
    """Of a victim: the newcomer's part, its neighbour's, and the squared norm lost."""

    own: float
    other: float
    residual: float


@inner
def parts(model: Model, block: Block, t: int, r: int) -> Parts:
    """Project centre r on the newcomer and on its nearest neighbour."""
    k_tt, k_tr = np.float64(block.diag[t]), np.float64(block.kernel[t, r])
    k_rr = np.float64(model.diag[r])
    n = model.cache.nearest[r]
    if n >= 0:
        k_tn, k_nn = np.float64(block.kernel[t, n]), np.float64(model.diag[n])
        k_nr = np.float64(model.cache.values[r, n])
        determinant = k_tt * k_nn - k_tn * k_tn
        if determinant > SAME * k_tt * k_nn:
            own = (k_nn * k_tr - k_tn * k_nr) / determinant
            other = (k_tt * k_nr - k_tn * k_tr) / determinant
            return Parts(own, other, max(k_rr - own * k_tr - other * k_nr, 0.0))
    alone = k_tr / k_tt if k_tt > 0.0 else 0.0
    return Parts(alone, 0.0, max(k_rr - alone * k_tr, 0.0))


@absorb.register(ProjectPair)
def _absorb(
    budget: ProjectPair,
    model: Model,
    block: Block,
    t: int,
    update: Update,
    draws: Draws,
) -> None:
    counters = model.counters[0]
    outputs = model.coef.shape[0]
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    victim, least = 0, np.inf
    for r in range(counters.count):
        squared = 0.0
        for o in range(outputs):
            squared += np.float64(model.coef[o, r]) * np.float64(model.coef[o, r])
        cost = squared * parts(model, block, t, r).residual
        older = model.birth[r] < model.birth[victim]
        if cost < least or (cost == least and older):
            victim, least = r, cost
    chosen = parts(model, block, t, victim)
    n = model.cache.nearest[victim]
    carried = block.scratch
    for o in range(outputs):
        carried[o] = model.coef[o, victim]
    replace(model, block, t, victim, update)
    for o in range(outputs):
        add(model, o, victim, carried[o] * chosen.own)
        if n >= 0:
            add(model, o, n, carried[o] * chosen.other)
    counters.maintenance += 1

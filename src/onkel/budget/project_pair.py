"""Let the newcomer and the victim's nearest neighbour stand in for it (BPA-NN).

For an old centre r with nearest neighbour n (the newcomer t is not one), d solves

    [[k_tt, k_tn], [k_tn, k_nn]] d = [k_tr, k_nr],

r = argmin a_r^2 (k_rr - <d, [k_tr, k_nr]>) leaves, t takes over a_r d_1 and n a_r d_2.
Where t and n are nearly the same point, t alone stands in, as in BPA-S.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inlined, inner, never_inlined
from onkel.model.center_cache import Nearest
from onkel.model.expansion import (
    add,
    insert,
    oldest_smallest,
    replace,
    squared_norms,
)
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


@inlined
def _parts(
    k_tt: float, k_tr: float, k_rr: float, k_tn: float, k_nn: float, k_nr: float
) -> Parts:
    """Project centre r on the newcomer t and on n, without a branch."""
    determinant = k_tt * k_nn - k_tn * k_tn
    two = determinant > SAME * k_tt * k_nn
    below = determinant if two else (k_tt if k_tt > 0.0 else 1.0)
    own = (k_nn * k_tr - k_tn * k_nr if two else k_tr) / below
    other = (k_tt * k_nr - k_tn * k_tr) / below if two else 0.0
    return Parts(own, other, max(k_rr - own * k_tr - other * k_nr, 0.0))


@inner
def parts(model: Model, block: Block, t: int, r: int) -> Parts:
    """Project centre r on the newcomer and on its nearest neighbour."""
    k_tt, k_tr = np.float64(block.diag[t]), np.float64(block.kernel[t, r])
    k_rr, n = np.float64(model.diag[r]), model.cache.nearest[r]
    if n < 0:
        return _parts(k_tt, k_tr, k_rr, 0.0, 0.0, 0.0)
    k_tn, k_nn = np.float64(block.kernel[t, n]), np.float64(model.diag[n])
    k_nr = np.float64(model.cache.values[r, n])
    return _parts(k_tt, k_tr, k_rr, k_tn, k_nn, k_nr)


@inner
def _best_victim(model: Model, block: Block, t: int) -> int:
    cost = block.scratch
    squared_norms(model, cost)
    if model.counters[0].count > 1:  # else there is no neighbour
        _find_costs(model, block.kernel[t], block.diag[t], cost)
    return oldest_smallest(model, cost)


# A function of its own, without a branch, so that it runs on vectors.
@never_inlined
def _find_costs(model: Model, known: Any, kxx: Any, cost: Any) -> None:
    """Multiply squared norms of coefficients by what projecting leaves of a centre."""
    cache, diag, k_tt = model.cache, model.diag, np.float64(kxx)
    for r in range(model.counters[0].count):
        n = np.uint64(cache.nearest[r])  # which spares the question whether it counts
        k_tr, k_rr = np.float64(known[r]), np.float64(diag[r])
        k_tn, k_nn = np.float64(known[n]), np.float64(diag[n])
        k_nr = np.float64(cache.values[np.uint64(r), n])
        cost[r] *= _parts(k_tt, k_tr, k_rr, k_tn, k_nn, k_nr).residual


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
    victim = _best_victim(model, block, t)
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

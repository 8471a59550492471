"""Shrink everything a little, then forget the oldest (Forgetron).

The damage of forgetting centre r from f' (which includes the newcomer) after a
shrinkage phi is psi = (sig phi)^2 + 2 sig phi (1 - phi mu), with sig = |a_r| and
mu = y_r f'(x_r). phi is the largest number in (0, 1] that keeps the running sum
Q of the damages at or below (15/32) M after M mistakes: the root of
A phi^2 + B phi + C = 0 written so that it neither cancels nor exceeds 1.

Before a mistake Q <= (15/32) (M - 1), so that C <= -15/32 and there is a root. Where
kernel values are huge, rounding may push Q beyond: then C is the least it can be.

No Gram matrix is needed for f'(x_r). Centres leave in the order in which they came, so
all others were inserted after r, and the scores "of what came later" are complete.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb, refuse_nonsense
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.model.center_cache import Later
from onkel.model.expansion import insert, replace, rescale
from onkel.model.ranges import counter, finite
from onkel.model.state import Block, Model, Update

# Damage that a mistake allows for, and what rounding of a sane sum leaves of it.
ALLOWANCE, LEAST = 15.0 / 32.0, 0.4

COUNTERS = np.dtype(
    [("damage", np.float64), ("mistakes", np.int64), ("oldest", np.int64)], align=True
)


@strategy(
    cache=Later,
    ranges={
        "counters.damage": finite,
        "counters.mistakes": counter,
        "counters.oldest": lambda s: (0, max(s.used - 1, 0)),
    },
)
class Forget(NamedTuple):
    """A hard budget, first in first out; `make` is the constructor."""

    limit: int
    unsigned: bool  # regression: mu = |f'(x_r)|
    counters: Any  # shape (1,), of COUNTERS


def make(limit: int, unsigned: bool) -> Forget:
    """Make the strategy with counters at 0.

    Examples
    --------
    >>> make(10, unsigned=False).limit
    10
    """
    return Forget(limit, unsigned, np.zeros(1, COUNTERS).view(np.recarray))


@refuse_nonsense.register
def _refuse_nonsense(budget: Forget, model: Model) -> None:
    if model.counters[0].count < budget.limit and budget.counters[0].oldest:
        raise ValueError("Forget.counters.oldest is not the oldest")


@inner
def shrinkage(sig: float, mu: float, damage: float, mistakes: int) -> float:
    """Return the largest phi in (0, 1] with damage + psi(phi) <= (15/32) mistakes.

    Examples
    --------
    >>> round(shrinkage(1.0, 0.5, 0.0, 1), 6)
    0.234375
    """
    a = sig * sig - 2.0 * sig * mu
    b = 2.0 * sig
    c = damage - ALLOWANCE * mistakes
    if c > -LEAST:
        c = -ALLOWANCE
    if a + b + c <= 0.0:
        return 1.0
    # a + b + c > 0 > c, so that what is below the root is positive up to rounding.
    root = math.sqrt(max(b * b - 4.0 * a * c, 0.0))
    if root == math.inf:
        root = 2.0 * math.sqrt(a) * math.sqrt(-c)
    return -2.0 * c / (b + root)


@absorb.register(Forget)
def _absorb(
    budget: Forget, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    counters = model.counters[0]
    own = budget.counters[0]
    own.mistakes += 1
    if counters.count < budget.limit:
        insert(model, block, t, update)
        return
    r = own.oldest
    output = model.label[r] if model.coef.shape[0] > 1 else 0
    q = model.coef[output, r]
    later = 0.0
    if output == update.up:
        later = update.weight
    elif output == update.down:
        later = -update.weight
    f = counters.factor * (model.cache.scores[output, r] + later * block.kernel[t, r])
    sig = abs(counters.factor * q)
    mu = abs(f) if budget.unsigned else math.copysign(1.0, q) * f
    phi = shrinkage(sig, mu, own.damage, own.mistakes)
    own.damage += (sig * phi) ** 2 + 2.0 * sig * phi * (1.0 - phi * mu)
    replace(model, block, t, r, update)
    rescale(model, phi)
    own.oldest = (r + 1) % budget.limit
    counters.maintenance += 1

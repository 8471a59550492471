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
from onkel.budget.dispatch import absorbs
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner
from onkel.model.expansion import LookAhead, Model, Update, insert, replace, rescale
from onkel.model.ranges import counter, finite
from onkel.model.reads import Later

# Damage that a mistake allows for, and what rounding of a sane sum leaves of it.
ALLOWANCE, LEAST = 15.0 / 32.0, 0.4

LEDGER = np.dtype(
    [("damage", np.float64), ("mistakes", np.int64), ("oldest", np.int64)], align=True
)


@strategy(
    reads=Later,
    ranges={
        "ledger.damage": finite,
        "ledger.mistakes": counter,
        "ledger.oldest": lambda s: (0, max(s.used - 1, 0)),
    },
)
class Forget(NamedTuple):
    """A hard budget, first in first out; `make` is the constructor."""

    limit: int
    unsigned: bool  # regression: mu = |f'(x_r)|
    ledger: Any  # shape (1,), of LEDGER


def make(limit: int, unsigned: bool) -> Forget:
    """Make the strategy with an empty ledger.

    Examples
    --------
    >>> make(10, unsigned=False).limit
    10
    """
    return Forget(limit, unsigned, np.zeros(1, LEDGER).view(np.recarray))


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


@absorbs(Forget)
def _absorb(
    budget: Forget, model: Model, ahead: LookAhead, t: int, update: Update, draws: Draws
) -> None:
    head = model.head[0]
    ledger = budget.ledger[0]
    ledger.mistakes += 1
    if head.count < budget.limit:
        insert(model, ahead, t, update)
        return
    r = ledger.oldest
    output = model.label[r] if model.coef.shape[0] > 1 else 0
    q = model.coef[output, r]
    later = 0.0
    if output == update.up:
        later = update.weight
    elif output == update.down:
        later = -update.weight
    f = head.factor * (model.reads.scores[output, r] + later * ahead.kernel[t, r])
    sig = abs(head.factor * q)
    mu = abs(f) if budget.unsigned else math.copysign(1.0, q) * f
    phi = shrinkage(sig, mu, ledger.damage, ledger.mistakes)
    ledger.damage += (sig * phi) ** 2 + 2.0 * sig * phi * (1.0 - phi * mu)
    replace(model, ahead, t, r, update)
    rescale(model, phi)
    ledger.oldest = (r + 1) % budget.limit
    head.maintenance += 1

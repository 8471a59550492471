"""Rate: which step size at row t.

A model is kept as scale * coef with scale = factor * base(t), so that shrinking all
coefficients costs nothing. A step of size eta with shrinkage alpha,

    w <- (1 - alpha eta) w - eta g phi(x),

multiplies `factor` by decay(t) and adds a coefficient of -gain(t) g / factor. For the
Pegasos rate 1/(alpha (t + t0)) both the shrinkage and the step are in the closed form
of `base`: decay and gain are 1, nothing is accumulated, and coefficients of equal
slope stay equal to the last bit, which the oldest-first rule for ties needs.
"""

from enum import IntEnum
from typing import NamedTuple

from onkel.compiled.functions import inner


class Kind(IntEnum):
    """The rates."""

    PEGASOS = 0
    CONSTANT = 1
    INVSCALING = 2


class Rate(NamedTuple):
    """A rate and its parameters; the functions below make one."""

    kind: int
    alpha: float
    eta0: float
    t0: float
    power_t: float


def pegasos(alpha: float, t0: float = 0.0) -> Rate:
    """Make the rate 1/(alpha (t + t0)).

    Examples
    --------
    >>> base(pegasos(alpha=0.5), 4)
    0.5
    """
    return Rate(int(Kind.PEGASOS), float(alpha), 0.0, float(t0), 0.0)


def constant(eta0: float = 1.0, alpha: float = 0.0) -> Rate:
    """Make the rate eta0."""
    return Rate(int(Kind.CONSTANT), float(alpha), float(eta0), 0.0, 0.0)


def invscaling(eta0: float, alpha: float, power_t: float) -> Rate:
    """Make the rate eta0 / t^power_t."""
    return Rate(int(Kind.INVSCALING), float(alpha), float(eta0), 0.0, float(power_t))


@inner
def base(rate: Rate, t: int) -> float:
    """Part of the scale that has a closed form."""
    if rate.kind == Kind.PEGASOS:
        shifted = t + rate.t0
        # Before the first row the model is empty, and its scale of no consequence; but
        # an average adds it up, so that it must not dwarf the scales of later rows.
        return 1.0 / (rate.alpha * shifted) if shifted >= 1.0 else 0.0
    return 1.0


@inner
def gain(rate: Rate, t: int) -> float:
    """Step size at row t, in units of `base`."""
    if rate.kind == Kind.PEGASOS:
        return 1.0
    if rate.kind == Kind.INVSCALING:
        return rate.eta0 / t**rate.power_t
    return rate.eta0


@inner
def decay(rate: Rate, t: int) -> float:
    """Factor on all coefficients at row t, in units of `base`."""
    if rate.kind == Kind.PEGASOS:
        return 1.0
    return 1.0 - rate.alpha * gain(rate, t)

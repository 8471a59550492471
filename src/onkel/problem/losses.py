"""Loss: how bad is score f for target y.

Margin losses read y in {-1, +1} through m = y f; residual losses read r = f - y. The
slope is dl/df. The constants are with respect to the score.
"""

import math
from enum import IntEnum
from typing import Any, NamedTuple

from onkel.compiled.functions import inner


class Kind(IntEnum):
    """The losses."""

    HINGE = 0
    SMOOTH_HINGE = 1
    SQUARED_HINGE = 2
    LOG_LOSS = 3
    PERCEPTRON = 4
    SQUARED_ERROR = 5
    ABSOLUTE_ERROR = 6
    EPSILON_INSENSITIVE = 7
    SMOOTH_TUBE = 8


MARGIN = ("hinge", "smooth_hinge", "squared_hinge", "log_loss")
RESIDUAL = ("squared_error", "absolute_error", "epsilon_insensitive")
# A slope without jumps, which variance reduction needs.
SMOOTH_MARGIN = ("smooth_hinge", "squared_hinge", "log_loss")
SMOOTH_RESIDUAL = ("squared_error",)
# Bounded slope, which the analysis (and the clip) of BOGD needs.
LIPSCHITZ = (
    "hinge",
    "smooth_hinge",
    "log_loss",
    "absolute_error",
    "epsilon_insensitive",
)

# Narrowest bend that takes the place of a kink.
BEND = 0.01


class Loss(NamedTuple):
    """A loss and its parameters; `make` is the constructor."""

    kind: int
    epsilon: float  # half-width of the tube of epsilon_insensitive
    smoothing: float  # width of the quadratic part of smooth_hinge and smooth_tube
    margin: float  # perceptron: a row with y f <= margin is a mistake


def make(
    name: str, epsilon: float = 0.1, smoothing: float = 0.5, margin: float = 0.0
) -> Loss:
    """Make the loss of that name.

    Examples
    --------
    >>> slope(make("hinge"), 0.25, 1.0), value(make("hinge"), 0.25, 1.0)
    (-1.0, 0.75)
    """
    return Loss(
        int(Kind[name.upper()]), float(epsilon), float(smoothing), float(margin)
    )


@inner
def slope(loss: Loss, f: float, y: float) -> float:
    """Derivative of the loss with respect to the score."""
    m = y * f
    r = f - y
    if loss.kind == Kind.HINGE:
        return -y if m < 1.0 else 0.0
    if loss.kind == Kind.SMOOTH_HINGE:
        if m >= 1.0:
            return 0.0
        return -y if m < 1.0 - loss.smoothing else -y * (1.0 - m) / loss.smoothing
    if loss.kind == Kind.SQUARED_HINGE:
        return -y * max(0.0, 1.0 - m)
    if loss.kind == Kind.LOG_LOSS:
        if m > 0.0:
            e = math.exp(-m)
            return -y * e / (1.0 + e)
        return -y / (1.0 + math.exp(m))
    if loss.kind == Kind.PERCEPTRON:
        return -y if m <= loss.margin else 0.0
    if loss.kind == Kind.SQUARED_ERROR:
        return r
    if loss.kind == Kind.EPSILON_INSENSITIVE and abs(r) <= loss.epsilon:
        return 0.0
    if loss.kind == Kind.SMOOTH_TUBE:
        beyond = min(max(abs(r) - loss.epsilon, 0.0) / loss.smoothing, 1.0)
        return beyond if r > 0.0 else -beyond
    return 1.0 if r > 0.0 else (-1.0 if r < 0.0 else 0.0)


@inner
def value(loss: Loss, f: float, y: float) -> float:
    """Value of the loss."""
    m = y * f
    r = f - y
    if loss.kind == Kind.HINGE:
        return max(0.0, 1.0 - m)
    if loss.kind == Kind.SMOOTH_HINGE:
        if m > 1.0:
            return 0.0
        if m < 1.0 - loss.smoothing:
            return 1.0 - m - loss.smoothing / 2.0
        return (1.0 - m) ** 2 / (2.0 * loss.smoothing)
    if loss.kind == Kind.SQUARED_HINGE:
        return max(0.0, 1.0 - m) ** 2 / 2.0
    if loss.kind == Kind.LOG_LOSS:
        # log(1 + exp(-m)) without forming exp of a large number
        return max(0.0, -m) + math.log1p(math.exp(-abs(m)))
    if loss.kind == Kind.PERCEPTRON:
        return max(0.0, loss.margin - m)
    if loss.kind == Kind.SQUARED_ERROR:
        return r * r / 2.0
    if loss.kind == Kind.ABSOLUTE_ERROR:
        return abs(r)
    beyond = max(0.0, abs(r) - loss.epsilon)
    if loss.kind == Kind.SMOOTH_TUBE:
        if beyond > loss.smoothing:
            return beyond - loss.smoothing / 2.0
        return beyond * beyond / (2.0 * loss.smoothing)
    return beyond


@inner
def curvature(loss: Loss, f: float, y: float) -> float:
    """Second derivative of the loss with respect to the score, 0 at a kink."""
    m = y * f
    if loss.kind == Kind.SMOOTH_HINGE:
        return 1.0 / loss.smoothing if 1.0 - loss.smoothing <= m < 1.0 else 0.0
    if loss.kind == Kind.SQUARED_HINGE:
        return 1.0 if m < 1.0 else 0.0
    if loss.kind == Kind.LOG_LOSS:
        e = math.exp(-abs(m))
        return e / ((1.0 + e) * (1.0 + e))
    if loss.kind == Kind.SQUARED_ERROR:
        return 1.0
    if loss.kind == Kind.SMOOTH_TUBE:
        beyond = abs(f - y) - loss.epsilon
        return 1.0 / loss.smoothing if 0.0 < beyond <= loss.smoothing else 0.0
    return 0.0


@inner
def radius(loss: Loss, alpha: float, largest: float) -> float:
    """Bound on the norm of the minimiser of alpha/2 |w|^2 + mean loss.

    `largest` is the largest |y|. From P(w*) <= P(0); for the squared error the
    optimality condition gives alpha |w*|^2 = mean f (y - f) <= largest^2 / 4, which is
    tighter than the papers' bound.
    """
    if loss.kind == Kind.SQUARED_ERROR:
        return largest / (2.0 * math.sqrt(alpha))
    if loss.kind == Kind.ABSOLUTE_ERROR or loss.kind == Kind.EPSILON_INSENSITIVE:
        return math.sqrt(2.0 * largest / alpha)
    if loss.kind == Kind.LOG_LOSS:
        return math.sqrt(2.0 * math.log(2.0) / alpha)
    return 1.0 / math.sqrt(alpha)


def smoothed(loss: Loss) -> Loss:
    """Return the loss, or if its slope jumps one like it whose slope does not.

    Examples
    --------
    >>> Kind(smoothed(make("hinge")).kind).name
    'SQUARED_HINGE'
    """
    if loss.kind == Kind.HINGE:
        return make("squared_hinge")
    if loss.kind in (Kind.ABSOLUTE_ERROR, Kind.EPSILON_INSENSITIVE):
        epsilon = loss.epsilon if loss.kind == Kind.EPSILON_INSENSITIVE else 0.0
        return make("smooth_tube", epsilon, smoothing=max(epsilon, BEND))
    return loss


def lipschitz(loss: Loss) -> float:
    """Return the largest |slope|, infinite for the squared losses."""
    squared: Any = (Kind.SQUARED_HINGE, Kind.SQUARED_ERROR)
    return math.inf if loss.kind in squared else 1.0


def smoothness(loss: Loss) -> float:
    """Return the largest second derivative, infinite where the slope jumps.

    Examples
    --------
    >>> smoothness(make("log_loss")), smoothness(make("smooth_hinge", smoothing=0.5))
    (0.25, 2.0)
    """
    constants = {
        Kind.SMOOTH_HINGE: 1.0 / loss.smoothing,
        Kind.SQUARED_HINGE: 1.0,
        Kind.LOG_LOSS: 0.25,
        Kind.SQUARED_ERROR: 1.0,
        Kind.SMOOTH_TUBE: 1.0 / loss.smoothing,
    }
    return constants.get(Kind(loss.kind), math.inf)

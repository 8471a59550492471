"""Ascent: the best step along one variable of the dual.

The dual of 1/2 |w|^2 + sum_i C_i l(f(x_i), y_i) has one variable a_i per row, and
w = sum_i y_i a_i phi(x_i) for margin losses, sum_i a_i phi(x_i) for residual ones:

| loss                        | the dual's part for row i             | range of a_i |
|-----------------------------|---------------------------------------|--------------|
| hinge                       | a - a y f / 2                         | [0, C]       |
| squared_hinge, C/2 xi^2     | a - a^2 / (2 C) - a y f / 2           | [0, inf)     |
| epsilon_insensitive         | a y - epsilon abs(a) - a f / 2        | [-C, C]      |
| squared_error, C/2 r^2      | a y - a^2 / (2 C) - a f / 2           | all          |

With all other variables fixed the dual is a parabola in a_i, with curvature
k_ii (+ 1/C), and its best point in the range is known.
"""

import math

from onkel.compiled.functions import inner
from onkel.problem.losses import Kind, Loss

# Losses that have such a step.
MARGIN = ("hinge", "squared_hinge")
RESIDUAL = ("epsilon_insensitive", "squared_error")


@inner
def best(loss: Loss, f: float, y: float, a: float, kxx: float, C: float) -> float:
    """Return the best value of a row's dual variable a, given its score f.

    Examples
    --------
    >>> from onkel.problem import losses
    >>> best(losses.make("hinge"), f=0.25, y=1.0, a=0.0, kxx=1.0, C=10.0)
    0.75
    """
    if loss.kind == Kind.HINGE:
        slope = 1.0 - y * f
        if kxx <= 0.0:
            return C if slope > 0.0 else 0.0
        return min(max(a + slope / kxx, 0.0), C)
    if loss.kind == Kind.SQUARED_HINGE:
        return max(a + (1.0 - y * f - a / C) / (kxx + 1.0 / C), 0.0)
    rest = y - f + kxx * a
    if loss.kind == Kind.SQUARED_ERROR:
        return rest / (kxx + 1.0 / C)
    beyond = math.copysign(max(abs(rest) - loss.epsilon, 0.0), rest)
    if kxx <= 0.0:
        return math.copysign(C, beyond) if beyond != 0.0 else 0.0
    return min(max(beyond / kxx, -C), C)


@inner
def moved(loss: Loss, y: float, step: float) -> float:
    """Return by how much a step of the dual variable moves the coefficient."""
    if loss.kind == Kind.HINGE or loss.kind == Kind.SQUARED_HINGE:
        return y * step
    return step


@inner
def gain(
    loss: Loss, f: float, y: float, old: float, new: float, kxx: float, C: float
) -> float:
    """Return by how much the dual rises when a row's variable goes from old to new."""
    step = new - old
    if loss.kind == Kind.HINGE:
        return step * (1.0 - y * f) - 0.5 * kxx * step * step
    if loss.kind == Kind.SQUARED_HINGE:
        return step * (1.0 - y * f - old / C) - 0.5 * (kxx + 1.0 / C) * step * step
    if loss.kind == Kind.SQUARED_ERROR:
        return step * (y - f - old / C) - 0.5 * (kxx + 1.0 / C) * step * step
    tube = loss.epsilon * (abs(new) - abs(old))
    return step * (y - f) - 0.5 * kxx * step * step - tube


@inner
def share(loss: Loss, f: float, y: float, a: float, C: float) -> float:
    """Return a row's part of the dual objective; see the table above."""
    if loss.kind == Kind.HINGE:
        return a - 0.5 * a * y * f
    if loss.kind == Kind.SQUARED_HINGE:
        return a - 0.5 * a * a / C - 0.5 * a * y * f
    if loss.kind == Kind.SQUARED_ERROR:
        return a * y - 0.5 * a * a / C - 0.5 * a * f
    return a * y - loss.epsilon * abs(a) - 0.5 * a * f

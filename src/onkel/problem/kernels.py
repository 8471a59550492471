"""Kernel: how alike are two points.

A block of kernel values is made in two steps. Phase 1 first fills it with products:
the dot products <x, c>, or for the laplacian kernel the distances |x - c|_1, for which
no matrix product exists. `transform` then turns one row of products into values.

The norm that a kernel keeps of each point is |x|^2, for laplacian |x|_1.
"""

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.exponential import exp_nonpositive
from onkel.compiled.functions import inner, never_inlined


class Kind(IntEnum):
    """The kernels."""

    RBF = 0
    LAPLACIAN = 1
    POLY = 2
    LINEAR = 3


KERNELS = {kind.name.lower(): kind for kind in Kind}


LARGEST_GAMMA = 1e38


class Kernel(NamedTuple):
    """A kernel and its parameters; `make` is the constructor."""

    kind: int
    gamma: float
    degree: int
    coef0: float


def make(name: str, gamma: float, degree: int, coef0: float) -> Kernel:
    """Make the kernel of that name.

    Examples
    --------
    >>> make("rbf", gamma=0.5, degree=3, coef0=1.0).gamma
    0.5
    """
    return Kernel(int(KERNELS[name]), float(gamma), int(degree), float(coef0))


@inner
def _power(base: Any, degree: int) -> Any:
    value = base
    for _ in range(degree - 1):
        value = value * base
    return value


@inner
def diagonal(kernel: Kernel, norm: Any) -> Any:
    """k(x, x), given the norm of x."""
    if kernel.kind == Kind.POLY:
        return _power(kernel.gamma * norm + kernel.coef0, kernel.degree)
    if kernel.kind == Kind.LINEAR:
        return norm * 1.0
    return norm * 0.0 + 1.0


@never_inlined
def transform(
    kernel: Kernel,
    values: Any,  # shape (points,): products in, kernel values out
    norm: Any,
    norms: Any,  # shape (points,)
) -> None:
    """Turn the products of one point with others into kernel values, in place."""
    dtype = values.dtype
    # Beyond this it would be infinite in single precision, and infinity times 0 NaN.
    gamma = dtype.type(min(kernel.gamma, LARGEST_GAMMA))
    zero = dtype.type(0)
    if kernel.kind == Kind.RBF:
        for j in range(len(values)):
            # The clamp: rounding can make the distance of near duplicates negative.
            squared = max(norm + norms[j] - dtype.type(2) * values[j], zero)
            values[j] = exp_nonpositive(-gamma * squared)
    elif kernel.kind == Kind.LAPLACIAN:
        for j in range(len(values)):
            values[j] = exp_nonpositive(-gamma * max(values[j], zero))
    elif kernel.kind == Kind.POLY:
        coef0 = dtype.type(kernel.coef0)
        for j in range(len(values)):
            values[j] = _power(gamma * values[j] + coef0, kernel.degree)


@never_inlined
def finish(kernel: Kernel, values: Any) -> None:
    """Turn distances or products in double precision into kernel values, in place."""
    if kernel.kind <= Kind.LAPLACIAN:
        for j in range(len(values)):
            values[j] = exp_nonpositive(-kernel.gamma * values[j])
    elif kernel.kind == Kind.POLY:
        for j in range(len(values)):
            values[j] = _power(kernel.gamma * values[j] + kernel.coef0, kernel.degree)


@inner
def between(kernel: Kernel, x: Any, z: Any) -> float:
    """k(x, z) of two points, in double precision and without cancellation."""
    total = 0.0
    if kernel.kind == Kind.RBF:
        for k in range(len(x)):
            difference = np.float64(x[k]) - np.float64(z[k])
            total += difference * difference
        return math.exp(-kernel.gamma * total)
    if kernel.kind == Kind.LAPLACIAN:
        for k in range(len(x)):
            total += abs(np.float64(x[k]) - np.float64(z[k]))
        return math.exp(-kernel.gamma * total)
    for k in range(len(x)):
        total += np.float64(x[k]) * np.float64(z[k])
    if kernel.kind == Kind.POLY:
        return _power(kernel.gamma * total + kernel.coef0, kernel.degree)
    return total

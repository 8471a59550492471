"""Expansions: steps of a formula for sums over centres and explicit features."""

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

from onkel.engine.evaluation import kernel_values, norms_of
from onkel.engine.fitted_expansion import FittedExpansion, expansion_of
from onkel.engine.mapper import Mapper
from onkel.export.formula import (
    Expansion,
    Itself,
    Laplacian,
    Polynomial,
    Radial,
    Step,
    Steps,
    Waves,
)
from onkel.features.absent import Absent
from onkel.features.dispatch import width
from onkel.features.fourier import Fourier
from onkel.features.identity import Identity
from onkel.features.nystrom import Nystrom
from onkel.model.rows import beside, rows_of
from onkel.problem.kernels import LARGEST_GAMMA, Kernel, Kind

# Centres that are asked how much rounding takes.
SOME = 100
# What is summed up for each kernel.
VALUES: dict[int, Callable[[Kernel, np.ndarray], Step]] = {
    Kind.RBF: lambda kernel, points: Radial(_gamma(kernel), points),
    Kind.LAPLACIAN: lambda kernel, points: Laplacian(_gamma(kernel), points),
    Kind.POLY: lambda kernel, points: Polynomial(
        kernel.gamma, kernel.degree, kernel.coef0, points
    ),
    Kind.LINEAR: lambda kernel, points: Itself(),
}


def _gamma(kernel: Kernel) -> float:
    return min(kernel.gamma, LARGEST_GAMMA)


def expansion(fitted: FittedExpansion) -> Expansion:
    """Return a fitted expansion as a step.

    Examples
    --------
    >>> from onkel.problem import kernels
    >>> kernel = kernels.make("rbf", 0.5, 1, 0.0)
    >>> step = expansion(expansion_of(kernel, np.eye(2), np.ones((1, 2))))
    >>> step.values[0].gamma
    0.5
    """
    kernel, mapping = fitted.kernel, fitted.mapping
    points = np.ascontiguousarray(fitted.points).astype(np.float64)
    coef, count = fitted.coef.astype(np.float64), int(width(mapping))
    values, weights = list(features(mapping, kernel, points)), [coef[:, :count]]
    rounding = 0.0
    if fitted.size:
        kind, centers = kernel.kind, points[count : coef.shape[1]]
        if kind not in VALUES:
            raise ValueError(f"the kernel of the kind {kind} cannot be exported")
        values.append(VALUES[kind](kernel, centers))
        # Sums over centres of a linear kernel are sums over features.
        is_linear = kind == Kind.LINEAR
        weights.append(coef[:, count:] @ centers if is_linear else coef[:, count:])
        if not is_linear:
            rounding = rounding_of(kernel, centers, coef[:, count:])
    if not values:  # nothing was learnt yet
        values.append(Itself())
        weights.append(np.zeros((len(coef), points.shape[1])))
    return Expansion(tuple(values), np.concatenate(weights, axis=1), rounding)


def rounding_of(kernel: Kernel, centers: np.ndarray, coef: np.ndarray) -> float:
    """Return what single precision takes of sums over centres, over the largest sum.

    It is tried, at some of the centres: there is no better guess at rows to come. A
    bound would be ten to fifty times too large, or tell nothing of the order of terms.
    """
    tried = centers[:: math.ceil(len(centers) / SOME)]
    values = np.empty((len(tried), len(centers)))
    rows, norms = rows_of(tried, np.float64), norms_of(kernel, centers)
    kernel_values(kernel, rows, beside(rows, centers), norms, values)
    exact, known = values @ coef.T, values.astype(np.float32)
    largest = float(np.abs(exact).max())
    if largest == 0.0:
        return 0.0
    lost = 0.0
    for sums, weights in zip(exact.T, coef.astype(np.float32), strict=True):
        # One term after the other, as programs add them up.
        single = np.add.accumulate(known * weights, axis=1)[:, -1]
        lost = max(lost, float(np.abs(single - sums).max()))
    return lost / largest


def mapped(mapper: Mapper) -> Steps:
    """Return the steps of a feature map on its own."""
    return features(mapper.mapping, mapper.kernel, mapper.points.astype(np.float64))


@singledispatch
def features(mapping: Any, kernel: Kernel, points: np.ndarray) -> Steps:
    """Return the steps of explicit features; what they are made of comes first."""
    raise ValueError(
        f"features of the kind {type(mapping).__name__} cannot be exported"
    )


@features.register(Absent)
def _absent(mapping: Absent, kernel: Kernel, points: np.ndarray) -> Steps:
    return ()


@features.register(Identity)
def _identity(mapping: Identity, kernel: Kernel, points: np.ndarray) -> Steps:
    return (Itself(),)


@features.register(Fourier)
def _fourier(mapping: Fourier, kernel: Kernel, points: np.ndarray) -> Steps:
    return (Waves(points[: mapping.size // 2]),)


@features.register(Nystrom)
def _nystrom(mapping: Nystrom, kernel: Kernel, points: np.ndarray) -> Steps:
    landmarks = points[: len(mapping.matrix)]
    return (expansion(expansion_of(kernel, landmarks, mapping.matrix.T)),)

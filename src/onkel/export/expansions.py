"""Expansions: steps of a formula for sums over centres and explicit features."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np

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
from onkel.problem.kernels import LARGEST_GAMMA, Kernel, Kind

# Centres that are asked how much rounding takes.
SOME = 1000
# Share of a term that is lost: its coefficient, distance, gamma and exponential are all
# rounded, and then the sum is.
ROUNDED = 2.0 * float(np.finfo(np.float32).eps)
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
    >>> from onkel.engine.fitted_expansion import expansion_of
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
        rounding = 0.0 if is_linear else rounding_of(fitted)
    if not values:  # nothing was learnt yet
        values.append(Itself())
        weights.append(np.zeros((len(coef), points.shape[1])))
    return Expansion(tuple(values), np.concatenate(weights, axis=1), rounding)


def rounding_of(fitted: FittedExpansion) -> float:
    """Return what single precision may take of a score, as a share of the largest.

    By the scores at the centres: there is no better guess at rows to come.
    """
    rows = fitted.centers[:SOME]
    terms = fitted._replace(coef=np.abs(fitted.coef)).score(rows)
    largest, most = (
        float(np.abs(scores).max()) for scores in (fitted.score(rows), terms)
    )
    return ROUNDED * most / largest if largest > 0.0 else 0.0


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

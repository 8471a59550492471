"""Nystrom features: what landmarks can tell of a point.

With the Gram matrix of the landmarks K = V diag(lambda) V',

    z(x) = diag(lambda)^(-1/2) V' k_B(x),    k_B(x) = [k(b_1, x), ..., k(b_B, x)]',

for the largest `rank` eigenvalues. If those are all, z(b_i) z(b_j) = K_ij. Eigenvalues
below a share of the largest are rounding, and are cut.

A model of weights w on these features is an expansion over the landmarks, with the
coefficients V diag(lambda)^(-1/2) w; and one with the coefficients a over the landmarks
has the weights diag(lambda)^(1/2) V' a, if no eigenvalue is cut.

The landmarks are kept in the first slots' points.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from onkel.features.dispatch import express, room, width
from onkel.model.rows import Centers, compare, copy
from onkel.problem.kernels import Kernel, Kind, transform

# Share of the largest eigenvalue below which one is rounding, and the largest share
# that is ever cut.
SMALLEST_SHARE, LARGEST_SHARE = 1e-10, 0.5
# Error of a kernel value in units of its precision, and by how much eigenvalues have to
# exceed what such errors are magnified to: |z(x)|^2 must stay near k(x, x).
ULPS, MARGIN = 4.0, 100.0


class Nystrom(NamedTuple):
    """The map; `factor` finds the matrix."""

    matrix: Any  # shape (landmarks, rank): V diag(lambda)^(-1/2)


class Factor(NamedTuple):
    """Two maps between coefficients over the landmarks and weights of features."""

    matrix: np.ndarray  # shape (landmarks, rank): from weights to coefficients
    transfer: np.ndarray  # shape (rank, landmarks): from coefficients to weights


def noise_of(kernel: Kernel, norms: np.ndarray) -> float:
    """Error of the kernel values of points with these norms.

    That of the rbf kernel is about gamma |x|^2 units: the distance is a difference of
    squared norms.
    """
    noise = ULPS * float(np.finfo(norms.dtype).eps)
    if kernel.kind == Kind.RBF:
        noise *= max(kernel.gamma * float(norms.max()), 1.0)
    return noise


def share_of(noise: float, share: float) -> float:
    """Share of the largest eigenvalue below which one is rounding; at least `share`."""
    return min(max(share, MARGIN * noise * noise), LARGEST_SHARE)


def factor(gram: np.ndarray, rank: int, share: float = SMALLEST_SHARE) -> Factor:
    """Take the largest eigenvalues of a Gram matrix, at most `rank`.

    Examples
    --------
    >>> matrix, transfer = factor(np.array([[2.0, 1.0], [1.0, 2.0]]), rank=2)
    >>> np.round(transfer.T @ transfer, 12)
    array([[2., 1.],
           [1., 2.]])
    """
    last = len(gram) - 1
    top = [len(gram) - min(rank, len(gram)), last]
    values, vectors = scipy.linalg.eigh(gram, subset_by_index=top)
    kept = values > max(share * values[-1], 0.0)
    if not kept.any():  # landmarks that are all zero to the kernel
        return Factor(np.zeros((len(gram), 1)), np.zeros((1, len(gram))))
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    roots = np.sqrt(values)
    return Factor(
        np.ascontiguousarray(vectors / roots),
        np.ascontiguousarray((vectors * roots).T),
    )


@width.register(Nystrom)
def _width(features: Nystrom) -> int:
    return features.matrix.shape[1]


@room.register(Nystrom)
def _room(mapping: Nystrom, slots: int) -> int:
    return sum(mapping.matrix.shape)


@express.register(Nystrom)
def _express(
    features: Nystrom,
    kernel: Kernel,
    rows: Any,
    centers: Centers,
    own: Any,
    room: Any,
    out: Any,
) -> None:
    count = len(out)
    landmarks, rank = features.matrix.shape
    known = room[: count * landmarks].reshape(count, landmarks)
    compare(kernel, rows, centers.points, centers.norms, 0, known)
    for t in range(count):
        transform(kernel, known[t], own[t], centers.norms)
    mapped = room[count * landmarks : count * (landmarks + rank)].reshape(count, rank)
    np.dot(known, features.matrix, mapped)
    for t in range(count):
        copy(mapped[t], out[t])

"""Random Fourier features of a kernel that depends on x - z only (Bochner's theorem).

    z(x) = [cos(omega_1 x), ..., cos(omega_L x), sin(omega_1 x), ..., sin(omega_L x)]
           / sqrt(L),

|z(x)| = 1, and <z(x), z(x')> has the mean k(x - x') and a standard deviation of at most
1/sqrt(2 L), if the frequencies are drawn from the kernel's Fourier transform:

    rbf        exp(-gamma |x - x'|^2)     normal, standard deviation sqrt(2 gamma)
    laplacian  exp(-gamma |x - x'|_1)     Cauchy, scale gamma

Orthogonal frequencies (rbf) come in blocks of as many as there are input features: at
right angles within a block, each as long as a normal vector would be. Every one of them
has the same distribution as before, and together they vary less.

The frequencies are kept in the first slots' points.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.trigonometry import circle
from onkel.features.dispatch import express, room, width
from onkel.model.rows import Centers, compare
from onkel.problem import kernels
from onkel.problem.kernels import Kernel

# For the products of rows with frequencies, whatever the kernel is.
LINEAR = kernels.make("linear", 1.0, 1, 0.0)


class Fourier(NamedTuple):
    """Cosines and sines; `draw` finds frequencies."""

    size: int  # number of features: two a frequency


def draw(
    kernel: str,
    gamma: float,
    count: int,
    inputs: int,
    rng: np.random.Generator,
    orthogonal: bool = False,
) -> np.ndarray:
    """Draw frequencies for so many features, shape (count / 2, inputs).

    Examples
    --------
    >>> draw("rbf", 0.5, 6, 2, np.random.default_rng(0)).shape
    (3, 2)
    """
    shape = count // 2, inputs
    if kernel == "laplacian":
        with np.errstate(over="ignore"):  # the caller has to clip
            return gamma * rng.standard_cauchy(shape)
    spread = math.sqrt(2.0) * math.sqrt(gamma)  # 2 gamma might overflow
    if not orthogonal:
        return spread * rng.standard_normal(shape)
    blocks = math.ceil(shape[0] / inputs)
    directions = np.concatenate([_directions(inputs, rng) for _ in range(blocks)])
    lengths = np.sqrt(rng.chisquare(inputs, size=(len(directions), 1)))
    return spread * (lengths * directions)[: shape[0]]


def _directions(inputs: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows at right angles, uniformly."""
    q, r = np.linalg.qr(rng.standard_normal((inputs, inputs)))
    # Without the signs the result would depend on how the solver chooses them.
    return q * np.where(np.diag(r) < 0.0, -1.0, 1.0)


@width.register(Fourier)
def _width(features: Fourier) -> int:
    return features.size


@room.register(Fourier)
def _room(mapping: Fourier, slots: int) -> int:
    return slots


@express.register(Fourier)
def _express(
    features: Fourier,
    kernel: Kernel,
    rows: Any,
    centers: Centers,
    own: Any,
    room: Any,
    out: Any,
) -> None:
    count, half = len(out), features.size // 2
    angles = room[: count * half].reshape(count, half)
    compare(LINEAR, rows, centers.points, centers.norms, 0, angles)
    scale = out.dtype.type(1.0 / math.sqrt(half))
    for t in range(count):
        circle(angles[t], scale, out[t, :half], out[t, half : 2 * half])

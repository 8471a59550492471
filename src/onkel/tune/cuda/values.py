"""Values of a row for all slots: kernel values with the centres, or its features."""

import math
from typing import Any

import numpy as np
from numba import cuda

from onkel.problem.kernels import LARGEST_GAMMA, Kernel, Kind
from onkel.tune.cuda.model import Model, Setting


@cuda.jit(device=True)
def alike(kernel: Kernel, points: Any, j: int, x: Any) -> Any:
    """k(c_j, x), in single precision."""
    features = points.shape[0]
    compared = np.float32(0.0)
    if kernel.kind == Kind.RBF:
        for k in range(features):
            apart = x[k] - points[k, j]
            compared += apart * apart
    elif kernel.kind == Kind.LAPLACIAN:
        for k in range(features):
            compared += abs(x[k] - points[k, j])
    else:
        for k in range(features):
            compared += x[k] * points[k, j]
    gamma = np.float32(min(kernel.gamma, LARGEST_GAMMA))
    if kernel.kind <= Kind.LAPLACIAN:
        return np.float32(math.exp(-gamma * compared))
    if kernel.kind == Kind.LINEAR:
        return compared
    base = gamma * compared + np.float32(kernel.coef0)
    power = base
    for _ in range(kernel.degree - 1):
        power *= base
    return power


@cuda.jit(device=True)
def compare(setting: Setting, model: Model, count: int, x: Any) -> None:
    """Kernel values of the row x with all centres."""
    for j in range(cuda.threadIdx.x, count, cuda.blockDim.x):
        model.values[j] = alike(setting.kernel, model.points, j, x)


@cuda.jit(device=True)
def express(setting: Setting, model: Model, count: int, x: Any) -> None:
    """Fourier features of the row x."""
    half = count // 2
    scale = np.float32(1.0 / math.sqrt(half))
    for j in range(cuda.threadIdx.x, half, cuda.blockDim.x):
        angle = np.float32(0.0)
        for k in range(model.points.shape[0]):
            angle += x[k] * model.points[k, j]
        model.values[j] = scale * np.float32(math.cos(angle))
        model.values[half + j] = scale * np.float32(math.sin(angle))
    # The threads that have the slots of the sines are others.
    cuda.syncthreads()

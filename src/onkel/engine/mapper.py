"""Mapper: the features of many rows at once, for those who want them as they are."""

from typing import Any

import numpy as np

from onkel.compiled.functions import jit
from onkel.engine.evaluation import norms_of
from onkel.engine.fitted_expansion import TILE
from onkel.engine.threads import over_rows
from onkel.features.dispatch import express, room, width
from onkel.model.rows import (
    Centers,
    Rows,
    beside,
    measure,
    order_for,
    part,
)
from onkel.problem.kernels import Kernel


@jit
def _express(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    share: Any,  # (start, stop)
    centers: Centers,
    out: Any,  # shape (rows, features)
) -> None:
    start, stop = share
    own = np.empty(TILE, out.dtype)
    needed = np.empty(TILE * room(mapping, centers.size), out.dtype)
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        some, norms = part(rows, first, last), own[: last - first]
        measure(kernel, some, norms)
        express(mapping, kernel, some, centers, norms, needed, out[first:last])


class Mapper:
    """A feature map with its points, which are frequencies or landmarks.

    Parameters
    ----------
    mapping, kernel
        The map, and the kernel that it stands for.
    points
        Shape (points, inputs).
    """

    def __init__(self, mapping: Any, kernel: Kernel, points: np.ndarray) -> None:
        self.mapping, self.kernel, self.points = mapping, kernel, points
        self.norms = norms_of(kernel, points)

    def transform(self, X: Any, n_jobs: int = 1) -> np.ndarray:
        """Features of the rows, shape (rows, features of the map)."""
        wide = width(self.mapping)
        out = np.zeros((X.shape[0], wide), self.points.dtype)
        points = np.asarray(self.points, order=order_for(X))

        def task(rows: Rows, share: tuple[int, int], first: int) -> None:
            centers = Centers(beside(rows, points), self.norms, wide)
            _express(self.mapping, self.kernel, rows, share, centers, out[first:])

        over_rows(X, self.points.dtype, n_jobs, task)
        return out

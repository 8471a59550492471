"""Mapper: the features of many rows at once, for those who want them as they are."""

from contextlib import ExitStack
from typing import Any

import numpy as np

from onkel.compiled.functions import jit
from onkel.engine.evaluation import norms_of
from onkel.engine.learner import CHUNK, TILE
from onkel.engine.threads import Team, blas_in_one_thread
from onkel.features.dispatch import express, room, width
from onkel.model.rows import (
    Centers,
    Rows,
    beside,
    measure,
    order_for,
    part,
    rows_of,
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
        with blas_in_one_thread, ExitStack() as stack:
            team = stack.enter_context(Team(n_jobs)) if n_jobs > 1 else None
            for first in range(0, len(out), n_jobs * CHUNK):
                part = X[first : first + n_jobs * CHUNK]
                rows = rows_of(part, self.points.dtype)
                centers = Centers(beside(rows, points), self.norms, wide)

                def task(
                    share: tuple[int, int],
                    rows: Any = rows,
                    centers: Centers = centers,
                    first: int = first,
                ) -> None:
                    _express(
                        *(self.mapping, self.kernel, rows, share),
                        *(centers, out[first:]),
                    )

                if team is None:
                    task((0, part.shape[0]))
                else:
                    team.share(part.shape[0], task)
        return out

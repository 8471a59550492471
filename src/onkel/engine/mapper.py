"""Mapper: the features of many rows at once, for those who want them as they are."""

from contextlib import ExitStack
from typing import Any

import numpy as np

from onkel.compiled.functions import jit
from onkel.engine.learner import CHUNK, TILE, norms_of
from onkel.engine.threads import Team, blas_in_one_thread
from onkel.features.dispatch import express, width
from onkel.model.rows import Points, Rows, beside, measure, order_for, rows_of
from onkel.problem.kernels import Kernel


@jit
def _express(
    mapping: Any,
    kernel: Kernel,
    rows: Rows,
    share: Any,  # (start, stop)
    points: Points,
    norms: Any,
    places: int,  # of the room that a row needs
    out: Any,  # shape (rows, features)
) -> None:
    start, stop = share
    own = np.empty(TILE, out.dtype)
    room = np.empty(TILE * places, out.dtype)
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        measure(kernel, rows, first, last, own)
        mapped = out[first:last]
        express(mapping, kernel, rows, first, last, points, norms, own, room, mapped)


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
        places = len(points) + wide
        with blas_in_one_thread, ExitStack() as stack:
            team = stack.enter_context(Team(n_jobs)) if n_jobs > 1 else None
            for first in range(0, len(out), n_jobs * CHUNK):
                part = X[first : first + n_jobs * CHUNK]
                rows = rows_of(part, self.points.dtype)
                facing = beside(rows, points)

                def task(
                    share: tuple[int, int],
                    rows: Any = rows,
                    facing: Points = facing,
                    first: int = first,
                ) -> None:
                    _express(
                        *(self.mapping, self.kernel, rows, share),
                        *(facing, self.norms, places, out[first:]),
                    )

                if team is None:
                    task((0, part.shape[0]))
                else:
                    team.share(part.shape[0], task)
        return out

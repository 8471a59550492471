"""A fitted expansion: what only predicts, apart from what learns.

f(x) = sum_i coef[:, i] z_i(x) + sum_j coef[:, j] k(c_j, x)
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.engine import evaluation
from onkel.engine.threads import over_rows
from onkel.features.absent import Absent
from onkel.features.dispatch import width
from onkel.model.rows import Centers, Rows, beside, order_for
from onkel.problem.kernels import Kernel

# Rows scored at a time: enough for the matrix product, few enough for the cache.
TILE = 128


class FittedExpansion(NamedTuple):
    """Centres, perhaps explicit features before them, and their true coefficients."""

    kernel: Kernel
    mapping: Any  # one of onkel.features
    points: np.ndarray  # shape (slots or more, features): as those of a model
    norms: np.ndarray  # shape (slots or more,)
    coef: np.ndarray  # shape (outputs, slots)

    @property
    def size(self) -> int:
        """Number of centres."""
        return self.coef.shape[1] - int(width(self.mapping))

    @property
    def centers(self) -> np.ndarray:
        """Centres, shape (size, features)."""
        last = self.coef.shape[1]
        return np.ascontiguousarray(self.points)[last - self.size : last].copy()

    @property
    def center_coef(self) -> np.ndarray:
        """Coefficients of the centres, shape (outputs, size)."""
        return self.coef[:, self.coef.shape[1] - self.size :]

    @property
    def is_bounded(self) -> bool:
        """Whether scores are finite wherever kernel values are 1 or less."""
        with np.errstate(over="ignore", invalid="ignore"):
            largest = np.abs(self.coef).sum(axis=1, dtype=np.float64)
        return bool((largest < np.finfo(self.coef.dtype).max).all())

    def relabelled(self, matrix: np.ndarray) -> "FittedExpansion":
        """Map the outputs by a matrix (new x old)."""
        return self._replace(coef=np.asarray(matrix, self.coef.dtype) @ self.coef)

    def score(self, X: Any, n_jobs: int = 1) -> np.ndarray:
        """Scores of the rows, shape (rows, outputs)."""
        outputs, slots = self.coef.shape
        out = np.zeros((X.shape[0], outputs), self.coef.dtype)
        if slots == 0 or len(out) == 0:
            return out
        points = np.asarray(self.points, order=order_for(X))

        def task(rows: Rows, share: tuple[int, int], first: int) -> None:
            centers = Centers(beside(rows, points), self.norms, slots)
            evaluation.score(
                *(self.mapping, self.kernel, rows, share),
                *(centers, self.coef, TILE, out[first:]),
            )

        over_rows(X, self.coef.dtype, n_jobs, task)
        return out


def expansion_of(
    kernel: Kernel, points: np.ndarray, coef: np.ndarray
) -> FittedExpansion:
    """Return an expansion over centres, in whose precision it works."""
    points = np.ascontiguousarray(points)
    norms = evaluation.norms_of(kernel, points)
    return FittedExpansion(kernel, Absent(), points, norms, coef.astype(points.dtype))

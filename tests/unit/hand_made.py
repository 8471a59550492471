"""Models and look-aheads made by hand, for code that runs as plain Python."""

from typing import Any

import numpy as np

from onkel.budget import merge
from onkel.model import center_cache, rows_ahead
from onkel.model.expansion import fill_later_rows
from onkel.model.inverse import Inverse, repair
from onkel.model.rows import rows_of
from onkel.model.state import Block, Model, Update, allocate, facing, resized
from onkel.problem import kernels

GAMMA = 0.5


def rbf(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def poly(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return a kernel whose diagonal is not 1."""
    return (0.5 * A @ B.T + 1.0) ** 2


def linear(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return A @ B.T


# The same, as the engine knows them.
SIMILARITY = {
    rbf: kernels.make("rbf", GAMMA, 3, 1.0),
    poly: kernels.make("poly", 0.5, 2, 1.0),
    linear: kernels.make("linear", 1.0, 3, 1.0),
}


class Numbers:
    """A generator whose numbers are known; it has no more than those."""

    def __init__(self, *numbers: float) -> None:
        self.left = list(numbers)

    def random(self) -> float:
        return self.left.pop(0)


class Bench:
    """A model of some centres, a block of rows, and what should follow from them.

    Whatever the model keeps can be computed afresh from the features.
    """

    def __init__(
        self,
        coef: Any,  # shape (outputs, size), or (size,)
        rows: int = 4,
        *,
        kernel: Any = rbf,
        gram: bool = False,
        scores: bool = False,
        kind: type | None = None,
        capacity: int = 12,
        seed: int = 0,
        points: np.ndarray | None = None,
        block: np.ndarray | None = None,
    ) -> None:
        coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
        outputs, size = coef.shape
        rng = np.random.default_rng(seed)
        self.kernel = kernel
        self.points = rng.normal(size=(size, 2)) if points is None else points
        self.rows = rng.normal(size=(rows, 2)) if block is None else block
        if kind is None:
            kind = (
                center_cache.Gram
                if gram
                else center_cache.Later
                if scores
                else center_cache.Nothing
            )
        features = self.points.shape[1]
        model = allocate(outputs, capacity, features, np.float64, kind)
        self.model: Model = facing(model, rows_of(self.rows, np.float64))
        counters = self.model.counters[0]
        counters.count = counters.t = size
        self.model.coef[:, :size] = coef
        self.model.points.grid[:size] = self.points
        self.model.norms[:size] = (self.points**2).sum(axis=1)
        K = kernel(self.points, self.points)
        self.model.diag[:size] = np.diag(K)
        self.model.birth[:size] = np.arange(1, size + 1)
        self.model.label[:size] = coef.argmax(axis=0)
        if kind in (center_cache.Gram, center_cache.Nearest):
            self.model.cache.values[:size, :size] = K
            self.model.cache.scores[:, :size] = coef @ K
            counters.norm2 = np.einsum("oi,ij,oj", coef, K, coef)
        if kind is center_cache.Nearest:
            others = np.where(np.eye(size, dtype=bool), -np.inf, K)
            self.model.cache.nearest[:size] = others.argmax(axis=1)
            self.model.cache.since[:size] = np.arange(size)
            self.model.cache.clock[0] = size
        if kind is Inverse:
            self.model.cache.values[:size, :size] = K
            repair(self.model.cache, size)
        elif scores:
            # Without a Gram matrix a centre knows of itself and of what came later.
            self.model.cache.scores[:, :size] = coef @ np.tril(K)
        self.block = self._block(outputs, capacity)

    def _block(self, outputs: int, capacity: int) -> Block:
        count, size = len(self.rows), self.size
        kernel = np.full((count, capacity), np.nan)  # nobody may read what is not set
        kernel[:, :size] = self.kernel(self.rows, self.points)
        features = self.rows.shape[1]
        parts = {
            "similarity": SIMILARITY[self.kernel],
            "rows": rows_of(self.rows, np.float64),
            "norms": (self.rows**2).sum(axis=1),
            "diag": np.diag(self.kernel(self.rows, self.rows)).copy(),
            "kernel": kernel,
            "foreseen": np.zeros((0, outputs)),
            "ahead": rows_ahead.empty(outputs, capacity, features),
            "pending": np.full(1, -1),
            "point": np.zeros(features),
            "other": np.zeros(features),
            "later": np.zeros(count),
            "raw": np.zeros(outputs),
            "f": np.zeros(outputs),
            "scratch": np.zeros(max(capacity, outputs)),
            "second": np.zeros(capacity),
            "table": merge.table(),
        }
        return Block(**{name: parts[name] for name in Block._fields})

    @property
    def size(self) -> int:
        return int(self.model.counters[0].count)

    @property
    def coef(self) -> np.ndarray:
        """Raw coefficients in use."""
        return self.model.coef[:, : self.size].copy()

    @property
    def true_coef(self) -> np.ndarray:
        return self.model.counters[0].factor * self.coef

    @property
    def births(self) -> list[int]:
        return self.model.birth[: self.size].tolist()

    def gram(self) -> np.ndarray:
        """Gram matrix of the centres, from the features."""
        return self.kernel(self.located(), self.located())

    def squared_norm(self) -> float:
        """Squared norm of the raw model, from the features."""
        return float(np.einsum("oi,ij,oj", self.coef, self.gram(), self.coef))

    def arrive(self, t: int) -> None:
        """Do what the walk does for row t before it absorbs it."""
        self.model.counters[0].t += 1
        self.block.raw[:] = self.coef @ self.block.kernel[t, : self.size]

    def fill_later(self, t: int) -> None:
        """Do what the walk does for row t after it was absorbed."""
        fill_later_rows(self.model, self.block, t)

    def resize(self, capacity: int) -> None:
        """Give the model other room, as the learner does."""
        given = self.model._replace(points=self.model.points.grid)
        self.model = facing(resized(given, capacity), rows_of(self.rows, np.float64))

    def located(self) -> np.ndarray:
        """Features of the centres."""
        return self.model.points.grid[: self.size].copy()

    def f(self, x: np.ndarray) -> np.ndarray:
        """Scores of a point, from the features, shape (outputs,)."""
        return self.true_coef @ self.kernel(self.located(), x[None])[:, 0]


def update(weight: float, up: int = 0, down: int = -1) -> Update:
    return Update(up, down, weight)

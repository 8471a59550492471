"""Models and look-aheads made by hand, for code that runs as plain Python."""

from typing import Any

import numpy as np

from onkel import reads
from onkel.expansion import LookAhead, Model, Update, allocate

GAMMA = 0.5


def rbf(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def poly(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return a kernel whose diagonal is not 1."""
    return (0.5 * A @ B.T + 1.0) ** 2


def linear(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return A @ B.T


class Numbers:
    """A generator whose numbers are known; it has no more than those."""

    def __init__(self, *numbers: float) -> None:
        self.left = list(numbers)

    def random(self) -> float:
        return self.left.pop(0)


class Bench:
    """A model of some centres, a block of rows, and what should follow from them.

    The features, which the primitives never see, are here: whatever the model keeps
    can be computed afresh from them.
    """

    def __init__(
        self,
        coef: Any,  # shape (outputs, size), or (size,)
        rows: int = 4,
        *,
        kernel: Any = rbf,
        gram: bool = False,
        scores: bool = False,
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
        kind = reads.Gram if gram else reads.Later if scores else reads.Nothing
        self.model: Model = allocate(outputs, capacity, np.float64, kind)
        head = self.model.head[0]
        head.count = head.t = size
        self.model.coef[:, :size] = coef
        K = kernel(self.points, self.points)
        self.model.diag[:size] = np.diag(K)
        self.model.birth[:size] = np.arange(1, size + 1)
        self.model.label[:size] = coef.argmax(axis=0)
        if gram:
            self.model.reads.values[:size, :size] = K
            self.model.reads.scores[:, :size] = coef @ K
            head.norm2 = np.einsum("oi,ij,oj", coef, K, coef)
        elif scores:
            # Without a Gram matrix a centre knows of itself and of what came later.
            self.model.reads.scores[:, :size] = coef @ np.tril(K)
        self.ahead = self._look_ahead(outputs, capacity)

    def _look_ahead(self, outputs: int, capacity: int) -> LookAhead:
        count, size = len(self.rows), self.size
        kernel = np.full((count, capacity), np.nan)  # nobody may read what is not set
        kernel[:, :size] = self.kernel(self.rows, self.points)
        within = self.kernel(self.rows, self.rows)
        parts = {
            "kernel": kernel,
            "block": np.where(np.tri(count, dtype=bool), np.nan, within),
            "known": np.ones(count, bool),
            "diag": np.diag(within).copy(),
            "source": np.arange(capacity),
            "raw": np.zeros(outputs),
            "scratch": np.zeros(max(capacity, outputs)),
        }
        return LookAhead(**{name: parts[name] for name in LookAhead._fields})

    @property
    def size(self) -> int:
        return int(self.model.head[0].count)

    @property
    def coef(self) -> np.ndarray:
        """Raw coefficients in use."""
        return self.model.coef[:, : self.size].copy()

    @property
    def true_coef(self) -> np.ndarray:
        return self.model.head[0].factor * self.coef

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
        self.model.head[0].t += 1
        self.ahead.raw[:] = self.coef @ self.ahead.kernel[t, : self.size]

    def located(self) -> np.ndarray:
        """Features of the centres, found through `source` as phase 1 finds them."""
        source = self.ahead.source[: self.size]
        return np.array([self.rows[~s] if s < 0 else self.points[s] for s in source])

    def f(self, x: np.ndarray) -> np.ndarray:
        """Scores of a point, from the features, shape (outputs,)."""
        return self.true_coef @ self.kernel(self.located(), x[None])[:, 0]


def update(weight: float, up: int = 0, down: int = -1) -> Update:
    return Update(up, down, weight)

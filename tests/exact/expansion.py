"""The model of every system: f_j(x) = sum_i coef[i][j] k(centers[i], x).

Coefficients are the true ones. There is no scale and no cached score: each question is
answered from the features.

Each center also has a mass, its share in a mean of the iterates (averaging.py).
"""

import math
from functools import partial

import numpy as np

from tests.exact.kernels import gram


class Expansion:
    """A list of centers with one row of coefficients (outputs,) each, in slot order."""

    def __init__(
        self,
        n_features: int,
        n_classes: int | None,
        *,
        kernel: str,
        gamma: float,
        degree: float,
        coef0: float,
    ) -> None:
        self.n_features = n_features
        self.kernel, self.gamma = kernel, gamma
        self.outputs = 1 if n_classes is None or n_classes == 2 else n_classes
        self.gram = partial(
            gram, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0
        )
        self._known: dict[tuple[bytes, bytes], float] = {}
        self.centers: list[np.ndarray] = []
        self.coef: list[np.ndarray] = []
        self.mass: list[np.ndarray] = []  # rows like those of coef
        # Points and masses of the centers that left; None: they are not kept.
        self.retired: list[tuple[np.ndarray, np.ndarray]] | None = None

    def __len__(self) -> int:
        """Return the number of centers."""
        return len(self.centers)

    def k(self, x: np.ndarray, z: np.ndarray) -> float:
        """Return k(x, z), which strategies ask for again and again."""
        pair = x.tobytes(), z.tobytes()
        if pair not in self._known:
            self._known[pair] = float(self.gram(x[None], z[None])[0, 0])
        return self._known[pair]

    def score(self, x: np.ndarray) -> np.ndarray:
        """Return f(x), shape (outputs,)."""
        return weigh(self.coef, self.row(x), self.outputs)

    def score_without(self, slot: int) -> np.ndarray:
        """Return f(c) - a k(c, c) at the center c of the slot: what the others say."""
        others = [i for i in range(len(self)) if i != slot]
        row = self.row(self.centers[slot])[others]
        return weigh([self.coef[i] for i in others], row, self.outputs)

    def row(self, x: np.ndarray) -> np.ndarray:
        """Return k(centers, x), shape (size,)."""
        if not self.centers:
            return np.zeros(0)
        return self.gram(np.array(self.centers), x[None])[:, 0]

    def matrix(self) -> np.ndarray:
        """Return K = k(centers, centers), shape (size, size)."""
        centers = np.array(self.centers).reshape(-1, self.n_features)
        return self.gram(centers, centers)

    def squared_norm(self) -> float:
        """Return ||w||^2 = the sum over outputs of a^T K a."""
        if not self.centers:
            return 0.0
        K = self.matrix()
        a = np.array(self.coef)  # shape (size, outputs)
        return float(sum(a[:, j] @ K @ a[:, j] for j in range(self.outputs)))

    def multiply(self, factor: float) -> None:
        """Multiply every coefficient."""
        self.coef = [factor * row for row in self.coef]

    def append(self, x: np.ndarray, row: np.ndarray) -> None:
        """Add a center in a new last slot."""
        self.centers.append(np.array(x, dtype=np.float64))
        self.coef.append(np.array(row, dtype=np.float64))
        self.mass.append(np.zeros(self.outputs))

    def replace(self, slot: int, x: np.ndarray, row: np.ndarray) -> None:
        """Write a center over the one in the slot."""
        self.retire(slot)
        self.centers[slot] = np.array(x, dtype=np.float64)
        self.coef[slot] = np.array(row, dtype=np.float64)
        self.mass[slot] = np.zeros(self.outputs)

    def delete(self, slot: int) -> None:
        """Remove a center; the others keep their order."""
        self.retire(slot)
        del self.centers[slot]
        del self.coef[slot]
        del self.mass[slot]

    def retire(self, slot: int) -> None:
        """Move the slot's mass to the retired, if these are kept: none is left here."""
        if self.retired is None:
            return
        if np.any(self.mass[slot] != 0):
            self.retired.append((self.centers[slot], self.mass[slot]))
        self.mass[slot] = np.zeros(self.outputs)


def weigh(coef: list[np.ndarray], row: np.ndarray, outputs: int) -> np.ndarray:
    """Return sum_i coef[i] row[i], shape (outputs,)."""
    # fsum rounds once whatever the order, so equal sums are equal scores.
    return np.array(
        [
            math.fsum(a[j] * k for a, k in zip(coef, row, strict=True))
            for j in range(outputs)
        ]
    )

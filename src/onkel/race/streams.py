"""The streams that come with the race: one real that stays, one made that turns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from onkel.data import Batch

RINGS = 3
BUMPS = 6  # on each ring; even, so that labels alternate all the way round
RADIUS = 2.0
WIDTH = 0.3  # standard deviation of a bump
FEATURES = 10
# Distance of the classes along a direction of its own, so that a linear model is not
# quite blind.
HINT = 0.3


@dataclass(frozen=True)
class Stream:
    """Labelled rows in memory, as a data set (see `onkel.data`)."""

    name: str
    X: Any  # shape (rows, features)
    y: np.ndarray  # shape (rows,)
    is_regression: bool = False
    in_order: bool = False
    # how to race on it, as far as that is known
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def classes(self) -> np.ndarray | None:
        """Sorted labels; None for regression."""
        return None if self.is_regression else np.unique(self.y)

    @property
    def description(self) -> dict[str, Any]:
        """Where the rows are from."""
        return {"source": "comes with onkel"}

    def load(self) -> tuple[Any, np.ndarray]:
        """Return all rows."""
        return self.X, self.y

    def batches(self, rows: int = 65_536) -> Iterator[Batch]:
        """Return the rows in order, some at a time."""
        for first in range(0, self.n_rows, rows):
            some = slice(first, first + rows)
            yield Batch(self.X[some], self.y[some], first)


def digits() -> Stream:
    """Handwritten digits that come with scikit-learn, scaled to [0, 1].

    Examples
    --------
    >>> stream = digits()
    >>> stream.X.shape, len(stream.classes)
    ((1797, 64), 10)
    """
    pixels, labels = load_digits(return_X_y=True)
    return Stream(
        "digits",
        (pixels / 16).astype(np.float32),
        labels,
        settings={
            # scikit-learn's own example takes 0.001 for pixels up to 16
            "gamma": 0.001 * 16**2,
            # fewer than the mistakes of a perceptron, or no budget would be felt
            "budget": 100,
        },
    )


def turning_rings(
    rows: int = 30_000,
    seed: int = 0,
    rows_per_turn: float = 50_000,
    flipped: float = 0.05,
) -> Stream:
    """Three rings of bumps with alternating labels, which turn as the rows go by.

    Each ring lies in a plane of its own; the axes are hidden by a rotation of the
    ten features. Whenever the rings have turned by one bump, each place has changed
    its label, and whoever still believes the old rows is wrong there. With infinite
    `rows_per_turn` there is no drift; `flipped` is the share of wrong labels.

    Examples
    --------
    >>> stream = turning_rings(1000)
    >>> stream.X.shape, stream.y[:6].tolist()
    ((1000, 10), [1, 0, 0, 1, 0, 0])
    """
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))
    ring, bump = rng.integers(RINGS, size=rows), rng.integers(BUMPS, size=rows)
    angle = 2 * np.pi * (bump / BUMPS + np.arange(rows) / rows_per_turn)
    label = bump % 2
    X = rng.normal(scale=WIDTH, size=(rows, FEATURES))
    X[np.arange(rows), 2 * ring] += RADIUS * np.cos(angle)
    X[np.arange(rows), 2 * ring + 1] += RADIUS * np.sin(angle)
    X[:, -1] += HINT * (label - 0.5)
    return Stream(
        "turning rings",
        (X @ axes.T).astype(np.float32),
        np.where(rng.random(rows) < flipped, 1 - label, label),
        in_order=True,
        settings={
            # 1 over the expected squared distance of two rows of a bump
            "gamma": 1 / (2 * FEATURES * WIDTH**2),
            "budget": 500,
        },
    )


# What can be raced on without any file, by name.
EMBEDDED = {"digits": digits, "turning-rings": turning_rings}

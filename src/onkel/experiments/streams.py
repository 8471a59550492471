"""The streams of the race: one that is real and stays, one that is made and turns."""

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

RINGS = 3
BUMPS = 6  # on each ring; even, so that labels alternate all the way round
RADIUS = 2.0
WIDTH = 0.3  # standard deviation of a bump
FEATURES = 10
# Distance of the classes along a direction of its own, so that a linear model is not
# quite blind.
HINT = 0.3


class Stream(NamedTuple):
    """Labelled rows in the order in which they arrive, and how to race on them."""

    name: str
    X: np.ndarray  # shape (rows, features), float32
    y: np.ndarray  # shape (rows,)
    gamma: float  # kernel coefficient for all systems
    budget: int  # for the systems that have one
    window: int | None  # last rows that a curve averages over; None for all so far


def digits(seed: int = 0) -> Stream:
    """Handwritten digits that come with scikit-learn, shuffled, scaled to [0, 1].

    Examples
    --------
    >>> stream = digits()
    >>> stream.X.shape, len(np.unique(stream.y))
    ((1797, 64), 10)
    """
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(labels))
    return Stream(
        "digits",
        (pixels[order] / 16).astype(np.float32),
        labels[order],
        # scikit-learn's own example takes 0.001 for pixels up to 16
        gamma=0.001 * 16**2,
        # fewer than the mistakes of a perceptron, or no budget would be felt
        budget=100,
        window=None,
    )


def turning_rings(
    rows: int = 50_000,
    seed: int = 0,
    rows_per_turn: float = 50_000,
    flipped: float = 0.05,
) -> Stream:
    """Three rings of bumps with alternating labels, which turn as the rows go by.

    Each ring lies in a plane of its own; the axes are hidden by a rotation of the
    ten features. Whenever the rings have turned by one bump, each place has changed
    its label, and whoever still believes the old rows is wrong there.

    Parameters
    ----------
    rows
        Length of the stream.
    seed
        Of everything random.
    rows_per_turn
        How slowly the rings turn; infinity for no drift.
    flipped
        Share of the labels that are wrong.

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
        # 1 over the expected squared distance of two rows of a bump
        gamma=1 / (2 * FEATURES * WIDTH**2),
        budget=500,
        window=max(1, rows // 25),
    )

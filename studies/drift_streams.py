"""The streams of `studies.drift`: made here, and it is known when they change, and how.

Two of five features decide, together: a row is of the first class where they have the
same sign. So no feature tells anything by itself, and the other three tell nothing.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ROWS, CHANGE, FEATURES = 20_000, 10_000, 5
BUDGET, SEEDS = 200, 3
TURNING = 5000  # rows that a quarter of a turn takes
FLIPPED = 0.05  # share of labels that are wrong, where that does not change
MOST_FLIPPED = 0.25  # where it does, at the end


class Drifting(NamedTuple):
    """Rows, their labels, and what these would be without noise."""

    X: np.ndarray  # float32
    y: np.ndarray
    truth: np.ndarray


def _progress(rows: int) -> np.ndarray:
    """0 up to the change, then growing to 1 within so many rows."""
    return np.clip((np.arange(ROWS) - CHANGE) / rows, 0.0, 1.0)


def _labels(X: np.ndarray, turned: np.ndarray | float) -> np.ndarray:
    """Of rows, when the boundary has turned by some angles."""
    u = np.cos(turned) * X[:, 0] + np.sin(turned) * X[:, 1]
    v = np.cos(turned) * X[:, 1] - np.sin(turned) * X[:, 0]
    return (u * v > 0).astype(int)


def _rotation(X: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
    return _labels(X, np.pi / 2 * _progress(TURNING)), FLIPPED


def _swap(X: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
    swapped = np.arange(ROWS) >= CHANGE
    return np.where(swapped, 1 - _labels(X, 0.0), _labels(X, 0.0)), FLIPPED


def _noise(X: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
    return _labels(X, 0.0), MOST_FLIPPED * _progress(ROWS - CHANGE)


# Labels without noise, and the share of them that is flipped.
Change = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray | float]]
DRIFTS: dict[str, Change] = {
    "drift-rotation": _rotation,
    "drift-swap": _swap,
    "drift-noise": _noise,
}


def drifting(name: str, seed: int) -> Drifting:
    """Make a stream.

    Examples
    --------
    >>> stream = drifting("drift-noise", seed=0)
    >>> wrong = stream.y != stream.truth
    >>> int(wrong[:CHANGE].sum()), round(float(wrong[-2000:].mean()), 1)
    (0, 0.2)
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    truth, flipped = DRIFTS[name](X)
    return Drifting(X, np.where(rng.random(ROWS) < flipped, 1 - truth, truth), truth)

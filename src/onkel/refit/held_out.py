"""Which rows are held out, and what they say of a model."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onkel.engine.objective import differentiate
from onkel.problem.losses import Loss

# With fewer rows every row is held out once, in so many parts.
FEW, PARTS = 6000, 3
VERY_FEW, MORE_PARTS = 2000, 5
SHARE, MOST = 0.2, 10_000
# Weight of the loss beside the mistakes: it is smoother, and breaks their ties.
SMOOTH = 0.3
# Mistakes that it takes to see that there are fewer.
COUNTABLE = 30
# Rows of a class of which at least one should be recognised.
SOME = 5


def decided(scores: np.ndarray) -> np.ndarray:
    """Numbers of the classes that scores stand for.

    Examples
    --------
    >>> decided(np.array([[-0.5], [2.0]])), decided(np.array([[0.1, 0.3, 0.2]]))
    (array([0, 1]), array([1]))
    """
    if scores.shape[1] == 1:
        return (scores[:, 0] > 0.0).astype(int)
    return scores.argmax(axis=1)


class Targets(NamedTuple):
    """Targets, and how models of them are judged."""

    y: np.ndarray  # as compiled code reads them
    weight: np.ndarray
    outputs: int
    loss: Loss
    is_regression: bool
    # Weights of the rows without those of their classes; None where these are the same.
    plain: np.ndarray | None = None
    # Error of scores of all rows; None for mistakes, and squares.
    measure: Callable[["Targets", np.ndarray], float] | None = None

    @property
    def counted(self) -> np.ndarray:
        """Weights of the rows where they are counted, not learnt."""
        return self.weight if self.plain is None else self.plain

    def labels(self) -> np.ndarray:
        """Numbers of the classes."""
        return (self.y if self.outputs > 1 else self.y > 0.0).astype(int)

    def part(self, rows: np.ndarray) -> "Targets":
        """Return those of some rows only."""
        plain = None if self.plain is None else self.plain[rows]
        return self._replace(y=self.y[rows], weight=self.weight[rows], plain=plain)

    def without(self, held: np.ndarray) -> np.ndarray:
        """Which rows are not held out."""
        learnt = np.ones(len(self.y), bool)
        learnt[held] = False
        return learnt

    def mistakes(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """Root mean squared error, or the share of mistakes, of some rows, weighted."""
        y, weight = self.y[rows], self.weight[rows]
        total = weight.sum()
        if total <= 0.0:
            weight, total = np.ones(len(y)), float(len(y))
        if self.is_regression:
            return float(np.sqrt(weight @ (scores[:, 0] - y) ** 2 / total))
        wrong = decided(scores) != (y if self.outputs > 1 else y > 0.0)
        return float(weight @ wrong / total)

    def can_gain(self, scores: np.ndarray, rows: np.ndarray) -> bool:
        """Whether some rows could tell that there are fewer mistakes than these."""
        return (
            self.is_regression or self.mistakes(scores, rows) * len(rows) >= COUNTABLE
        )

    def error(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """What is wanted to be little: mistakes, unless another measure is given."""
        if self.measure is None:
            return self.mistakes(scores, rows)
        return self.measure(self.part(rows), scores)

    def stated(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """Error as `score` would find it on such rows: classes have no weights."""
        if self.measure is None:
            return self._replace(weight=self.counted).mistakes(scores, rows)
        return self.error(scores, rows)

    def overlooked(self, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Numbers of the classes that have some of the rows, but are said of none."""
        index = self.part(rows).labels()[self.counted[rows] > 0.0]
        counts = np.bincount(index, minlength=max(self.outputs, 2))
        said = np.bincount(decided(scores), minlength=len(counts))
        return np.flatnonzero((counts >= SOME) & (said == 0))

    def validation_loss(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """Error, and for classes a little of the loss: what a search minimises."""
        error = self.error(scores, rows)
        if self.is_regression:
            return error
        weight, y = self.weight[rows], self.y[rows]
        nothing = np.empty_like(scores)
        lost = differentiate(self.loss, scores, y, weight, nothing, np.empty(len(y)))
        error = 1.0 if np.isnan(error) else error
        return error + SMOOTH * lost / max(float(weight.sum()), 1e-300)


def parts(
    targets: Targets, rng: np.random.Generator, share: float = SHARE
) -> list[np.ndarray]:
    """Rows to hold out, one part after another: `share` of them if they are many.

    Every class keeps its share: rows are dealt out in the order of their labels.
    """
    n = len(targets.y)
    order = rng.permutation(n)
    if not targets.is_regression:
        order = order[np.argsort(targets.y[order], kind="stable")]
    if n >= FEW:
        held = order[np.linspace(0, n - 1, min(round(share * n), MOST)).astype(int)]
        return [np.sort(held)]
    count = min(PARTS if n >= VERY_FEW else MORE_PARTS, n)
    return [np.sort(order[start::count]) for start in range(count)]

"""Which rows are held out, and what they say of a model."""

from typing import NamedTuple

import numpy as np

from onkel.engine.objective import differentiate
from onkel.losses import Loss

# With fewer rows every row is held out once, in so many parts.
FEW, PARTS = 6000, 3
VERY_FEW, MORE_PARTS = 2000, 5
SHARE, MOST = 0.2, 10_000
# Weight of the loss beside the mistakes: it is smoother, and breaks their ties.
SMOOTH = 0.3


class Task(NamedTuple):
    """Targets, and how models of them are judged."""

    y: np.ndarray  # as compiled code reads them
    weight: np.ndarray
    outputs: int
    loss: Loss
    is_regression: bool

    def part(self, rows: np.ndarray) -> "Task":
        """Return the task of some rows only."""
        return self._replace(y=self.y[rows], weight=self.weight[rows])

    def error(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """Root mean squared error, or the share of mistakes, of some rows.

        By the weight of the rows.
        """
        y, weight = self.y[rows], self.weight[rows]
        total = weight.sum()
        if total <= 0.0:
            y, weight, total = y, np.ones(len(y)), float(len(y))
        if self.is_regression:
            return float(np.sqrt(weight @ (scores[:, 0] - y) ** 2 / total))
        if self.outputs == 1:
            wrong = (scores[:, 0] > 0.0) != (y > 0.0)
        else:
            wrong = scores.argmax(axis=1) != y
        return float(weight @ wrong / total)

    def badness(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """Error, and for classes a little of the loss: what a search minimises."""
        error = self.error(scores, rows)
        if self.is_regression:
            return error
        weight, y = self.weight[rows], self.y[rows]
        nothing = np.empty_like(scores)
        lost = differentiate(self.loss, scores, y, weight, nothing, np.empty(len(y)))
        return error + SMOOTH * lost / max(float(weight.sum()), 1e-300)


def parts(
    task: Task, rng: np.random.Generator, share: float = SHARE
) -> list[np.ndarray]:
    """Rows to hold out, one part after another: `share` of them if they are many.

    Every class keeps its share: rows are dealt out in the order of their labels.
    """
    n = len(task.y)
    order = rng.permutation(n)
    if not task.is_regression:
        order = order[np.argsort(task.y[order], kind="stable")]
    if n >= FEW:
        held = order[np.linspace(0, n - 1, min(round(share * n), MOST)).astype(int)]
        return [np.sort(held)]
    count = min(PARTS if n >= VERY_FEW else MORE_PARTS, n)
    return [np.sort(order[start::count]) for start in range(count)]

"""One row: a learner learns and scores a single row in place, as fast as it can.

A call of `Learner.learn` allocates, copies and asks a hundred things that are the same
for row after row; then the compiled code looks at the types of a hundred arrays. For
one row that takes thirty times as long as the row. So here the arguments of the
compiled code are put together once, and hold until the model gets other arrays. What
the code does is the same, and so are the bits of the model.

The model changes in place, without a copy that could bring it back. So a row is looked
at first: only if all numbers that take part are so small that no product of a few of
them is close to infinite, the row is learnt; otherwise the caller is told to take the
long way. That asks nothing of the strategies: a row multiplies few numbers.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from onkel.compiled.draws import draws_of
from onkel.engine import evaluation, passes
from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner
from onkel.engine.passes import Batch, Limits
from onkel.engine.threads import blas_in_one_thread
from onkel.features.nystrom import Nystrom
from onkel.model.averages import Last
from onkel.model.rows import Centers, Points, Rows, rows_of
from onkel.model.state import Model, facing
from onkel.problem.kernels import Kernel, Kind
from onkel.problem.rates import base

# Numbers are small up to this power of the largest: scores, steps and squared norms are
# products of fewer than ten of them.
SMALL = 0.1
# Entries of a matrix from which OpenBLAS multiplies it with a vector in several threads
# (since 0.3.27; older ones begin sooner). To forbid it takes longer than most rows.
THREADED = 460_800


def largest_square(kernel: Kernel, small: float) -> float:
    """Squared norm up to which points have kernel values that are small.

    Examples
    --------
    >>> from onkel.problem import kernels
    >>> largest_square(kernels.make("poly", 2.0, 2, 1.0), small=81.0)
    4.0
    """
    if kernel.kind == Kind.POLY:
        return (small ** (1.0 / kernel.degree) - kernel.coef0) / kernel.gamma
    return small


def are_small(numbers: Any, small: float) -> bool:
    """Whether all numbers of a NamedTuple, and of those in it, are 0 or of medium size.

    Examples
    --------
    >>> are_small((0.0, (2, True)), small=1e3), are_small((1e-4,), small=1e3)
    (True, False)
    """
    if isinstance(numbers, tuple):
        return all(are_small(each, small) for each in numbers)
    return numbers == 0 or 1.0 / small <= abs(numbers) <= small


class OneRow:
    """A learner's way for single rows, dense ones.

    Parameters
    ----------
    learner
        Whom nobody else reads meanwhile, or lets learn; after such a time it takes
        another `OneRow`.

    Attributes
    ----------
    x
        Where the row goes, shape (1, features).
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        outputs, features = len(learner.model.coef), learner.model.points.shape[1]
        self.x = np.zeros((1, features), learner.dtype)
        self._target, self._weight = np.zeros(1), np.ones(1)
        self._scores = np.zeros((1, outputs), learner.dtype)
        rows = rows_of(self.x, learner.dtype)
        self._batch = Batch(rows, self._target, self._weight, self._scores)
        self._small = float(np.finfo(learner.dtype).max) ** SMALL
        self._largest = largest_square(learner.plan.kernel, self._small)
        self._is_calm = are_small(learner.plan, self._small) and self._coef_is_small()
        self._bind()

    def _bind(self) -> None:
        """Put the arguments together, for the arrays that the model has now."""
        learner, rows = self.learner, self._batch.rows
        learner._turn_points("C")
        model = facing(learner.model, rows)
        learning = (
            *(learner.plan, learner.budget, model, self._batch),
            Limits(1, learner.largest_size, False),
            *(draws_of(learner.rng), learner._workspace(1), False),
        )
        self._learn = _calling(passes.learn, learning)
        counters = model.counters
        self._count, self._halted = counters["count"], counters["halted"]
        self._t, self._factor = counters["t"], counters["factor"]
        is_large = _largest_matrix(learner.model) >= THREADED
        self._alone: Any = blas_in_one_thread if is_large else nullcontext()
        self._answer: FittedExpansion | None = None
        self._entry: Callable[..., None] | None = None

    def is_small(self) -> bool:
        """Whether the row in `x` is one to learn, or to score, without a closer look.

        It is not if there is a NaN in it.
        """
        # np.dot would warn of an overflow.
        return bool(np.vdot(self.x, self.x) <= self._largest)

    def learn(self, target: float, weight: float) -> bool:
        """Learn the row in `x`; False, and nothing has changed, if it is none for here.

        Then `Learner.learn` learns it, or says why not.
        """
        small = self._small
        is_easy = self._is_calm and -small < target < small and 0.0 <= weight < small
        if not (is_easy and self.is_small()):
            return False
        self._target[0], self._weight[0] = target, weight
        self._answer = None
        with self._alone:
            if self._learn() != 1 or self._halted[0]:
                if not self._go_on():
                    return False
        self._is_calm = self._coef_is_small()
        return True

    def _coef_is_small(self) -> bool:
        coef = self.learner.model.coef
        return bool(np.vdot(coef, coef) < self._small * self._small)

    def _go_on(self) -> bool:
        """Do what the walk leaves to the learner, which then has other arrays."""
        learner = self.learner
        if self._halted[0]:
            learned = learner._switch(self._batch.rows)
        else:
            learned = learner._learn(passes.learn, self._batch, 1, False) == 1
        self._bind()
        return learned

    def score(self) -> np.ndarray:
        """Scores of the row in `x`, shape (outputs,), by the model as it is now."""
        return self._scored(self._batch.rows, 1)[0]

    def score_all(self, X: np.ndarray) -> np.ndarray:
        """Scores of rows, shape (rows, outputs): the bits that each has by itself."""
        return self._scored(rows_of(X, self.learner.dtype), len(X))

    def _scored(self, rows: Rows, count: int) -> np.ndarray:
        if self._answer is None:
            self._answer = self._answered()
        answer = self._answer
        outputs, slots = answer.coef.shape
        out = np.zeros((count, outputs), answer.coef.dtype)
        if slots == 0 or count == 0:
            return out
        centers = Centers(Points(answer.points, False), answer.norms, slots)
        scoring = (
            *(answer.mapping, answer.kernel, rows, (0, count)),
            *(centers, answer.coef, 1, out),
        )
        if self._entry is None:
            entry = evaluation.score.entry(*scoring)
            # In a function, so that who walks through what a model refers to, as
            # River does to measure its memory, does not come to all of numba.
            self._entry = lambda *scoring: entry(*scoring)
        with self._alone:
            self._entry(*scoring)
        return out

    def _answered(self) -> FittedExpansion:
        """Return the learner's answer, sooner where that is just its model."""
        learner = self.learner
        model, plan = learner.model, learner.plan
        if not isinstance(model.average, Last) or isinstance(model.mapping, Nystrom):
            answer = learner.answer()
            # Code that does not look at types must get the same ones each time.
            return answer._replace(coef=np.ascontiguousarray(answer.coef))
        scale = float(self._factor[0] * base(plan.rate, self._t[0]))
        coef = np.ascontiguousarray(
            model.average.of(model.coef[:, : self._count[0]], scale)
        )
        return FittedExpansion(
            plan.kernel, model.mapping, model.points, model.norms, coef
        )


def _calling(function: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Return what calls compiled code with these arguments."""
    entry = function.entry(*arguments)
    return lambda: entry(*arguments)


def _largest_matrix(model: Model) -> int:
    """Entries of the largest matrix that a row may be multiplied with."""
    arrays = [model.points, *model.cache, *model.mapping]
    return max(array.size for array in arrays if isinstance(array, np.ndarray))

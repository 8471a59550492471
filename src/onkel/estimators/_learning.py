"""What systems share that learn row by row: what they count, and what they refuse."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from onkel.engine.learner import Learner, ScoreOverflowError
from onkel.estimators._expansion import ExpansionEstimator
from onkel.refit.reservoir import Reservoir


def is_finite(state: Any, outputs: int) -> bool:
    """Whether counters, and what is shaped like coefficients, hold finite numbers."""
    for array in state:
        if not isinstance(array, np.ndarray):
            continue
        parts = [array[name] for name in array.dtype.names or ()]
        if array.ndim == 2 and len(array) == outputs:
            parts = [array]
        for part in parts:
            # Their sum is quick to tell; it may overflow where none of them does.
            if part.dtype.kind == "f" and not np.isfinite(part.sum()):
                if not np.isfinite(part).all():
                    return False
    return True


class LearningEstimator(ExpansionEstimator):
    """A system whose models learn one row after another."""

    # The first rows of a stream, while they are few; see `_beginning`.
    _beginning: Reservoir | None = None

    @property
    @abstractmethod
    def _counters(self) -> Any:
        """Rows, updates, maintenance, mistakes; AttributeError before fit."""

    @property
    def t_(self) -> int:
        """Rows seen, over all passes."""
        return int(self._counters.t)

    @property
    def n_updates_(self) -> int:
        """Rows that proposed a change of the model."""
        return int(self._counters.updates)

    @property
    def n_maintenance_(self) -> int:
        """Times that the budget made a centre leave."""
        return int(self._counters.maintenance)

    def _forget_beginning(self) -> None:
        """Leave nothing of a stream that had just begun."""
        self._beginning = None
        self.__dict__.pop("_seed", None)

    def _refuse_changed_parameters(self) -> None:
        for name, value in self._learning_parameters().items():
            # A model of the version before has begun with the parameters it had.
            started = self._started_with.get(name, value)
            if value is not started and value != started:
                raise ValueError(
                    f"{name} was {started!r} when this {type(self).__name__} began to "
                    f"learn and is {value!r} now. A model cannot go on learning with "
                    f"other parameters: set {name} back, or call fit to begin anew."
                )

    def _learn_with(
        self,
        learner: Learner,
        X: Any,
        y: Any,
        weight: Any,
        order: Any = None,
        first: int = 0,
    ) -> Iterator[np.ndarray]:
        """Let a learner learn the rows; yields their scores before each update.

        `first` is the number of the first row in the call, for error messages.
        """
        block_size = None if self.block_size == "auto" else int(self.block_size)
        if weight is None:
            weight = np.ones(len(y))
        try:
            yield from learner.learn(X, y, weight, order, block_size, self._n_jobs())
        except ScoreOverflowError as overflow:
            row = first + overflow.row
            where = f"row {row} of this call" if row >= 0 else "a row of calls before"
            raise ValueError(
                f"The scores of {type(self).__name__} overflowed at {where}; "
                "nothing was learnt from this call. "
                "Smaller steps help: a larger alpha or t0, a smaller eta0, ball=True, "
                "or features and targets scaled to unit variance."
            ) from None
        self._refuse_infinity(learner)

    def _refuse_infinity(self, learner: Learner) -> None:
        """Refuse what was learnt if it is not finite: it would never be again."""
        model, counters = learner.model, learner.counters
        states = (model.coef,), model.average, learner.budget
        # The norm is kept for the ball only; without one it may well overflow.
        norm2 = counters.norm2 if learner.plan.ball else 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(
                [counters.factor, counters.largest, norm2]
            ).all() and all(is_finite(state, len(model.coef)) for state in states)
            finite = finite and learner.is_bounded
        self._refuse_overflow(not finite)

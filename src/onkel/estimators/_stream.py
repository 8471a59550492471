"""What systems share that learn from a stream: its beginning, and going on."""

from abc import abstractmethod
from typing import Any

import numpy as np

from onkel.estimators._base import KernelEstimator
from onkel.estimators._beginning import LONGEST, cut
from onkel.refit.reservoir import Reservoir


class StreamEstimator(KernelEstimator):
    """A system that learns from one row after another."""

    # Rows after which a stream's statistics are final.
    _longest_beginning = LONGEST

    @abstractmethod
    def _learn_rows(
        self, X: Any, y: np.ndarray, weight: Any, scores: np.ndarray | None, first: int
    ) -> np.ndarray | None:
        """Learn rows in order; append their scores to these, unless that is None.

        `first` is the number of the first row in the call, for error messages.
        """

    def _first_outputs(self, y: np.ndarray) -> int:
        """Outputs before the first of some rows is learnt."""
        return 1

    def _go_on(
        self, X: Any, y: np.ndarray, weight: Any, keep_scores: bool
    ) -> np.ndarray | None:
        """Learn further rows; return their scores if they are wanted.

        While there are few rows, statistics become better with more of them, and the
        rows so far are learnt anew: see `onkel.estimators._beginning`.
        """
        if not hasattr(self, "_learner"):
            self._beginning = Reservoir(self._longest_beginning)
            if not self._depends_on_rows():
                self._beginning = None
                self._begin(X[:1], y)
        scores, done = None, 0
        if self._beginning is not None:
            again, known, done, self._beginning = cut(self._beginning, X, y, weight)
            if again is not None:
                self._begin(again[0], again[1])
                scores = self._learn_rows(*again, self._none(keep_scores), first=-known)
                scores = None if scores is None else scores[known:]
        scores = self._none(keep_scores) if scores is None else scores
        some = None if weight is None else weight[done:]
        return self._learn_rows(X[done:], y[done:], some, scores, first=done)

    def _begin(self, X: Any, y: np.ndarray) -> None:
        """Begin anew, with the statistics of these rows."""
        self._learner, _ = self._new_learner(X, self._first_outputs(y), None)
        self._started_with = self._learning_parameters()
        self.n_iter_ = 1

    def _none(self, wanted: bool) -> np.ndarray | None:
        """Scores of no rows, if scores are wanted."""
        outputs = len(self._learner.model.coef)
        return np.zeros((0, outputs), self._dtype) if wanted else None

"""What systems share that learn from a stream: its beginning, and going on."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from onkel.estimators._beginning import LONGEST, informing
from onkel.estimators._learning import LearningEstimator
from onkel.refit.reservoir import Reservoir


class StreamEstimator(LearningEstimator):
    """A system that learns from one row after another."""

    # Rows after which a stream's statistics are final.
    _longest_beginning = LONGEST
    _seed: int | list[int]  # of all that is random, until then

    def _drawn_seed(self) -> int | list[int]:
        return self._seed if self._beginning is not None else super()._drawn_seed()

    # ---- what its models are, and how they learn

    @abstractmethod
    def _depends_on_rows(self) -> bool:
        """Whether anything is chosen by statistics of the rows."""

    @abstractmethod
    def _begin(self, X: Any, outputs: int) -> None:
        """Begin anew, with the statistics of these rows, which are not learnt yet."""

    @abstractmethod
    def _fork(self) -> None:
        """Go on with models of its own, which nobody else reads."""

    @abstractmethod
    def _refuse_endless(self) -> None:
        """Refuse parameters that a stream, whose length nobody knows, cannot have."""

    @property
    @abstractmethod
    def _outputs(self) -> int:
        """How many scores a row has, so far."""

    @abstractmethod
    def _learn(self, X: Any, y: Any, weight: Any, first: int) -> Iterator[np.ndarray]:
        """Learn rows in order; yields their scores, each before its own update."""

    @abstractmethod
    def _pass_over(self, X: Any, weight: np.ndarray | None) -> None:
        """See rows while all have the same label, from which nothing can be learnt."""

    # ---- what rows mean

    @abstractmethod
    def _learn_rows(
        self, X: Any, y: np.ndarray, weight: Any, scores: np.ndarray | None, first: int
    ) -> np.ndarray | None:
        """Learn rows in order; append their scores to these, unless that is None.

        `first` is the number of the first row in the call, for error messages.
        """

    @abstractmethod
    def _take_classes(self, classes: Any, y: np.ndarray, first: bool) -> None:
        """Settle which labels are known before the first row of this call."""

    def _learn_stream(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        keep_scores: bool = False,
    ) -> np.ndarray | None:
        """Learn rows in order; return their scores if they are to be kept."""
        with self._draft() as draft:
            draft._check_parameters()
            first = not draft.__sklearn_is_fitted__()
            if not first:
                draft._refuse_changed_parameters()
                draft._refuse_endless()
                draft._fork()
            X, y = draft._checked_data(X, y, reset=first)
            draft._take_classes(classes, y, first)
            weight = draft._weight(X, y, sample_weight, streaming=True)
            return draft._go_on(X, y, weight, keep_scores)

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
        if not self.__sklearn_is_fitted__():
            if self._depends_on_rows():
                # Once: what is learnt anew must draw the same.
                self._seed = self._drawn_seed()
                self._beginning = Reservoir(self._longest_beginning)
            self._start_with(X[:1], y)
        scores = np.zeros((0, self._outputs), self._dtype) if keep_scores else None
        start = 0
        while start < len(y):
            known = 0 if self._beginning is None else len(self._beginning)
            # As many again as statistics have, and the first row by itself.
            due = max(2 * informing(known), 1) - known
            stop = len(y) if self._beginning is None else min(len(y), start + due)
            some = None if weight is None else weight[start:stop]
            rows = X[start:stop], y[start:stop], some
            scores = self._learn_rows(*rows, scores, first=start)
            if self._beginning is not None:
                self._look_again(*rows, is_due=stop - start == due, first=stop)
            start = stop
        return scores

    def _look_again(
        self, X: Any, y: np.ndarray, weight: Any, is_due: bool, first: int
    ) -> None:
        """Keep first rows, and when it is due learn them all anew."""
        assert self._beginning is not None
        beginning = self._beginning.copy()
        beginning.add(X, y, np.ones(len(y)) if weight is None else weight)
        self._beginning = beginning
        if is_due and len(beginning) > 1:
            # Which were not predicted before they were learnt is known already.
            mistakes, (X, y, weight) = self._counters.mistakes, beginning.rows()
            self._start_with(X, y)
            self._learn_rows(X, y, weight, None, first=first - len(y))
            self._counters.mistakes = mistakes
        if len(beginning) >= self._longest_beginning:
            self._forget_beginning()

    def _start_with(self, X: Any, y: np.ndarray) -> None:
        self._begin(X, self._first_outputs(y))
        self._started_with = self._learning_parameters()
        self.n_iter_ = 1

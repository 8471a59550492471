"""Regressors: systems that predict numbers."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from onkel.estimators._base import KernelEstimator
from onkel.estimators._checks import checked_weights, levels_to_the_caller
from onkel.estimators._progress import with_callbacks
from onkel.estimators._stream import StreamEstimator


def numbers(y: np.ndarray) -> np.ndarray:
    """Return targets as numbers, or say that they are none."""
    try:
        return y.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"y must hold numbers, got {y.dtype}: {error}") from None


class TargetRegressor(RegressorMixin, KernelEstimator):
    """A system that predicts numbers."""

    def predict(self, X: Any) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        targets of shape (n_samples,)
            The scores.
        """
        return self._still()._scores(X)[:, 0]

    def _fit_targets(self, X: Any, y: Any, sample_weight: Any) -> Self:
        with self._draft() as draft:
            draft._check_parameters()
            draft._forget_beginning()
            X, y = draft._checked_rows(X, y, reset=True, y_numeric=True)
            y = numbers(y)
            weight = draft._weight(X, sample_weight, streaming=False)
            draft._fit(X, y, weight, outputs=1)
        self._warn_if_useless(X, y)
        return self

    def _warn_if_useless(self, X: Any, y: np.ndarray) -> None:
        """Say so if a constant would have served better, on some of the rows."""
        some = np.linspace(0, len(y) - 1, min(len(y), 1000)).astype(int)
        errors = np.abs(self.predict(X[some]) - y[some])
        constant = np.abs(y[some] - np.median(y[some]))
        if errors.mean() > constant.mean() > 0.0:
            warnings.warn(
                f"{type(self).__name__} predicts its own training rows worse than a "
                f"constant does (mean error {errors.mean():.3g}, constant "
                f"{constant.mean():.3g}). Its steps do not fit the targets: scale y to "
                "unit variance, for example with TransformedTargetRegressor, and try "
                "a larger alpha or t0, or a smaller eta0 or max_coef.",
                ConvergenceWarning,
                stacklevel=levels_to_the_caller(),
            )

    def _weight(self, X: Any, sample_weight: Any, streaming: bool) -> np.ndarray | None:
        """Weights of the rows, None for all alike."""
        return None


class OnlineRegressor(TargetRegressor, StreamEstimator):
    """A system that learns from one row after another, as long as there are rows."""

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn from all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_targets(X, y, None)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Go on learning from further rows, in the order given.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.

        Returns
        -------
        self
            The estimator.
        """
        self._learn_stream(X, y, None, None)
        return self

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
            if classes is not None:
                raise ValueError(f"{type(self).__name__} has no classes, got {classes}")
            first = not hasattr(draft, "_learner")
            if not first:
                draft._refuse_changed_parameters()
                draft._recipe(None)  # refuses what a stream cannot have
                draft._fork()
            X, y = draft._checked_rows(X, y, reset=first, y_numeric=True)
            y = numbers(y)
            weight = draft._weight(X, sample_weight, streaming=True)
            return draft._go_on(X, y, weight, keep_scores)

    def _learn_rows(
        self, X: Any, y: np.ndarray, weight: Any, scores: np.ndarray | None, first: int
    ) -> np.ndarray | None:
        for chunk in self._learn(self._learner, X, y, weight, first=first):
            if scores is not None:
                scores = np.concatenate([scores, chunk])
        return scores


class WeightedRegressor(OnlineRegressor):
    """A regressor with a loss, which rows can weigh in."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the slope of the loss.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_targets(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning from further rows, in the order given.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the slope of the loss.

        Returns
        -------
        self
            The estimator.
        """
        self._learn_stream(X, y, None, sample_weight)
        return self

    def _weight(self, X: Any, sample_weight: Any, streaming: bool) -> np.ndarray | None:
        if sample_weight is None:
            return None
        return checked_weights(sample_weight, X, streaming)


class BatchRegressor(TargetRegressor):
    """A regressor that needs all rows at once."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on C.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_targets(X, y, sample_weight)

    def _weight(self, X: Any, sample_weight: Any, streaming: bool) -> np.ndarray | None:
        if sample_weight is None:
            return None
        return checked_weights(sample_weight, X, streaming)

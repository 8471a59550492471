"""Regressors: systems that predict numbers."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from onkel.estimators._checks import checked_weights, levels_to_the_caller
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._fitting import Fits, FitsWeighted
from onkel.estimators._stream import StreamEstimator


def numbers(y: np.ndarray) -> np.ndarray:
    """Return targets as numbers, or say that they are none."""
    try:
        return y.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"y must hold numbers, got {y.dtype}: {error}") from None


class TargetRegressor(RegressorMixin, ExpansionEstimator):
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

    def _checked_data(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = self._checked_rows(X, y, reset=reset, y_numeric=True)
        return X, numbers(y)

    def _encoded(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        return y, 1

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


class RowsWeigh(FitsWeighted):
    """Numbers as weights of the rows."""

    def _weight(
        self, X: Any, y: np.ndarray, sample_weight: Any, streaming: bool
    ) -> np.ndarray | None:
        if sample_weight is None:
            return None
        return checked_weights(sample_weight, X, streaming)


class OnlineRegressor(Fits, TargetRegressor, StreamEstimator):
    """A system that learns from one row after another, as long as there are rows."""

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

    def _take_classes(self, classes: Any, y: np.ndarray, first: bool) -> None:
        if classes is not None:
            raise ValueError(f"{type(self).__name__} has no classes, got {classes}")

    def _learn_rows(
        self, X: Any, y: np.ndarray, weight: Any, scores: np.ndarray | None, first: int
    ) -> np.ndarray | None:
        for chunk in self._learn(X, y, weight, first):
            if scores is not None:
                scores = np.concatenate([scores, chunk])
        return scores


class WeightedRegressor(RowsWeigh, OnlineRegressor):
    """A regressor with a loss, which rows can weigh in."""

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


class BatchRegressor(RowsWeigh, TargetRegressor):
    """A regressor that needs all rows at once."""

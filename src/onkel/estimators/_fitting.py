"""What users call to fit, with weights of the rows or without."""

from typing import Any, Self

from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._progress import with_callbacks


class Fits(ExpansionEstimator):
    """A system to which all rows are alike."""

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn from all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, or their targets in regression.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_all(X, y, None)


class FitsWeighted(ExpansionEstimator):
    """A system with a loss, which rows can weigh in."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, or their targets in regression.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the loss of each row.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit_all(X, y, sample_weight)

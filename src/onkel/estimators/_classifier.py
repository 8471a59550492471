"""Classifiers: what users call, and what scores mean for labels."""

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from onkel.estimators._class_weights import weights_of_rows
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._fitting import Fits, FitsWeighted
from onkel.estimators._groups import ClassWeighted
from onkel.estimators._labels import (
    LabelStream,
    encode,
    outputs_for,
    plain,
    refuse_targets_of_regression,
)
from onkel.estimators._learning import LearningEstimator
from onkel.refit.calibration import chances, log_chances


class LabelClassifier(ClassifierMixin, ExpansionEstimator):
    """A system that predicts labels."""

    _classes_given: bool  # beforehand, or by all rows of fit

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores
            With two classes, positive for the second.
        """
        scores = self._still()._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels of shape (n_samples,)
            The second class where the score is positive; with more classes the one
            with the largest score.
        """
        still = self._still()
        scores = still._scores(X)
        if scores.shape[1] == 1:
            return still.classes_[(scores[:, 0] > 0).astype(int)]
        return still.classes_[scores.argmax(axis=1)]

    # ---- learning

    def _checked_data(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = self._checked_rows(X, y, reset=reset)
        refuse_targets_of_regression(y)
        return X, y

    def _encoded(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        self.classes_ = np.unique(y)
        self._classes_given = True
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {plain(self.classes_[0])!r}; a classifier "
                "needs at least two. In a stream, use partial_fit."
            )
        return encode(y, self.classes_), outputs_for(self.classes_)


class CountingClassifier(LabelClassifier, LearningEstimator):
    """A classifier that predicts a row before it learns it."""

    @property
    def n_mistakes_(self) -> int:
        """Rows whose label was not predicted before they were learnt."""
        return int(self._counters.mistakes)


class OnlineClassifier(Fits, CountingClassifier, LabelStream):
    """A system that learns from one row after another, as long as there are rows."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning from further rows, in the order given.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, optional
            All labels that can occur. Without them a label counts from the row where
            it first occurs.

        Returns
        -------
        self
            The estimator.
        """
        self._learn_stream(X, y, classes, None)
        return self


class WeightedClassifier(FitsWeighted, ClassWeighted, OnlineClassifier):
    """A classifier with a loss, which rows and classes can weigh in."""

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on learning from further rows, in the order given.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, optional
            All labels that can occur. Without them a label counts from the row where
            it first occurs.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the slope of the loss.

        Returns
        -------
        self
            The estimator.
        """
        self._learn_stream(X, y, classes, sample_weight)
        return self

    def _weight(
        self, X: Any, y: np.ndarray, sample_weight: Any, streaming: bool
    ) -> np.ndarray | None:
        known = self.classes_ if streaming and self._classes_given else None
        return weights_of_rows(self.class_weight, X, y, sample_weight, streaming, known)


def _has_probabilities(estimator: Any) -> bool:
    return bool(estimator._has_probabilities())


class LossClassifier(WeightedClassifier):
    """A classifier whose loss can be chosen."""

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; for loss="log_loss".

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities of shape (n_samples, n_classes)
            expit of the score, or the softmax of the scores.
        """
        still = self._still()
        odds = still._log_odds(X)
        return np.ones_like(odds) if len(still.classes_) == 1 else chances(odds)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        logarithms of shape (n_samples, n_classes)
            Finite, even where `predict_proba` rounds to 0.
        """
        still = self._still()
        odds = still._log_odds(X)
        return np.zeros_like(odds) if len(still.classes_) == 1 else log_chances(odds)

    def _has_probabilities(self) -> bool:
        return bool(self.loss == "log_loss")

    def _log_odds(self, X: Any) -> np.ndarray:
        """Log-odds of the second of two classes; of more, up to a constant a row."""
        return self._odds(self._scores(X))

    def _odds(self, scores: np.ndarray) -> np.ndarray:
        """Log-odds that scores stand for."""
        return scores


class BatchClassifier(FitsWeighted, ClassWeighted, LabelClassifier):
    """A classifier that needs all rows at once."""

    def _weight(
        self, X: Any, y: np.ndarray, sample_weight: Any, streaming: bool
    ) -> np.ndarray | None:
        return weights_of_rows(self.class_weight, X, y, sample_weight, streaming)

"""Scoring: what rows held out say of a model, in scikit-learn's measures."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from onkel.refit.calibration import UNCALIBRATED, calibrate, chances, log_odds
from onkel.refit.held_out import Targets, decided

OF_CLASSES = (
    *("accuracy", "balanced_accuracy", "f1", "f1_macro", "f1_weighted"),
    *("average_precision", "roc_auc", "roc_auc_ovr", "neg_log_loss"),
)
# Of values, with the power of the target's unit in which they are.
OF_VALUES = {
    "r2": 0,
    "neg_mean_absolute_error": 1,
    "neg_mean_squared_error": 2,
    "neg_root_mean_squared_error": 1,
}
# They are of probabilities; where they rank two classes, of any that rise with scores.
CHANCES = ("average_precision", "roc_auc_ovr", "neg_log_loss")
# They rank rows of one class above those of others, so that there must be both.
RANKS = ("average_precision", "roc_auc", "roc_auc_ovr")
# Of two classes, and their likes for more.
OF_TWO = {"f1": "f1_macro", "roc_auc": "roc_auc_ovr"}


class _Values(RegressorMixin, BaseEstimator):
    """A model of rows held out: what it takes for rows are their scores."""

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0]


class _Classes(ClassifierMixin, BaseEstimator):
    """Likewise, of classes; `slopes` are those of its calibration."""

    def __init__(self, classes: Any = None, slopes: Any = None) -> None:
        self.classes, self.slopes = classes, slopes
        self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: np.ndarray) -> np.ndarray:
        return decided(X)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X[:, 0] if X.shape[1] == 1 else X

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return chances(log_odds(X, self.slopes))


def error_of(score: float, name: str) -> float:
    """How much a score lacks of the best there is: 0, or 1.

    Its own inverse.

    Examples
    --------
    >>> error_of(0.75, "f1"), error_of(-0.5, "neg_log_loss")
    (0.25, 0.5)
    """
    return -score if name.startswith("neg_") else 1.0 - score


def error(name: str, targets: Targets, scores: np.ndarray) -> float:
    """Error of the scores of all rows; NaN where it has no meaning."""
    if not np.isfinite(scores).all():
        return np.nan
    y, weight = targets.y, targets.counted
    model: Any = _Values()
    if not targets.is_regression:
        y, classes = targets.labels(), np.arange(max(targets.outputs, 2))
        if name in RANKS and len(np.unique(y[weight > 0.0])) < len(classes):
            return np.nan
        needs_chances = name in CHANCES and (
            targets.outputs > 1 or name == "neg_log_loss"
        )
        slopes = calibrate(targets, scores) if needs_chances else UNCALIBRATED
        model = _Classes(classes, slopes)
    if weight.sum() <= 0.0:
        weight = np.ones(len(y))
    with warnings.catch_warnings():
        # A class that is never predicted is told of once, at the end.
        warnings.simplefilter("ignore")
        from sklearn.metrics import get_scorer  # slow to import

        score = get_scorer(name)(model, scores, y, sample_weight=weight)
    return error_of(float(score), name)

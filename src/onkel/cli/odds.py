"""Odds: probabilities for scores of a machine that has none, as LIBSVM's -b makes them.

Platt's way: a logistic curve through the scores that rows get from machines which have
not learnt them, in five folds.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from onkel.refit.calibration import chances

FOLDS = 5


class Odds(NamedTuple):
    """Log-odds of the classes, linear in the scores.

    Examples
    --------
    >>> odds = Odds(np.array([[2.0]]), np.array([0.0]))
    >>> odds.probabilities(np.array([0.0])).tolist()
    [[0.5, 0.5]]
    """

    slopes: np.ndarray  # shape (log-odds, scores)
    offsets: np.ndarray  # shape (log-odds,): one for two classes, else one each

    @classmethod
    def learnt(cls, model: Any, X: Any, y: np.ndarray, seed: int) -> Self:
        """Learn from rows; the model is fitted to four fifths of them five times."""
        least = int(np.unique(y, return_counts=True)[1].min())
        if least < 2:
            raise ValueError("-b 1 needs two rows of each label or more")
        folds = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=seed)
        scores = cross_val_predict(model, X, y, cv=folds, method="decision_function")
        curve = LogisticRegression().fit(scores.reshape(len(y), -1), y)
        return cls(curve.coef_, curve.intercept_)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, a column each."""
        return chances(scores.reshape(len(scores), -1) @ self.slopes.T + self.offsets)

    def state(self) -> dict[str, Any]:
        """Return what describes it, for JSON."""
        return {"slopes": self.slopes.tolist(), "offsets": self.offsets.tolist()}

    @classmethod
    def from_state(cls, described: Any, classes: int) -> Self:
        """Return what `state` described, checked, for a number of classes."""
        outputs = 1 if classes == 2 else classes
        if not isinstance(described, Mapping):
            raise ValueError("the odds of a model are no mapping")
        try:
            slopes = np.array(described.get("slopes"), dtype=np.float64)
            offsets = np.array(described.get("offsets"), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError("the odds of a model are no numbers") from error
        fits = slopes.shape == (outputs, outputs) and offsets.shape == (outputs,)
        if not fits or not (np.isfinite(slopes).all() and np.isfinite(offsets).all()):
            raise ValueError("the odds of a model do not fit its classes")
        return cls(slopes, offsets)

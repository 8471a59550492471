"""Predictors for long streams: each scores rows before it learns them.

Labels are 0 and 1; a score above 0 says 1.
"""

from typing import Any, Protocol

import numpy as np
from sklearn.linear_model import SGDClassifier

import onkel
from onkel.race.problem import Problem
from onkel.race.references import Constant
from onkel.stream.pieces import in_pieces

CLASSES = (0, 1)
# Rows that the linear model predicts, then learns, at a time. Row by row the calls
# would cost far more than the model; a thousand rows of flights span an hour and a
# half, in which delays change, and a model that is so late ranks worse.
PIECE = 32


class Predictor(Protocol):
    """What all of them do."""

    def learn(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Learn rows and return their scores from before."""


class Majority:
    """The more frequent label of all rows before."""

    def __init__(self) -> None:
        self._constant = Constant(Problem(rows=0, features=0, classes=len(CLASSES)))

    def learn(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Learn rows and return the sign of the label that led before each."""
        return np.where(self._constant.predict_then_learn(X, y) == 1, 1.0, -1.0)


class Linear:
    """scikit-learn's linear SGD, a few rows at a time."""

    def __init__(self, loss: str, alpha: float) -> None:
        self.model = SGDClassifier(loss=loss, alpha=alpha, random_state=0)

    def learn(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Learn rows and return their scores from before their piece was learnt."""
        return in_pieces(self.model, X, y, PIECE, CLASSES, method="decision_function")


class Kernel:
    """A classifier of this library, row by row."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def learn(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Learn rows and return the score of each from before its own update."""
        return onkel.progressive(self.model, X, y, classes=CLASSES)

"""Problem: what is raced on, as far as contestants depend on it."""

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """Size and kind of a data set."""

    rows: int
    features: int
    classes: int  # 0 for regression

    @property
    def is_regression(self) -> bool:
        """Whether targets, not labels, are predicted."""
        return self.classes == 0

    def errors(self, said: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Per row: whether it was wrong, or how much, squared."""
        return (said - y) ** 2 if self.is_regression else (said != y).astype(float)

    @property
    def task(self) -> str:
        """With which names of scikit-learn's and of our estimators end."""
        return "Regressor" if self.is_regression else "Classifier"

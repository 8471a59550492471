"""Answers: what the rows of a race are asked for, as contestants see it."""

from typing import Any

import numpy as np


class Answers:
    """Labels or targets of a data set.

    Labels become numbers of classes. Targets are standardised for learning, with mean
    and standard deviation of the first rows; errors are in their own unit again.
    """

    def __init__(self, data: Any, first: np.ndarray) -> None:
        self._name = data.name
        if data.is_regression:
            self.classes, self.dtype = None, np.dtype(float)
            self._mean, self.unit = float(np.mean(first)), float(np.std(first)) or 1.0
        else:
            self.classes = np.asarray(data.classes)
            self.dtype, self.unit = self.classes.dtype, 1.0
            if len(self.classes) < 2:
                raise ValueError(
                    f"all rows of {data.name} have the label {self.classes[0]}: a "
                    "race needs two labels or more"
                )

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels or targets as contestants learn them."""
        if self.classes is None:
            return (y - self._mean) / self.unit
        codes = np.searchsorted(self.classes, y)
        codes = np.minimum(codes, len(self.classes) - 1)
        if (unknown := self.classes[codes] != y).any():
            raise ValueError(
                f"{self._name} has a row with the label {y[unknown][0]}, which is "
                "not among its classes"
            )
        return codes

    def decode(self, said: np.ndarray) -> np.ndarray:
        """Labels or targets as in the data set."""
        if self.classes is None:
            return said * self.unit + self._mean
        return self.classes[said]

"""The objective of kernel machines on a few rows: lambda/2 |w|^2 + mean loss."""

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

import onkel


class Objective:
    """The objective of models whose centres are rows that it knows.

    Parameters
    ----------
    X, y
        The rows; labels are -1 and 1.
    gamma, alpha
        Of the kernel and the norm.
    loss
        "hinge" or "log_loss".
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        gamma: float,
        alpha: float,
        loss: str = "hinge",
    ) -> None:
        self.y, self.alpha, self.loss = y, alpha, loss
        self.K = rbf_kernel(X, gamma=gamma)
        self.place = {row.tobytes(): i for i, row in enumerate(X)}

    def of_model(self, model: Any) -> float:
        """Return the objective of a fitted classifier."""
        coef = np.zeros(len(self.y))
        rows = np.ascontiguousarray(model.support_vectors_)
        for row, value in zip(rows, model.dual_coef_[0], strict=True):
            coef[self.place[row.tobytes()]] += value
        return self.of_coef(coef)

    def of_coef(self, coef: np.ndarray) -> float:
        """Return the objective of coefficients, one a row."""
        scores = self.K @ coef
        margins = self.y * scores
        lost = (
            np.maximum(0.0, 1.0 - margins)
            if self.loss == "hinge"
            else np.logaddexp(0.0, -margins)
        )
        return float(0.5 * self.alpha * coef @ scores + lost.mean())

    def best(self, X: np.ndarray, gamma: float, epochs: int) -> np.ndarray:
        """Return the coefficients of the hinge's minimum, by ascent in the dual."""
        exact = onkel.BSCAClassifier(
            C=1.0 / (self.alpha * len(self.y)),
            gamma=gamma,
            budget=None,
            average=None,
            max_iter=epochs,
            tol=0.0,
            random_state=0,
        ).fit(X, self.y)
        return np.asarray(exact.dual_variables_[0] * self.y)

"""Falkon in the manner of scikit-learn: kernel ridge regression on drawn centres."""

import math
from typing import Any

import numpy as np
import scipy.sparse

PENALTY = 1e-6  # of its own examples; it has no default


class Falkon:
    """Values, or scores of -1 and 1 for each class, whose largest is the answer."""

    def __init__(self, centers: int, is_regression: bool, seed: int) -> None:
        self.centers, self.is_regression, self.seed = centers, is_regression, seed

    def fit(self, X: Any, y: np.ndarray) -> "Falkon":
        """Solve with the width that SVC's gamma="scale" has on standardised rows."""
        import falkon

        targets = y[:, None]
        if not self.is_regression:
            self.classes_ = np.unique(y)
            targets = np.where(targets == self.classes_, 1.0, -1.0)
        sigma = math.sqrt(X.shape[1] / 2)
        self._model = falkon.Falkon(
            kernel=falkon.kernels.GaussianKernel(sigma=sigma),
            penalty=PENALTY,
            M=self.centers,
            seed=self.seed,
            options=falkon.FalkonOptions(use_cpu=True),
        )
        self._model.fit(_tensor(X), _tensor(targets))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Values or labels."""
        scores = np.asarray(self._model.predict(_tensor(X)))
        return scores[:, 0] if self.is_regression else self.classes_[scores.argmax(1)]


def _tensor(values: Any) -> Any:
    import torch

    dense = values.toarray() if scipy.sparse.issparse(values) else values
    return torch.from_numpy(np.ascontiguousarray(dense, np.float32))

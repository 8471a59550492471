"""What systems with random features share: the map, and what was learnt on it."""

import math
from typing import Any

import numpy as np

from onkel.estimators._base import KernelEstimator
from onkel.estimators._parameters import TEXTS
from onkel.features import fourier
from onkel.features.fourier import Fourier
from onkel.features.identity import Identity
from onkel.kernels import Kernel

# Kernels with explicit features: Fourier features, or the rows themselves.
EXPLICIT = ("rbf", "laplacian", "linear")
KERNEL = "rbf exp(-gamma |x-z|^2), laplacian exp(-gamma |x-z|_1), or linear <x,z>."
# Of transformers, which know no streams.
WIDTH = (
    'Kernel coefficient. "scale": 1/(features * variance of X). "median": 1 over the '
    "median squared distance."
)
SAYINGS = {**TEXTS, "kernel": KERNEL}


def drawn(
    estimator: Any, X: Any, gamma: float, rng: np.random.Generator
) -> tuple[Fourier, np.ndarray]:
    """Fourier features of the parameters, and their frequencies."""
    count, inputs = int(estimator.n_components), X.shape[1]
    if count % 2:
        raise ValueError(
            "n_components must be even, because features come as pairs of a cosine and "
            f"a sine; got {count}"
        )
    orthogonal = estimator.features == "orthogonal"
    if orthogonal and estimator.kernel != "rbf":
        raise ValueError(
            f'features="orthogonal" needs kernel="rbf", got kernel={estimator.kernel!r}'
        )
    frequencies = fourier.draw(
        estimator.kernel, gamma, count, inputs, rng, orthogonal=orthogonal
    )
    # Angles must be finite, for all rows that are not refused.
    limit = math.sqrt(float(np.finfo(X.dtype).max) / inputs)
    return Fourier(count), np.clip(frequencies, -limit, limit).astype(X.dtype)


class Featured(KernelEstimator):
    """A system with explicit features."""

    @property
    def frequencies_(self) -> np.ndarray:
        """Frequencies of the features, shape (n_components / 2, n_features_in_).

        Features are cos(X @ frequencies_.T), then sin of the same, over
        sqrt(n_components / 2). With the linear kernel there are none.
        """
        learner = self._fitted()
        mapping = learner.model.mapping
        count = mapping.size // 2 if isinstance(mapping, Fourier) else 0
        return np.array(learner.model.points[:count], order="C")

    @property
    def feature_coef_(self) -> np.ndarray:
        """Coefficients of the features, shape (outputs, features)."""
        return self._fitted().weights

    def _mapping(
        self, X: Any, kernel: Kernel, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray | None]:
        if self.kernel == "linear":
            return Identity(X.shape[1]), None
        return drawn(self, X, kernel.gamma, rng)

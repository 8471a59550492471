"""What systems with random features share: the map, and what was learnt on it."""

import math
from typing import Any

import numpy as np

from onkel.estimators._groups import RadialKernel
from onkel.estimators._parameters import (
    UP_TO_A_MILLION,
    group,
    one_of,
    parameter,
)
from onkel.estimators._recipe import RecipeEstimator
from onkel.features import fourier
from onkel.features.fourier import Fourier
from onkel.features.identity import Identity
from onkel.problem.kernels import Kernel

# Kernels with explicit features: Fourier features, or the rows themselves.
EXPLICIT = ("rbf", "laplacian", "linear")


def checked_width(estimator: Any) -> int:
    """Return the number of Fourier features, which must be even."""
    count = int(estimator.n_components)
    if count % 2:
        raise ValueError(
            "n_components must be even, because features come as pairs of a cosine and "
            f"a sine; got {count}"
        )
    return count


def drawn(
    estimator: Any, X: Any, gamma: float, rng: np.random.Generator
) -> tuple[Fourier, np.ndarray]:
    """Fourier features of the parameters, and their frequencies."""
    count, inputs = checked_width(estimator), X.shape[1]
    orthogonal = estimator.features == "orthogonal"
    if orthogonal and estimator.kernel != "rbf":
        raise ValueError(
            f'features="orthogonal" needs kernel="rbf", got kernel={estimator.kernel!r}'
        )
    frequencies = fourier.draw(
        estimator.kernel, gamma, count, inputs, rng, orthogonal=orthogonal
    )
    return Fourier(count), limited(frequencies, inputs, X.dtype)


def limited(frequencies: np.ndarray, inputs: int, dtype: Any) -> np.ndarray:
    """Frequencies whose angles are finite, for all rows that are not refused."""
    limit = math.sqrt(float(np.finfo(dtype).max) / inputs)
    return np.clip(frequencies, -limit, limit).astype(dtype)


@group
class FourierMap(RadialKernel):
    """Random features, and how many."""

    n_components: int = parameter(
        UP_TO_A_MILLION,
        default=1000,
        text="Number of features, half of them cosines and half sines: an even number.",
    )
    features: str = parameter(
        one_of({"fourier", "orthogonal"}),
        default="fourier",
        text='"fourier": independent frequencies. "orthogonal": frequencies at right '
        "angles to each other, whose kernel values vary less (rbf kernel). Not used "
        "with the linear kernel.",
    )


@group
class Featured(FourierMap, RecipeEstimator):
    """A system with explicit features."""

    kernel: str = parameter(
        one_of(EXPLICIT),
        default="rbf",
        text="rbf exp(-gamma |x-z|^2), laplacian exp(-gamma |x-z|_1), or linear <x,z>.",
    )
    n_components: int = parameter(
        default=1000,
        text="Number of features, half of them cosines and half sines: an even number. "
        "Not used with the linear kernel, for which the rows are their own features.",
    )

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

    def _blank_mapping(self, features: int) -> Any:
        if self.kernel == "linear":
            return Identity(features)
        return Fourier(checked_width(self))

    def _mapping(
        self, X: Any, kernel: Kernel, rng: np.random.Generator
    ) -> tuple[Any, np.ndarray | None]:
        if self.kernel == "linear":
            return Identity(X.shape[1]), None
        return drawn(self, X, kernel.gamma, rng)

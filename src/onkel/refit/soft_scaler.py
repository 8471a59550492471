"""Scale of features: even near their mean, logarithmic far from it.

    z = arcsinh((x - mean) / spread),    spread = sqrt(pi / 2) mean |x - mean|

Many features are small in most rows and a thousand times larger in some: counts,
durations, sums of money. Divided by their standard deviation most rows would lie close
together, and the others apart from everything. The spread is the standard deviation of
what is normal, and less than it of what has long tails.
"""

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

# Rows that are looked at together, so that there is no copy of all in double precision.
CHUNK = 8192
# Share of the mean that rounding leaves of a constant.
ROUNDING = 1e-7
OF_NORMAL = math.sqrt(math.pi / 2.0)


class SoftScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardises dense rows, and draws in what is far out.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [1001.0]])
    >>> SoftScaler().fit_transform(X).round(1).ravel().tolist()
    [-0.5, -0.5, -0.5, 1.2]
    """

    def fit(self, X: np.ndarray, y: Any = None) -> "SoftScaler":
        """Find mean and spread."""
        mean, apart = X.mean(axis=0, dtype=np.float64), np.zeros(X.shape[1])
        for first in range(0, len(X), CHUNK):
            apart += np.abs(X[first : first + CHUNK] - mean).sum(axis=0)
        apart /= max(len(X), 1)
        self.mean_, self.n_features_in_ = mean, X.shape[1]
        self.scale_ = np.where(apart > ROUNDING * np.abs(mean), OF_NORMAL * apart, 1.0)
        self.n_samples_seen_ = len(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Scale rows, in double precision."""
        return np.arcsinh((X - self.mean_) / self.scale_)

    def inverse_transform(self, X: np.ndarray) -> np.ndarray:
        """Rows as they were."""
        return np.sinh(X.astype(np.float64)) * self.scale_ + self.mean_

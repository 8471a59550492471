"""Nystrom features, for any linear model.

    z(x) = diag(lambda)^(-1/2) V' k_B(x),    K_BB = V diag(lambda) V',

with the kernel values k_B(x) of x and B landmarks. If no eigenvalue is cut, the dot
products of the landmarks' features are their kernel values. Those below 1e-10 of the
largest are cut, and more where kernel values are noisy (`features/nystrom.py`).
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onkel.engine.mapper import Mapper
from onkel.estimators._groups import Seeded
from onkel.estimators._nystrom import Landmarks, checked_rank
from onkel.estimators._parameters import parameter, system
from onkel.estimators._transformer import MapTransformer
from onkel.features.nystrom import SMALLEST_SHARE, Nystrom
from onkel.problem.kernels import Kernel


@system()
class NystromFeatures(
    Landmarks,
    Seeded,
    MapTransformer,
):
    """Features whose dot products approximate a kernel, from landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import NystromFeatures
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> features = NystromFeatures(gamma=0.5, budget=20, landmarks="first").fit(X)
    >>> Z = features.transform(X[:20])
    >>> squared = ((X[0] - X[1]) ** 2).sum()
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5 * squared)) < 1e-6)
    True
    """

    gamma: str | float = parameter(
        default="scale",
        text='Kernel coefficient. "scale": 1/(features * variance of X). "median": 1 '
        "over the median squared distance.",
    )
    random_state: Any = parameter(default=None, text="Seed of the landmarks.")

    @property
    def landmarks_(self) -> np.ndarray:
        """Landmarks, shape (at most budget, n_features_in_)."""
        check_is_fitted(self)
        return self._mapper.points.copy()

    def _map(self, X: Any, kernel: Kernel, rng: np.random.Generator) -> Mapper:
        return self._mapper_of(X, kernel, rng, SMALLEST_SHARE)

    def _blank(self, features: int, dtype: Any, like: Any) -> Mapper:
        """Make an empty map of the parameters, for a model file to fill."""
        self._settle_gamma(like.kernel)
        self._check_parameters()
        count, rank = like.mapping.matrix.shape
        most = min(count, checked_rank(self, default=int(self.budget)))
        if not 1 <= rank <= most or not count == len(like.points) <= self.budget:
            raise ValueError(f"{rank} features of {count} landmarks are not its own")
        points = np.zeros((count, features), dtype)
        matrix = np.zeros((count, rank), dtype)
        return Mapper(Nystrom(matrix), self._kernel(points), points)

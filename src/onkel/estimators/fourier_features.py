"""Random Fourier features, for any linear model.

    z(x) = [cos(omega_j x), sin(omega_j x)] / sqrt(L),  j = 1, ..., L = n_components / 2

with frequencies omega_j from the kernel's Fourier transform, so that <z(x), z(x')> has
the mean k(x, x'). Their standard deviation for the rbf kernel is sqrt(2 gamma).
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onkel.engine.mapper import Mapper
from onkel.estimators._features import FourierMap, checked_width, drawn
from onkel.estimators._groups import Seeded
from onkel.estimators._parameters import one_of, parameter, system
from onkel.estimators._transformer import MapTransformer
from onkel.features.fourier import Fourier
from onkel.problem.kernels import Kernel


@system()
class FourierFeatures(
    FourierMap,
    Seeded,
    MapTransformer,
):
    """Features whose dot products approximate a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from onkel import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = FourierFeatures(gamma=0.5, n_components=4000, random_state=0)
    >>> Z = features.fit_transform(X)
    >>> squared = ((X[0] - X[1]) ** 2).sum()
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5 * squared)) < 0.05)
    True
    """

    kernel: str = parameter(
        one_of({"rbf", "laplacian"}),
        default="rbf",
        text="rbf exp(-gamma |x-z|^2), or laplacian exp(-gamma |x-z|_1).",
    )
    gamma: str | float = parameter(
        default="scale",
        text='Kernel coefficient. "scale": 1/(features * variance of X). "median": 1 '
        "over the median squared distance.",
    )
    random_state: Any = parameter(default=None, text="Seed of the frequencies.")

    @property
    def frequencies_(self) -> np.ndarray:
        """Frequencies, shape (n_components / 2, n_features_in_)."""
        check_is_fitted(self)
        return self._mapper.points.copy()

    def _map(self, X: Any, kernel: Kernel, rng: np.random.Generator) -> Mapper:
        mapping, frequencies = drawn(self, X, kernel.gamma, rng)
        return Mapper(mapping, kernel, frequencies)

    def _blank(self, features: int, dtype: Any, like: Any) -> Mapper:
        """Make an empty map of the parameters, for a model file to fill."""
        self._settle_gamma(like.kernel)
        self._check_parameters()
        width = checked_width(self)
        if len(like.points) != width // 2:
            raise ValueError(f"{len(like.points)} frequencies do not give its features")
        points = np.zeros((width // 2, features), dtype)
        return Mapper(Fourier(width), self._kernel(points), points)

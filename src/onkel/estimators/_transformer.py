"""What feature maps share that are transformers."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from onkel.engine.mapper import Mapper
from onkel.estimators._checks import CheckedEstimator
from onkel.features.dispatch import width
from onkel.problem.kernels import Kernel


class MapTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, CheckedEstimator
):
    """A feature map for any linear model."""

    _mapper: Mapper

    @abstractmethod
    def _map(self, X: Any, kernel: Kernel, rng: np.random.Generator) -> Mapper:
        """Make the map for rows like these."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose what the features are made of: frequencies, or landmarks.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : ignored
            For pipelines.

        Returns
        -------
        self
            The fitted transformer.
        """
        with self._draft() as draft:
            draft._check_parameters()
            X = draft._checked_rows(X, reset=True)
            kernel = draft._kernel(X)
            draft._mapper = draft._map(X, kernel, draft._seeds()[2])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Map rows to their features.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        features of shape (n_samples, number of features)
            Cosines, then sines; or those of the largest eigenvalues first.
        """
        check_is_fitted(self)
        still = self._still()
        return still._mapper.transform(still._checked_rows(X), still._n_jobs())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_mapper")

    @property
    def _dtype(self) -> Any:
        return self._mapper.points.dtype

    @property
    def _n_features_out(self) -> int:
        return int(width(self._mapper.mapping))

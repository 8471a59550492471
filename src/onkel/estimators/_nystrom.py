"""Landmarks, and the Nystrom features that they give."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from onkel.engine.evaluation import gram_of, largest_score, norms_of
from onkel.engine.mapper import Mapper
from onkel.engine.threads import blas_in_one_thread
from onkel.estimators._entries import narrow
from onkel.estimators._groups import AnyKernel, Budgeted
from onkel.estimators._parameters import FROM_ONE, group, one_of, parameter
from onkel.features import nystrom
from onkel.features.nystrom import Nystrom
from onkel.problem.kernels import Kernel

# As in the paper on LLSVM; more hardly change the landmarks.
KMEANS_STEPS = 10
# Rows a landmark that k-means gets to see: means of more would be no better, and it
# would take longer than everything else.
KMEANS_ROWS = 20


def checked_rank(estimator: Any, default: int) -> int:
    """Rank of the parameters, which the budget limits."""
    rank = default if estimator.rank is None else int(estimator.rank)
    if rank > estimator.budget:
        raise ValueError(
            f"rank must be at most budget, got rank={rank}, budget={estimator.budget}"
        )
    return rank


@group
class Landmarks(Budgeted, AnyKernel):
    """Points whose kernel values are the features of a row."""

    budget: int = parameter(
        default=500,
        text="Number of landmarks; all rows if there are fewer.",
    )
    rank: int | None = parameter(
        FROM_ONE,
        None,
        default=None,
        text="Largest number of features, at most the budget; None for the budget.",
    )
    landmarks: str = parameter(
        one_of({"kmeans", "uniform", "first"}),
        default="kmeans",
        text='Which points. "kmeans": the centres of k-means (on at most 20 rows for '
        'each). "uniform": rows at random. "first": the first rows.',
    )

    def _landmarks_of(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        """Landmarks, of the precision of X."""
        count = min(self.budget, X.shape[0])
        if self.landmarks == "kmeans" and count < X.shape[0]:
            seed = int(rng.integers(2**31))
            if X.shape[0] > KMEANS_ROWS * count:
                some = rng.choice(X.shape[0], KMEANS_ROWS * count, replace=False)
                X = X[np.sort(some)]
            if scipy.sparse.issparse(X):
                X = narrow(X)
            from sklearn.cluster import KMeans  # slow to import

            means = KMeans(count, n_init=1, max_iter=KMEANS_STEPS, random_state=seed)
            # Its threads would change the sums, and so the landmarks.
            with blas_in_one_thread, warnings.catch_warnings():
                # Of fewer distinct rows than landmarks: then there are fewer landmarks.
                warnings.simplefilter("ignore", ConvergenceWarning)
                # In single precision it computes distances several times as long.
                centers = means.fit(X.astype(np.float64)).cluster_centers_
            return np.ascontiguousarray(np.unique(centers, axis=0), X.dtype)
        if self.landmarks == "uniform":
            X = X[np.sort(rng.choice(X.shape[0], count, replace=False))]
        X = X[:count]
        # A copy: the rows are the caller's, who may change them.
        return np.array(X.toarray() if scipy.sparse.issparse(X) else X, order="C")

    def _mapper_of(
        self, X: Any, kernel: Kernel, rng: np.random.Generator, share: float
    ) -> Mapper:
        """Nystrom features of the parameters.

        Eigenvalues below that share of the largest are cut, and those that are
        rounding.
        """
        rank = checked_rank(self, default=self.budget)
        points = self._landmarks_of(X, rng)
        gram = gram_of(kernel, points.astype(np.float64))
        if not np.abs(gram).max() < largest_score(points):
            raise ValueError(
                "The kernel values of the landmarks overflow. Scale the features, for "
                "example with StandardScaler, or choose a smaller gamma or degree."
            )
        noise = nystrom.noise_of(kernel, norms_of(kernel, points))
        factor = nystrom.factor(gram, rank, nystrom.share_of(noise, share))
        matrix = factor.matrix.astype(points.dtype)
        return Mapper(Nystrom(matrix), kernel, points)

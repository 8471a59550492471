"""Sample: the rows with which parameters are searched for."""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances

HELD_OUT, SPLITS = 0.25, 3


class Sample(NamedTuple):
    """Rows to search with."""

    X: Any
    y: np.ndarray
    is_regression: bool

    def error(self, predicted: np.ndarray, truth: np.ndarray) -> float:
        """Share of mistakes, or root mean squared error."""
        if self.is_regression:
            return float(np.sqrt(np.mean((predicted - truth) ** 2)))
        return float(np.mean(predicted != truth))

    def held_out(self, model: Any, split: tuple[np.ndarray, np.ndarray]) -> float:
        """Error on the rows to test of a model that learns the others."""
        learnt, tested = split
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.X[learnt], self.y[learnt])
        return self.error(model.predict(self.X[tested]), self.y[tested])

    def splits(self, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to learn and rows to test, several times."""
        rng = np.random.default_rng(seed)
        for _ in range(SPLITS):
            rows = rng.permutation(len(self.y))
            yield np.split(rows, [self.learnt_rows])  # type: ignore[misc]

    @property
    def learnt_rows(self) -> int:
        """How many rows of a split are learnt."""
        return round((1.0 - HELD_OUT) * len(self.y))

    @property
    def distances(self) -> tuple[float, float]:
        """Mean and standard deviation of the distances of rows."""
        some = self.X[:1000]
        distances = euclidean_distances(some)[np.triu_indices(some.shape[0], 1)]
        return float(distances.mean()), float(distances.std())

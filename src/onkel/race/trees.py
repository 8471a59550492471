"""Trees to beat: LightGBM's and River's, where these are installed."""

import pickle
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from onkel.data.shuffling import bytes_of
from onkel.race.problem import Problem

FIRST_FIT = 128  # rows seen, after which boosted trees are first fitted
KEPT_ROWS, KEPT_BYTES = 50_000, 2**28  # the last rows that they are fitted on


class Boosted:
    """LightGBM, which cannot learn online: fitted anew when the rows have doubled."""

    size = updates = None

    def __init__(self, problem: Problem, seed: int) -> None:
        import lightgbm

        self._lightgbm = lightgbm
        objective = {0: "regression", 2: "binary"}.get(problem.classes, "multiclass")
        self._parameters: dict[str, Any] = {
            "objective": objective,
            "seed": seed,
            "num_threads": 1,
            "verbosity": -1,
        }
        if objective == "multiclass":
            self._parameters["num_class"] = problem.classes
        self._is_regression = problem.is_regression
        self._model: Any = None
        self._seen, self._next_fit = 0, FIRST_FIT
        self._kept: deque[tuple[Any, np.ndarray]] = deque()

    def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn rows; return what the trees of the last fit predicted for them."""
        if scipy.sparse.issparse(X):
            X = scipy.sparse.csr_matrix(X)  # the only kind that it knows
        predicted, start = np.zeros_like(y), 0
        while start < len(y):
            rows = slice(start, min(len(y), start + self._next_fit - self._seen))
            if self._model is not None:
                predicted[rows] = self._predict(X[rows])
            self._keep(X[rows], y[rows])
            self._seen += rows.stop - start
            start = rows.stop
            if self._seen == self._next_fit:
                self._fit()
                self._next_fit *= 2
        return predicted

    def _predict(self, X: Any) -> np.ndarray:
        scores = np.asarray(self._model.predict(X))
        if self._is_regression:
            return scores
        return scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.5).astype(int)

    def _keep(self, X: Any, y: np.ndarray) -> None:
        self._kept.append((X, y))
        rows = sum(len(y) for _, y in self._kept)
        per_row = sum(bytes_of(X) for X, _ in self._kept) / rows
        most = min(KEPT_ROWS, int(KEPT_BYTES / max(per_row, 1)))
        while rows > most:
            X, y = self._kept.popleft()
            spare = rows - most
            if spare < len(y):
                self._kept.appendleft((X[spare:].copy(), y[spare:]))
            rows -= min(spare, len(y))

    def _fit(self) -> None:
        stack = scipy.sparse.vstack if scipy.sparse.issparse(self._kept[0][0]) else None
        X = (stack or np.vstack)([X for X, _ in self._kept])
        y = np.concatenate([y for _, y in self._kept])
        rows = self._lightgbm.Dataset(X, y, params=self._parameters)
        self._model = self._lightgbm.train(self._parameters, rows)

    @property
    def memory(self) -> int:
        """Bytes of the trees, and of the rows that are kept for the next fit."""
        rows = sum(bytes_of(X) + y.nbytes for X, y in self._kept)
        return rows + len(pickle.dumps(self._model))


def _named(X: Any) -> Iterator[dict[int, float]]:
    """Rows as River takes them."""
    if scipy.sparse.issparse(X):
        X = X.toarray()
    for row in X.tolist():
        yield dict(enumerate(row))


class RiverTrees:
    """A model of River, row by row."""

    size = updates = None

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn rows; return what was predicted for each before its own update."""
        predicted = np.zeros_like(y)
        for i, (row, label) in enumerate(zip(_named(X), y.tolist(), strict=True)):
            # None from a classifier that has seen nothing
            predicted[i] = self._model.predict_one(row) or 0
            self._model.learn_one(row, label)
        return predicted

    @property
    def memory(self) -> int:
        """Bytes of the trees."""
        return len(pickle.dumps(self._model))


def tree(problem: Problem, seed: int) -> RiverTrees:
    """River's tree that replaces branches when they go wrong."""
    import river.tree

    kind = getattr(river.tree, f"HoeffdingAdaptiveTree{problem.task}")
    return RiverTrees(kind(seed=seed))


def forest(problem: Problem, seed: int) -> RiverTrees:
    """River's adaptive random forest, of ten trees."""
    import river.forest

    return RiverTrees(getattr(river.forest, f"ARF{problem.task}")(seed=seed))

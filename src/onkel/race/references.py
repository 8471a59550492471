"""Whom the systems have to beat: from a constant to boosted trees.

None of them is ours, and two of them, LightGBM and River, run only where they are
installed.
"""

import importlib.util
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier, SGDRegressor

from onkel.race.entrants import Contestant, Entrant, StartList
from onkel.race.problem import Problem
from onkel.race.trees import FIRST_FIT, KEPT_ROWS, Boosted, forest, tree
from onkel.stream.pieces import in_pieces

CONSTANT, LINEAR, SAMPLED = "constant", "linear SGD", "RBFSampler + SGD"
BOOSTED, TREE, FOREST = "LightGBM", "River HAT", "River ARF"
# Rows that scikit-learn's models predict, then learn, at a time: row by row the calls
# would cost far more than the models. More of them in a long race.
PIECE, PIECE_OF_MANY, MANY_ROWS = 32, 256, 200_000
FOREST_ROWS = 10_000  # of the longest race of a forest
MOST_FEATURES = 1000  # of River's trees, which look at each of them in turn
INSTALL = 'pip install "onkel[rivals]"'


def piece_for(rows: int) -> int:
    """Rows at a time of scikit-learn's models in a race of so many rows."""
    return PIECE if rows <= MANY_ROWS else PIECE_OF_MANY


class Constant:
    """The label that was most frequent so far, the smallest of several; or the mean.

    Examples
    --------
    >>> labels = Constant(Problem(rows=6, features=1, classes=3))
    >>> labels.predict_then_learn(None, np.array([2, 2, 0, 0, 0, 0])).tolist()
    [0, 2, 2, 2, 0, 0]
    >>> targets = Constant(Problem(rows=3, features=1, classes=0))
    >>> targets.predict_then_learn(None, np.array([1.0, 3.0, 5.0])).tolist()
    [0.0, 1.0, 2.0]
    """

    size = updates = None

    def __init__(self, problem: Problem) -> None:
        self._is_regression = problem.is_regression
        self._seen = 0
        self._total: Any = np.zeros(max(problem.classes, 1))

    def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn rows; return what was predicted for each before its own update."""
        if self._is_regression:
            came = y[:, None].astype(float)
        else:
            came = y[:, None] == np.arange(len(self._total))
        after = self._total + np.cumsum(came, axis=0)
        before = np.vstack([self._total, after[:-1]])
        seen = self._seen + np.arange(len(y))
        self._total, self._seen = after[-1], self._seen + len(y)
        if self._is_regression:
            return before[:, 0] / np.maximum(seen, 1)
        return before.argmax(axis=1)

    @property
    def memory(self) -> int:
        """Bytes of the counts."""
        return len(pickle.dumps(self._total))


def _sampled(sampler: RBFSampler, rows: Any) -> np.ndarray:
    """Random features of rows, which are drawn with the first of them."""
    if not hasattr(sampler, "random_weights_"):
        sampler.fit(rows)
    return sampler.transform(rows)


class Linear:
    """scikit-learn's linear SGD, a few rows at a time, on features if one wants."""

    updates = None

    def __init__(
        self, problem: Problem, seed: int, sampler: RBFSampler | None = None
    ) -> None:
        make = SGDRegressor if problem.is_regression else SGDClassifier
        self._model = make(random_state=seed)
        self._sampler = sampler
        self._piece = piece_for(problem.rows)
        self._classes = None if problem.is_regression else np.arange(problem.classes)
        self.size: int | None = None if sampler is None else sampler.n_components

    def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn rows; return what was predicted before their piece was learnt."""
        sampler = self._sampler
        transform = None if sampler is None else partial(_sampled, sampler)
        return in_pieces(
            self._model, X, y, self._piece, self._classes, transform=transform
        )

    @property
    def memory(self) -> int:
        """Bytes of the model and of the weights of its features."""
        return len(pickle.dumps((self._model, self._sampler)))


class Installable(NamedTuple):
    """A reference of a package that need not be installed."""

    name: str
    package: str
    model: str  # with its parameters, as one would write it down
    make: Callable[[Problem, int], Contestant]  # with a seed

    def why_not(self, problem: Problem) -> str | None:
        """Why it does not start, if it does not."""
        if importlib.util.find_spec(self.package) is None:
            return f"is not installed: {INSTALL}"
        if self.package == "river" and problem.features > MOST_FEATURES:
            return f"would take too long with over {MOST_FEATURES} features"
        if self.name == FOREST and problem.rows > FOREST_ROWS:
            return (
                "takes a millisecond or two per row, and there are more than "
                f"{FOREST_ROWS:,} rows"
            )
        return None


def _always_there(problem: Problem, budget: int, gamma: float) -> list[Entrant]:
    """Return those that need nothing but scikit-learn."""
    piece = f"in batches of {piece_for(problem.rows)} rows"
    said = "running mean" if problem.is_regression else "most frequent label so far"
    linear = f"SGD{problem.task}() {piece}"
    sampler = f"RBFSampler(gamma={gamma:.4g}, n_components={budget})"

    def sampled(seed: int) -> Contestant:
        made = RBFSampler(gamma=gamma, n_components=budget, random_state=seed)
        return Linear(problem, seed, made)

    entrant = partial(Entrant, is_reference=True)
    return [
        entrant(CONSTANT, said, lambda seed: Constant(problem)),
        entrant(LINEAR, linear, partial(Linear, problem)),
        entrant(SAMPLED, f"{sampler}, {linear}", sampled, budget=budget),
    ]


def references(problem: Problem, budget: int, gamma: float) -> StartList:
    """Enter the references that can run here; random features are a budget of them.

    Examples
    --------
    >>> starting = references(Problem(1000, 10, classes=2), budget=100, gamma=1.0)
    >>> [entrant.name for entrant in starting.entrants][:3]
    ['constant', 'linear SGD', 'RBFSampler + SGD']
    """
    fitted_anew = (
        f"100 trees, fitted anew on the last {KEPT_ROWS:,} rows whenever the rows "
        f"have doubled, first after {FIRST_FIT}"
    )
    hoeffding = f"tree.HoeffdingAdaptiveTree{problem.task}()"
    adaptive = f"forest.ARF{problem.task}(), ten trees"
    entrants, left_out = _always_there(problem, budget, gamma), {}
    for one in (
        Installable(BOOSTED, "lightgbm", fitted_anew, Boosted),
        Installable(TREE, "river", hoeffding, tree),
        Installable(FOREST, "river", adaptive, forest),
    ):
        if (reason := one.why_not(problem)) is not None:
            left_out[one.name] = reason
        else:
            make = partial(one.make, problem)
            entrants.append(Entrant(one.name, one.model, make, is_reference=True))
    return StartList(entrants, left_out)

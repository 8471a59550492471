"""Who races for the library: every system that learns from a stream, at one budget."""

import inspect
import math
import pickle
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

import onkel
from onkel.estimators._registry import systems, variants
from onkel.race.entrants import Entrant, StartList
from onkel.race.problem import Problem

# Systems without a budget cost ever more per row: longer races leave them out.
UNBUDGETED_ROWS = 20_000
# Of the budget of a system with centres and features, the part that is centres; as in
# the defaults of the two that have both.
CENTRE_SHARE = 0.2
# Kernel value of a core and the edge of its cell: so small a cell that the budget, as
# with all others, and not the radius says how many cores there are. Chosen on ijcnn1,
# cod-rna, magic04, digits and the turning rings, where 0.5 was worse.
EDGE = 0.9
# A warm-up makes everything that a race runs, the phase after the budget is full too.
WARM_UP_BUDGET, WARM_UP_ROWS = 16, 256


class StreamedEstimator:
    """A system of the library, row by row.

    Examples
    --------
    >>> model = onkel.RBPClassifier(budget=2, gamma=1.0, random_state=0)
    >>> X, y = np.array([[0.0], [1.0], [0.0]]), np.array([1, 0, 1])
    >>> StreamedEstimator(model, classes=2).predict_then_learn(X, y).tolist()
    [0, 1, 1]
    """

    def __init__(self, model: Any, classes: int) -> None:
        self.model = model  # unfitted
        self._classes = np.arange(classes) if classes else None

    def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        """Learn rows; return what was predicted for each before its own update."""
        if self._classes is None:
            return onkel.progressive(self.model, X, y)
        scores = onkel.progressive(self.model, X, y, classes=self._classes)
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return best.astype(np.int64)

    @property
    def size(self) -> int:
        """Centres and features."""
        return self.model.model_size_ + getattr(self.model, "n_components", 0)

    @property
    def updates(self) -> int:
        """Rows that changed the model."""
        return self.model.n_updates_

    @property
    def memory(self) -> int:
        """Bytes of everything that the model needs to go on learning."""
        return len(pickle.dumps(self.model))


def _shared(known: Iterable[str], budget: int, gamma: float) -> dict[str, Any]:
    """Parameters that are the same for all, of those that a system knows."""
    known = set(known)
    centres = budget
    if {"budget", "n_components"} <= known:
        centres = max(1, round(CENTRE_SHARE * budget))
    shared = {
        "budget": centres,
        "max_core": centres,
        "n_components": budget - centres if "budget" in known else budget,
        "merge_size": max(1, centres // 5),
        "coverage_radius": math.sqrt(-math.log(EDGE) / gamma),
        "gamma": gamma,
    }
    return {name: value for name, value in shared.items() if name in known}


def small(model: Any) -> Any:
    """Return a copy with so small a budget that a warm-up fills it."""
    given = model.get_params(deep=False)
    limits = {
        name: min(given[name], WARM_UP_BUDGET)
        for name in ("budget", "max_core", "merge_size")
        if given.get(name) is not None
    }
    return clone(model).set_params(**limits)


def in_a_line(model: Any) -> str:
    """Write a model down, with those of its parameters that are not its defaults."""
    return " ".join(repr(model).split())


def _entrant(name: str, model: Any, classes: int) -> Entrant:
    parameters = model.get_params()
    centres = parameters.get("budget", parameters.get("max_core"))
    features = parameters.get("n_components")
    budget = (centres or 0) + (features or 0) or None

    def make(seed: int) -> StreamedEstimator:
        return StreamedEstimator(clone(model).set_params(random_state=seed), classes)

    def warm_up(X: Any, y: np.ndarray) -> None:
        fresh = small(model).set_params(random_state=0)
        StreamedEstimator(fresh, classes).predict_then_learn(X, y)

    # Who fits itself anew as it goes takes as long as all others together.
    fits_anew = "time_limit" in parameters
    return Entrant(
        name,
        in_a_line(model),
        make,
        budget,
        takes_longest=fits_anew,
        warm_up=warm_up,
    )


def library(problem: Problem, budget: int, gamma: float) -> StartList:
    """Enter every system of the library that can learn the problem from a stream.

    Examples
    --------
    >>> starting = library(Problem(50_000, 10, classes=2), budget=100, gamma=1.0)
    >>> [entrant.name for entrant in starting.entrants][:4]
    ['AVM', 'BOGD', 'BOGD++', 'BPA-S']
    >>> starting.left_out["LLSVM"]
    'has no partial_fit: it needs all rows at once'
    """
    entrants, left_out = [], {}
    for public, system in systems(problem.task).items():
        name = public.removesuffix(problem.task)
        if not hasattr(system, "partial_fit"):
            left_out[name] = "has no partial_fit: it needs all rows at once"
            continue
        common = _shared(inspect.signature(system).parameters, budget, gamma)
        common |= system._suited(problem.rows, problem.is_regression)
        for start, own in variants(system).items():
            entrant = _entrant(start, system(**common | own), problem.classes)
            if entrant.budget is None and problem.rows > UNBUDGETED_ROWS:
                left_out[start] = (
                    "has no budget: its model and its cost per row grow with the rows, "
                    f"of which there are more than {UNBUDGETED_ROWS:,}"
                )
            else:
                entrants.append(entrant)
    return StartList(entrants, left_out)

"""Pupils: models that are to learn the same rows, and what becomes of them.

A GPU can teach those whose learner `refusal` has nothing against.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.discard import Discard
from onkel.budget.forget import Forget
from onkel.budget.linear import Linear
from onkel.budget.merge import Merge
from onkel.budget.remove import Remove
from onkel.budget.sample import AsPrinted, Uniform, Weighted
from onkel.engine.learner import Learner, same_generator
from onkel.engine.plan import Plan
from onkel.features.absent import Absent
from onkel.features.fourier import Fourier
from onkel.model.averages import Last

TAUGHT = (Discard, Forget, Uniform, Weighted, AsPrinted, Remove, Merge, Linear)
# Threads of a block share a row, and each keeps the row's scores.
MOST_FEATURES, MOST_OUTPUTS = 8192, 32


class RefusedError(ValueError):
    """A model that a GPU cannot teach."""


class Pupil(NamedTuple):
    """A model, and the rows in the order in which it gets them."""

    learner: Learner  # which has learnt nothing yet, and stays so
    order: np.ndarray  # shape (steps,)

    def draws(self, count: int) -> np.ndarray:
        """Return the numbers that its strategy may draw."""
        return same_generator(self.learner.rng).random(count)


class Lesson(NamedTuple):
    """Rows that all pupils get, learnt at first, then only scored."""

    X: Any  # shape (rows, features)
    y: np.ndarray  # shape (rows,), as compiled code reads it
    steps: int  # rows that each gets
    learnt: int  # of these
    first: int  # step whose scores are the first that are kept


class Outcome(NamedTuple):
    """What became of each pupil."""

    scores: np.ndarray  # shape (pupils, steps - first, outputs), each before its update
    mistakes: np.ndarray  # shape (pupils,): rows learnt whose label was not predicted
    squared: np.ndarray  # shape (pupils,): squared errors of the rows learnt
    done: np.ndarray  # shape (pupils,): steps before scores overflowed


def kind_of(learner: Learner) -> type:
    """Return the type of the strategy that says who leaves."""
    budget = learner.budget
    return type(budget.maintenance if isinstance(budget, Bernoulli) else budget)


def refusal(learner: Learner) -> str | None:
    """Why a GPU cannot teach this learner, None if it can.

    Examples
    --------
    >>> from onkel.budget.grow import Grow
    >>> from onkel.engine.learner import Learner, Shape
    >>> from onkel.engine.recipe import Recipe
    >>> from onkel.problem import kernels, losses, rates, steps
    >>> kernel = kernels.make("rbf", 0.5, 3, 1.0)
    >>> plan = Plan(
    ...     kernel, losses.make("hinge"), rates.constant(), steps.gradient(), 0.0
    ... )
    >>> rng, shape = np.random.default_rng(0), Shape(1, 2, np.float32)
    >>> refusal(Learner(Recipe(plan, Discard(10)), shape, rng))
    >>> refusal(Learner(Recipe(plan, Grow()), shape, rng))
    'its budget is kept otherwise (Grow)'
    """
    model, plan = learner.model, learner.plan
    if type(plan) is not Plan or kind_of(learner) not in TAUGHT:
        return f"its budget is kept otherwise ({kind_of(learner).__name__})"
    if isinstance(learner.budget, Bernoulli) and not np.isinf(learner.budget.rate):
        return "its budget grows"
    if plan.ball or plan.every_row:
        return "it is projected on a ball"
    if not isinstance(model.average, Last):
        return "its answer is an average of its iterates"
    expected = Fourier if kind_of(learner) is Linear else Absent
    if not isinstance(model.mapping, expected):
        return f"it has other features ({type(model.mapping).__name__})"
    outputs, features = len(model.coef), model.points.shape[1]
    if outputs > MOST_OUTPUTS:
        return f"it has more than {MOST_OUTPUTS} classes"
    if features > MOST_FEATURES:
        return f"its rows have more than {MOST_FEATURES} features"
    return None

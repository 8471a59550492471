"""Recipe: a system, as the engine follows it."""

from typing import Any, NamedTuple

from onkel.features.absent import Absent
from onkel.model.averages import Window


class Recipe(NamedTuple):
    """A point in the space of the nouns that systems are made of."""

    plan: Any  # kernel, loss, rate and step: one of onkel.engine
    budget: Any  # what the model may keep: a strategy of onkel.budget
    window: Window | None = None  # of the iterates whose mean is the answer
    mapping: Any = Absent()  # the explicit features: one of onkel.features

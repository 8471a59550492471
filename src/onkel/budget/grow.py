"""No budget: every update stays."""

import math
from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorbs
from onkel.compiled.draws import Draws
from onkel.model.expansion import LookAhead, Model, Update, insert


@strategy(slots=lambda own: math.inf, only_grows=True)
class Grow(NamedTuple):
    """Keep everything; the caller sees to the room."""

    limit: int = 0  # a NamedTuple without fields has no compiled type


@absorbs(Grow)
def _absorb(
    budget: Grow, model: Model, ahead: LookAhead, t: int, update: Update, draws: Draws
) -> None:
    insert(model, ahead, t, update)

"""No budget: every update stays."""

import math
from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.model.expansion import insert
from onkel.model.state import Block, Model, Update


@strategy(slots=lambda own: math.inf, only_grows=True)
class Grow(NamedTuple):
    """Keep everything; the caller sees to the room."""

    limit: int = 0  # a NamedTuple without fields has no compiled type


@absorb.register(Grow)
def _absorb(
    budget: Grow, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    insert(model, block, t, update)

"""Nothing to keep or drop: the model is linear in its features.

That is FOGD, and NOGD once it has its landmarks.

An update moves the weights of all features, each by its value at the row.
"""

from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.compiled.draws import Draws
from onkel.model.expansion import column, spread
from onkel.model.state import Block, Model, Update


@strategy()
class Linear(NamedTuple):
    """No centres."""

    limit: int = 0


@absorb.register(Linear)
def _absorb(
    budget: Linear, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    values = column(model, block, t)
    weight = model.coef.dtype.type(update.weight)
    spread(model, update.up, weight, values)
    if update.down >= 0:
        spread(model, update.down, -weight, values)

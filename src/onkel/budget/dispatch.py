"""The questions a strategy answers; its type finds the answer.

A strategy that decides both when and how answers `absorb`. One that only knows how,
and leaves the when to another (see `bernoulli`), answers `maintain`, and perhaps
`in_span` and `add_to_span`: all four compiled. One that keeps arrays of its own says
how these follow the model, in Python: `resized`, `widened`, `relabelled`
and `refuse_nonsense`.
"""

from functools import singledispatch
from typing import Any

import numpy as np

from onkel.compiled.draws import Draws
from onkel.compiled.functions import typedispatch
from onkel.model.state import Block, Model, Update


@typedispatch()
def absorb(
    strategy: Any, model: Model, block: Block, t: int, update: Update, draws: Draws
) -> None:
    """Row t proposes an update: take it in."""


@typedispatch(merged=False)
def maintain(strategy: Any, model: Model, block: Block, t: int) -> None:
    """The model is too large: make it smaller."""


@typedispatch(optional=True, merged=False)
def in_span(strategy: Any, model: Model, block: Block, t: int) -> bool:
    """Whether the centres represent row t already, so that it need not become one."""
    return False


@typedispatch(optional=True)
def add_to_span(strategy: Any, model: Model, output: int, weight: float) -> None:
    """Add the weight of a row that is in the span to the centres."""


@singledispatch
def resized(strategy: Any, model: Model) -> Any:
    """Return the strategy with room for as many centres as the model has room for."""
    return strategy


@singledispatch
def widened(strategy: Any, model: Model, added: int) -> Any:
    """Return the strategy for a model of so many more features, 0 in all points."""
    return resized(strategy, model)


@singledispatch
def relabelled(strategy: Any, matrix: np.ndarray) -> Any:
    """Map the outputs by a matrix (new x old); see `state.relabelled`."""
    return strategy


@singledispatch
def refuse_nonsense(strategy: Any, model: Model) -> None:
    """Raise ValueError if numbers of a model file, each in its range, do not agree."""

"""The questions a feature map answers; its type finds the answer."""

from typing import Any

from onkel.compiled.functions import typedispatch
from onkel.problem.kernels import Kernel


@typedispatch()
def width(mapping: Any) -> Any:
    """Return the number of features."""


@typedispatch()
def room(mapping: Any, slots: int) -> Any:
    """Return how many numbers `express` needs room for, a row."""


@typedispatch()
def express(
    mapping: Any,
    kernel: Kernel,
    rows: Any,
    first: int,
    last: int,
    points: Any,  # of the model's slots
    norms: Any,  # of these points
    own: Any,  # shape (rows,): their norms
    room: Any,  # memory to work in
    out: Any,  # shape (rows, slots)
) -> None:
    """Write the features of the rows first..last into the first columns of out."""

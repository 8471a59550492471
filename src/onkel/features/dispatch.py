"""The questions a feature map answers; its type finds the answer."""

from typing import Any

from onkel.compiled.functions import typedispatch
from onkel.model.rows import Centers
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
    centers: Centers,  # of the model; its first slots belong to the features
    own: Any,  # shape (rows,): norms of the rows
    room: Any,  # memory to work in
    out: Any,  # shape (rows, slots)
) -> None:
    """Write the features of the rows into the first columns of out."""

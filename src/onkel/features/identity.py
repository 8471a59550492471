"""The rows themselves: for the linear kernel, of which they are the exact features."""

from typing import Any, NamedTuple

from onkel.features.dispatch import expresses, widths
from onkel.model.rows import spread_out
from onkel.problem.kernels import Kernel


class Identity(NamedTuple):
    """z(x) = x."""

    size: int


@widths(Identity)
def _width(features: Identity) -> int:
    return features.size


@expresses(Identity)
def _express(
    features: Identity,
    kernel: Kernel,
    rows: Any,
    first: int,
    last: int,
    points: Any,
    norms: Any,
    own: Any,
    room: Any,
    out: Any,
) -> None:
    for t in range(first, last):
        spread_out(rows, t, out[t - first, : features.size])

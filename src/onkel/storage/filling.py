"""Filling: the numbers of a file go into an empty learner, or are refused.

Compiled code checks no bounds, and a digest is no signature: whoever writes a file can
give it a right one. So a file never says what a learner is. Its estimator makes an
empty one from its parameters, as it does before it learns (`blank`), which has all
types, shapes, limits and settings; the file fills its arrays and counters, each within
its range (`RANGES`). A number that parameters determine must be the same in the file,
and what is only room to work in stays as it is in the empty learner.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Counters beyond this would not be exact as floating-point numbers.
MOST = 2**53
SMALLEST, LARGEST = 5e-324, sys.float_info.max


class Sizes(NamedTuple):
    """Numbers of one learner that bound others."""

    outputs: int
    labels: int  # that a centre may have
    used: int = 0  # slots
    first: int = 0  # of them that belong to explicit features
    most: int = MOST  # slots that may be in use
    limit: int = MOST  # of the budget
    memory: int = 0  # rows that it remembers
    period: int = 1  # between its checkpoints
    room: int = 0  # for centres that left an average


Range = Callable[[Sizes], tuple[float, float]]


def _finite(sizes: Sizes) -> tuple[float, float]:
    return -LARGEST, LARGEST


def _positive(sizes: Sizes) -> tuple[float, float]:
    return SMALLEST, LARGEST


def _not_negative(sizes: Sizes) -> tuple[float, float]:
    return 0.0, LARGEST


def _counter(sizes: Sizes) -> tuple[float, float]:
    return 0, MOST


# Room to work in, and what follows from the rest: taken from the empty learner.
WORK = None
# By the names of types and fields; what is not here must be as in the empty learner.
RANGES: dict[str, Range | None] = {
    "Model.head.count": lambda s: (s.first, s.most),
    "Model.head.t": _counter,
    "Model.head.updates": _counter,
    "Model.head.maintenance": _counter,
    "Model.head.mistakes": _counter,
    "Model.head.factor": _positive,
    "Model.head.norm2": _finite,
    "Model.head.largest": _not_negative,
    "Model.coef": _finite,
    "Model.points": _finite,
    "Model.norms": _not_negative,
    "Model.diag": _finite,
    "Model.birth": _counter,
    "Model.label": lambda s: (-1, s.labels - 1),
    "Later.scores": _finite,
    "Gram.scores": _finite,
    "Gram.values": _finite,
    "Nearest.scores": _finite,
    "Nearest.values": _finite,
    "Nearest.nearest": lambda s: (-1, max(s.used - 1, 0)),
    "Nearest.since": _counter,
    "Nearest.clock": _counter,
    "Inverse.values": _finite,
    "Inverse.root": _finite,
    "Inverse.column": WORK,
    "Inverse.shares": WORK,
    "Inverse.work": WORK,
    "Inverse.book.residual": WORK,
    "Inverse.book.kxx": WORK,
    "Inverse.book.edits": _counter,
    "Inverse.book.repairs": _counter,
    **{
        f"{average}.{field}": span
        for average in ("Mean", "Whole")
        for field, span in {
            "lag": _finite,
            "mass": _finite,
            "book.rows": _counter,
            "book.start": _counter,
            "book.retired": lambda s: (0, s.room),
            "book.scales": _finite,
        }.items()
    },
    "Whole.points": _finite,
    "Whole.norms": _not_negative,
    "Whole.masses": _finite,
    "Nystrom.matrix": _finite,
    "Cover.ledger.cores": lambda s: (0, min(s.used, s.limit)),
    "Cover.ledger.absorbed": _counter,
    "Cover.mark": lambda s: (-1, 2**31 - 1),
    "Cover.table": WORK,
    "Forget.ledger.damage": _finite,
    "Forget.ledger.mistakes": _counter,
    "Forget.ledger.oldest": lambda s: (0, max(s.used - 1, 0)),
    "Landmarks.ledger.up": WORK,
    "Landmarks.ledger.down": WORK,
    "Landmarks.ledger.weight": WORK,
    "Neighbors.chosen": WORK,
    "Neighbors.matrix": WORK,
    "Neighbors.shares": WORK,
    "Spill.features": _finite,
    "Memory.checkpoint": _finite,
    "Memory.total": _finite,
    "Memory.gradient": _finite,
    "Memory.scores": WORK,
    "Memory.some": WORK,
    "Memory.mark": WORK,
    "Memory.values": _finite,
    "Memory.points": _finite,
    "Memory.entries.y": _finite,
    "Memory.entries.weight": _not_negative,
    "Memory.entries.slope": _finite,
    "Memory.entries.up": lambda s: (0, s.outputs - 1),
    "Memory.entries.down": lambda s: (-1, s.outputs - 1),
    "Memory.entries.slot": lambda s: (-1, s.used - 1),
    "Memory.entries.known": lambda s: (0, s.used),
    "Memory.ledger.place": lambda s: (0, s.memory - 1),
    "Memory.ledger.length": lambda s: (0, s.memory),
    "Memory.ledger.steps": lambda s: (0, s.period - 1),
    "DualPlan.step": WORK,
    "DualPlan.ledger.surrogate": _finite,
    "DualPlan.ledger.gain": _finite,
    "DualPlan.ledger.mean_gain": _finite,
    "DualPlan.ledger.adapting": lambda s: (0, 1),
}


def within(name: str, values: Any, least: float, most: float) -> None:
    """Refuse numbers that are not in a range, or not numbers at all.

    Examples
    --------
    >>> within("a slot", np.array([0, 7]), 0, 5)
    Traceback (most recent call last):
    ...
    ValueError: a slot is not within 0 and 5
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name} is no number")
    # As Python's numbers: a bound may be beyond single precision.
    if values.size and not (
        values.min().item() >= least and values.max().item() <= most
    ):
        raise ValueError(f"{name} is not within {least:g} and {most:g}")


def filled(blank: Any, value: Any, sizes: Sizes, name: str = "") -> Any:
    """Return what is empty with the numbers of a value, each within its range.

    Parameters
    ----------
    blank
        A NamedTuple of numbers, arrays and NamedTuples, one of its fields, or a number.
    value
        What a file has in its place.
    sizes
        By which ranges are given.
    name
        Of the field, with that of its type.

    Raises
    ------
    ValueError
        Names the field.
    """
    if hasattr(blank, "_fields"):
        kind = type(blank).__name__
        if type(value) is not type(blank):
            raise ValueError(f"{name or 'it'} is a {type(value).__name__}, no {kind}")
        fields = zip(blank._fields, blank, value, strict=True)
        parts = (filled(b, v, sizes, f"{kind}.{field}") for field, b, v in fields)
        return type(blank)(*parts)
    if isinstance(blank, np.recarray):
        return _record(blank, value, sizes, name)
    if name in RANGES and RANGES[name] is WORK:
        return blank
    if isinstance(blank, np.ndarray):
        return _array(blank, value, sizes, name)
    return _number(blank, value, sizes, name)


def _record(blank: np.recarray, value: Any, sizes: Sizes, name: str) -> np.recarray:
    _refuse_another_layout(blank, value, name)
    new: Any = blank.copy()
    for field in blank.dtype.names or ():
        new[field] = filled(blank[field], value[field], sizes, f"{name}.{field}")
    return new


def _array(blank: np.ndarray, value: Any, sizes: Sizes, name: str) -> np.ndarray:
    _refuse_another_layout(blank, value, name)
    span = RANGES.get(name)
    if span is not None:
        within(name, value, *span(sizes))
    elif not np.array_equal(blank, value):
        raise ValueError(f"{name} is not what its parameters make it")
    # Centres lie in either order, on which sums depend.
    turned = name == "Model.points" and value.flags.f_contiguous
    return value if turned else np.ascontiguousarray(value)


def _refuse_another_layout(blank: np.ndarray, value: Any, name: str) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != blank.dtype:
        kind = getattr(value, "dtype", type(value).__name__)
        raise ValueError(f"{name} holds {kind}, not {blank.dtype}")
    if value.shape != blank.shape:
        raise ValueError(f"{name} has the shape {value.shape}, not {blank.shape}")


def _number(blank: Any, value: Any, sizes: Sizes, name: str) -> Any:
    if not isinstance(value, int | float | np.number | np.bool_):
        raise ValueError(f"{name} is no number")
    span = RANGES.get(name)
    if span is not None:
        within(name, value, *span(sizes))
        return type(blank)(value)
    if value != blank:
        raise ValueError(f"{name} is {value!r} where its parameters make it {blank!r}")
    return blank

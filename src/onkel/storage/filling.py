"""Filling: the numbers of a file go into an empty learner, or are refused.

Compiled code checks no bounds, and a digest is no signature: whoever writes a file can
give it a right one. So a file never says what a learner is. Its estimator makes an
empty one from its parameters, as it does before it learns (`blank`), which has all
types, shapes, limits and settings; the file fills its arrays and counters, each within
its range (`RANGES`). A number that parameters determine must be the same in the file,
and what is only room to work in stays as it is in the empty learner.
"""

from typing import Any

import numpy as np

from onkel.budget.declaration import DECLARED
from onkel.model.ranges import (
    WORK,
    Range,
    Sizes,
    counter,
    finite,
    not_negative,
    positive,
    within,
)

# By the names of types and fields; strategies declare theirs. What is in neither must
# be as in the empty learner.
RANGES: dict[str, Range] = {
    "Model.counters.count": lambda s: (s.first, s.most),
    "Model.counters.t": counter,
    "Model.counters.updates": counter,
    "Model.counters.maintenance": counter,
    "Model.counters.mistakes": counter,
    "Model.counters.factor": positive,
    "Model.counters.norm2": finite,
    "Model.counters.largest": not_negative,
    "Model.coef": finite,
    "Model.points": finite,
    "Model.norms": not_negative,
    "Model.diag": finite,
    "Model.birth": counter,
    "Model.label": lambda s: (-1, s.labels - 1),
    "Later.scores": finite,
    "Gram.scores": finite,
    "Gram.values": finite,
    "Nearest.scores": finite,
    "Nearest.values": finite,
    "Nearest.nearest": lambda s: (-1, max(s.used - 1, 0)),
    "Nearest.since": counter,
    "Nearest.clock": counter,
    "Inverse.values": finite,
    "Inverse.root": finite,
    "Inverse.column": WORK,
    "Inverse.shares": WORK,
    "Inverse.work": WORK,
    "Inverse.status.residual": WORK,
    "Spread.values": finite,
    "Spread.waiting": WORK,
    "Spread.shrink": WORK,
    "Spread.mirror": WORK,
    "Spread.image": WORK,
    "Spread.held.rows": WORK,
    "Spread.held.turned": WORK,
    "Spread.held.keep": WORK,
    "Inverse.status.kxx": WORK,
    "Inverse.status.edits": counter,
    "Inverse.status.repairs": counter,
    **{
        f"{average}.{field}": span
        for average in ("Mean", "Whole")
        for field, span in {
            "lag": finite,
            "mass": finite,
            "counters.rows": counter,
            "counters.start": counter,
            "counters.retired": lambda s: (0, s.room),
            "counters.scales": finite,
        }.items()
    },
    "Whole.points": finite,
    "Whole.norms": not_negative,
    "Whole.masses": finite,
    "Nystrom.matrix": finite,
    "DualPlan.step": WORK,
    "DualPlan.totals.surrogate": finite,
    "DualPlan.totals.gain": finite,
    "DualPlan.totals.mean_gain": finite,
    "DualPlan.totals.adapting": lambda s: (0, 1),
}


def _range(name: str) -> Range | None:
    """Return the range of a field, None if parameters determine it."""
    owner, _, field = name.partition(".")
    for strategy, declared in DECLARED.items():
        if strategy.__name__ == owner and field in declared.ranges:
            return declared.ranges[field]
    return RANGES.get(name)


def filled(blank: Any, value: Any, sizes: Sizes, name: str = "") -> Any:
    """Return what is empty with the numbers of a value, each within its range.

    `blank` is a NamedTuple of numbers, arrays and NamedTuples, one of its fields, or a
    number; `value` is what a file has in its place. Errors name the field.
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
    if _range(name) is WORK:
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
    span = _range(name)
    if span is not None:
        within(name, value, *span(sizes))
    elif not np.array_equal(blank, value):
        raise ValueError(f"{name} is not what its parameters make it")
    # Centres lie in either order, on which sums depend; all else as it was made.
    if name == "Model.points" and value.flags.f_contiguous:
        return value
    return np.asarray(value, order="C" if blank.flags.c_contiguous else "F")


def _refuse_another_layout(blank: np.ndarray, value: Any, name: str) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != blank.dtype:
        kind = getattr(value, "dtype", type(value).__name__)
        raise ValueError(f"{name} holds {kind}, not {blank.dtype}")
    if value.shape != blank.shape:
        raise ValueError(f"{name} has the shape {value.shape}, not {blank.shape}")


def _number(blank: Any, value: Any, sizes: Sizes, name: str) -> Any:
    if not isinstance(value, int | float | np.number | np.bool_):
        raise ValueError(f"{name} is no number")
    span = _range(name)
    if span is not None:
        within(name, value, *span(sizes))
        return type(blank)(value)
    if value != blank:
        raise ValueError(f"{name} is {value!r} where its parameters make it {blank!r}")
    return blank

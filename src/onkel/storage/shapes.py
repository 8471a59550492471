"""Shapes: whether the arrays of a learner that was read fit each other.

Compiled code checks no bounds, so a file may only say what a learner could have come
to by itself. `SHAPES` repeats, for every array of a model, what the comment beside its
field says; a name stands for the same number everywhere in one learner.
"""

from numbers import Integral
from typing import Any

import numpy as np

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.cover import NO_CORE, Shape
from onkel.engine.learner import Learner
from onkel.engine.mapper import Mapper
from onkel.engine.plan import NEWCOMER_FIRST
from onkel.features.dispatch import width
from onkel.features.identity import Identity
from onkel.features.nystrom import Nystrom

# A dtype ("real" for the precision of the model, "record" for records), and a shape.
Layout = tuple[str, tuple[int | str, ...]]
_REAL_ROW: Layout = ("real", ("outputs", "capacity"))
_REAL_SLOTS: Layout = ("real", ("capacity",))
_SQUARE: Layout = ("real", ("capacity", "capacity"))
_WHOLE_SLOTS: Layout = ("int64", ("capacity",))
_DOUBLE_ROW: Layout = ("float64", ("outputs", "capacity"))
_DOUBLE_SLOTS: Layout = ("float64", ("capacity",))
_BOOK: Layout = ("record", (1,))
_MEAN: dict[str, Layout] = {"lag": _DOUBLE_ROW, "mass": _DOUBLE_ROW, "book": _BOOK}
SHAPES: dict[str, dict[str, Layout]] = {
    "Model": {
        "head": _BOOK,
        "coef": _REAL_ROW,
        "points": ("real", ("capacity", "features")),
        "norms": _REAL_SLOTS,
        "diag": _REAL_SLOTS,
        "birth": _WHOLE_SLOTS,
        "label": _WHOLE_SLOTS,
    },
    "Later": {"scores": _REAL_ROW},
    "Gram": {"scores": _REAL_ROW, "values": _SQUARE},
    "Nearest": {
        "scores": _REAL_ROW,
        "values": _SQUARE,
        "nearest": _WHOLE_SLOTS,
        "since": _WHOLE_SLOTS,
        "clock": ("int64", (1,)),
    },
    "Inverse": {
        "values": ("float64", ("capacity", "capacity")),
        "root": ("float64", ("capacity", "capacity")),
        "column": _DOUBLE_SLOTS,
        "shares": _DOUBLE_SLOTS,
        "work": _DOUBLE_SLOTS,
        "book": _BOOK,
    },
    "Mean": _MEAN,
    "Whole": _MEAN
    | {
        "points": ("real", ("room", "features")),
        "norms": ("real", ("room",)),
        "masses": ("float64", ("outputs", "room")),
    },
    "Nystrom": {"matrix": ("real", ("landmarks", "rank"))},
    "Cover": {
        "ledger": _BOOK,
        "mark": ("int32", ("capacity",)),
        "table": ("int64", ("cells",)),
    },
    "Forget": {"ledger": _BOOK},
    "Landmarks": {"ledger": _BOOK},
    "Neighbors": {
        "chosen": ("int64", ("neighbors",)),
        "matrix": ("float64", ("neighbors", "neighbors")),
        "shares": ("float64", ("neighbors",)),
    },
    "Spill": {"features": ("real", ("centers", "width"))},
    "Memory": {
        "checkpoint": _REAL_ROW,
        "total": _REAL_ROW,
        "gradient": _REAL_ROW,
        "scores": ("float64", ("outputs",)),
        "some": ("any", ("outputs", "tile")),
        "mark": ("int32", ("capacity",)),
        "values": ("real", ("kept", "capacity")),
        "points": ("real", ("memory", "features")),
        "entries": ("record", ("memory",)),
        "ledger": _BOOK,
    },
    "DualPlan": {
        "y": ("any", ("rows",)),
        "C": ("any", ("rows",)),
        "dual": ("any", ("rows of the dual",)),
        "slot": ("any", ("rows",)),
        "preference": ("any", ("rows",)),
        "step": ("float64", ("outputs",)),
        "ledger": _BOOK,
    },
}


class _Sizes:
    """What the names in shapes stand for, as far as is known."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.known: dict[str, int] = {}

    def visit(self, value: Any) -> None:
        """Check a NamedTuple and those in it."""
        layouts = SHAPES.get(type(value).__name__, {})
        for field, part in zip(value._fields, value, strict=True):
            if isinstance(part, np.ndarray):
                self._check(f"{type(value).__name__}.{field}", part, layouts[field])
            elif field in layouts:
                raise ValueError(f"{type(value).__name__}.{field} is no array")
            elif hasattr(part, "_fields"):
                self.visit(part)
            elif not isinstance(part, int | float | np.number | np.bool_):
                raise ValueError(f"{type(value).__name__}.{field} is no number")

    def _check(self, where: str, array: np.ndarray, layout: Layout) -> None:
        dtype, shape = layout
        wanted = {"real": self.dtype.name, "any": array.dtype.name}.get(dtype, dtype)
        found = "record" if array.dtype.names else array.dtype.name
        if found != wanted:
            raise ValueError(f"{where} holds {found}, not {wanted}")
        sizes = [
            self.known.setdefault(size, have) if isinstance(size, str) else size
            for size, have in zip(shape, array.shape, strict=False)
        ]
        if len(shape) != array.ndim or sizes != list(array.shape):
            raise ValueError(
                f"{where} has the shape {array.shape}, not {shape}: {sizes}"
            )


def _within(where: str, values: Any, least: int, most: int) -> None:
    values = np.asarray(values)
    if values.size and (values.min() < least or values.max() > most):
        raise ValueError(f"{where} is not within {least} and {most}")


def check_learner(learner: Learner) -> None:
    """Refuse a learner that compiled code would not be safe with.

    Raises
    ------
    ValueError
        Names the part.
    """
    model, budget = learner.model, learner.budget
    if type(model).__name__ != "Model" or model.coef.dtype.kind != "f":
        raise ValueError("it has no model")
    sizes = _Sizes(model.coef.dtype)
    for part in (model, budget, learner.plan):
        sizes.visit(part)
    if not isinstance(learner.rng, np.random.Generator):
        raise ValueError("it has no generator")
    known = sizes.known
    outputs, capacity = known["outputs"], known["capacity"]
    head, wide = model.head[0], width(model.mapping)
    _within("the number of centres", head.count, 0, min(capacity, _most(learner)))
    _within("the number of features", wide, 0, int(head.count))
    _within("the number of outputs", outputs, 1, outputs)
    if isinstance(model.mapping, Nystrom):
        _within("the number of landmarks", known["landmarks"], wide, capacity)
    elif isinstance(model.mapping, Identity) and wide != known["features"]:
        raise ValueError("there are not as many features as a row has")
    if head.halted:
        raise ValueError("it stopped in the middle of a row")
    used = slice(0, int(head.count))
    for name in ("coef", "norms", "diag"):
        if not np.isfinite(getattr(model, name)[..., used]).all():
            raise ValueError(f"{name} is not finite")
    if not np.isfinite(model.points[used]).all():
        raise ValueError("a centre is not finite")
    if type(learner.plan).__name__ != "DualPlan":  # there a row, which nobody goes to
        _within("a label", model.label, -1, max(outputs, 2) - 1)
    if "room" in known:
        _within(
            "the centres that left", model.average.book[0].retired, 0, known["room"]
        )
    if hasattr(model.reads, "nearest"):
        _within("a neighbour", model.reads.nearest, -1, capacity - 1)
    _check_budget(budget, model, known, wide)


def _most(learner: Learner) -> int:
    """Slots that the learner may use between two rows."""
    budget = learner.budget
    limit = getattr(budget, "limit", 0)
    if not isinstance(limit, Integral) or limit < 0:
        raise ValueError(f"{limit!r} is no budget")
    # The newcomer's own slot is free again once the budget has disposed.
    newcomer = isinstance(budget, (Bernoulli, *NEWCOMER_FIRST))
    return int(learner.largest_size) - newcomer


def _check_budget(budget: Any, model: Any, known: dict[str, int], wide: int) -> None:
    """Refuse places outside of a strategy's arrays."""
    outputs, capacity = known["outputs"], known["capacity"]
    count = int(model.head[0].count)
    kind = type(budget).__name__
    if kind == "Cover":
        _within("a cell", budget.table, -1, count - 1)
        # A search in a table without a free place would never end.
        cells, grid = known["cells"], budget.shape == Shape.GRID
        if cells.bit_count() != 1 or (grid and cells <= 2 * capacity):
            raise ValueError("the table of cells is no power of two, or too small")
        if budget.shape not in set(Shape):
            raise ValueError("its cells have no shape")
        if budget.ledger[0].cores != np.sum(budget.mark[:count] != NO_CORE):
            raise ValueError("there are not as many cores as are marked")
    elif kind == "Forget":
        _within("the oldest", budget.ledger[0].oldest, 0, capacity - 1)
    elif kind == "Landmarks":
        _within("an output", budget.ledger[0].up, 0, outputs - 1)
        _within("an output", budget.ledger[0].down, -1, outputs - 1)
    elif kind == "Spill":
        if (known["centers"] + wide, known["width"]) != (capacity, wide):
            raise ValueError("the features of centres are not as many as the centres")
        _within("centres that move", budget.portion, 1, budget.limit)
    elif kind == "Memory":
        size = known["memory"]
        _within("rows in memory", known["kept"], size, size + known["tile"])
        _within("a place in memory", budget.ledger[0].place, 0, size - 1)
        _within("the length of memory", budget.ledger[0].length, 0, size)
        _within("an output", budget.entries.up, 0, outputs - 1)
        _within("an output", budget.entries.down, -1, outputs - 1)
        _within("a slot", budget.entries.slot, -1, capacity - 1)
        _within("known slots", budget.entries.known, 0, capacity)


def check_mapper(mapper: Mapper) -> None:
    """Refuse a feature map that compiled code would not be safe with."""
    points, norms = mapper.points, mapper.norms
    if points.ndim != 2 or points.dtype.kind != "f" or norms.dtype != points.dtype:
        raise ValueError("the points of the features are no matrix of numbers")
    if norms.shape != points.shape[:1] or not np.isfinite(points).all():
        raise ValueError("the points of the features are not finite, or have no norms")
    _Sizes(points.dtype).visit(mapper.kernel)
    _Sizes(points.dtype).visit(mapper.mapping)
    wide, count = width(mapper.mapping), len(points)
    if isinstance(mapper.mapping, Nystrom):
        fits = len(mapper.mapping.matrix) == count
    elif type(mapper.mapping).__name__ == "Fourier":
        fits = wide == 2 * count
    else:
        fits = wide == points.shape[1]
    if not fits:
        raise ValueError("there are not as many features as their points make")

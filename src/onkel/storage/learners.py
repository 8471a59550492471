"""Learners and feature maps of a file: filled into empty ones, and looked at once more.

`filling` keeps every number in its own range; here are the relations between them that
compiled code relies on.
"""

from typing import Any

import numpy as np

from onkel.budget.declaration import declaration
from onkel.budget.dispatch import refuse_nonsense
from onkel.engine.dual import DualPlan
from onkel.engine.evaluation import gram_of, norms_of
from onkel.engine.learner import Learner
from onkel.engine.mapper import Mapper
from onkel.engine.svrg import Memory
from onkel.features.dispatch import width
from onkel.features.nystrom import Nystrom
from onkel.model.averages import Whole
from onkel.model.center_cache import Nearest
from onkel.model.inverse import Inverse
from onkel.model.ranges import MOST, Sizes, within
from onkel.model.state import COUNTERS, Model
from onkel.problem import kernels
from onkel.problem.kernels import Kernel
from onkel.storage.filling import filled

# Relative error that norms and kernel values may have gathered, in single precision.
ROUNDING = 1e-2


def filled_learner(blank: Learner, value: Any) -> Learner:
    """Fill an empty learner with what a file has in its place; errors name the part."""
    counters = counters_of(value)
    count = int(counters[0].count)
    if not blank.plan.ball:
        counters.norm2 = 0.0  # nobody reads it, so that it may have overflown
    _make_room(blank, value.model, count)
    sizes = _sizes(blank, count)
    # The number of slots in use first: it bounds the rest.
    within("Model.counters.count", count, sizes.first, sizes.most)
    model = filled(blank.model, value.model, sizes)
    budget = filled(blank.budget, value.budget, sizes)
    blank.plan = filled(blank.plan, value.plan, sizes)
    if not isinstance(value.rng, np.random.Generator):
        raise ValueError("it has no generator")
    blank.model, blank.budget, blank.rng = model, budget, value.rng
    _check_points(blank.plan.kernel, model, count)
    refuse_nonsense(budget, model)
    if isinstance(model.cache, Inverse):
        _check_gram(blank.plan.kernel, model, count)
    if isinstance(model.cache, Nearest):
        _check_nearest(model.cache.nearest[:count])
    blank._resize_budget()  # makes anew what follows from the rest
    if not blank.is_bounded:
        raise ValueError("Model.coef, or its average, gives scores that are not finite")
    return blank


def counters_of(value: Any) -> np.recarray:
    """Return the counters of what must be a learner with a model."""
    if not isinstance(value, Learner) or type(value.model) is not Model:
        raise ValueError("its learner is none")
    counters = value.model.counters
    is_record = isinstance(counters, np.recarray) and counters.dtype == COUNTERS
    if not is_record or len(counters) != 1:
        raise ValueError("its model has no counters")
    return counters


def _make_room(blank: Learner, model: Any, count: int) -> None:
    """Give an empty learner as many slots as that of the file has."""
    norms = model.norms
    if not isinstance(norms, np.ndarray) or norms.ndim != 1:
        raise ValueError("Model.norms is no row of numbers")
    mapping = blank.model.mapping
    needed = len(mapping.matrix) if isinstance(mapping, Nystrom) else width(mapping)
    if len(norms) < max(count, needed, 1):
        raise ValueError(f"{len(norms)} slots are too few for {count} in use")
    # Its other arrays are as large: nothing is made that the file does not fill.
    within("Model.points", model.points.shape[0], len(norms), len(norms))
    blank.resize(len(norms))
    average = blank.model.average
    if isinstance(average, Whole) and type(model.average) is Whole:
        room, dtype = len(model.average.norms), blank.dtype
        average = average._replace(
            points=np.zeros((room, blank.model.points.shape[1]), dtype),
            norms=np.zeros(room, dtype),
            masses=np.zeros((len(blank.model.coef), room)),
        )
        blank.model = blank.model._replace(average=average)


def _sizes(blank: Learner, count: int) -> Sizes:
    model, budget, plan = blank.model, blank.budget, blank.plan
    outputs, capacity = model.coef.shape
    # The newcomer's own slot is free again once the budget has disposed.
    newcomer = declaration(budget).newcomer
    return Sizes(
        outputs,
        # Dual systems note a row there, which nobody goes to.
        labels=MOST if isinstance(plan, DualPlan) else max(outputs, 2),
        used=count,
        first=width(model.mapping),
        most=min(capacity, blank.largest_size - newcomer),
        limit=budget.limit,
        memory=len(budget.entries) if isinstance(budget, Memory) else 0,
        period=getattr(plan, "period", 1),
        room=len(model.average.norms) if isinstance(model.average, Whole) else 0,
    )


def _close(name: str, values: Any, truth: Any, share: float = ROUNDING) -> None:
    """Refuse numbers that follow from others, if they do not."""
    truth = np.asarray(truth, np.float64)
    allowed = share * (np.abs(truth) + np.abs(truth).max(initial=0.0))
    if not (np.abs(values - truth) <= allowed).all():
        raise ValueError(f"{name} does not follow from the centres")


def refuse_norms(kernel: Kernel, points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Refuse norms that are not those of the points; return the right ones."""
    points = np.ascontiguousarray(points, np.float64)
    with np.errstate(over="ignore"):
        norms = norms_of(kernel, points)
    if not np.isfinite(norms).all():
        raise ValueError("Model.points has a centre whose norm is not finite")
    _close("Model.norms", values, norms)
    return norms


def _check_points(kernel: Kernel, model: Any, count: int) -> None:
    """Refuse norms and diagonals that are not those of the centres."""
    first = 0 if isinstance(model.mapping, Nystrom) else width(model.mapping)
    last = len(model.mapping.matrix) if isinstance(model.mapping, Nystrom) else count
    used = slice(first, max(last, first))
    norms = refuse_norms(kernel, model.points[used], model.norms[used])
    _close("Model.diag", model.diag[used], kernels.diagonal(kernel, norms))


def _check_gram(kernel: Kernel, model: Any, count: int) -> None:
    """Refuse a Gram matrix that is not that of the centres: it must have a root."""
    gram = gram_of(kernel, model.points[:count].astype(np.float64))
    _close("Inverse.values", model.cache.values[:count, :count], gram)


def _check_nearest(nearest: np.ndarray) -> None:
    """Refuse centres without a neighbour, or next to themselves: code counts on one."""
    alone = np.array_equal(nearest, [-1])
    if not alone and ((nearest < 0) | (nearest == np.arange(len(nearest)))).any():
        raise ValueError("Nearest.nearest is no other centre")


def filled_mapper(blank: Mapper, value: Mapper) -> Mapper:
    """Fill an empty feature map with what a file has in its place."""
    sizes = Sizes(outputs=1, labels=2)
    blank.kernel = filled(blank.kernel, value.kernel, sizes)
    blank.mapping = filled(blank.mapping, value.mapping, sizes)
    blank.points = filled(blank.points, value.points, sizes, "Model.points")
    blank.norms = filled(blank.norms, value.norms, sizes, "Model.norms")
    if blank.points.size:
        _close("Model.norms", blank.norms, norms_of(blank.kernel, blank.points))
    return blank

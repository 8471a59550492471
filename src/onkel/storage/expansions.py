"""Fitted expansions of a file: whether they are what their estimator could have found.

Compiled code that predicts checks no bounds: shapes must agree, and every number must
be one that a fit can leave.
"""

from typing import Any

import numpy as np

from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner, Shape
from onkel.features.absent import Absent
from onkel.model.ranges import LARGEST, MOST, Sizes, within
from onkel.problem.kernels import Kernel
from onkel.storage.filling import filled
from onkel.storage.learners import counters_of, refuse_norms


def refuse_former(learner: Any) -> Learner:
    """Return a learner of a former version, which never learnt, if it is such.

    Refuse what is no such learner.
    """
    counters = counters_of(learner)[0]
    if counters.factor != 1.0:
        raise ValueError("Model.counters.factor is not 1")
    model = learner.model
    for name in ("points", "norms", "coef"):
        if not isinstance(getattr(model, name), np.ndarray):
            raise ValueError(f"Model.{name} is no array")
    most = min(len(model.points), len(model.norms))
    within("Model.counters.count", int(learner.counters.count), 0, most)
    for name in ("t", "updates", "maintenance", "mistakes"):
        within(f"Model.counters.{name}", int(learner.counters[name]), 0, MOST)
    return learner


def former_expansion(learner: Learner) -> FittedExpansion:
    """Return the expansion that a former version kept in such a learner."""
    model, count = learner.model, int(learner.counters.count)
    kernel: Any = getattr(learner.plan, "kernel", None)
    points = np.ascontiguousarray(model.points[:count])
    coef = np.ascontiguousarray(np.atleast_2d(model.coef)[:, :count])
    return FittedExpansion(kernel, Absent(), points, model.norms[:count].copy(), coef)


def refuse_expansion(
    value: FittedExpansion,
    twin: Any,
    shape: Shape,
    least: int,
    most: int = MOST,
) -> None:
    """Refuse what an estimator with these parameters could not have found.

    The points of `value` are a matrix of numbers already; `twin`, the estimator before
    it was fitted, may be changed. `least` and `most` are numbers of centres.
    """
    size = len(value.points)
    if value.mapping != Absent() or type(value.mapping) is not Absent:
        raise ValueError("FittedExpansion.mapping is not its own")
    if type(value.kernel) is not Kernel:
        raise ValueError("FittedExpansion.kernel is none")
    twin._settle_gamma(value.kernel)
    twin._check_parameters()
    sizes = Sizes(outputs=shape.outputs, labels=2)
    row = np.zeros((1, shape.features), shape.dtype)
    filled(twin._kernel(row), value.kernel, sizes)
    within("FittedExpansion.points", size, least, most)
    wanted = {"norms": (size,), "coef": (shape.outputs, size)}
    for name, expected in wanted.items():
        array = getattr(value, name)
        is_array = isinstance(array, np.ndarray) and array.dtype == shape.dtype
        if not is_array or array.shape != expected:
            raise ValueError(f"FittedExpansion.{name} is not of the shape {expected}")
    for name in ("points", "norms", "coef"):
        within(f"FittedExpansion.{name}", getattr(value, name), -LARGEST, LARGEST)
    refuse_norms(value.kernel, value.points, value.norms)
    if not value.is_bounded:
        raise ValueError("FittedExpansion.coef gives scores that are not finite")

"""The switch of NOGD: an expansion over landmarks becomes linear in their features."""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.landmarks import Landmarks
from onkel.budget.linear import Linear
from onkel.engine.evaluation import gram_of, kernel_values
from onkel.features import nystrom
from onkel.features.nystrom import Nystrom
from onkel.model.rows import Rows, beside
from onkel.model.state import Model
from onkel.problem.kernels import Kernel


class Switched(NamedTuple):
    """The model after a switch, and the strategy that goes on with it."""

    model: Model
    budget: Any


def linear_in(model: Model, matrix: np.ndarray) -> Switched:
    """Let the coefficients be those of Nystrom features, given their matrix."""
    model.counters[0].count, model.counters[0].halted = matrix.shape[1], 0
    return Switched(model._replace(mapping=Nystrom(matrix)), Linear())


def after_landmarks(
    kernel: Kernel, budget: Landmarks, model: Model, row: Rows
) -> Switched | None:
    """Map coefficients and average, and make the update that the row waits for.

    None if the landmarks' kernel values overflow.
    """
    dtype = model.coef.dtype
    size, pending = int(model.counters[0].count), budget.counters[0]
    gram = gram_of(kernel, model.points[:size].astype(np.float64))
    known = np.empty((1, size), dtype)
    kernel_values(kernel, row, beside(row, model.points), model.norms, known)
    if not np.isfinite(gram).all():
        return None
    noise = nystrom.noise_of(kernel, model.norms[:size])
    share = nystrom.share_of(noise, nystrom.SMALLEST_SHARE)
    matrix, transfer = nystrom.factor(gram, budget.rank, share)
    features = known[0] @ matrix
    coef = np.zeros_like(model.coef)
    coef[:, : len(transfer)] = model.coef[:, :size] @ transfer.T
    coef[pending.up, : len(transfer)] += pending.weight * features
    if pending.down >= 0:
        coef[pending.down, : len(transfer)] -= pending.weight * features
    average = model.average.moved(model.coef[:, :size], transfer)
    return linear_in(model._replace(coef=coef, average=average), matrix.astype(dtype))

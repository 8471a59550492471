"""Model: what a block of threads has of its own, and how strategies may change it.

    f(x) = factor * base(t) * sum_j coef[:, j] k(c_j, x)

as on the processor (`onkel.model.expansion`), feature by feature, so that the threads
of a warp read neighbours. Who may write what without a barrier: a thread has the slots
j = i, i + threads, ... of `values`, `other`, `bound` and `later`; coefficients of the
newcomer and of who leaves are written output by output, their features feature by
feature. So between a look at coefficients and the arrival or departure of a centre
there is a barrier, and another after it.

What all threads must agree on, `State` and `Tally`, each of them keeps and computes.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from onkel.model.state import Update
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.problem.steps import Step
from onkel.tune.cuda.reductions import Board


class Models(NamedTuple):
    """All models; what a strategy does not need has one slot."""

    settings: Any  # shape (models, numbers): see `Setting`
    coef: Any  # shape (models, outputs, slots), raw
    points: Any  # shape (sets, features, slots): centres, or frequencies
    diag: Any  # shape (models, slots): k(c, c)
    values: Any  # shape (models, slots): k(c, x) of the row, or its features
    other: Any  # shape (models, slots): room for strategies
    bound: Any  # shape (models, slots): likewise
    later: Any  # shape (models, outputs, slots): scores of what came later
    birth: Any  # shape (models, slots)
    label: Any  # shape (models, slots)


class Setting(NamedTuple):
    """What is different from model to model; in `Models` as numbers in this order."""

    kernel: Kernel
    loss: Loss
    rate: Rate
    step: Step
    limit: int  # the budget
    cap: float  # of a coefficient
    unsigned: bool  # see `onkel.budget.forget`
    width: int  # explicit features
    place: int  # of its points
    order: int  # which order of the rows
    draws: int  # which draws


class Model(NamedTuple):
    """The arrays of one model, as in `Models`, and what its threads share."""

    coef: Any
    points: Any
    diag: Any
    values: Any
    other: Any
    bound: Any
    later: Any
    birth: Any
    label: Any
    board: Board


class State(NamedTuple):
    """What strategies change besides arrays."""

    size: int  # slots in use
    factor: float  # of the raw coefficients
    updates: int
    drawn: int  # numbers so far
    damage: float  # see `onkel.budget.forget`
    oldest: int  # likewise


class Arrival(NamedTuple):
    """A row that proposes an update."""

    x: Any  # shape (features,), shared
    kxx: Any  # in single precision
    birth: int
    draw: float  # the next number, if one is needed


@cuda.jit(device=True)
def setting_of(n: Any) -> Setting:
    """Read a setting from its numbers."""
    return Setting(
        Kernel(int(n[0]), n[1], int(n[2]), n[3]),
        Loss(int(n[4]), n[5], n[6], n[7]),
        Rate(int(n[8]), n[9], n[10], n[11], n[12]),
        Step(int(n[13]), n[14]),
        int(n[15]),
        n[16],
        n[17] != 0.0,
        int(n[18]),
        int(n[19]),
        int(n[20]),
        int(n[21]),
    )


@cuda.jit(device=True)
def model_of(models: Models, place: int, m: int, board: Board) -> Model:
    """Return the arrays of model m."""
    return Model(
        models.coef[m],
        models.points[place],
        models.diag[m],
        models.values[m],
        models.other[m],
        models.bound[m],
        models.later[m],
        models.birth[m],
        models.label[m],
        board,
    )


@cuda.jit(device=True)
def occupy(model: Model, j: int, arrival: Arrival, update: Update) -> None:
    """The row becomes the centre in slot j."""
    i, threads = cuda.threadIdx.x, cuda.blockDim.x
    for k in range(i, model.points.shape[0], threads):
        model.points[k, j] = arrival.x[k]
    for o in range(i, model.coef.shape[0], threads):
        weight = update.weight if o == update.up else 0.0
        model.coef[o, j] = -update.weight if o == update.down else weight
    if i == 0:
        model.diag[j] = arrival.kxx
        model.values[j] = arrival.kxx
        model.birth[j] = arrival.birth
        model.label[j] = update.up


@cuda.jit(device=True)
def close_ranks(model: Model, j: int, last: int) -> None:
    """Centre j has left; the last one takes its slot."""
    i, threads = cuda.threadIdx.x, cuda.blockDim.x
    if j == last:
        return
    for k in range(i, model.points.shape[0], threads):
        model.points[k, j] = model.points[k, last]
    for o in range(i, model.coef.shape[0], threads):
        model.coef[o, j] = model.coef[o, last]
    if i == 0:
        model.diag[j] = model.diag[last]
        model.birth[j] = model.birth[last]
        model.label[j] = model.label[last]


@cuda.jit(device=True)
def squared_norm(model: Model, j: int) -> float:
    """|coef[:, j]|^2, in single precision."""
    whole = model.coef[0, j] * model.coef[0, j]
    for o in range(1, model.coef.shape[0]):
        whole += model.coef[o, j] * model.coef[o, j]
    return whole


@cuda.jit(device=True)
def fold(model: Model, state: State) -> State:
    """Move the factor into the coefficients, before it underflows."""
    c = np.float32(state.factor)
    for j in range(cuda.threadIdx.x, state.size, cuda.blockDim.x):
        for o in range(model.coef.shape[0]):
            model.coef[o, j] *= c
            if model.later.shape[1] > 1:
                model.later[o, j] *= c
    return State(
        state.size,
        1.0,
        state.updates,
        state.drawn,
        state.damage,
        state.oldest,
    )

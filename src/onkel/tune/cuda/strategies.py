"""What budgets do with a row that proposes an update: those that need few words.

Each is called by all threads of a block, and returns with all of them behind the last
barrier it needs, but for the one that the walk puts after every update.
"""

import math

import numpy as np
from numba import cuda

from onkel.budget.forget import shrinkage
from onkel.model.state import Update
from onkel.tune.cuda.model import (
    Arrival,
    Model,
    Setting,
    State,
    close_ranks,
    occupy,
    squared_norm,
)
from onkel.tune.cuda.reductions import earliest_least


@cuda.jit(device=True)
def grown(state: State) -> State:
    """The state with a centre more."""
    return State(
        state.size + 1,
        state.factor,
        state.updates,
        state.drawn,
        state.damage,
        state.oldest,
    )


@cuda.jit(device=True)
def discard(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """RBP; see `onkel.budget.discard`."""
    if state.size < setting.limit:
        occupy(model, state.size, arrival, update)
        return grown(state)
    occupy(model, int(arrival.draw * state.size), arrival, update)
    return State(
        state.size,
        state.factor,
        state.updates,
        state.drawn + 1,
        state.damage,
        state.oldest,
    )


@cuda.jit(device=True)
def _enter_later(
    model: Model, j: int, count: int, arrival: Arrival, update: Update
) -> None:
    """Let what came before slot j's centre know its scores, and begin its own."""
    weight = np.float32(update.weight)
    for i in range(cuda.threadIdx.x, count, cuda.blockDim.x):
        if i == j:
            for o in range(model.coef.shape[0]):
                model.later[o, j] = 0.0
            model.later[update.up, j] = weight * arrival.kxx
            if update.down >= 0:
                model.later[update.down, j] = -weight * arrival.kxx
        else:
            model.later[update.up, i] += weight * model.values[i]
            if update.down >= 0:
                model.later[update.down, i] -= weight * model.values[i]


@cuda.jit(device=True)
def forget(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """Forgetron; see `onkel.budget.forget`."""
    if state.size < setting.limit:
        _enter_later(model, state.size, state.size + 1, arrival, update)
        occupy(model, state.size, arrival, update)
        return grown(state)
    r = state.oldest
    output = model.label[r] if model.coef.shape[0] > 1 else 0
    q = np.float64(model.coef[output, r])
    weight = 0.0
    if output == update.up:
        weight = update.weight
    elif output == update.down:
        weight = -update.weight
    f = state.factor * (
        np.float64(model.later[output, r]) + weight * np.float64(model.values[r])
    )
    sig = abs(state.factor * q)
    mu = abs(f) if setting.unsigned else math.copysign(1.0, q) * f
    phi = shrinkage(sig, mu, state.damage, state.updates)
    damage = (sig * phi) ** 2 + 2.0 * sig * phi * (1.0 - phi * mu)
    cuda.syncthreads()
    _enter_later(model, r, state.size, arrival, update)
    occupy(model, r, arrival, update)
    return State(
        state.size,
        state.factor * phi,
        state.updates,
        state.drawn,
        state.damage + damage,
        (r + 1) % setting.limit,
    )


@cuda.jit(device=True)
def remove(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """BSGD with removal; see `onkel.budget.remove`."""
    occupy(model, state.size, arrival, update)
    if state.size < setting.limit:
        return grown(state)
    cuda.syncthreads()
    least, birth, slot = math.inf, np.int64(0), np.int64(0)
    for j in range(cuda.threadIdx.x, state.size + 1, cuda.blockDim.x):
        cost = squared_norm(model, j) * model.diag[j]
        if cost < least or (cost == least and model.birth[j] < birth):
            least, birth, slot = np.float64(cost), model.birth[j], np.int64(j)
    # Where squares overflow for all, a slot there must be.
    leaving = max(earliest_least(model.board, least, birth, slot), 0)
    close_ranks(model, leaving, state.size)
    return state


@cuda.jit(device=True)
def spread(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """FOGD; see `onkel.budget.linear`."""
    weight = np.float32(update.weight)
    for j in range(cuda.threadIdx.x, state.size, cuda.blockDim.x):
        model.coef[update.up, j] += weight * model.values[j]
        if update.down >= 0:
            model.coef[update.down, j] -= weight * model.values[j]
    return state

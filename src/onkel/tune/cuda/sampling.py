"""BOGD and BOGD++ on the GPU; see `onkel.budget.sample`."""

import math

import numpy as np
from numba import cuda

from onkel.budget.sample import clipped
from onkel.model.state import Update
from onkel.tune.cuda.model import (
    Arrival,
    Model,
    Setting,
    State,
    occupy,
    squared_norm,
)
from onkel.tune.cuda.reductions import total, where_exceeded
from onkel.tune.cuda.strategies import grown


@cuda.jit(device=True)
def _drew(state: State, factor: float) -> State:
    return State(
        state.size,
        factor,
        state.updates,
        state.drawn + 1,
        state.damage,
        state.oldest,
    )


@cuda.jit(device=True)
def _clip(model: Model, count: int, norm: float) -> None:
    highest = np.float32(norm)
    for j in range(cuda.threadIdx.x, count, cuda.blockDim.x):
        if model.coef.shape[0] == 1:
            model.coef[0, j] = min(max(model.coef[0, j], -highest), highest)
            continue
        length = np.float32(math.sqrt(squared_norm(model, j)))
        if length > highest:
            for o in range(model.coef.shape[0]):
                model.coef[o, j] *= highest / length


@cuda.jit(device=True)
def uniform(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """BOGD."""
    count = state.size
    update = clipped(update, setting.cap / state.factor)
    if count < setting.limit:
        occupy(model, count, arrival, update)
        return grown(state)
    factor = state.factor * (count / (count - 1))
    _clip(model, count, setting.cap / factor)
    cuda.syncthreads()
    weight = update.weight * (count - 1) / count
    victim = int(arrival.draw * count)
    occupy(model, victim, arrival, Update(update.up, update.down, weight))
    return _drew(state, factor)


@cuda.jit(device=True)
def _lengths(model: Model, count: int) -> float:
    """Norms of what each centre adds to the model, into `other`; return their sum."""
    part = 0.0
    for j in range(cuda.threadIdx.x, count, cuda.blockDim.x):
        if model.coef.shape[0] == 1:
            length = abs(model.coef[0, j])
        else:
            length = np.float32(math.sqrt(squared_norm(model, j)))
        model.other[j] = length * np.float32(math.sqrt(model.diag[j]))
        part += np.float64(model.other[j])
    return total(model.board, part)


@cuda.jit(device=True)
def _waterfill(model: Model, size: int, whole: float) -> float:
    """Return s such that the sum of max(0, 1 - s u_i) is 1, given the sum of the u."""
    u, count = model.other, size
    while True:
        if whole <= 0.0:
            return 0.0
        s = (count - 1) / whole
        inside, sum_inside = 0.0, 0.0
        for j in range(cuda.threadIdx.x, size, cuda.blockDim.x):
            if s * np.float64(u[j]) < 1.0:
                inside += 1.0
                sum_inside += np.float64(u[j])
        kept = int(total(model.board, inside))
        if kept == count or kept < 2:
            return s
        count, whole = kept, total(model.board, sum_inside)


@cuda.jit(device=True)
def _share(length: float, s: float) -> float:
    """Probability of leaving, in units of one; where s is 0 those of no length have."""
    if s == 0.0:
        return 1.0 if length == 0.0 else 0.0
    return max(0.0, 1.0 - s * np.float64(length))


@cuda.jit(device=True)
def _shares(model: Model, size: int, s: float) -> float:
    part = 0.0
    for j in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        part += _share(model.other[j], s)
    return total(model.board, part)


@cuda.jit(device=True)
def _drawn(model: Model, size: int, s: float, number: float) -> int:
    """Return the slot in which the running sum of the shares exceeds the number."""
    i, threads, u = cuda.threadIdx.x, cuda.blockDim.x, model.other
    width = (size + threads - 1) // threads
    part = 0.0
    for j in range(i * width, min((i + 1) * width, size)):
        part += _share(u[j], s)
    place = where_exceeded(model.board, part, number)
    running = place.before
    for j in range(place.thread * width, min((place.thread + 1) * width, size)):
        running += _share(u[j], s)
        if running > number:
            return j
    # Rounding left the sum a little below the number: the last that can leave does.
    j = size - 1
    while j > 0 and _share(u[j], s) <= 0.0:
        j -= 1
    return j


@cuda.jit(device=True)
def weighted(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """BOGD++."""
    count, u, cap = state.size, model.other, setting.cap / state.factor
    update = clipped(update, cap)
    if count < setting.limit:
        occupy(model, count, arrival, update)
        return grown(state)
    s = _waterfill(model, count, _lengths(model, count))
    number = arrival.draw
    if s == 0.0:
        number = math.floor(number * _shares(model, count, s))
    victim = _drawn(model, count, s, number)
    cuda.syncthreads()
    for j in range(cuda.threadIdx.x, count, cuda.blockDim.x):
        length = np.float64(u[j])
        after = max(length, 1.0 / s) if s > 0.0 else length
        after = min(after, cap * math.sqrt(model.diag[j]))
        _stretch(model, j, after / length if length > 0.0 else 1.0)
    cuda.syncthreads()
    occupy(model, victim, arrival, update)
    return _drew(state, state.factor)


@cuda.jit(device=True)
def as_printed(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """BOGD++ with the probabilities of its paper, cut at 0."""
    count, u, cap = state.size, model.other, setting.cap / state.factor
    update = clipped(update, cap)
    if count < setting.limit:
        occupy(model, count, arrival, update)
        return grown(state)
    whole = _lengths(model, count)
    s = (count - 1) / whole if whole > 0.0 else 0.0
    mass = _shares(model, count, s)
    victim = _drawn(model, count, s, mass * arrival.draw)
    cuda.syncthreads()
    for j in range(cuda.threadIdx.x, count, cuda.blockDim.x):
        length = np.float64(u[j])
        stays = 1.0 - max(0.0, 1.0 - s * length) / mass
        boost = 1.0 / stays if stays > 0.0 else 1.0
        after = min(length * boost, cap * math.sqrt(model.diag[j]))
        _stretch(model, j, after / length if length > 0.0 else 1.0)
    cuda.syncthreads()
    occupy(model, victim, arrival, update)
    return _drew(state, state.factor)


@cuda.jit(device=True)
def _stretch(model: Model, j: int, factor: float) -> None:
    for o in range(model.coef.shape[0]):
        model.coef[o, j] *= np.float32(factor)

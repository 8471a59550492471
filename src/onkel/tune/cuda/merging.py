"""BSGD with merging on the GPU; see `onkel.budget.merge`.

The partner is that of the exhaustive search, the oldest on ties. All centres are
bounded from below at once, as `outline` does, the most promising is met exactly, and
then the threads meet those that could still win, each its own. That bound also holds
for several outputs: what is lost falls as coefficients turn towards each other, and
`outline` is about parallel ones.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from onkel.budget.merge import (
    RIGHT_ANGLE,
    TABLE_ERROR,
    Meeting,
    best_meeting,
    product,
)
from onkel.model.state import Update
from onkel.problem.kernels import Kernel
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
from onkel.tune.cuda.strategies import grown
from onkel.tune.cuda.values import alike


class Match(NamedTuple):
    """The partner, -1 if there is none, and where to meet."""

    n: int
    meeting: Meeting


@cuda.jit(device=True)
def _squared_distance(model: Model, m: int, n: int) -> float:
    whole = 0.0
    for k in range(model.points.shape[0]):
        apart = np.float64(model.points[k, m]) - np.float64(model.points[k, n])
        whole += apart * apart
    return whole


@cuda.jit(device=True)
def _meet(model: Model, kernel: Kernel, m: int, n: int) -> Meeting:
    p, r = product(model, m, m), product(model, n, n)
    x = kernel.gamma * _squared_distance(model, m, n)
    return best_meeting(max(p, r), product(model, m, n), min(p, r), x)


@cuda.jit(device=True)
def _lightest(model: Model, size: int) -> int:
    least, birth, slot = math.inf, np.int64(0), np.int64(0)
    for j in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        cost = squared_norm(model, j)
        if cost < least or (cost == least and model.birth[j] < birth):
            least, birth, slot = np.float64(cost), model.birth[j], np.int64(j)
    # Where squares overflow for all, a slot there must be.
    return max(earliest_least(model.board, least, birth, slot), 0)


@cuda.jit(device=True)
def _look_around(model: Model, kernel: Kernel, m: int, size: int, t: int) -> None:
    """Kernel values of centre m with all, into `other`; the newcomer's are known."""
    points = model.points[:, m]
    for j in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        if model.birth[m] == t:
            model.other[j] = model.values[j]
        else:
            model.other[j] = alike(kernel, model.points, j, points)


@cuda.jit(device=True)
def _outline(own: Any, length: Any, value: Any) -> Any:
    """Bound what is lost from below, by lengths of coefficients; single precision."""
    one, zero = np.float32(1.0), np.float32(0.0)
    both, light = own * length / (own + length), min(own, length)
    apart, near = max(one - value, zero), one + value
    return max(both * both * near, light * light / near) * apart * apart


@cuda.jit(device=True)
def _most_promising(model: Model, m: int, size: int) -> int:
    """Bound all, into `bound`; return the slot of the least bound, -1 if none."""
    own = np.float32(math.sqrt(squared_norm(model, m)))
    p = product(model, m, m)
    least, slot = math.inf, np.int64(0)
    for n in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        bound = np.float32(math.inf)
        right = RIGHT_ANGLE * math.sqrt(p * product(model, n, n))
        if n != m and product(model, m, n) > right:
            length = np.float32(math.sqrt(squared_norm(model, n)))
            bound = _outline(own, length, model.other[n])
        model.bound[n] = bound
        if bound < least:
            least, slot = np.float64(bound), np.int64(n)
    return earliest_least(model.board, least, slot, slot)


@cuda.jit(device=True)
def _partner(model: Model, kernel: Kernel, m: int, size: int) -> Match:
    """Find the centre whose merging with m costs least."""
    first = _most_promising(model, m, size)
    meeting = Meeting(1.0, 1.0, 0.0, math.inf)
    if first < 0:
        return Match(-1, meeting)
    meeting, best = _meet(model, kernel, m, first), np.int64(first)
    # In single precision bounds may be a little too high.
    enough = meeting.loss * (1.0 + TABLE_ERROR)
    for n in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        if n == first or not model.bound[n] <= enough:
            continue
        other = _meet(model, kernel, m, n)
        if other.loss < meeting.loss or (
            other.loss == meeting.loss and model.birth[n] < model.birth[best]
        ):
            meeting, best = other, np.int64(n)
    chosen = earliest_least(model.board, meeting.loss, model.birth[best], best)
    if best == chosen:
        # The threads that have it have the same: they may write at once.
        model.board.few[0] = meeting.h
        model.board.few[1] = meeting.u
        model.board.few[2] = meeting.v
        model.board.few[3] = meeting.loss
    cuda.syncthreads()
    return Match(
        chosen,
        Meeting(
            model.board.few[0],
            model.board.few[1],
            model.board.few[2],
            model.board.few[3],
        ),
    )


@cuda.jit(device=True)
def _project(model: Model, kernel: Kernel, m: int, size: int) -> None:
    """The nearest neighbour takes over what it can of centre m, which leaves."""
    least, birth, slot = math.inf, np.int64(0), np.int64(0)
    for j in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        value = -np.float64(model.other[j])
        nearer = value < least or (value == least and model.birth[j] < birth)
        if j != m and nearer:
            least, birth, slot = value, model.birth[j], np.int64(j)
    n = earliest_least(model.board, least, birth, slot)
    if n >= 0:
        share = math.exp(-kernel.gamma * _squared_distance(model, m, n))
        cuda.syncthreads()
        for o in range(cuda.threadIdx.x, model.coef.shape[0], cuda.blockDim.x):
            model.coef[o, n] += share * model.coef[o, m]
    close_ranks(model, m, size - 1)


@cuda.jit(device=True)
def _join(model: Model, m: int, size: int, match: Match) -> None:
    """Merge centre m into its partner's slot."""
    i, threads = cuda.threadIdx.x, cuda.blockDim.x
    n, (h, u, v, loss) = match.n, match.meeting
    if loss == 0.0:
        h, u, v = 1.0, 1.0, 1.0
    elif product(model, n, n) <= product(model, m, m):
        h, u, v = 1.0 - h, v, u
    cuda.syncthreads()
    for k in range(i, model.points.shape[0], threads):
        own, others = np.float64(model.points[k, n]), np.float64(model.points[k, m])
        model.points[k, n] = h * own + (1.0 - h) * others
    for o in range(i, model.coef.shape[0], threads):
        own, others = np.float64(model.coef[o, n]), np.float64(model.coef[o, m])
        model.coef[o, n] = u * own + v * others
    if i == 0:
        model.birth[n] = min(model.birth[n], model.birth[m])
        model.label[n] = -1
    close_ranks(model, m, size - 1)


@cuda.jit(device=True)
def merge(
    setting: Setting, model: Model, state: State, arrival: Arrival, update: Update
) -> State:
    """BSGD with merging."""
    occupy(model, state.size, arrival, update)
    if state.size < setting.limit:
        return grown(state)
    cuda.syncthreads()
    kernel, size = setting.kernel, state.size + 1
    m = _lightest(model, size)
    _look_around(model, kernel, m, size, arrival.birth)
    match = _partner(model, kernel, m, size)
    if match.n < 0:
        _project(model, kernel, m, size)
    else:
        _join(model, m, size, match)
    return state

"""Reductions: what the threads of a block find together, and then all know.

In two steps, each with a barrier: some threads look through every so many results, then
every thread through those of the few. So no thread has to tell the others, all have the
same bits, and the order of additions depends on the number of threads only.

All threads of a block must call these, as often as each other.
"""

import math
from typing import Any, NamedTuple

from numba import cuda

THREADS = 256  # most of a block
FEW = 16


class Board(NamedTuple):
    """Memory that the threads of a block share; the kernel makes it, and only it.

    A function called on two ways would have its own linked twice.
    """

    parts: Any  # shape (THREADS,), numbers
    births: Any  # shape (THREADS,), integers
    slots: Any  # shape (THREADS,), integers
    few: Any  # shape (FEW,), numbers


@cuda.jit(device=True)
def total(board: Board, value: float) -> float:
    """Sum of the values of all threads."""
    i, threads, values, sums = cuda.threadIdx.x, cuda.blockDim.x, board.parts, board.few
    values[i] = value
    cuda.syncthreads()
    if i < FEW:
        part = 0.0
        for j in range(i, threads, FEW):
            part += values[j]
        sums[i] = part
    cuda.syncthreads()
    whole = 0.0
    for j in range(min(FEW, threads)):
        whole += sums[j]
    return whole


@cuda.jit(device=True)
def earliest_least(board: Board, cost: float, birth: int, slot: int) -> int:
    """Slot of the smallest cost, of the earliest birth on ties; -1 if all are infinite.

    Each thread brings the best of its own slots, or an infinite cost.
    """
    i, threads = cuda.threadIdx.x, cuda.blockDim.x
    costs, births, slots = board.parts, board.births, board.slots
    costs[i] = cost
    births[i] = birth
    slots[i] = slot
    cuda.syncthreads()
    if i < FEW:
        best = _first_of(costs, births, i, threads, FEW)
        # Nobody else reads this place before the barrier.
        costs[i], births[i], slots[i] = costs[best], births[best], slots[best]
    cuda.syncthreads()
    best = _first_of(costs, births, 0, min(FEW, threads), 1)
    found = slots[best] if costs[best] < math.inf else -1
    # The next call writes where threads may still read.
    cuda.syncthreads()
    return found


@cuda.jit(device=True)
def _first_of(costs: Any, births: Any, first: int, stop: int, stride: int) -> int:
    best = first
    for j in range(first + stride, stop, stride):
        if costs[j] < costs[best] or (
            costs[j] == costs[best] and births[j] < births[best]
        ):
            best = j
    return best


class Place(NamedTuple):
    """Whose part it is, and the sum of all parts before it."""

    thread: int
    before: float


@cuda.jit(device=True)
def where_exceeded(board: Board, part: float, limit: float) -> Place:
    """Find the thread in whose part the running sum exceeds a limit, or the last."""
    i, threads, parts, sums = cuda.threadIdx.x, cuda.blockDim.x, board.parts, board.few
    width = (threads + FEW - 1) // FEW
    groups = (threads + width - 1) // width
    parts[i] = part
    cuda.syncthreads()
    if i < groups:
        group = 0.0
        for j in range(i * width, min((i + 1) * width, threads)):
            group += parts[j]
        sums[i] = group
    cuda.syncthreads()
    before, g = 0.0, 0
    while g < groups - 1 and before + sums[g] <= limit:
        before += sums[g]
        g += 1
    j, last = g * width, min((g + 1) * width, threads) - 1
    while j < last and before + parts[j] <= limit:
        before += parts[j]
        j += 1
    # The next call writes where threads may still read.
    cuda.syncthreads()
    return Place(j, before)

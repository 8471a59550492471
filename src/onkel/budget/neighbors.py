"""Project the centre that costs least on its nearest neighbours, and remove it.

With the victim p = argmin a_p^2 k(p, p) and N its k nearest centres (largest kernel
values), d solves (K_NN + jitter) d = k_Np, and a_N += a_p d. The jitter is that of
`onkel.model.inverse`; all is solved in double precision.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import maintain
from onkel.budget.merge import kernel_row
from onkel.budget.remove import smallest_share
from onkel.compiled.functions import inner
from onkel.model.expansion import alike, drop, transfer
from onkel.model.inverse import JITTER
from onkel.model.ranges import WORK
from onkel.model.state import Block, Model


@strategy(ranges={"chosen": WORK, "matrix": WORK, "shares": WORK})
class Neighbors(NamedTuple):
    """Maintenance by projection on a few centres; `make` is the constructor."""

    chosen: Any  # shape (neighbours,), int64: their slots
    matrix: Any  # shape (neighbours, neighbours), float64
    shares: Any  # shape (neighbours,), float64


def make(neighbors: int) -> Neighbors:
    """Make the strategy, with the memory it works in.

    Examples
    --------
    >>> make(4).matrix.shape
    (4, 4)
    """
    return Neighbors(
        np.zeros(neighbors, np.int64),
        np.zeros((neighbors, neighbors)),
        np.zeros(neighbors),
    )


@inner
def choose(model: Model, values: Any, victim: int, chosen: Any) -> int:
    """Write the slots of the largest values, the oldest first on ties; return how many.

    Overwrites the values of those chosen.
    """
    count = 0
    values[victim] = -np.inf
    for _ in range(min(len(chosen), model.counters[0].count - 1)):
        best = -1
        for j in range(model.counters[0].count):
            if values[j] == -np.inf:
                continue
            if (
                best < 0
                or values[j] > values[best]
                or (values[j] == values[best] and model.birth[j] < model.birth[best])
            ):
                best = j
        chosen[count] = best
        values[best] = -np.inf
        count += 1
    return count


@inner
def solve(matrix: Any, shares: Any, size: int) -> None:
    """Solve for the right-hand side in `shares`, in place; matrix becomes its factor.

    Cholesky. A pivot that rounding made too small is as large as the jitter.
    """
    for i in range(size):
        least = JITTER * matrix[i, i]
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                matrix[i, i] = math.sqrt(max(total, least, 1e-300))
            else:
                matrix[i, j] = total / matrix[j, j]
    for i in range(size):
        for k in range(i):
            shares[i] -= matrix[i, k] * shares[k]
        shares[i] /= matrix[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            shares[i] -= matrix[k, i] * shares[k]
        shares[i] /= matrix[i, i]


@maintain.register(Neighbors)
def _maintain(strategy: Neighbors, model: Model, block: Block, t: int) -> None:
    p = smallest_share(model, block.scratch)
    values = kernel_row(model, block, t, p)
    for j in range(len(values)):
        block.scratch[j] = values[j]
    chosen, matrix, shares = strategy.chosen, strategy.matrix, strategy.shares
    size = choose(model, block.scratch, p, chosen)
    for i in range(size):
        shares[i] = alike(model, block, chosen[i], p)
        for j in range(i):
            matrix[i, j] = alike(model, block, chosen[i], chosen[j])
        matrix[i, i] = (1.0 + JITTER) * alike(model, block, chosen[i], chosen[i])
    solve(matrix, shares, size)
    for i in range(size):
        transfer(model, p, chosen[i], shares[i])
    drop(model, block, t, p)

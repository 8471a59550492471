"""Shuffling: all rows of a data set in random order, in bounded memory."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

# Up to so much a data set is loaded, and shuffled as a whole.
MOST_BYTES = 512 * 2**20


class Part(NamedTuple):
    """Some rows, as they are predicted and learnt."""

    X: Any
    y: np.ndarray


def bytes_of(X: Any) -> int:
    """Memory of some rows.

    Examples
    --------
    >>> bytes_of(np.zeros((10, 2), np.float32))
    80
    """
    if scipy.sparse.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def stacked(parts: list[Any]) -> Any:
    """Rows below each other; if one part is sparse, all are.

    Examples
    --------
    >>> stacked([np.zeros((2, 3)), np.zeros((1, 3))]).shape
    (3, 3)
    """
    if len(parts) == 1:
        return parts[0]
    if scipy.sparse.issparse(parts[0]):
        return scipy.sparse.csr_array(scipy.sparse.vstack(parts, "csr"))
    return np.vstack(parts)


def shuffled(data: Any, rows: int, seed: int, most_bytes: float) -> Iterator[Part]:
    """All rows in random order, as many in memory as allowed, or as a part has.

    What does not fit is read several times, each time for the rows whose turn it is:
    rows that lie far apart in a file would never meet in a buffer.

    Examples
    --------
    >>> from onkel.race.streams import digits
    >>> [len(part.y) for part in shuffled(digits(), 1000, seed=0, most_bytes=2**20)]
    [1000, 797]
    """
    rng = np.random.default_rng(seed)
    some = bytes_of(next(iter(data.batches(rows))).X)
    whole = some / min(rows, data.n_rows) * data.n_rows
    # Twice, while the rows of a turn are put together.
    turns = 1 if whole <= most_bytes else math.ceil(2 * whole / max(most_bytes, some))
    turn = rng.integers(turns, size=data.n_rows, dtype=np.uint16)
    for number in range(turns):
        if turns == 1:
            X, y = data.load()
        else:
            held = [
                Part(batch.X[mine], batch.y[mine])
                for batch in data.batches(rows)
                for mine in [turn[batch.first : batch.first + len(batch.y)] == number]
            ]
            X = stacked([part.X for part in held])
            y = np.concatenate([part.y for part in held])
        order = rng.permutation(len(y))
        for start in range(0, len(y), rows):
            now = order[start : start + rows]
            yield Part(X[now], y[now])

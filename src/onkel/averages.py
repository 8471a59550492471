"""Average: which iterate is the answer.

Last    the last one
Mean    the mean of all since `clock` was 0, each counted before its row changes it

The mean costs nothing per row. Every coefficient a keeps a lag B, and its mean over A
rows is a - B/A: a change by w after A rows adds w A to B, because in those rows it was
not there yet. A centre that leaves hands on its lag as it hands on its coefficients:
if it is merged or projected, the mean is merged or projected with it; if it is dropped,
its part of the mean is dropped.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.compiled import choice

# A row has been seen.
tick, ticks = choice(position=0)
# Centre j has entered with its coefficients.
note_entry, notes_entry = choice(position=0)
# One coefficient of centre j has changed.
note_change, notes_change = choice(position=0)
# A multiple of a vector was added to one output's coefficients.
note_spread, notes_spread = choice(position=0)
# Centre j has taken over a share of centre p's coefficients.
note_bequest, notes_bequest = choice(position=0)
# Centre i has become u times itself plus v times centre j.
note_merge, notes_merge = choice(position=0)
# The centre of slot `last` moves to slot j.
note_move, notes_move = choice(position=0)


class Last(NamedTuple):
    """No average."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type

    def resized(self, size: int, capacity: int) -> "Last":
        """Return the same for another capacity."""
        return self

    def mapped(self, matrix: np.ndarray) -> "Last":
        """Return the same for outputs mapped by a matrix."""
        return self

    def of(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of the answer, given those of the last iterate."""
        return coef


class Mean(NamedTuple):
    """The mean; `clock` counts the rows."""

    lag: Any  # shape (outputs, capacity), float64
    clock: Any  # shape (1,), float64

    def resized(self, size: int, capacity: int) -> "Mean":
        """Copy into another capacity."""
        lag = np.zeros((len(self.lag), capacity))
        lag[:, :size] = self.lag[:, :size]
        return Mean(lag, self.clock)

    def mapped(self, matrix: np.ndarray) -> "Mean":
        """Map the outputs by a matrix."""
        return self._replace(lag=np.ascontiguousarray(matrix @ self.lag))

    def of(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients of the mean, given those of the last iterate."""
        if self.clock[0] == 0.0:
            return coef
        lag = self.lag[:, : coef.shape[1]]
        return (coef - lag / self.clock[0]).astype(coef.dtype)

    def restart(self) -> None:
        """Forget all iterates so far."""
        self.lag[:] = 0.0
        self.clock[0] = 0.0


def allocate(kind: type, outputs: int, capacity: int) -> Any:
    """Make the average of that kind for an empty model.

    Examples
    --------
    >>> allocate(Mean, 1, 4).lag.shape
    (1, 4)
    """
    if kind is Last:
        return Last()
    return Mean(np.zeros((outputs, capacity)), np.zeros(1))


@ticks(Last)
def _tick_not(average: Last) -> None:
    pass


@ticks(Mean)
def _tick(average: Mean) -> None:
    average.clock[0] += 1.0


@notes_entry(Last)
def _entry_not(average: Last, coef: Any, j: int) -> None:
    pass


@notes_entry(Mean)
def _entry(average: Mean, coef: Any, j: int) -> None:
    for o in range(len(coef)):
        average.lag[o, j] = coef[o, j] * average.clock[0]


@notes_change(Last)
def _change_not(average: Last, output: int, j: int, weight: float) -> None:
    pass


@notes_change(Mean)
def _change(average: Mean, output: int, j: int, weight: float) -> None:
    average.lag[output, j] += weight * average.clock[0]


@notes_spread(Last)
def _spread_not(
    average: Last, output: int, weight: float, vector: Any, size: int
) -> None:
    pass


@notes_spread(Mean)
def _spread(average: Mean, output: int, weight: float, vector: Any, size: int) -> None:
    scale = weight * average.clock[0]
    for j in range(size):
        average.lag[output, j] += scale * vector[j]


@notes_bequest(Last)
def _bequest_not(average: Last, p: int, j: int, share: float) -> None:
    pass


@notes_bequest(Mean)
def _bequest(average: Mean, p: int, j: int, share: float) -> None:
    for o in range(len(average.lag)):
        average.lag[o, j] += share * average.lag[o, p]


@notes_merge(Last)
def _merge_not(average: Last, i: int, j: int, u: float, v: float) -> None:
    pass


@notes_merge(Mean)
def _merge(average: Mean, i: int, j: int, u: float, v: float) -> None:
    for o in range(len(average.lag)):
        average.lag[o, i] = u * average.lag[o, i] + v * average.lag[o, j]


@notes_move(Last)
def _move_not(average: Last, j: int, last: int) -> None:
    pass


@notes_move(Mean)
def _move(average: Mean, j: int, last: int) -> None:
    for o in range(len(average.lag)):
        average.lag[o, j] = average.lag[o, last]

"""Average: which iterate is the answer.

Last     the last one
Mean     the mean of those in a window, each counted before its row changes it
Whole    the same, and what left the model stays in the mean, whatever memory that takes

A mean costs a few operations per row, and nothing per centre. An iterate is scale times
the raw coefficients q. With A the sum of the weighted scales so far, the part of a
centre in the sum of the iterates, its mass, is

    M + q A - B,

where a change of q by w after so many rows adds w A to B, because in those rows it was
not there yet. Before A grows beyond all bounds, and before the coefficients of all
centres change at once, the masses are settled: M <- M + q A - B, B <- 0, A <- 0.

All rows of the window weigh the same, or as t (t+1) (t+2), which forgets the beginning
without knowing the end (polynomial decay).

In a Mean, a centre that leaves hands on its mass as it hands on its coefficients: if it
is merged or projected, the mean is merged or projected with it; if it is dropped, its
part of the mean is dropped. In a Whole, its point and mass are put away.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import typedispatch
from onkel.model.growing import enlarged
from onkel.model.rows import copy_point

# Rows after which the masses are settled, against cancellation.
SETTLE_EVERY = 8192
# Exponent of the polynomial decay.
DECAY = 3

COUNTERS = np.dtype(
    [
        ("rows", np.int64),  # seen
        ("start", np.int64),  # rows before the window
        ("decay", np.int64),  # exponent of the weights
        ("retired", np.int64),
        ("scales", np.float64),  # A: weighted sum of the scales since masses settled
    ],
    align=True,
)


@typedispatch(optional=True)
def count_row(average: Any, coef: Any, size: int, scale: float) -> None:
    """A row has been seen, by a model with that scale."""


@typedispatch(optional=True, merged=False)
def settle(average: Any, coef: Any, size: int) -> None:
    """Add what the coefficients stand for to the masses; they are about to change."""


@typedispatch(optional=True)
def note_entry(average: Any, coef: Any, j: int) -> None:
    """Centre j has entered with its coefficients."""


@typedispatch(optional=True)
def note_change(average: Any, output: int, j: int, weight: float) -> None:
    """One coefficient of centre j has changed."""


@typedispatch(optional=True)
def note_transfer(average: Any, coef: Any, p: int, j: int, share: float) -> None:
    """Centre j has taken over a share of centre p's coefficients."""


@typedispatch(optional=True)
def note_merge(average: Any, coef: Any, i: int, j: int, u: float, v: float) -> None:
    """Centre i has become u times itself plus v times centre j."""


@typedispatch(optional=True)
def note_exit(average: Any, coef: Any, points: Any, norms: Any, j: int) -> None:
    """Centre j is about to leave."""


@typedispatch(optional=True)
def note_move(average: Any, j: int, last: int) -> None:
    """The centre of slot `last` moves to slot j."""


@typedispatch(optional=True)
def has_room(average: Any, rows: int) -> bool:
    """Whether there is room for so many rows, should each make two centres leave."""
    return True


class Window(NamedTuple):
    """Which iterates to average."""

    start: int = 0  # rows before the first that counts
    decay: int = 0
    whole: bool = False


def weight_of(rows: int, start: int, decay: int) -> float:
    """Sum of the weights of the rows of a window.

    Examples
    --------
    >>> weight_of(10, 4, 0), weight_of(2, 0, DECAY)
    (6.0, 5.0)
    """
    return float(math.comb(max(rows - start, 0) + decay, decay + 1))


class Last(NamedTuple):
    """No average."""

    nothing: int = 0  # a NamedTuple without fields has no compiled type

    def resized(self, size: int, capacity: int) -> "Last":
        """Return the same for another capacity."""
        return self

    def widened(self, features: int) -> "Last":
        """Return the same for points with more features."""
        return self

    def mapped(self, matrix: np.ndarray) -> "Last":
        """Return the same for outputs mapped by a matrix."""
        return self

    def moved(self, coef: np.ndarray, transfer: np.ndarray) -> "Last":
        """Return the same for slots mapped by a matrix (new x old)."""
        return self

    def skip(self, rows: int) -> None:
        """Count rows that left the model empty."""

    def of(self, coef: np.ndarray, scale: float) -> np.ndarray:
        """True coefficients of the answer, given the raw ones of the last iterate."""
        return coef * coef.dtype.type(scale)


class Mean(NamedTuple):
    """The mean of a window."""

    lag: Any  # B, shape (outputs, capacity), float64
    mass: Any  # M, likewise
    counters: Any  # shape (1,), of COUNTERS

    def resized(self, size: int, capacity: int) -> "Mean":
        """Copy into another capacity."""
        return _resized(self, size, capacity)

    def widened(self, features: int) -> "Mean":
        """Return the same for points with more features."""
        return self

    def mapped(self, matrix: np.ndarray) -> "Mean":
        """Map the outputs by a matrix."""
        return _mapped(self, matrix)

    def moved(self, coef: np.ndarray, transfer: np.ndarray) -> "Mean":
        """Map the slots by a matrix (new x old), given the raw coefficients."""
        lag, mass = np.zeros_like(self.lag), np.zeros_like(self.mass)
        mass[:, : len(transfer)] = self._settled(coef) @ transfer.T
        self.counters[0].scales = 0.0
        return self._replace(lag=lag, mass=mass)

    def _settled(self, coef: np.ndarray) -> np.ndarray:
        """Masses as they will be, given the raw coefficients."""
        size, scales = coef.shape[1], self.counters[0].scales
        return self.mass[:, :size] + coef * scales - self.lag[:, :size]

    def skip(self, rows: int) -> None:
        """Count rows that left the model empty."""
        self.counters[0].rows += rows

    def of(self, coef: np.ndarray, scale: float) -> np.ndarray:
        """True coefficients of the answer, given the raw ones of the last iterate."""
        total = _total(self)
        if total == 0.0:
            return coef * coef.dtype.type(scale)
        return (self._settled(coef) / total).astype(coef.dtype)

    def restart(self) -> None:
        """Forget all iterates so far."""
        self.lag[:] = self.mass[:] = 0.0
        self.counters[0].rows = 0
        self.counters[0].scales = 0.0


class Whole(NamedTuple):
    """The mean of a window, with all that left the model."""

    lag: Any
    mass: Any
    counters: Any
    points: Any  # shape (room, features): the centres that left
    norms: Any  # shape (room,)
    masses: Any  # shape (outputs, room), float64: theirs

    @property
    def within(self) -> Mean:
        """The mean of what is in the model; it shares the arrays."""
        return Mean(self.lag, self.mass, self.counters)

    def resized(self, size: int, capacity: int) -> "Whole":
        """Copy into another capacity."""
        return _resized(self, size, capacity)

    def widened(self, features: int) -> "Whole":
        """Copy for points with more features, all 0."""
        return self._replace(points=enlarged(self.points, len(self.points), features))

    def with_room(self, rows: int) -> "Whole":
        """Copy with room for so many rows, and some more."""
        size = int(self.counters[0].retired)
        room = 2 * size + 2 * rows
        return self._replace(
            points=enlarged(self.points[:size], room, self.points.shape[1]),
            norms=enlarged(self.norms[:size], room),
            masses=enlarged(self.masses[:, :size], len(self.masses), room),
        )

    def mapped(self, matrix: np.ndarray) -> "Whole":
        """Map the outputs by a matrix."""
        masses = np.ascontiguousarray(matrix @ self.masses)
        return _mapped(self, matrix)._replace(masses=masses)

    def skip(self, rows: int) -> None:
        """Count rows that left the model empty."""
        self.within.skip(rows)

    def restart(self) -> None:
        """Forget all iterates so far, and what left."""
        self.within.restart()
        self.counters[0].retired = 0

    def of(self, coef: np.ndarray, scale: float) -> np.ndarray:
        """True coefficients of the centres, then of those that left."""
        gone = self.masses[:, : self.counters[0].retired] / max(_total(self), 1.0)
        present = self.within.of(coef, scale)
        return np.concatenate([present, gone.astype(coef.dtype)], axis=1)


def _total(average: Any) -> float:
    counters = average.counters[0]
    return weight_of(int(counters.rows), int(counters.start), int(counters.decay))


def _resized(average: Any, size: int, capacity: int) -> Any:
    both, outputs = (average.lag, average.mass), len(average.lag)
    lag, mass = (enlarged(old[:, :size], outputs, capacity) for old in both)
    return average._replace(lag=lag, mass=mass)


def _mapped(average: Any, matrix: np.ndarray) -> Any:
    both = average.lag, average.mass
    lag, mass = (np.ascontiguousarray(matrix @ old) for old in both)
    return average._replace(lag=lag, mass=mass)


def allocate(
    window: Window | None, outputs: int, capacity: int, features: int, dtype: Any
) -> Any:
    """Make the average over that window, None for the last iterate, of an empty model.

    Examples
    --------
    >>> allocate(Window(), 1, 4, 2, np.float32).lag.shape
    (1, 4)
    """
    if window is None:
        return Last()
    counters = np.zeros(1, COUNTERS).view(np.recarray)
    counters[0].start, counters[0].decay = window.start, window.decay
    lag, mass = np.zeros((2, outputs, capacity))
    if not window.whole:
        return Mean(lag, mass, counters)
    points = np.zeros((0, features), dtype)
    return Whole(
        lag, mass, counters, points, np.zeros(0, dtype), np.zeros((outputs, 0))
    )


@count_row.register(Mean)
@count_row.register(Whole)
def _count_row(average: Any, coef: Any, size: int, scale: float) -> None:
    counters = average.counters[0]
    counters.rows += 1
    if counters.rows <= counters.start:
        return
    if counters.decay:
        t = np.float64(counters.rows - counters.start)
        scale *= t * (t + 1.0) * (t + 2.0) / 6.0
    counters.scales += scale
    if counters.rows % SETTLE_EVERY == 0:
        settle(average, coef, size)


@settle.register(Mean)
@settle.register(Whole)
def _settle(average: Any, coef: Any, size: int) -> None:
    lag, mass, counters = average.lag, average.mass, average.counters[0]
    for o in range(len(coef)):
        for j in range(size):
            mass[o, j] += coef[o, j] * counters.scales - lag[o, j]
            lag[o, j] = 0.0
    counters.scales = 0.0


@note_entry.register(Mean)
@note_entry.register(Whole)
def _entry(average: Any, coef: Any, j: int) -> None:
    for o in range(len(coef)):
        average.lag[o, j] = coef[o, j] * average.counters[0].scales
        average.mass[o, j] = 0.0


@note_change.register(Mean)
@note_change.register(Whole)
def _change(average: Any, output: int, j: int, weight: float) -> None:
    average.lag[output, j] += weight * average.counters[0].scales


@note_transfer.register(Mean)
def _transfer(average: Mean, coef: Any, p: int, j: int, share: float) -> None:
    for o in range(len(coef)):
        average.lag[o, j] += share * average.lag[o, p]
        average.mass[o, j] += share * average.mass[o, p]


@note_transfer.register(Whole)
def _transfer_now(average: Whole, coef: Any, p: int, j: int, share: float) -> None:
    for o in range(len(coef)):
        average.lag[o, j] += share * coef[o, p] * average.counters[0].scales


@note_merge.register(Mean)
def _merge(average: Mean, coef: Any, i: int, j: int, u: float, v: float) -> None:
    for o in range(len(coef)):
        average.lag[o, i] = u * average.lag[o, i] + v * average.lag[o, j]
        average.mass[o, i] = u * average.mass[o, i] + v * average.mass[o, j]


@note_merge.register(Whole)
def _merge_now(average: Whole, coef: Any, i: int, j: int, u: float, v: float) -> None:
    note_entry(average, coef, i)


@note_exit.register(Whole)
def _exit(average: Whole, coef: Any, points: Any, norms: Any, j: int) -> None:
    counters = average.counters[0]
    slot = counters.retired
    counters.retired += 1
    copy_point(points, j, average.points[slot])
    average.norms[slot] = norms[j]
    for o in range(len(coef)):
        grown = coef[o, j] * counters.scales - average.lag[o, j]
        average.masses[o, slot] = average.mass[o, j] + grown


@note_move.register(Mean)
@note_move.register(Whole)
def _move(average: Any, j: int, last: int) -> None:
    for o in range(len(average.lag)):
        average.lag[o, j] = average.lag[o, last]
        average.mass[o, j] = average.mass[o, last]


@has_room.register(Whole)
def _has_room(average: Whole, rows: int) -> bool:
    return average.counters[0].retired + 2 * rows <= len(average.norms)

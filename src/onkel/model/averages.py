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

from onkel.compiled.functions import choice
from onkel.model.rows import take

# A row has been seen, by a model with that scale.
tick, ticks = choice(position=0)
# Add what the present coefficients stand for to the masses; they are about to change.
settle, settles = choice(position=0, merged=False)
# Centre j has entered with its coefficients.
note_entry, notes_entry = choice(position=0)
# One coefficient of centre j has changed.
note_change, notes_change = choice(position=0)
# Centre j has taken over a share of centre p's coefficients.
note_bequest, notes_bequest = choice(position=0)
# Centre i has become u times itself plus v times centre j.
note_merge, notes_merge = choice(position=0)
# Centre j is about to leave.
note_exit, notes_exit = choice(position=0)
# The centre of slot `last` moves to slot j.
note_move, notes_move = choice(position=0)
# Whether there is room for so many rows, should each make two centres leave.
roomy, roomies = choice(position=0)

# Rows after which the masses are settled, against cancellation.
SETTLE_EVERY = 8192
# Exponent of the polynomial decay.
DECAY = 3

BOOK = np.dtype(
    [
        ("rows", np.int64),  # seen
        ("start", np.int64),  # rows before the window
        ("decay", np.int64),  # exponent of the weights
        ("retired", np.int64),
        ("scales", np.float64),  # A: weighted sum of the scales since masses settled
    ],
    align=True,
)


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
    book: Any  # shape (1,), of BOOK

    def resized(self, size: int, capacity: int) -> "Mean":
        """Copy into another capacity."""
        lag, mass = _resized(self, size, capacity)
        return self._replace(lag=lag, mass=mass)

    def mapped(self, matrix: np.ndarray) -> "Mean":
        """Map the outputs by a matrix."""
        lag, mass = _mapped(self, matrix)
        return self._replace(lag=lag, mass=mass)

    def moved(self, coef: np.ndarray, transfer: np.ndarray) -> "Mean":
        """Map the slots by a matrix (new x old), given the raw coefficients."""
        size, book = coef.shape[1], self.book[0]
        lag, mass = np.zeros_like(self.lag), np.zeros_like(self.mass)
        settled = self.mass[:, :size] + coef * book.scales - self.lag[:, :size]
        mass[:, : len(transfer)] = settled @ transfer.T
        book.scales = 0.0
        return self._replace(lag=lag, mass=mass)

    def skip(self, rows: int) -> None:
        """Count rows that left the model empty."""
        self.book[0].rows += rows

    def of(self, coef: np.ndarray, scale: float) -> np.ndarray:
        """True coefficients of the answer, given the raw ones of the last iterate."""
        book = self.book[0]
        total = weight_of(int(book.rows), int(book.start), int(book.decay))
        if total == 0.0:
            return coef * coef.dtype.type(scale)
        size = coef.shape[1]
        mass = self.mass[:, :size] + coef * book.scales - self.lag[:, :size]
        return (mass / total).astype(coef.dtype)

    def restart(self) -> None:
        """Forget all iterates so far."""
        self.lag[:] = self.mass[:] = 0.0
        self.book[0].rows = 0
        self.book[0].scales = 0.0


class Whole(NamedTuple):
    """The mean of a window, with all that left the model."""

    lag: Any
    mass: Any
    book: Any
    points: Any  # shape (room, features): the centres that left
    norms: Any  # shape (room,)
    masses: Any  # shape (outputs, room), float64: theirs

    def resized(self, size: int, capacity: int) -> "Whole":
        """Copy into another capacity."""
        lag, mass = _resized(self, size, capacity)
        return self._replace(lag=lag, mass=mass)

    def with_room(self, rows: int) -> "Whole":
        """Copy with room for so many rows, and some more."""
        size = int(self.book[0].retired)
        room = 2 * size + 2 * rows
        points = np.zeros((room, self.points.shape[1]), self.points.dtype)
        norms = np.zeros(room, self.norms.dtype)
        masses = np.zeros((len(self.masses), room))
        points[:size], norms[:size] = self.points[:size], self.norms[:size]
        masses[:, :size] = self.masses[:, :size]
        return self._replace(points=points, norms=norms, masses=masses)

    def mapped(self, matrix: np.ndarray) -> "Whole":
        """Map the outputs by a matrix."""
        lag, mass = _mapped(self, matrix)
        masses = np.ascontiguousarray(matrix @ self.masses)
        return self._replace(lag=lag, mass=mass, masses=masses)

    def skip(self, rows: int) -> None:
        """Count rows that left the model empty."""
        _mean(self).skip(rows)

    def of(self, coef: np.ndarray, scale: float) -> np.ndarray:
        """True coefficients of the centres, then of those that left."""
        book = self.book[0]
        total = weight_of(int(book.rows), int(book.start), int(book.decay))
        gone = self.masses[:, : book.retired] / max(total, 1.0)
        present = _mean(self).of(coef, scale)
        return np.concatenate([present, gone.astype(coef.dtype)], axis=1)


def _resized(average: Any, size: int, capacity: int) -> list[np.ndarray]:
    new = [np.zeros((len(average.lag), capacity)) for _ in range(2)]
    for array, old in zip(new, (average.lag, average.mass), strict=True):
        array[:, :size] = old[:, :size]
    return new


def _mapped(average: Any, matrix: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(matrix @ old) for old in (average.lag, average.mass)]


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
    book = np.zeros(1, BOOK).view(np.recarray)
    book[0].start, book[0].decay = window.start, window.decay
    lag, mass = np.zeros((2, outputs, capacity))
    if not window.whole:
        return Mean(lag, mass, book)
    points = np.zeros((0, features), dtype)
    return Whole(lag, mass, book, points, np.zeros(0, dtype), np.zeros((outputs, 0)))


def _mean(average: Whole) -> Mean:
    return Mean(average.lag, average.mass, average.book)


@ticks(Last)
def _tick_not(average: Last, coef: Any, size: int, scale: float) -> None:
    pass


@ticks(Mean)
@ticks(Whole)
def _tick(average: Any, coef: Any, size: int, scale: float) -> None:
    book = average.book[0]
    book.rows += 1
    if book.rows <= book.start:
        return
    if book.decay:
        t = np.float64(book.rows - book.start)
        scale *= t * (t + 1.0) * (t + 2.0) / 6.0
    book.scales += scale
    if book.rows % SETTLE_EVERY == 0:
        settle(average, coef, size)


@settles(Last)
def _settle_not(average: Last, coef: Any, size: int) -> None:
    pass


@settles(Mean)
@settles(Whole)
def _settle(average: Any, coef: Any, size: int) -> None:
    lag, mass, book = average.lag, average.mass, average.book[0]
    for o in range(len(coef)):
        for j in range(size):
            mass[o, j] += coef[o, j] * book.scales - lag[o, j]
            lag[o, j] = 0.0
    book.scales = 0.0


@notes_entry(Last)
def _entry_not(average: Last, coef: Any, j: int) -> None:
    pass


@notes_entry(Mean)
@notes_entry(Whole)
def _entry(average: Any, coef: Any, j: int) -> None:
    for o in range(len(coef)):
        average.lag[o, j] = coef[o, j] * average.book[0].scales
        average.mass[o, j] = 0.0


@notes_change(Last)
def _change_not(average: Last, output: int, j: int, weight: float) -> None:
    pass


@notes_change(Mean)
@notes_change(Whole)
def _change(average: Any, output: int, j: int, weight: float) -> None:
    average.lag[output, j] += weight * average.book[0].scales


@notes_bequest(Last)
def _bequest_not(average: Last, coef: Any, p: int, j: int, share: float) -> None:
    pass


@notes_bequest(Mean)
def _bequest(average: Mean, coef: Any, p: int, j: int, share: float) -> None:
    for o in range(len(coef)):
        average.lag[o, j] += share * average.lag[o, p]
        average.mass[o, j] += share * average.mass[o, p]


@notes_bequest(Whole)
def _bequest_now(average: Whole, coef: Any, p: int, j: int, share: float) -> None:
    for o in range(len(coef)):
        average.lag[o, j] += share * coef[o, p] * average.book[0].scales


@notes_merge(Last)
def _merge_not(average: Last, coef: Any, i: int, j: int, u: float, v: float) -> None:
    pass


@notes_merge(Mean)
def _merge(average: Mean, coef: Any, i: int, j: int, u: float, v: float) -> None:
    for o in range(len(coef)):
        average.lag[o, i] = u * average.lag[o, i] + v * average.lag[o, j]
        average.mass[o, i] = u * average.mass[o, i] + v * average.mass[o, j]


@notes_merge(Whole)
def _merge_now(average: Whole, coef: Any, i: int, j: int, u: float, v: float) -> None:
    note_entry(average, coef, i)


@notes_exit(Last)
@notes_exit(Mean)
def _exit_not(average: Any, coef: Any, points: Any, norms: Any, j: int) -> None:
    pass


@notes_exit(Whole)
def _exit(average: Whole, coef: Any, points: Any, norms: Any, j: int) -> None:
    book = average.book[0]
    slot = book.retired
    book.retired += 1
    take(points, j, average.points[slot])
    average.norms[slot] = norms[j]
    for o in range(len(coef)):
        grown = coef[o, j] * book.scales - average.lag[o, j]
        average.masses[o, slot] = average.mass[o, j] + grown


@notes_move(Last)
def _move_not(average: Last, j: int, last: int) -> None:
    pass


@notes_move(Mean)
@notes_move(Whole)
def _move(average: Any, j: int, last: int) -> None:
    for o in range(len(average.lag)):
        average.lag[o, j] = average.lag[o, last]
        average.mass[o, j] = average.mass[o, last]


@roomies(Last)
@roomies(Mean)
def _roomy(average: Any, rows: int) -> bool:
    return True


@roomies(Whole)
def _roomy_whole(average: Whole, rows: int) -> bool:
    return average.book[0].retired + 2 * rows <= len(average.norms)

"""Starter: one contestant in one run, with its clock and its errors."""

import re
import time
from typing import Any

import numpy as np

from onkel.race.entrants import Entrant
from onkel.race.outcome import Run
from onkel.race.problem import Problem

ROWS = 8192  # after which a look is taken at the clock


class Track:
    """Errors of one contestant in one run, summed up to each mark.

    Examples
    --------
    >>> track = Track(np.array([2, 4]))
    >>> for errors in ([1.0, 0.0, 1.0], [1.0]):
    ...     track.add(np.array(errors))
    >>> track.total, track.curve.tolist()
    (3.0, [1.0, 3.0])
    """

    def __init__(self, marks: np.ndarray) -> None:
        self._marks = marks
        self._sums = np.zeros(len(marks))
        self.rows, self.total = 0, 0.0

    def add(self, errors: np.ndarray) -> None:
        """Count the errors of the next rows."""
        sums = self.total + np.cumsum(errors)
        first, last = np.searchsorted(
            self._marks, [self.rows, self.rows + len(errors)], side="right"
        )
        self._sums[first:last] = sums[self._marks[first:last] - self.rows - 1]
        self.rows, self.total = self.rows + len(errors), float(sums[-1])

    @property
    def curve(self) -> np.ndarray:
        """Sums at the marks that were reached."""
        return self._sums[: np.searchsorted(self._marks, self.rows, side="right")]


class Starter:
    """One contestant in one run: its work, its clock and its errors."""

    def __init__(
        self, entrant: Entrant, problem: Problem, marks: np.ndarray, seed: int
    ) -> None:
        self._problem = problem
        self._track, self._seconds = Track(marks), 0.0
        self._contestant = entrant.make(seed)
        self.name = entrant.name
        self.stopped: str | None = None

    def take(self, X: Any, y: np.ndarray, most_seconds: float) -> np.ndarray:
        """Predict and learn a batch, until the time is over; return predictions."""
        said = [y[:0]]
        for first in range(0, len(y), ROWS):
            rows = slice(first, first + ROWS)
            said.append(self._take(X[rows], y[rows]))
            self._look_at_the_clock(most_seconds)
            if self.stopped is not None:
                break
        return np.concatenate(said)

    def _take(self, X: Any, y: np.ndarray) -> np.ndarray:
        start = time.thread_time()
        try:
            with np.errstate(all="ignore"):
                said = self._contestant.predict_then_learn(X, y)
        except ValueError as fault:
            self.stopped = self._reason(str(fault))
            return y[:0]
        self._seconds += time.thread_time() - start
        errors = self._problem.errors(said, y)
        if not np.isfinite(errors).all():
            row = int(np.flatnonzero(~np.isfinite(errors))[0])
            self.stopped = f"overflowed at row {self._track.rows + row:,}"
            return y[:0]
        self._track.add(errors)
        return said

    def _look_at_the_clock(self, most_seconds: float) -> None:
        rows = self._track.rows
        late = rows < self._problem.rows and self._seconds > most_seconds
        if late and self.stopped is None:
            self.stopped = f"first {rows:,} rows only: {most_seconds:g} s were over"

    def _reason(self, fault: str) -> str:
        rows = self._track.rows
        if "overflow" in fault:
            row = re.search(r"at row (\d+)", fault)
            return f"overflowed at row {rows + int(row[1] if row else 0):,}"
        if rows == 0:
            return f"refused: {fault}"
        raise ValueError(f"{self.name} failed after {rows:,} rows: {fault}")

    def run(self, unit: float) -> Run:
        """Say how it went; `unit` is that of the errors."""
        rows, total = self._track.rows, self._track.total
        error = total / rows if rows else float("nan")
        if self._problem.is_regression:
            error = unit * np.sqrt(error)
        size = updates = memory = None
        if rows:  # of a contestant that has learnt nothing there is nothing to ask for
            one = self._contestant
            size, updates, memory = one.size, one.updates, one.memory
        return Run(
            rows,
            float(error),
            self._track.curve * unit**2,
            self._seconds,
            size,
            updates,
            memory,
            self.stopped,
        )

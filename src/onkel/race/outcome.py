"""Outcome: how a race went, for each contestant and run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel.race.bandwidth import TriedGamma
from onkel.race.baselines import Baselines
from onkel.race.problem import Problem


@dataclass(frozen=True)
class Run:
    """How one contestant did in one order."""

    rows: int  # that it learnt
    error: float  # mistakes per row, or root mean squared error
    curve: np.ndarray  # errors summed up to each mark that was reached
    seconds: float  # of its own work: processor time, of one thread
    size: int | None
    updates: int | None
    memory: int | None  # bytes
    stopped: str | None = None  # why, if before the last row


@dataclass(frozen=True)
class Result:
    """How one contestant did in all."""

    name: str
    model: str  # with its parameters, as one would write it down
    is_reference: bool
    budget: int | None
    runs: list[Run]

    @property
    def is_ranked(self) -> bool:
        """Whether it learnt all rows in every run."""
        return self.stopped is None

    @property
    def stopped(self) -> str | None:
        """Why it did not, in the first run in which it did not."""
        for number, run in enumerate(self.runs, 1):
            if run.stopped is not None:
                several = f", run {number}" if len(self.runs) > 1 else ""
                return run.stopped + several
        return None

    @property
    def grows(self) -> bool:
        """Whether this is a system without a budget, or one that exceeded it."""
        if self.is_reference:
            return False
        return self.budget is None or (self.size or 0) > self.budget

    def _mean(self, values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None

    @property
    def error(self) -> float:
        """Mean over the runs; NaN if no row was learnt."""
        return float(np.mean([run.error for run in self.runs]))

    @property
    def spread(self) -> float | None:
        """Standard deviation over the runs, if there are two or more."""
        if len(self.runs) < 2:
            return None
        return float(np.std([run.error for run in self.runs], ddof=1))

    @property
    def rows_per_second(self) -> float | None:
        """Rows predicted and learnt in a second."""
        seconds = sum(run.seconds for run in self.runs)
        return sum(run.rows for run in self.runs) / seconds if seconds else None

    @property
    def size(self) -> float | None:
        """Centres and features at the end."""
        return self._mean(run.size for run in self.runs)

    @property
    def updates(self) -> float | None:
        """Rows that changed the model."""
        return self._mean(run.updates for run in self.runs)

    @property
    def memory(self) -> float | None:
        """Bytes kept between two rows, at the end."""
        return self._mean(run.memory for run in self.runs)


def ranked(results: Iterable[Result]) -> list[Result]:
    """Sort results from the smallest error on, those without a place at the end."""
    # who learnt nothing has no error to be sorted by
    return sorted(
        results,
        key=lambda r: (not r.is_ranked, r.error != r.error, r.error, r.is_reference),
    )


@dataclass(frozen=True)
class Outcome:
    """How a race went."""

    name: str  # of the data set
    problem: Problem
    description: dict[str, Any]  # of the data set
    settings: dict[str, Any]  # arguments of the race
    order: str  # of the rows, in words
    in_order: bool  # whether the order of the rows means something
    gamma: float
    trials: list[TriedGamma]  # from which gamma was chosen, if it was
    marks: np.ndarray  # rows seen at the points of a curve
    results: list[Result]  # from the smallest error; at the end those that are unranked
    baselines: Baselines  # of the rows in the order of the first run
    left_out: dict[str, str]  # reason by name
    machine: dict[str, Any]
    seconds: float

    @property
    def ranked(self) -> list[Result]:
        """Those who learnt all rows in every run, the best first."""
        return [result for result in self.results if result.is_ranked]

    @property
    def places(self) -> list[tuple[int | None, Result]]:
        """Everyone with its place, from 1 on; None for those who have none."""
        numbered = enumerate(self.results, 1)
        return [(place if one.is_ranked else None, one) for place, one in numbered]

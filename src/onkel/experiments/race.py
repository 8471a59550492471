"""The race: everyone predicts, then learns, the same rows in the same order.

All contestants walk through the data side by side, a batch at a time, so that a file is
read once per run, and memory is bounded by a batch and the models.
"""

import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import onkel
from onkel.experiments import bandwidth
from onkel.experiments.bandwidth import Trial
from onkel.experiments.contestants import (
    WARM_UP_ROWS,
    Entry,
    Field,
    Problem,
    library,
)
from onkel.experiments.ledger import Ledger
from onkel.experiments.orders import Orders
from onkel.experiments.references import references as all_references

POINTS = 200  # of a learning curve
BUDGET = 200
BATCH_ROWS = 8192
SECONDS = 120.0
PACKAGES = ("numpy", "numba", "scikit-learn", "lightgbm", "river")

Announce = Callable[[str, float], None]


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
        """Whether this is a system without a budget."""
        return self.budget is None and not self.is_reference

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
    trials: list[Trial]  # from which gamma was chosen, if it was
    marks: np.ndarray  # rows seen at the points of a curve
    results: list[Result]  # from the smallest error; at the end those that are unranked
    left_out: dict[str, str]  # reason by name
    machine: dict[str, Any]
    seconds: float

    @property
    def ranked(self) -> list[Result]:
        """Those who learnt all rows in every run, the best first."""
        return [result for result in self.results if result.is_ranked]


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


class Answers:
    """What the rows of a data set are asked for, as contestants see it.

    Labels become numbers of classes. Targets are standardised for learning, with mean
    and standard deviation of the first rows; errors are in their own unit again.
    """

    def __init__(self, data: Any, first: np.ndarray) -> None:
        self._name = data.name
        if data.is_regression:
            self.classes, self.dtype = None, np.dtype(float)
            self._mean, self.unit = float(np.mean(first)), float(np.std(first)) or 1.0
        else:
            self.classes = np.asarray(data.classes)
            self.dtype, self.unit = self.classes.dtype, 1.0
            if len(self.classes) < 2:
                raise ValueError(
                    f"all rows of {data.name} have the label {self.classes[0]!r}: a "
                    "race needs two labels or more"
                )

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels or targets as contestants learn them."""
        if self.classes is None:
            return (y - self._mean) / self.unit
        codes = np.searchsorted(self.classes, y)
        codes = np.minimum(codes, len(self.classes) - 1)
        if (unknown := self.classes[codes] != y).any():
            raise ValueError(
                f"{self._name} has a row with the label {y[unknown][0]!r}, which is "
                "not among its classes"
            )
        return codes

    def decode(self, said: np.ndarray) -> np.ndarray:
        """Labels or targets as in the data set."""
        if self.classes is None:
            return said * self.unit + self._mean
        return self.classes[said]


class Starter:
    """One contestant in one run: its work, its clock and its errors."""

    def __init__(
        self, entry: Entry, problem: Problem, marks: np.ndarray, seed: int
    ) -> None:
        self._entry, self._problem = entry, problem
        self._track, self._seconds = Track(marks), 0.0
        self._contestant = entry.make(seed)
        self.stopped: str | None = None
        self.ledger: Ledger | None = None

    def take(self, X: Any, y: np.ndarray, most_seconds: float) -> np.ndarray:
        """Predict and learn a batch; return the predictions."""
        start = time.thread_time()
        try:
            with np.errstate(all="ignore"):
                said = self._contestant.predict_then_learn(X, y)
        except ValueError as fault:
            self.stopped = self._reason(str(fault))
            return y[:0]
        self._seconds += time.thread_time() - start
        errors = bandwidth.errors(said, y, self._problem)
        if not np.isfinite(errors).all():
            row = int(np.flatnonzero(~np.isfinite(errors))[0])
            self.stopped = f"overflowed at row {self._track.rows + row:,}"
            return y[:0]
        self._track.add(errors)
        rows = self._track.rows
        if rows < self._problem.rows and self._seconds > most_seconds:
            self.stopped = f"first {rows:,} rows only: {most_seconds:g} s were over"
        return said

    def _reason(self, fault: str) -> str:
        rows = self._track.rows
        if "overflow" in fault:
            row = re.search(r"at row (\d+)", fault)
            return f"overflowed at row {rows + int(row[1] if row else 0):,}"
        if rows == 0:
            return f"refused: {fault}"
        raise ValueError(f"{self._entry.name} failed after {rows:,} rows: {fault}")

    def run(self, unit: float) -> Run:
        """Say how it went; `unit` is that of the errors."""
        rows, total = self._track.rows, self._track.total
        error = total / rows if rows else float("nan")
        if self._problem.is_regression:
            error = unit * np.sqrt(error)
        # of a contestant that has learnt nothing there is nothing to ask for
        fitted = self._contestant if rows else None
        return Run(
            rows,
            float(error),
            self._track.curve * unit**2,
            self._seconds,
            None if fitted is None else fitted.size,
            None if fitted is None else fitted.updates,
            None if fitted is None else fitted.memory,
            self.stopped,
        )


def slug(name: str) -> str:
    """Return a name for files.

    Examples
    --------
    >>> slug("linear SGD"), slug("BOGD++")
    ('linear-SGD', 'BOGD++')
    """
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "data"


def machine() -> dict[str, Any]:
    """Where the race runs, and with what."""
    processor = platform.processor() or platform.machine()
    try:
        found = re.search("model name\t: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
    except OSError:
        pass  # not Linux
    versions = {"onkel": onkel.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "platform": platform.platform(),
        "processor": processor,
        "cores": os.cpu_count(),
        "versions": versions,
    }


def _chosen(field: Field, systems: Iterable[str] | None) -> Field:
    """Keep only systems of these names."""
    if systems is None:
        return field
    wanted = {name.lower(): name for name in systems}
    known = {entry.name: entry.name.lower() for entry in field.entries}
    everyone = {*known.values(), *(name.lower() for name in field.left_out)}
    if unknown := [wanted[low] for low in wanted if low not in everyone]:
        raise ValueError(
            f"no system is called {', '.join(map(repr, unknown))}; there are: "
            + ", ".join([*known, *field.left_out])
        )
    return Field(
        [entry for entry in field.entries if known[entry.name] in wanted],
        {name: why for name, why in field.left_out.items() if name.lower() in wanted},
    )


def _pass(
    entries: list[Entry],
    problem: Problem,
    orders: Orders,
    answers: Answers,
    permutation: int,
    options: dict[str, Any],
    announce: Announce,
) -> list[Run]:
    """Let everyone walk through the rows in one order."""
    starters = [
        Starter(entry, problem, options["marks"], options["seed"] + permutation)
        for entry in entries
    ]
    folder, seen = options["predictions"], 0
    with ExitStack() as stack:
        ledger = None
        if folder is not None:
            folder = folder / f"run-{permutation + 1}"
            ledger = stack.enter_context(Ledger(folder / "y.npy", answers.dtype))
            for starter, entry in zip(starters, entries, strict=True):
                path = folder / f"{slug(entry.name)}.npy"
                starter.ledger = stack.enter_context(Ledger(path, answers.dtype))
        for part in orders.parts(permutation):
            y = answers.encode(part.y)
            if ledger is not None:
                ledger.append(part.y)
            share = (permutation + seen / problem.rows) / orders.permutations
            for starter, entry in zip(starters, entries, strict=True):
                if starter.stopped is None:
                    announce(
                        f"run {permutation + 1} of {orders.permutations}, "
                        f"row {seen:,}: {entry.name}",
                        share,
                    )
                    said = starter.take(part.X, y, options["seconds"])
                    if starter.ledger is not None:
                        starter.ledger.append(answers.decode(said))
            seen += len(y)
    return [starter.run(answers.unit) for starter in starters]


def race(
    data: Any,
    *,
    budget: int = BUDGET,
    permutations: int | None = None,
    gamma: float | str = "auto",
    seed: int = 0,
    batch_rows: int = BATCH_ROWS,
    most_bytes: float | None = None,
    seconds: float = SECONDS,
    systems: Iterable[str] | None = None,
    references: bool = True,
    predictions: Path | None = None,
    announce: Announce = lambda text, share: None,
) -> Outcome:
    """Let all systems and references predict, then learn, a data set.

    Parameters
    ----------
    data
        A data set (see `onkel.data.dataset`), or whatever has its attributes.
    budget
        Centres and features that a system may have.
    permutations
        Orders of the rows; None for 5, or 1 if the order of the file means something
        or the file is too large to be loaded.
    gamma
        Of the kernel of all systems, exp(-gamma |x - x'|^2). "auto" tries values
        around the median heuristic on the first rows.
    seed
        Of orders and systems.
    batch_rows
        Rows in memory of a data set that is too large to be loaded.
    most_bytes
        Memory up to which a data set is loaded, to be permuted whole; None for 512 MiB.
    seconds
        Processor time of a contestant in one order. It is stopped after the batch in
        which it exceeds that, and shown without a place.
    systems
        Names of those of the library that start; None for all.
    references
        Whether the constant, linear SGD and others start, too.
    predictions
        Folder for all predictions: `run-1/BSGD.npy`, shorter if it was stopped,
        beside `run-1/y.npy`.
    announce
        Called with what comes next, and which part of the race is over, from 0 to 1.

    Returns
    -------
    outcome
        With results from the smallest error on.

    Examples
    --------
    >>> from onkel.experiments.streams import turning_rings
    >>> stream = turning_rings(rows=2000)
    >>> outcome = race(stream, budget=100, gamma=0.5, systems=["RBP"], references=False)
    >>> [result.name for result in outcome.results], outcome.results[0].size
    (['RBP'], 100.0)
    """
    began = time.perf_counter()
    for name, value in (("budget", budget), ("batch_rows", batch_rows)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if permutations is not None and permutations < 1:
        raise ValueError(f"permutations must be at least 1, got {permutations}")
    orders = Orders(data, permutations, batch_rows, seed, most_bytes)
    first = orders.first(bandwidth.ROWS)
    answers = Answers(data, first.y)
    labels = 0 if answers.classes is None else len(answers.classes)
    problem = Problem(data.n_rows, data.n_features, labels)
    encoded = answers.encode(first.y)
    with threadpool_limits(1):
        trials: list[Trial] = []
        if gamma == "auto":
            announce("choosing gamma", 0.0)
            trials = bandwidth.tried(first.X, encoded, problem, budget)
            gamma = min(trials, key=bandwidth.error_of).gamma
        gamma = float(gamma)
        field = _chosen(library(problem, budget, gamma), systems)
        if references:
            others = all_references(problem, budget, gamma)
            field = Field(
                field.entries + others.entries, field.left_out | others.left_out
            )
        warm = slice(WARM_UP_ROWS)
        for entry in field.entries:
            announce(f"compiling {entry.name}", 0.0)
            try:
                entry.warm_up(first.X[warm], encoded[warm])
            except ValueError:
                pass  # the race will tell
        points = np.linspace(problem.rows / POINTS, problem.rows, POINTS)
        marks = np.unique(np.maximum(points.astype(int), 1))
        options = {
            "marks": marks,
            "seed": seed,
            "seconds": seconds,
            "predictions": predictions,
        }
        passes = [
            _pass(field.entries, problem, orders, answers, number, options, announce)
            for number in range(orders.permutations)
        ]
    results = [
        Result(entry.name, entry.model, entry.is_reference, entry.budget, list(runs))
        for entry, *runs in zip(field.entries, *passes, strict=True)
    ]
    results.sort(key=lambda result: (not result.is_ranked, result.error))
    announce("done", 1.0)
    return Outcome(
        name=data.name,
        problem=problem,
        description=dict(data.description),
        settings={
            "budget": budget,
            "permutations": orders.permutations,
            "seed": seed,
            "batch_rows": batch_rows,
            "seconds": seconds,
        },
        order=orders.description,
        in_order=bool(data.in_order),
        gamma=gamma,
        trials=trials,
        marks=marks,
        results=results,
        left_out=field.left_out,
        machine=machine(),
        seconds=time.perf_counter() - began,
    )

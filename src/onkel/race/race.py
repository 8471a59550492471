"""The race: everyone predicts, then learns, the same rows in the same order.

Data that are in memory one contestant walks through after the other, so that each is
done when it is shown. Through a file that is too large all walk side by side, a batch
at a time, so that it is read once per run; memory is bounded by a batch and the models.
"""

import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import onkel
from onkel.race import bandwidth
from onkel.race.bandwidth import Trial
from onkel.race.baselines import Baselines
from onkel.race.compilation import compiled
from onkel.race.contestants import (
    WARM_UP_ROWS,
    Entry,
    Field,
    Problem,
    library,
)
from onkel.race.ledger import Ledger
from onkel.race.orders import Orders
from onkel.race.outcome import Outcome as Outcome
from onkel.race.outcome import Result, Run
from onkel.race.references import references as all_references
from onkel.race.starter import Starter

POINTS = 200  # of a learning curve
BUDGET = 200
BATCH_ROWS = 8192
SECONDS = 120.0
PACKAGES = ("numpy", "numba", "scikit-learn", "lightgbm", "river")

Announce = Callable[[str, float], None]
Ready = Callable[[Problem, Result], None]


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
                    f"all rows of {data.name} have the label {self.classes[0]}: a "
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
                f"{self._name} has a row with the label {y[unknown][0]}, which is "
                "not among its classes"
            )
        return codes

    def decode(self, said: np.ndarray) -> np.ndarray:
        """Labels or targets as in the data set."""
        if self.classes is None:
            return said * self.unit + self._mean
        return self.classes[said]


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


class Course(NamedTuple):
    """What is the same in all runs of a race."""

    problem: Problem
    orders: Orders
    answers: Answers
    marks: np.ndarray
    seed: int
    seconds: float
    predictions: Path | None

    def run(
        self,
        entries: list[Entry],
        permutation: int,
        announce: Callable[[int, str], None],
        baselines: Baselines | None,
    ) -> list[Run]:
        """Let some walk through the rows in one order.

        With those who come first go the baselines, and the truth is written down.
        """
        starters = [
            Starter(entry, self.problem, self.marks, self.seed + permutation)
            for entry in entries
        ]
        with ExitStack() as stack:

            def ledger(name: str) -> Ledger | None:
                if self.predictions is None:
                    return None
                path = self.predictions / f"run-{permutation + 1}" / f"{name}.npy"
                return stack.enter_context(Ledger(path, self.answers.dtype))

            truth = None if baselines is None else ledger("y")
            said = [ledger(slug(entry.name)) for entry in entries]
            seen = 0
            for part in self.orders.parts(permutation):
                if truth is not None:
                    truth.append(part.y)
                if baselines is not None:
                    baselines.add(part.y)
                y = self.answers.encode(part.y)
                for starter, book in zip(starters, said, strict=True):
                    if starter.stopped is not None:
                        continue
                    announce(seen, starter.name)
                    predicted = starter.take(part.X, y, self.seconds)
                    if book is not None:
                        book.append(self.answers.decode(predicted))
                seen += len(y)
        return [starter.run(self.answers.unit) for starter in starters]


def _result(entry: Entry, runs: Iterable[Run]) -> Result:
    return Result(entry.name, entry.model, entry.is_reference, entry.budget, list(runs))


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
    in_order: bool | None = None,
    announce: Announce = lambda text, share: None,
    ready: Ready = lambda problem, result: None,
) -> Outcome:
    """Let all systems and references predict, then learn, a data set.

    Parameters
    ----------
    data
        A data set (see `onkel.data.dataset`), or whatever has its attributes.
    budget
        Centres and features that a system may have.
    permutations
        Orders of the rows; None for 5, 3 if there are more than 10,000 rows, or 1 if
        the order of the file means something or it is too large to be loaded.
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
        Processor time of a contestant in one order. It is stopped soon after
        that, and shown without a place.
    systems
        Names of those of the library that start; None for all.
    references
        Whether the constant, linear SGD and others start, too.
    predictions
        Folder for all predictions: `run-1/BSGD.npy`, shorter if it was stopped,
        beside `run-1/y.npy`.
    in_order
        Whether the order of the file means something, so that the first run keeps it;
        None for what the data set says.
    announce
        Called with what comes next, and which part of the race is over, from 0 to 1.
    ready
        Called with the problem and a result as soon as there is one.

    Returns
    -------
    outcome
        With results from the smallest error on.

    Examples
    --------
    >>> from onkel.race.streams import turning_rings
    >>> stream = turning_rings(rows=2000)
    >>> outcome = race(stream, budget=100, gamma=0.5, systems=["RBP"], references=False)
    >>> [result.name for result in outcome.results], outcome.results[0].size
    (['RBP'], 100.0)
    """
    began = time.perf_counter()
    for name, value in (
        ("budget", budget),
        ("batch_rows", batch_rows),
        ("permutations", permutations),
    ):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if gamma != "auto" and not (isinstance(gamma, Real) and 0 < gamma < np.inf):
        raise ValueError(f'gamma must be "auto" or a number above 0, got {gamma!r}')
    orders = Orders(data, permutations, batch_rows, seed, most_bytes, in_order)
    first = orders.first(bandwidth.ROWS)
    answers = Answers(data, first.y)
    labels = 0 if answers.classes is None else len(answers.classes)
    problem = Problem(data.n_rows, data.n_features, labels)
    encoded = answers.encode(first.y)
    _chosen(library(problem, budget, gamma=1.0), systems)  # refuses unknown names
    with threadpool_limits(1):
        trials: list[Trial] = []
        if gamma == "auto":
            announce("choosing gamma", 0.0)
            trials = bandwidth.tried(first.X, encoded, problem, budget)
            gamma = bandwidth.best(trials).gamma
        gamma = float(gamma)
        field = _chosen(library(problem, budget, gamma), systems)
        if references:
            others = all_references(problem, budget, gamma)
            # These first: they need not be compiled, and say what is to be beaten.
            field = Field(
                others.entries + field.entries, field.left_out | others.left_out
            )
        points = np.linspace(problem.rows / POINTS, problem.rows, POINTS)
        marks = np.unique(np.maximum(points.astype(int), 1))
        course = Course(problem, orders, answers, marks, seed, seconds, predictions)
        warm = slice(WARM_UP_ROWS)
        results: list[Result] = []
        # Each is there before it races: nobody pays for the compiler.
        starters = compiled(
            field.entries,
            first.X[warm],
            encoded[warm],
            lambda name: announce(
                f"compiling {name}", len(results) / len(field.entries)
            ),
        )
        groups: Iterable[list[Entry]] = ([entry] for entry in starters)
        if not orders.is_loaded:
            groups = [list(starters)]
        baselines = [Baselines(data.is_regression) for _ in range(orders.permutations)]
        for group in groups:
            passes = []
            for permutation, baseline in enumerate(baselines):

                def tell(seen: int, name: str, run: int = permutation) -> None:
                    walked = (run + seen / problem.rows) / orders.permutations
                    done = len(results) + len(group) * walked  # noqa: B023 (called now)
                    where = f"run {run + 1} of {orders.permutations}, row {seen:,}"
                    announce(f"{where}: {name}", done / len(field.entries))

                seen = None if results else baseline
                passes.append(course.run(group, permutation, tell, seen))
            for entry, *runs in zip(group, *passes, strict=True):
                results.append(_result(entry, runs))
                ready(problem, results[-1])
    # those who learnt nothing have no error to be sorted by
    results.sort(
        key=lambda r: (not r.is_ranked, r.error != r.error, r.error, r.is_reference)
    )
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
        in_order=orders.in_order,
        gamma=gamma,
        trials=trials,
        marks=marks,
        results=results,
        baselines=baselines[0],
        left_out=field.left_out,
        machine=machine(),
        seconds=time.perf_counter() - began,
    )

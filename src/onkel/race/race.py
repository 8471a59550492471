"""The race: everyone predicts, then learns, the same rows in the same order.

Data that are in memory one contestant walks through after the other, so that each is
done when it is shown. Through a file that is too large all walk side by side, a batch
at a time, so that it is read once per run; memory is bounded by a batch and the models.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from onkel.data.shuffling import Part
from onkel.measuring.machine import machine
from onkel.race import bandwidth
from onkel.race.answers import Answers
from onkel.race.bandwidth import TriedGamma
from onkel.race.baselines import Baselines
from onkel.race.compilation import compiled
from onkel.race.contestants import WARM_UP_ROWS, library
from onkel.race.entrants import Entrant, StartList
from onkel.race.orders import Orders
from onkel.race.outcome import Outcome, Result, Run, ranked
from onkel.race.predictions import PredictionFile, slug
from onkel.race.problem import Problem
from onkel.race.references import references
from onkel.race.settings import RaceSettings
from onkel.race.starter import Starter

POINTS = 200  # of a learning curve

Announce = Callable[[str, float], None]
Ready = Callable[[Problem, Result], None]


@dataclass(frozen=True)
class Course:
    """What is the same in all runs of a race."""

    problem: Problem
    orders: Orders
    answers: Answers
    settings: RaceSettings
    first: Part  # rows of the first order, with answers as contestants learn them
    baselines: list[Baselines]  # one for each order

    @cached_property
    def marks(self) -> np.ndarray:
        """Rows seen at the points of a learning curve."""
        rows = self.problem.rows
        points = np.linspace(rows / POINTS, rows, POINTS)
        return np.unique(np.maximum(points.astype(int), 1))

    @property
    def told(self) -> dict[str, Any]:
        """Settings that a report tells."""
        names = ("budget", "permutations", "seed", "batch_rows", "seconds")
        told = {name: getattr(self.settings, name) for name in names}
        return told | {"permutations": self.orders.permutations}

    def run(
        self,
        entrants: list[Entrant],
        permutation: int,
        announce: Callable[[int, str], None],
        is_first: bool,
    ) -> list[Run]:
        """Let some walk through the rows in one order.

        With those who come first go the baselines, and the truth is written down.
        """
        seed = self.settings.seed + permutation
        starters = [Starter(one, self.problem, self.marks, seed) for one in entrants]
        with ExitStack() as stack:

            def file(name: str) -> PredictionFile | None:
                if self.settings.predictions is None:
                    return None
                folder = self.settings.predictions / f"run-{permutation + 1}"
                opened = PredictionFile(folder / f"{name}.npy", self.answers.dtype)
                return stack.enter_context(opened)

            truth = file("y") if is_first else None
            said = [file(slug(entrant.name)) for entrant in entrants]
            seen = 0
            for part in self.orders.parts(permutation):
                if truth is not None:
                    truth.append(part.y)
                if is_first:
                    self.baselines[permutation].add(part.y)
                y = self.answers.encode(part.y)
                for starter, predictions in zip(starters, said, strict=True):
                    if starter.stopped is not None:
                        continue
                    announce(seen, starter.name)
                    predicted = starter.take(part.X, y, self.settings.seconds)
                    if predictions is not None:
                        predictions.append(self.answers.decode(predicted))
                seen += len(y)
        return [starter.run(self.answers.unit) for starter in starters]


def _course(data: Any, settings: RaceSettings) -> Course:
    """Look at the data set, and at its first rows."""
    orders = Orders(data, settings)
    X, y = orders.first(bandwidth.ROWS)
    answers = Answers(data, y)
    problem = Problem(data.n_rows, data.n_features, answers.n_classes)
    baselines = [Baselines(data.is_regression) for _ in range(orders.permutations)]
    first = Part(X, answers.encode(y))
    return Course(problem, orders, answers, settings, first, baselines)


def _gamma(course: Course, announce: Announce) -> tuple[float, list[TriedGamma]]:
    """Return the gamma of all systems, and what was tried to find it."""
    if course.settings.gamma != "auto":
        return float(course.settings.gamma), []
    announce("choosing gamma", 0.0)
    X, y = course.first
    tried = bandwidth.tried(X, y, course.problem, course.settings.budget)
    return bandwidth.best(tried).gamma, tried


def _start_list(course: Course, gamma: float) -> StartList:
    problem, settings = course.problem, course.settings
    ours = library(problem, settings.budget, gamma).only(settings.systems)
    if not settings.references:
        return ours
    others = references(problem, settings.budget, gamma)
    # These first: they need not be compiled, and say what is to be beaten.
    return StartList(others.entrants + ours.entrants, ours.left_out | others.left_out)


def _results(
    course: Course, entrants: list[Entrant], announce: Announce
) -> Iterator[Result]:
    """Let everyone walk through all orders; yield a result as soon as there is one."""
    done, orders, (X, y) = 0, course.orders, course.first
    # Each is there before it races: nobody pays for the compiler.
    starters = compiled(
        entrants,
        X[:WARM_UP_ROWS],
        y[:WARM_UP_ROWS],
        lambda name: announce(f"compiling {name}", done / len(entrants)),
    )
    groups: Iterable[list[Entrant]] = ([entrant] for entrant in starters)
    together = 1
    if not orders.is_loaded:
        groups, together = [list(starters)], len(entrants)
    for group in groups:
        passes = []
        for permutation in range(orders.permutations):

            def tell(
                seen: int, name: str, run: int = permutation, before: int = done
            ) -> None:
                walked = (run + seen / course.problem.rows) / orders.permutations
                where = f"run {run + 1} of {orders.permutations}, row {seen:,}"
                share = (before + together * walked) / len(entrants)
                announce(f"{where}: {name}", share)

            passes.append(course.run(group, permutation, tell, is_first=done == 0))
        for entrant, *runs in zip(group, *passes, strict=True):
            done += 1
            yield Result(
                entrant.name,
                entrant.model,
                entrant.is_reference,
                entrant.budget,
                list(runs),
            )


def race(
    data: Any,
    settings: RaceSettings | None = None,
    announce: Announce = lambda text, share: None,
    ready: Ready = lambda problem, result: None,
) -> Outcome:
    """Let all systems and references predict, then learn, a data set.

    Parameters
    ----------
    data
        A data set (see `onkel.data.dataset`), or whatever has its attributes.
    settings
        How; None for the usual.
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
    >>> alone = RaceSettings(budget=100, gamma=0.5, systems=["RBP"], references=False)
    >>> outcome = race(turning_rings(rows=2000), alone)
    >>> [result.name for result in outcome.results], outcome.results[0].size
    (['RBP'], 100.0)
    """
    began = time.perf_counter()
    course, results = _course(data, settings or RaceSettings()), []
    _start_list(course, gamma=1.0)  # refuses unknown names
    with threadpool_limits(1):
        gamma, tried = _gamma(course, announce)
        starting = _start_list(course, gamma)
        for result in _results(course, starting.entrants, announce):
            results.append(result)
            ready(course.problem, result)
    announce("done", 1.0)
    return Outcome(
        name=data.name,
        problem=course.problem,
        description=dict(data.description),
        settings=course.told,
        order=course.orders.description,
        in_order=course.orders.in_order,
        gamma=gamma,
        trials=tried,
        marks=course.marks,
        results=ranked(results),
        baselines=course.baselines[0],
        left_out=starting.left_out,
        machine=machine(),
        seconds=time.perf_counter() - began,
    )

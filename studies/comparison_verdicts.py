"""Who is better on a data set, and by how much: ours and the rivals."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from studies.comparison_methods import DETERMINISTIC, MACHINES, METHODS
from studies.comparison_sets import FIXED, SETS


class Result(NamedTuple):
    """A method on a data set."""

    errors: dict[int, float]  # by seed; in percent
    seconds: float  # to fit, search included; mean over seeds
    records: list[dict[str, Any]]
    counts_for_all: bool  # one run on a fixed test part, without randomness

    @property
    def error(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(list(self.errors.values())))

    @property
    def is_part(self) -> bool:
        """Whether it learnt only a part of the rows."""
        return any("fit_part" in record for record in self.records)

    @property
    def is_extrapolated(self) -> bool:
        """Whether its seconds are."""
        return any({"fit_part", "search_part"} & set(each) for each in self.records)

    @property
    def processors(self) -> set[str]:
        """Names of those that it ran on."""
        return {record["machine"]["processor"] for record in self.records}

    def mean(self, fact: str) -> float:
        """Mean over the seeds."""
        return float(np.mean([record[fact] for record in self.records]))


class Difference(NamedTuple):
    """Ours less theirs, in points, on the seeds that both have."""

    points: float
    standard_error: float
    theirs: float  # in percent

    @property
    def verdict(self) -> str:
        """Tell who is better; a tie is within two standard errors of the test set."""
        if abs(self.points) <= 2 * self.standard_error:
            return "tie"
        return "better" if self.points < 0 else "worse"


Results = dict[str, dict[str, Result]]  # by set, by method


def results(
    records: Mapping[str, dict[str, Any]],
    sets: Iterable[str] = SETS,
    methods: Iterable[str] = tuple(METHODS),
) -> Results:
    """Gather the seeds of methods on sets, in the order of both.

    Seconds are the processor's; with a GPU they are the clock's, since the processor
    does not see its work.
    """
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records.values():
        if "failed" not in record:
            found.setdefault((record["set"], record["method"]), []).append(record)
    of_sets = {
        name: {
            method: _gathered(name, method, found[name, method])
            for method in methods
            if (name, method) in found
        }
        for name in sets
    }
    return {name: of_set for name, of_set in of_sets.items() if of_set}


def _gathered(name: str, method: str, records: list[dict[str, Any]]) -> Result:
    clock = "wall" if METHODS[method].device == "cuda" else "seconds"
    records = sorted(records, key=lambda record: int(record["seed"]))
    return Result(
        {record["seed"]: 100 * record["error"] for record in records},
        float(np.mean([record[clock] for record in records])),
        records,
        name in FIXED and method in DETERMINISTIC,
    )


def difference(ours: Result, theirs: Result) -> Difference | None:
    """Compare on the same splits; None if there are none."""
    if theirs.counts_for_all:
        pairs = [(error, theirs.error) for error in ours.errors.values()]
    else:
        shared = ours.errors.keys() & theirs.errors.keys()
        pairs = [(ours.errors[seed], theirs.errors[seed]) for seed in sorted(shared)]
    if not pairs:
        return None
    mine, other = np.mean(pairs, axis=0)
    first = ours.records[0]
    if "rmse" in first:
        spread = 100 * (ours.mean("standard_error") + theirs.mean("standard_error")) / 2
    else:
        mistakes = (mine + other) / 200
        spread = 100 * math.sqrt(mistakes * (1 - mistakes) / first["test_rows"])
    return Difference(float(mine - other), spread, float(other))


def better_machine(of_set: Mapping[str, Result]) -> str | None:
    """Name the better of the two support vector machines."""
    there = [method for method in MACHINES if method in of_set]
    return min(there, key=lambda method: of_set[method].error, default=None)


class Standing(NamedTuple):
    """Ours on a data set against the others; None where a result is missing."""

    machine: str | None
    speed: float | None  # how many times faster than it ours is
    is_extrapolated: bool  # its seconds are
    is_elsewhere: bool  # its seconds are of another processor
    to_machine: Difference | None
    to_nystroem: Difference | None
    to_trees: Difference | None
    to_tuned: Difference | None


def standing(of_set: Mapping[str, Result], method: str = "onkel") -> Standing:
    """Compare a method of ours with each rival."""
    ours, best = of_set.get(method), better_machine(of_set)

    def to(method: str | None) -> Difference | None:
        theirs = of_set.get(method or "")
        return difference(ours, theirs) if ours and theirs else None

    others = to("nystroem"), to("lightgbm"), to("lightgbm-tuned")
    if ours is None or best is None:
        return Standing(best, None, False, False, to(best), *others)
    theirs = of_set[best]
    return Standing(
        *(best, theirs.seconds / ours.seconds),
        *(theirs.is_extrapolated, theirs.processors != ours.processors),
        *(to(best), *others),
    )

"""Who is better on a data set, and by how much: ours and the rivals."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from studies.comparison_cells import DETERMINISTIC, METHODS
from studies.comparison_sets import CLASSIFICATION, FIXED, REGRESSION

MACHINES = ("svc-grid", "svc")
# Targets: points, times faster, and where SVC needs more than so many seconds.
HALF_A_POINT, FASTER, SLOW = 0.5, 10.0, 20.0


class Result(NamedTuple):
    """A method on a data set."""

    errors: dict[int, float]  # by seed; in percent
    seconds: float  # of the processor, to fit, search included; mean over seeds
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

    def mean(self, fact: str) -> float:
        """Mean over the seeds."""
        return float(np.mean([record[fact] for record in self.records]))


class Difference(NamedTuple):
    """Ours less theirs, in points, on the seeds that both have."""

    points: float
    standard_error: float

    @property
    def verdict(self) -> str:
        """Tell who is better; a tie is within two standard errors of the test set."""
        if abs(self.points) <= 2 * self.standard_error:
            return "tie"
        return "better" if self.points < 0 else "worse"


Results = dict[str, dict[str, Result]]  # by set, by method


def results(records: Mapping[str, dict[str, Any]]) -> Results:
    """Gather the seeds of each method on each set, in the order of the page."""
    found: Results = {}
    for name in (*CLASSIFICATION, *REGRESSION):
        for method in METHODS:
            mine = [
                record
                for record in records.values()
                if (record["set"], record["method"]) == (name, method)
                and "failed" not in record
            ]
            if mine:
                mine.sort(key=lambda record: int(record["seed"]))
                found.setdefault(name, {})[method] = Result(
                    {record["seed"]: 100 * record["error"] for record in mine},
                    float(np.mean([record["seconds"] for record in mine])),
                    mine,
                    name in FIXED and method in DETERMINISTIC,
                )
    return found


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
    return Difference(float(mine - other), spread)


def better_machine(of_set: Mapping[str, Result]) -> str | None:
    """Name the better of the two support vector machines."""
    there = [method for method in MACHINES if method in of_set]
    return min(there, key=lambda method: of_set[method].error, default=None)


class Standing(NamedTuple):
    """Ours on a data set against the others; None where a result is missing."""

    machine: str | None
    to_machine: Difference | None
    machine_seconds: float | None
    is_extrapolated: bool  # its seconds are
    speed: float | None  # how many times ours is faster
    to_nystroem: Difference | None
    to_lightgbm: Difference | None


def standing(of_set: Mapping[str, Result], method: str = "onkel") -> Standing:
    """Compare a method of ours with each rival."""
    ours, best = of_set.get(method), better_machine(of_set)

    def to(method: str | None) -> Difference | None:
        theirs = of_set.get(method or "")
        return difference(ours, theirs) if ours and theirs else None

    seconds = of_set[best].seconds if best else None
    speed = seconds / ours.seconds if ours and seconds is not None else None
    guessed = best is not None and of_set[best].is_extrapolated
    others = to("nystroem"), to("lightgbm")
    return Standing(best, to(best), seconds, guessed, speed, *others)


# ---- targets ---------------------------------------------------------------------


def _outcome(held: bool, text: str) -> str:
    return f"{'Held' if held else '**Missed**'}: {text}."


def _counted(sets: int, missed: Iterable[str], kind: str = "sets") -> str:
    """Say on how many sets a target was held, and name those where it was not.

    Examples
    --------
    >>> _counted(15, ["casp (+3.53, worse)"])
    '**Missed**: held on 14 of 15 sets, missed on casp (+3.53, worse).'
    >>> _counted(7, [])
    'Held: on all 7 sets.'
    """
    names = list(missed)
    if not names:
        return _outcome(True, f"on all {sets} {kind}")
    held = f"held on {sets - len(names)} of {sets} {kind}"
    return _outcome(False, f"{held}, missed on {', '.join(names)}")


def targets(verdicts: Mapping[str, Standing], is_of_a_size: bool = True) -> list[str]:
    """Count the targets, failures by name.

    Against Nystroem only if ours `is_of_a_size`: that is, of the same.
    """
    machine = {n: v.to_machine for n, v in verdicts.items() if v.to_machine}
    if not machine:
        return ["onkel is not measured yet.", ""]
    worse = {n: gap for n, gap in machine.items() if gap.points > HALF_A_POINT}
    told = [f"{n} ({gap.points:+.2f}, {gap.verdict})" for n, gap in worse.items()]
    first = _counted(len(machine), told)
    slow = {
        name: found.speed
        for name, found in verdicts.items()
        if found.speed is not None and (found.machine_seconds or 0.0) > SLOW
    }
    late = {name: speed for name, speed in slow.items() if speed < FASTER}
    told = [f"{name} ({speed:.1f} times)" for name, speed in late.items()]
    second = _counted(len(slow), told, "such sets")
    lines = [
        f"- Never more than half a point worse than the better SVC. {first}",
        f"- At least {FASTER:.0f} times faster wherever the better SVC needs more than "
        f"{SLOW:.0f} s. {second}",
    ]
    if is_of_a_size:
        nystroem = _by_verdict(v.to_nystroem for v in verdicts.values())
        lines.append(
            "- Better than Nystroem + LinearSVC (Ridge for values) everywhere. "
            + _outcome(nystroem["worse"] + nystroem["tie"] == 0, _told(nystroem))
            + _list_of("tie", {n: v.to_nystroem for n, v in verdicts.items()})
            + _list_of("worse", {n: v.to_nystroem for n, v in verdicts.items()})
        )
    trees = _by_verdict(v.to_lightgbm for v in verdicts.values())
    lines.append(
        "- Better than LightGBM on at least a third. "
        + _outcome(3 * trees["better"] >= sum(trees.values()), _told(trees))
        + _list_of("better", {n: v.to_lightgbm for n, v in verdicts.items()})
        + _list_of("worse", {n: v.to_lightgbm for n, v in verdicts.items()})
    )
    if missing := [name for name in verdicts if name not in machine]:
        lines.append(f"- Not measured, and not counted: {', '.join(missing)}.")
    return [*lines, ""]


def _by_verdict(gaps: Iterable[Difference | None]) -> dict[str, int]:
    said = [gap.verdict for gap in gaps if gap is not None]
    return {kind: said.count(kind) for kind in ("better", "tie", "worse")}


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} on {count}" for kind, count in counts.items())


def _list_of(kind: str, gaps: Mapping[str, Difference | None]) -> str:
    names = [name for name, gap in gaps.items() if gap and gap.verdict == kind]
    return f" {kind.capitalize()}: {', '.join(names)}." if names else ""

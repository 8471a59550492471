"""What systems did on a stream, out of the records of `studies.streaming`."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from onkel.measuring.records import Record, Records
from studies.streaming_references import REFERENCES
from studies.streaming_systems import CHOSEN, NEWCOMERS

SHOWN = 5  # others in the picture, and by tenths


def error_of(run: Record) -> float:
    """Error of a run; infinite if it is not there or went wrong."""
    return float(run.get("error", np.inf))


def best_kind(runs: Mapping[str, Record]) -> str | None:
    """Kind of parameters with the smallest error; None if none came through.

    In hindsight, which is for the others: parameters that suit the first rows may be
    far worse than the defaults later, as on ijcnn1.

    Examples
    --------
    >>> best_kind({"race": {"error": 0.2}, "chosen": {"failed": "overflow by row 0"}})
    'race'
    """
    return min(
        (kind for kind, run in runs.items() if np.isfinite(error_of(run))),
        key=lambda kind: error_of(runs[kind]),
        default=None,
    )


class Result(NamedTuple):
    """What a system did on a stream."""

    system: str
    runs: dict[str, dict[int, Record]]  # by kind of parameters, then by order
    searched: Record = {}  # empty for the newcomer and references

    @property
    def is_newcomer(self) -> bool:
        """Whether it is the system without knobs."""
        return self.system in NEWCOMERS

    @property
    def is_reference(self) -> bool:
        """Whether it is none of ours."""
        return self.system in REFERENCES

    @property
    def first(self) -> dict[str, Record]:
        """The runs in the first order, by kind of parameters."""
        return {kind: runs[0] for kind, runs in self.runs.items() if 0 in runs}

    @property
    def best(self) -> Record:
        """The best run in the first order; empty if none is over."""
        kind = best_kind(self.first)
        return {} if kind is None else self.first[kind]

    @property
    def errors(self) -> np.ndarray:
        """Of the kind that was best in the first order, in all orders; maybe none."""
        runs = self.runs.get(best_kind(self.first) or "", {})
        return np.array([error_of(runs[order]) for order in sorted(runs)])

    @property
    def error(self) -> float:
        """Mean over orders; infinite without any."""
        return float(self.errors.mean()) if len(self.errors) else np.inf


class Standing(NamedTuple):
    """The newcomer beside the best of the others on a stream, as far as they ran."""

    newcomer: Result | None
    best: Result | None
    searched: Result | None  # the best in the first order with parameters searched for

    @property
    def gaps(self) -> np.ndarray:
        """By how much the newcomer errs more than the best, by order; empty if none."""
        if self.newcomer is None or self.best is None:
            return np.zeros(0)
        errors = zip(self.newcomer.errors, self.best.errors, strict=False)
        return np.array([new - other for new, other in errors])


def results(records: Records, name: str) -> list[Result]:
    """All systems on a stream, from the smallest error on."""
    found: dict[str, Result] = {}
    for place, record in records.items():
        if not place.startswith(f"{name}/"):
            continue
        _, system, kind, *order = place.split("/")
        known = found.setdefault(system, Result(system, {}))
        if order:
            known.runs.setdefault(kind, {})[int(order[0])] = record
        else:
            found[system] = known._replace(searched=record)
    ran = [result for result in found.values() if result.runs]
    return sorted(ran, key=lambda result: result.error)


def standing(found: Sequence[Result]) -> Standing:
    """Compare the newcomer with the others, the references left out."""
    others = [r for r in found if not (r.is_newcomer or r.is_reference)]
    searched = [r for r in others if np.isfinite(error_of(r.first.get(CHOSEN, {})))]
    return Standing(
        next((r for r in found if r.is_newcomer and np.isfinite(r.error)), None),
        next((r for r in others if np.isfinite(r.error)), None),
        min(searched, key=lambda r: error_of(r.first[CHOSEN]), default=None),
    )


def drawn(found: Sequence[Result]) -> list[Result]:
    """The newcomer, and the best of the others."""
    others = [r for r in found if not (r.is_newcomer or r.is_reference)]
    there = [r for r in others if np.isfinite(r.error)]
    return [r for r in found if r.is_newcomer and r.best] + there[:SHOWN]

"""What systems did on a stream, out of the records of `studies.streaming`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onkel.measuring.records import Record, Records
from studies.streaming_systems import NEW

SHOWN = 5  # others in the picture, and by tenths


class Result(NamedTuple):
    """What a system did on a stream, by kind of parameters."""

    system: str
    by_kind: dict[str, Record]
    searched: Record  # empty for the newcomer

    @property
    def best(self) -> Record:
        """The run with the smallest error on the whole stream; empty if none is over.

        In hindsight, which is for the others: parameters that suit the first rows may
        be far worse than the defaults later, as on ijcnn1.
        """
        over = [run for run in self.by_kind.values() if "error" in run]
        return min(over, key=lambda run: run["error"], default={})

    @property
    def error(self) -> float:
        """Of the best run; infinite without one."""
        return float(self.best.get("error", np.inf))


def results(records: Records, name: str) -> list[Result]:
    """All systems on a stream, from the smallest error on."""
    by_system: dict[str, dict[str, Record]] = {}
    for place, record in records.items():
        if place.startswith(f"{name}/"):
            _, system, kind = place.split("/")
            by_system.setdefault(system, {})[kind] = record
    found = [
        Result(
            system,
            {k: v for k, v in kinds.items() if k != "search"},
            kinds.get("search", {}),
        )
        for system, kinds in by_system.items()
    ]
    return sorted(found, key=lambda result: result.error)


def drawn(found: Sequence[Result]) -> list[Result]:
    """The newcomer, and the best of the others."""
    others = [r for r in found if r.system != NEW and np.isfinite(r.error)]
    return [r for r in found if r.system == NEW] + others[:SHOWN]

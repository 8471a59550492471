"""Evidence: outcomes of tables and figures, and the runs that a claim compares."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onkel.reproduce.store import Outcome, file_of
from onkel.reproduce.summary import unrest

PERCENT = 100.0


class Evidence:
    """Looks up outcomes in a folder.

    Parameters
    ----------
    folder
        With the files that `reproduce` keeps.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._targets: dict[str, dict[tuple[str, ...], Outcome]] = {}

    def cells(self, target: str) -> dict[tuple[str, ...], Outcome]:
        """Return the outcomes of cells that were run, by data set, system and size."""
        if target not in self._targets:
            found = file_of(target, self.folder).records
            self._targets[target] = {
                tuple(key.split("/")): outcome
                for key, outcome in found.items()
                if "values" in outcome
            }
        return self._targets[target]

    def outcome(
        self, target: str, data: str, system: str, size: str = ""
    ) -> Outcome | None:
        """Return the outcome of a cell, None if it was not run; any size if none."""
        for key, found in self.cells(target).items():
            if key[:2] == (data, system) and size in ("", *key[2:]):
                return found
        return None

    def systems(self, target: str, data: str) -> dict[str, Outcome]:
        """Return the outcomes of a data set by system."""
        found = self.cells(target).items()
        return {key[1]: outcome for key, outcome in found if key[0] == data}

    def budgets(self, target: str, data: str) -> list[str]:
        """Return the sizes of a data set's cells, ascending."""
        found = {key[2] for key in self.cells(target) if key[0] == data and key[2:]}
        return sorted(found, key=int)


class Pair(NamedTuple):
    """Two sets of runs, of which a claim says that the first is better."""

    name: str
    first: Sequence[float]
    second: Sequence[float]


# A system, several of which the best counts, or a system with other keys of its own.
Side = str | Sequence[str] | Mapping[str, Any]


@dataclass(frozen=True)
class Question:
    """What a claim, or a part of it, asks of the outcomes.

    The parameters are the keys of claims.toml, where they are explained.
    """

    by: str
    target: str = ""
    data: Sequence[str] = ()
    first: Side = ""
    second: Side = ""
    of: str = "values"
    epoch: int = 0
    unrest: bool = False
    cell: str = "{}"
    sized: bool = True
    each: Mapping[str, Any] = field(default_factory=dict)
    pair: str = ""
    opposite: Sequence[str] = ()
    digits: int = 2
    room: float = 0.0
    about: str = ""
    mostly: bool = False
    shown: str = ""

    def pairs(self, evidence: Evidence) -> Iterator[Pair]:
        """Yield what is to be compared: a pair for every data set and variable."""
        for data in self.data:
            choices = dict(self.each)
            if isinstance(choices.get("budget"), str):
                known = evidence.budgets(self.target, data)
                choices["budget"] = known if choices["budget"] == "all" else known[-1:]
            for values in itertools.product(*choices.values()):
                chosen = dict(zip(choices, values, strict=True))
                yield self._pair(evidence, {"data": data, **chosen})

    def _pair(self, evidence: Evidence, variables: Mapping[str, str]) -> Pair:
        sides = [
            (side, *self.best(evidence, side, variables))
            for side in (self.first, self.second)
        ]
        is_opposite = variables["data"] in self.opposite
        if is_opposite:
            sides.reverse()
        chosen = [
            name for side, name, _ in sides if is_opposite or isinstance(side, list)
        ]
        name = self.pair.format(**variables) or " ".join(variables.values())
        if chosen:
            name += f" ({', '.join(chosen)})"
        return Pair(name, *(runs for _, _, runs in sides))

    def best(
        self, evidence: Evidence, side: Side, variables: Mapping[str, str]
    ) -> tuple[str, list[float]]:
        """Return the system of a side with the lowest mean, and its runs."""
        if isinstance(side, Mapping):
            own = {key: value for key, value in side.items() if key != "system"}
            return replace(self, **own).best(evidence, side["system"], variables)
        found = {}
        for template in [side] if isinstance(side, str) else side:
            system = template.format(**variables)
            runs = self.runs(evidence, system, variables)
            if runs:
                found[system] = runs
        if not found:
            return "", []
        # A single run cannot be compared with anything.
        found = {name: runs for name, runs in found.items() if len(runs) > 1} or found
        system = min(found, key=lambda name: float(np.mean(found[name])))
        return system, found[system]

    def runs(
        self, evidence: Evidence, system: str, variables: Mapping[str, str]
    ) -> list[float]:
        """Return what a system's cell has: a number for each run, none if not run."""
        label = self.cell.format(system, **variables)
        size = variables.get("budget", "") if self.sized else ""
        found = evidence.outcome(self.target, variables["data"], label, size)
        if found is None:
            return []
        if self.unrest:
            return list(unrest(np.array(found["curves"][self.of])))
        if self.epoch:
            return [run[self.epoch - 1] for run in found["curves"][self.of]]
        if self.of == "missed":
            return [PERCENT - value for value in found["values"]]
        return list(found.get(self.of, []))

    @property
    def title(self) -> str:
        """What is compared: the two systems, unless the claim says otherwise."""
        if isinstance(self.first, str) and isinstance(self.second, str):
            return self.about or f"{self.first}, {self.second}"
        return self.about

"""What a paper's table or figure needs to be run again: systems, data, search, metric.

A paper's module describes its tables with these; the runner and the page read them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import onkel
from onkel.reproduce import published
from onkel.reproduce.choosing import linear
from onkel.reproduce.online_data import Task
from onkel.reproduce.published import Entry

# Name of an estimator that is not ours: scikit-learn's linear SGD, the model to beat.
LINEAR = "linear SGD"


@dataclass(frozen=True)
class System:
    """An algorithm as a paper runs it: our estimator, what is fixed, what is searched.

    Parameters
    ----------
    kind
        Name of the estimator in `onkel`, or `LINEAR`.
    fixed
        Its parameters, those left out being our defaults.
    grid
        Values by parameter, of which the search takes the best combination.
    units
        What values of a parameter are multiplied by: "1/n" and "1/n^2" with n the
        training rows, "rows" with the number of rows that are learnt.
    search_rows
        Most rows for the search; None for all training rows that the paper takes.
    """

    kind: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    search_rows: int | None = None

    def build(self, work: Task, rows: int, **parameters: Any) -> Any:
        """Return the estimator, unfitted, for so many rows of a task."""
        given = {**self.fixed, **parameters}
        if self.kind == LINEAR:
            return linear(work, **given)
        scales = {"1/n": 1 / work.n_train, "1/n^2": work.n_train**-2, "rows": rows}
        for name, unit in self.units.items():
            given[name] *= scales[unit]
            if name == "budget":
                given[name] = max(2, round(given[name]))
        return getattr(onkel, self.kind)(**given)


class Search(NamedTuple):
    """How a paper chooses parameters."""

    kind: str  # "held-out": several splits into 80 % and 20 %; "folds"; "passes"
    splits: int
    text: str


class Cell(NamedTuple):
    """One number to be reproduced."""

    data: str  # the paper's name
    algorithm: str  # the paper's name, with loss and maintenance where it has several
    size: str  # as published
    entry: Entry | None  # None for what we add to the table
    system: System | None
    why_not: str  # if there is no system, or no data

    @property
    def key(self) -> str:
        """Name within a file of results."""
        return "/".join(part for part in (self.data, self.algorithm, self.size) if part)


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Parameters
    ----------
    paper, name
        For example "bogd" and "table3".
    sentence
        What it shows.
    metric
        As in the published numbers: "mistake_rate_pct", "accuracy_pct" or "rmse".
    digits
        Decimals that the paper prints.
    load
        Returns the task, of one of our data sets.
    data
        Our data set by the paper's name, where there is one. May have others, too, for
        the extra systems.
    system
        Returns our system for a published number, or why there is none.
    search
        How parameters are chosen.
    permutations
        Random orders of the rows.
    readings
        How we read the paper where it is silent, and where we leave it.
    remarks
        What to make of the numbers; written by hand.
    extra
        Systems that the paper does not have, on all data, by name.
    std_unit
        What a published standard deviation is multiplied by.
    held_out
        Whether the metric is that of a test part, else progressive.
    missing
        Why, by data set, if there is more to say than that it is not at hand.
    label
        Name of a published number's algorithm, with its loss and so on if need be.
    measure
        Runs a cell, of one of our data sets, in so many orders and seconds, in its own
        way; None for passes over a stream.
    """

    paper: str
    name: str
    sentence: str
    metric: str
    digits: int
    load: Callable[[str], Any]
    data: Mapping[str, str]
    system: Callable[[Entry], System | str]
    search: Search
    permutations: int
    readings: Sequence[str]
    remarks: Sequence[str] = ()
    extra: Callable[[str], Mapping[str, System]] = lambda name: {}
    std_unit: float = 1.0
    held_out: bool = False
    missing: Mapping[str, str] = field(default_factory=dict)
    label: Callable[[Entry], str] = lambda entry: entry.algorithm
    measure: Callable[[str, Cell, int, float], dict[str, Any]] | None = None

    @property
    def target(self) -> str:
        """What to ask for."""
        return f"{self.paper}/{self.name}"

    def cells(self) -> list[Cell]:
        """Return all cells, by data set, in the paper's order."""
        found = []
        entries = published.of(self.paper, self.name, self.metric)
        names = dict.fromkeys([*(entry.dataset for entry in entries), *self.data])
        for name in names:
            for entry in entries:
                if entry.dataset == name:
                    found.append(self._cell(entry))
            if name in self.data:
                for algorithm, system in self.extra(self.data[name]).items():
                    found.append(Cell(name, algorithm, "", None, system, ""))
        return found

    def _cell(self, entry: Entry) -> Cell:
        given = (entry.dataset, self.label(entry), entry.size, entry)
        if entry.dataset not in self.data:
            reason = self.missing.get(entry.dataset, "the data are not at hand")
            return Cell(*given, None, reason)
        if entry.value is None:
            return Cell(*given, None, f"no published number: {entry.note}")
        system = self.system(entry)
        if isinstance(system, str):
            return Cell(*given, None, system)
        return Cell(*given, system, "")


@dataclass(frozen=True)
class Figure(Table):
    """A figure of a paper: curves instead of published numbers.

    Parameters
    ----------
    draw
        Returns the picture, of the outcomes by data set and algorithm.
    rows
        Returns heads and rows of a table of the same outcomes.
    """

    draw: Callable[[dict[str, dict[str, Any]]], Any] = lambda outcomes: None
    rows: Callable[[dict[str, dict[str, Any]]], list[list[str]]] = lambda outcomes: []

    def cells(self) -> list[Cell]:
        """Return a cell for every data set and system."""
        return [
            Cell(data, label, str(system.fixed.get("budget", "")), None, system, "")
            for data, name in self.data.items()
            for label, system in self.extra(name).items()
        ]

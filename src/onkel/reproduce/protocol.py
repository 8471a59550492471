"""What a paper's table or figure needs to be run again: setups, data, search, metric.

protocols.toml describes the tables, a paper's module adds what is code; the runner and
the page read them.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from sklearn.svm import SVC

import onkel
from onkel.reproduce import published
from onkel.reproduce.choosing import linear
from onkel.reproduce.online_data import OnlineData
from onkel.reproduce.published import PublishedNumber

# Names of estimators that are not ours: scikit-learn's linear SGD, the model to beat,
# and its LIBSVM.
LINEAR, EXACT = "linear SGD", "SVC"
NO_SETUP = "no such system here"


@dataclass(frozen=True)
class EstimatorSetup:
    """An algorithm as a paper runs it: our estimator, what is fixed, what is searched.

    Parameters
    ----------
    kind
        Name of the estimator in `onkel`, or `LINEAR` or `EXACT`.
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

    def build(self, work: OnlineData, rows: int, **parameters: Any) -> Any:
        """Return the estimator, unfitted, for so many of the rows."""
        given = {**self.fixed, **parameters}
        if self.kind == LINEAR:
            return linear(work, **given)
        if self.kind == EXACT:
            return SVC(**given)
        scales = {"1/n": 1 / work.n_train, "1/n^2": work.n_train**-2, "rows": rows}
        for name, unit in self.units.items():
            given[name] *= scales[unit]
            if name == "budget":
                given[name] = max(2, round(given[name]))
        return getattr(onkel, self.kind)(**given)

    def settled(self, chosen: Mapping[str, Any]) -> "EstimatorSetup":
        """Return the setup with what was chosen, and nothing left to search."""
        return replace(self, fixed={**self.fixed, **chosen}, grid={})


# Of rows, a settled setup, orders wanted and a limit in seconds.
Passes = Callable[[OnlineData, EstimatorSetup, int, float], dict[str, Any]]


class SearchProtocol(NamedTuple):
    """How a paper chooses parameters."""

    # "held-out": several splits into 80 % and 20 %; "folds"; by the progressive error
    # "passes" over all rows, or over "parts" of 80 %
    kind: str
    splits: int
    text: str


class Cell(NamedTuple):
    """One number to be reproduced."""

    data: str  # the paper's name
    algorithm: str  # the paper's name, with loss and maintenance where it has several
    size: str  # as published
    published: PublishedNumber | None  # None for what we add to the table
    setup: EstimatorSetup | None
    why_not: str  # if there is no setup, or no data

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
        Returns the rows of one of our data sets.
    data
        Our data set by the paper's name, where there is one. May have others, too, for
        the extra systems.
    search
        How parameters are chosen.
    permutations
        Random orders of the rows.
    readings
        How we read the paper where it is silent, and where we leave it.
    setup_of
        Returns our setup for a published number, on one of our data sets, or why there
        is none.
    remarks
        What to make of the numbers; written by hand.
    extra
        Setups that the paper does not have, by name, on one of our data sets.
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
        way; None for passes over a stream. The cell's setup is settled.
    passes
        Learns rows with a settled setup, in so many orders and seconds, and notes more
        than errors; None for what tables show.
    lender
        Returns the setup whose parameters a cell takes, on one of our data sets; None
        if each has its own. Where a cell is measured in its own way, they are those
        that a table of the same protocol has chosen, if that was run.
    dtype
        Precision of the rows.
    lengths
        Rows of a data set in the paper, where it misprints them.
    beside
        Published data set or algorithm, by a name of ours: where one of the extra
        setups has such a name, the published number stands beside it.
    causes
        Why ours is worse than published, by pattern of a cell's key, as far as that was
        tested; the first that fits counts.
    loaders
        Who loads one of our data sets, where `load` does not.
    """

    paper: str
    name: str
    sentence: str
    metric: str
    digits: int
    load: Callable[[str], Any]
    data: Mapping[str, str]
    search: SearchProtocol
    permutations: int
    readings: Sequence[str]
    setup_of: Callable[[PublishedNumber, str], EstimatorSetup | str] = (
        lambda number, name: NO_SETUP
    )
    remarks: Sequence[str] = ()
    extra: Callable[[str], Mapping[str, EstimatorSetup]] = lambda name: {}
    std_unit: float = 1.0
    held_out: bool = False
    missing: Mapping[str, str] = field(default_factory=dict)
    label: Callable[[PublishedNumber], str] = lambda number: number.algorithm
    measure: Callable[[str, Cell, int, float], dict[str, Any]] | None = None
    passes: Passes | None = None
    lender: Callable[[str, Cell], EstimatorSetup] | None = None
    dtype: str = "float64"
    lengths: Mapping[str, int] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    loaders: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """What to ask for."""
        return f"{self.paper}/{self.name}"

    def loader(self, name: str) -> Callable[[str], Any]:
        """Return who loads one of our data sets."""
        return self.loaders.get(name, self.load)

    def searched(self, cell: Cell) -> EstimatorSetup:
        """Return the setup for which a cell's parameters are searched."""
        if self.lender is not None:
            return self.lender(self.data[cell.data], cell)
        assert cell.setup is not None
        return cell.setup

    def cells(self) -> list[Cell]:
        """Return all cells, by data set, in the paper's order."""
        found = []
        numbers = published.of(self.paper, self.name, self.metric)
        for data in dict.fromkeys([*(one.dataset for one in numbers), *self.data]):
            found += [self._cell(one) for one in numbers if one.dataset == data]
            if data in self.data:
                found += [
                    Cell(data, name, "", self._beside(data, name, setup), setup, "")
                    for name, setup in self.extra(self.data[data]).items()
                ]
        return found

    def _beside(
        self, data: str, name: str, setup: EstimatorSetup
    ) -> PublishedNumber | None:
        """Return the published number that an extra setup is to be compared with.

        Of several, for several budgets, that of the setup's budget.
        """
        if not {data, name} & set(self.beside):
            return None
        wanted = self.beside.get(data, data), self.beside.get(name, name)
        numbers = published.of(self.paper, self.name, self.metric)
        found = [one for one in numbers if (one.dataset, self.label(one)) == wanted]
        budget = str(setup.fixed.get("budget"))
        return next(
            (one for one in found if one.size == budget), next(iter(found), None)
        )

    def is_extra(self, cell: Cell) -> bool:
        """Whether a cell is ours, and not of the paper."""
        number = cell.published
        own = (cell.data, cell.algorithm)
        return number is None or own != (number.dataset, self.label(number))

    def has_published_rows(self, cell: Cell, rows: int) -> bool:
        """Whether a cell's data have as many rows as the paper's."""
        if cell.published is None:
            return False
        name = cell.published.dataset
        return rows == self.lengths.get(name, cell.published.n_train)

    def cause_of(self, cell: Cell) -> str:
        """Return why a cell is worse than published; "" if nobody says."""
        fitting = (p for p in self.causes if fnmatchcase(cell.key, p))
        return self.causes.get(next(fitting, ""), "")

    def _cell(self, number: PublishedNumber) -> Cell:
        known = (number.dataset, self.label(number), number.size, number)
        if number.dataset not in self.data:
            reason = self.missing.get(number.dataset, "the data are not at hand")
            return Cell(*known, None, reason)
        if number.value is None:
            return Cell(*known, None, f"no published number: {number.note}")
        setup = self.setup_of(number, self.data[number.dataset])
        if isinstance(setup, str):
            return Cell(*known, None, setup)
        return Cell(*known, setup, "")


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
        """Return a cell for every data set and setup."""
        return [
            Cell(data, label, str(setup.fixed.get("budget") or ""), None, setup, "")
            for data, name in self.data.items()
            for label, setup in self.extra(name).items()
        ]


@cache
def _protocols() -> dict[str, Any]:
    source = files("onkel.reproduce").joinpath("protocols.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def title(paper: str) -> str:
    """Return the heading of a paper's page."""
    return str(_protocols()[paper]["title"])


def table(paper: str, name: str, **code: Any) -> Table:
    """Return a table or figure as protocols.toml describes it, with what is code.

    Examples
    --------
    >>> from onkel.reproduce.online_data import task
    >>> from onkel.reproduce.protocol import table
    >>> table("avm", "table4", load=task).metric
    'mistake_rate_pct'
    """
    shared, own = _protocols()[paper].get("all", {}), _protocols()[paper][name]
    described = {**shared, **own}
    described["readings"] = [*shared.get("readings", ()), *own.get("readings", ())]
    described["search"] = SearchProtocol(**described["search"])
    kind = Figure if "draw" in code else Table
    return kind(paper=paper, name=name, **described, **code)

"""The numbers that the papers print, from the table that comes with the package.

Facts as published, one number a line; where the copy of a text is damaged or a paper is
in doubt about itself, the note says so. An empty value is a dash, or lost.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class PublishedNumber(NamedTuple):
    """One published number, and what it is of."""

    paper: str
    table: str  # "table3"
    dataset: str  # the paper's name for it
    n_train: int | None  # online: the length of the stream
    algorithm: str
    loss: str
    maintenance: str
    size: str  # budget, features or centres; "" where there is none
    metric: str
    value: float | None
    std: float | None
    note: str


@cache
def numbers() -> tuple[PublishedNumber, ...]:
    """Return all published numbers.

    Examples
    --------
    >>> from onkel.reproduce.published import numbers
    >>> found = [e for e in numbers() if (e.paper, e.table) == ("bogd", "table3")]
    >>> found[0].algorithm, found[0].dataset, found[0].value
    ('RBP', 'spambase', 34.153)
    """
    text = files("onkel.reproduce").joinpath("published.csv").read_text()
    return tuple(_number(**row) for row in csv.DictReader(text.splitlines()))


def _number(n_train: str, value: str, std: str, **words: str) -> PublishedNumber:
    return PublishedNumber(
        n_train=int(n_train) if n_train else None,
        value=float(value) if value else None,
        std=float(std) if std else None,
        **words,
    )


def of(paper: str, table: str, metric: str) -> list[PublishedNumber]:
    """Return the numbers of one metric in one table, in the paper's order."""
    wanted = (paper, table, metric)
    return [e for e in numbers() if (e.paper, e.table, e.metric) == wanted]


def sizes(paper: str, table: str) -> dict[tuple[str, str, str], PublishedNumber]:
    """Return the model sizes of a table by data set, algorithm and budget."""
    return {(e.dataset, e.algorithm, e.size): e for e in of(paper, table, "n_support")}

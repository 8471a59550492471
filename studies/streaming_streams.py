"""The streams of `studies.streaming`: which rows, and in which order."""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from onkel.data.catalogue import load
from onkel.race.problem import Problem
from onkel.reproduce.online_data import OnlineData

DIGITS = "digits"  # comes with scikit-learn, all others are of the catalogue


class Source(NamedTuple):
    """What is taken of a data set."""

    budget: int = 500
    orders: int = 1  # random ones; a single one is that of the file
    rows: int | None = None  # the first; None for all
    is_regression: bool = False

    @property
    def is_shuffled(self) -> bool:
        """Whether the order of the file means nothing."""
        return self.orders > 1


# cod-rna, magic04 and casp are sorted, more or less: in the order of cod-rna's file,
# whoever repeats the last label errs five times.
STREAMS = {
    DIGITS: Source(budget=100, orders=5),
    "magic04": Source(orders=5),
    "casp": Source(orders=5, is_regression=True),
    "elec2": Source(),
    "ijcnn1": Source(),
    "cod-rna": Source(orders=5),
    "nycflights": Source(is_regression=True),
    "covtype": Source(rows=100_000),
}


class Stream(NamedTuple):
    """A stream: rows as they are, and as the rivals see them."""

    raw: OnlineData
    scaled: OnlineData

    @property
    def problem(self) -> Problem:
        """What is learnt, as the race describes it."""
        rows, features = self.raw.X.shape
        classes = 0 if self.raw.is_regression else int(self.raw.y.max()) + 1
        return Problem(rows, features, classes)


def stream(name: str, order: int = 0) -> Stream:
    """Load a stream in one of its orders; labels become 0, 1 and so on.

    Rivals see features, and targets too, with mean 0 and deviation 1.
    """
    source = STREAMS[name]
    X, y = load_digits(return_X_y=True) if name == DIGITS else load(name)
    X, y = X[: source.rows], y[: source.rows]
    X = (X.toarray() if scipy.sparse.issparse(X) else X).astype(np.float32)
    if not source.is_regression:
        _, y = np.unique(y, return_inverse=True)
    if source.is_shuffled:
        places = np.random.default_rng(order).permutation(len(y))
        X, y = X[places], y[places]
    raw = OnlineData(name, X, y, source.is_regression, len(y))
    scaled = StandardScaler().fit_transform(X.astype(np.float64)).astype(np.float32)
    targets = (y - y.mean()) / y.std() if source.is_regression else y
    return Stream(raw, raw._replace(X=scaled, y=targets))

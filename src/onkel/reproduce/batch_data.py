"""The data sets on which the papers learn a training part, and predict a test part."""

import numpy as np

from onkel.reproduce.connections import connections
from onkel.reproduce.hands import poker
from onkel.reproduce.online_data import OnlineData, task

HELD_OUT = 0.1
# Who loads a data set that `task` does not know.
LOADERS = {"kddcup99": connections, "poker": poker}


def batch(name: str) -> OnlineData:
    """Load and scale a data set as `task` does, its test part last.

    Where none is published, or it is not at hand, a tenth of the rows is drawn for it.
    """
    work = LOADERS.get(name, task)(name)
    return work if work.n_train < len(work.y) else tenth_last(work)


def tenth_last(work: OnlineData) -> OnlineData:
    """Put rows in random order, the last tenth of them being the test part."""
    order = np.random.default_rng(0).permutation(len(work.y))
    n_train = len(order) - round(HELD_OUT * len(order))
    return work._replace(X=work.X[order], y=work.y[order], n_train=n_train)


def only_first(work: OnlineData, rows: int, tested: int | None = None) -> OnlineData:
    """Keep the first training rows, and the test part, or the first rows of it."""
    kept = np.r_[:rows, np.arange(work.n_train, len(work.y))[:tested]]
    return work._replace(X=work.X[kept], y=work.y[kept], n_train=rows)

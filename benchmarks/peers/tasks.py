"""Tasks: data sets with two classes, and the parameters that all contestants get."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.sparse
from sklearn.preprocessing import StandardScaler, minmax_scale

from onkel.data.catalogue import load

ROWS, TRAIN, TEST = "rows.joblib", "train.libsvm", "test.libsvm"
MOST_ROWS = 100_000
# Enough for errors to half a point, and SVC need not predict for minutes.
MOST_TEST_ROWS = 20_000
HELD_OUT = 0.2


class Parameters(NamedTuple):
    """What a data set asks for; gamma and C are those of the paper of BSCA."""

    gamma: float
    C: float
    # All run with the first; those whose cost depends on it, with the others too.
    budgets: tuple[int, ...] = (500,)


SETS: Mapping[str, Parameters] = {
    "ijcnn1": Parameters(2.0, 32.0),
    "cod-rna": Parameters(0.125, 32.0),
    "a9a": Parameters(1 / 128, 32.0),
    # Features in [0, 1] and a kernel so narrow that most centres are far apart.
    "covtype": Parameters(8.0, 32.0, (500, 100, 2000)),
}


class Rows(NamedTuple):
    """Rows to learn and to test; labels are -1 and 1."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


class Task(NamedTuple):
    """A data set that lies in a folder, and the parameters of those who learn it."""

    name: str
    folder: Path
    rows: int
    features: int
    gamma: float
    C: float
    budget: int

    @property
    def alpha(self) -> float:
        """Regulariser of those who sum up losses by their mean."""
        return 1.0 / (self.C * self.rows)

    @property
    def rank(self) -> int:
        """Features of NOGD, a fifth of its centres."""
        return max(self.budget // 5, 1)


def rows_of(name: str, most: int = MOST_ROWS) -> Rows:
    """Load a data set, shuffled, scaled and split."""
    X, y = load(name)
    order = np.random.default_rng(0).permutation(len(y))
    if name in ("ijcnn1", "a9a"):
        X_test, y_test = load(name, "test")
        some = np.random.default_rng(1).permutation(len(y_test))[:MOST_TEST_ROWS]
        X, y, X_test, y_test = X[order][:most], y[order], X_test[some], y_test[some]
        # The test part of a9a has a feature less.
        X_test.resize(X_test.shape[0], X.shape[1])
    else:
        # LIBSVM's files: cod-rna as measured, covtype with features in [0, 1].
        scaled = StandardScaler().fit_transform if name == "cod-rna" else minmax_scale
        X = scaled(X.toarray())[order]
        y = np.where(y[order] == (2 if name == "covtype" else 1), 1, -1)
        learnt = min(most, int((1 - HELD_OUT) * len(y)))
        held_out = slice(learnt, learnt + MOST_TEST_ROWS)
        X, X_test, y_test = X[:learnt], X[held_out], y[held_out]
    if name == "ijcnn1":
        X, X_test = X.toarray(), X_test.toarray()
    y = y[: X.shape[0]]
    if scipy.sparse.issparse(X):
        # LightGBM takes no sparse arrays, only matrices.
        X, X_test = scipy.sparse.csr_matrix(X), scipy.sparse.csr_matrix(X_test)
    single = (X.astype(np.float32), X_test.astype(np.float32))
    return Rows(single[0], y.astype(int), single[1], y_test.astype(int))


def stored(name: str, rows: Rows, folder: Path, as_text: bool) -> list[Task]:
    """Put rows where all contestants find them; return the tasks, one a budget."""
    folder.mkdir(parents=True, exist_ok=True)
    joblib.dump(rows, folder / ROWS)
    if as_text:
        _write(rows.X, rows.y, folder / TRAIN)
        _write(rows.X_test, rows.y_test, folder / TEST)
    gamma, C, budgets = SETS[name]
    n, d = rows.X.shape
    return [Task(name, folder, n, d, gamma, C, budget) for budget in budgets]


def _write(X: Any, y: np.ndarray, path: Path) -> None:
    """Write rows in LIBSVM's format.

    Nine digits are a single-precision number, and all that KOL can read: it gathers
    the digits of a number in an integer of 32 bits, and more of them run over.
    """
    rows = scipy.sparse.csr_matrix(X)
    with path.open("w") as file:
        for i, label in enumerate(y.tolist()):
            row = slice(rows.indptr[i], rows.indptr[i + 1])
            indices, values = rows.indices[row].tolist(), rows.data[row].tolist()
            pairs = zip(indices, values, strict=True)
            cells = [f"{index + 1}:{value:.9g}" for index, value in pairs]
            file.write(" ".join([f"{label}", *cells]) + "\n")

"""The data sets on which the papers predict, then learn, every row.

`task` scales as the settings of the AVM and DualSVRG papers suggest: with the diameters
that they print, these scalings give the model sizes that they print. a9a, w8a and
ijcnn1 as published, cod-rna to [-1, 1], covtype, nycflights to [0, 1], poker as it is
(suits 1-4, ranks 1-13); casp standardised, targets to [0, 1]. Minimum, maximum, mean
and deviation are those of all rows: this is the papers' protocol, in which a stream is
a data set that is shuffled. `whole` scales nothing.

Rows have double precision: features that are not scaled lie so far apart that kernel
values leave single precision, and none of the papers says that it works in that.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler, minmax_scale

from onkel.data.catalogue import load

# A flight is late beyond this many minutes.
LATE = 15.0
SCALERS: dict[str, Any] = {
    "cod-rna": MinMaxScaler((-1, 1)),
    "covtype": MinMaxScaler(),
    "covtype-2": MinMaxScaler(),
    "nycflights": MinMaxScaler(),
    "casp": StandardScaler(),
}
# Joined with their test part, which comes after the training part.
JOINED = ("a9a", "w8a", "ijcnn1", "dna")
SPARSE = ("a9a", "w8a")
# Class 2 against the rest, which the paper on DualSVRG may have had.
TWO_CLASSES = {"covtype-2": "covtype"}


class OnlineData(NamedTuple):
    """Rows to predict and learn, and how many of them parameters may be chosen on."""

    name: str
    X: Any  # shape (rows, features), float64; CSR for a9a and w8a
    y: np.ndarray
    is_regression: bool
    n_train: int  # the first rows, where there is a test part

    def tuning_rows(self, rng: np.random.Generator) -> np.ndarray:
        """Rows to choose parameters on: the training rows, 1 % of those of a large set.

        A set is large from covtype on, and has some thousand rows for this.
        """
        share = 0.01 if self.n_train > 200_000 else 1.0
        rows = rng.permutation(self.n_train)
        return rows[: round(share * self.n_train)]


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)


def _narrow(X: Any) -> scipy.sparse.csr_array:
    """CSR with 32-bit indices, which scikit-learn's linear models insist on."""
    X = X.tocsr()
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return scipy.sparse.csr_array((X.data, indices, indptr), shape=X.shape)


def whole(name: str) -> OnlineData:
    """Load a classification data set as it is, its test part after its training part.

    Rows are dense, except where most of their numbers are 0 (a9a, w8a).
    """
    X, y = load(TWO_CLASSES.get(name, name), dtype=np.float64)
    n_train = len(y)
    if name in TWO_CLASSES:
        y = y == 2
    if name in JOINED:
        X_test, y_test = load(name, "test", dtype=np.float64)
        X, y = _narrow(scipy.sparse.vstack([X, X_test])), np.concatenate([y, y_test])
    return OnlineData(name, X if name in SPARSE else _dense(X), y, False, n_train)


def positive_first(name: str) -> OnlineData:
    """Load all rows of two classes as they are, with the positive class the first.

    A score of 0, which a row has that is far from all centres, then is positive.
    """
    work = whole(name)
    return work._replace(y=work.y < work.y.max(), n_train=len(work.y))


def task(name: str, regression: bool = False) -> OnlineData:
    """Load and scale a data set; nycflights can be either kind."""
    _, X, y, _, n_train = whole(name)
    if name in SCALERS:
        X = SCALERS[name].fit_transform(X)
    if not regression:
        return OnlineData(
            name, X, y > LATE if name == "nycflights" else y, False, n_train
        )
    if name == "casp":
        y = minmax_scale(y)
    return OnlineData(name, X, y, True, n_train)

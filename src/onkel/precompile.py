"""Compile ahead: what users will need, before they do.

Each estimator learns a few rows in every precision and format, and predicts some. What
that compiles is in the compile cache afterwards, for whoever comes next; or in a folder
that is shipped with the package (`python -m onkel.precompile FOLDER`, as the build
does).
"""

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import scipy.sparse

from onkel.estimators._registry import systems

# So many rows that every strategy has to maintain, and NOGD to become linear.
ROWS, FEATURES, BUDGET = 200, 4, 20

# Parameters that have code of their own. Regressors share it with the classifiers.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "BOGDClassifier": [{"sampling": "weighted"}],
    "BPAClassifier": [{"variant": "nn"}, {"variant": "p"}, {"budget": None}],
    "BSCAClassifier": [{"maintenance": "removal"}],
    "BSGDClassifier": [
        {"maintenance": "removal"},
        {"maintenance": "projection"},
        {"maintenance": "projection_knn"},
        {"average": "full"},
        {"maintenance": "removal", "average": "full"},
    ],
    "AVMClassifier": [{"average": "full"}],
    "KernelSGDClassifier": [{"average": "full"}],
}


class Meeting(NamedTuple):
    """What a user may do first."""

    estimator: str
    precision: str  # of the rows
    is_sparse: bool
    parameters: dict[str, Any] = {}


def meetings() -> list[Meeting]:
    """Return all first meetings: every estimator, precision and form of rows.

    Examples
    --------
    >>> Meeting("RBPClassifier", "float32", True) in meetings()
    True
    """
    return [
        Meeting(name, precision, is_sparse)
        for is_sparse in (False, True)
        for precision in ("float64", "float32")
        for name in systems()
    ]


def variants() -> list[Meeting]:
    """Return meetings with other parameters; code does not depend on the rows' form."""
    return [
        Meeting(name, precision, False, parameters)
        for precision in ("float64", "float32")
        for name, own in VARIANTS.items()
        for parameters in own
    ]


def meet(meeting: Meeting) -> Meeting:
    """Do what a user would, with few rows and default parameters."""
    model = systems()[meeting.estimator]()
    wanted = {"budget": BUDGET, "n_components": BUDGET, "random_state": 0}
    known = model.get_params()
    model.set_params(**{name: wanted[name] for name in wanted if name in known})
    model.set_params(**meeting.parameters)
    X: Any = np.random.default_rng(0).normal(size=(ROWS, FEATURES))
    f = X[:, 0] * X[:, 1] + X[:, 2]
    X = X.astype(meeting.precision)
    if meeting.is_sparse:
        X = scipy.sparse.csr_array(X)
    y = f if meeting.estimator.endswith("Regressor") else (f > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows make bad models
        model.fit(X, y)
        if hasattr(model, "transform"):
            model.transform(X)
            return meeting
        model.predict(X)
        if hasattr(model, "partial_fit"):
            model.partial_fit(X, y)
    return meeting


def fill(jobs: int | None = None) -> Iterator[Meeting]:
    """Compile what is not compiled yet, in several processes; yield what is ready."""
    work = (joblib.delayed(meet)(meeting) for meeting in [*meetings(), *variants()])
    # Neighbours share much of their code: a process compiles that once.
    parallel = joblib.Parallel(
        jobs or joblib.cpu_count(), return_as="generator_unordered", batch_size=1
    )
    yield from parallel(work)


def main(folder: Path) -> None:
    """Fill a folder with code for the level that the environment names."""
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    for meeting in fill():
        print(*meeting[:3], meeting.parameters or "", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Support vector machines of the comparison: searched, and fitted within a limit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.svm import SVC, SVR

from studies.comparison_sets import Case
from studies.comparison_timing import Rung, climb, exponent, extrapolated, limited

LIMIT = 600.0  # seconds of a search, and of a fit
CACHE_MB = 1000

# The grid of SVC: gamma in units of 1 / (features * variance), which is 1 for "scale".
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FACTORS = tuple(np.geomspace(0.01, 30.0, 5).round(4).tolist())
FOLDS = 5
SEARCHED, LEAST_SEARCHED = 0.1, 100  # part of the rows, and rows
# Above so many rows the search would not end within the limit, so it is made on
# ever larger subsamples, up to the last of these.
SEARCH_ROWS, SEARCH_RUNGS = 25_000, (1250, 2500, 5000)
# Likewise for the fit; it begins with this part of the rows.
FIT_ROWS, FIRST_RUNG = 250_000, 64


class Fitted(NamedTuple):
    """What a method gave: a predictor of the rows it was fitted for, and facts."""

    model: Any
    seconds: float  # of the processor, all in
    wall: float | None  # None where it was stopped: only processor time is extrapolated
    facts: dict[str, Any]


def support_vector_machine(data: Case, **parameters: Any) -> Any:
    """Make scikit-learn's, for the kind of targets."""
    return (SVR if data.is_regression else SVC)(cache_size=CACHE_MB, **parameters)


def gammas(X: Any) -> list[float]:
    """Return the values of gamma in the grid."""
    mean = X.mean()
    square = X.multiply(X).mean() if scipy.sparse.issparse(X) else np.square(X).mean()
    scale = X.shape[1] * float(square - mean**2)
    return [factor / scale for factor in FACTORS]


def _drawn(data: Case, rows: int, seed: int) -> Case:
    """Draw rows to learn, all classes in proportion."""
    if rows >= len(data.y):
        return data
    labels = None if data.is_regression else data.y
    index, _ = train_test_split(
        np.arange(len(data.y)), train_size=rows, random_state=seed, stratify=labels
    )
    return data._replace(X=data.X[index], y=data.y[index])


def searched(data: Case, rows: int, seed: int) -> dict[str, float]:
    """C and gamma with the best cross-validated score on so many rows."""
    # From all rows, so that searches on different ones can agree.
    grid = {"C": list(COSTS), "gamma": gammas(data.X)}
    data = _drawn(data, rows, seed)
    folds = KFold if data.is_regression else StratifiedKFold
    search = GridSearchCV(
        support_vector_machine(data),
        grid,
        scoring="neg_mean_squared_error" if data.is_regression else "accuracy",
        cv=folds(FOLDS, shuffle=True, random_state=seed),
        refit=False,
    )
    search.fit(data.X, data.y)
    return {name: float(value) for name, value in search.best_params_.items()}


def _told(rungs: Sequence[Rung], rows: int) -> dict[str, Any]:
    """Say what was extrapolated, and from what."""
    return {
        "rows": rungs[-1].rows,
        "all_rows": rows,
        "exponent": exponent(rungs),
        "steps": [[rung.rows, rung.work.cpu] for rung in rungs],
    }


def choose(data: Case, seed: int) -> Fitted:
    """Search the grid on a tenth of the rows; `model` is the parameters."""
    rows = min(len(data.y), max(LEAST_SEARCHED, round(SEARCHED * len(data.y))))
    done = None
    if rows <= SEARCH_ROWS:
        done = limited(lambda: searched(data, rows, seed), LIMIT)
    if done is not None:
        facts = {"search_seconds": done.cpu, "search_rows": rows}
        return Fitted(done.value, done.cpu, done.wall, facts)
    rungs = climb(
        (size for size in SEARCH_RUNGS if size < rows),
        lambda size: searched(data, size, seed),
        LIMIT,
    )
    seconds = extrapolated(rungs, rows)
    told = {"search_seconds": seconds, "search_part": _told(rungs, rows)}
    return Fitted(rungs[-1].work.value, seconds, None, told)


def fit_within(data: Case, seed: int, **parameters: Any) -> Fitted:
    """Fit all rows, or as many as can be within the limit."""
    rows, done = len(data.y), None
    if rows <= FIT_ROWS:
        model = support_vector_machine(data, **parameters)
        done = limited(lambda: model.fit(data.X, data.y), LIMIT)
    if done is not None:
        facts = {"fit_seconds": done.cpu, "fit_wall": done.wall}
        return Fitted(done.value, done.cpu, done.wall, facts)
    order = np.random.default_rng(seed).permutation(rows)

    def fit(size: int) -> Any:
        index = order[:size]
        model = support_vector_machine(data, **parameters)
        return model.fit(data.X[index], data.y[index])

    parts = [FIRST_RUNG // 2**step for step in range(FIRST_RUNG.bit_length())]
    rungs = climb((rows // part for part in parts), fit, LIMIT)
    last = rungs[-1]
    told = {"fit_seconds": extrapolated(rungs, rows), "fit_wall": None}
    if last.rows == rows:
        told["fit_wall"] = last.work.wall
        return Fitted(last.work.value, last.work.cpu, last.work.wall, told)
    part = {"fit_part": _told(rungs, rows)}
    return Fitted(last.work.value, extrapolated(rungs, rows), None, told | part)

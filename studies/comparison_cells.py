"""A cell of the comparison: one method on one data set with one seed.

    python -m studies.comparison_cells ijcnn1 svc 0 500 ledger.json

measures it and prints the record as JSON. `comparison` starts one such process for each
cell, so that threads, caches and memory are those of the method alone.
"""

import argparse
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC

from onkel.measuring.machine import machine
from onkel.measuring.memory import peak
from onkel.measuring.records import RecordFile
from studies.comparison_sets import (
    CLASSIFICATION,
    REGRESSION,
    Case,
    case,
    prepared,
)
from studies.comparison_timing import (
    Rung,
    Timed,
    climb,
    exponent,
    extrapolated,
    limited,
    timed,
)

METHODS = ("svc-grid", "svc", "nystroem", "lightgbm", "onkel", "onkel-auto")
OURS = ("onkel", "onkel-auto")
# Without randomness: on a fixed test part, one run counts for all seeds.
DETERMINISTIC = ("svc", "lightgbm")
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

WARM_UP_ROWS = 300
BINS = 15  # of the calibration error
RESAMPLES = 1000  # of the standard error of a root mean squared error


class Fitted(NamedTuple):
    """What a method gave: a predictor of the rows it was fitted for, and facts."""

    model: Any
    seconds: float  # of the processor, all in
    wall: float | None  # None where it was stopped: only processor time is extrapolated
    facts: dict[str, Any]


# ---- support vector machines -----------------------------------------------------


def support_vector_machine(task: Case, **parameters: Any) -> Any:
    """Make scikit-learn's, for the kind of targets."""
    return (SVR if task.is_regression else SVC)(cache_size=CACHE_MB, **parameters)


def gammas(X: Any) -> list[float]:
    """Return the values of gamma in the grid."""
    mean = X.mean()
    square = X.multiply(X).mean() if scipy.sparse.issparse(X) else np.square(X).mean()
    scale = X.shape[1] * float(square - mean**2)
    return [factor / scale for factor in FACTORS]


def _drawn(task: Case, rows: int, seed: int) -> Case:
    """Draw rows to learn, all classes in proportion."""
    if rows >= len(task.y):
        return task
    labels = None if task.is_regression else task.y
    index, _ = train_test_split(
        np.arange(len(task.y)), train_size=rows, random_state=seed, stratify=labels
    )
    return task._replace(X=task.X[index], y=task.y[index])


def searched(task: Case, rows: int, seed: int) -> dict[str, float]:
    """C and gamma with the best cross-validated score on so many rows."""
    # From all rows, so that searches on different ones can agree.
    grid = {"C": list(COSTS), "gamma": gammas(task.X)}
    task = _drawn(task, rows, seed)
    folds = KFold if task.is_regression else StratifiedKFold
    search = GridSearchCV(
        support_vector_machine(task),
        grid,
        scoring="neg_mean_squared_error" if task.is_regression else "accuracy",
        cv=folds(FOLDS, shuffle=True, random_state=seed),
        refit=False,
    )
    search.fit(task.X, task.y)
    return {name: float(value) for name, value in search.best_params_.items()}


def _told(rungs: Sequence[Rung], rows: int) -> dict[str, Any]:
    """Say what was extrapolated, and from what."""
    return {
        "rows": rungs[-1].rows,
        "all_rows": rows,
        "exponent": exponent(rungs),
        "steps": [[rung.rows, rung.work.cpu] for rung in rungs],
    }


def choose(task: Case, seed: int, limit: float) -> Fitted:
    """Search the grid on a tenth of the rows; `model` is the parameters."""
    rows = min(len(task.y), max(LEAST_SEARCHED, round(SEARCHED * len(task.y))))
    done = None
    if rows <= SEARCH_ROWS:
        done = limited(lambda: searched(task, rows, seed), limit)
    if done is not None:
        facts = {"search_seconds": done.cpu, "search_rows": rows}
        return Fitted(done.value, done.cpu, done.wall, facts)
    rungs = climb(
        (size for size in SEARCH_RUNGS if size < rows),
        lambda size: searched(task, size, seed),
        limit,
    )
    seconds = extrapolated(rungs, rows)
    told = {"search_seconds": seconds, "search_part": _told(rungs, rows)}
    return Fitted(rungs[-1].work.value, seconds, None, told)


def fit_within(task: Case, seed: int, limit: float, **parameters: Any) -> Fitted:
    """Fit all rows, or as many as can be within the limit."""
    rows, done = len(task.y), None
    if rows <= FIT_ROWS:
        model = support_vector_machine(task, **parameters)
        done = limited(lambda: model.fit(task.X, task.y), limit)
    if done is not None:
        facts = {"fit_seconds": done.cpu, "fit_wall": done.wall}
        return Fitted(done.value, done.cpu, done.wall, facts)
    order = np.random.default_rng(seed).permutation(rows)

    def fit(size: int) -> Any:
        index = order[:size]
        model = support_vector_machine(task, **parameters)
        return model.fit(task.X[index], task.y[index])

    parts = [FIRST_RUNG // 2**step for step in range(FIRST_RUNG.bit_length())]
    rungs = climb((rows // part for part in parts), fit, limit)
    last = rungs[-1]
    told = {"fit_seconds": extrapolated(rungs, rows), "fit_wall": None}
    if last.rows == rows:
        told["fit_wall"] = last.work.wall
        return Fitted(last.work.value, last.work.cpu, last.work.wall, told)
    part = {"fit_part": _told(rungs, rows)}
    return Fitted(last.work.value, extrapolated(rungs, rows), None, told | part)


# ---- the methods -----------------------------------------------------------------


def _simple(model: Any, task: Case) -> Fitted:
    done = timed(lambda: model.fit(task.X, task.y))
    return Fitted(model, done.cpu, done.wall, {})


def nystroem(task: Case, seed: int, budget: int) -> Fitted:
    """Nystrom features as many as the budget, and a linear model."""
    linear = Ridge() if task.is_regression else LinearSVC(random_state=seed)
    features = Nystroem(n_components=budget, random_state=seed)
    with warnings.catch_warnings():
        # Its default is 1,000 iterations, and this is about defaults.
        warnings.simplefilter("ignore", ConvergenceWarning)
        done = _simple(make_pipeline(features, linear), task)
    return done._replace(facts=done.facts | {"model_size": budget})


def lightgbm(task: Case) -> Fitted:
    """Boosted trees with the defaults; the model's size is in leaves."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if task.is_regression else LGBMClassifier
    done = _simple(kind(verbose=-1, n_jobs=1), task)
    leaves = int((done.model.booster_.trees_to_dataframe().left_child.isna()).sum())
    return done._replace(facts=done.facts | {"model_size": leaves})


def first_of_each(task: Case, rows: int) -> np.ndarray:
    """About so many rows, and some of every class."""
    if task.is_regression:
        return np.arange(min(rows, len(task.y)))
    classes = np.unique(task.y)
    few = rows // len(classes)
    return np.concatenate([np.flatnonzero(task.y == label)[:few] for label in classes])


def onkel(task: Case, seed: int, budget: int | str) -> Fitted:
    """Fit ours on the rows as they are, compiled before."""
    import onkel

    kind: Any = getattr(
        onkel, "KernelRegressor" if task.is_regression else "KernelClassifier"
    )
    few = first_of_each(task, WARM_UP_ROWS)
    warm = kind(budget=budget, random_state=seed).fit(task.X[few], task.y[few])
    warm.predict(task.X[few])
    done = _simple(kind(budget=budget, random_state=seed), task)
    names = {"gamma_": "gamma", "C_": "C", "held_out_score_": "held_out_score"}
    values = {names[name]: getattr(done.model, name, None) for name in names}
    facts = {
        "model_size": int(done.model.model_size_),
        "parameters": {key: _number(value) for key, value in values.items()},
    }
    return done._replace(facts=done.facts | facts)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _same_fit(
    records: Mapping[str, Any], name: str, parameters: Mapping[str, float]
) -> dict[str, Any] | None:
    """Find a seed whose search chose the same, on a test part that is fixed."""
    for record in records.values():
        if (record.get("set"), record.get("method")) == (name, "svc-grid"):
            if record.get("parameters") == parameters:
                return dict(record)
    return None


# ---- the record ------------------------------------------------------------------


def calibration_error(confidence: np.ndarray, is_right: np.ndarray) -> float:
    """Mean distance of confidence and accuracy in bins of equal width.

    Examples
    --------
    >>> sure = np.array([0.9, 0.9, 0.9, 0.9])
    >>> round(calibration_error(sure, np.array([True, True, True, False])), 2)
    0.15
    """
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence - is_right, BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def scores(task: Case, predicted: np.ndarray) -> dict[str, Any]:
    """Error on the test rows, and its standard error.

    Mistakes, or the root mean squared error in standard deviations of the targets.
    """
    rows = len(task.y_test)
    if not task.is_regression:
        error = float(np.mean(predicted != task.y_test))
        spread = float(np.sqrt(error * (1 - error) / rows))
        return {"error": error, "standard_error": spread, "test_rows": rows}
    squares = np.square(predicted - task.y_test)
    rmse, unit = float(np.sqrt(squares.mean())), float(task.y_test.std())
    rng = np.random.default_rng(0)
    again = [
        np.sqrt(squares[rng.integers(rows, size=rows)].mean()) for _ in range(RESAMPLES)
    ]
    return {
        "error": rmse / unit,
        "standard_error": float(np.std(again)) / unit,
        "rmse": rmse * task.unit,
        "test_rows": rows,
    }


def _fitted(
    name: str, method: str, seed: int, budget: int, records: Mapping[str, Any]
) -> tuple[Case, Fitted | dict[str, Any]]:
    raw = case(name, seed)
    if method in OURS:
        return raw, onkel(raw, seed, budget if method == "onkel" else "auto")
    task = prepared(raw)
    if method == "nystroem":
        return task, nystroem(task, seed, budget)
    if method == "lightgbm":
        return task, lightgbm(task)
    if method == "svc":
        return task, fit_within(task, seed, LIMIT)
    choice = choose(task, seed, LIMIT)
    facts = choice.facts | {"parameters": choice.model}
    if task.is_fixed and (same := _same_fit(records, name, choice.model)):
        of_seed = same.get("fit_of_seed", same["seed"])
        again = Fitted(None, same["fit_seconds"], same["fit_wall"], {})
        return task, same | facts | _sum(choice, again) | {"fit_of_seed": of_seed}
    fit = fit_within(task, seed, LIMIT, **choice.model)
    together = _sum(choice, fit)
    return task, Fitted(fit.model, **together, facts=facts | fit.facts)


def _sum(search: Fitted, fit: Fitted) -> dict[str, Any]:
    known = search.wall is not None and fit.wall is not None
    wall = (search.wall or 0.0) + (fit.wall or 0.0)
    seconds = search.seconds + fit.seconds
    return {"seconds": seconds, "wall": wall if known else None}


def measure(
    name: str, method: str, seed: int, budget: int, records: Mapping[str, Any]
) -> dict[str, Any]:
    """Measure a cell.

    Parameters
    ----------
    name, method, seed, budget
        The cell.
    records
        Of other cells: a fit that is the same for another seed is not repeated.
    """
    said = {"set": name, "method": method, "seed": seed, "budget": budget}
    task, fitted = _fitted(name, method, seed, budget, records)
    if isinstance(fitted, dict):
        return fitted | said
    model = fitted.model
    answer = timed(lambda: model.predict(task.X_test))
    facts = {
        "seconds": fitted.seconds,
        "wall": fitted.wall,
        "train_rows": len(task.y),
        "predict_seconds": answer.cpu,
        "predict_wall": answer.wall,
    }
    if method in ("svc", "svc-grid"):
        facts["model_size"] = len(model.support_)
    if method in OURS and not task.is_regression:
        facts["calibration_error"] = _calibration(model, task, answer)
    return {
        **said,
        **scores(task, answer.value),
        **facts,
        **fitted.facts,
        "memory": peak(children=True),
        "threads": int(os.environ.get("OMP_NUM_THREADS", 0)),
        "machine": machine(),
    }


def _calibration(model: Any, task: Case, answer: Timed) -> float:
    chances = model.predict_proba(task.X_test)
    columns = np.searchsorted(model.classes_, answer.value)
    confidence = chances[np.arange(len(columns)), columns]
    return calibration_error(confidence, answer.value == task.y_test)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure a cell and print its record.

    Parameters
    ----------
    argv
        Arguments; None for those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m studies.comparison_cells")
    parser.add_argument("set", choices=[*CLASSIFICATION, *REGRESSION])
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("seed", type=int)
    parser.add_argument("budget", type=int)
    parser.add_argument("ledger", type=Path)
    given = parser.parse_args(argv)
    records = RecordFile(given.ledger).records
    record = measure(given.set, given.method, given.seed, given.budget, records)
    print(json.dumps(record, allow_nan=False))


if __name__ == "__main__":
    main()

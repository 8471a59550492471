"""A cell of the comparison: one method on one data set with one seed.

    python -m studies.comparison_cells ijcnn1 svc 0 ledger.json

measures it and prints the record as JSON. `comparison` starts one such process for each
cell, so that threads, caches and memory are those of the method alone.
"""

import argparse
import json
import os
import subprocess
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from onkel.data.catalogue import load
from onkel.measuring.machine import machine
from onkel.measuring.memory import peak
from onkel.measuring.records import RecordFile
from studies.comparison_falkon import Falkon
from studies.comparison_methods import MACHINES, METHODS, Method
from studies.comparison_sets import NEW, SETS, Case, case, prepared
from studies.comparison_svm import Fitted, choose, fit_within
from studies.comparison_timing import Timed, timed
from studies.comparison_trees import of_trees, tuned

WARM_UP_ROWS = 300
BINS = 15  # of the calibration error
RESAMPLES = 1000  # of the standard error of a root mean squared error


# ---- the methods -----------------------------------------------------------------


def _simple(model: Any, data: Case) -> Fitted:
    done = timed(lambda: model.fit(data.X, data.y))
    return Fitted(model, done.cpu, done.wall, {})


def nystroem(data: Case, seed: int, budget: int) -> Fitted:
    """Nystrom features as many as the budget, and a linear model."""
    linear = Ridge() if data.is_regression else LinearSVC(random_state=seed)
    features = Nystroem(n_components=budget, random_state=seed)
    with warnings.catch_warnings():
        # Its default is 1,000 iterations, and this is about defaults.
        warnings.simplefilter("ignore", ConvergenceWarning)
        done = _simple(make_pipeline(features, linear), data)
    return done._replace(facts=done.facts | {"model_size": budget})


def first_of_each(data: Case, rows: int) -> np.ndarray:
    """About so many rows, and some of every class."""
    if data.is_regression:
        return np.arange(min(rows, len(data.y)))
    classes = np.unique(data.y)
    few = rows // len(classes)
    return np.concatenate([np.flatnonzero(data.y == label)[:few] for label in classes])


def onkel(data: Case, seed: int, method: Method) -> Fitted:
    """Fit ours on the rows as they are, compiled before."""
    import onkel

    kind: Any = getattr(
        onkel, "KernelRegressor" if data.is_regression else "KernelClassifier"
    )
    given: dict[str, Any] = {"budget": method.size, "random_state": seed}
    # Versions before this parameter know the CPU only.
    if method.device != "cpu" or "device" in kind().get_params():
        given["device"] = method.device
    few = first_of_each(data, WARM_UP_ROWS)
    kind(**given).fit(data.X[few], data.y[few]).predict(data.X[few])
    done = _simple(kind(**given), data)
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


def scores(data: Case, predicted: np.ndarray) -> dict[str, Any]:
    """Error on the test rows, and its standard error.

    Mistakes, or the root mean squared error in standard deviations of the targets.
    """
    rows = len(data.y_test)
    if not data.is_regression:
        error = float(np.mean(predicted != data.y_test))
        spread = float(np.sqrt(error * (1 - error) / rows))
        return {"error": error, "standard_error": spread, "test_rows": rows}
    squares = np.square(predicted - data.y_test)
    rmse, unit = float(np.sqrt(squares.mean())), float(data.y_test.std())
    rng = np.random.default_rng(0)
    again = [
        np.sqrt(squares[rng.integers(rows, size=rows)].mean()) for _ in range(RESAMPLES)
    ]
    return {
        "error": rmse / unit,
        "standard_error": float(np.std(again)) / unit,
        "rmse": rmse * data.unit,
        "test_rows": rows,
    }


def _fitted(
    data: Case, name: str, method: str, seed: int, records: Mapping[str, Any]
) -> Fitted | dict[str, Any]:
    family, size = METHODS[method].family, METHODS[method].size
    if family == "onkel":
        return onkel(data, seed, METHODS[method])
    if family == "nystroem":
        return nystroem(data, seed, int(size))
    if family == "falkon":
        return _simple(Falkon(int(size), data.is_regression, seed), data)
    if family == "lightgbm":
        return of_trees(data, int(size))
    if family == "lightgbm-tuned":
        ours = records.get(f"{name}/onkel/{seed}", {})
        if "seconds" not in ours:
            raise ValueError("onkel's seconds, which are the limit, are not measured")
        return tuned(data, seed, ours["seconds"])
    if family == "svc":
        return fit_within(data, seed)
    choice = choose(data, seed)
    facts = choice.facts | {"parameters": choice.model}
    if data.is_fixed and (same := _same_fit(records, name, choice.model)):
        of_seed = same.get("fit_of_seed", same["seed"])
        again = Fitted(None, same["fit_seconds"], same["fit_wall"], {})
        return same | facts | _sum(choice, again) | {"fit_of_seed": of_seed}
    fit = fit_within(data, seed, **choice.model)
    together = _sum(choice, fit)
    return Fitted(fit.model, **together, facts=facts | fit.facts)


def _sum(search: Fitted, fit: Fitted) -> dict[str, Any]:
    known = search.wall is not None and fit.wall is not None
    wall = (search.wall or 0.0) + (fit.wall or 0.0)
    seconds = search.seconds + fit.seconds
    return {"seconds": seconds, "wall": wall if known else None}


def measure(
    name: str,
    method: str,
    seed: int,
    records: Mapping[str, Any],
    read: Callable[..., Any] = load,
) -> dict[str, Any]:
    """Measure a cell, on rows that `read` gives by name and part.

    A fit that is the same for another seed, by the records of other cells, is not
    repeated.
    """
    said = {"set": name, "method": method, "seed": seed}
    given = METHODS[method]
    raw = case(name, seed, read)
    data = raw if given.family == "onkel" else prepared(raw)
    fitted = _fitted(data, name, method, seed, records)
    if isinstance(fitted, dict):
        return fitted | said
    model = fitted.model
    answer = timed(lambda: model.predict(data.X_test))
    facts: dict[str, Any] = {
        "seconds": fitted.seconds,
        "wall": fitted.wall,
        "train_rows": len(data.y),
        "predict_seconds": answer.cpu,
        "predict_wall": answer.wall,
    }
    if method in MACHINES:
        facts["model_size"] = len(model.support_)
    if given.family == "onkel" and not data.is_regression:
        facts["calibration_error"] = _calibration(model, data, answer)
    if given.device == "cuda":
        facts["gpu"] = _gpu()
    return {
        **said,
        **scores(data, answer.value),
        **facts,
        **fitted.facts,
        "memory": peak(children=True),
        "threads": int(os.environ.get("OMP_NUM_THREADS", 0)),
        "machine": machine(),
    }


def _gpu() -> str:
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip()


def _calibration(model: Any, data: Case, answer: Timed) -> float:
    chances = model.predict_proba(data.X_test)
    columns = np.searchsorted(model.classes_, answer.value)
    confidence = chances[np.arange(len(columns)), columns]
    return calibration_error(confidence, answer.value == data.y_test)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure a cell and print its record."""
    parser = argparse.ArgumentParser(prog="python -m studies.comparison_cells")
    parser.add_argument("set", choices=[*SETS, *NEW])
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("seed", type=int)
    parser.add_argument("ledger", type=Path)
    given = parser.parse_args(argv)
    records = RecordFile(given.ledger).records
    record = measure(given.set, given.method, given.seed, records)
    print(json.dumps(record, allow_nan=False))


if __name__ == "__main__":
    main()

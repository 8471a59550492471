"""Boosted trees of the comparison: LightGBM of so many trees, and tuned."""

import re
import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from studies.comparison_sets import Case
from studies.comparison_svm import Fitted
from studies.comparison_timing import cpu_seconds, timed

HELD_OUT = 0.2  # of the training rows, to choose by
# Of a search, least and most; all but the last two in logarithms.
RANGES = {
    "num_leaves": (4, 512),
    "n_estimators": (50, 2000),
    "min_child_samples": (1, 100),
    "learning_rate": (0.01, 0.3),
    "reg_lambda": (1e-8, 10.0),
    "subsample": (0.5, 1.0),
    "colsample_bytree": (0.4, 1.0),
}
# The first trial: the defaults, with the least of what is 0 there.
DEFAULTS = {
    **{"num_leaves": 31, "n_estimators": 100, "min_child_samples": 20},
    **{"learning_rate": 0.1, "reg_lambda": 1e-8},
    **{"subsample": 1.0, "colsample_bytree": 1.0},
}


class TimeIsUpError(Exception):
    """A trial was stopped."""


def trees(data: Case, **parameters: Any) -> Any:
    """Make LightGBM's, for the kind of targets."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if data.is_regression else LGBMClassifier
    return kind(verbose=-1, n_jobs=1, **parameters)


def leaves(model: Any) -> int:
    """Count them, of all trees."""
    text = model.booster_.model_to_string()
    return sum(map(int, re.findall(r"^num_leaves=(\d+)", text, re.MULTILINE)))


def of_trees(data: Case, number: int) -> Fitted:
    """Fit so many, and all else by default."""
    model = trees(data, n_estimators=number)
    done = timed(lambda: model.fit(data.X, data.y))
    return Fitted(model, done.cpu, done.wall, {"model_size": leaves(model)})


def tuned(data: Case, seed: int, limit: float) -> Fitted:
    """Search for so many seconds of processor time, then fit all rows with the best.

    A trial that does not end in time counts for nothing; without any that does, the
    defaults are the best.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial(DEFAULTS)
    untuned = trees(data)  # which imports, before the clock runs
    start, clock = cpu_seconds(), time.perf_counter()
    classes = None if data.is_regression else data.y
    X, X_out, y, y_out = train_test_split(
        data.X, data.y, test_size=HELD_OUT, random_state=seed, stratify=classes
    )

    def stop_in_time(_: Any) -> None:
        if cpu_seconds() - start >= limit:
            raise TimeIsUpError

    def error(parameters: dict[str, Any]) -> float:
        model = _model(data, seed, parameters)
        predicted = model.fit(X, y, callbacks=[stop_in_time]).predict(X_out)
        if data.is_regression:
            return float(np.square(predicted - y_out).mean())
        return float(np.mean(predicted != y_out))

    done = 0
    try:
        while cpu_seconds() - start < limit:
            trial = study.ask()
            study.tell(trial, error(_suggested(trial)))
            done += 1
    except TimeIsUpError:
        pass
    searched = cpu_seconds() - start
    best = study.best_params if done else {}
    model = (_model(data, seed, best) if best else untuned).fit(data.X, data.y)
    seconds, wall = cpu_seconds() - start, time.perf_counter() - clock
    facts = {
        **{"trials": done, "limit": limit, "search_seconds": searched},
        **{"parameters": best, "model_size": leaves(model)},
    }
    return Fitted(model, seconds, wall, facts)


def _model(data: Case, seed: int, parameters: dict[str, Any]) -> Any:
    # Rows are drawn anew for each tree, without which subsample does nothing.
    return trees(data, random_state=seed, subsample_freq=1, **parameters)


def _suggested(trial: Any) -> dict[str, Any]:
    found = {}
    for name, (least, most) in RANGES.items():
        suggest = trial.suggest_int if isinstance(least, int) else trial.suggest_float
        is_part = name in ("subsample", "colsample_bytree")
        found[name] = suggest(name, least, most, log=not is_part)
    return found

"""The protocols by which the papers choose parameters, and the linear model to beat.

Most papers: a part of the training rows, 80 % of it to learn in one pass, 20 % to test;
whatever errs least on those is taken, the first of the grid on ties. The error of a
last iterate swings by a point from one order to the next, so ours is the mean over
three splits. Others: cross-validation.

Where a table shows progressive errors of regression, the first rows are included, on
which steps of length 1/(alpha t) are violent. So there the error is the progressive one
of the 80 %, for all models (`parts`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold

import onkel
from onkel.reproduce.online_data import OnlineData
from onkel.tune.grid_search import Tried, best, grid_search

HELD_OUT, SPLITS = 0.2, 3
# Rows that the linear model predicts, then learns, at a time: row by row the calls
# would cost far more than the model. More where there are many classes, each a model.
BATCH, BATCH_OF_MANY, MANY = 32, 256, 8
# Values tried for it.
LINEAR_ALPHAS, LINEAR_ETAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2), (1e-4, 1e-3, 1e-2, 1e-1)
# Its calls take far longer than our models, and its error hardly depends on the order.
LINEAR_PERMUTATIONS = 3


class Split(NamedTuple):
    """Numbers of rows."""

    learnt: np.ndarray
    tested: np.ndarray


def error_of(work: OnlineData, predicted: np.ndarray, y: np.ndarray) -> float:
    """Share of mistakes, or root mean squared error."""
    if work.is_regression:
        return float(np.sqrt(np.mean((predicted - y) ** 2)))
    return float(np.mean(predicted != y))


def pass_of(work: OnlineData, model: Any, order: Any) -> tuple[float, float]:
    """Progressive error of one pass, and its seconds of processor time."""
    X, y = work.X[order], work.y[order]
    start = time.process_time()
    if work.is_regression:
        error = error_of(work, onkel.progressive(model, X, y), y)
    else:
        onkel.progressive(model, X, y, classes=np.unique(y))
        error = model.n_mistakes_ / len(y)
    return error, time.process_time() - start


def constant_error(work: OnlineData) -> float:
    """Error of the best constant."""
    if work.is_regression:
        return float(work.y.std())
    _, counts = np.unique(work.y, return_counts=True)
    return float(1.0 - counts.max() / counts.sum())


def constant_on(work: OnlineData, splits: Sequence[Split]) -> float:
    """Error that the best constant would have in a search, mean of its splits."""
    rows = [one.tested if len(one.tested) else one.learnt for one in splits]
    errors = [constant_error(work._replace(y=work.y[some])) for some in rows]
    return float(np.mean(errors))


def halves(
    work: OnlineData, most: int | None = None, count: int = SPLITS
) -> list[Split]:
    """Split training rows at random into 80 % to learn and 20 % to test, repeatedly.

    Parameters
    ----------
    work
        Whose training rows are taken, or 1 % of them if there are many.
    most
        Rows, at most; None for no limit.
    count
        Of splits.
    """
    found = []
    for seed in range(count):
        rows = work.tuning_rows(np.random.default_rng(seed))[:most]
        held_out, learnt = np.split(rows, [round(HELD_OUT * len(rows))])
        found.append(Split(learnt, held_out))
    return found


def parts(
    work: OnlineData, most: int | None = None, count: int = SPLITS
) -> list[Split]:
    """Take 80 % of the training rows, repeatedly, with none to test; as `halves`."""
    none = np.zeros(0, dtype=int)
    return [Split(learnt, none) for learnt, _ in halves(work, most, count)]


def folds(work: OnlineData, most: int | None = None, count: int = 5) -> list[Split]:
    """Split training rows, or some, for a cross-validation; parameters as `halves`."""
    rows = np.random.default_rng(0).permutation(work.n_train)[:most]
    numbers = KFold(count).split(rows)
    return [Split(rows[learnt], rows[tested]) for learnt, tested in numbers]


def passes(
    work: OnlineData, most: int | None = None, count: int = SPLITS
) -> list[Split]:
    """Put training rows, or some, in random orders, with none to test.

    What counts then is the progressive error. Parameters as `halves`.
    """
    none = np.zeros(0, dtype=int)
    orders = (np.random.default_rng(k).permutation(work.n_train) for k in range(count))
    return [Split(order[:most], none) for order in orders]


def choose(
    work: OnlineData,
    make: Callable[..., Any],
    grid: Mapping[str, Sequence[Any]],
    progressive_error: Callable[[OnlineData, Any, np.ndarray], float],
    splits: Sequence[Split] | None = None,
) -> Tried:
    """Try all combinations of a grid, and return the best.

    Parameters
    ----------
    work
        Whose training rows are used, or some of them.
    make
        Makes an unfitted model from the parameters of the grid.
    grid
        Values by parameter.
    progressive_error
        Error of an unfitted model that predicts, then learns, some rows.
    splits
        Rows to learn and to test; None for those of `halves`.
    """
    splits = halves(work) if splits is None else splits

    def error(model: Any, split: Split) -> float:
        if not len(split.tested):
            return progressive_error(work, model, split.learnt)
        model.fit(work.X[split.learnt], work.y[split.learnt])
        X, y = work.X[split.tested], work.y[split.tested]
        return error_of(work, model.predict(X), y)

    return best(grid_search(grid, make, splits, error))


def linear(work: OnlineData, loss: str, **parameters: Any) -> Any:
    """Return scikit-learn's linear model of that loss, for one pass, unfitted."""
    once: dict[str, Any] = {"max_iter": 1, "tol": None, **parameters}
    if work.is_regression:
        return SGDRegressor(loss=loss, epsilon=0.0, **once)
    return SGDClassifier(loss=loss, **once)


def linear_error(work: OnlineData, model: Any, order: np.ndarray) -> float:
    """Progressive error of the linear model, in small batches."""
    X, y = work.X[order], work.y[order]
    known: dict[str, Any] = {}
    size = BATCH
    if not work.is_regression:
        known["classes"] = np.unique(y)
        size = BATCH_OF_MANY if len(known["classes"]) > MANY else BATCH
    predicted = np.zeros_like(y)
    # On so few rows the checks would be half of the cost.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for start in range(0, len(y), size):
            rows = slice(start, start + size)
            if start > 0:
                predicted[rows] = model.predict(X[rows])
            model.partial_fit(X[rows], y[rows], **known)
    return error_of(work, predicted, y)

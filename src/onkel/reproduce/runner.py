"""Runs a cell: chooses parameters by the protocol, then learns in several orders.

A pass is stopped as soon as it is clear that it takes longer than a cell may, so that a
hopeless cell costs little and says how long it would take. Orders beyond the first are
run as long as there is time. Seconds are those of the processor, not of the clock on
the wall: others work on the same machine.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.svm import SVC

import onkel
from onkel.reproduce.choosing import (
    LINEAR_PERMUTATIONS,
    choose,
    constant_error,
    constant_on,
    error_of,
    folds,
    halves,
    linear_error,
    parts,
    pass_of,
    passes,
)
from onkel.reproduce.limited_fit import fit_within
from onkel.reproduce.online_data import OnlineData
from onkel.reproduce.protocol import LINEAR, Cell, EstimatorSetup, Table
from onkel.reproduce.store import Outcome, code_of, engine, fingerprint

PIECE = 2048  # rows between two looks at the clock
PATIENCE = 0.15  # share of the time after which a forecast counts
FEW = 64  # rows that are learnt once, so that compiling is not in the time
SMALL = 32  # budget, for these
PERCENT = 100.0
SPLITS = {"held-out": halves, "folds": folds, "parts": parts, "passes": passes}


class TooLongError(Exception):
    """A pass would take too long; has the forecast in seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"needs about {seconds:.0f} s a run")
        self.seconds = seconds


class Pass(NamedTuple):
    """What one order gave."""

    error: float  # progressive
    seconds: float


class Piece(NamedTuple):
    """What some rows of an order gave."""

    losses: np.ndarray  # of each row: 1 for a mistake, or the squared error
    seconds: float


def pieces(
    work: OnlineData, model: Any, order: np.ndarray, limit: float
) -> Iterator[Piece]:
    """Predict, then learn, rows in an order, some at a time.

    Parameters
    ----------
    work
        The rows.
    model
        Unfitted.
    order
        Of those to learn.
    limit
        Seconds, beyond which the pass is given up.

    Raises
    ------
    TooLongError
        If the pass takes longer than the limit, or will at the speed it has come to.
    """
    X, y = work.X[order], work.y[order]
    labels = np.unique(work.y)
    classes = {} if work.is_regression else {"classes": labels}
    spent = 0.0
    for begin in range(0, len(y), PIECE):
        rows = slice(begin, begin + PIECE)
        start = time.process_time()
        scores = onkel.progressive(model, X[rows], y[rows], **classes)
        latest = time.process_time() - start
        spent += latest
        if work.is_regression:
            yield Piece((scores - y[rows]) ** 2, latest)
        else:
            best = (
                scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(int)
            )
            yield Piece((labels[best] != y[rows]).astype(float), latest)
        left = max(0, len(y) - begin - PIECE)
        forecast = spent + left * latest / PIECE
        if spent > limit or (forecast > limit and spent > PATIENCE * limit):
            raise TooLongError(forecast)


def stream(work: OnlineData, model: Any, order: np.ndarray, limit: float) -> Pass:
    """Predict, then learn, rows in an order; parameters and errors as `pieces`."""
    return summed(work, pieces(work, model, order, limit))


def summed(work: OnlineData, passed: Iterable[Piece]) -> Pass:
    """Return what all pieces of an order gave together."""
    total, rows, spent = 0.0, 0, 0.0
    for losses, seconds in passed:
        total += float(np.sum(losses))
        rows += len(losses)
        spent += seconds
    mean = total / rows
    return Pass(float(np.sqrt(mean)) if work.is_regression else mean, spent)


class Choice(NamedTuple):
    """What a search took."""

    parameters: dict[str, Any]
    error: float
    constant: float  # error of the best constant in the same search


def search(table: Table, cell: Cell) -> Choice:
    """Choose the parameters of a cell by the table's protocol."""
    setup = table.searched(cell)
    if not setup.grid:
        return Choice({}, float("nan"), float("nan"))
    work = _rows_of(table, cell)
    splits = SPLITS[table.search.kind](work, setup.search_rows, table.search.splits)
    progressive_error = (
        linear_error if setup.kind == LINEAR else lambda *given: pass_of(*given)[0]
    )

    def make(**parameters: Any) -> Any:
        return setup.build(work, len(splits[0].learnt), random_state=0, **parameters)

    found = choose(work, make, setup.grid, progressive_error, splits)
    return Choice(found.parameters, found.error, constant_on(work, splits))


def _rows_of(table: Table, cell: Cell) -> OnlineData:
    name = table.data[cell.data]
    return _loaded(table.loader(name), name, table.dtype)


@lru_cache(maxsize=2)
def _loaded(load: Callable[[str], OnlineData], name: str, dtype: str) -> OnlineData:
    work = load(name)
    return work._replace(X=work.X.astype(dtype, copy=False))


def _test_error(work: OnlineData, model: Any) -> float:
    X, y = work.X[work.n_train :], work.y[work.n_train :]
    return error_of(work, model.predict(X), y)


def _metric(table: Table, error: float) -> float:
    """Turn an error into the published metric."""
    if table.metric == "rmse":
        return error
    return PERCENT * (1 - error if table.metric == "accuracy_pct" else error)


def constant_of(table: Table, work: OnlineData) -> float:
    """Return what the constant predictor has, in the published metric."""
    if table.held_out:
        work = work._replace(y=work.y[work.n_train :])
    return _metric(table, constant_error(work))


def run(
    table: Table,
    cell: Cell,
    wanted: int,
    limit: float,
    choice: Outcome | None = None,
) -> Outcome:
    """Run a cell.

    Parameters
    ----------
    table, cell
        Of a paper; the cell has a setup.
    wanted
        Random orders.
    limit
        Seconds for all passes; at least one pass is made, if it fits.
    choice
        Parameters that a search has chosen, and its errors; None to search.

    Returns
    -------
    outcome
        JSON: values of the metric, one for each order, sizes, seconds, the parameters
        chosen and so on; or why it was not run.
    """
    outcome: Outcome = {
        "fingerprint": fingerprint(table, cell),
        "engine": engine(),
        "code": code_of(table, cell),
        "metric": table.metric,
        "wanted": wanted,
    }
    if table.measure is None:
        work = _rows_of(table, cell)
        outcome |= {
            "rows": work.n_train if table.held_out else len(work.y),
            "features": work.X.shape[1],
            "constant": constant_of(table, work),
        }
    with _patient():
        outcome |= _searched(table, cell) if choice is None else choice
        try:
            return outcome | _learnt(table, cell, outcome, wanted, limit)
        except TooLongError as reason:
            return outcome | {"why_not": str(reason), "needs": reason.seconds}
        except TimeoutError as reason:
            return outcome | {"why_not": str(reason), "needs": limit + 1}
        except ValueError as failure:
            if "overflow" not in str(failure):
                raise
            return outcome | {"why_not": "diverged: its numbers overflowed"}


def _searched(table: Table, cell: Cell) -> Outcome:
    """Return what a search chooses, and how long it takes."""
    start = time.process_time()
    chosen = search(table, cell)
    return {
        "search_seconds": round(time.process_time() - start, 2),
        "parameters": chosen.parameters,
        "error_of_choice": chosen.error,
        "constant_of_choice": chosen.constant,
    }


def again(table: Table, cell: Cell, outcome: Outcome, orders: int) -> list[float]:
    """Run the first orders of a cell once more, with the parameters that it has.

    Parameters
    ----------
    table, cell
        As for `run`.
    outcome
        Of that cell, earlier.
    orders
        How many.

    Returns
    -------
    values
        Of the metric, to be compared with the first of the outcome's.
    """
    with _patient():
        return list(_learnt(table, cell, outcome, orders, np.inf)["values"])


@contextmanager
def _patient() -> Iterator[None]:
    """Say nothing of what a search tries, and does not take."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*stayed in its first phase")
        warnings.filterwarnings("ignore", ".*worse than a constant does")
        warnings.filterwarnings("ignore", ".*has made .* passes, and violates")
        yield


def _learnt(
    table: Table, cell: Cell, choice: Outcome, wanted: int, limit: float
) -> dict[str, Any]:
    """Learn in one order after the other, in the table's own way if it has one."""
    assert cell.setup is not None
    setup = cell.setup.settled(choice["parameters"])
    if table.measure is not None:
        settled = cell._replace(setup=setup)
        return table.measure(table.data[cell.data], settled, wanted, limit)
    given = _rows_of(table, cell), setup, wanted, limit
    return _passes(table, *given) if table.passes is None else table.passes(*given)


def warm_up(work: OnlineData, setup: EstimatorSetup, rows: int) -> None:
    """Learn a few of the first rows, so that compiling is in no pass.

    With a small budget, so that NOGD comes to its second phase.
    """
    few = np.random.default_rng(0).permutation(rows)[:FEW]
    budget = setup.fixed.get("budget")
    if budget and "budget" not in setup.units:
        setup = setup.settled({"budget": min(SMALL, budget)})
    model = setup.build(work, rows, random_state=0)
    if hasattr(model, "partial_fit"):
        stream(work, model, few, limit=np.inf)


def has_time(seconds: Sequence[float], limit: float) -> bool:
    """Whether there is time for another order, of those that took so long; or a first.

    Examples
    --------
    >>> from onkel.reproduce.runner import has_time
    >>> has_time([], 1.0), has_time([4.0], 8.0), has_time([4.0, 4.0], 8.0)
    (True, True, False)
    """
    return not seconds or sum(seconds) * (1 + 1 / len(seconds)) <= limit


def _passes(
    table: Table,
    work: OnlineData,
    setup: EstimatorSetup,
    wanted: int,
    limit: float,
) -> dict[str, list[float]]:
    """Learn in one order after the other, and note what comes of it."""
    found: dict[str, list[float]] = {
        name: [] for name in ("values", "sizes", "seconds", "progressive")
    }
    rows = work.n_train if table.held_out else len(work.y)
    if setup.kind == LINEAR:
        for seed in range(min(wanted, LINEAR_PERMUTATIONS)):
            order = np.random.default_rng(seed).permutation(rows)
            model = setup.build(work, rows, random_state=seed)
            if table.held_out:
                model.fit(work.X[order], work.y[order])
                error = _test_error(work, model)
            else:
                error = linear_error(work, model, order)
            found["values"].append(_metric(table, error))
        return found
    warm_up(work, setup, rows)
    for seed in range(wanted):
        order = np.random.default_rng(seed).permutation(rows)
        model = setup.build(work, rows, random_state=seed)
        if not has_time(found["seconds"], limit):
            break
        left = limit if seed == 0 else np.inf
        if hasattr(model, "partial_fit"):
            error, seconds = stream(work, model, order, left)
            found["progressive"].append(_metric(table, error))
        else:
            model, seconds = fit_within(left, model, work.X[order], work.y[order])
        if table.held_out:
            start = time.process_time()
            error = _test_error(work, model)
            testing = found.setdefault("test_seconds", [])
            testing.append(round(time.process_time() - start, 3))
        found["values"].append(_metric(table, error))
        found["sizes"].append(_size(model))
        found["seconds"].append(round(seconds, 3))
    return found


def _size(model: Any) -> int:
    """Return how many rows a model keeps; SVC does not count its own."""
    if isinstance(model, SVC):
        return len(model.support_)
    return int(model.model_size_)

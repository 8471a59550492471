"""onkel evaluate: how well a model predicts a file, or learns it while predicting."""

import math
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

import onkel
from onkel.cli import models, options
from onkel.cli.screen import as_json, bar, show, show_json


class Tally:
    """Errors so far, in bounded memory.

    Parameters
    ----------
    is_regression
        Whether targets are numbers.
    """

    def __init__(self, is_regression: bool) -> None:
        self.is_regression = is_regression
        self.rows = 0
        self.mistakes = 0
        self.squared = self.absolute = self.total = self.total_squared = 0.0

    def add(self, predicted: np.ndarray, y: np.ndarray) -> None:
        """Count some rows.

        Examples
        --------
        >>> tally = Tally(is_regression=False)
        >>> tally.add(np.array([1, 2]), np.array([1, 1]))
        >>> tally.result()["error"]
        0.5
        """
        self.rows += len(y)
        if not self.is_regression:
            self.mistakes += int(np.sum(predicted != y))
            return
        difference = predicted - y
        self.squared += float(difference @ difference)
        self.absolute += float(np.abs(difference).sum())
        self.total += float(y.sum())
        self.total_squared += float(y @ y)

    def result(self) -> dict[str, Any]:
        """Return the figures of all rows so far."""
        if not self.is_regression:
            error = self.mistakes / self.rows
            return {
                "rows": self.rows,
                "mistakes": self.mistakes,
                "error": error,
                "accuracy": 1.0 - error,
            }
        variance = self.total_squared / self.rows - (self.total / self.rows) ** 2
        mean_squared = self.squared / self.rows
        return {
            "rows": self.rows,
            "rmse": math.sqrt(mean_squared),
            "mean_absolute_error": self.absolute / self.rows,
            "r2": 1.0 - mean_squared / variance if variance > 0 else math.nan,
        }


def decided(model: Any, scores: np.ndarray) -> np.ndarray:
    """Turn scores into predictions."""
    if not hasattr(model, "classes_"):
        return scores
    best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
    return model.classes_[best]


@click.command()
@options.of_data()
@click.option(
    "-m",
    "--model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Model file; without it a new model of --system.",
)
@options.system
@options.budget
@options.gamma
@options.parameters
@click.option(
    "--progressive",
    is_flag=True,
    help="Predict each row, then learn it: one pass in the order of the file.",
)
@click.option(
    "--held-out",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Without --model and --progressive: share of rows to test on.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --progressive: save the model that has learnt.",
)
@options.batch_rows
@options.seed
@as_json
@click.pass_context
def evaluate(context: click.Context, /, data: str, **given: Any) -> None:
    r"""Say how well a model predicts DATA.

    \b
    onkel evaluate test.csv --model model.onkel     rows that it has not seen
    onkel evaluate data.csv --system bsgd           learn 80 %, test 20 %
    onkel evaluate data.csv --progressive           predict, then learn, each row

    Features are scaled by all rows of DATA, or as the model was fitted; the split into
    80 % and 20 % is made in memory.
    """
    preparation = None
    if given["output"] is not None:
        if not given["progressive"]:
            raise click.UsageError("--output is for --progressive; see `onkel fit`")
        options.output_file(given["output"])
    if given["model"] is not None:
        known = (*options.MEANING_OPTIONS, *options.SYSTEM_OPTIONS, "held_out")
        options.refuse_beside(context, "--model", known)
        model, preparation = models.opened(given["model"])
        rows = options.prepared(data, given, preparation)
    else:
        rows = options.opened(data, given)
        chosen = options.parsed(
            given["parameters"], budget=given["budget"], gamma=given["gamma"]
        )
        model = options.made(given["system"], rows, given["seed"], chosen)
    if given["progressive"] and not hasattr(model, "partial_fit"):
        raise ValueError(
            f"{type(model).__name__} needs all rows at once: it cannot be evaluated "
            "with --progressive"
        )
    start = time.perf_counter()
    if given["progressive"]:
        options.settle_gamma(model, rows)
        tally = _progressive(model, rows, given["batch_rows"])
    elif preparation is not None:
        tally = _test(model, rows, given["batch_rows"])
    else:
        tally = _split(model, rows, given["held_out"], given["seed"])
    result = {
        "data": rows.name,
        "system": type(model).__name__,
        "how": "progressive" if given["progressive"] else "test",
        **tally.result(),
        "model_size": model.model_size_,
        "seconds": time.perf_counter() - start,
    }
    if given["output"] is not None:
        models.saved(model, given["output"], rows.preparation)
        result["model_file"] = str(given["output"])
    if given["as_json"]:
        show_json(result)
    else:
        show(result, "Evaluated")


def _progressive(model: Any, rows: Any, batch_rows: int) -> Tally:
    tally = Tally(rows.is_regression)
    known = {} if rows.is_regression else {"classes": rows.classes}
    if hasattr(model, "classes_"):
        known = {"classes": model.classes_}
    with bar("Predicting and learning", rows.n_rows) as advance:
        for X, y, first in rows.batches(batch_rows):
            scores = onkel.progressive(model, X, y, **known)
            tally.add(decided(model, scores), y)
            advance(first + len(y))
    return tally


def _test(model: Any, rows: Any, batch_rows: int) -> Tally:
    tally = Tally(rows.is_regression)
    with bar("Predicting", rows.n_rows) as advance:
        for X, y, first in rows.batches(batch_rows):
            tally.add(model.predict(X), y)
            advance(first + len(y))
    return tally


def _split(model: Any, rows: Any, held_out: float, seed: int) -> Tally:
    X, y = rows.load()
    order = np.random.default_rng(seed).permutation(len(y))
    tested, learnt = np.split(order, [round(held_out * len(order))])
    if len(tested) == 0 or len(learnt) == 0:
        raise ValueError(f"{rows.name} has {len(y)} rows: too few to hold some out")
    tally = Tally(rows.is_regression)
    with bar("Learning"):
        model.fit(X[learnt], y[learnt])
    tally.add(model.predict(X[tested]), y[tested])
    return tally

"""onkel fit: learn a model from a file, in bounded memory, and save it."""

import math
import time
from pathlib import Path
from typing import Any

import click

from onkel.cli import learning, models, options
from onkel.cli.learning import Learnt
from onkel.cli.screen import as_json, report
from onkel.data import Dataset


@click.command()
@click.argument("data")
@options.of_data
@options.of_system
@options.output("Model file.", default=Path("model.onkel"))
@click.option(
    "--shuffle/--in-order",
    default=None,
    help="Learn the rows in random order or in that of the file [shuffle, but a file "
    "beyond --memory only within batches, and not streams of the catalogue].",
)
@options.batch_rows
@options.memory
@options.seed
@as_json
def fit(data: str, **given: Any) -> None:
    """Learn a model from DATA and save it.

    By default the model that finds its parameters itself. It learns all rows at once if
    they fit into --memory, and as a stream if they do not or with --in-order; what was
    done is said. Beside what it expects to get right stands what is right without
    looking: always the most frequent label, or the mean.

    The scaling and the encoding of columns are saved with the model, so that `onkel
    predict` and `onkel evaluate` take the same kind of file.
    """
    options.output_file(given["output"])
    rows = options.opened(data, given)
    model, chosen = learning.made(rows, given)
    start = time.perf_counter()
    learnt = learning.learn(model, rows, learning.Passage.of(given))
    seconds = time.perf_counter() - start
    models.saved(model, given["output"], rows.preparation)
    expected, baseline = _expected(model, learnt)
    result = _described(rows) | {
        "system": type(model).__name__,
        "parameters": chosen | _found(model),
        "learnt": learnt.how,
        **expected,
        **models.size_of(model),
        "updates": model.n_updates_,
        "seconds": seconds,
        "model_file": str(given["output"]),
    }
    warnings = _warnings(expected, baseline, learnt)
    report(result, "Learnt", baseline, warnings, given["as_json"])


def _described(data: Dataset) -> dict[str, Any]:
    """Rows, features, and what is to be predicted."""
    described: dict[str, Any] = {
        "data": data.name,
        "rows": data.n_rows,
        "features": data.n_features,
        "storage": "sparse" if data.preparation.sparse else "dense",
    }
    told = {"missing_cells": data.missing, "left_out": data.left_out}
    described |= {name: dict(columns) for name, columns in told.items() if columns}
    if data.classes is None or data.counts is None:
        return described | {"task": "regression"}
    counts = dict(zip(map(str, data.classes), map(int, data.counts), strict=True))
    return described | {"task": "classification", "classes": counts}


def _found(model: Any) -> dict[str, Any]:
    """Parameters that a model without knobs has found."""
    names = ("gamma", "C") if hasattr(model, "held_out_error_") else ()
    return {name: float(getattr(model, f"{name}_")) for name in names}


def _expected(model: Any, learnt: Learnt) -> tuple[dict[str, Any], Any]:
    """What the model gets right of rows it had not seen, and what a constant does."""
    baselines = learnt.baselines
    always = {"always": baselines.constant}
    held_out = float(getattr(model, "held_out_score_", math.nan))
    score, rows = None, "no rows it had not learnt: see onkel evaluate"
    if not learnt.is_stream and math.isfinite(held_out):
        score, rows = held_out, "rows held out while it was learnt"
    elif (
        not baselines.is_regression
        and (learnt.is_stream or "shuffle" in model.get_params())
        and model.t_ == baselines.rows
    ):
        score = 1.0 - model.n_mistakes_ / model.t_
        rows = "each row before it was learnt"
    if baselines.is_regression:
        found = {"r2": score, "measured_on": rows}
        return found, always | {"r2": 0.0, "rmse": baselines.constant_error}
    found = {"accuracy": score, "measured_on": rows}
    return found, always | {"accuracy": 1.0 - baselines.constant_error}


def _warnings(
    expected: dict[str, Any], baseline: dict[str, Any], learnt: Learnt
) -> list[str]:
    found = []
    name = "r2" if learnt.baselines.is_regression else "accuracy"
    if expected[name] is not None and expected[name] <= baseline[name]:
        found.append(
            f"saying always {baseline['always']!r}, without looking, is as good: there "
            "may be nothing to learn here, or not by this system"
        )
    if learnt.is_stream and learnt.baselines.warning is not None:
        found.append(f"{learnt.baselines.warning}. A stream forgets: --shuffle helps")
    return found

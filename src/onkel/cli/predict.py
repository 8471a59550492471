"""onkel predict: the answers of a saved model, row by row."""

import contextlib
import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from onkel.cli import models, options
from onkel.cli.screen import bar, note
from onkel.storage.whole_file import whole


@contextlib.contextmanager
def whole_file(path: Path | None) -> Iterator[IO[str]]:
    """Open a file for text that appears only when it is complete; None for stdout."""
    if path is None:
        yield sys.stdout
        return
    with whole(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        yield text
        text.detach()  # writes what is left, and leaves the file open


def heads(model: Any, scores: bool, proba: bool) -> list[str]:
    """Names of the columns that `answers` has."""
    names = ["prediction"]
    if proba:
        return names + [f"probability_{label}" for label in model.classes_]
    if scores and len(model.classes_) > 2:
        return names + [f"score_{label}" for label in model.classes_]
    return names + ["score"] * scores


def answers(model: Any, X: Any, scores: bool, proba: bool) -> list[np.ndarray]:
    """Predictions, and perhaps scores or probabilities, as columns."""
    columns = [model.predict(X)]
    if proba:
        columns += list(model.predict_proba(X).T)
    elif scores:
        columns += list(np.atleast_2d(model.decision_function(X).T))
    return columns


@click.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("data")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV file of the predictions [the screen].",
)
@click.option("--scores", is_flag=True, help="The scores, too.")
@click.option("--proba", is_flag=True, help="The probabilities, too (log_loss).")
@options.of_place
@options.batch_rows
def predict(model: Path, data: str, **given: Any) -> None:
    """Predict the rows of DATA with the model file MODEL.

    DATA has the columns that the model was fitted with; the target may be missing.
    """
    estimator, preparation = models.opened(model)
    if given["proba"] and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"this {type(estimator).__name__} has no probabilities: fit it with "
            "-p loss=log_loss"
        )
    if given["scores"] and not hasattr(estimator, "decision_function"):
        raise ValueError("a regressor has no scores besides its predictions")
    if given["output"] is not None:
        options.output_file(given["output"])
    rows = options.prepared(data, given, preparation, labelled=False)
    kinds = given["scores"], given["proba"]
    written = 0
    with whole_file(given["output"]) as file, bar("Predicting", rows.n_rows) as advance:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(heads(estimator, *kinds))
        for X, _, first in rows.batches(given["batch_rows"]):
            columns = [column.tolist() for column in answers(estimator, X, *kinds)]
            table.writerows(zip(*columns, strict=True))
            written = first + len(columns[0])
            advance(written)
    if given["output"] is not None:
        note(f"{written:,} predictions: {given['output']}")

"""onkel predict: the answers of a saved model, row by row."""

import contextlib
import csv
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NoReturn

import click
import numpy as np

from onkel.cli import models, options
from onkel.cli.screen import bar, note, warn
from onkel.cli.tally import Tally
from onkel.data import Dataset
from onkel.data.columns import values
from onkel.storage.whole_file import whole


@contextlib.contextmanager
def whole_text(path: Path | None) -> Iterator[IO[str]]:
    """Open a file for text that appears only when it is complete; None for stdout."""
    if path is None:
        yield sys.stdout
        return
    with whole(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        yield text
        text.detach()  # writes what is left, and leaves the file open


def _besides(
    model: Any, scores: bool, proba: bool
) -> tuple[list[str], Callable[[Any], np.ndarray]]:
    """Names of the columns beside the predictions, and what makes them of rows."""
    if proba:
        return [f"probability_{label}" for label in model.classes_], model.predict_proba
    if not scores:
        return [], lambda X: np.empty((X.shape[0], 0))
    several = [f"score_{label}" for label in model.classes_]
    return several if len(several) > 2 else ["score"], model.decision_function


class CopiedColumns:
    """Columns that say which row is which, as the file has them.

    Those that are wanted by name; if none is, those that were left out when the model
    was fitted, and not dropped now, and that are different in all of the first rows.
    """

    def __init__(
        self,
        rows: Dataset,
        wanted: tuple[str, ...],
        dropped: tuple[str, ...],
        batch_rows: int,
    ) -> None:
        if unknown := [name for name in wanted if name not in rows.columns]:
            known = ", ".join(rows.columns) or "none in this format"
            raise ValueError(
                f"{rows.name}: no column {unknown[0]!r} for --id; there are {known}"
            )
        self.names = list(wanted)
        if not wanted:
            left_out = {*rows.preparation.dropped} - {*dropped}
            maybe = [name for name in rows.columns if name in left_out]
            first = next(rows.raw(dict.fromkeys(maybe, "text"), batch_rows), None)
            self.names = [
                name
                for name in maybe
                if first is not None
                and len(first.column(name).unique()) == first.num_rows
            ]
        self._read = rows.raw(dict.fromkeys(self.names, "text"), batch_rows)

    def next(self) -> list[list[Any]]:
        """Return the columns of the next batch."""
        if not self.names:
            return []
        batch = next(self._read)
        return [batch.column(name).to_pylist() for name in self.names]


class Truth:
    """The target of rows to predict, as far as the file has it."""

    def __init__(self, rows: Dataset, batch_rows: int) -> None:
        self._target = rows.preparation.target
        self._read: Any = iter(())
        self.tally: Tally | None = None
        column = None if self._target is None else self._target.column
        if self._target is not None and column in rows.columns:
            self._read = rows.raw({column: self._target.kind}, batch_rows)
            self.tally = Tally(self._target.classes, rows.n_rows)

    def compare(self, predicted: np.ndarray) -> None:
        """Judge the predictions of the next batch, of the rows that have a target."""
        if self.tally is None or self._target is None:
            return
        try:
            found = next(self._read).column(0)
            there = found.is_valid().to_numpy(zero_copy_only=False)
            name, kind = str(self._target.column), self._target.kind
            raw = values(found.drop_null(), name, kind, _refuse)
            y = self._target.read(raw, _refuse)
        except ValueError as fault:
            # Predicting does not need it.
            note(f"The predictions are not compared with the target: {fault}")
            self.tally = None
            return
        self.tally.add(predicted[there], y)

    def tell(self) -> None:
        """Say how many were right, beside what is right without looking."""
        if self.tally is None or not self.tally.rows:
            return
        result, baseline = self.tally.result(), self.tally.baseline()
        name = "rmse" if "rmse" in result else "accuracy"
        note(
            f"{name} {result[name]:.5g} on the {result['rows']:,} rows that have a "
            f"target; always {baseline['always']}: {baseline[name]:.5g}"
        )
        for warning in self.tally.warnings:
            warn(warning)


def _refuse(row: int, what: str) -> NoReturn:
    raise ValueError(what)


@click.command()
@click.argument("model", type=options.MODEL_FILE)
@click.argument("data")
@options.output("CSV file of the predictions [the screen].")
@click.option("--scores", is_flag=True, help="The scores, too.")
@click.option("--proba", is_flag=True, help="The probabilities, too (log_loss).")
@click.option(
    "--id",
    "identifiers",
    multiple=True,
    help="Column to copy in front of the predictions; may be repeated [identifiers "
    "that were left out when the model was fitted].",
)
@options.of_place
@options.batch_rows
def predict(model: Path, data: str, **given: Any) -> None:
    """Predict the rows of DATA with the model file MODEL.

    DATA has the columns that the model was fitted with; the target may be missing. If
    it is there, how many predictions were right is said beside what always the most
    frequent label, or the mean, would have got right.
    """
    estimator, preparation, _ = models.opened(model)
    if given["proba"] and not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"this {type(estimator).__name__} has no probabilities: fit it with "
            "-p loss=log_loss"
        )
    if given["scores"] and not hasattr(estimator, "decision_function"):
        raise ValueError("a regressor has no scores besides its predictions")
    if given["output"] is not None:
        options.output_file(given["output"])
    # What is copied need not be known to the model.
    place = given | {"drop": given["drop"] + given["identifiers"]}
    rows = options.prepared(data, place, preparation, labelled=False)
    names, besides = _besides(estimator, given["scores"], given["proba"])
    batch_rows = given["batch_rows"]
    which = CopiedColumns(rows, given["identifiers"], given["drop"], batch_rows)
    truth = Truth(rows, batch_rows)
    written = 0
    with whole_text(given["output"]) as file, bar("Predicting", rows.n_rows) as advance:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*which.names, "prediction", *names])
        for X, _, first in rows.batches(batch_rows):
            predicted = estimator.predict(X)
            columns = [predicted, *np.atleast_2d(besides(X).T)]
            copied, answers = which.next(), [column.tolist() for column in columns]
            table.writerows(zip(*copied, *answers, strict=True))
            written = first + len(predicted)
            truth.compare(predicted)
            advance(written)
    if given["output"] is not None:
        note(f"{written:,} predictions: {given['output']}")
    truth.tell()

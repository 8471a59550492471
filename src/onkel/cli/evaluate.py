"""onkel evaluate: how well a model predicts a file, or learns it while predicting."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import onkel
from onkel.cli import learning, models, options
from onkel.cli.screen import as_json, bar, report
from onkel.cli.tally import Tally, decided, judge, likely
from onkel.data import Dataset


@dataclass(frozen=True, kw_only=True)
class Evaluation(learning.Passage):
    """What was asked for, besides the data and the system."""

    model: Path | None
    progressive: bool
    held_out: float
    output: Path | None

    @property
    def how(self) -> str:
        """In words."""
        if not self.progressive:
            return "test"
        return "progressive, shuffled" if self.shuffle else "progressive"


@click.command()
@options.of_data()
@click.option(
    "-m",
    "--model",
    type=options.MODEL_FILE,
    help="Model file; without it a new model of --system.",
)
@options.of_system
@click.option(
    "--progressive",
    is_flag=True,
    help="Predict each row, then learn it: one pass in the order of the file.",
)
@click.option(
    "--shuffle", is_flag=True, help="With --progressive: in random order instead."
)
@click.option(
    "--held-out",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    help="Without --model and --progressive: share of rows to test on.",
)
@options.output("With --progressive: save the model that has learnt.")
@options.batch_rows
@options.memory
@options.seed
@as_json
@click.pass_context
def evaluate(context: click.Context, /, data: str, **given: Any) -> None:
    """Say how well a model predicts DATA.

    \b
    onkel evaluate test.csv --model model.onkel     rows that it has not seen
    onkel evaluate data.csv                         learn 80 %, test 20 %
    onkel evaluate data.csv --progressive           predict, then learn, each row

    Beside each figure stands that of the best constant: always the most frequent label
    of these rows, or their mean. F1 is that of the second of two classes, in their
    order, or the mean over all; the area under the ROC curve (auc) of several classes
    is the mean of each against the rest; log-loss needs probabilities.

    Features are scaled by all rows of DATA, or as the model was fitted; the split into
    80 % and 20 % is made in memory.
    """  # noqa: D301 (click wants the character, not its escape)
    asked = Evaluation.of(given)
    _refuse(context, asked)
    if asked.model is not None:
        model, preparation, _ = models.opened(asked.model)
        rows = options.prepared(data, given, preparation)
    else:
        rows = options.opened(data, given)
        model, _ = learning.made(rows, given)
    if asked.progressive and not hasattr(model, "partial_fit"):
        raise ValueError(
            f"{type(model).__name__} needs all rows at once: it cannot be evaluated "
            "with --progressive"
        )
    start = time.perf_counter()
    tally = Tally(rows.classes, rows.n_rows)
    if asked.progressive:
        _progressive(tally, model, rows, asked)
    elif asked.model is not None:
        _test(tally, model, rows, asked)
    else:
        _split(tally, model, rows, asked)
    result = {
        "data": rows.name,
        "system": type(model).__name__,
        "how": asked.how,
        **tally.result(),
        **models.size_of(model),
        "seconds": time.perf_counter() - start,
    }
    warnings = tally.warnings
    if asked.progressive and not asked.shuffle:
        warnings += _about_order(tally)
    if asked.output is not None:
        models.saved(model, asked.output, rows.preparation)
        result["model_file"] = str(asked.output)
    report(result, "Evaluated", tally.baseline(), warnings, given["as_json"])


def _refuse(context: click.Context, asked: Evaluation) -> None:
    """Refuse options that mean nothing beside others."""
    if asked.shuffle and not asked.progressive:
        raise click.UsageError(
            "--shuffle is for --progressive: others draw rows anyway"
        )
    if asked.output is not None:
        if not asked.progressive:
            raise click.UsageError("--output is for --progressive; see `onkel fit`")
        options.output_file(asked.output)
    if asked.model is not None:
        known = (*options.MEANING_OPTIONS, *options.SYSTEM_OPTIONS, "held_out")
        options.refuse_beside(context, "--model", known)


def _about_order(tally: Tally) -> list[str]:
    """Say so if a figure owes more to the order of the rows than to what they are."""
    if tally.baselines.warning is None:
        return []
    return [
        f"{tally.baselines.warning}. These figures say little about rows to come, "
        "unless they come like that: --shuffle takes them in random order"
    ]


def _progressive(tally: Tally, model: Any, rows: Dataset, asked: Evaluation) -> None:
    learning.settle_gamma(model, rows)
    known = {} if rows.is_regression else {"classes": rows.classes}
    if hasattr(model, "classes_"):
        known = {"classes": model.classes_}
    parts = asked.shuffled(rows) if asked.shuffle else asked.in_order(rows)
    with bar("Predicting and learning", rows.n_rows) as advance:
        for X, y in parts:
            scores = onkel.progressive(model, X, y, **known)
            predicted = decided(model, scores)
            if rows.is_regression:
                tally.add(predicted, y)
            else:
                odds = likely(model, scores)
                tally.add(predicted, y, scores, odds, model.classes_)
            advance(tally.rows)


def _test(tally: Tally, model: Any, rows: Dataset, asked: Evaluation) -> None:
    with bar("Predicting", rows.n_rows) as advance:
        for X, y in asked.in_order(rows):
            judge(tally, model, X, y)
            advance(tally.rows)


def _split(tally: Tally, model: Any, rows: Dataset, asked: Evaluation) -> None:
    X, y = rows.load()
    order = np.random.default_rng(asked.seed).permutation(len(y))
    tested, learnt = np.split(order, [round(asked.held_out * len(order))])
    if len(tested) == 0 or len(learnt) == 0:
        raise ValueError(f"{rows.name} has {len(y)} rows: too few to hold some out")
    with bar("Learning"):
        model.fit(X[learnt], y[learnt])
    judge(tally, model, X[tested], y[tested])

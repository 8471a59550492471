"""onkel evaluate: how well a model predicts a file, or learns it while predicting."""

import time
from typing import Any

import click
import numpy as np

import onkel
from onkel.cli import learning, models, options
from onkel.cli.screen import as_json, bar, report
from onkel.cli.tally import Tally, judge, judge_scores
from onkel.data import Dataset
from onkel.refit.calibration import chances


@click.command()
@click.argument("data")
@options.of_data
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
    _refuse(context, given)
    progressive, output = given["progressive"], given["output"]
    if given["model"] is not None:
        model, preparation, _ = models.opened(given["model"])
        rows = options.prepared(data, given, preparation)
    else:
        rows = options.opened(data, given)
        model, _ = learning.made(rows, given)
    if progressive and not hasattr(model, "partial_fit"):
        raise ValueError(
            f"{type(model).__name__} needs all rows at once: it cannot be evaluated "
            "with --progressive"
        )
    start = time.perf_counter()
    tally, passage = Tally(rows.classes, rows.n_rows), learning.Passage.of(given)
    how = "test"
    if progressive:
        how = "progressive, shuffled" if passage.shuffle else "progressive"
        _progressive(tally, model, rows, passage)
    elif given["model"] is not None:
        _test(tally, model, rows, passage)
    else:
        _split(tally, model, rows, given)
    result = {
        "data": rows.name,
        "system": type(model).__name__,
        "how": how,
        **tally.result(),
        **models.size_of(model),
        "seconds": time.perf_counter() - start,
    }
    warnings = tally.warnings
    if progressive and not passage.shuffle:
        warnings += _about_order(tally)
    if output is not None:
        models.saved(model, output, rows.preparation)
        result["model_file"] = str(output)
    report(result, "Evaluated", tally.baseline(), warnings, given["as_json"])


def _refuse(context: click.Context, given: dict[str, Any]) -> None:
    """Refuse options that mean nothing beside others."""
    if given["shuffle"] and not given["progressive"]:
        raise click.UsageError(
            "--shuffle is for --progressive: others draw rows anyway"
        )
    if given["output"] is not None:
        if not given["progressive"]:
            raise click.UsageError("--output is for --progressive; see `onkel fit`")
        options.output_file(given["output"])
    if given["model"] is not None:
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


def _progressive(
    tally: Tally, model: Any, rows: Dataset, passage: learning.Passage
) -> None:
    learning.settle_gamma(model, rows)
    known = {} if rows.is_regression else {"classes": rows.classes}
    if hasattr(model, "classes_"):
        known = {"classes": model.classes_}
    parts = passage.shuffled(rows) if passage.shuffle else passage.in_order(rows)
    with bar("Predicting and learning", rows.n_rows) as advance:
        for X, y in parts:
            scores = onkel.progressive(model, X, y, **known)
            if rows.is_regression:
                tally.add(scores, y)
            else:
                # Those of a stream are log-odds, if it has probabilities at all.
                has_any = hasattr(model, "predict_proba")
                odds = scores.reshape(len(y), -1).astype(float)
                proba = chances(odds) if has_any else None
                judge_scores(tally, model, y, scores, proba)
            advance(tally.rows)


def _test(tally: Tally, model: Any, rows: Dataset, passage: learning.Passage) -> None:
    with bar("Predicting", rows.n_rows) as advance:
        for X, y in passage.in_order(rows):
            judge(tally, model, X, y)
            advance(tally.rows)


def _split(tally: Tally, model: Any, rows: Dataset, given: dict[str, Any]) -> None:
    X, y = rows.load()
    order = np.random.default_rng(given["seed"]).permutation(len(y))
    tested, learnt = np.split(order, [round(given["held_out"] * len(order))])
    if len(tested) == 0 or len(learnt) == 0:
        raise ValueError(f"{rows.name} has {len(y)} rows: too few to hold some out")
    with bar("Learning"):
        model.fit(X[learnt], y[learnt])
    judge(tally, model, X[tested], y[tested])

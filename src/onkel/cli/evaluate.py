"""onkel evaluate: how well a model predicts a file, or learns it while predicting."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np

import onkel
from onkel.cli import models, options
from onkel.cli.screen import as_json, bar, show, show_json, warn
from onkel.cli.tally import Tally, decided, judge, likely
from onkel.race.orders import shuffled


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
    "--shuffle", is_flag=True, help="With --progressive: in random order instead."
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
    preparation = None
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
        model, preparation, _ = models.opened(given["model"])
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
    tally = Tally(rows.classes, rows.n_rows)
    if given["progressive"]:
        options.settle_gamma(model, rows)
        _progressive(tally, model, rows, given)
    elif preparation is not None:
        _test(tally, model, rows, given["batch_rows"])
    else:
        _split(tally, model, rows, given["held_out"], given["seed"])
    result = {
        "data": rows.name,
        "system": type(model).__name__,
        "how": _how(given),
        **tally.result(),
        **models.size_of(model),
        "seconds": time.perf_counter() - start,
    }
    baseline, warnings = tally.baseline(), tally.warnings
    if given["progressive"] and not given["shuffle"]:
        warnings += _about_order(tally)
    if given["output"] is not None:
        models.saved(model, given["output"], rows.preparation)
        result["model_file"] = str(given["output"])
    if given["as_json"]:
        show_json(result | {"baseline": baseline, "warnings": warnings})
    else:
        show(result, "Evaluated", baseline)
    for warning in warnings:
        warn(warning)


def _how(given: dict[str, Any]) -> str:
    if not given["progressive"]:
        return "test"
    return "progressive, shuffled" if given["shuffle"] else "progressive"


def _about_order(tally: Tally) -> list[str]:
    """Say so if a figure owes more to the order of the rows than to what they are."""
    if tally.baselines.warning is None:
        return []
    return [
        f"{tally.baselines.warning}. These figures say little about rows to come, "
        "unless they come like that: --shuffle takes them in random order"
    ]


def _progressive(tally: Tally, model: Any, rows: Any, given: dict[str, Any]) -> None:
    known = {} if rows.is_regression else {"classes": rows.classes}
    if hasattr(model, "classes_"):
        known = {"classes": model.classes_}
    parts: Iterable[tuple[Any, np.ndarray]] = (
        (X, y) for X, y, _ in rows.batches(given["batch_rows"])
    )
    if given["shuffle"]:
        most = given["memory"] * options.MIB
        parts = shuffled(rows, given["batch_rows"], given["seed"], most)
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


def _test(tally: Tally, model: Any, rows: Any, batch_rows: int) -> None:
    with bar("Predicting", rows.n_rows) as advance:
        for X, y, _ in rows.batches(batch_rows):
            judge(tally, model, X, y)
            advance(tally.rows)


def _split(tally: Tally, model: Any, rows: Any, held_out: float, seed: int) -> None:
    X, y = rows.load()
    order = np.random.default_rng(seed).permutation(len(y))
    tested, learnt = np.split(order, [round(held_out * len(order))])
    if len(tested) == 0 or len(learnt) == 0:
        raise ValueError(f"{rows.name} has {len(y)} rows: too few to hold some out")
    with bar("Learning"):
        model.fit(X[learnt], y[learnt])
    judge(tally, model, X[tested], y[tested])

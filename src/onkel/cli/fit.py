"""onkel fit: learn a model from a file, in bounded memory, and save it."""

import time
from pathlib import Path
from typing import Any

import click

from onkel.cli import models, options
from onkel.cli.screen import as_json, show, show_json


@click.command()
@options.of_data()
@options.system
@options.budget
@options.gamma
@options.parameters
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("model.onkel"),
    show_default=True,
    help="Model file.",
)
@click.option(
    "--shuffle/--in-order",
    default=None,
    help="Learn the rows in random order or in that of the file [shuffle, except "
    "streams of the catalogue].",
)
@options.batch_rows
@options.memory
@options.seed
@as_json
def fit(data: str, **given: Any) -> None:
    """Learn a model from DATA and save it.

    The scaling and the encoding of columns are saved with the model, so that `onkel
    predict` and `onkel evaluate` take the same kind of file.
    """
    options.output_file(given["output"])
    rows = options.opened(data, given)
    chosen = options.parsed(
        given["parameters"], budget=given["budget"], gamma=given["gamma"]
    )
    model = options.made(given["system"], rows, given["seed"], chosen)
    shuffle = not rows.in_order if given["shuffle"] is None else given["shuffle"]
    if not shuffle and "shuffle" in model.get_params():
        model.set_params(shuffle=False)
    start = time.perf_counter()
    options.learn(model, rows, shuffle, given)
    seconds = time.perf_counter() - start
    models.saved(model, given["output"], rows.preparation)
    result = options.describe(rows) | {
        "system": type(model).__name__,
        "parameters": chosen,
        "model_size": model.model_size_,
        "updates": model.n_updates_,
        "seconds": seconds,
        "model_file": str(given["output"]),
    }
    if given["as_json"]:
        show_json(result)
    else:
        show(result, "Learnt")

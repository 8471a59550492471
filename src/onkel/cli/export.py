"""onkel export: a saved model for machines without Python."""

from pathlib import Path
from typing import Any

import click

from onkel.cli import models, options
from onkel.cli.screen import as_json, show, show_json, warn
from onkel.export.c_file import as_c
from onkel.export.models import formula_of
from onkel.export.onnx_file import as_onnx
from onkel.export.precision import CHOICES
from onkel.export.prepared import prepared
from onkel.storage.whole_file import whole


@click.command()
@click.argument("model", type=options.MODEL_FILE)
@click.option("--onnx", type=options.FILE, help="ONNX file to write.")
@click.option("--c", "c", type=options.FILE, help="File of C99 to write.")
@click.option("--name", default="model", help="What names in C begin with.")
@click.option(
    "--precision",
    type=click.Choice(CHOICES),
    default="auto",
    help="In which kernel values are summed up. auto: double where single would take "
    "more than the fifth digit of the scores.",
)
@as_json
def export(
    model: Path,
    onnx: Path | None,
    c: Path | None,
    name: str,
    precision: str,
    as_json: bool,
) -> None:
    """Write the model file MODEL as ONNX, as C, or as both.

    The input of a model that `onkel fit` has saved are the features of a file as
    numbers: it scales them itself, and puts medians where they are NaN. What the input
    is, and in which order, is said; ONNX files have it in their metadata, files of C in
    their first comment. Of a model that onkel.save has saved the input are the features
    that it was fitted to.
    """
    for path in (onnx, c):
        if path is not None:
            options.output_file(path)
    if onnx is None and c is None:
        raise click.UsageError("say where to: --onnx FILE, --c FILE, or both")
    estimator, preparation, odds = models.found(model)
    formula = formula_of(estimator)
    if preparation is not None:
        formula = prepared(formula, preparation)
    contents: dict[Path, bytes] = {}
    if onnx is not None:
        contents[onnx] = as_onnx(formula, precision)
    if c is not None:
        contents[c] = as_c(formula, c.name, name, precision)
    for path, content in contents.items():
        with whole(path) as file:
            file.write(content)
    result: dict[str, Any] = {
        "system": formula.estimator,
        "input": f"{formula.inputs} {formula.rows}",
        **({} if formula.names is None else {"features": formula.names}),
        "output": formula.answers,
        "bytes": {str(path): len(content) for path, content in contents.items()},
    }
    if as_json:
        show_json(result)
    else:
        show(result, "Exported")
    if odds is not None:
        warn("the probabilities that svm-train -b 1 has learnt are not exported")

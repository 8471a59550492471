"""ONNX files: a formula as a model that many runtimes take."""

import json
import os
from pathlib import Path
from typing import Any

from onkel._version import __version__
from onkel.export.formula import Formula
from onkel.export.models import formula_of
from onkel.storage.whole_file import whole

# Of the standard operators, and of the files: runtimes of 2022 and later know them.
OPERATORS, FORMAT = 17, 8
INSTALL = 'an ONNX file needs onnx, which is not installed: pip install "onkel[export]"'


def to_onnx(model: Any, path: str | os.PathLike[str], precision: str = "auto") -> None:
    """Write a fitted estimator as an ONNX file, of standard operators only.

    Its input is "X", float32 of shape (rows, features). A classifier has the outputs
    "label" and "scores", as `predict` and `decision_function` have them, and
    "probabilities" where it has `predict_proba`; a regressor has "prediction", a
    feature map "features", all of them float32. The file appears at once,
    complete, or not at all; one that was there is replaced.

    Parameters
    ----------
    model
        One of this library's estimators, fitted. It does not change.
    path
        Of the file.
    precision
        In which kernel values are computed and summed up: "single", which all runtimes
        are quick at; "double"; or "auto", double where coefficients nearly cancel, so
        that single would take more of the scores than the fifth digit.

    Raises
    ------
    ImportError
        Without onnx, which `pip install "onkel[export]"` brings.
    ValueError
        If the model is not fitted, or has numbers too large for single precision.

    Examples
    --------
    >>> import os, tempfile, onnx
    >>> from sklearn.datasets import make_moons
    >>> from onkel import RBPClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = RBPClassifier(budget=20, gamma=2.0, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.onnx")
    ...     to_onnx(model, path)
    ...     [output.name for output in onnx.load(path).graph.output]
    ['label', 'scores']
    """
    content = as_onnx(formula_of(model), precision)
    with whole(Path(path)) as file:
        file.write(content)


def as_onnx(formula: Formula, precision: str = "auto") -> bytes:
    """Return the contents of an ONNX file."""
    try:
        from onnx import TensorProto, checker, helper

        from onkel.export.onnx_graph import Graph
        from onkel.export.onnx_labels import add_meaning
        from onkel.export.onnx_steps import chained
    except ImportError as error:
        raise ImportError(INSTALL, name=error.name) from error
    graph = Graph(precision)
    answer = chained(formula.steps, graph, "X")
    add_meaning(formula, graph, answer)
    rows = helper.make_tensor_value_info(
        "X", TensorProto.FLOAT, ["rows", formula.inputs]
    )
    made = helper.make_model(
        helper.make_graph(
            graph.nodes, formula.estimator, [rows], graph.outputs, graph.constants
        ),
        opset_imports=[helper.make_opsetid("", OPERATORS)],
        ir_version=FORMAT,
        producer_name="onkel",
        producer_version=__version__,
    )
    helper.set_model_props(made, _about(formula))
    checker.check_model(made, full_check=True)
    return bytes(made.SerializeToString(deterministic=True))


def _about(formula: Formula) -> dict[str, str]:
    """Return what the file says of itself."""
    said = {
        "onkel": __version__,
        "estimator": formula.estimator,
        "input": formula.rows,
    }
    if formula.classes is not None:
        said["classes"] = json.dumps(formula.classes.tolist())
    if formula.names is not None:
        said["features"] = json.dumps(formula.names)
    return said

"""What the answer of a formula means, as outputs of ONNX: labels and probabilities."""

from typing import Any

import numpy as np
from onnx import TensorProto

from onkel.export.formula import Formula
from onkel.export.onnx_graph import Graph
from onkel.export.onnx_steps import chained

# Labels in ONNX, by the kind that numpy gives them.
LABELS: dict[str, tuple[int, Any]] = {
    "b": (TensorProto.BOOL, np.bool_),
    "i": (TensorProto.INT64, np.int64),
    "u": (TensorProto.INT64, np.int64),
    "f": (TensorProto.DOUBLE, np.float64),
    "U": (TensorProto.STRING, object),
}


def add_meaning(formula: Formula, graph: Graph, answer: str) -> None:
    """Add all outputs."""
    several = ["rows", formula.outputs]
    if formula.classes is None:
        if formula.answer == "prediction":
            answer, several = _flat(graph, answer), ["rows"]
        graph.output(formula.answer, answer, TensorProto.FLOAT, several)
        return
    is_binary = formula.outputs == 1
    labels, kind = _labels(formula.classes)
    chosen = _likeliest(graph, answer, is_binary)
    label = graph.node("Gather", graph.constant(labels), chosen)
    graph.output("label", label, kind, ["rows"])
    if is_binary:
        graph.output("scores", _flat(graph, answer), TensorProto.FLOAT, ["rows"])
    else:
        graph.output("scores", answer, TensorProto.FLOAT, several)
    if formula.odds is not None:
        odds = chained(formula.odds, graph, answer)
        shape = ["rows", len(labels)]
        found = _chances(graph, odds, is_binary)
        graph.output("probabilities", found, TensorProto.FLOAT, shape)


def _labels(classes: np.ndarray) -> tuple[np.ndarray, int]:
    """Return labels as ONNX has them, and of which kind they are there."""
    kind, dtype = LABELS.get(classes.dtype.kind, (TensorProto.UNDEFINED, None))
    labels = classes.astype(dtype)
    if dtype is None or not np.array_equal(labels.tolist(), classes.tolist()):
        raise ValueError(
            f"labels of the type {classes.dtype} cannot be exported to ONNX: "
            f"{classes.tolist()}"
        )
    return labels, kind


def _flat(graph: Graph, column: str) -> str:
    return graph.node("Squeeze", column, graph.constant(np.array([1])))


def _likeliest(graph: Graph, scores: str, is_binary: bool) -> str:
    """Add the numbers of the classes that are predicted."""
    if not is_binary:
        return graph.node("ArgMax", scores, axis=1, keepdims=0)
    positive = graph.node("Greater", _flat(graph, scores), graph.number(0.0, "zero"))
    return graph.node("Cast", positive, to=TensorProto.INT64)


def _chances(graph: Graph, odds: str, is_binary: bool) -> str:
    if not is_binary:
        return graph.node("Softmax", odds, axis=1)
    both = [graph.node("Neg", odds), odds]
    return graph.node("Sigmoid", graph.node("Concat", *both, axis=1))

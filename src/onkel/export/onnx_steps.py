"""Steps of a formula as nodes of ONNX, for many rows at once."""

import math
from functools import reduce, singledispatch
from typing import Any

import numpy as np

from onkel.export.formula import (
    Arcsinh,
    Bent,
    Beside,
    Expansion,
    Filled,
    Itself,
    Laplacian,
    Mixed,
    Polynomial,
    Radial,
    Scaled,
    Steps,
    Waves,
)
from onkel.export.onnx_graph import Graph
from onkel.export.precision import rounded

# Of single precision.
UNIT = float(np.finfo(np.float32).eps)


def chained(steps: Steps, graph: Graph, x: str) -> str:
    """Add a chain of steps; returns the name of what comes out."""
    return reduce(lambda name, step: added(step, graph, name), steps, x)


@singledispatch
def added(step: Any, graph: Graph, x: str) -> str:
    """Add the nodes of a step that takes x; returns the name of what comes out."""
    raise ValueError(f"the step {type(step).__name__} cannot be exported to ONNX")


@added.register
def _filled(step: Filled, graph: Graph, x: str) -> str:
    values = graph.number(step.values, "medians")
    return graph.node("Where", graph.node("IsNaN", x), values, x)


@added.register
def _scaled(step: Scaled, graph: Graph, x: str) -> str:
    before, after = step.shifts
    if before.any():
        x = graph.node("Sub", x, graph.constant(before))
    if (step.factor != 1.0).any():
        x = graph.node("Mul", x, graph.number(step.factor, "scales of features"))
    if after.any():
        x = graph.node("Sub", x, graph.number(after, "means of features"))
    return x


@added.register
def _arcsinh(step: Arcsinh, graph: Graph, x: str) -> str:
    return graph.node("Asinh", x)


@added.register
def _itself(step: Itself, graph: Graph, x: str) -> str:
    return x


@added.register
def _radial(step: Radial, graph: Graph, x: str) -> str:
    # |x - c|^2 is a difference of squares, which loses as many digits as they are
    # larger than it: so both are measured from the middle of the points.
    # Points that are far apart for their kernel lose too many even then.
    dtype = graph.dtype
    if dtype is np.float32:
        far = UNIT * step.gamma * float(step.points.var(axis=0).sum())
        x = graph.turned(x, graph.precision.of(far))
    middle = rounded(step.points.mean(axis=0), "centres", graph.dtype)
    points = step.points - middle
    x = graph.node("Sub", x, graph.constant(middle))
    own = graph.node("ReduceSum", graph.node("Mul", x, x), _axis(graph, 1))
    products = graph.node("MatMul", x, graph.number(-2.0 * points.T, "centres"))
    norms = graph.number((points**2).sum(axis=1), "centres")
    squares = graph.node("Add", graph.node("Add", products, norms), own)
    squares = graph.turned(squares, dtype)
    return _falling(graph, step.gamma, graph.node("Relu", squares))


@added.register
def _laplacian(step: Laplacian, graph: Graph, x: str) -> str:
    # There is no matrix product for it: all differences of all rows are there at once.
    points = graph.number(step.points, "centres")
    apart = graph.node("Sub", graph.node("Unsqueeze", x, _axis(graph, 1)), points)
    sizes = graph.node("Abs", apart)
    sums = graph.node("ReduceSum", sizes, _axis(graph, 2), keepdims=0)
    return _falling(graph, step.gamma, sums)


def _falling(graph: Graph, gamma: float, distances: str) -> str:
    return graph.node(
        "Exp", graph.node("Mul", distances, graph.number(-gamma, "gamma"))
    )


@added.register
def _polynomial(step: Polynomial, graph: Graph, x: str) -> str:
    points = graph.number(step.gamma * step.points.T, "centres")
    products = graph.node("MatMul", x, points)
    base = graph.node("Add", products, graph.number(step.coef0, "coef0"))
    return graph.node("Pow", base, graph.number(step.degree, "degree"))


@added.register
def _waves(step: Waves, graph: Graph, x: str) -> str:
    frequencies = graph.number(step.frequencies.T, "frequencies")
    angles = graph.node("MatMul", x, frequencies)
    both = [graph.node("Cos", angles), graph.node("Sin", angles)]
    factor = graph.number(1.0 / math.sqrt(len(step.frequencies)), "factor")
    return graph.node("Mul", _beside(graph, both), factor)


@added.register
def _expansion(step: Expansion, graph: Graph, x: str) -> str:
    x = graph.turned(x, graph.precision.of(step.rounding))
    values = _beside(graph, [added(part, graph, x) for part in step.values])
    sums = graph.node("MatMul", values, graph.number(step.coef.T, "coefficients"))
    return graph.turned(sums, np.float32)


@added.register
def _all_beside(step: Beside, graph: Graph, x: str) -> str:
    return _beside(graph, [chained(chain, graph, x) for chain in step.chains])


def _beside(graph: Graph, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)


@added.register
def _mixed(step: Mixed, graph: Graph, x: str) -> str:
    limits = [graph.number(end, "limits") for end in (-step.limit, step.limit)]
    shape = graph.constant(np.array([0, len(step.weights), -1]))
    apart = graph.node("Reshape", graph.node("Clip", x, *limits), shape)
    weights = graph.number(step.weights[np.newaxis], "weights of the mixture")
    return graph.node("Squeeze", graph.node("MatMul", weights, apart), _axis(graph, 1))


@added.register
def _bent(step: Bent, graph: Graph, x: str) -> str:
    # How far a score reaches into each part, counted from the end that is nearer to 0.
    low, high = (graph.constant(ends.astype(np.float32)) for ends in step.parts.T)
    reach = graph.node("Unsqueeze", x, _axis(graph, 2))
    reach = graph.node("Min", graph.node("Max", reach, low), high)
    reach = graph.node("Sub", reach, graph.number(step.origins, "bends"))
    slopes = graph.number(step.slopes[:, np.newaxis], "slopes")
    return graph.node("Squeeze", graph.node("MatMul", reach, slopes), _axis(graph, 2))


def _axis(graph: Graph, axis: int) -> str:
    return graph.constant(np.array([axis]))

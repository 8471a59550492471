"""A graph of ONNX under construction: names for what is computed."""

from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from onkel.export.precision import Precision, rounded


class Graph:
    """Nodes and constants, as they are added.

    Examples
    --------
    >>> graph = Graph()
    >>> graph.node("Add", "X", graph.number(1.0, "offset"))
    'add_1'
    """

    def __init__(self, precision: str = "auto") -> None:
        self.precision = Precision(precision)
        self.dtype: type[np.floating] = np.float32  # of what is computed now
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.outputs: list[ValueInfoProto] = []

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Compute something; returns its name."""
        name = f"{operator.lower()}_{len(self.nodes) + len(self.constants)}"
        self.nodes.append(
            helper.make_node(operator, inputs, [name], name, **attributes)
        )
        return name

    def number(self, values: Any, what: str) -> str:
        """Keep an array in the present precision; `what` is for complaints."""
        return self.constant(rounded(values, what, self.dtype))

    def turned(self, name: str, dtype: type[np.floating]) -> str:
        """Go on in another precision with what was computed."""
        if self.dtype is dtype:
            return name
        self.dtype = dtype
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", name, to=kind)

    def constant(self, values: Any) -> str:
        """Keep an array; returns its name."""
        name = f"constant_{len(self.nodes) + len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def output(self, name: str, source: str, kind: int, shape: list[Any]) -> None:
        """Let what was computed be an output, of that kind and shape."""
        self.nodes.append(helper.make_node("Identity", [source], [name], name))
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

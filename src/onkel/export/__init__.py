"""Export: fitted models for machines without Python, as ONNX or as C.

A model becomes a formula of a few steps (`formula`, found by `models` and `machines`),
which each language says in its own words (`onnx_steps`, `c_steps`).
"""

from onkel.export.c_file import to_c
from onkel.export.onnx_file import to_onnx

__all__ = ["to_c", "to_onnx"]

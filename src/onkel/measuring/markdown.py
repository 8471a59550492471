"""Markdown: numbers and tables of the pages that studies and papers write."""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np


def spread_of(values: Sequence[float], digits: int) -> str:
    """Mean and standard deviation.

    Examples
    --------
    >>> spread_of([10.0, 20.0], digits=1)
    '15.0 ± 7.1'
    """
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {spread:.{digits}f}"


def power(value: float) -> str:
    """Write a number of a grid, as a power of 2 if it is one.

    Examples
    --------
    >>> power(0.25), power(0.2), power(1.0)
    ('2^-2', '0.2', '1')
    """
    exponent = math.log2(value) if value > 0 else 0.5
    if exponent != round(exponent) or exponent == 0:
        return f"{value:.3g}"
    return f"2^{round(exponent)}"


def literal(text: str) -> str:
    r"""Write a text that is not ours so that Markdown, and its HTML, show it as it is.

    Examples
    --------
    >>> print(literal("<b>my_file*.csv</b>"))
    \<b\>my\_file\*.csv\</b\>
    """
    return re.sub(r"([\\`*_\[\]<>|~#&$])", r"\\\1", " ".join(text.split()))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table, and an empty one after it."""
    cells = [list(heads), ["---"] * len(heads), *rows]
    return ["| " + " | ".join(row) + " |" for row in cells] + [""]

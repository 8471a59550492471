"""Growing: an array with room for more.

A model that has no budget grows as its rows pass, array by array.
"""

from typing import Literal

import numpy as np


def enlarged(
    array: np.ndarray, *shape: int, order: Literal["C", "F"] = "C"
) -> np.ndarray:
    """Copy an array into the corner of a larger one of zeros.

    np.pad says the same, and takes forty microseconds of Python for it: a tenth of a
    short pass.

    Examples
    --------
    >>> enlarged(np.array([[1, 2], [3, 4]]), 2, 3)
    array([[1, 2, 0],
           [3, 4, 0]])
    """
    new = np.zeros(shape, array.dtype, order)
    new[tuple(slice(length) for length in array.shape)] = array
    return new

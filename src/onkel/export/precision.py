"""Precision: in which numbers an export computes, and what it says of those it cannot.

All is in single precision but for expansions, which may need double: coefficients that
nearly cancel, as those of least squares do, magnify how kernel values are rounded.
"""

from typing import Any, NamedTuple

import numpy as np

# What rounding may take of the largest score, as it is tried, before "auto" turns to
# double: other rows lose up to two and a half times as much.
BEARABLE = 4e-6
CHOICES = ("auto", "single", "double")


class Precision(NamedTuple):
    """What somebody wants.

    Examples
    --------
    >>> Precision("auto").of(rounding=1e-3), Precision("single").of(rounding=1e-3)
    (<class 'numpy.float64'>, <class 'numpy.float32'>)
    """

    name: str  # one of CHOICES

    def of(self, rounding: float) -> type[np.floating]:
        """Return the type for what loses such a share in single precision."""
        if self.name not in CHOICES:
            raise ValueError(
                f"precision must be one of {', '.join(CHOICES)}, got {self.name!r}"
            )
        needed = self.name == "auto" and rounding > BEARABLE
        return np.float64 if needed or self.name == "double" else np.float32


def rounded(values: Any, what: str, dtype: Any) -> np.ndarray:
    """Return numbers in a precision, or say which are too large for it.

    Examples
    --------
    >>> rounded([0.1], "coefficients", np.float32).dtype
    dtype('float32')
    """
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(values, dtype)
    if not np.isfinite(found).all():
        raise ValueError(
            f"{what} of this model are too large for {found.dtype}, in which it would "
            "be exported: scale the features or the targets before it learns"
        )
    return found.reshape(np.shape(values))

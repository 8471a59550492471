"""The target of a data set: what its raw values mean."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from onkel.data.bad_file import Complain
from onkel.data.state_checks import require

TASKS = ("classification", "regression")
# Which labels each kind of column can have, as numpy calls them.
KINDS_OF_LABELS = {"number": "if", "flag": "b", "text": "U"}


@dataclass(frozen=True)
class Target:
    """How the raw values of a target become labels or numbers to predict."""

    column: str | None  # in a table; None in LIBSVM's format
    kind: str  # what the column holds, as in `onkel.data.columns.KINDS`
    # Of the file, sorted: int64, float64 or text; None for regression and `above`.
    labels: np.ndarray | None = None
    positive: Any = None  # the label that becomes True, all others False
    above: float | None = None  # beyond which a raw value becomes True

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number to predict, not a label."""
        return self.labels is None and self.above is None

    @property
    def classes(self) -> np.ndarray | None:
        """The sorted labels that rows can get; None for regression."""
        if self.above is not None or self.positive is not None:
            return np.array([False, True])
        return self.labels

    def read(self, raw: np.ndarray, complain: Complain) -> np.ndarray:
        """Turn raw values into labels or targets; unknown labels are complained of.

        Examples
        --------
        >>> late = Target("delay", "number", above=15.0)
        >>> late.read(np.array([3.0, 20.0]), complain=None).tolist()
        [False, True]
        """
        if self.above is not None:
            return raw > self.above
        if self.labels is None:
            return raw.astype(np.float64)
        places = np.searchsorted(self.labels, raw).clip(max=len(self.labels) - 1)
        unknown = np.flatnonzero(self.labels[places] != raw)
        if len(unknown):
            known = ", ".join(map(str, self.labels[:20].tolist()))
            row = int(unknown[0])
            complain(row, f"the label {raw[row]} is new; the known ones are {known}")
        if self.positive is not None:
            return raw == self.positive
        return self.labels[places]

    def state(self) -> dict[str, Any]:
        """Return what describes the target, for JSON."""
        labels = None if self.labels is None else self.labels.tolist()
        return {**vars(self), "labels": labels}

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> Self:
        """Return the target that `state` described, checked."""
        column, kind = described.get("column"), described.get("kind")
        known = isinstance(column, str | None) and kind in [*KINDS_OF_LABELS]
        require(known, f"no target: column {column!r} of kind {kind!r}")
        above, labels = described.get("above"), described.get("labels")
        positive = described.get("positive")
        if above is not None:
            finite = type(above) in (int, float) and math.isfinite(above)
            alone = kind == "number" and labels is positive is None
            require(finite and alone, f"a target of kind {kind!r} above {above!r}")
        if labels is None:
            require(positive is None, f"a target without labels that is {positive!r}")
            require(kind == "number", f"a target of kind {kind!r} without labels")
            return cls(column, str(kind), above=above)
        types = {type(label) for label in labels} if isinstance(labels, list) else set()
        alike = len(types) == 1 and types < {int, float, str, bool}
        require(alike, "a target whose labels are not all of one type")
        array = np.array(labels)
        fits = array.dtype.kind in KINDS_OF_LABELS[str(kind)]
        require(fits, f"a target of kind {kind!r} with labels of {types}")
        ascending = bool(np.all(array[1:] > array[:-1]))
        require(ascending, "a target whose labels are not sorted")
        finite = array.dtype.kind != "f" or bool(np.isfinite(array).all())
        require(finite, "a target whose labels are not finite")
        known = positive is None or positive in labels
        require(known, f"a target whose labels lack {positive!r}")
        return cls(column, str(kind), array, positive, above)

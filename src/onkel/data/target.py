"""The target of a data set: what its raw values mean."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onkel.data.bad_file import Complain

TASKS = ("classification", "regression")
# A numeric target with more distinct integers than this is one for regression.
MOST_CLASSES = 20
# Distinct values that are counted, at most; more are never classes.
MOST_COUNTED = 1000
# Which labels each kind of column can have, as numpy calls them.
KINDS_OF_LABELS = {"number": "if", "flag": "b", "text": "U"}


@dataclass(frozen=True)
class Target:
    """How the raw values of a target become labels or numbers to predict.

    Attributes
    ----------
    column
        Its name in a table; None in LIBSVM's format, and where rows have no target.
    kind
        What the column holds, as in `onkel.data.columns.KINDS`.
    labels
        Of the file, sorted: int64, float64 or text; None for regression, and with
        `above`.
    positive
        The label that becomes True, all others False; None to keep the labels.
    above
        The number beyond which a raw value becomes True; None to keep the values.
    """

    column: str | None
    kind: str
    labels: np.ndarray | None = None
    positive: Any = None
    above: float | None = None

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
        return {
            "column": self.column,
            "kind": self.kind,
            "labels": labels,
            "positive": self.positive,
            "above": self.above,
        }

    @classmethod
    def from_state(cls, described: Mapping[str, Any]) -> "Target":
        """Return the target that `state` described, checked."""
        column, kind = described.get("column"), described.get("kind")
        if not isinstance(column, str | None) or kind not in [*KINDS_OF_LABELS]:
            raise ValueError(f"no target: column {column!r} of kind {kind!r}")
        above, labels = described.get("above"), described.get("labels")
        positive = described.get("positive")
        if above is not None and not (
            _is_finite(above) and kind == "number" and labels is positive is None
        ):
            raise ValueError(f"a target of kind {kind!r} above {above!r}")
        if labels is None:
            if positive is not None:
                raise ValueError(f"a target without labels that is {positive!r}")
            if kind != "number":
                raise ValueError(f"a target of kind {kind!r} without labels")
            return cls(column, kind, above=above)
        types = {type(label) for label in labels} if isinstance(labels, list) else set()
        if len(types) != 1 or not types < {int, float, str, bool}:
            raise ValueError("a target whose labels are not all of one type")
        array = np.array(labels)
        if array.dtype.kind not in KINDS_OF_LABELS[kind]:
            raise ValueError(f"a target of kind {kind!r} with labels of {types}")
        if not np.all(array[1:] > array[:-1]):
            raise ValueError("a target whose labels are not sorted")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError("a target whose labels are not finite")
        if positive is not None and positive not in labels:
            raise ValueError(f"a target whose labels lack {positive!r}")
        return cls(column, kind, array, positive, above)


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


class Census:
    """Counts of the distinct raw values of a target, as long as they are few."""

    def __init__(self) -> None:
        self.counts: Counter = Counter()
        self.is_full = False
        self.are_integers = True

    def count(self, raw: np.ndarray) -> None:
        """Take more raw values into account."""
        if raw.dtype == np.float64:
            self.are_integers &= bool(np.all(raw == np.floor(raw)))
        if not self.is_full:
            values, counts = np.unique(raw, return_counts=True)
            self.counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
            self.is_full = len(self.counts) > MOST_COUNTED
            if self.is_full:
                self.counts.clear()

    def target(self, column: str | None, kind: str, task: str, positive: Any) -> Target:
        """Decide between labels and numbers, where `task` is "auto", and return which.

        Labels are texts, flags, and integers of few distinct values.
        """
        rows = self.counts.total()
        few = not self.is_full and len(self.counts) <= MOST_CLASSES
        if task == "auto":
            repeated = len(self.counts) <= max(2, rows / 2)
            whole = self.are_integers and few and repeated
            labelled = kind != "number" or positive is not None or whole
            task = "classification" if labelled else "regression"
        name = "the target" if column is None else f"the target {column}"
        if task == "regression":
            if positive is not None:
                raise ValueError(f"positive={positive!r} is for classification")
            return Target(column, kind)
        if self.is_full:
            raise ValueError(
                f"{name} has more than {MOST_COUNTED} distinct values, too many for "
                "classes: choose another, or task='regression'"
            )
        labels = np.array(sorted(self.counts))
        if kind == "number" and self.are_integers:
            labels = labels.astype(np.int64)
        return Target(column, kind, labels, _among(positive, labels, name))

    def counts_of(self, target: Target) -> np.ndarray:
        """Return the rows of each class of a target."""
        assert target.labels is not None
        counts = np.array([self.counts[label] for label in target.labels.tolist()])
        if target.positive is None:
            return counts
        positive = int(counts[target.labels == target.positive].sum())
        return np.array([counts.sum() - positive, positive])


def _among(positive: Any, labels: np.ndarray, name: str) -> Any:
    """Return the label that `positive` is, also where it is its text."""
    if positive is None:
        return None
    for label in labels.tolist():
        if positive == label or str(positive) == str(label):
            return label
    known = ", ".join(map(str, labels[:20].tolist()))
    raise ValueError(f"{name} is never {positive!r}, but {known}")

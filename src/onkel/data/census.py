"""The census of a survey: rows, and the distinct values of their target."""

from collections import Counter
from typing import Any

import numpy as np

from onkel.data.reading_options import ReadingOptions
from onkel.data.target import Target

# A numeric target with more distinct integers than this is one for regression.
MOST_CLASSES = 20
# Distinct values that are counted, at most; more are never classes.
MOST_COUNTED = 1000


class Census:
    """Counts of rows and of what their targets are, whatever the format."""

    def __init__(self, options: ReadingOptions) -> None:
        self.rows = 0
        self._options = options
        self._above = 0
        self._counts: Counter = Counter()
        self._is_full = False
        self._are_integers = True

    def see(self, rows: int, raw: np.ndarray | None) -> None:
        """Take rows into account, and the raw values of their target, if any."""
        if raw is not None and self._options.above is not None:
            self._above += int((raw > self._options.above).sum())
        elif raw is not None:
            self._count(raw)
        self.rows += rows
        if self._options.announce is not None:
            self._options.announce(self.rows)

    def _count(self, raw: np.ndarray) -> None:
        if raw.dtype == np.float64:
            self._are_integers &= bool(np.all(raw == np.floor(raw)))
        if not self._is_full:
            values, counts = np.unique(raw, return_counts=True)
            found = dict(zip(values.tolist(), counts.tolist(), strict=True))
            self._counts.update(found)
            self._is_full = len(self._counts) > MOST_COUNTED
            if self._is_full:
                self._counts.clear()

    def target(self, column: str | None, kind: str) -> Target | None:
        """Decide what the target is, where the options leave it open.

        Labels are texts, flags, and integers of few distinct values.
        """
        options, positive = self._options, self._options.positive
        if not options.labelled:
            return None
        if options.above is not None:
            return Target(column, kind, above=float(options.above))
        task = options.task
        if task == "auto":
            labelled = (
                kind != "number" or positive is not None or self._look_like_labels
            )
            task = "classification" if labelled else "regression"
        name = "the target" if column is None else f"the target {column}"
        if task == "regression":
            if positive is not None:
                raise ValueError(f"positive={positive!r} is for classification")
            return Target(column, kind)
        if self._is_full:
            raise ValueError(
                f"{name} has more than {MOST_COUNTED} distinct values, too many for "
                "classes: choose another, or task='regression'"
            )
        labels = np.array(sorted(self._counts))
        if kind == "number" and self._are_integers:
            labels = labels.astype(np.int64)
        return Target(column, kind, labels, _among(positive, labels, name))

    @property
    def _look_like_labels(self) -> bool:
        """Whether numbers are few different integers, most of them more than once."""
        different = len(self._counts)
        few = not self._is_full and different <= MOST_CLASSES
        return (
            self._are_integers and few and different <= max(2, self._counts.total() / 2)
        )

    def counts(self, target: Target | None) -> np.ndarray | None:
        """Return the rows of each class of a target; None for regression."""
        if target is None or target.is_regression:
            return None
        if target.above is not None:
            return np.array([self.rows - self._above, self._above])
        assert target.labels is not None
        counts = np.array([self._counts[label] for label in target.labels.tolist()])
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

"""Labels, which may appear at any time in a stream."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from onkel.estimators._entries import plain_targets
from onkel.estimators._stream import StreamEstimator


def outputs_for(classes: np.ndarray) -> int:
    """Return how many scores a row has: one for two classes, else one a class."""
    return len(classes) if len(classes) > 2 else 1


def encode(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels as compiled code reads them: -1 and +1, or the class index."""
    index = np.searchsorted(classes, y).astype(np.float64)
    return index if len(classes) > 2 else 2.0 * index - 1.0


def unknown(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Rows whose label is not among the classes; sorts nothing, unlike np.isin."""
    nearest = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.flatnonzero(classes[nearest] != y)


def refuse_targets_of_regression(y: np.ndarray) -> None:
    """Raise if y holds no labels; integers are labels without a closer look."""
    if y.dtype.kind in "iub" or (y.dtype.kind == "f" and (y == np.rint(y)).all()):
        return
    check_classification_targets(y)


def plain(label: Any) -> Any:
    """Return a label as Python's text or number, as messages show it."""
    return label.item() if isinstance(label, np.generic) else label


def distinct(classes: Any) -> np.ndarray:
    """Return the labels given as `classes`, each once and in order."""
    try:
        labels = np.unique(plain_targets(classes))
    except (TypeError, ValueError) as error:
        raise ValueError(f"classes must hold labels of one kind: {error}") from error
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"classes must hold labels, got {labels}")
    return labels


class LabelStream(StreamEstimator):
    """A system that learns labels from one row after another."""

    classes_: np.ndarray
    _classes_given: bool  # beforehand, or by all rows of fit

    def _first_outputs(self, y: np.ndarray) -> int:
        if not self._classes_given:
            self.classes_ = np.unique(y[:1])
        return outputs_for(self.classes_)

    def _learn_rows(
        self, X: Any, y: np.ndarray, weight: Any, scores: np.ndarray | None, first: int
    ) -> np.ndarray | None:
        """Learn rows, which are cut where a label first occurs.

        So the result does not depend on how the stream is cut into calls.
        """
        starts, labels = self._arrivals(y)
        for start, stop, label in zip(
            [0, *starts], [*starts, len(y)], [None, *labels], strict=True
        ):
            if label is not None:
                scores = self._add_class(label, scores)
            if start == stop:
                continue
            some = None if weight is None else weight[start:stop]
            if len(self.classes_) == 1:
                self._pass_over(X[start:stop], some)
                chunks = iter([np.zeros((stop - start, 1), self._dtype)])
            else:
                targets = encode(y[start:stop], self.classes_)
                chunks = self._learn(X[start:stop], targets, some, first + start)
            for chunk in chunks:
                if scores is not None:
                    scores = np.concatenate([scores, chunk])
        return scores

    def _take_classes(self, classes: Any, y: np.ndarray, first: bool) -> None:
        """Settle which labels are known before the first row of this call."""
        if classes is not None:
            classes = distinct(classes)
            if len(classes) < 2:
                raise ValueError(f"classes must hold two labels or more, got {classes}")
        if not first:
            known = self.classes_
        else:
            known = y[:1] if classes is None else classes
        if isinstance(known[0], str) != isinstance(y[0], str):
            raise ValueError(
                f"y holds {y.dtype} labels like {plain(y[0])!r} where the classes are "
                f"{known.dtype} like {plain(known[0])!r}: text and numbers cannot be "
                "mixed"
            )
        if first:
            self._classes_given = classes is not None
            self.classes_ = np.unique(y[:1]) if classes is None else classes
        elif classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"classes={classes} differs from the classes this model knows, "
                f"{self.classes_}"
            )
        if self._classes_given:
            strangers = unknown(y, self.classes_)
            if len(strangers):
                raise ValueError(
                    f"y contains labels that are not among the classes given, "
                    f"{self.classes_}: {np.unique(y[strangers])}, first in row "
                    f"{strangers[0]}"
                )

    def _arrivals(self, y: np.ndarray) -> tuple[list[int], list[Any]]:
        """Rows at which labels occur for the first time, and these labels."""
        rows = unknown(y, self.classes_)
        labels, firsts = np.unique(y[rows], return_index=True)
        order = np.argsort(firsts)
        return rows[firsts[order]].tolist(), list(labels[order])

    def _add_class(self, label: Any, scores: np.ndarray | None) -> np.ndarray | None:
        """Learn of a label; return the scores so far as if its class had been there."""
        old = self.classes_
        self.classes_ = np.unique(np.append(old, label))
        if len(self.classes_) < 3:
            return scores
        position = np.searchsorted(self.classes_, old)
        if len(old) == 2:
            matrix = np.zeros((3, 1))
            matrix[position, 0] = -0.5, 0.5
        else:
            matrix = np.zeros((len(self.classes_), len(old)))
            matrix[position, np.arange(len(old))] = 1.0
        self._relabel(matrix, position)
        return None if scores is None else (scores @ matrix.T).astype(scores.dtype)

    def _relabel(self, matrix: np.ndarray, position: np.ndarray) -> None:
        """Map outputs by a matrix (new x old), and classes to their new numbers."""
        for learner in self._learners():
            coef, label = learner.model.coef, learner.model.label
            known = (coef[0] > 0).astype(int) if len(position) == 2 else label
            # Several who learn together have outputs of their own.
            several = np.eye(len(coef) // matrix.shape[1])
            learner.relabel(np.kron(several, matrix), position[known])

"""Classifiers: labels that may appear at any time, and what scores mean for them."""

from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from onkel.estimators._checks import checked_weights
from onkel.estimators._entries import plain_targets
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._fitting import Fits, FitsWeighted
from onkel.estimators._groups import ClassWeighted
from onkel.estimators._learning import LearningEstimator
from onkel.estimators._stream import StreamEstimator
from onkel.refit.calibration import chances, log_chances


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


def refuse_strange_weights(class_weight: dict, classes: list, known: bool) -> None:
    """Refuse weights of classes that there are not, while others have none.

    The rule is scikit-learn's: where all classes have weights, as when a fold lacks a
    class, some may be idle. Unless all classes are known another may yet come; but text
    will not turn up among numbers.
    """
    given = [plain(label) for label in class_weight]
    strange = [label for label in given if label not in classes]
    if not known:
        text = isinstance(classes[0], str)
        strange = [label for label in strange if isinstance(label, str) != text]
    if strange and set(classes) - set(given):
        raise ValueError(
            f"class_weight has a weight for {strange[0]!r}, which is not among the "
            f"classes, {classes}"
        )


def distinct(classes: Any) -> np.ndarray:
    """Return the labels given as `classes`, each once and in order."""
    try:
        labels = np.unique(plain_targets(classes))
    except (TypeError, ValueError) as error:
        raise ValueError(f"classes must hold labels of one kind: {error}") from error
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"classes must hold labels, got {labels}")
    return labels


def is_weight(factor: Any) -> bool:
    """Whether something can be the weight of a class."""
    try:
        return isinstance(factor, Real) and 0 <= float(factor) < np.inf
    except OverflowError:
        return False


def weights_of_rows(
    class_weight: Any,
    X: Any,
    y: np.ndarray,
    sample_weight: Any,
    streaming: bool,
    classes: np.ndarray | None = None,
) -> np.ndarray | None:
    """Weights of the rows times those of their classes, None for all alike.

    `classes` are all there are; None if more may come.
    """
    if class_weight is None and sample_weight is None:
        return None
    weight = checked_weights(sample_weight, X, streaming)
    labels, index = np.unique(y, return_inverse=True)
    if class_weight == "balanced":
        if streaming:
            raise ValueError(
                'class_weight="balanced" needs all rows and works in fit only; in '
                "partial_fit give class_weight as a dict"
            )
        weight *= compute_class_weight("balanced", classes=labels, y=y)[index]
    elif class_weight is not None:
        for label, factor in class_weight.items():
            if not is_weight(factor):
                raise ValueError(
                    "class_weight must hold finite numbers >= 0, got "
                    f"{factor!r} for class {label!r}"
                )
        seen = [plain(label) for label in (labels if classes is None else classes)]
        refuse_strange_weights(class_weight, seen, classes is not None or not streaming)
        of_label = [float(class_weight.get(label, 1)) for label in labels]
        weight *= np.array(of_label)[index]
    return weight


class LabelClassifier(ClassifierMixin, ExpansionEstimator):
    """A system that predicts labels."""

    _classes_given: bool  # beforehand, or by all rows of fit

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores
            With two classes, positive for the second.
        """
        scores = self._still()._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels of shape (n_samples,)
            The second class where the score is positive; with more classes the one
            with the largest score.
        """
        still = self._still()
        scores = still._scores(X)
        if scores.shape[1] == 1:
            return still.classes_[(scores[:, 0] > 0).astype(int)]
        return still.classes_[scores.argmax(axis=1)]

    # ---- learning

    def _checked_data(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = self._checked_rows(X, y, reset=reset)
        refuse_targets_of_regression(y)
        return X, y

    def _encoded(self, y: np.ndarray) -> tuple[np.ndarray, int]:
        self.classes_ = np.unique(y)
        self._classes_given = True
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only, {plain(self.classes_[0])!r}; a classifier "
                "needs at least two. In a stream, use partial_fit."
            )
        return encode(y, self.classes_), outputs_for(self.classes_)


class CountingClassifier(LabelClassifier, LearningEstimator):
    """A classifier that predicts a row before it learns it."""

    @property
    def n_mistakes_(self) -> int:
        """Rows whose label was not predicted before they were learnt."""
        return int(self._counters.mistakes)


class OnlineClassifier(Fits, CountingClassifier, StreamEstimator):
    """A system that learns from one row after another, as long as there are rows."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning from further rows, in the order given.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, optional
            All labels that can occur. Without them a label counts from the row where
            it first occurs.

        Returns
        -------
        self
            The estimator.
        """
        self._learn_stream(X, y, classes, None)
        return self

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
            learner.relabel(matrix, position[known])


class WeightedClassifier(FitsWeighted, ClassWeighted, OnlineClassifier):
    """A classifier with a loss, which rows and classes can weigh in."""

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on learning from further rows, in the order given.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like, optional
            All labels that can occur. Without them a label counts from the row where
            it first occurs.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the slope of the loss.

        Returns
        -------
        self
            The estimator.
        """
        self._learn_stream(X, y, classes, sample_weight)
        return self

    def _weight(
        self, X: Any, y: np.ndarray, sample_weight: Any, streaming: bool
    ) -> np.ndarray | None:
        known = self.classes_ if streaming and self._classes_given else None
        return weights_of_rows(self.class_weight, X, y, sample_weight, streaming, known)


def _has_probabilities(estimator: Any) -> bool:
    return bool(estimator._has_probabilities())


class LossClassifier(WeightedClassifier):
    """A classifier whose loss can be chosen."""

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; for loss="log_loss".

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities of shape (n_samples, n_classes)
            expit of the score, or the softmax of the scores.
        """
        still = self._still()
        odds = still._log_odds(X)
        return np.ones_like(odds) if len(still.classes_) == 1 else chances(odds)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        logarithms of shape (n_samples, n_classes)
            Finite, even where `predict_proba` rounds to 0.
        """
        still = self._still()
        odds = still._log_odds(X)
        return np.zeros_like(odds) if len(still.classes_) == 1 else log_chances(odds)

    def _has_probabilities(self) -> bool:
        return bool(self.loss == "log_loss")

    def _log_odds(self, X: Any) -> np.ndarray:
        """Log-odds of the second of two classes; of more, up to a constant a row."""
        return self._scores(X)


class BatchClassifier(FitsWeighted, ClassWeighted, LabelClassifier):
    """A classifier that needs all rows at once."""

    def _weight(
        self, X: Any, y: np.ndarray, sample_weight: Any, streaming: bool
    ) -> np.ndarray | None:
        return weights_of_rows(self.class_weight, X, y, sample_weight, streaming)

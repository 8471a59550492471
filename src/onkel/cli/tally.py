"""Tally: how good predictions are, beside what is right without looking."""

import math
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, log_loss, roc_auc_score

from onkel.race.baselines import Baselines

# Scores that are kept for the area under the curve; of more rows a part is drawn.
MOST_SCORES = 2**22


class Tally:
    """Errors so far, in bounded memory.

    `classes` are all labels, sorted, or None for regression; `rows` is how many there
    will be, about.

    Examples
    --------
    >>> tally = Tally(np.array([1, 2]))
    >>> tally.add(np.array([1, 2]), np.array([1, 1]))
    >>> tally.result()["error"], tally.baseline()
    (0.5, {'always': 1, 'accuracy': 1.0, 'error': 0.0, 'f1': 0.0})
    """

    def __init__(self, classes: np.ndarray | None, rows: int = 0) -> None:
        self._classes = classes
        self._rows = rows
        self.baselines = Baselines(classes is None)
        self._squared = self._absolute = 0.0
        labels = 0 if classes is None else len(classes)
        self._confusion = np.zeros((labels, labels), np.int64)
        self._scored: list[tuple[np.ndarray, np.ndarray]] = []
        self._log_loss: float | None = None
        self._rng = np.random.default_rng(0)

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self.baselines.rows

    def add(
        self,
        predicted: np.ndarray,
        y: np.ndarray,
        scores: np.ndarray | None = None,
        probabilities: np.ndarray | None = None,
        classes: np.ndarray | None = None,
    ) -> None:
        """Count rows: what was said, what is so, and perhaps scores and probabilities.

        These are of the classes that the model knows: all, or `classes`.
        """
        self.baselines.add(y)
        if self._classes is None:
            difference = predicted - y
            self._squared += float(difference @ difference)
            self._absolute += float(np.abs(difference).sum())
            return
        truth = np.searchsorted(self._classes, y)
        said = np.searchsorted(self._classes, predicted)
        np.add.at(self._confusion, (truth, said), 1)
        known = self._classes if classes is None else classes
        at = np.searchsorted(self._classes, known)
        if probabilities is not None:
            every = np.zeros((len(y), len(self._classes)))
            every[:, at] = probabilities
            every /= every.sum(axis=1, keepdims=True)  # of single precision
            labels = np.arange(len(self._classes))
            lost = log_loss(truth, every, labels=labels, normalize=False)
            self._log_loss = (self._log_loss or 0.0) + float(lost)
        if scores is not None and len(known) == len(self._classes):
            share = MOST_SCORES / max(self._rows, len(y)) / max(scores[:1].size, 1)
            kept = self._rng.random(len(y)) < share
            self._scored.append((truth[kept], scores[kept]))

    def result(self) -> dict[str, Any]:
        """Return the figures of all rows so far."""
        rows = self.rows
        if self._classes is None:
            mean_squared, spread = self._squared / rows, self.baselines.constant_error
            r2 = 1.0 - mean_squared / spread**2 if spread > 0 else math.nan
            return {
                "rows": rows,
                "rmse": math.sqrt(mean_squared),
                "mean_absolute_error": self._absolute / rows,
                "r2": r2,
            }
        mistakes = rows - int(np.trace(self._confusion))
        found = {
            "rows": rows,
            "mistakes": mistakes,
            "error": mistakes / rows,
            "accuracy": 1.0 - mistakes / rows,
            self._f1_name: self._f1(self._confusion),
            "auc": self._area(),
            "log_loss": None if self._log_loss is None else self._log_loss / rows,
        }
        return {name: value for name, value in found.items() if value is not None}

    def baseline(self) -> dict[str, Any]:
        """Return the same figures of always the best constant, as far as it has any."""
        best = {"always": self.baselines.constant}
        error = self.baselines.constant_error
        if self._classes is None:
            return best | {"rmse": error, "r2": 0.0}
        place = int(np.searchsorted(self._classes, self.baselines.constant))
        confusion = np.zeros_like(self._confusion)
        confusion[:, place] = self._confusion.sum(axis=1)
        figures = {
            "accuracy": 1.0 - error,
            "error": error,
            self._f1_name: self._f1(confusion),
        }
        if self._scored:
            figures["auc"] = 0.5
        if self._log_loss is not None:
            shares = np.array(list(self.baselines.shares.values()))
            figures["log_loss"] = -float(shares @ np.log(shares))
        return best | figures

    @property
    def warnings(self) -> list[str]:
        """What the reader should not miss."""
        found = self.result()
        if self._classes is None:
            if found["r2"] <= 0:
                return ["the mean alone, without looking at a row, errs no more"]
        elif found["error"] >= self.baselines.constant_error:
            constant = self.baselines.constant
            return [f"saying always {constant!r}, without looking, is right as often"]
        return []

    @property
    def _f1_name(self) -> str:
        return "f1" if len(self._confusion) == 2 else "f1_macro"

    def _f1(self, confusion: np.ndarray) -> float:
        """F1 of the second class of two, or the mean of all."""
        truth, said = np.nonzero(confusion)
        how = "binary" if len(confusion) == 2 else "macro"
        weight = confusion[truth, said]
        return float(
            f1_score(truth, said, sample_weight=weight, average=how, zero_division=0.0)
        )

    def _area(self) -> float | None:
        """Area under the ROC curve; of several classes, the mean of each to the rest.

        None if there are no scores, or rows of one class only.
        """
        if not self._scored:
            return None
        truth, scores = map(np.concatenate, zip(*self._scored, strict=True))
        # The scores of two classes are those of the second.
        columns = {1: scores} if scores.ndim == 1 else dict(enumerate(scores.T))
        areas = [
            roc_auc_score(truth == place, column)
            for place, column in columns.items()
            if 0 < np.sum(truth == place) < len(truth)
        ]
        return float(np.mean(areas)) if areas else None


def judge(tally: Tally, model: Any, X: Any, y: np.ndarray) -> None:
    """Predict rows and count them."""
    if len(getattr(model, "classes_", ())) < 2:
        tally.add(model.predict(X), y)
        return
    proba = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    judge_scores(tally, model, y, model.decision_function(X), proba)


def judge_scores(
    tally: Tally, model: Any, y: np.ndarray, scores: np.ndarray, proba: Any
) -> None:
    """Count rows by the scores that a classifier has given them."""
    best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)
    tally.add(model.classes_[best], y, scores, proba, model.classes_)

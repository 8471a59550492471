"""Classifiers with River's face."""

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from river import base

from onkel.estimators._labels import encode
from onkel.refit.calibration import chances
from onkel.river._model import NUMBERS, OnlineModel

if TYPE_CHECKING:
    import pandas as pd


class Label(NamedTuple):
    """A label, and what it is to the compiled code."""

    name: Any
    target: float
    weight: float  # of its class


class OnlineClassifier(OnlineModel, base.MiniBatchClassifier):
    """A classifier for River; labels are texts, numbers or booleans."""

    _weighs: ClassVar[bool] = False  # whether rows can have weights
    _known: dict[Any, Label]  # labels that rows of the quick way may have
    _names: list[Any]  # of all labels, as users gave them

    @property
    def _multiclass(self) -> bool:
        return True

    def _close(self) -> None:
        super()._close()
        self._known = {}
        classes = getattr(self._system, "classes_", None)
        self._names = [] if classes is None else classes.tolist()

    def _open(self) -> None:
        super()._open()
        if self._way is None or len(self._names) < 2:
            return  # from one label nothing can be learnt
        classes, given = self._system.classes_, getattr(self, "class_weight", None)
        weights = [float((given or {}).get(name, 1)) for name in self._names]
        known = zip(
            self._names, encode(classes, classes).tolist(), weights, strict=True
        )
        self._known = {label[0]: Label(*label) for label in known}

    # ---- learning

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn a row.

        Parameters
        ----------
        x
            Its features, numbers by their names. One that is left out is 0; one that
            has never been there before was 0 in all rows so far.
        y
            Its label, which may be a new one.
        """
        self._learn(x, y, 1.0)

    def learn_many(self, X: "pd.DataFrame", y: "pd.Series") -> None:
        """Learn rows in order: what `learn_one` does, for less.

        Parameters
        ----------
        X
            Their features, by the names of the columns.
        y
            Their labels.
        """
        self._learn_table(X, y, None)

    def _learn(self, x: Any, y: Any, w: Any) -> None:
        if self._way is None:
            self._open()
        try:
            label = self._known.get(y) if self._left else None
        except TypeError:  # what has no hash is no label
            label = None
        if label is not None and isinstance(w, NUMBERS) and self._fill(x, False):
            weight = w * label.weight
            if self._way.learn(label.target, weight):  # type: ignore[union-attr]
                if self._left > 0:
                    self._remember(label.name, weight)
                return
        self._learn_long(x, y, w if self._weighs else None)

    # ---- predicting

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the likeliest label; None before anything was learnt.

        Parameters
        ----------
        x
            Features of a row. Those that were in no row learnt are left out.
        **kwargs
            Of no consequence.
        """
        scores = self._scores(x)
        if scores is None:
            return None
        if len(scores) == 1:
            return self._names[1 if scores[0] > 0.0 else 0]
        return self._names[scores.argmax()]

    def predict_many(self, X: "pd.DataFrame") -> "pd.Series":
        """Return the likeliest label of each row; None before anything was learnt.

        Parameters
        ----------
        X
            The rows, as for `predict_one`.
        """
        import pandas as pd

        scores = self._scores_of_table(X)
        if scores is None:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        is_one = scores.shape[1] == 1
        places = scores[:, 0] > 0.0 if is_one else scores.argmax(axis=1)
        return pd.Series(self._system.classes_[places.astype(int)], index=X.index)

    def score_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """Return a score for each label, of which `predict_one` takes the largest.

        Parameters
        ----------
        x
            Features of a row, as for `predict_one`.

        Returns
        -------
        scores
            Of two labels one is the other's negative; no probabilities, but margins.
            Nothing before anything was learnt.
        """
        scores = self._scores(x)
        if scores is None:
            return {}
        if len(scores) == 1:
            scores = np.array([-scores[0], scores[0]])[: len(self._names)]
        return dict(zip(self._names, scores.tolist(), strict=True))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label; nothing before anything was learnt.

        Parameters
        ----------
        x
            Features of a row, as for `predict_one`.
        **kwargs
            Of no consequence.

        Raises
        ------
        NotImplementedError
            If it has none: most losses know no probabilities, "log_loss" does.
        """
        self._refuse_without_probabilities()
        scores = self._scores(x)
        if scores is None:
            return {}
        return dict(zip(self._names, self._chances(scores[np.newaxis])[0], strict=True))

    def predict_proba_many(self, X: "pd.DataFrame") -> "pd.DataFrame":
        """Return the probabilities of the labels of each row, a column for each label.

        Parameters
        ----------
        X
            The rows, as for `predict_one`.
        """
        import pandas as pd

        self._refuse_without_probabilities()
        scores = self._scores_of_table(X)
        if scores is None:
            return pd.DataFrame(index=X.index)
        found = self._chances(scores)
        return pd.DataFrame(found, index=X.index, columns=self._names)

    def _chances(self, scores: np.ndarray) -> list[list[float]]:
        """Probabilities of the labels of rows with these scores."""
        if len(self._names) == 1:
            return [[1.0]] * len(scores)
        # What a stream's scores are, is known without the rows.
        return chances(self._system._odds(scores)).tolist()

    def _refuse_without_probabilities(self) -> None:
        has = getattr(self._system, "_has_probabilities", None)
        if has is None or not has():
            advice = "" if has is None else " with another loss than 'log_loss'"
            raise NotImplementedError(
                f"{type(self).__name__} has no probabilities{advice}: score_one has "
                "scores, of which predict_one takes the largest"
            )


class WeightedClassifier(OnlineClassifier):
    """A classifier for rows that can have weights."""

    _weighs = True

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x
            Its features, numbers by their names. One that is left out is 0; one that
            has never been there before was 0 in all rows so far.
        y
            Its label, which may be a new one.
        w
            Its weight, a factor on the slope of the loss.
        """
        self._learn(x, y, w)

    def learn_many(
        self, X: "pd.DataFrame", y: "pd.Series", w: "float | pd.Series" = 1.0
    ) -> None:
        """Learn rows in order: what `learn_one` does, for less.

        Parameters
        ----------
        X
            Their features, by the names of the columns.
        y
            Their labels.
        w
            Their weights, or the one that all have.
        """
        self._learn_table(X, y, w)

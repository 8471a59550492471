"""Regressors with River's face."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from river import base

from onkel.river._model import NUMBERS, OnlineModel

if TYPE_CHECKING:
    import pandas as pd


class OnlineRegressor(OnlineModel, base.MiniBatchRegressor):
    """A regressor for River."""

    _weighs: ClassVar[bool] = False  # whether rows can have weights

    # ---- learning

    def learn_one(self, x: dict[Any, Any], y: float) -> None:
        """Learn a row.

        Parameters
        ----------
        x
            Its features, numbers by their names. One that is left out is 0; one that
            has never been there before was 0 in all rows so far.
        y
            Its target.
        """
        self._learn(x, y, 1.0)

    def learn_many(self, X: "pd.DataFrame", y: "pd.Series") -> None:
        """Learn rows in order: what `learn_one` does, for less.

        Parameters
        ----------
        X
            Their features, by the names of the columns.
        y
            Their targets.
        """
        self._learn_table(X, y, None)

    def _learn(self, x: Any, y: Any, w: Any) -> None:
        if self._way is None:
            self._open()
        is_plain = isinstance(y, NUMBERS) and isinstance(w, NUMBERS)
        if self._left and is_plain and self._fill(x, False):
            if self._way.learn(y, w):  # type: ignore[union-attr]
                if self._left > 0:
                    self._remember(float(y), w)
                return
        self._learn_long(x, y, w if self._weighs else None)

    # ---- predicting

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """Predict the target of a row; 0 before anything was learnt.

        Parameters
        ----------
        x
            Features of a row. Those that were in no row learnt are left out.
        **kwargs
            Of no consequence.
        """
        scores = self._scores(x)
        return 0.0 if scores is None else float(scores[0])

    def predict_many(self, X: "pd.DataFrame") -> "pd.Series":
        """Predict the target of each row; 0 before anything was learnt.

        Parameters
        ----------
        X
            The rows, as for `predict_one`.
        """
        import pandas as pd

        scores = self._scores_of_table(X)
        found = np.zeros(len(X)) if scores is None else scores[:, 0]
        return pd.Series(found, index=X.index)


class WeightedRegressor(OnlineRegressor):
    """A regressor for rows that can have weights."""

    _weighs = True

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x
            Its features, numbers by their names. One that is left out is 0; one that
            has never been there before was 0 in all rows so far.
        y
            Its target.
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
            Their targets.
        w
            Their weights, or the one that all have.
        """
        self._learn_table(X, y, w)

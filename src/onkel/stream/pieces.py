"""Pieces: a model of scikit-learn predicts, then learns, a few rows at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context


def in_pieces(
    model: Any,
    X: Any,
    y: np.ndarray,
    size: int,
    classes: Any = None,
    method: str = "predict",
    transform: Callable[[Any], Any] | None = None,
) -> np.ndarray:
    """Learn rows; return what was answered before their piece was learnt.

    Row by row the calls would cost far more than the model. A model that has learnt
    nothing answers 0; `transform` makes its features of the rows of a piece.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([0, 1, 0, 1])
    >>> in_pieces(SGDClassifier(random_state=0), X, y, size=2, classes=[0, 1]).tolist()
    [0, 0, 0, 1]
    """
    known = {} if classes is None else {"classes": classes}
    answers = np.zeros_like(y) if method == "predict" else np.zeros(len(y))
    # On so few rows the checks would be half of the cost.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for start in range(0, len(y), size):
            rows = slice(start, start + size)
            piece = X[rows] if transform is None else transform(X[rows])
            if hasattr(model, "coef_"):
                answers[rows] = getattr(model, method)(piece)
            model.partial_fit(piece, y[rows], **known)
    return answers

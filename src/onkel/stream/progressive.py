"""Progressive evaluation: predict each row, then learn from it."""

from typing import Any

import numpy as np


def progressive(estimator: Any, X: Any, y: Any, classes: Any = None) -> np.ndarray:
    """Learn the rows in order and return the score of each before its own update.

    This is test-then-train at the cost of learning alone: the learner needs these
    scores anyway. The estimator is changed exactly as by `partial_fit`.

    Parameters
    ----------
    estimator
        A classifier or regressor of this library, fitted or not.
    X : array-like or CSR matrix of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        Their labels or targets.
    classes : array-like, optional
        As in `partial_fit`.

    Returns
    -------
    scores of shape (n_samples,), or (n_samples, n_classes) for three classes or more
        Columns are the classes known after the last row; the score of a class before
        it was known is 0.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel import RBPClassifier, progressive
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> model = RBPClassifier(budget=50, gamma=2.0, random_state=0)
    >>> scores = progressive(model, X, y)
    >>> int(((scores > 0) != y).sum()) == model.n_mistakes_
    True
    """
    if not hasattr(estimator, "partial_fit"):
        raise TypeError(
            f"{type(estimator).__name__} has no partial_fit: it needs all rows at once "
            "and cannot learn from a stream"
        )
    scores = estimator._learn_stream(X, y, classes, None, keep_scores=True)
    return scores[:, 0] if scores.shape[1] == 1 else scores

"""Progressive evaluation: predict each row, then learn from it."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array, column_or_1d


def progressive(estimator: Any, X: Any, y: Any, classes: Any = None) -> np.ndarray:
    """Learn the rows in order and return the score of each before its own update.

    For a system of this library this is test-then-train at the cost of learning alone:
    the learner needs these scores anyway. Any other estimator with `partial_fit`
    predicts and learns row by row. It is changed exactly as by `partial_fit`.

    Parameters
    ----------
    estimator
        A classifier or regressor with `partial_fit`, fitted or not.
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
        it was known is 0. A classifier without `decision_function` has the logarithms
        of its probabilities for scores, with two classes their difference.

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
    if isinstance(estimator, type):
        raise TypeError(
            f"{estimator.__name__} is a class: make an estimator of it first, "
            f"{estimator.__name__}()"
        )
    if not hasattr(estimator, "partial_fit"):
        raise TypeError(
            f"{type(estimator).__name__} has no partial_fit: it needs all rows at once "
            "and cannot learn from a stream"
        )
    if not hasattr(estimator, "_learn_stream"):
        return _row_by_row(estimator, X, y, classes)
    scores = estimator._learn_stream(X, y, classes, None, keep_scores=True)
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _row_by_row(estimator: Any, X: Any, y: Any, classes: Any) -> np.ndarray:
    """Ask an estimator of another library for each row, and teach it."""
    X, y = check_array(X, accept_sparse="csr"), column_or_1d(y)
    if not is_classifier(estimator):
        if classes is not None:
            raise ValueError(f"{type(estimator).__name__} has no classes")
        score, known = getattr(estimator, "predict", None), {}
    else:
        score = _scorer(estimator)
        # Others than ours must know all labels before the first row.
        labels = np.unique(y if classes is None else classes)
        known = {"classes": getattr(estimator, "classes_", labels)}
    if score is None:
        raise TypeError(
            f"{type(estimator).__name__} has neither decision_function nor "
            "predict_log_proba nor predict: there are no scores to return"
        )
    fitted = hasattr(estimator, "n_features_in_")
    outputs = len(known.get("classes", [0]))
    scores = np.zeros((len(y), outputs if outputs > 2 else 1))
    for row in range(len(y)):
        x = X[row : row + 1]
        if fitted or row:
            scores[row] = score(x)
        estimator.partial_fit(x, y[row : row + 1], **known)
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _scorer(estimator: Any) -> Any:
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function
    if not hasattr(estimator, "predict_log_proba"):
        return None

    def score(x: Any) -> np.ndarray:
        logs = estimator.predict_log_proba(x)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    return score

"""Side by side: models that learn the same rows at once on a GPU.

The classes of `onkel` learn alone, and say here only what they would begin with: the
learner, its draws, and the order of rows. What is learnt is told, not kept.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from onkel.refit.devices import INSTEAD
from onkel.tune.devices import on_gpu
from onkel.tune.pupils import Lesson, Outcome, Pupil, RefusedError, kind_of, refusal


def dense(X: Any) -> np.ndarray:
    """Rows as a GPU takes them."""
    return np.ascontiguousarray(X.toarray() if scipy.sparse.issparse(X) else X, "f4")


def unfit(estimator: Any) -> str | None:
    """Why a GPU cannot teach an estimator, as far as its parameters tell.

    Examples
    --------
    >>> from onkel import BSGDClassifier, RBPClassifier
    >>> unfit(RBPClassifier(budget=10, gamma=1.0))
    >>> unfit(BSGDClassifier(refit=True))
    'it has refit=True'
    """
    if not hasattr(estimator, "_new_learner"):
        return "it does not learn row by row"
    for name in ("refit", "class_weight"):
        if getattr(estimator, name, None):
            return f"it has {name}={getattr(estimator, name)!r}"
    return None


def progressive(estimators: Sequence[Any], X: Any, y: Any) -> np.ndarray:
    """Score each row before it is learnt, for each of some estimators of one class.

    As `onkel.progressive` with all labels of y as `classes`, in single precision, up to
    rounding. The estimators stay as they are.

    Returns
    -------
    scores of shape (estimators, rows), or (estimators, rows, classes)
    """
    X, y = dense(X), np.asarray(y)
    pupils, lesson = [], None
    for estimator in estimators:
        targets, learner, _ = _beginning(estimator, X, y, None)
        pupils.append(Pupil(learner, np.arange(len(y))))
        lesson = Lesson(X, targets, len(y), len(y), 0)
    assert lesson is not None
    scores = taught(pupils, lesson).scores
    return scores[:, :, 0] if scores.shape[2] == 1 else scores


def predictions(
    estimators: Sequence[Any], X: Any, y: np.ndarray, learnt: int
) -> list[np.ndarray | None]:
    """What each would predict for the other rows, had it been fitted to the first.

    None for those whose scores overflow.
    """
    X = dense(X)
    pupils, answers, targets = [], [], y
    for estimator in estimators:
        targets, learner, rng = _beginning(estimator, X[:learnt], y[:learnt], learnt)
        own, rest = _visits(estimator, rng, learnt), np.arange(learnt, len(y))
        pupils.append(Pupil(learner, np.concatenate([own, rest])))
        answers.append(getattr(estimator, "classes_", None))
    steps = len(pupils[0].order)
    first = steps - (len(y) - learnt)
    unknown = np.zeros(len(y) - learnt)
    lesson = Lesson(X, np.concatenate([targets, unknown]), steps, first, first)
    outcome = taught(pupils, lesson)
    return [
        _predicted(scores, classes) if done == steps else None
        for scores, classes, done in zip(
            outcome.scores, answers, outcome.done, strict=True
        )
    ]


def taught(pupils: Sequence[Pupil], lesson: Lesson) -> Outcome:
    """Let pupils learn, of whatever kinds they are."""
    groups: dict[type, list[int]] = {}
    for place, pupil in enumerate(pupils):
        groups.setdefault(kind_of(pupil.learner), []).append(place)

    def work() -> list[Outcome]:
        from onkel.tune.cuda.grid import learn

        return [learn([pupils[m] for m in group], lesson) for group in groups.values()]

    parts = on_gpu(work)
    back = np.argsort(np.concatenate(list(groups.values())))
    return Outcome(
        *(np.concatenate(arrays)[back] for arrays in zip(*parts, strict=True))
    )


def _beginning(estimator: Any, X: np.ndarray, y: np.ndarray, rows: int | None) -> Any:
    """Return targets, an empty learner for them, and the generator of orders."""
    reason = unfit(estimator)
    if reason:
        raise RefusedError(_refused(estimator, reason))
    estimator._check_parameters()
    X, y = estimator._checked_data(X, y, reset=True)
    targets, outputs = estimator._encoded(y)
    with warnings.catch_warnings():
        # A kernel too narrow is among what is tried, and its error tells.
        warnings.filterwarnings("ignore", ".*no other in single precision")
        learner, rng = estimator._new_learner(X, outputs, rows)
    reason = refusal(learner)
    if reason:
        raise RefusedError(_refused(estimator, reason))
    return targets, learner, rng


def _refused(estimator: Any, reason: str) -> str:
    return (
        f'device="cuda": a GPU has no grid for {type(estimator).__name__} as it is '
        f"here: {reason}. There are RBP, Forgetron, BOGD, BSGD with merging or "
        f"removal, and FOGD, {INSTEAD}."
    )


def _visits(estimator: Any, rng: np.random.Generator, rows: int) -> np.ndarray:
    """Rows in the order in which `fit` takes them."""
    passes = [
        rng.permutation(rows) if estimator.shuffle else np.arange(rows)
        for _ in range(estimator.max_iter)
    ]
    return np.concatenate(passes)


def _predicted(scores: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Say what scores mean, as `predict` does."""
    if classes is None:
        return scores[:, 0]
    if scores.shape[1] == 1:
        return classes[(scores[:, 0] > 0).astype(int)]
    return classes[scores.argmax(axis=1)]

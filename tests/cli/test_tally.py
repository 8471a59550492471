"""The figures of `onkel evaluate`, which are scikit-learn's, batch by batch."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn import metrics

from onkel.cli import tally as module
from onkel.cli.tally import Tally

RNG = np.random.default_rng(0)


def counted(
    y: np.ndarray, scores: np.ndarray, proba: np.ndarray, classes: np.ndarray
) -> Tally:
    tally = Tally(classes, len(y))
    best = proba.argmax(axis=1)
    for rows in np.array_split(np.arange(len(y)), 7):
        tally.add(classes[best[rows]], y[rows], scores[rows], proba[rows], classes)
    return tally


def test_two_classes() -> None:
    classes = np.array(["no", "yes"])
    truth = RNG.random(2000) < 0.3
    scores = (RNG.normal(size=2000) + truth).astype(np.float32)
    proba = softmax(np.column_stack([-scores, scores]) / 2, axis=1)
    y, predicted = classes[truth.astype(int)], proba.argmax(axis=1)
    tally = counted(y, scores, proba, classes)
    found = tally.result()
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert found["f1"] == pytest.approx(metrics.f1_score(truth, predicted))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, proba))
    share = np.mean(truth)
    constant = np.tile([1 - share, share], (2000, 1))
    assert tally.baseline() == {
        "always": "no",
        "accuracy": pytest.approx(1 - share),
        "error": pytest.approx(share),
        "f1": 0.0,
        "auc": 0.5,
        "log_loss": pytest.approx(metrics.log_loss(truth, constant)),
    }


def test_more_classes_and_one_that_the_model_has_not_seen() -> None:
    classes = np.array([1, 3, 5, 7])
    y = RNG.choice(classes[:3], size=900)
    scores = RNG.normal(size=(900, 4)) + 2.0 * (y[:, None] == classes)
    proba = softmax(scores, axis=1)
    found = counted(y, scores, proba, classes).result()
    predicted = classes[proba.argmax(axis=1)]
    assert found["f1_macro"] == pytest.approx(
        metrics.f1_score(y, predicted, average="macro", zero_division=0.0)
    )
    areas = [
        metrics.roc_auc_score(y == k, scores[:, i]) for i, k in enumerate((1, 3, 5))
    ]
    assert found["auc"] == pytest.approx(np.mean(areas))
    fewer = Tally(classes, 900)
    known = softmax(scores[:, 1:], axis=1)
    fewer.add(classes[1:][known.argmax(axis=1)], y, scores[:, 1:], known, classes[1:])
    whole = np.column_stack([np.zeros(900), known])
    expected = metrics.log_loss(y, whole, labels=classes)
    assert fewer.result()["log_loss"] == pytest.approx(expected)


def test_many_scores_are_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SCORES", 2000)
    truth = RNG.random(20_000) < 0.5
    scores = RNG.normal(size=20_000) + truth
    proba = softmax(np.column_stack([-scores, scores]), axis=1)
    tally = counted(truth.astype(int), scores, proba, np.array([0, 1]))
    assert 1700 < sum(len(kept) for kept, _ in tally._scored) < 2300
    exact = metrics.roc_auc_score(truth, scores)
    assert tally.result()["auc"] == pytest.approx(exact, abs=0.05)


def test_numbers() -> None:
    y = 1e6 + RNG.normal(size=1000)
    predicted = y + 0.3 * RNG.normal(size=1000)
    tally = Tally(None)
    for rows in np.array_split(np.arange(1000), 3):
        tally.add(predicted[rows], y[rows])
    found = tally.result()
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, predicted))
    assert found["r2"] == pytest.approx(metrics.r2_score(y, predicted))
    mae = metrics.mean_absolute_error(y, predicted)
    assert found["mean_absolute_error"] == pytest.approx(mae)
    assert tally.baseline()["rmse"] == pytest.approx(y.std())
    assert tally.warnings == []


def test_who_is_no_better_than_a_constant_is_told() -> None:
    tally = Tally(np.array([0, 1]))
    tally.add(np.array([0, 0, 0]), np.array([0, 0, 1]))
    assert "always 0" in tally.warnings[0]
    mean = Tally(None)
    mean.add(np.array([9.0, 9.0]), np.array([1.0, 2.0]))
    assert "the mean" in mean.warnings[0]

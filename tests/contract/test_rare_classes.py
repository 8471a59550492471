"""Rare classes: probabilities, weights of classes, and how parameters are judged."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import get_scorer

import onkel

GIVEN = {"budget": 40, "gamma": 0.5, "C": 1.0, "random_state": 0}


def rare(rows: int, share: float = 0.02, seed: int = 0) -> tuple[Any, Any]:
    """Two classes that overlap, one of them rare."""
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < share
    X = rng.normal(size=(rows, 2)) + np.where(y, 1.8, 0.0)[:, np.newaxis]
    return X, y.astype(int)


def classifier(**parameters: Any) -> Any:
    return onkel.KernelClassifier(**{**GIVEN, **parameters})


@pytest.mark.parametrize("loss", ["auto", "squared_hinge"])
def test_a_rare_class_is_as_likely_as_it_is_frequent(loss: str) -> None:
    X, y = rare(6000)
    model = classifier(loss=loss).fit(X[:3000], y[:3000])
    chances = model.predict_proba(X[3000:])[:, 1]
    assert chances.mean() == pytest.approx(0.02, abs=0.007)
    assert chances.min() < 0.005
    logs = model.predict_log_proba(X[3000:])
    np.testing.assert_allclose(np.exp(logs[:, 1]), chances, rtol=1e-9)


def test_the_loss_is_chosen_by_the_rarest_of_two_classes() -> None:
    X, y = rare(600, 0.3)
    model, twin = classifier().fit(X, y), classifier(loss="squared_hinge").fit(X, y)
    assert model.loss_ == twin.loss_ == "squared_hinge"
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))
    X, y = rare(600)
    assert classifier().fit(X, y).loss_ == "log_loss"
    # With as much weight as the others it is not rare.
    assert classifier(class_weight="balanced").fit(X, y).loss_ == "squared_hinge"


# ---- weights of classes --------------------------------------------------------------


def test_the_score_it_claims_counts_rows_not_class_weights() -> None:
    X, y = rare(4000)
    model = classifier(class_weight={1: 5.0}).fit(X[:2000], y[:2000])
    assert model.held_out_score_ == pytest.approx(model.score(X, y), abs=0.01)


def test_the_score_it_claims_counts_sample_weights() -> None:
    X, y = rare(4000, 0.3)
    y[X[:, 0] < -0.5] ^= 1
    weight = np.where(X[:, 0] < 0.0, 9.0, 1.0)
    for class_weight in (None, {1: 3.0}):
        model = classifier(class_weight=class_weight)
        model.fit(X[:2000], y[:2000], sample_weight=weight[:2000])
        weighted = model.score(X[2000:], y[2000:], sample_weight=weight[2000:])
        assert model.held_out_score_ == pytest.approx(weighted, abs=0.03)


def test_probabilities_are_those_of_the_weights_of_classes() -> None:
    X, y = rare(6000)
    weight = np.array([1.0, 20.0])
    model = classifier(class_weight=dict(enumerate(weight))).fit(X[:3000], y[:3000])
    chances = model.predict_proba(X[3000:])
    np.testing.assert_array_equal(model.predict(X[3000:]), chances.argmax(axis=1))
    # As if the rare class came twenty times as often.
    wanted = np.average(y[3000:], weights=weight[y[3000:]])
    found = np.average(chances[:, 1], weights=weight[y[3000:]])
    assert found == pytest.approx(wanted, abs=0.05)
    plain = chances / weight
    plain /= plain.sum(axis=1, keepdims=True)
    assert plain[:, 1].mean() == pytest.approx(0.02, abs=0.01)


# ---- scoring -------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_the_score_it_claims_is_that_of_the_scoring(classes: int) -> None:
    X, y = rare(3000, 0.2)
    if classes == 3:
        y[X[:, 1] < -0.8] = 2
    names = ["average_precision", "neg_log_loss"]
    names += ["f1", "roc_auc"] if classes == 2 else ["f1_macro", "roc_auc_ovr"]
    for name in names:
        model = classifier(scoring=name).fit(X[:1000], y[:1000])
        found = get_scorer(name)(model, X[1000:], y[1000:])
        assert model.held_out_score_ == pytest.approx(found, abs=0.08), name


@pytest.mark.parametrize(
    "name", ["r2", "neg_mean_absolute_error", "neg_root_mean_squared_error"]
)
def test_the_score_a_regressor_claims_is_that_of_the_scoring(name: str) -> None:
    X, _ = rare(3000)
    y = 50.0 * np.sin(2.0 * X[:, 0]) + 10.0 * np.random.default_rng(1).normal(size=3000)
    model = onkel.KernelRegressor(**GIVEN, scoring=name).fit(X[:1000], y[:1000])
    found = get_scorer(name)(model, X[1000:], y[1000:])
    assert model.held_out_score_ == pytest.approx(found, rel=0.1)


def test_a_scoring_that_does_not_fit_is_refused() -> None:
    X, y = rare(200, 0.3)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        classifier(scoring="r2").fit(X, y)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        onkel.KernelRegressor(scoring="f1").fit(X, X[:, 0])
    y[:50] = 2
    with pytest.raises(ValueError, match=r"for two classes.*f1_macro"):
        classifier(scoring="f1").fit(X, y)


def test_a_class_of_few_rows_has_a_score_or_none() -> None:
    X, y = rare(100, 0.0)
    y[3] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = classifier(scoring="roc_auc", C="auto").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_a_class_that_is_never_predicted_is_told_of() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = np.where(np.arange(500) % 20 == 0, "yes", "no")
    with pytest.warns(UserWarning, match=r"class 'yes'.*class_weight.*scoring"):
        classifier().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(class_weight="balanced").fit(X, y)


def test_a_model_of_the_version_before_goes_on() -> None:
    X, y = rare(600, 0.3)
    model = classifier(loss="squared_hinge").fit(X[:300], y[:300])
    before = model.held_out_score_
    del model._started_with["scoring"], model.loss_
    assert model.held_out_score_ == before
    model.partial_fit(X[300:], y[300:])
    assert model.score(X, y) > 0.7

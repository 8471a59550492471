"""A row has the same effect, to the bit, whichever face a system shows."""

from typing import Any

import numpy as np
import pytest

import onkel
import onkel.river
from tests.river.streams import made_up, named

ROWS, MORE = 90, 20
# One of each kind: walks, strategies, caches, features and averages.
SYSTEMS: list[tuple[str, dict[str, Any]]] = [
    ("RBPClassifier", {"budget": 12, "gamma": 0.5}),
    ("ForgetronClassifier", {"budget": 12, "gamma": 0.5}),
    ("BOGDClassifier", {"budget": 12}),
    ("ProjectronClassifier", {"budget": 12}),
    ("BSGDClassifier", {"budget": 12}),
    ("BSGDRegressor", {"budget": 12, "alpha": 0.01}),
    ("KernelSGDClassifier", {"kernel": "poly"}),  # grows, with a ball
    ("AVMClassifier", {"max_core": 12}),
    ("FOGDClassifier", {"n_components": 20, "loss": "log_loss"}),
    ("FOGDClassifier", {"kernel": "linear"}),
    ("NOGDClassifier", {"budget": 12, "rank": 5}),
    ("DualSGDRegressor", {"budget": 12, "n_components": 20, "merge_size": 4}),
    ("DualSVRGClassifier", {"budget": 12, "n_components": 20, "memory_size": 50}),
    ("KRLSClassifier", {"budget": 12}),
    ("KRLSRegressor", {"budget": 12}),
    ("KernelClassifier", {"budget": 12}),
]


def answers(model: Any, X: np.ndarray) -> np.ndarray:
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.filterwarnings("ignore")  # few rows make bad models
@pytest.mark.parametrize(("name", "parameters"), SYSTEMS)
def test_learn_one_does_what_partial_fit_does(
    name: str, parameters: dict[str, Any]
) -> None:
    X, labels, f = made_up(ROWS + MORE, classes=3)
    y = f if name.endswith("Regressor") else labels
    ours = getattr(onkel.river, name)(**parameters, seed=3)
    theirs = getattr(onkel, name)(**parameters, random_state=3)
    for row, x in enumerate(named(X[:ROWS])):
        ours.learn_one(x, y[row].item())
        theirs.partial_fit(X[row : row + 1], y[row : row + 1])
    expected, copy = answers(theirs, X[ROWS:]), ours.to_sklearn()
    np.testing.assert_array_equal(answers(copy, X[ROWS:]), expected)
    assert (copy.t_, copy.n_updates_) == (theirs.t_, theirs.n_updates_)
    assert (copy.n_mistakes_ if hasattr(copy, "n_mistakes_") else 0) == (
        theirs.n_mistakes_ if hasattr(theirs, "n_mistakes_") else 0
    )


@pytest.mark.parametrize("name", ["BSGDClassifier", "BSGDRegressor"])
def test_rows_weigh_what_they_weigh_elsewhere(name: str) -> None:
    X, labels, f = made_up(ROWS)
    y = f if name.endswith("Regressor") else labels
    weight = np.random.default_rng(0).uniform(0.0, 2.0, ROWS)
    given: dict[str, Any] = {"budget": 12, "gamma": 0.5, "alpha": 0.01}
    if name.endswith("Classifier"):
        given["class_weight"] = {1: 3.0}
    ours = getattr(onkel.river, name)(**given, seed=0)
    theirs = getattr(onkel, name)(**given, random_state=0)
    for row, x in enumerate(named(X)):
        ours.learn_one(x, y[row].item(), w=weight[row].item())
        some = slice(row, row + 1)
        theirs.partial_fit(X[some], y[some], sample_weight=weight[some])
    np.testing.assert_array_equal(answers(ours.to_sklearn(), X), answers(theirs, X))


def test_one_row_is_predicted_as_it_is_with_others() -> None:
    import pandas as pd

    X, y, _ = made_up(ROWS, classes=3)
    model = onkel.river.FOGDClassifier(n_components=20, loss="log_loss", seed=0)
    table = pd.DataFrame(named(X), index=range(5, ROWS + 5))
    assert model.predict_many(table).isna().all()
    assert model.predict_proba_many(table).empty
    model.learn_many(table, pd.Series(y, index=table.index))
    rows = named(X)
    labels, chances = model.predict_many(table), model.predict_proba_many(table)
    assert labels.index.equals(table.index) and chances.index.equals(table.index)
    assert labels.tolist() == [model.predict_one(x) for x in rows]
    assert chances.to_dict("records") == [model.predict_proba_one(x) for x in rows]
    scores = [model.score_one(x) for x in rows]
    assert labels.tolist() == [max(each, key=each.get) for each in scores]
    np.testing.assert_allclose(
        [list(each.values()) for each in scores],
        model.to_sklearn().decision_function(X),
        rtol=1e-10,
    )


def test_probabilities_are_those_of_the_other_face() -> None:
    X, y, _ = made_up(ROWS)
    for name, parameters in (
        ("FOGDClassifier", {"n_components": 20, "loss": "log_loss"}),
        ("KRLSClassifier", {"budget": 12}),
        ("KernelClassifier", {"budget": 12}),
    ):
        model = getattr(onkel.river, name)(**parameters, seed=0)
        for x, label in zip(named(X), y.tolist(), strict=True):
            model.learn_one(x, label)
        ours = [list(model.predict_proba_one(x).values()) for x in named(X)]
        theirs = model.to_sklearn().predict_proba(X)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)

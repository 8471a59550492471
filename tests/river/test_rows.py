"""What rows may hold, and what becomes of those that may not."""

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

import onkel.river
from tests.river.streams import made_up, named

ROWS = 60
RBP = {"budget": 12, "gamma": 0.5, "seed": 0}


def taught(name: str, X: np.ndarray, y: Any, **parameters: Any) -> Any:
    model = getattr(onkel.river, name)(**parameters)
    for x, target in zip(named(X), y, strict=True):
        model.learn_one(x, target)
    return model


def scores(model: Any, rows: list[dict[Any, Any]]) -> list[Any]:
    if hasattr(model, "score_one"):
        return [list(model.score_one(x).values()) for x in rows]
    return [model.predict_one(x) for x in rows]


# ---- features that come and go


FIXED: dict[str, dict[str, Any]] = {
    "RBPClassifier": {"budget": 12},
    "BOGDClassifier": {"budget": 12, "average": "full", "average_exact": True},
    "AVMClassifier": {"coverage": "grid", "coverage_radius": 0.8},
    "NOGDClassifier": {"budget": 12, "rank": 5},
    "KRLSClassifier": {"budget": 12, "noise": 0.1, "forgetting": 1.0},
}


@pytest.mark.parametrize("gamma", [0.5, "scale"])
@pytest.mark.parametrize("name", FIXED)
def test_an_absent_feature_is_zero(name: str, gamma: Any) -> None:
    """A row that leaves a feature out is one in which it is 0, known or not yet."""
    X, y, _ = made_up(ROWS)
    X[:40, 4], X[::3, 2] = 0.0, 0.0
    # At 64 rows statistics would be taken of other columns.
    given = FIXED[name] | {"gamma": gamma, "seed": 0}
    whole = taught(name, X, y.tolist(), **given)
    rows = [{key: value for key, value in x.items() if value} for x in named(X)]
    holes = getattr(onkel.river, name)(**given)
    for x, label in zip(rows, y.tolist(), strict=True):
        holes.learn_one(x, label)
    assert set(holes.columns) == set("abcde")
    if gamma == "scale":
        return  # 1/(features * variance), of the features that there were
    np.testing.assert_allclose(scores(holes, rows), scores(whole, rows), rtol=1e-9)


def test_the_widths_of_a_model_double() -> None:
    model = onkel.river.RBPClassifier(**RBP)
    widths = set()
    for k in range(40):
        model.learn_one({"always": 1.0, f"word {k}": 1.0}, k % 3)
        widths.add(model.to_sklearn().n_features_in_)
    assert widths == {2, 4, 8, 16, 32, 64}
    assert len(model.columns) == 41


@pytest.mark.parametrize("features", ["fourier", "orthogonal"])
def test_frequencies_of_new_columns_depend_on_seed_and_column(features: str) -> None:
    def frequencies(first: str) -> np.ndarray:
        given = {"n_components": 20, "gamma": 0.5, "features": features, "seed": 4}
        model = onkel.river.FOGDClassifier(**given)
        model.learn_one(dict.fromkeys("ab", 1.0), True)
        for name in (first, *"cdef"):
            model.learn_one({name: 1.0}, False)
        return model.to_sklearn().frequencies_

    one, same = frequencies("c"), frequencies("f")
    np.testing.assert_array_equal(one, same)
    assert one.shape == (10, 8) and (one != 0.0).all()
    spread = one[:, 2:].std()
    assert 0.7 < spread < 1.3  # sqrt(2 gamma)


def test_explicit_features_of_a_linear_kernel_are_those_of_the_first_row() -> None:
    model = onkel.river.FOGDClassifier(kernel="linear", seed=0)
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="cannot have more later"):
        model.learn_one({"a": 1.0, "b": 1.0}, False)
    model.learn_one({}, False)
    assert model.predict_one({"b": 3.0}) is False


def test_a_kernel_machine_sees_recent_rows_again_with_a_new_feature() -> None:
    X, y, _ = made_up(ROWS)
    model = taught("KernelClassifier", X[:, :4], y.tolist(), budget=12, seed=0)
    model.learn_one(named(X)[0], 1)
    assert model.columns == tuple("abcde")
    assert model.to_sklearn().t_ == ROWS + 1


def test_the_order_of_names_in_a_row_is_of_no_consequence() -> None:
    X, y, _ = made_up(ROWS)
    backwards = [dict(reversed(x.items())) for x in named(X)]
    one = taught("DualSGDClassifier", X, y.tolist(), n_components=20, seed=0)
    other = onkel.river.DualSGDClassifier(n_components=20, seed=0)
    for x, label in zip(backwards, y.tolist(), strict=True):
        other.learn_one(x, label)
    assert scores(one, named(X)) == scores(other, backwards)


def test_names_may_be_of_any_kind_and_rows_of_any_mapping() -> None:
    model = onkel.river.RBPClassifier(**RBP)
    model.learn_one(Counter({2: 1, ("a", "b"): 3}), "x")
    model.learn_one(Counter({"c": 1, 2: 1}), "y")
    model.learn_one(Counter({2: 1, ("a", "b"): 3}), "x")
    assert model.predict_one(Counter({2: 1, ("a", "b"): 3})) == "x"
    assert len(model.columns) == 3


# ---- labels


@pytest.mark.parametrize(
    "labels", [(False, True), (0, 1, 2), ("cat", "dog", "elephant"), (-1, 1)]
)
def test_labels_come_back_as_they_were_given(labels: tuple[Any, ...]) -> None:
    X, y, _ = made_up(ROWS, classes=len(labels))
    y[:20] = 0
    y[20:30] %= 2
    model = taught("BSGDClassifier", X, [labels[k] for k in y], **RBP)
    predicted = [model.predict_one(x) for x in named(X)]
    assert set(predicted) <= set(labels)
    assert {type(label) for label in predicted} == {type(labels[0])}
    assert list(model.score_one(named(X)[0])) == sorted(labels)


def test_a_label_that_comes_later_is_learnt() -> None:
    X, y, _ = made_up(ROWS, classes=2)
    model = taught("RBPClassifier", X, y.tolist(), **RBP)
    for _ in range(3):
        model.learn_one(dict.fromkeys("abcde", 5.0), 2)
    assert model.predict_one(dict.fromkeys("abcde", 5.0)) == 2


def test_before_anything_was_learnt() -> None:
    assert onkel.river.RBPClassifier().predict_one({"a": 1.0}) is None
    assert onkel.river.RBPClassifier().score_one({"a": 1.0}) == {}
    assert onkel.river.KRLSClassifier().predict_proba_one({"a": 1.0}) == {}
    assert onkel.river.RBPRegressor().predict_one({"a": 1.0}) == 0.0
    with pytest.raises(NotImplementedError, match="with another loss than"):
        onkel.river.BSGDClassifier().predict_proba_one({"a": 1.0})
    with pytest.raises(NotImplementedError, match="has no probabilities: score_one"):
        onkel.river.RBPClassifier().predict_proba_one({"a": 1.0})


# ---- what is refused


BAD_ROWS = [
    ({"c": np.nan}, "Feature 'c' is NaN"),
    ({"c": np.inf}, "Feature 'c' is infinite"),
    ({"c": -np.inf}, "Feature 'c' is infinite"),
    ({"c": 1e200}, "Feature 'c' is 1e\\+200, whose square overflows"),
    ({"c": "1.5"}, "Feature 'c' is text, '1.5'.*OneHotEncoder"),
    ({"c": None}, "Feature 'c' is a missing value"),
    ({"c": 10**400}, "Feature 'c' is an integer too large"),
    ({"c": [1.0]}, "Feature 'c' is a list"),
    ({"c": pd.Timestamp("2020-01-01")}, "Feature 'c' is a time"),
    ({"new": "red"}, "Feature 'new' is text"),
]


@pytest.mark.parametrize("name", ["RBPClassifier", "FOGDRegressor", "KernelRegressor"])
@pytest.mark.parametrize(("entry", "message"), BAD_ROWS)
def test_a_bad_row_is_refused_and_changes_nothing(
    name: str, entry: dict[str, Any], message: str
) -> None:
    X, y, _ = made_up(10)
    small = {"RBPClassifier": RBP, "FOGDRegressor": {"n_components": 20, "seed": 0}}
    model = taught(name, X, y.tolist(), **small.get(name, {"budget": 12, "seed": 0}))
    row = named(X)[0] | entry
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(row, 1)
    if "new" not in entry:
        with pytest.raises(ValueError, match=message):
            model.predict_one(row)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("RBPClassifier", None, "missing value"),
        ("RBPClassifier", "text", "text and numbers cannot be mixed"),
        ("RBPClassifier", [1], "one label or target"),
        ("RBPClassifier", 0.5, "continuous"),
        ("BSGDRegressor", np.nan, "NaN"),
        ("BSGDRegressor", "text", "number|numeric|convert"),
        ("BSGDRegressor", 1e200, "too large"),
    ],
)
def test_a_bad_target_is_refused_and_changes_nothing(
    name: str, y: Any, message: str
) -> None:
    X, labels, _ = made_up(10)
    model = taught(name, X, labels.tolist(), **RBP)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(named(X)[0] | {"new": 1.0}, y)
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=message):
        model.learn_one(named(X)[0], y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("w", [-1.0, np.nan, np.inf, "heavy"])
def test_a_bad_weight_is_refused(w: Any) -> None:
    X, y, _ = made_up(10)
    model = taught("BSGDClassifier", X, y.tolist(), **RBP)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="weight"):
        model.learn_one(named(X)[0], 1, w=w)
    assert pickle.dumps(model) == before


def test_a_row_that_would_overflow_is_refused_and_changes_nothing() -> None:
    """Errors grow by the step until a score would be infinite."""
    model = onkel.river.KLMSRegressor(gamma=0.5, eta0=1e12, seed=0)
    x, said = {"a": 1.0}, []
    for _ in range(30):
        before = pickle.dumps(model)
        try:
            model.learn_one(x, 1.0)
        except ValueError as error:
            said.append(str(error))
            assert pickle.dumps(model) == before
    assert 0 < len(said) < 10 and all("overflowed" in text for text in said)
    assert np.isfinite(model.predict_one(x))


def test_tables_are_checked_as_rows_are() -> None:
    X, y, _ = made_up(10)
    table, model = pd.DataFrame(named(X)), onkel.river.RBPClassifier(**RBP)
    model.learn_many(table, pd.Series(y))
    before = pickle.dumps(model)
    for bad, message in (
        (table.assign(c=np.nan), "Feature 'c' is NaN in row 0"),
        (table.assign(c="red"), "text, 'red'"),
        (table.assign(c=pd.Timestamp("2020-01-01")), "times"),
        (X, "must be a data frame"),
        (pd.concat([table, table], axis=1), "several columns of the same name"),
    ):
        with pytest.raises(ValueError, match=message):
            model.learn_many(bad, pd.Series(y))
        with pytest.raises(ValueError, match=message):
            model.predict_many(bad)
    with pytest.raises(ValueError, match="must be a dict of features"):
        model.learn_one([1.0, 2.0], 1)
    assert pickle.dumps(model) == before
    model.learn_many(table[:0], pd.Series(y)[:0])
    assert pickle.dumps(model) == before

"""Systems that need all rows at once: what fit promises, and what they refuse."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import onkel
from tests.contract.systems import rows

SEED, BUDGET = 7, 12


def classifier(**parameters: Any) -> Any:
    given = {"budget": BUDGET, "gamma": 0.5, "C": 2.0, "max_iter": 3, **parameters}
    return onkel.BSCAClassifier(**given, random_state=SEED)


def regressor(**parameters: Any) -> Any:
    given = {"budget": BUDGET, "gamma": 0.5, "C": 2.0, "max_iter": 3, **parameters}
    return onkel.BSCARegressor(**given, random_state=SEED)


def data(make: Any, count: int = 120, classes: int = 2) -> Any:
    X, f = rows(count)
    if make is regressor:
        return X, f
    return X, np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))


both = pytest.mark.parametrize("make", [classifier, regressor])


def same(model: Any, other: Any) -> None:
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(model.support_vectors_, other.support_vectors_)
    np.testing.assert_array_equal(model.dual_variables_, other.dual_variables_)
    assert model.n_updates_ == other.n_updates_


@both
def test_there_is_no_stream(make: Any) -> None:
    assert not hasattr(make(), "partial_fit")
    with pytest.raises(TypeError, match="no partial_fit"):
        onkel.progressive(make(), *data(make))
    with pytest.raises(TypeError, match="is a class: make an estimator"):
        onkel.progressive(type(make()), *data(make))


@both
def test_the_same_seed_gives_the_same_bits(make: Any) -> None:
    X, y = data(make)
    model = make().fit(X, y)
    same(model, make().fit(X, y))
    same(model, clone(model).fit(X, y))
    other = make().set_params(random_state=8).fit(X, y)
    assert not np.array_equal(model.dual_variables_, other.dual_variables_)


@both
def test_a_pickled_model_predicts_the_same(make: Any) -> None:
    X, y = data(make)
    model = make().fit(X, y)
    twin = pickle.loads(pickle.dumps(model))
    same(model, twin)
    np.testing.assert_array_equal(model.predict(X), twin.predict(X))
    # What learning needed of the data does not go along.
    assert len(pickle.dumps(model)) < 40_000


@both
@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda X, y: (np.where(np.arange(3) == 1, np.nan, X), y), "NaN in row 0"),
        (lambda X, y: (np.where(np.arange(3) == 1, np.inf, X), y), "infinity in row 0"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X, y[:-1]), "inconsistent"),
        (lambda X, y: (np.full(X.shape, "a"), y), "text"),
    ],
    ids=["nan", "infinity", "empty", "lengths", "text"],
)
def test_a_refused_fit_changes_nothing(make: Any, spoil: Any, message: str) -> None:
    X, y = data(make)
    model = make().fit(X, y)
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match=message):
        model.fit(*spoil(X, y))
    same(model, twin)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"C": 0.0}, "C"),
        ({"C": np.nan}, "C"),
        ({"budget": 0}, "budget"),
        ({"loss": "log_loss"}, "loss"),
        ({"selection": "best"}, "selection"),
        ({"tol": -1.0}, "tol"),
        ({"average": "full"}, "average"),
        ({"maintenance": "forget"}, "maintenance"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"kernel": "poly"}, 'maintenance="merge" needs kernel="rbf"'),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_parameters_are_named(parameters: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(**parameters).fit(*data(classifier))


def test_one_class_is_refused() -> None:
    X, _ = data(classifier)
    with pytest.raises(ValueError, match="one class"):
        classifier().fit(X, np.zeros(len(X)))


def test_classes_have_their_weights() -> None:
    X, y = data(classifier)
    weighted = classifier(class_weight={0: 0.5, 1: 3.0}).fit(X, y)
    given = classifier().fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.5))
    same(weighted, given)
    highest = np.where(y == 1, 6.0, 1.0)
    assert (weighted.dual_variables_[0] <= highest).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_the_expansion(classes: int) -> None:
    X, y = data(classifier, classes=classes)
    model = classifier().fit(scipy.sparse.csr_array(X), y)
    squared = ((X[:, None] - model.support_vectors_) ** 2).sum(axis=2)
    scores = np.exp(-0.5 * squared) @ model.dual_coef_.T
    np.testing.assert_allclose(
        model.decision_function(X), scores.squeeze(), rtol=1e-7, atol=1e-7
    )
    assert model.dual_variables_.shape == (scores.shape[1], len(X))


def test_a_plateau_ends_fit_and_a_tolerance_of_zero_does_not() -> None:
    X, y = data(classifier)
    patient = classifier(max_iter=60, tol=0.0, budget=None).fit(X, y)
    assert patient.n_iter_ == 60
    eager = classifier(max_iter=60, tol=1e-2, budget=None).fit(X, y)
    assert 1 < eager.n_iter_ < 60


@pytest.mark.parametrize("system", [onkel.BSCAClassifier, onkel.BSGDClassifier])
def test_monitoring_tells_without_changing_anything(system: Any) -> None:
    X, y = data(classifier)
    given = {"budget": BUDGET, "gamma": 0.5, "max_iter": 3, "random_state": SEED}
    quiet = system(**given).fit(X, y)
    watched = system(**given, monitor=True).fit(X, y)
    np.testing.assert_array_equal(quiet.dual_coef_, watched.dual_coef_)
    history = watched.history_
    assert history["epoch"] == [1, 2, 3]
    assert history["size"][-1] == watched.model_size_
    assert sum(history["updates"]) * len(X) == pytest.approx(watched.n_updates_)
    assert sum(history["maintenance"]) * len(X) == pytest.approx(watched.n_maintenance_)
    assert np.isfinite(history["primal"] + history["dual"]).all()
    assert (np.diff(history["seconds"]) > 0).all()
    assert not hasattr(quiet, "history_")
    assert not hasattr(watched.set_params(monitor=False).fit(X, y), "history_")


def test_the_primal_of_the_history_is_the_primal() -> None:
    X, y = data(classifier)
    model = classifier(monitor=True, average=None, C=3.0).fit(X, y)
    f, sign = model.decision_function(X), 2 * y - 1
    squared = model.support_vectors_[:, None] - model.support_vectors_
    K = np.exp(-0.5 * (squared**2).sum(axis=2))
    a = model.dual_coef_[0]
    primal = a @ K @ a / 2 + 3.0 * np.maximum(0, 1 - sign * f).sum()
    assert model.history_["primal"][-1] == pytest.approx(primal)
    dual = model.dual_variables_[0]
    surrogate = dual.sum() - (dual * sign * f).sum() / 2
    assert model.history_["dual"][-1] == pytest.approx(surrogate)


def test_a_callback_sees_every_epoch_and_may_stop() -> None:
    seen = []

    class Enough:
        def setup(self, estimator: Any, context: Any) -> None: ...

        def teardown(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_end(
            self, estimator: Any, context: Any, *, fitted_estimator: Any
        ) -> bool:
            if context.task_name == "pass":
                seen.append(fitted_estimator.predict(X))
            return context.task_name == "pass" and len(seen) == 2

    pytest.importorskip("sklearn.callback")
    X, y = data(classifier)
    for system in (classifier(max_iter=5), onkel.BSGDClassifier(max_iter=5, gamma=0.5)):
        seen.clear()
        model = system.set_callbacks(Enough()).fit(X, y)
        assert model.n_iter_ == len(seen) == 2
        np.testing.assert_array_equal(model.predict(X), seen[-1])

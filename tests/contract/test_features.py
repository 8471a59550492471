"""Systems with explicit features, and the transformers: what they promise and refuse.

Contract items 3, 5, 13-16 and 19-25, as far as the tests over all systems do not see
them: the weights of features, phases, periods and memories.
"""

import copy
import itertools
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import onkel
from onkel.estimators._beginning import LONGEST, informing
from tests.contract.systems import (
    BUDGET,
    CLASSIFIERS,
    REGRESSORS,
    SEED,
    SYSTEMS,
    System,
    data,
    each,
    goes_on_alike,
    rows,
    scores,
)
from tests.contract.test_labels import ARRIVALS, ORDERS, late_labels
from tests.exact.losses import slopes

ROWS = 150
FOURIER = [name for name, system in SYSTEMS.items() if system.explicit]
STREAMS = [*FOURIER, "nogd", "nogd-r"]
FOGD, NOGD = CLASSIFIERS["fogd"], CLASSIFIERS["nogd"]
SVRG, SVRG_C = CLASSIFIERS["dual-svrg"], CLASSIFIERS["dual-svrg-c"]
in_both_formats = pytest.mark.parametrize(
    "form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"]
)


def expressed(model: Any, X: np.ndarray) -> np.ndarray:
    """Fourier features by their formula."""
    angles = X @ model.frequencies_.T
    both = np.hstack([np.cos(angles), np.sin(angles)])
    return both / math.sqrt(len(model.frequencies_))


# ---- refusals ------------------------------------------------------------------------

ODD = {"n_components": 7}
HUGE = 2**40


def bad_values() -> Any:
    """System, parameters that it refuses, and what the message names."""
    for name in FOURIER:
        yield name, ODD, "n_components must be even.*got 7"
        orthogonal = {"features": "orthogonal", "kernel": "laplacian"}
        yield name, orthogonal, "features=\"orthogonal\" needs.*'laplacian'"
        yield name, {"kernel": "poly"}, "'kernel' parameter.*'poly'"
        yield name, {"features": "sobol"}, "'features' parameter.*'sobol'"
        for count in (0, -1, HUGE, 20.0):
            yield name, {"n_components": count}, "'n_components' parameter"
    for name in ("dual-sgd", "dual-sgd-r"):
        yield name, {"merge_size": BUDGET + 1}, "merge_size=13, budget=12"
        yield name, {"merge_size": 0}, "'merge_size' parameter"
    for name in ("nogd", "nogd-r"):
        yield name, {"rank": BUDGET + 1}, "rank=13, budget=12"
        yield name, {"rank": 0}, "'rank' parameter"
    for name in ("dual-svrg", "dual-svrg-c", "dual-svrg-r"):
        for parameter in ("memory_size", "snapshot_period"):
            for value in (0, -1, 1.5):
                yield name, {parameter: value}, f"'{parameter}' parameter"
        yield name, {"memory_size": HUGE}, "'memory_size' parameter"
        yield name, {"max_core": 0}, "'max_core' parameter"
        yield name, {"oracle": "delphi"}, "'oracle' parameter"
        yield name, {"loss": "hinge"}, "'loss' parameter"
        yield name, {"coverage_radius": 0.0}, "'coverage_radius' parameter"
        for eta0 in (0.0, -1.0, math.inf):
            yield name, {"eta0": eta0}, "'eta0' parameter"
    for name in ("fogd", "fogd-r", "nogd", "nogd-r"):
        for eta0 in (0.0, -1.0):
            yield name, {"eta0": eta0}, "'eta0' parameter"
        yield name, {"eta0": 2.0, "alpha": 0.5}, r"alpha \* eta0.*alpha=0.5, eta0=2.0"
        yield name, {"eta0": 1e200, "alpha": 1e200}, r"alpha \* eta0"


REFUSED = [
    pytest.param(SYSTEMS[name], bad, message, id=f"{name}-{bad}")
    for name, bad, message in bad_values()
]


@pytest.mark.parametrize("system, bad, message", REFUSED)
def test_bad_parameters_are_named_and_change_nothing(
    system: System, bad: dict[str, Any], message: str
) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X[:100], y[:100])
    twin = copy.deepcopy(model)
    good = {name: model.get_params()[name] for name in bad}
    model.set_params(**bad)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match="|".join(bad)):
        model.partial_fit(X[100:], y[100:])
    goes_on_alike(model.set_params(**good), twin, X[100:], y[100:])

    random = np.random.RandomState(3)
    new = system.make(**bad, random_state=random)
    before = set(vars(new))
    for learn in (new.fit, new.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(X, y)
        assert set(vars(new)) <= before
    assert random.randint(2**31) == np.random.RandomState(3).randint(2**31)


def test_what_the_linear_kernel_does_not_use_is_not_refused() -> None:
    X, y = data(FOGD, ROWS)
    plain = FOGD.make(kernel="linear").fit(X, y)
    odd = FOGD.make(kernel="linear", features="orthogonal", **ODD).fit(X, y)
    np.testing.assert_array_equal(odd.feature_coef_, plain.feature_coef_)
    assert plain.feature_coef_.shape == (1, 3)
    assert plain.frequencies_.shape == (0, 3)
    np.testing.assert_allclose(
        plain.decision_function(X), X @ plain.feature_coef_[0], atol=1e-12
    )


TRANSFORMERS = {
    "fourier": (onkel.FourierFeatures, {"n_components": 20}),
    "nystrom": (onkel.NystromFeatures, {"budget": BUDGET, "landmarks": "uniform"}),
}
each_transformer = pytest.mark.parametrize("name", TRANSFORMERS)


def transformer(name: str, **parameters: Any) -> Any:
    cls, given = TRANSFORMERS[name]
    return cls(**{"gamma": 0.5, "random_state": SEED, **given, **parameters})


BAD_TRANSFORMERS = [
    ("fourier", ODD, "n_components must be even"),
    ("fourier", {"features": "orthogonal", "kernel": "laplacian"}, "orthogonal"),
    ("fourier", {"kernel": "poly"}, "'kernel' parameter"),
    ("fourier", {"kernel": "linear"}, "'kernel' parameter"),
    ("fourier", {"n_components": 0}, "'n_components' parameter"),
    ("fourier", {"n_components": HUGE}, "'n_components' parameter"),
    ("nystrom", {"rank": BUDGET + 1}, "rank=13, budget=12"),
    ("nystrom", {"rank": 0}, "'rank' parameter"),
    ("nystrom", {"budget": 0}, "'budget' parameter"),
    ("nystrom", {"landmarks": "corner"}, "'landmarks' parameter"),
]


@pytest.mark.parametrize("name, bad, message", BAD_TRANSFORMERS)
def test_transformers_name_bad_parameters(
    name: str, bad: dict[str, Any], message: str
) -> None:
    X, _ = rows(ROWS)
    new = transformer(name, **bad)
    with pytest.raises(ValueError, match=message):
        new.fit(X)
    with pytest.raises(NotFittedError):
        new.transform(X)


@pytest.mark.parametrize("name, bad, message", BAD_TRANSFORMERS)
def test_a_refused_fit_leaves_a_transformer_as_it_was(
    name: str, bad: dict[str, Any], message: str
) -> None:
    X, _ = rows(ROWS)
    model = transformer(name).fit(X)
    before, names = model.transform(X), model.get_feature_names_out()
    good = {key: model.get_params()[key] for key in bad}
    model.set_params(**bad)
    with pytest.raises(ValueError, match=message):
        model.fit(X[:, :2])
    model.set_params(**good)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(X), before)
    np.testing.assert_array_equal(model.get_feature_names_out(), names)


@pytest.mark.parametrize("name, bad, message", BAD_TRANSFORMERS)
def test_a_refused_fit_of_a_transformer_draws_nothing(
    name: str, bad: dict[str, Any], message: str
) -> None:
    random = np.random.RandomState(3)
    with pytest.raises(ValueError, match=message):
        transformer(name, **bad, random_state=random).fit(rows(ROWS)[0])
    assert random.randint(2**31) == np.random.RandomState(3).randint(2**31)


@each_transformer
def test_bad_rows_are_refused_by_transformers(name: str) -> None:
    X, _ = rows(ROWS)
    model = transformer(name).fit(X)
    before = model.transform(X)
    spoilt = X.copy()
    for value, message in ((np.nan, "NaN"), (np.inf, "infinity"), (1e160, "overflows")):
        spoilt[7, 1] = value
        for call in (model.transform, model.fit, transformer(name).fit):
            with pytest.raises(ValueError, match=f"{message}.*row 7, column 1"):
                call(spoilt)
    with pytest.raises(ValueError, match="2 features"):
        model.transform(X[:, :2])
    np.testing.assert_array_equal(model.transform(X), before)


@each_transformer
def test_refused_rows_of_another_width_leave_a_transformer_as_it_was(name: str) -> None:
    X, _ = rows(ROWS)
    model = transformer(name).fit(X)
    before = model.transform(X)
    spoilt = X[:, :2].copy()
    spoilt[7, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 7, column 1"):
        model.fit(spoilt)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(X), before)


# ---- the frequencies -----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fourier", "orthogonal"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_frequencies_depend_on_seed_inputs_number_and_gamma_only(
    kind: str, kernel: str
) -> None:
    if kind == "orthogonal" and kernel == "laplacian":
        pytest.skip("refused")
    X, _ = rows(ROWS)
    given = {"features": kind, "kernel": kernel}
    wanted = transformer("fourier", **given).fit(X).frequencies_
    assert wanted.shape == (10, 3)
    variations: dict[str, list[dict[str, Any]]] = {
        "fogd": [{}, {"max_iter": 3}, {"block_size": 5}, {"average": "poly"}],
        "fogd-r": [{"loss": "squared_error"}],
        "dual-sgd": [{"budget": 5}, {"loss": "log_loss", "shuffle": False}],
        "dual-svrg": [{}, {"oracle": "always_move"}, {"memory_size": 3}],
        "dual-svrg-c": [{}, {"loss": "log_loss"}],
    }
    for name, several in variations.items():
        system = SYSTEMS[name]
        for more in several:
            for classes, seed in ((2, 0), (4, 5)):
                Z, y = data(system, 60, seed, classes)
                model = system.make(**given, **more).fit(100.0 * Z, y)
                np.testing.assert_array_equal(model.frequencies_, wanted)
            model = system.make(**given, **more).partial_fit(Z[:2], y[:2])
            np.testing.assert_array_equal(model.frequencies_, wanted)
            model.partial_fit(Z, y)
            np.testing.assert_array_equal(model.frequencies_, wanted)
    for other in (
        {"random_state": SEED + 1},
        {"gamma": 0.6},
        {"n_components": 22},
        # More of them are others, but the same seed scales them by gamma.
    ):
        found = transformer("fourier", **{**given, **other}).fit(X).frequencies_
        assert not np.array_equal(found[:10], wanted) or len(found) != len(wanted)
    factor = 4.0 if kernel == "laplacian" else 2.0
    scaled = transformer("fourier", **given, gamma=2.0).fit(X).frequencies_
    np.testing.assert_allclose(scaled, factor * wanted, rtol=1e-12)


@each(FOURIER)
@in_both_formats
def test_frequencies_and_features_are_those_of_the_transformer(
    system: System, form: Callable
) -> None:
    X, y = data(system, ROWS)
    model = system.make().fit(form(X), y)
    features = transformer("fourier").fit(form(X))
    np.testing.assert_array_equal(model.frequencies_, features.frequencies_)
    Z = features.transform(form(X))
    np.testing.assert_allclose(Z, expressed(model, X), atol=1e-13)
    wanted = Z @ model.feature_coef_.T
    if model.model_size_:
        K = rbf_kernel(X, model.support_vectors_, gamma=0.5)
        wanted += K @ model.dual_coef_.T
    np.testing.assert_allclose(scores(model, form(X)), wanted[:, 0], atol=1e-12)


@pytest.mark.parametrize("average", [None, "full", "poly", "suffix"])
@pytest.mark.parametrize("classes", [2, 4])
def test_fogd_is_linear_in_the_features(average: str | None, classes: int) -> None:
    X, y = data(FOGD, ROWS, classes=classes)
    model = FOGD.make(average=average).fit(X, y)
    wanted = transformer("fourier").fit_transform(X) @ model.feature_coef_.T
    assert model.feature_coef_.shape == (1 if classes == 2 else 4, 20)
    assert model.model_size_ == 0 and model.dual_coef_.shape[1] == 0
    np.testing.assert_allclose(
        model.decision_function(X), wanted.squeeze(), rtol=0, atol=1e-12
    )


@each(FOURIER)
def test_no_frequencies_before_learning(system: System) -> None:
    model = system.make()
    for name in ("frequencies_", "feature_coef_", "eta0_", "coverage_radius_"):
        assert not hasattr(model, name)


@each(STREAMS)
def test_what_a_model_shows_of_its_features_is_a_copy(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X[:100], y[:100])
    twin = copy.deepcopy(model)
    for name in ("frequencies_", "feature_coef_", "support_vectors_", "dual_coef_"):
        if hasattr(model, name):
            getattr(model, name)[...] = 0.0
    goes_on_alike(model, twin, X[100:], y[100:])


# ---- predictions ---------------------------------------------------------------------

BATCH = {
    "llsvm": System("LLSVMClassifier", {"budget": BUDGET, "landmarks": "first"}),
    "llsvm-r": System(
        "LLSVMRegressor", {"budget": BUDGET, "landmarks": "first"}, regressor=True
    ),
}
EVERY = {**{name: SYSTEMS[name] for name in STREAMS}, **BATCH}
every = pytest.mark.parametrize("name", EVERY)


@every
def test_the_score_of_a_row_does_not_depend_on_the_others(name: str) -> None:
    system = EVERY[name]
    X, y = data(system, 300)
    model = system.make().fit(X, y)
    whole = scores(model, X)
    size = np.abs(whole).max()
    order = np.random.default_rng(0).permutation(300)
    for some in (order, order[:7], np.arange(0, 300, 2), np.array([299]), [5, 5, 5]):
        found = scores(model, X[some])
        np.testing.assert_allclose(found, whole[some], rtol=0, atol=1e-12 * size)
    one_by_one = [scores(model, X[t : t + 1])[0] for t in range(0, 300, 20)]
    np.testing.assert_allclose(one_by_one, whole[::20], rtol=0, atol=1e-12 * size)
    # On a thread for each half, and beyond a thousand rows.
    model.set_params(n_jobs=2)
    np.testing.assert_allclose(scores(model, X), whole, rtol=0, atol=1e-12 * size)
    many = np.tile(X, (60, 1))
    np.testing.assert_allclose(
        scores(model, many), np.tile(whole, 60), rtol=0, atol=1e-12 * size
    )


@each_transformer
def test_the_features_of_a_row_do_not_depend_on_the_others(name: str) -> None:
    X, _ = rows(300)
    model = transformer(name).fit(X)
    whole = model.transform(X)
    order = np.random.default_rng(0).permutation(300)
    for some in (order, order[:7], np.array([299]), np.array([5, 5])):
        np.testing.assert_allclose(model.transform(X[some]), whole[some], atol=1e-11)


@every
def test_one_input_is_enough(name: str) -> None:
    system = EVERY[name]
    X, f = rows(ROWS)
    X = X[:, :1]
    y = f if system.regressor else (np.sin(2 * X[:, 0]) > 0.3).astype(int)
    model = system.make().fit(X, y)
    assert model.support_vectors_.shape == (model.model_size_, 1)
    assert np.isfinite(scores(model, X)).all()
    if not system.regressor:
        assert model.score(X, y) > 0.6
    if system.accepts("features"):
        ring = system.make(features="orthogonal").fit(X, y)
        assert ring.frequencies_.shape == (10, 1)


@each_transformer
def test_one_input_is_enough_for_transformers(name: str) -> None:
    X = rows(ROWS)[0][:, :1]
    Z = transformer(name).fit_transform(X)
    assert Z.shape[0] == ROWS and np.isfinite(Z).all()


# ---- NOGD's phases -------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4, None])
def test_nogd_that_does_not_switch_is_ogd(classes: int | None) -> None:
    system = NOGD if classes else REGRESSORS["nogd-r"]
    parent = CLASSIFIERS["ogd"] if classes else REGRESSORS["ogd-r"]
    X, y = data(system, ROWS, classes=classes or 2)
    model, ogd = (
        system.make(budget=ROWS, rank=9, block_size=16),
        parent.make(block_size=16),
    )
    np.testing.assert_array_equal(
        onkel.progressive(model, X, y), onkel.progressive(ogd, X, y)
    )
    np.testing.assert_array_equal(model.dual_coef_, ogd.dual_coef_)
    np.testing.assert_array_equal(model.support_vectors_, ogd.support_vectors_)
    np.testing.assert_array_equal(scores(model, X), scores(ogd, X))
    assert model.phase_ == 1
    assert model.feature_coef_.shape == (len(model.dual_coef_), 0)
    assert model.n_mistakes_ == ogd.n_mistakes_ if classes else True
    assert model.n_updates_ == model.model_size_ < ROWS or not classes


def test_nogd_that_stays_in_phase_one_says_so_in_fit_only() -> None:
    for system in (NOGD, REGRESSORS["nogd-r"]):
        X, y = data(system, ROWS)
        model = system.make(budget=ROWS)
        with pytest.warns(UserWarning, match="stayed in its first phase") as caught:
            model.fit(X, y)
        assert caught[0].filename == __file__
        assert len(caught) == 1
        text = str(caught[0].message)
        assert f"only {model.n_updates_} rows" in text and f"budget={ROWS}" in text
        assert model.phase_ == 1
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*first phase")
            stream = system.make(budget=ROWS).partial_fit(X, y)
            system.make().fit(X, y)
        assert stream.phase_ == 1
        # One update more than the budget is the switch.
        exact = system.make(budget=stream.n_updates_, rank=2).partial_fit(X, y)
        assert exact.phase_ == 1 and exact.model_size_ == exact.budget
        less = system.make(budget=stream.n_updates_ - 1, rank=2).partial_fit(X, y)
        assert less.phase_ == 2


@pytest.mark.parametrize("classes", [2, 4, None])
@in_both_formats
def test_landmarks_are_the_first_rows_with_updates(
    classes: int | None, form: Callable
) -> None:
    system = NOGD if classes else REGRESSORS["nogd-r"]
    X, y = data(system, ROWS, classes=classes or 2)
    given = {} if classes is None else {"classes": np.unique(y)}
    model = system.make()
    assert not hasattr(model, "phase_")
    updated: list[int] = []
    for t in range(ROWS):
        model.partial_fit(form(X[t : t + 1]), y[t : t + 1], **given)
        if model.n_updates_ > len(updated):
            updated.append(t)
        assert model.phase_ == (1 if len(updated) <= BUDGET else 2)
        wanted = X[updated[:BUDGET]]
        np.testing.assert_array_equal(model.support_vectors_, wanted)
    assert len(updated) > BUDGET + 5
    assert model.model_size_ == BUDGET and model.n_maintenance_ == 0


@pytest.mark.parametrize("budget, rank", [(12, 2), (10, 2), (9, 1), (4, 1), (1, 1)])
def test_the_rank_is_a_fifth_of_the_budget(budget: int, rank: int) -> None:
    X, y = data(NOGD, ROWS)
    model = NOGD.make(budget=budget, rank=None).fit(X, y)
    assert model.phase_ == 2
    assert model.feature_coef_.shape == (1, rank)
    twin = NOGD.make(budget=budget, rank=rank).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, twin.dual_coef_)


def test_the_features_of_phase_two_are_those_of_the_landmarks() -> None:
    X, y = data(NOGD, ROWS)
    for rank in (1, 5, BUDGET):
        model = NOGD.make(rank=rank).fit(X, y)
        landmarks = model.support_vectors_
        K = rbf_kernel(landmarks, gamma=0.5)
        values, vectors = np.linalg.eigh(K)
        values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
        # Up to the signs of eigenvectors, which nobody fixes.
        back = np.abs(model.dual_coef_ @ vectors * np.sqrt(values))
        np.testing.assert_allclose(np.abs(model.feature_coef_), back, rtol=1e-6)
        wanted = rbf_kernel(X, landmarks, gamma=0.5) @ model.dual_coef_[0]
        np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-12)
        features = transformer("nystrom", landmarks="first", rank=rank).fit(landmarks)
        Z = np.abs(features.transform(landmarks))
        np.testing.assert_allclose(Z, np.abs(vectors * np.sqrt(values)), atol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("block_size", [1, 64])
def test_the_switch_is_an_update_like_any_other(classes: int, block_size: int) -> None:
    # With all eigenvalues, and seen from the landmarks, nothing is lost by it.
    X, y = data(NOGD, ROWS, classes=classes)
    given = {"rank": BUDGET, "alpha": 0.0, "block_size": block_size}
    model, twin = NOGD.make(**given), NOGD.make(**given)
    while model.__dict__.get("_learner") is None or model.phase_ == 1:
        t = model.t_ if hasattr(model, "t_") else 0
        if t:
            twin = copy.deepcopy(model)
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=np.arange(classes))
    landmarks, row = model.support_vectors_, X[t : t + 1]
    np.testing.assert_array_equal(landmarks, twin.support_vectors_)
    assert twin.phase_ == 1 and twin.model_size_ == BUDGET
    k = rbf_kernel(landmarks, row, gamma=0.5)[:, 0]
    before, f = twin.decision_function(landmarks), twin.decision_function(row)[0]
    if classes == 2:
        wanted = before + 0.4 * (2 * y[t] - 1) * k
    else:
        wanted = before.copy()
        runner_up = np.where(np.arange(classes) == y[t], -np.inf, f).argmax()
        wanted[:, y[t]] += 0.4 * k
        wanted[:, runner_up] -= 0.4 * k
    np.testing.assert_allclose(model.decision_function(landmarks), wanted, atol=1e-8)
    # And all at once is the same.
    whole = NOGD.make(**given)
    whole.partial_fit(X[: t + 1], y[: t + 1], classes=np.arange(classes))
    np.testing.assert_allclose(whole.decision_function(landmarks), wanted, atol=1e-8)


# ---- labels that arrive late ---------------------------------------------------------

LATE = {
    "fogd": FOGD,
    "nogd": NOGD,
    "dual-sgd": CLASSIFIERS["dual-sgd"],
    "dual-svrg": SVRG,
    "dual-svrg-c": SVRG_C,
}
each_late = pytest.mark.parametrize("name", LATE)
in_each_order = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)


@each_late
@in_each_order
def test_the_row_that_brings_a_label_has_the_scores_of_before(
    name: str, order: np.ndarray
) -> None:
    system = LATE[name]
    X, y = late_labels(order)
    model = system.make().partial_fit(X[: ARRIVALS[2]], y[: ARRIVALS[2]])
    if name == "nogd":
        assert model.phase_ == 2
    for arrival in ARRIVALS[2:]:
        if model.t_ < arrival:
            model.partial_fit(X[model.t_ : arrival], y[model.t_ : arrival])
        old, row = model.classes_, slice(arrival, arrival + 1)
        before = model.decision_function(X[row])[0]
        found = onkel.progressive(model, X[row], y[row])[0]
        wanted = np.zeros(len(old) + 1)
        at = np.searchsorted(model.classes_, old)
        wanted[at] = (-before / 2, before / 2) if len(old) == 2 else before
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)
        assert found[np.searchsorted(model.classes_, y[arrival])] == 0.0
    assert len(model.classes_) == 4


@each_late
@in_each_order
def test_weights_of_features_do_not_depend_on_the_chunks(
    name: str, order: np.ndarray
) -> None:
    system = LATE[name]
    X, y = late_labels(order)
    whole = system.make().partial_fit(X, y)
    probe = rows(30, seed=9)[0]
    size = np.abs(whole.feature_coef_).max()
    for cuts in ([], ARRIVALS[1:], [1, 19, 21, 70, 71, 129], range(7, len(y), 7)):
        model = system.make()
        for a, b in itertools.pairwise([0, *cuts, len(y)]):
            model.partial_fit(X[a:b], y[a:b])
        for name in ("feature_coef_", "dual_coef_", "support_vectors_"):
            found, wanted = getattr(model, name), getattr(whole, name)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(
            model.decision_function(probe), whole.decision_function(probe), atol=1e-9
        )


def vector_slopes(loss: str, f: np.ndarray, y: Any, classes: np.ndarray) -> np.ndarray:
    """Slopes by output, of labels that are known by now."""
    at = int(np.searchsorted(classes, y))
    if len(classes) == 2:
        return slopes(loss, f, 2.0 * at - 1.0, 2)
    return slopes(loss, f, at, len(classes))


class Literal:
    """FOGD and DualSVRG without cores, for labels that arrive late, to the letter."""

    def __init__(self, model: Any, loss: str) -> None:
        self.model, self.loss = model, loss
        self.labels: np.ndarray = np.array([])
        # The model, the checkpoint, models since then; slopes and features of rows.
        self.w, self.u = np.zeros((1, 20)), np.zeros((1, 20))
        self.past: list[np.ndarray] = []
        self.memory: list[tuple[np.ndarray, np.ndarray, Any]] = []

    def meet(self, label: Any) -> None:
        """A label that may be new."""
        if label in self.labels:
            return
        old, self.labels = self.labels, np.unique(np.append(self.labels, label))
        if len(self.labels) < 3:
            return
        matrix = np.zeros((len(self.labels), len(self.w)))
        at = np.searchsorted(self.labels, old)
        if len(old) == 2:
            matrix[at, 0] = -0.5, 0.5
        else:
            matrix[at, np.arange(len(old))] = 1.0
        self.w, self.u = matrix @ self.w, matrix @ self.u
        self.past = [matrix @ past for past in self.past]
        self.memory = [(np.sign(matrix) @ g, z, y) for g, z, y in self.memory]

    def learn(self, z: np.ndarray, label: Any) -> np.ndarray:
        """One row; its scores before."""
        self.meet(label)
        f = self.w @ z
        if len(self.labels) > 1:
            reduced = hasattr(self.model, "memory_size")
            (self.step_of_svrg if reduced else self.step_of_fogd)(z, label)
        return f

    def slopes(self, w: np.ndarray, z: np.ndarray, label: Any) -> np.ndarray:
        return vector_slopes(self.loss, w @ z, label, self.labels)

    def step_of_fogd(self, z: np.ndarray, label: Any) -> None:
        eta, g = self.model.eta0, self.slopes(self.w, z, label)
        self.w = (1 - self.model.alpha * eta) * self.w - eta * np.outer(g, z)

    def step_of_svrg(self, z: np.ndarray, label: Any) -> None:
        eta, here = self.model.eta0, self.slopes(self.w, z, label)
        there = self.slopes(self.u, z, label)
        self.memory = [*self.memory, (there, z, label)][-self.model.memory_size :]
        mean = sum(np.outer(g, x) for g, x, _ in self.memory) / len(self.memory)
        v = np.outer(here - there, z) + mean
        self.w = (self.w - eta * v) / (1 + eta * self.model.alpha)
        self.past.append(self.w)
        if len(self.past) == self.model.snapshot_period:
            self.w = self.u = np.mean(self.past, axis=0)
            self.past = []
            self.memory = [(self.slopes(self.u, x, y), x, y) for _, x, y in self.memory]


@pytest.mark.parametrize("name", ["fogd", "dual-svrg"])
@in_each_order
@pytest.mark.parametrize("seed", [0, 1])
def test_late_labels_to_the_letter(name: str, order: np.ndarray, seed: int) -> None:
    X, y = late_labels(order, seed)
    more = {} if name == "fogd" else {"oracle": "always_move"}
    model = LATE[name].make(**more)
    found = onkel.progressive(model, X, y)
    Z = transformer("fourier").fit_transform(X)
    literal = Literal(model, model.loss)
    known: list[Any] = []
    for t, z in enumerate(Z):
        f = literal.learn(z, y[t])
        known = list(literal.labels)
        wanted = np.zeros(4)
        at = np.searchsorted(np.unique(order), known)
        if len(known) == 2:
            wanted[at] = -f[0] / 2, f[0] / 2
        elif len(known) > 2:
            wanted[at] = f
        np.testing.assert_allclose(found[t], wanted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.feature_coef_, literal.w, rtol=0, atol=1e-9)


# ---- copies --------------------------------------------------------------------------

COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
}


@each(STREAMS)
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("cut", [1, 5, 12, 13, 14, 16, 26, 70])
def test_a_copy_at_any_time_goes_on_with_the_same_bits(
    system: System, copied: Callable, cut: int
) -> None:
    # In mid-phase, in mid-period, before the memory or the budget is full.
    X, y = data(system, ROWS, seed=4)
    model = system.make().partial_fit(X[:cut], y[:cut])
    untouched = system.make().partial_fit(X[:cut], y[:cut])
    twin = copied(model)
    twin.predict(X)
    goes_on_alike(twin, model, X[cut:], y[cut:])
    untouched.partial_fit(X[cut:], y[cut:])
    np.testing.assert_array_equal(scores(twin, X), scores(untouched, X))


@each(["nogd", "dual-svrg", "dual-svrg-c", "dual-sgd"])
@pytest.mark.parametrize("cut", [18, 60, 75, 100, 140])
def test_a_copy_goes_on_where_labels_arrive_late(system: System, cut: int) -> None:
    X, y = late_labels(ORDERS["unsorted"])
    model = system.make().partial_fit(X[:cut], y[:cut])
    twin = pickle.loads(pickle.dumps(model))
    goes_on_alike(twin, model, X[cut:], y[cut:])


@each(STREAMS)
def test_a_clone_is_new_and_learns_alike(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().fit(X, y)
    new = clone(model)
    assert not hasattr(new, "feature_coef_")
    np.testing.assert_array_equal(scores(new.fit(X, y), X), scores(model, X))
    # fit forgets phases, memories and spilt centres.
    np.testing.assert_array_equal(scores(model.fit(X, y), X), scores(new, X))


@each_transformer
def test_transformers_are_pickled_and_cloned(name: str) -> None:
    X, _ = rows(ROWS)
    model = transformer(name).fit(X)
    wanted = model.transform(X)
    for copied in COPIES.values():
        np.testing.assert_array_equal(copied(model).transform(X), wanted)
    with pytest.raises(NotFittedError):
        clone(model).transform(X)
    np.testing.assert_array_equal(clone(model).fit(X).transform(X), wanted)
    random = [np.random.RandomState(5) for _ in range(2)]
    one, two = (transformer(name, random_state=r).fit_transform(X) for r in random)
    np.testing.assert_array_equal(one, two)


# ---- weights -------------------------------------------------------------------------


@each(["fogd", "nogd", "fogd-r", "nogd-r"])
def test_without_shrinking_rows_of_weight_zero_are_as_if_not_there(
    system: System,
) -> None:
    X, y = data(system, ROWS)
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0], size=ROWS)
    kept = weight > 0
    given = {} if system.regressor else {"classes": [0, 1]}
    model = system.make(alpha=0.0).partial_fit(X, y, sample_weight=weight, **given)
    few = system.make(alpha=0.0)
    few.partial_fit(X[kept], y[kept], sample_weight=weight[kept], **given)
    assert model.t_ == ROWS > few.t_
    assert model.n_updates_ == few.n_updates_
    np.testing.assert_array_equal(model.support_vectors_, few.support_vectors_)
    np.testing.assert_allclose(scores(model, X), scores(few, X), atol=1e-10)


@each(["fogd", "nogd", "dual-sgd", "fogd-r"])
def test_rows_of_weight_zero_shrink_the_model_and_nothing_else(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X[:100], y[:100])
    before, updates = scores(model, X), model.n_updates_
    model.partial_fit(X[100:], y[100:], sample_weight=np.zeros(50))
    shrunk = (1.0 - 0.4 * 0.05) ** 50 if system.accepts("eta0") else 110.0 / 160.0
    np.testing.assert_allclose(scores(model, X), shrunk * before, rtol=1e-9)
    assert model.t_ == ROWS and model.n_updates_ == updates


def test_rows_of_weight_zero_are_cores_of_the_budget_and_not_of_the_cover() -> None:
    X, y = data(SVRG, ROWS)
    weight = np.ones(ROWS)
    weight[:5] = 0.0
    # The first arrivals, whatever their slope; and those with a slope.
    model = SVRG.make().partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    np.testing.assert_array_equal(model.support_vectors_, X[:BUDGET])
    cover = SVRG_C.make().partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    np.testing.assert_array_equal(cover.support_vectors_[0], X[5])
    eager = SVRG_C.make(lazy_core=False)
    eager.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    np.testing.assert_array_equal(eager.support_vectors_[0], X[0])
    # Whole data of weight zero is no stream.
    alone = SVRG.make().partial_fit(X, y, classes=[0, 1], sample_weight=np.zeros(ROWS))
    assert alone.n_updates_ == 0 and not alone.feature_coef_.any()
    assert alone.model_size_ == BUDGET and not alone.dual_coef_.any()


# ---- DualSVRG ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss, smoothing, M",
    [
        ("smooth_hinge", 0.5, 2.0),
        ("smooth_hinge", 1.0, 1.0),
        ("smooth_hinge", 0.01, 100.0),
        ("log_loss", 0.5, 0.25),
        ("squared_hinge", 0.5, 1.0),
        ("squared_error", None, 1.0),
    ],
)
def test_the_step_is_that_of_the_theory(
    loss: str, smoothing: float | None, M: float
) -> None:
    system = REGRESSORS["dual-svrg-r"] if smoothing is None else SVRG
    given = {} if smoothing is None else {"smoothing": smoothing}
    X, y = data(system, ROWS)
    model = system.make(loss=loss, eta0=None, **given).fit(X, y)
    assert model.eta0_ == pytest.approx(1.0 / (76.0 * M), rel=1e-15)
    assert model.eta0 is None
    twin = system.make(loss=loss, eta0=model.eta0_, **given).fit(X, y)
    assert twin.eta0_ == model.eta0_
    np.testing.assert_array_equal(scores(twin, X), scores(model, X))
    stream = system.make(loss=loss, eta0=None, **given).partial_fit(X, y)
    assert stream.eta0_ == model.eta0_


@in_both_formats
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_the_radius_is_taken_from_the_distances(form: Callable, learn: str) -> None:
    X, y = data(SVRG_C, ROWS)
    # A stream has not seen more when it takes them.
    far = pdist(X if learn == "fit" else X[: informing(ROWS)])
    model = getattr(SVRG_C.make(coverage_radius="auto"), learn)(form(X), y)
    wanted = max(far.mean() - far.std(), 0.1 * far.mean())
    assert model.coverage_radius_ == pytest.approx(wanted, rel=1e-6)
    assert model.coverage_radius == "auto"
    twin = getattr(SVRG_C.make(coverage_radius=model.coverage_radius_), learn)(
        form(X), y
    )
    assert twin.coverage_radius_ == model.coverage_radius_
    np.testing.assert_array_equal(twin.support_vectors_, model.support_vectors_)
    # What a stream begins with it keeps, from LONGEST rows on.
    if learn == "partial_fit":
        for _ in range(LONGEST // ROWS + 1):
            model.partial_fit(form(X), y)
        kept = model.coverage_radius_
        assert model.partial_fit(form(100 * X), y).coverage_radius_ == kept


def test_rows_that_do_not_differ_have_no_radius() -> None:
    model = SVRG_C.make(coverage_radius="auto")
    with pytest.warns(UserWarning, match="coverage_radius=1.0") as caught:
        model.fit(np.ones((40, 3)), np.arange(40) % 2)
    assert caught[0].filename == __file__
    assert model.coverage_radius_ == 1.0
    assert model.model_size_ == 1


def test_max_core_is_for_the_cover_only() -> None:
    X, y = data(SVRG_C, ROWS)
    free = SVRG_C.make(coverage_radius=0.5).fit(X, y)
    assert free.model_size_ > 8
    for limit in (1, 4, 8):
        model = SVRG_C.make(coverage_radius=0.5, max_core=limit).fit(X, y)
        assert model.model_size_ == limit
        np.testing.assert_array_equal(
            model.support_vectors_, free.support_vectors_[:limit]
        )
    same = SVRG_C.make(coverage_radius=0.5, max_core=free.model_size_).fit(X, y)
    np.testing.assert_array_equal(same.dual_coef_, free.dual_coef_)
    assert SVRG.make(max_core=3).fit(X, y).model_size_ == BUDGET
    assert SVRG.make(oracle="always_move", max_core=3).fit(X, y).model_size_ == 0


def test_the_budget_takes_the_first_rows() -> None:
    X, y = data(SVRG, ROWS)
    for budget in (1, BUDGET, ROWS, 2 * ROWS):
        model = SVRG.make(budget=budget).partial_fit(X, y, classes=[0, 1])
        assert model.model_size_ == min(budget, ROWS)
        np.testing.assert_array_equal(model.support_vectors_, X[:budget])
        assert model.n_maintenance_ == 0


# ---- memory --------------------------------------------------------------------------


@each(["dual-sgd", "dual-sgd-r", "fogd", "dual-svrg"])
def test_a_model_is_as_large_as_what_it_keeps(system: System) -> None:
    # Weights, frequencies, and of each centre or remembered row the features.
    X, y = data(system, ROWS)
    count = 2000
    model = system.make(n_components=count).partial_fit(X, y)
    kept = 9 if system.accepts("memory_size") else 0
    kept += BUDGET + 1 if system.accepts("merge_size") else 0
    numbers = (count + 200) * (kept + 60)
    assert len(pickle.dumps(model)) < 8 * numbers


# ---- LLSVM ---------------------------------------------------------------------------


def solved(K: np.ndarray, y: np.ndarray, C: np.ndarray, tube: float | None) -> Any:
    """Coefficients of the support vector machine without bias, by L-BFGS-B."""
    n = len(y)
    sign, target = (y, np.ones(n)) if tube is None else (np.ones(n), y)
    parts = np.array([1.0] if tube is None else [1.0, -1.0])
    Q = K * np.outer(sign, sign)

    def negative_dual(v: np.ndarray) -> tuple[float, np.ndarray]:
        pieces = v.reshape(len(parts), n)
        a = parts @ pieces
        g = target - Q @ a
        value = target @ a - a @ Q @ a / 2 - (tube or 0.0) * pieces.sum()
        return -value, -np.concatenate([s * g - (tube or 0.0) for s in parts])

    best = minimize(
        negative_dual,
        np.zeros(n * len(parts)),
        jac=True,
        bounds=[(0, c) for _ in parts for c in C],
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return sign * (parts @ best.x.reshape(len(parts), n))


SHARP = {"gamma": 5.0, "tol": 1e-9, "max_iter": 100_000, "landmarks": "first"}


@in_both_formats
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.3, 2.0])
def test_with_all_landmarks_it_is_the_machine_without_bias(
    C: float, weighted: bool, form: Callable
) -> None:
    # Rows apart from each other, so that no eigenvalue is cut.
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1, -1)
    K = rbf_kernel(X, gamma=5.0)
    assert np.linalg.cond(K) < 1e4
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], 80) if weighted else None
    bound = C * (np.ones(80) if weight is None else weight)
    a = solved(K, y.astype(float), bound, None)
    model = onkel.LLSVMClassifier(C=C, budget=80, **SHARP)
    model.fit(form(X), y, sample_weight=weight)
    np.testing.assert_allclose(model.decision_function(form(X)), K @ a, atol=2e-5)
    np.testing.assert_allclose(model.dual_coef_[0], a, atol=1e-4)
    assert model.model_size_ == 80 == model.t_
    np.testing.assert_array_equal(model.support_vectors_, X)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_all_landmarks_regression_is_the_machine_without_bias(
    weighted: bool,
) -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    K = rbf_kernel(X, gamma=5.0)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], 80) if weighted else None
    bound = 0.7 * (np.ones(80) if weight is None else weight)
    a = solved(K, y, bound, tube=0.2)
    model = onkel.LLSVMRegressor(C=0.7, epsilon=0.2, budget=80, **SHARP)
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), K @ a, atol=2e-5)
    np.testing.assert_allclose(model.dual_coef_[0], a, atol=1e-4)


def llsvm(**parameters: Any) -> Any:
    given = {"budget": BUDGET, "gamma": 0.5, "landmarks": "first"}
    return onkel.LLSVMClassifier(**{**given, "random_state": SEED, **parameters})


def llsvr(**parameters: Any) -> Any:
    given = {"budget": BUDGET, "gamma": 0.5, "landmarks": "first"}
    return onkel.LLSVMRegressor(**{**given, "random_state": SEED, **parameters})


def test_it_is_a_linear_machine_on_the_features() -> None:
    X, y = data(FOGD, ROWS)
    # Those of the same landmarks and the same cut of eigenvalues.
    Z = transformer("nystrom", landmarks="first", rank=5).fit_transform(X)
    given = {"C": 3.0, "tol": 1e-8, "max_iter": 10**6}
    # Our squared hinge is half the square.
    for loss, C in (("hinge", 3.0), ("squared_hinge", 1.5)):
        svc = LinearSVC(loss=loss, dual=True, fit_intercept=False, **{**given, "C": C})
        svc.fit(Z, y)
        model = llsvm(loss=loss, rank=5, **given).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), svc.decision_function(Z), atol=1e-4
        )


def test_three_classes_are_one_against_the_rest() -> None:
    X, y = data(FOGD, ROWS, classes=3)
    given = {"tol": 1e-8, "max_iter": 10**6}
    model = llsvm(**given).fit(X, y)
    assert model.dual_coef_.shape == (3, BUDGET)
    f = model.decision_function(X)
    for label in range(3):
        one = llsvm(**given).fit(X, y == label)
        np.testing.assert_allclose(f[:, label], one.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), f.argmax(axis=1))


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_are_those_of_the_expansion(classes: int) -> None:
    X, y = data(FOGD, ROWS, classes=classes)
    for landmarks in ("first", "uniform", "kmeans"):
        model = llsvm(landmarks=landmarks).fit(X, y)
        K = rbf_kernel(X, model.support_vectors_, gamma=0.5)
        wanted = (K @ model.dual_coef_.T).squeeze()
        np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-10)


def test_labels_of_text_and_their_weights() -> None:
    X, y = data(FOGD, ROWS, classes=3)
    names = np.array(["owl", "ant", "bee"])
    order = np.argsort(names)
    tight = {"tol": 1e-8, "max_iter": 10**6}
    by_name = llsvm(class_weight={"owl": 3.0, "ant": 0.5}, **tight).fit(X, names[y])
    assert list(by_name.classes_) == ["ant", "bee", "owl"]
    weight = np.array([3.0, 0.5, 1.0])[y]
    by_rank = llsvm(**tight).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        by_name.decision_function(X), by_rank.decision_function(X)[:, order], atol=1e-4
    )
    assert set(by_name.predict(X)) <= set(names)
    balanced = llsvm(class_weight="balanced", **tight).fit(X[:90], y[:90])
    share = 90 / (3 * np.bincount(y[:90]))[y[:90]]
    same = llsvm(**tight).fit(X[:90], y[:90], sample_weight=share)
    np.testing.assert_allclose(
        balanced.decision_function(X), same.decision_function(X), atol=1e-4
    )


def test_rows_of_weight_zero_do_not_count() -> None:
    X, f = rows(ROWS)
    weight = np.arange(ROWS) % 2.0
    weight[:BUDGET] = 1.0  # the landmarks are the first rows, whatever they weigh
    kept = weight > 0
    tight = {"tol": 1e-8, "max_iter": 10**6}
    for make, y in ((llsvm, f > 0), (llsvr, f)):
        model = make(**tight).fit(X, y, sample_weight=weight)
        few = make(**tight).fit(X[kept], y[kept])
        np.testing.assert_allclose(scores(model, X), scores(few, X), atol=1e-4)
    squared = {"loss": "squared_hinge", **tight}
    model = llsvm(**squared).fit(X, f > 0, sample_weight=weight)
    few = llsvm(**squared).fit(X[kept], f[kept] > 0)
    np.testing.assert_allclose(scores(model, X), scores(few, X), atol=1e-4)


def test_a_class_of_weight_zero_says_nothing(capfd: Any) -> None:
    X, y = data(FOGD, ROWS)
    llsvm(class_weight={0: 0.0}).fit(X, y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("make", [llsvm, llsvr])
@in_both_formats
def test_landmarks_are_what_their_name_says(make: Callable, form: Callable) -> None:
    X, f = rows(ROWS)
    y = f if make is llsvr else f > 0
    first = make(landmarks="first").fit(form(X), y)
    np.testing.assert_array_equal(first.support_vectors_, X[:BUDGET])
    uniform = make(landmarks="uniform").fit(form(X), y)
    found = {tuple(point) for point in uniform.support_vectors_}
    assert found <= {tuple(x) for x in X} and len(found) > 1
    again = make(landmarks="uniform", random_state=8).fit(form(X), y)
    assert not np.array_equal(uniform.support_vectors_, again.support_vectors_)
    kmeans = make(landmarks="kmeans").fit(form(X), y)
    assert kmeans.support_vectors_.shape == (BUDGET, 3)
    near = ((X[:, None] - kmeans.support_vectors_[None]) ** 2).sum(axis=2).argmin(1)
    # Each is about the mean of the rows that are nearest to it.
    means = np.array([X[near == j].mean(axis=0) for j in range(BUDGET)])
    assert np.abs(means - kmeans.support_vectors_).max() < 0.5
    for model in (first, uniform, kmeans):
        assert model.model_size_ == BUDGET


def test_no_row_is_a_landmark_twice() -> None:
    X = np.random.default_rng(0).normal(size=(BUDGET + 2, 3))
    for seed in range(5):
        found = onkel.NystromFeatures(
            budget=BUDGET, landmarks="uniform", gamma=0.5, random_state=seed
        ).fit(X)
        places = [
            int(np.flatnonzero((X == x).all(axis=1))[0]) for x in found.landmarks_
        ]
        # In the order of the rows.
        assert places == sorted(set(places)) and len(places) == BUDGET


def test_dense_and_sparse_rows_give_the_same_machine() -> None:
    X, f = rows(ROWS)
    tight = {"tol": 1e-8, "max_iter": 10**6}
    for make, y in ((llsvm, f > 0), (llsvr, f)):
        for landmarks in ("first", "uniform"):
            dense = make(landmarks=landmarks, **tight).fit(X, y)
            sparse = make(landmarks=landmarks, **tight).fit(
                scipy.sparse.csr_array(X), y
            )
            np.testing.assert_allclose(scores(sparse, X), scores(dense, X), atol=1e-5)


@pytest.mark.parametrize("landmarks", ["first", "uniform", "kmeans"])
def test_fewer_rows_than_landmarks_are_all_landmarks(landmarks: str) -> None:
    X, f = rows(30)
    for make, y in ((llsvm, f > 0), (llsvr, f)):
        model = make(budget=500, landmarks=landmarks).fit(X, y)
        assert model.model_size_ == 30
        np.testing.assert_array_equal(model.support_vectors_, X)
        huge = make(budget=2**62, landmarks=landmarks).fit(X, y)
        np.testing.assert_array_equal(scores(huge, X), scores(model, X))
    Z = onkel.NystromFeatures(gamma=0.5, landmarks=landmarks).fit(X)
    assert Z.landmarks_.shape == (30, 3)


def test_all_rows_are_learnt_at_once() -> None:
    X, f = rows(ROWS)
    for make, y in ((llsvm, f > 0), (llsvr, f)):
        model = make()
        assert not hasattr(model, "partial_fit")
        with pytest.raises(TypeError, match="no partial_fit"):
            onkel.progressive(model, X, y)
        model.fit(X, y)
        assert not hasattr(model, "n_mistakes_")
        assert model.t_ == ROWS and model.n_iter_ >= 1
        twin = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(scores(twin, X), scores(model, X))
        same = make().fit(X, y)
        np.testing.assert_array_equal(scores(same, X), scores(model, X))


@pytest.mark.parametrize(
    "bad, message",
    [
        ({"rank": BUDGET + 1}, "rank=13, budget=12"),
        ({"C": 0.0}, "'C' parameter of LLSVM"),
        ({"landmarks": "corner"}, "'landmarks' parameter of LLSVM"),
        ({"budget": 0}, "'budget' parameter of LLSVM"),
        ({"tol": 0.0}, "'tol' parameter of LLSVM"),
    ],
    ids=str,
)
def test_llsvm_names_its_bad_parameters_and_stays_as_it_was(
    bad: dict[str, Any], message: str
) -> None:
    X, f = rows(ROWS)
    for make, y in ((llsvm, f > 0), (llsvr, f)):
        model = make().fit(X, y)
        before = scores(model, X)
        good = {name: model.get_params()[name] for name in bad}
        model.set_params(**bad)
        with pytest.raises(ValueError, match=message):
            model.fit(X[:, :2], y)
        model.set_params(**good)
        np.testing.assert_array_equal(scores(model, X), before)


def test_ranks_cut_features() -> None:
    X, f = rows(ROWS)
    K = rbf_kernel(X[:BUDGET], gamma=0.5)
    for rank in (1, 4, None):
        model = llsvm(rank=rank).fit(X, f > 0)
        vectors = np.linalg.eigh(K)[1][:, ::-1][:, : rank or BUDGET]
        # The coefficients are in the span of the leading eigenvectors.
        a = model.dual_coef_[0]
        np.testing.assert_allclose(vectors @ (vectors.T @ a), a, atol=1e-9)


# ---- transformers among other estimators ---------------------------------------------


@each_transformer
def test_transformers_name_what_they_give(name: str) -> None:
    X, _ = rows(ROWS)
    model = transformer(name).fit(X)
    names = model.get_feature_names_out()
    assert len(names) == model.transform(X).shape[1]
    assert names[0] == f"{type(model).__name__.lower()}0"
    assert len(set(names)) == len(names)


@each_transformer
def test_names_are_those_of_what_was_fitted(name: str) -> None:
    X, _ = rows(ROWS)
    with pytest.raises(NotFittedError):
        transformer(name).get_feature_names_out()
    model = transformer(name).fit(X)
    names = model.get_feature_names_out()
    model.set_params(**{"n_components": 6} if name == "fourier" else {"budget": 3})
    assert list(model.get_feature_names_out()) == list(names)
    assert model.transform(X).shape[1] == len(names)


def test_cut_eigenvalues_have_no_names() -> None:
    X = np.repeat(rows(4)[0] + np.arange(4.0)[:, None], 10, axis=0)
    model = onkel.NystromFeatures(gamma=0.5, landmarks="uniform", budget=30).fit(X)
    Z = model.transform(X)
    assert Z.shape[1] == len(model.get_feature_names_out()) == 4
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.5), atol=1e-6)


@each_transformer
@in_both_formats
def test_transformers_work_in_a_pipeline(name: str, form: Callable) -> None:
    X, y = data(FOGD, 300)
    linear = SGDClassifier(random_state=0, alpha=1e-3)
    model = make_pipeline(transformer(name, n_jobs=2), linear)
    assert model.fit(form(X), y).score(form(X), y) > 0.75
    found = clone(model).fit(form(X), y).predict(form(X))
    np.testing.assert_array_equal(found, model.predict(form(X)))


@each_transformer
def test_transformers_know_the_columns_of_a_frame(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data(FOGD, ROWS)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"], index=np.arange(ROWS) + 7)
    model = transformer(name).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    Z = model.transform(frame)
    assert list(Z.columns) == list(model.get_feature_names_out())
    assert list(Z.index) == list(frame.index)
    np.testing.assert_array_equal(Z, transformer(name).fit_transform(X))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["b", "a", "c"]])
    steps = make_pipeline(transformer(name), SGDClassifier(random_state=0))
    steps.set_output(transform="pandas").fit(frame, y)
    assert steps.predict(frame).shape == (ROWS,)
    assert len(steps[:-1].get_feature_names_out()) == Z.shape[1]


@each_transformer
def test_what_a_transformer_shows_is_a_copy(name: str) -> None:
    X, _ = rows(ROWS)
    model = transformer(name).fit(X)
    before = model.transform(X)
    shown = model.frequencies_ if name == "fourier" else model.landmarks_
    shown[...] = 0.0
    np.testing.assert_array_equal(model.transform(X), before)


@each_transformer
def test_the_first_rows_settle_the_precision_of_a_transformer(name: str) -> None:
    X, _ = rows(ROWS)
    double, single = transformer(name).fit(X), transformer(name)
    single.fit(X.astype(np.float32))
    assert double.transform(X.astype(np.float32)).dtype == np.float64
    assert single.transform(X).dtype == np.float32
    np.testing.assert_allclose(
        np.abs(single.transform(X)), np.abs(double.transform(X)), atol=2e-3
    )


def test_the_landmarks_are_not_the_callers_rows() -> None:
    X, _ = rows(ROWS)
    kept = X.copy()
    model = transformer("nystrom", landmarks="first").fit(X)
    before = model.transform(kept)
    X[:] = 0.0
    np.testing.assert_array_equal(model.transform(kept), before)

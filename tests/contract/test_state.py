"""What a model keeps, how it starts anew and goes on, and what it owes its input.

Continuations and repetitions are compared bit for bit: the same rows in the same
calls must give the same numbers, wherever the model has been in between.
"""

import copy
import itertools
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import (
    euclidean_distances,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

import onkel
from onkel.engine import passes
from onkel.engine.threads import CHUNK
from onkel.estimators._beginning import informing
from tests.contract.systems import (
    CLASSIFIERS,
    FEATURES,
    RANDOM,
    REGRESSORS,
    SYSTEMS,
    System,
    data,
    each,
    each_in_its_precisions,
    goes_on_alike,
    precisions,
    rows,
    scores,
)

ROWS = 150
in_both_formats = pytest.mark.parametrize(
    "form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"]
)
in_both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])
ONE_OF_EACH_KIND = ["rbp", "bogd", "nbsgd", "avm", "bsgd", "bogd-r", "avm-r"]


def same(model: Any, other: Any) -> None:
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(model.support_vectors_, other.support_vectors_)
    assert model.t_ == other.t_
    assert model.n_updates_ == other.n_updates_


# ---- going on ------------------------------------------------------------------------


def pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


@each(SYSTEMS)
@pytest.mark.parametrize("copied", [pickled, copy.deepcopy])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_copy_in_mid_stream_goes_on_with_the_same_bits(
    system: System, copied: Callable, classes: int
) -> None:
    X, y = data(system, 2 * ROWS, classes=classes)
    model = system.make().partial_fit(X[:ROWS], y[:ROWS])
    goes_on_alike(copied(model), model, X[ROWS:], y[ROWS:])


@each_in_its_precisions(RANDOM)
def test_a_copy_of_a_model_of_sparse_rows_goes_on_with_the_same_bits(
    system: System, dtype: Any
) -> None:
    X, y = data(system, 2 * ROWS)
    X = scipy.sparse.csr_array(X.astype(dtype))
    model = system.make().partial_fit(X[:ROWS], y[:ROWS])
    goes_on_alike(pickled(model), model, X[ROWS:], y[ROWS:])


@each(SYSTEMS)
def test_a_copy_is_independent(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X, y)
    coef = model.dual_coef_
    copy.deepcopy(model).partial_fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, coef)
    assert model.t_ == ROWS


@each(SYSTEMS)
def test_predicting_changes_nothing(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    model = system.make().partial_fit(X[:ROWS], y[:ROWS])
    twin = copy.deepcopy(model)
    # Sparse rows make the model lay out its centres in another way.
    for probe in (X, scipy.sparse.csr_array(X), X.astype(np.float32)):
        model.predict(probe)
    goes_on_alike(model, twin, X[ROWS:], y[ROWS:])


@each(ONE_OF_EACH_KIND)
def test_dense_and_sparse_rows_may_alternate(system: System) -> None:
    X, y = data(system, ROWS)
    model, twin = system.make(), system.make()
    for first in range(0, ROWS, 30):
        part = slice(first, first + 30)
        form = scipy.sparse.csr_array if first % 60 else np.asarray
        model.partial_fit(form(X[part]), y[part])
        twin.partial_fit(X[part], y[part])
    np.testing.assert_allclose(scores(model, X), scores(twin, X), rtol=1e-9, atol=1e-9)


@each(["rbp", "avm", "avm-r", "bsgd-mean"])
def test_alternating_formats_need_no_further_code(system: System) -> None:
    # Compiled code is chosen by the types of all arrays, also of those not used.
    signatures = getattr(passes.learn.code, "signatures", None)
    if signatures is None:
        pytest.skip("nothing is compiled")
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X, y)
    model.partial_fit(scipy.sparse.csr_array(X), y)
    compiled = len(passes.learn.code.signatures)
    model.partial_fit(X, y)
    model.partial_fit(scipy.sparse.csr_array(X), y)
    pickled(model).partial_fit(X, y)
    assert len(passes.learn.code.signatures) == compiled


@each(SYSTEMS)
def test_partial_fit_goes_on_after_fit(system: System) -> None:
    X, y = data(system, 2 * ROWS)
    model = system.make().fit(X[:ROWS], y[:ROWS])
    before = model.n_updates_
    model.partial_fit(X[ROWS:], y[ROWS:])
    assert model.t_ == 2 * ROWS
    assert model.n_updates_ >= before
    assert model.n_iter_ == 1


@each(SYSTEMS)
def test_fit_in_the_given_order_is_one_partial_fit(system: System) -> None:
    X, y = data(system, ROWS)
    fitted = system.make(shuffle=False).fit(X, y)
    streamed = system.make(shuffle=False)
    if system.regressor:
        streamed.partial_fit(X, y)
    else:
        streamed.partial_fit(X, y, classes=[0, 1])
    goes_on_alike(fitted, streamed, X, y)


@each(ONE_OF_EACH_KIND)
def test_passes_are_counted(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make(max_iter=3).fit(X, y)
    assert model.t_ == 3 * ROWS
    assert model.n_iter_ == 3
    assert system.make().partial_fit(X, y).n_iter_ == 1


# ---- starting anew -------------------------------------------------------------------


@each(SYSTEMS)
def test_the_same_seed_gives_the_same_bits(system: System) -> None:
    X, y = data(system, ROWS)
    one, two = system.make().fit(X, y), system.make().fit(X, y)
    again = copy.deepcopy(one).fit(X, y)
    goes_on_alike(copy.deepcopy(one), two, X, y)
    goes_on_alike(one, again, X, y)


@each(RANDOM)
def test_seeds_of_every_kind_make_a_run_repeatable(system: System) -> None:
    X, y = data(system, ROWS)
    one = system.make(random_state=np.random.RandomState(0)).fit(X, y)
    two = system.make(random_state=np.random.RandomState(0)).fit(X, y)
    same(one, two)
    # Such a generator moves on, as it does elsewhere in scikit-learn.
    other = copy.deepcopy(one).fit(X, y)
    assert not np.array_equal(other.support_vectors_, one.support_vectors_)


@each(RANDOM)
def test_another_seed_gives_another_model(system: System) -> None:
    X, y = data(system, ROWS)
    for learn in ("fit", "partial_fit"):
        one = getattr(system.make(random_state=0), learn)(X, y)
        two = getattr(system.make(random_state=1), learn)(X, y)
        assert not np.array_equal(one.support_vectors_, two.support_vectors_)


@pytest.mark.parametrize("name", SYSTEMS)
def test_fit_forgets_everything(name: str) -> None:
    system = SYSTEMS[name]
    X, y = data(system, ROWS)
    fresh = system.make().fit(X, y)
    wider = np.column_stack([X, X]).astype(precisions(name)[-1])
    veteran = system.make().fit(wider, y)
    veteran.partial_fit(wider, y)
    veteran.fit(X, y)
    goes_on_alike(veteran, fresh, X, y)
    assert veteran.n_features_in_ == FEATURES
    if not system.regressor:
        veteran.fit(X, np.array(["b", "a"])[y])
        assert list(veteran.classes_) == ["a", "b"]
        assert veteran.n_mistakes_ <= ROWS


@each(SYSTEMS)
def test_a_clone_is_new_and_learns_alike(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().fit(X, y)
    new = clone(model)
    assert new.get_params() == model.get_params()
    assert set(vars(new)) == set(new.get_params())
    same(new.fit(X, y), model)


# ---- versions ------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["0.0.0", None])
def test_a_pickle_of_another_version_warns(version: str | None) -> None:
    X, y = data(CLASSIFIERS["rbp"], ROWS)
    model = CLASSIFIERS["rbp"].make().fit(X, y)
    state = model.__getstate__()
    assert state["_onkel_version"] == onkel.__version__
    state["_onkel_version"] = version
    if version is None:
        del state["_onkel_version"]
    read = object.__new__(type(model))
    with pytest.warns(UserWarning, match=f"onkel {version}.*{onkel.__version__}"):
        read.__setstate__(state)
    np.testing.assert_array_equal(read.predict(X), model.predict(X))


# ---- what a fitted model shows -------------------------------------------------------


@each_in_its_precisions(SYSTEMS)
def test_fitted_attributes_have_their_shapes_and_types(
    system: System, dtype: Any
) -> None:
    X, y = data(system, ROWS, classes=4)
    X = X.astype(dtype)
    model = system.make()
    for name in ("support_vectors_", "dual_coef_", "model_size_", "t_", "n_iter_"):
        assert not hasattr(model, name)
    model.fit(X, y)
    outputs = 1 if system.regressor else 4
    size = model.model_size_
    largest = system.parameters.get("budget") or ROWS
    largest += 0 if system.bounded else ROWS
    assert (0 if system.explicit else 1) <= size <= largest
    assert model.support_vectors_.shape == (size, FEATURES)
    assert model.support_vectors_.dtype == dtype
    assert model.dual_coef_.shape == (outputs, size)
    assert model.dual_coef_.dtype == dtype
    assert scores(model, X).dtype == dtype
    assert scores(model, X).shape == ((ROWS,) if outputs == 1 else (ROWS, 4))
    assert onkel.progressive(copy.deepcopy(model), X, y).dtype == dtype
    assert model.t_ == ROWS
    assert model.n_features_in_ == FEATURES
    assert model.n_iter_ == 1
    assert 0 < model.n_updates_ <= ROWS
    if "budget" in system.parameters:
        assert model.n_updates_ >= size
        if system.everywhere:
            assert model.n_maintenance_ == 0
        elif system.name.startswith("DualSGD"):
            moved = model.n_maintenance_ * model.merge_size
            assert moved == model.n_updates_ - size
        elif model.budget is not None and not system.projects:
            assert model.n_maintenance_ == model.n_updates_ - size
    else:
        assert model.n_maintenance_ == 0
    counters = ["model_size_", "t_", "n_iter_", "n_updates_", "n_maintenance_"]
    if system.regressor:
        assert not hasattr(model, "classes_")
    else:
        np.testing.assert_array_equal(model.classes_, np.arange(4))
        assert 0 < model.n_mistakes_ <= ROWS
        counters.append("n_mistakes_")
    for name in counters:
        assert type(getattr(model, name)) is int


@each(ONE_OF_EACH_KIND)
def test_the_first_rows_settle_the_precision(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X[:50].astype(np.float32), y[:50])
    model.partial_fit(X[50:], y[50:])
    assert model.dual_coef_.dtype == scores(model, X).dtype == np.float32
    whole_numbers = system.make().partial_fit(np.round(X).astype(int), y)
    assert whole_numbers.dual_coef_.dtype == np.float64


@each([name for name, system in SYSTEMS.items() if not system.merges])
def test_centres_are_rows_of_the_data(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().fit(X, y)
    given = {row.tobytes() for row in X}
    assert all(center.tobytes() in given for center in model.support_vectors_)


KERNELS = {
    "rbf": lambda X, Z: rbf_kernel(X, Z, gamma=0.3),
    "laplacian": lambda X, Z: laplacian_kernel(X, Z, gamma=0.3),
    "poly": lambda X, Z: polynomial_kernel(X, Z, degree=2, gamma=0.3, coef0=0.5),
    "linear": linear_kernel,
}


def features_of(model: Any, X: np.ndarray) -> np.ndarray:
    if model.kernel == "linear":
        return X
    angles = X @ model.frequencies_.T
    half = model.n_components / 2
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(half)


@each(SYSTEMS)
@pytest.mark.parametrize("kernel", KERNELS)
@in_both_formats
def test_the_expansion_gives_the_scores(
    system: System, kernel: str, form: Callable
) -> None:
    X, y = data(system, ROWS, classes=3)
    if system.explicit and kernel == "poly":
        pytest.skip("poly has no Fourier features")
    if system.explicit and kernel == "linear" and form is not np.asarray:
        pytest.skip("each map and format is compiled: see test_feature_systems.py")
    shape = {} if system.explicit else {"degree": 2, "coef0": 0.5}
    model = system.make(kernel=kernel, gamma=0.3, **shape)
    model.fit(form(X), y)
    wanted: Any = 0.0
    if model.model_size_:  # scikit-learn's kernels refuse an empty list of centres
        K = KERNELS[kernel](X, model.support_vectors_)
        wanted = (K @ model.dual_coef_.T).squeeze()
    if system.explicit:
        wanted = wanted + (features_of(model, X) @ model.feature_coef_.T).squeeze()
    size = np.abs(wanted).max()
    np.testing.assert_allclose(scores(model, form(X)), wanted, atol=1e-12 * size)


def test_feature_names_are_kept_and_checked() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = data(CLASSIFIERS["rbp"], ROWS)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = CLASSIFIERS["rbp"].make().partial_fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    twin = copy.deepcopy(model)
    for call in (model.predict, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match="feature names"):
            call(frame[["b", "a", "c"]])
    frame.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match=r"row 3, column 1 \(b\)"):
        model.partial_fit(frame, y)
    frame.loc[3, "b"] = 0.0
    goes_on_alike(model, twin, frame, y)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


# ---- gamma ---------------------------------------------------------------------------


def scale(X: np.ndarray) -> float:
    return 1.0 / (X.shape[1] * X.var())


def median(X: np.ndarray) -> float:
    squared = euclidean_distances(X, squared=True)
    return 1.0 / float(np.median(squared[np.triu_indices(len(X), k=1)]))


gammas = pytest.mark.parametrize(
    "gamma, formula", [("scale", scale), ("median", median)]
)


def agree(model: Any, other: Any, X: np.ndarray, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(
        scores(model, X), scores(other, X), rtol=tolerance, atol=tolerance
    )


@each(["perceptron", "bsgd-r"])
@gammas
@in_both_formats
def test_fit_takes_gamma_from_all_rows(
    system: System, gamma: str, formula: Callable, form: Callable
) -> None:
    X, y = data(system, 300)
    X[200:] *= 5.0
    model = system.make(gamma=gamma).fit(form(X), y)
    agree(model, system.make(gamma=formula(X)).fit(form(X), y), X)
    assert formula(X) != pytest.approx(formula(X[:200]), rel=0.1)


@gammas
def test_fit_takes_gamma_from_many_rows(gamma: str, formula: Callable) -> None:
    X, y = data(REGRESSORS["bsgd-r"], 2500)
    X[1200:] *= 3.0
    model = REGRESSORS["bsgd-r"].make(gamma=gamma).fit(X, y)
    used = model._learner.plan.kernel.gamma
    # Of many rows the median is taken over a thousand, from all over the data.
    tolerance = 1e-9 if gamma == "scale" else 0.1
    assert used == pytest.approx(formula(X), rel=tolerance)
    assert formula(X) != pytest.approx(formula(X[:1000]), rel=0.3)


@each(["perceptron", "bsgd-r"])
@gammas
@pytest.mark.parametrize("first", [40, 1200])
def test_a_stream_takes_gamma_from_its_first_rows(
    system: System, gamma: str, formula: Callable, first: int
) -> None:
    X, y = data(system, 1300)
    X[1000:] *= 5.0
    model = system.make(gamma=gamma)
    for part in (slice(0, first), slice(first, None)):
        model.partial_fit(X[part], y[part])
        looked_at = informing(model.t_)
        used = model._learner.plan.kernel.gamma
        # Of more than 1,000 rows distances are those of 1,000.
        sampled = gamma == "median" and looked_at > 1000
        rounding = 0.05 if sampled else 1e-9
        assert used == pytest.approx(formula(X[:looked_at]), rel=rounding)
        twin = system.make(gamma=used).partial_fit(X[: model.t_], y[: model.t_])
        agree(model, twin, X)


@gammas
@in_both_formats
def test_gamma_in_single_precision_is_as_good_as_in_double(
    gamma: str, formula: Callable, form: Callable
) -> None:
    # Far from the origin the mean of squares and the square of the mean nearly cancel.
    X = (rows(ROWS)[0] + 300.0).astype(np.float32)
    y = np.arange(ROWS) % 2
    model = CLASSIFIERS["rbp"].make(gamma=gamma).fit(form(X), y)
    wanted = formula(X.astype(np.float64))
    assert model._learner.plan.kernel.gamma == pytest.approx(wanted, rel=1e-3)


def test_gamma_is_not_used_by_the_linear_kernel() -> None:
    # So constant features are no reason to complain.
    X, y = np.ones((20, 2)), np.arange(20) % 2
    CLASSIFIERS["rbp"].make(kernel="linear", gamma="scale").fit(X, y)


CONSTANT_ROWS = {
    "zeros": np.zeros((30, 3)),
    "ones": np.ones((30, 3)),
    # The mean of these is not exactly the number itself.
    "tenths": np.full((100, 3), 0.1),
    "thirds": np.full((77, 5), 1.0 / 3.0),
}


@pytest.mark.parametrize("X", CONSTANT_ROWS.values(), ids=CONSTANT_ROWS)
@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@in_both_precisions
@in_both_formats
def test_constant_features_warn_and_give_one(
    X: np.ndarray, gamma: str, learn: str, dtype: Any, form: Callable
) -> None:
    X, y = form(X.astype(dtype)), np.arange(len(X)) % 2
    model = CLASSIFIERS["rbp"].make(gamma=gamma)
    with pytest.warns(UserWarning, match=f'gamma="{gamma}".*gamma=1.0'):
        getattr(model, learn)(X, y)
    assert model._learner.plan.kernel.gamma == 1.0


@pytest.mark.parametrize("features", [3, 30])
@in_both_formats
def test_identical_rows_warn_and_give_a_median_of_one(
    features: int, form: Callable
) -> None:
    # Distances from dot products leave some rounding where there should be zeros.
    for seed in range(10):
        x = np.random.default_rng(seed).normal(size=features)
        X, y = form(np.tile(x, (50, 1))), np.arange(50) % 2
        model = CLASSIFIERS["rbp"].make(gamma="median")
        with pytest.warns(UserWarning, match="gamma=1.0"):
            model.partial_fit(X, y)
        assert model._learner.plan.kernel.gamma == 1.0


def test_one_row_has_no_median_distance_and_more_will_come() -> None:
    model = CLASSIFIERS["rbp"].make(gamma="median")
    model.partial_fit([[1.0, 2.0, 3.0]], [0])
    assert model._learner.plan.kernel.gamma == 1.0
    model.partial_fit([[1.0, 2.0, 5.0]], [1])
    assert model._learner.plan.kernel.gamma == 0.25


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_the_warning_about_gamma_points_at_the_caller(learn: str) -> None:
    model = CLASSIFIERS["rbp"].make(gamma="scale")
    with pytest.warns(UserWarning, match="gamma=1.0") as caught:
        getattr(model, learn)(np.ones((20, 2)), np.arange(20) % 2)
    assert caught[0].filename == __file__


# ---- the user's arrays ---------------------------------------------------------------


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.setflags(write=False)
    return X


def strided(X: np.ndarray) -> np.ndarray:
    return np.repeat(X, 2, axis=1)[:, ::2]


@each(ONE_OF_EACH_KIND)
@pytest.mark.parametrize(
    "form", [read_only, np.asfortranarray, strided, np.ndarray.tolist]
)
@in_both_precisions
def test_any_array_learns_like_a_plain_one(
    system: System, form: Callable, dtype: Any
) -> None:
    X, y = data(system, ROWS)
    X = X.astype(dtype)
    if form is np.ndarray.tolist and dtype == np.float32:
        pytest.skip("a list has no precision of its own")
    model = system.make().fit(form(X), read_only(y))
    plain = system.make().fit(X, y)
    same(model, plain)
    np.testing.assert_array_equal(scores(model, form(X)), scores(plain, X))


def with_duplicates(X: np.ndarray) -> Any:
    """Store each entry as two halves, far apart and out of order."""
    one = scipy.sparse.csr_array(X / 2)
    parts = [slice(a, b) for a, b in itertools.pairwise(one.indptr)]
    data = [np.r_[one.data[part], one.data[part][::-1]] for part in parts]
    indices = [np.r_[one.indices[part], one.indices[part][::-1]] for part in parts]
    made = scipy.sparse.csr_array(
        (np.concatenate(data), np.concatenate(indices), 2 * one.indptr), shape=X.shape
    )
    assert not made.has_canonical_format
    np.testing.assert_array_equal(made.toarray(), X)
    return made


def backwards(X: np.ndarray) -> Any:
    made = scipy.sparse.csr_array(X[:, ::-1])
    made.indices = (X.shape[1] - 1 - made.indices).astype(made.indices.dtype)
    made.has_sorted_indices = False
    made.has_canonical_format = False
    return made


def with_stored_zeros(X: np.ndarray) -> Any:
    made = scipy.sparse.csr_array(np.where(X == 0, 1.0, X))
    made.data[(X == 0).ravel()] = 0.0
    return made


@each(ONE_OF_EACH_KIND)
@pytest.mark.parametrize(
    "form",
    [
        with_duplicates,
        backwards,
        with_stored_zeros,
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_array,
        scipy.sparse.coo_array,
        scipy.sparse.lil_array,
    ],
)
def test_any_sparse_matrix_learns_like_a_plain_one(
    system: System, form: Callable
) -> None:
    X, y = data(system, ROWS)
    model = system.make().fit(form(X), y)
    plain = system.make().fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, rtol=1e-9)
    np.testing.assert_array_equal(model.support_vectors_, plain.support_vectors_)
    np.testing.assert_allclose(scores(model, form(X)), scores(plain, X), rtol=1e-9)


@each(SYSTEMS)
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@in_both_formats
def test_input_is_neither_modified_nor_kept(
    system: System, learn: str, form: Callable
) -> None:
    X, y = data(system, ROWS)
    given, targets = form(X.copy()), y.copy()
    options = {}
    if system.weighted:
        options["sample_weight"] = np.full(ROWS, 0.5)
        if not system.regressor:
            system = system._replace(
                parameters={**system.parameters, "class_weight": {0: 2.0}}
            )
    model = getattr(system.make(), learn)(given, targets, **options)
    model.predict(given)
    np.testing.assert_array_equal(given if form is np.asarray else given.toarray(), X)
    np.testing.assert_array_equal(targets, y)
    if options:
        np.testing.assert_array_equal(options["sample_weight"], 0.5)

    twin = copy.deepcopy(model)
    (given if form is np.asarray else given.data)[...] = 77.0
    targets[...] = 1
    goes_on_alike(model, twin, X, y)


def test_duplicate_entries_of_the_users_matrix_stay() -> None:
    X, y = data(CLASSIFIERS["rbp"], ROWS)
    given = with_duplicates(X)
    stored, before = given.nnz, given.data.copy()
    model = CLASSIFIERS["rbp"].make().fit(given, y)
    model.predict(given)
    assert given.nnz == stored
    np.testing.assert_array_equal(given.data, before)


@each(ONE_OF_EACH_KIND)
def test_what_a_model_shows_is_a_copy(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X, y)
    twin = copy.deepcopy(model)
    model.support_vectors_[...] = 0.0
    model.dual_coef_[...] = 0.0
    onkel.progressive(copy.deepcopy(model), X, y)[...] = 0.0
    goes_on_alike(model, twin, X, y)


def test_given_classes_are_copied() -> None:
    X, y = data(CLASSIFIERS["rbp"], ROWS)
    classes = np.array([0, 1])
    model = CLASSIFIERS["rbp"].make().partial_fit(X, y, classes=classes)
    classes[:] = 9
    np.testing.assert_array_equal(model.classes_, [0, 1])


# ---- how to run ----------------------------------------------------------------------


@each(["rbp", "bogd++", "bsgd-r"])
@in_both_formats
def test_two_threads_give_the_same_model(system: System, form: Callable) -> None:
    X, y = data(system, 700)
    one = system.make(n_jobs=1).fit(form(X), y)
    two = system.make(n_jobs=2).fit(form(X), y)
    np.testing.assert_allclose(two.dual_coef_, one.dual_coef_, rtol=1e-9)
    np.testing.assert_array_equal(two.support_vectors_, one.support_vectors_)
    np.testing.assert_allclose(scores(two, form(X)), scores(one, form(X)), rtol=1e-9)


@each(["rbp", "bsgd-r"])
def test_verbose_prints_a_line_for_each_pass(system: System, capsys: Any) -> None:
    X, y = data(system, ROWS)
    system.make(max_iter=2).fit(X, y)
    assert capsys.readouterr().out == ""
    system.make(max_iter=2, verbose=1).fit(X, y)
    first, second = capsys.readouterr().out.splitlines()
    assert f"{system.name}: pass 1/2, 150 rows" in first
    assert f"{system.name}: pass 2/2, 300 rows" in second
    assert "centres" in second


def test_a_regressor_that_is_worse_than_a_constant_says_so() -> None:
    X, y = data(REGRESSORS["bsgd-r"], ROWS)
    wild = onkel.BSGDRegressor(alpha=1e-4, gamma=0.5)
    with pytest.warns(ConvergenceWarning, match="worse than a constant") as caught:
        wild.fit(X, y)
    assert wild.t_ == ROWS, "which is all it does"
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        onkel.OGDRegressor(gamma=0.5, eta0=0.3).fit(X, y)
        # One target only: a constant is as good as anything can be.
        onkel.OGDRegressor(gamma=0.5, eta0=0.3).fit(X, np.ones(ROWS))


class Counting:
    """A scikit-learn callback that counts how often it is called."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.set_up = self.torn_down = 0

    def setup(self, estimator: Any, context: Any) -> None:
        self.set_up += 1

    def teardown(self, estimator: Any, context: Any) -> None:
        self.torn_down += 1

    def on_fit_task_begin(self, estimator: Any, context: Any, **rest: Any) -> None:
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, **rest: Any) -> None:
        self.ended.append(context.task_name)


callbacks = pytest.mark.skipif(
    not hasattr(onkel.RBPClassifier, "set_callbacks"),
    reason="scikit-learn before 1.9 has no callbacks",
)


@callbacks
@each(["rbp", "bsgd-r"])
def test_callbacks_are_told_of_passes_and_rows(system: System) -> None:
    X, y = data(system, ROWS)
    counting = Counting()
    model = system.make(max_iter=3).set_callbacks(counting).fit(X, y)
    assert counting.set_up == counting.torn_down == 1
    assert sorted(counting.begun) == sorted(counting.ended)
    assert counting.begun.count("fit") == 1
    assert counting.begun.count("pass") == 3
    assert counting.begun.count("rows") == 3
    assert counting.ended[-1] == "fit"
    same(model, system.make(max_iter=3).fit(X, y))


@callbacks
@pytest.mark.parametrize("name", ["RBP", "BSCA"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_are_told_of_every_so_many_rows(name: str, n_jobs: int) -> None:
    """As many as were announced, whatever pieces the engine takes them in."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2 * CHUNK + 5, 2)), rng.integers(0, 2, 2 * CHUNK + 5)
    counting = Counting()
    made = getattr(onkel, f"{name}Classifier")
    model = made(budget=20, gamma=0.5, max_iter=1, n_jobs=n_jobs, random_state=0)
    model.set_callbacks(counting).fit(X, y)
    assert counting.begun.count("rows") == counting.ended.count("rows") == 3


@callbacks
def test_callbacks_are_torn_down_when_fit_fails() -> None:
    X, y = data(REGRESSORS["sgd-r"], 400)
    counting = Counting()
    model = onkel.KernelSGDRegressor(loss="squared_error", alpha=1e-4, gamma=0.05)
    model.set_callbacks(counting)
    with pytest.raises(ValueError, match="overflowed"):
        model.fit(X, y)
    assert counting.set_up == counting.torn_down == 1
    # And they work again when it does not.
    model.set_params(alpha=0.1, t0=100.0).fit(X, y)
    assert counting.set_up == counting.torn_down == 2
    with pytest.raises(ValueError, match="alpha"):
        model.set_params(alpha=-1.0).fit(X, y)
    assert counting.set_up == counting.torn_down


@callbacks
def test_the_progress_bar_of_scikit_learn_works(capsys: Any) -> None:
    from sklearn.callback import ProgressBar

    X, y = data(CLASSIFIERS["rbp"], ROWS)
    model = CLASSIFIERS["rbp"].make(max_iter=2).set_callbacks(ProgressBar())
    model.fit(X, y)
    assert "RBPClassifier" in capsys.readouterr().out
    assert "_callback_fit_ctx" not in vars(model)

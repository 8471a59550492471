"""What AVM shows of its cover, and where its radius comes from."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist

import onkel
from onkel.estimators._beginning import informing
from tests.contract.systems import (
    CLASSIFIERS,
    REGRESSORS,
    data,
    goes_on_alike,
    rows,
)

ROWS = 150
AVM, AVM_R = CLASSIFIERS["avm"], REGRESSORS["avm-r"]
# Wide kernels: no radius is too large for them, and no warning tells of it.
AUTO = {"coverage_radius": "auto", "gamma": 1e-4}
SHAPES = ("sphere", "box", "grid")
each_shape = pytest.mark.parametrize("shape", SHAPES)
in_both_formats = pytest.mark.parametrize(
    "form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"]
)


# ---- what a model shows --------------------------------------------------------------


@each_shape
def test_cores_and_kept_rows_are_counted(shape: str) -> None:
    X, y = data(AVM, ROWS)
    model = AVM.make(coverage=shape)
    names = ("n_cores_", "n_absorbed_", "coverage_gap_", "coverage_radius_")
    for name in names:
        assert not hasattr(model, name)
    model.fit(X, y)
    assert 0 < model.n_cores_ < model.model_size_ < model.n_updates_
    assert model.n_absorbed_ == model.n_maintenance_ == 0
    assert type(model.n_cores_) is type(model.n_absorbed_) is int
    never = AVM.make(coverage=shape, approx_beta=0.0).fit(X, y)
    assert never.n_cores_ == never.model_size_


@each_shape
def test_updates_that_the_nearest_core_absorbed_are_counted(shape: str) -> None:
    X, y = data(AVM, ROWS)
    free = AVM.make(coverage=shape, approx_beta=0.0).fit(X, y)
    full = AVM.make(coverage=shape, approx_beta=0.0, max_core=5).fit(X, y)
    assert full.n_cores_ == full.model_size_ == 5 < free.n_cores_
    assert 0 < full.n_absorbed_ < full.n_updates_
    # Rows that are kept are no cores, and do not count.
    kept = AVM.make(coverage=shape, max_core=5).fit(X, y)
    assert kept.n_cores_ == 5 < kept.model_size_


@each_shape
def test_a_model_of_every_shape_goes_on_after_pickling(shape: str) -> None:
    X, y = data(AVM, 2 * ROWS)
    for system in (AVM, AVM_R):
        X, y = data(system, 2 * ROWS)
        for eager in (False, True):
            model = system.make(coverage=shape, lazy_core=not eager)
            model.partial_fit(X[:ROWS], y[:ROWS])
            twin = pickle.loads(pickle.dumps(model))
            goes_on_alike(twin, model, X[ROWS:], y[ROWS:])


@each_shape
@in_both_formats
def test_a_refused_call_leaves_the_cover_as_it_was(shape: str, form: Callable) -> None:
    X, y = data(AVM, 2 * ROWS)
    model = AVM.make(coverage=shape, max_core=8, kernel="poly", gamma=0.1)
    model.partial_fit(form(X[:ROWS]), y[:ROWS])
    twin = copy.deepcopy(model)
    # Refused before any row is learnt, and after most of them were: a cube overflows.
    for bad, message in ((np.nan, "NaN"), (1e120, "overflowed at row 290")):
        spoilt = X.copy()
        spoilt[290, 0] = bad
        # Plain Python would warn of the overflow, too.
        with pytest.raises(ValueError, match=message), np.errstate(all="ignore"):
            model.partial_fit(form(spoilt), y)
        assert model.n_cores_ == twin.n_cores_
        assert model.n_absorbed_ == twin.n_absorbed_
    goes_on_alike(model, twin, form(X[ROWS:]), y[ROWS:])


def largest_distance(model: Any, X: np.ndarray, Z: np.ndarray) -> float:
    """Largest distance in feature space of rows of X from those of Z beside them."""
    difference = X - Z
    if model.kernel == "linear":
        return float(np.linalg.norm(difference, axis=1).max())
    order = 1 if model.kernel == "laplacian" else 2
    powers = (np.abs(difference) ** order).sum(axis=1)
    k = np.exp(-model._learner.plan.kernel.gamma * powers)
    return float(np.sqrt(2 - 2 * k).max())


@each_shape
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_the_gap_is_the_diameter_of_a_cell_in_feature_space(
    shape: str, kernel: str
) -> None:
    X, y = data(AVM, ROWS)
    model = AVM.make(coverage=shape, kernel=kernel, coverage_radius=0.6).fit(X, y)
    # Opposite points of a cell: of the sphere, and of the box or the grid's cube.
    directions = np.random.default_rng(0).normal(size=(2000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    if shape != "sphere":
        directions = np.sign(directions) / math.sqrt(3)
    found = largest_distance(model, 0.6 * directions, -0.6 * directions)
    assert found <= model.coverage_gap_ * (1 + 1e-12)
    # Attained, but for the spheres along the diagonal only.
    assert found >= model.coverage_gap_ * (0.98 if kernel == "laplacian" else 1 - 1e-9)


def test_the_gap_of_the_papers_box_is_that_of_twice_the_radius() -> None:
    X, y = data(AVM, ROWS)
    wide = AVM.make(coverage="box", paper_box=True, coverage_radius=0.3).fit(X, y)
    twice = AVM.make(coverage="box", coverage_radius=0.6).fit(X, y)
    assert wide.coverage_gap_ == pytest.approx(twice.coverage_gap_)
    np.testing.assert_array_equal(wide.support_vectors_, twice.support_vectors_)


def test_the_gap_of_poly_is_unknown_and_that_of_large_cells_is_root_two() -> None:
    X, y = data(AVM, ROWS)
    assert math.isnan(AVM.make(kernel="poly", gamma=0.1).fit(X, y).coverage_gap_)
    assert AVM.make(coverage_radius=1e3).fit(X, y).coverage_gap_ == math.sqrt(2)
    tiny = AVM.make(coverage_radius=1e-12).fit(X, y).coverage_gap_
    assert tiny == pytest.approx(math.sqrt(2 * 0.5) * 2e-12)


def test_the_gap_of_the_largest_cells_is_root_two() -> None:
    X, y = data(AVM, ROWS)
    model = AVM.make(coverage_radius=1e200).fit(X, y)
    assert model.n_cores_ == 1
    assert model.coverage_gap_ == math.sqrt(2)


def test_a_row_is_covered_by_itself_whatever_the_radius() -> None:
    X, y = np.ones((40, 2)), np.arange(40) % 2
    for radius in (1e-150, 1e-170, 1e-300):
        model = AVM.make(coverage_radius=radius, approx_beta=0.0)
        assert model.fit(X, y).model_size_ == 1


# ---- dense and sparse ----------------------------------------------------------------


@pytest.mark.parametrize("decimals, radius", [(1, 0.5), (1, 0.3)])
def test_rounded_features_give_the_same_cores_dense_and_sparse(
    decimals: int, radius: float
) -> None:
    # On a lattice of tenths, rows at exactly the radius are frequent.
    for seed in range(6):
        X, f = rows(2 * ROWS, seed)
        X, y = np.round(X, decimals), f > 0
        dense = AVM.make(coverage_radius=radius, approx_beta=0.0)
        sparse = copy.deepcopy(dense).partial_fit(scipy.sparse.csr_array(X), y)
        dense.partial_fit(X, y)
        np.testing.assert_array_equal(sparse.support_vectors_, dense.support_vectors_)


@each_shape
def test_whole_numbers_give_the_same_cores_dense_and_sparse(shape: str) -> None:
    for seed in range(3):
        X, f = rows(2 * ROWS, seed)
        X, y = np.round(2 * X), f > 0
        dense = AVM.make(coverage=shape, coverage_radius=2.0)
        sparse = copy.deepcopy(dense).partial_fit(scipy.sparse.csr_array(X), y)
        dense.partial_fit(X, y)
        np.testing.assert_array_equal(sparse.support_vectors_, dense.support_vectors_)
        assert dense.n_cores_ == sparse.n_cores_


# ---- the radius ----------------------------------------------------------------------


def from_distances(X: np.ndarray) -> float:
    distances = pdist(X)
    return max(distances.mean() - distances.std(), 0.1 * distances.mean())


@in_both_formats
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_takes_the_radius_from_all_rows(form: Callable, dtype: Any) -> None:
    X, y = data(AVM, 300)
    X[200:] *= 5.0
    X = X.astype(dtype)
    model = AVM.make(**AUTO).fit(form(X), y)
    wanted = from_distances(X.astype(np.float64))
    assert model.coverage_radius_ == pytest.approx(wanted, rel=1e-6)
    assert from_distances(X[:200]) != pytest.approx(wanted, rel=0.1)
    assert model.coverage_radius == "auto"


def test_fit_takes_the_radius_from_many_rows() -> None:
    X, y = data(AVM_R, 2500)
    X[1200:] *= 3.0
    model = AVM_R.make(**AUTO).fit(X, y)
    assert model.coverage_radius_ == pytest.approx(from_distances(X), rel=0.1)
    assert from_distances(X) != pytest.approx(from_distances(X[:1000]), rel=0.3)


@pytest.mark.parametrize("first", [40, 1000, 1200])
def test_a_stream_takes_the_radius_from_its_first_rows(first: int) -> None:
    X, y = data(AVM, 1300)
    X[first:] *= 4.0
    X[1024:] *= 2.0
    model = AVM.make(**AUTO)
    for part in (slice(0, first), slice(first, None)):
        model.partial_fit(X[part], y[part])
        looked_at = informing(model.t_)
        # Of more than 1,000 rows distances are those of 1,000.
        radius = from_distances(X[:looked_at])
        rounding = 1e-12 if looked_at <= 1000 else 0.02
        assert model.coverage_radius_ == pytest.approx(radius, rel=rounding)
        twin = AVM.make(coverage_radius=model.coverage_radius_, gamma=1e-4)
        twin.partial_fit(X[: model.t_], y[: model.t_])
        np.testing.assert_allclose(
            model.decision_function(X), twin.decision_function(X), rtol=1e-9, atol=1e-9
        )


def test_a_radius_from_the_rows_is_never_much_smaller_than_their_distances() -> None:
    # Most rows are equal, few are far: the standard deviation exceeds the mean.
    X = np.zeros((60, 2))
    X[:3] = [[50.0, 0.0], [0.0, 50.0], [-50.0, 0.0]]
    distances = pdist(X)
    assert distances.std() > distances.mean()
    model = AVM.make(**AUTO).fit(X, np.arange(60) % 2)
    assert model.coverage_radius_ == pytest.approx(0.1 * distances.mean())


def test_the_unit_of_the_features_is_that_of_the_radius() -> None:
    X, y = data(AVM, ROWS)
    one = AVM.make(**AUTO).fit(X, y)
    two = AVM.make(coverage_radius="auto", gamma=1e-4 / 4096**2).fit(4096 * X, y)
    assert two.coverage_radius_ == 4096 * one.coverage_radius_
    np.testing.assert_array_equal(two.dual_coef_, one.dual_coef_)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@in_both_formats
def test_identical_rows_warn_and_give_a_radius_of_one(
    learn: str, dtype: Any, form: Callable
) -> None:
    X = form(np.tile([0.1, -1 / 3, 2.0], (50, 1)).astype(dtype))
    model = AVM.make(**AUTO)
    message = 'coverage_radius="auto".*coverage_radius=1.0'
    with pytest.warns(UserWarning, match=message) as caught:
        getattr(model, learn)(X, np.arange(50) % 2)
    assert caught[0].filename == __file__
    assert model.coverage_radius_ == 1.0
    assert model.n_cores_ == 1


def test_a_stream_begins_with_one_row_and_goes_on() -> None:
    X, y = data(AVM, ROWS)
    model = AVM.make(**AUTO).partial_fit(X[:1], y[:1], classes=[0, 1])
    assert model.coverage_radius_ == 1.0
    model.partial_fit(X[1:], y[1:])
    twin = AVM.make(coverage_radius=model.coverage_radius_, gamma=1e-4)
    twin.partial_fit(X, y, classes=[0, 1])
    looked_at = from_distances(X[: informing(ROWS)])
    assert model.coverage_radius_ == pytest.approx(looked_at, rel=1e-12)
    np.testing.assert_allclose(
        model.decision_function(X), twin.decision_function(X), rtol=1e-9, atol=1e-9
    )


def test_equal_first_rows_warn() -> None:
    X, _ = data(AVM, ROWS)
    X[:16] = X[0]
    with pytest.warns(UserWarning, match="coverage_radius=1.0"):
        AVM.make(**AUTO).partial_fit(X[:16], [0, 1] * 8)


def test_fit_looks_for_the_radius_anew_and_a_stream_does_not() -> None:
    X, y = data(AVM, ROWS)
    model = AVM.make(**AUTO).fit(X, y)
    first = model.coverage_radius_
    model.partial_fit(10 * X, y)
    assert model.coverage_radius_ == first
    assert model.fit(10 * X, y).coverage_radius_ == pytest.approx(10 * first)
    model.set_params(coverage_radius=0.5).fit(X, y)
    assert model.coverage_radius_ == 0.5


def test_a_refused_first_call_leaves_no_radius() -> None:
    X, y = data(AVM, ROWS)
    model = AVM.make(**AUTO, paper_box=True)
    before = dict(vars(model))
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="paper_box"):
            getattr(model, learn)(X, y)
        assert vars(model) == before
    model.set_params(paper_box=False).fit(X, y)
    radius = model.coverage_radius_
    with pytest.raises(ValueError, match="paper_box"):
        model.set_params(paper_box=True).fit(9 * X, y)
    assert model.coverage_radius_ == radius


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_radius_too_large_for_the_kernel_comes_with_a_better_one(learn: str) -> None:
    X, y = data(AVM, ROWS)
    model = AVM.make(coverage_radius="auto", gamma=50.0)
    message = r'coverage_radius="auto" chose .*gamma=50 .*coverage_radius=0\.118'
    with pytest.warns(UserWarning, match=message) as caught:
        getattr(model, learn)(X, y)
    assert caught[0].filename == __file__
    # Who gives a number, or whose kernel is wide, is not told.
    for given in (
        {"coverage_radius": model.coverage_radius_, "gamma": 50.0},
        {"coverage_radius": "auto", "gamma": 1e-3},
        {"coverage_radius": "auto", "kernel": "linear"},
    ):
        getattr(AVM.make(**given), learn)(X, y)


def test_the_defaults_learn() -> None:
    X, f = rows(600)
    model = onkel.AVMClassifier(random_state=0).fit(X, f > 0)
    assert 1 < model.n_cores_ == model.model_size_ < 300
    assert model.score(X, f > 0) > 0.7

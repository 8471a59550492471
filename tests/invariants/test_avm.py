"""What AVM promises of its cover and its size, whatever the rows (T11, T12, T23)."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from scipy.special import zeta

import onkel

ROWS = 80
SHAPES = ("sphere", "box", "grid")
KERNELS = ("rbf", "laplacian", "poly", "linear")
SEEDS = st.integers(0, 10_000)
RADII = st.floats(0.2, 3.0)


def few(examples: int) -> Any:
    return settings(
        max_examples=examples,
        phases=[Phase.generate],  # seeds do not become simpler when they shrink
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def points(seed: int, count: int = ROWS, features: int = 3) -> np.ndarray:
    """Rows in clusters and in between; no two are equal."""
    rng = np.random.default_rng(seed)
    clusters = 2 * rng.normal(size=(5, features))
    spread = rng.choice([0.1, 0.5, 1.0], size=(count, 1))
    return clusters[rng.integers(5, size=count)] + spread * rng.normal(
        size=(count, features)
    )


def labels(X: np.ndarray, classes: int = 2) -> np.ndarray:
    f = np.sin(2 * X[:, 0]) + X.sum(axis=1)
    return np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))


def model_of(cls: Any = onkel.AVMClassifier, **parameters: Any) -> Any:
    given = {"gamma": 0.5, "alpha": 0.01, "t0": 10.0, "random_state": 0}
    return cls(**{**given, **parameters})


def progressive(model: Any, X: Any, y: Any, cuts: Any = ()) -> np.ndarray:
    classes = None if hasattr(model, "epsilon") else np.unique(y)
    return np.concatenate(
        [
            onkel.progressive(model, X[a:b], y[a:b], classes)
            for a, b in itertools.pairwise([0, *cuts, len(y)])
        ]
    )


# ---- cover and separation (T11) ------------------------------------------------------


# Kernel, gamma, and how far from the origin; values underflow, are all 1, or have lost
# all digits.
VALUES = (
    *[("rbf", 0.5, 0.0), ("rbf", 1e-9, 0.0), ("rbf", 1e5, 0.0)],
    *[("rbf", 0.5, 1e5), ("rbf", 0.5, 1e8), ("laplacian", 0.5, 1e8)],
    *[("poly", 0.1, 0.0), ("linear", 1.0, 0.0)],
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel, gamma, shift", VALUES)
@few(3)
@given(seed=SEEDS, radius=RADII)
def test_every_update_goes_to_a_core_that_covers_it_and_cores_are_apart(
    shape: str, kernel: str, gamma: float, shift: float, seed: int, radius: float
) -> None:
    X = points(seed)
    y = labels(X)
    X += shift  # which rounds them, too
    model = model_of(coverage=shape, coverage_radius=radius, gamma=gamma, kernel=kernel)
    updates, coef = 0, np.zeros(0)
    for t in range(ROWS):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        cores = model.support_vectors_
        if model.n_updates_ > updates:
            far = cdist(X[t : t + 1], cores)[0]
            # In units in which nothing shrinks, one coefficient has changed.
            before = np.zeros(len(cores))
            before[: len(coef)] = coef
            changed = np.abs(model.dual_coef_[0] * (t + 11) - before)
            core = int(changed.argmax())
            assert np.sort(changed)[:-1].max(initial=0.0) < 1e-6 * changed[core]
            # Cells of the grid reach across, a diameter.
            assert far[core] < radius * (1 if shape == "sphere" else 2)
            if shape == "sphere":
                assert far[core] == far.min()
            elif shape == "box":
                half_width = radius / math.sqrt(3)
                assert np.abs(cores[core] - X[t]).max() < half_width
        updates, coef = model.n_updates_, model.dual_coef_[0] * (t + 11)
    assert model.n_cores_ == model.model_size_ <= updates
    if shape == "sphere" and len(cores) > 1:
        assert pdist(cores).min() >= radius
    if shape == "box" and len(cores) > 1:
        assert pdist(cores, "chebyshev").min() >= radius / math.sqrt(3)
    if shape == "grid":
        cells = np.floor(cores / (2 * radius / math.sqrt(3)))
        assert len(np.unique(cells, axis=0)) == len(cores)


@pytest.mark.parametrize("lazy", [True, False])
@few(15)
@given(
    values=st.lists(st.integers(-60, 60), min_size=2, max_size=60),
    radius=st.integers(1, 40),
)
def test_cores_on_a_line_are_no_more_than_fit_on_it(
    lazy: bool, values: Any, radius: int
) -> None:
    # In eighths, so that all is exact; in whatever order they come.
    X = np.array(values)[:, None] / 8
    y = np.arange(len(X)) % 2
    model = model_of(coverage_radius=radius / 8, lazy_core=lazy)
    model.partial_fit(X, y, classes=[0, 1])
    reach = max(values) - min(values)
    assert model.n_cores_ <= reach // radius + 1
    if not lazy:
        # All rows are covered, not only those with an update.
        assert (cdist(X, model.support_vectors_).min(axis=1) < radius / 8).all()


def test_a_line_can_be_as_full_as_it_may() -> None:
    X = np.concatenate([np.arange(11.0), np.random.default_rng(0).random(50) * 10])
    y = np.arange(len(X)) % 2
    model = model_of(coverage_radius=1.0, lazy_core=False)
    assert model.partial_fit(X[:, None], y).n_cores_ <= 11
    loss = {"loss": "log_loss", "coverage_radius": 1.0}
    model = model_of(**loss).partial_fit(X[:, None], y, classes=[0, 1])
    assert model.n_cores_ == 11


# ---- no cover at all -----------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@few(6)
@given(seed=SEEDS, classes=st.sampled_from([2, 4]), kernel=st.sampled_from(KERNELS))
def test_a_radius_of_nothing_is_kernel_sgd(
    shape: str, seed: int, classes: int, kernel: str
) -> None:
    X = points(seed)
    y = labels(X, classes)
    given = {"kernel": kernel, "degree": 2, "loss": "log_loss"}
    avm = model_of(**given, coverage=shape, coverage_radius=1e-9)
    sgd = model_of(onkel.KernelSGDClassifier, **given)
    np.testing.assert_array_equal(progressive(avm, X, y), progressive(sgd, X, y))
    np.testing.assert_array_equal(avm.support_vectors_, sgd.support_vectors_)
    np.testing.assert_array_equal(avm.dual_coef_, sgd.dual_coef_)


@pytest.mark.parametrize("average", [None, "full"])
@few(6)
@given(seed=SEEDS)
def test_a_radius_of_nothing_is_kernel_sgd_with_the_same_ball(
    average: str | None, seed: int
) -> None:
    X = points(seed)
    y = 3 * np.sin(X[:, 0])
    given = {
        "loss": "squared_error",
        "ball": True,
        "alpha": 0.1,
        "t0": 0.0,
        "average": average,
    }
    avm = model_of(onkel.AVMRegressor, **given, coverage_radius=1e-9)
    sgd = model_of(onkel.KernelSGDRegressor, **given)
    wanted = progressive(sgd, X, y)
    size = np.abs(wanted).max()
    found = progressive(avm, X, y)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(avm.predict(X), sgd.predict(X), rtol=0, atol=1e-8 * size)
    free = model_of(onkel.KernelSGDRegressor, **{**given, "ball": False})
    assert not np.allclose(progressive(free, X, y), wanted), "the ball was felt"


# ---- sizes (T12) ---------------------------------------------------------------------


def test_sizes_follow_their_bounds_in_the_mean() -> None:
    rows, runs, cells = 400, 30, 16
    X = np.random.default_rng(0).random((rows, 2))
    y = np.arange(rows) % 2
    # A grid of four by four; with this loss every row has an update.
    given = {"loss": "log_loss", "coverage": "grid", "coverage_radius": 0.125 * 2**0.5}
    t = np.arange(1, rows + 1)
    for rho, beta in itertools.product((0.5, 1.0, 1.5), (0.5, 5.0, 40.0)):
        kept, cores = [], []
        for seed in range(runs):
            model = model_of(**given, approx_beta=beta, approx_rho=rho)
            model.set_params(random_state=seed).partial_fit(X, y, classes=[0, 1])
            cores.append(model.n_cores_)
            kept.append(model.model_size_ - model.n_cores_)
        assert max(cores) <= cells
        probability = np.minimum(beta / t**rho, 1.0)
        sigma = math.sqrt((probability * (1 - probability)).sum() / runs)
        assert abs(np.mean(kept) - probability.sum()) <= 3.5 * sigma
        bound = {
            0.5: beta * rows**0.5 / 0.5,
            1.0: beta * (1 + math.log(rows)),
            1.5: beta * zeta(1.5),
        }[rho]
        assert np.mean(kept) + np.mean(cores) <= cells + bound
        assert probability.sum() <= bound


@pytest.mark.parametrize("shape", SHAPES)
@few(6)
@given(
    seed=SEEDS,
    max_core=st.integers(1, 20),
    radius=RADII,
    lazy=st.booleans(),
    cuts=st.lists(st.integers(1, ROWS - 1), max_size=4, unique=True).map(sorted),
)
def test_the_size_never_exceeds_max_core(
    shape: str, seed: int, max_core: int, radius: float, lazy: bool, cuts: Any
) -> None:
    X = points(seed)
    y = labels(X)
    given = {"coverage": shape, "coverage_radius": radius, "lazy_core": lazy}
    free, full = model_of(**given), model_of(**given, max_core=max_core)
    unlimited = progressive(free, X, y)
    for a, b in itertools.pairwise([0, *cuts, ROWS]):
        scores = onkel.progressive(full, X[a:b], y[a:b], [0, 1])
        assert full.model_size_ == full.n_cores_ <= max_core
        if full.n_cores_ < max_core:
            assert full.n_absorbed_ == 0
            np.testing.assert_allclose(scores, unlimited[a:b], rtol=1e-9, atol=1e-9)
    assert free.n_absorbed_ == 0
    if free.n_cores_ <= max_core:
        assert full.n_absorbed_ == 0


# ---- symmetries (T23) ----------------------------------------------------------------

CHOICES = st.fixed_dictionaries(
    {
        "coverage": st.sampled_from(SHAPES),
        "coverage_radius": RADII,
        "approx_beta": st.sampled_from([0.0, 4.0]),
        "max_core": st.sampled_from([None, 6]),
        "lazy_core": st.booleans(),
    }
)


@few(30)
@given(seed=SEEDS, given=CHOICES, classes=st.sampled_from([2, 4]))
def test_the_order_of_features_does_not_matter(
    seed: int, given: Any, classes: int
) -> None:
    X = points(seed, features=4)
    y = labels(X[:, :1], classes)
    shuffled = X[:, np.random.default_rng(seed).permutation(4)]
    one = progressive(model_of(**given), X, y)
    two = progressive(model_of(**given), shuffled, y)
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-8 * np.abs(one).max())


@few(30)
@given(
    seed=SEEDS,
    given=CHOICES,
    power=st.sampled_from([-40, -3, -1, 1, 2, 20, 60]),
    average=st.sampled_from([None, "full", "poly"]),
)
def test_the_unit_of_the_features_does_not_matter_at_all(
    seed: int, given: Any, power: int, average: Any
) -> None:
    # A power of two changes no digit.
    X, s = points(seed), 2.0**power
    y = labels(X)
    one, two = model_of(**given, average=average), model_of(**given, average=average)
    two.set_params(coverage_radius=s * two.coverage_radius, gamma=0.5 / s**2)
    np.testing.assert_array_equal(progressive(two, s * X, y), progressive(one, X, y))
    np.testing.assert_array_equal(two.dual_coef_, one.dual_coef_)
    np.testing.assert_array_equal(two.support_vectors_, s * one.support_vectors_)
    assert two.n_cores_ == one.n_cores_
    assert two.n_absorbed_ == one.n_absorbed_


@few(10)
@given(seed=SEEDS, given=CHOICES, shift=st.sampled_from([64.0, -1024.0]))
def test_where_the_origin_is_does_not_matter_to_spheres_and_boxes(
    seed: int, given: Any, shift: float
) -> None:
    if given["coverage"] == "grid":
        return
    X = np.round(points(seed) * 2**20) / 2**20  # so that the shift is exact
    y = labels(X)
    one = progressive(model_of(**given), X, y)
    two = progressive(model_of(**given), X + shift, y)
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-6 * np.abs(one).max())


@few(10)
@given(seed=SEEDS, radius=RADII)
def test_a_larger_grid_never_has_more_cores_on_the_same_cells(
    seed: int, radius: float
) -> None:
    # A cell of twice the side holds whole cells: all rows are cores of some cell.
    X = points(seed)
    y = labels(X)
    counts = [
        model_of(coverage="grid", coverage_radius=radius * s, lazy_core=False)
        .partial_fit(X, y, classes=[0, 1])
        .n_cores_
        for s in (1, 2, 4)
    ]
    assert counts == sorted(counts, reverse=True)

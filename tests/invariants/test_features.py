"""What features promise for any data: kernels in the mean, sizes, symmetries, numbers.

The numbers T18, T19, T23 and T24 are those of the list of invariants in the reference.
"""

import itertools
import math
import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import onkel
from tests.contract.systems import CLASSIFIERS, REGRESSORS, System, data, scores

ROWS = 120
GAMMAS = (0.01, 0.1, 1.0, 10.0)
KERNELS = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}
SEEDS = st.integers(0, 10_000)


def few(examples: int) -> Any:
    return settings(
        max_examples=examples,
        phases=[Phase.generate],  # seeds do not become simpler when they shrink
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def points(kernel: str, gamma: float, count: int = 12, inputs: int = 3) -> np.ndarray:
    """Rows whose distances are of the order of the kernel's width."""
    X = np.random.default_rng(5).normal(size=(count, inputs))
    return X * (0.4 / math.sqrt(gamma) if kernel == "rbf" else 0.3 / gamma)


def approximations(
    X: np.ndarray, seeds: int, n_components: int, **given: Any
) -> np.ndarray:
    """Products of the features of all pairs, shape (seeds, rows, rows)."""
    found = []
    for seed in range(seeds):
        features = onkel.FourierFeatures(
            n_components=n_components, random_state=seed, **given
        )
        Z = features.fit_transform(X)
        found.append(Z @ Z.T)
    return np.array(found)


# ---- kernels in the mean (T18, T19) --------------------------------------------------


@pytest.mark.parametrize(
    "kernel, features",
    [("rbf", "fourier"), ("rbf", "orthogonal"), ("laplacian", "fourier")],
)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_products_of_features_are_the_kernel_in_the_mean(
    kernel: str, features: str, gamma: float
) -> None:
    X, seeds, count = points(kernel, gamma), 300, 32
    K = KERNELS[kernel](X, gamma=gamma)
    given = {"kernel": kernel, "gamma": gamma, "features": features}
    found = approximations(X, seeds, count, **given)
    upper = np.triu_indices(len(X), k=1)
    assert 0.05 < K[upper].min() and K[upper].max() < 0.995
    error = (found.mean(axis=0) - K)[upper]
    spread = found.std(axis=0, ddof=1)[upper]
    assert (np.abs(error) < 4 * spread / math.sqrt(seeds)).all()
    # No pair varies more than the bound, which the error of a deviation may exceed.
    if features == "fourier":
        bound = math.sqrt(1 / (2 * (count // 2)))
        assert (spread < bound * (1 + 4 / math.sqrt(2 * seeds))).all()
        # By the variance of a cosine, (1 + k(2 x)) / 2 - k^2.
        twice = KERNELS[kernel](2 * X, gamma=gamma)
        wanted = np.sqrt(((1 + twice) / 2 - K**2) / (count // 2))[upper]
        np.testing.assert_allclose(spread, wanted, rtol=0.25)


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("features", ["fourier", "orthogonal", "laplacian"])
def test_features_have_norm_one(features: str, size: float, dtype: Any) -> None:
    X = (size * np.random.default_rng(0).normal(size=(50, 4))).astype(dtype)
    kind = {"features": features} if features != "laplacian" else {"kernel": features}
    for gamma, count in itertools.product((1e-12, 1.0, 1e6), (2, 30)):
        Z = onkel.FourierFeatures(
            **kind, gamma=gamma, n_components=count, random_state=0
        ).fit_transform(X)
        assert Z.dtype == dtype
        tolerance = 1e-14 if dtype is np.float64 else 1e-5
        np.testing.assert_allclose((Z**2).sum(axis=1), 1.0, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_error_falls_like_the_root_of_the_number(kernel: str, gamma: float) -> None:
    X = points(kernel, gamma, count=25)
    K = KERNELS[kernel](X, gamma=gamma)
    upper = np.triu_indices(len(X), k=1)
    counts = 2 ** np.arange(6, 13)
    errors = []
    for count in counts:
        found = approximations(X, 8, int(count), kernel=kernel, gamma=gamma)
        errors.append(math.sqrt(((found - K)[:, *upper] ** 2).mean()))
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -0.6 < slope < -0.4
    # And it is what it should be, not a multiple.
    twice = KERNELS[kernel](2 * X, gamma=gamma)
    wanted = np.sqrt(2 * ((1 + twice) / 2 - K**2)[upper].mean() / counts)
    np.testing.assert_allclose(errors, wanted, rtol=0.3)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("inputs", [2, 8])
def test_orthogonal_features_vary_less(gamma: float, inputs: int) -> None:
    X = points("rbf", gamma, inputs=inputs)
    X *= math.sqrt(3 / inputs)
    upper = np.triu_indices(len(X), k=1)
    variances = [
        approximations(X, 200, 2 * inputs, gamma=gamma, features=kind)
        .var(axis=0)[upper]
        .mean()
        for kind in ("fourier", "orthogonal")
    ]
    assert variances[1] < 0.9 * variances[0]


@pytest.mark.parametrize("name", ["FOGD", "DualSGD", "DualSVRG"])
def test_predictions_approach_those_of_the_kernel(name: str) -> None:
    # More features, and the model comes nearer to the one with kernels only.
    X, y = data(CLASSIFIERS["ogd"], ROWS)
    given: dict[str, Any] = {"gamma": 0.5}
    if name == "FOGD":
        given |= {"eta0": 0.4, "loss": "log_loss"}
        wanted = onkel.OGDClassifier(**given).partial_fit(X, y)
    elif name == "DualSGD":
        given |= {"alpha": 0.01, "t0": 10.0, "loss": "log_loss"}
        wanted = onkel.KernelSGDClassifier(**given).partial_fit(X, y)
        given |= {"budget": 10, "merge_size": 5}
    else:
        given |= {"alpha": 0.01, "eta0": 0.4, "memory_size": 9, "snapshot_period": 13}
        exact = {**given, "budget": ROWS}
        wanted = onkel.DualSVRGClassifier(**exact).partial_fit(X, y)
        given |= {"oracle": "always_move"}
    errors = []
    counts = (64, 512, 4096)
    for count in counts:
        found = [
            getattr(onkel, f"{name}Classifier")(
                **given, n_components=count, random_state=seed
            )
            .partial_fit(X, y)
            .decision_function(X)
            for seed in range(6)
        ]
        errors.append(np.sqrt(((found - wanted.decision_function(X)) ** 2).mean()))
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35


# ---- DualSVRG's sizes ----------------------------------------------------------------


def reduced(**parameters: Any) -> Any:
    given = {"eta0": 0.4, "alpha": 0.02, "memory_size": 9, "snapshot_period": 13}
    given |= {"gamma": 0.5, "n_components": 20, "random_state": 0}
    return onkel.DualSVRGClassifier(**{**given, **parameters})


@few(15)
@given(seed=SEEDS, radius=st.floats(0.2, 3.0), lazy=st.booleans())
def test_cores_are_apart_and_cover(seed: int, radius: float, lazy: bool) -> None:
    X, y = data(CLASSIFIERS["dual-svrg"], ROWS, seed)
    given = {"oracle": "coverage", "coverage_radius": radius, "lazy_core": lazy}
    model = reduced(**given).partial_fit(X, y, classes=[0, 1])
    cores = model.support_vectors_
    assert len(cores) == 1 or pdist(cores).min() >= radius
    if not lazy:
        assert (cdist(X, cores).min(axis=1) < radius).all()
    # Cores are rows, in the order in which they came.
    place = [int(np.flatnonzero((X == core).all(axis=1))[0]) for core in cores]
    assert place == sorted(place)
    sparse = reduced(**given).partial_fit(scipy.sparse.csr_array(X), y, classes=[0, 1])
    np.testing.assert_array_equal(sparse.support_vectors_, cores)
    np.testing.assert_allclose(
        sparse.decision_function(X), model.decision_function(X), atol=1e-9
    )


@few(6)
@given(seed=SEEDS)
def test_larger_cells_have_fewer_cores(seed: int) -> None:
    # Whatever the order, no more than twice the radius could need. Cores of 2 r are r
    # apart at least, and each cell of radius r / 2 has one at most.
    X, y = data(CLASSIFIERS["dual-svrg"], 300, seed)
    sizes = [
        reduced(oracle="coverage", coverage_radius=radius, lazy_core=False)
        .partial_fit(X, y, classes=[0, 1])
        .model_size_
        for radius in (0.1, 0.4, 1.6, 6.4, 100.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1 and sizes[0] > 50


@few(10)
@given(
    seed=SEEDS,
    budget=st.integers(1, 150),
    cuts=st.lists(st.integers(1, ROWS - 1), max_size=4, unique=True).map(sorted),
)
def test_the_size_is_what_the_oracle_allows(seed: int, budget: int, cuts: Any) -> None:
    X, y = data(CLASSIFIERS["dual-svrg"], ROWS, seed)
    models = {
        "budget": reduced(budget=budget),
        "cover": reduced(oracle="coverage", coverage_radius=0.2, max_core=budget),
        "move": reduced(oracle="always_move", budget=budget),
    }
    for a, b in itertools.pairwise([0, *cuts, ROWS]):
        for model in models.values():
            model.partial_fit(X[a:b], y[a:b], classes=[0, 1])
        assert models["budget"].model_size_ == min(b, budget)
        assert models["cover"].model_size_ <= min(b, budget)
        assert models["move"].model_size_ == 0
        for model in models.values():
            assert np.isfinite(model.dual_coef_).all()
            assert np.isfinite(model.feature_coef_).all()


@pytest.mark.parametrize("oracle", ["budget", "coverage", "always_move"])
def test_a_memory_larger_than_the_stream_holds_all_of_it(oracle: str) -> None:
    X, y = data(CLASSIFIERS["dual-svrg"], ROWS)
    given = {"oracle": oracle, "coverage_radius": 1.0, "budget": 12}
    several = [
        reduced(**given, memory_size=size).partial_fit(X, y, classes=[0, 1])
        for size in (ROWS, ROWS + 1, 10 * ROWS)
    ]
    wanted = several[0].decision_function(X)
    for model in several[1:]:
        np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-12)
    less = reduced(**given, memory_size=ROWS // 2).partial_fit(X, y, classes=[0, 1])
    assert not np.allclose(less.decision_function(X), wanted)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_period_of_one_and_a_memory_of_one_is_proximal_descent(classes: int) -> None:
    # u = w before every row, so that v is the slope at w, of this row alone.
    X, y = data(CLASSIFIERS["dual-svrg"], ROWS, classes=classes)
    model = reduced(oracle="always_move", memory_size=1, snapshot_period=1)
    Z = onkel.FourierFeatures(gamma=0.5, n_components=20, random_state=0).fit_transform(
        X
    )
    found = onkel.progressive(model, X, y, classes=np.unique(y))
    W = np.zeros((1 if classes == 2 else classes, 20))
    for t, z in enumerate(Z):
        f = W @ z
        np.testing.assert_allclose(found[t], f if classes > 2 else f[0], atol=1e-11)
        change = np.zeros_like(W)
        if classes == 2:
            sign = 2 * y[t] - 1
            margin, rows_up = sign * f[0], [(0, sign)]
        else:
            others = np.where(np.arange(classes) == y[t], -np.inf, f)
            runner_up = int(others.argmax())
            margin, rows_up = f[y[t]] - f[runner_up], [(y[t], 1), (runner_up, -1)]
        slope = -min(max(1 - margin, 0.0) / 0.5, 1.0)
        for row, sign in rows_up:
            change[row] += slope * sign * z
        W = (W - 0.4 * change) / (1 + 0.4 * 0.02)
    np.testing.assert_allclose(model.feature_coef_, W, atol=1e-11)


@pytest.mark.parametrize("memory", [1, 3, 9, 500])
@pytest.mark.parametrize("period", [1, 2, 119, 120, 121, 2**62])
def test_memories_and_periods_of_any_length(memory: int, period: int) -> None:
    X, y = data(CLASSIFIERS["dual-svrg"], ROWS)
    given = {"memory_size": memory, "snapshot_period": period, "budget": 12}
    model = reduced(**given).partial_fit(X, y, classes=[0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    parts = reduced(**given)
    for first in range(0, ROWS, 17):
        some = slice(first, first + 17)
        parts.partial_fit(X[some], y[some], classes=[0, 1])
    np.testing.assert_allclose(
        parts.decision_function(X), model.decision_function(X), atol=1e-10
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["f64", "f32"])
def test_the_sum_over_the_memory_does_not_drift(dtype: Any) -> None:
    # Rows enter and leave it without a checkpoint in between: rounding adds up.
    X, f = data(REGRESSORS["dual-svrg-r"], 20_000)
    given = {"oracle": "always_move", "eta0": 0.1, "alpha": 0.01, "memory_size": 20}
    given |= {"gamma": 0.5, "n_components": 20, "random_state": 0}
    long = onkel.DualSVRGRegressor(**given, snapshot_period=10**9)
    found = onkel.progressive(long, X.astype(dtype), f)
    memory = long._learner.budget
    entries, length = memory.entries, memory.counters[0].length
    exact = sum(
        entries[i].slope * memory.values[i, :20].astype(np.float64)
        for i in range(length)
    )
    size = np.abs(entries.slope[:length]).sum()
    error = np.abs(memory.gradient[0, :20] - exact).max()
    assert error < (1e-12 if dtype is np.float64 else 1e-3) * size
    assert np.isfinite(found).all()


# ---- symmetries (T23) ----------------------------------------------------------------

SYMMETRIC = {
    "fogd": {},
    "nogd": {},
    "dual-sgd": {},
    "dual-svrg": {},
    "dual-svrg-c": {},
    "fogd-r": {},
    "nogd-r": {},
    "dual-sgd-r": {},
    "dual-svrg-r": {},
}
ALL = CLASSIFIERS | REGRESSORS
symmetric = pytest.mark.parametrize("name", SYMMETRIC)


def progressive(system: System, model: Any, X: Any, y: Any) -> np.ndarray:
    classes = None if system.regressor else np.unique(y)
    return onkel.progressive(model, X, y, classes)


@symmetric
@few(4)
@given(seed=SEEDS, power=st.sampled_from([-60, -3, 1, 40]), more=st.integers(2, 4))
def test_the_unit_of_the_inputs_does_not_matter_at_all(
    name: str, seed: int, power: int, more: int
) -> None:
    # A power of two changes no digit.
    system, s = ALL[name], 2.0**power
    X, y = data(system, ROWS, seed, classes=more)
    one, two = system.make(), system.make(gamma=0.5 / s**2)
    if "coverage_radius" in system.parameters:
        two.set_params(coverage_radius=s * two.coverage_radius)
    np.testing.assert_array_equal(
        progressive(system, two, s * X, y), progressive(system, one, X, y)
    )
    np.testing.assert_array_equal(two.feature_coef_, one.feature_coef_)
    np.testing.assert_array_equal(two.dual_coef_, one.dual_coef_)
    np.testing.assert_array_equal(two.support_vectors_, s * one.support_vectors_)
    if system.explicit:
        np.testing.assert_array_equal(two.frequencies_ * s, one.frequencies_)


@symmetric
@few(4)
@given(seed=SEEDS)
def test_opposite_targets_have_opposite_scores(name: str, seed: int) -> None:
    system = ALL[name]
    X, y = data(system, ROWS, seed)
    one, two = system.make(), system.make()
    opposite = -y if system.regressor else 1 - y
    np.testing.assert_array_equal(
        progressive(system, two, X, opposite), -progressive(system, one, X, y)
    )
    np.testing.assert_array_equal(two.feature_coef_, -one.feature_coef_)
    np.testing.assert_array_equal(two.dual_coef_, -one.dual_coef_)
    np.testing.assert_array_equal(scores(two, X), -scores(one, X))


@few(6)
@given(seed=SEEDS, classes=st.integers(2, 4))
def test_the_order_of_inputs_does_not_matter_to_nogd(seed: int, classes: int) -> None:
    system = CLASSIFIERS["nogd"]
    X, y = data(system, ROWS, seed, classes=classes)
    order = np.random.default_rng(seed).permutation(3)
    one, two = system.make(loss="log_loss"), system.make(loss="log_loss")
    found = progressive(system, two, X[:, order], y)
    wanted = progressive(system, one, X, y)
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("landmarks", ["first", "uniform"])
def test_llsvm_has_the_same_symmetries(landmarks: str) -> None:
    X, y = data(CLASSIFIERS["fogd"], ROWS)
    given = {"budget": 12, "landmarks": landmarks, "random_state": 0}
    tight = {"tol": 1e-8, "max_iter": 10**6}
    one = onkel.LLSVMClassifier(**given, **tight, gamma=0.5).fit(X, y)
    two = onkel.LLSVMClassifier(**given, **tight, gamma=0.125).fit(2 * X, y)
    np.testing.assert_array_equal(two.dual_coef_, one.dual_coef_)
    np.testing.assert_array_equal(two.support_vectors_, 2 * one.support_vectors_)
    other = onkel.LLSVMClassifier(**given, **tight, gamma=0.5).fit(X, 1 - y)
    wanted = -one.decision_function(X)
    np.testing.assert_allclose(other.decision_function(X), wanted, atol=1e-4)


# ---- numbers (T24) -------------------------------------------------------------------

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(90, 3))
TARGET = np.sin(2 * POINTS[:, 0]) + POINTS[:, 1]

# Rows and gamma.
DATA = {
    "large": (1e8 * POINTS, 0.5),
    "large, scaled": (1e8 * POINTS, 1e-16),
    "far": (POINTS + 1e8, 0.5),
    "small": (1e-30 * POINTS, 0.5),
    "tiny gamma": (POINTS, 1e-12),
    "large gamma": (POINTS, 1e6),
    "largest gamma": (POINTS, 1e300),
    "smallest gamma": (POINTS, 1e-300),
    "constant column": (POINTS * [1.0, 0.0, 0.0] + [0.0, 7.0, 0.0], 0.5),
    "all equal": (np.ones((90, 3)), 0.5),
    "all zero": (np.zeros((90, 3)), 0.5),
    "duplicates": (np.repeat(POINTS[:6], 15, axis=0), 0.5),
    "near duplicates": (POINTS[:3].repeat(30, axis=0) + 1e-9 * POINTS, 0.5),
    "one column": (POINTS[:, :1], 0.5),
    "scale of a constant": (np.full((90, 2), 0.1), "scale"),
    "two rows": (POINTS[:2], 0.5),
}
SMALL = {"n_components": 20}
MAKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "FOGD": ("FOGD", {"eta0": 0.4, "alpha": 0.05, **SMALL}),
    "FOGD orthogonal": ("FOGD", {"eta0": 0.4, "features": "orthogonal", **SMALL}),
    "NOGD": ("NOGD", {"eta0": 0.4, "budget": 8, "rank": 8}),
    "DualSGD": ("DualSGD", {"alpha": 0.01, "budget": 8, "merge_size": 3, **SMALL}),
    "DualSVRG": ("DualSVRG", {"eta0": 0.4, "budget": 8, "memory_size": 9, **SMALL}),
    "DualSVRG coverage": (
        "DualSVRG",
        {"oracle": "coverage", "coverage_radius": 0.5, "memory_size": 9, **SMALL},
    ),
    "DualSVRG auto": ("DualSVRG", {"oracle": "coverage", "memory_size": 9, **SMALL}),
    "LLSVM": ("LLSVM", {"budget": 8, "max_iter": 10**5}),
    "LLSVM uniform": (
        "LLSVM",
        {"budget": 8, "max_iter": 10**5, "landmarks": "uniform"},
    ),
}
# What onkel itself says, with advice; anything else is a leak.
SAID = (
    "using gamma=1.0",
    "using coverage_radius=1.0",
    "stayed in its first phase",
    "predicts its own training rows",
    # See the test on duplicates below.
    "Number of distinct clusters",
)
ADVICE = "overflow.*(Scale|scale|steps)|Smaller steps help"
in_both_precisions = pytest.mark.parametrize(
    "dtype", [np.float64, np.float32], ids=["f64", "f32"]
)


def quietly(learn: Any, *arguments: Any) -> Any:
    """Learn; no warning may come but those that onkel means."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = learn(*arguments)
    for warning in caught:
        assert any(text in str(warning.message) for text in SAID), warning.message
    return found


def finite_or_refused(model: Any, X: np.ndarray, y: np.ndarray) -> None:
    try:
        quietly(model.fit, X, y)
    except ValueError as error:
        assert re.search(ADVICE, str(error), re.DOTALL), error
        return
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(getattr(model, "feature_coef_", 0.0)).all()
    assert np.isfinite(model.support_vectors_).all()
    assert np.isfinite(scores(model, X)).all()


@in_both_precisions
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("case", DATA)
def test_degenerate_data_give_numbers_or_advice(
    case: str, name: str, dtype: Any
) -> None:
    X, gamma = DATA[case]
    system, parameters = MAKERS[name]
    given = {**parameters, "gamma": gamma, "random_state": 0}
    X = X.astype(dtype)
    n = len(X)
    for y, kind in (
        (np.arange(n) % 2, "Classifier"),
        (np.arange(n) % 4, "Classifier"),
        (TARGET[:n], "Regressor"),
    ):
        finite_or_refused(getattr(onkel, system + kind)(**given), X, y)


@in_both_precisions
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("size", [1e8, 1e30])
def test_large_targets_give_numbers_or_advice(
    size: float, name: str, dtype: Any
) -> None:
    system, parameters = MAKERS[name]
    given = {**parameters, "gamma": 0.5, "random_state": 0}
    X, y = POINTS.astype(dtype), size * TARGET
    with warnings.catch_warnings():
        # Its own advice is good.
        warnings.filterwarnings("ignore", message=".*has made .* passes")
        model = getattr(onkel, f"{system}Regressor")(**given)
        try:
            model.fit(X, y)
        except ValueError as error:
            assert re.search(ADVICE, str(error), re.DOTALL), error
            return
    assert np.isfinite(scores(model, X)).all()


@in_both_precisions
@pytest.mark.parametrize("case", DATA)
@pytest.mark.parametrize(
    "features",
    [
        onkel.FourierFeatures(**SMALL),
        onkel.FourierFeatures(**SMALL, features="orthogonal"),
        onkel.FourierFeatures(**SMALL, kernel="laplacian"),
        onkel.NystromFeatures(budget=8),
        onkel.NystromFeatures(budget=60, landmarks="uniform"),
        onkel.NystromFeatures(budget=60, landmarks="first", kernel="laplacian"),
    ],
    ids=["fourier", "orthogonal", "laplacian", "kmeans", "uniform", "first-laplacian"],
)
def test_features_of_degenerate_data_are_numbers(
    case: str, features: Any, dtype: Any
) -> None:
    X, gamma = DATA[case]
    X = X.astype(dtype)
    features.set_params(gamma=gamma, random_state=0)
    quietly(features.fit, X)
    Z = features.transform(X)
    assert np.isfinite(Z).all() and Z.dtype == dtype


@pytest.mark.parametrize("case", ["duplicates", "all equal"])
def test_duplicates_are_no_reason_to_complain(case: str) -> None:
    # They are most common in data with few values, and make fewer landmarks do.
    X, gamma = DATA[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features = onkel.NystromFeatures(budget=8, gamma=gamma, random_state=0).fit(X)
        assert len(np.unique(features.landmarks_, axis=0)) == len(features.landmarks_)
        model = onkel.LLSVMClassifier(budget=8, gamma=gamma, random_state=0)
        model.fit(X, np.arange(90) % 2)


@in_both_precisions
@pytest.mark.parametrize("shift", [0.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_nystrom_features_are_no_longer_than_the_kernel_allows(
    kernel: str, shift: float, dtype: Any
) -> None:
    # |z(x)|^2 <= k(x, x) = 1: a projection. Rounded kernel values times the inverse
    # root of a small eigenvalue must not grow beyond it.
    X = (POINTS + shift).astype(dtype)
    for gamma in (0.5, 0.01):
        features = onkel.NystromFeatures(
            budget=60, landmarks="first", gamma=gamma, kernel=kernel
        )
        Z = features.fit_transform(X)
        # Where nothing is left of the distances, kernel values are anything up to 1,
        # and features still bounded.
        lost = gamma * shift**2 * np.finfo(dtype).eps > 1.0
        assert (Z.astype(np.float64) ** 2).sum(axis=1).max() < (10.0 if lost else 1.1)


@in_both_precisions
@pytest.mark.parametrize("kernel", ["poly", "linear"])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e8, 1e18, 1e60, 1e100])
def test_kernels_that_grow_give_numbers_or_advice(
    size: float, kernel: str, dtype: Any
) -> None:
    if dtype is np.float32 and size > 1e17:
        pytest.skip("refused, like all rows whose squares overflow")
    X = (size * POINTS).astype(dtype)
    given = {"kernel": kernel, "gamma": 1.0, "random_state": 0, "budget": 8}
    try:
        Z = onkel.NystromFeatures(landmarks="first", **given).fit_transform(X)
        assert np.isfinite(Z).all()
    except ValueError as error:
        assert re.search(ADVICE, str(error), re.DOTALL), error
    y = np.arange(90) % 2
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*has made .* passes")
        for model in (
            onkel.LLSVMClassifier(landmarks="first", **given),
            onkel.NOGDClassifier(rank=8, **given),
        ):
            try:
                model.fit(X, y)
            except ValueError as error:
                assert re.search(ADVICE, str(error), re.DOTALL), error
                continue
            assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("gamma", [1e307, 1.7e308])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_largest_gammas_overflow_nothing(kernel: str, gamma: float) -> None:
    for dtype in (np.float64, np.float32):
        X = (1e3 * POINTS).astype(dtype)
        features = onkel.FourierFeatures(
            n_components=400, kernel=kernel, gamma=gamma, random_state=0
        )
        Z = quietly(features.fit_transform, X)
        assert np.isfinite(Z).all()
        assert np.isfinite(features.frequencies_).all()


@pytest.mark.parametrize("name", ["FOGD", "NOGD", "DualSGD", "DualSVRG"])
@in_both_precisions
def test_an_outlier_is_learnt_or_refused_and_leaves_no_trace(
    name: str, dtype: Any
) -> None:
    system, parameters = MAKERS[name]
    X = POINTS.astype(dtype)
    given = {**parameters, "gamma": 0.5, "random_state": 0, "loss": "squared_error"}
    largest = float(np.finfo(dtype).max)
    for value in (1e20, largest / 2, 1e300):
        model = getattr(onkel, f"{system}Regressor")(**given)
        model.partial_fit(X, TARGET)
        before = model.predict(X)
        target = TARGET.copy()
        target[40] = value
        try:
            model.partial_fit(X, target)
        except ValueError as error:
            assert re.search(ADVICE, str(error), re.DOTALL), error
            np.testing.assert_array_equal(model.predict(X), before)
        else:
            assert np.isfinite(model.predict(X)).all()


DIVERGING: dict[str, dict[str, Any]] = {
    "fogd-r": {"eta0": 50.0, "alpha": 0.0},
    "nogd-r": {"eta0": 50.0, "alpha": 0.0},
    "dual-sgd-r": {"alpha": 1e-6, "t0": 0.0},
    "dual-svrg-r": {"eta0": 50.0},
}


@in_both_precisions
@pytest.mark.parametrize("name", DIVERGING)
def test_a_row_after_which_scores_would_not_be_numbers_is_refused(
    name: str, dtype: Any
) -> None:
    # Row by row, each the last of its call: nobody comes later who would notice.
    system = ALL[name]
    X, y = data(system, 500)
    X = X.astype(dtype)
    model = system.make(loss="squared_error", **DIVERGING[name])
    for t in range(500):
        before = model.predict(X[:20]) if t else np.zeros(20)
        assert np.isfinite(before).all()
        try:
            model.partial_fit(X[t : t + 1], y[t : t + 1])
        except ValueError as error:
            assert re.search(ADVICE, str(error), re.DOTALL), error
            np.testing.assert_array_equal(model.predict(X[:20]), before)
            return
    raise AssertionError("steps of this size should diverge")

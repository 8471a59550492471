"""What must hold for any data: sizes, symmetries, chunks, memory, degenerate rows.

The numbers T13, T23 and T24 are those of the list of invariants in the reference.
"""

import copy
import itertools
import math
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import is_regressor
from sklearn.metrics.pairwise import rbf_kernel

import onkel
from tests.contract.systems import (
    BUDGET,
    CLASSIFIERS,
    REGRESSORS,
    SYSTEMS,
    System,
    data,
    each,
    each_in_its_precisions,
    scores,
)

ROWS = 120
# The frequencies of the others belong to features in their order; see test_features.py.
IMPLICIT = [name for name, system in SYSTEMS.items() if not system.explicit]
BOUNDED = [name for name, system in SYSTEMS.items() if system.bounded and name != "pa"]


def few(examples: int) -> Any:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


SEEDS = st.integers(0, 10_000)
CUTS = st.lists(st.integers(1, ROWS - 1), max_size=6, unique=True).map(sorted)


def progressive(model: Any, X: Any, y: Any, cuts: Any = ()) -> np.ndarray:
    """Scores before each update, the stream cut into calls; two labels are known."""
    classes = None if is_regressor(model) else np.unique([0, 1, *np.unique(y)])
    edges = [0, *cuts, len(y)]
    return np.concatenate(
        [
            onkel.progressive(model, X[a:b], y[a:b], classes)
            for a, b in itertools.pairwise(edges)
        ]
    )


def norm(model: Any, gamma: float = 0.5) -> float:
    K = rbf_kernel(model.support_vectors_, gamma=gamma)
    return math.sqrt(np.einsum("oi,ij,oj", model.dual_coef_, K, model.dual_coef_))


def healthy(model: Any, X: Any) -> None:
    """Whatever happened, the model is made of numbers and fits its budget."""
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.support_vectors_).all()
    assert np.isfinite(scores(model, X)).all()
    limit = getattr(model, "budget", None)
    if limit is not None and not hasattr(model, "maintenance_rate"):
        assert model.model_size_ <= limit


# ---- sizes ---------------------------------------------------------------------------


@each(BOUNDED)
@few(8)
@given(seed=SEEDS, cuts=CUTS, budget=st.integers(2, 30), classes=st.integers(2, 4))
def test_the_size_never_exceeds_the_budget(
    system: System, seed: int, cuts: Any, budget: int, classes: int
) -> None:
    X, y = data(system, ROWS, seed, classes)
    model = system.make(budget=budget)
    for a, b in itertools.pairwise([0, *cuts, ROWS]):
        model.partial_fit(X[a:b], y[a:b])
        assert model.model_size_ <= budget
        assert len(model.support_vectors_) == model.model_size_
    if model.n_updates_ >= budget:
        full = model.model_size_ == budget
        assert full or system.projects or system.spills


@each(["nbsgd", "nbsgd-r"])
@few(8)
@given(seed=SEEDS, budget=st.integers(1, 20), more=st.integers(0, 10))
def test_a_growing_budget_stops_at_its_hard_limit(
    system: System, seed: int, budget: int, more: int
) -> None:
    X, y = data(system, ROWS, seed)
    model = system.make(budget=budget, hard_budget=budget + more, maintenance_rate=1.0)
    for first in range(0, ROWS, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10])
        assert model.model_size_ <= budget + more


@each(SYSTEMS)
def test_a_system_without_a_budget_keeps_every_update(system: System) -> None:
    unlimited = system.parameters.get("budget") is None
    if unlimited and not system.covers and not system.explicit:
        X, y = data(system, ROWS)
        model = system.make().fit(X, y)
        assert model.model_size_ == model.n_updates_
        assert model.n_maintenance_ == 0


# ---- chunks --------------------------------------------------------------------------


@each(SYSTEMS)
@few(8)
@given(seed=SEEDS, cuts=CUTS, classes=st.integers(2, 4))
def test_chunks_do_not_matter(
    system: System, seed: int, cuts: Any, classes: int
) -> None:
    X, y = data(system, ROWS, seed, classes)
    whole, pieces = system.make(), system.make()
    wanted = progressive(whole, X, y)
    got = progressive(pieces, X, y, cuts)
    size = max(np.abs(wanted).max(), 1e-300)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(pieces.dual_coef_, whole.dual_coef_, rtol=1e-7)
    assert pieces.n_updates_ == whole.n_updates_


# ---- symmetries (T23) ----------------------------------------------------------------


@each(SYSTEMS)
@few(6)
@given(seed=SEEDS)
def test_opposite_labels_give_opposite_scores(system: System, seed: int) -> None:
    X, y = data(system, ROWS, seed)
    other = -y if system.regressor else 1 - y
    np.testing.assert_array_equal(
        progressive(system.make(), X, y), -progressive(system.make(), X, other)
    )


@each(IMPLICIT)
@few(6)
@given(seed=SEEDS, classes=st.integers(2, 4))
def test_the_order_of_features_does_not_matter(
    system: System, seed: int, classes: int
) -> None:
    X, y = data(system, ROWS, seed, classes)
    shuffled = X[:, np.random.default_rng(seed).permutation(X.shape[1])]
    one = progressive(system.make(), X, y)
    two = progressive(system.make(), shuffled, y)
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-8 * np.abs(one).max())


@each(SYSTEMS)
@pytest.mark.parametrize("kernel, power", [("rbf", 2), ("laplacian", 1)])
@few(4)
@given(seed=SEEDS, s=st.sampled_from([0.125, 0.3, 2.0, 7.0, 1000.0]))
def test_the_unit_of_the_features_does_not_matter(
    system: System, kernel: str, power: int, seed: int, s: float
) -> None:
    X, y = data(system, ROWS, seed)
    one = progressive(system.make(kernel=kernel, gamma=0.5), X, y)
    scaled = system.make(kernel=kernel, gamma=0.5 / s**power)
    if "coverage_radius" in system.parameters:
        scaled.set_params(coverage_radius=s * scaled.coverage_radius)
    two = progressive(scaled, s * X, y)
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-8 * np.abs(one).max())


@each(IMPLICIT)
@few(4)
@given(seed=SEEDS, level=st.sampled_from([0.0, -3.0, 10.0]))
def test_a_constant_feature_does_not_matter(
    system: System, seed: int, level: float
) -> None:
    X, y = data(system, ROWS, seed)
    wider = np.column_stack([X, np.full(ROWS, level)])
    one = progressive(system.make(), X, y)
    two = progressive(system.make(), wider, y)
    np.testing.assert_allclose(two, one, rtol=0, atol=1e-8 * np.abs(one).max())


# ---- bounds that the systems promise -------------------------------------------------


@few(6)
@given(seed=SEEDS)
def test_the_ball_holds_the_model(seed: int) -> None:
    system = CLASSIFIERS["bsgd-ball"]
    X, y = data(system, ROWS, seed)
    model = system.make(t0=0.0)
    for first in range(0, ROWS, 15):
        model.partial_fit(X[first : first + 15], y[first : first + 15])
        assert norm(model) <= (1 + 1e-9) / math.sqrt(model.alpha)

    system = REGRESSORS["bsgd-r"]
    X, y = data(system, ROWS, seed)
    model = system.make(t0=0.0)
    for first in range(0, ROWS, 15):
        model.partial_fit(X[first : first + 15], y[first : first + 15])
        largest = np.abs(y[: first + 15]).max()
        assert norm(model) <= largest / (2 * math.sqrt(model.alpha)) * (1 + 1e-9)


@each(["bogd", "bogd++", "bogd-r", "bogd++-r"])
@few(6)
@given(seed=SEEDS, max_coef=st.floats(0.3, 3.0), classes=st.integers(2, 4))
def test_no_coefficient_exceeds_max_coef(
    system: System, seed: int, max_coef: float, classes: int
) -> None:
    X, y = data(system, ROWS, seed, classes)
    model = system.make(max_coef=max_coef).partial_fit(X, y)
    largest = np.linalg.norm(model.dual_coef_, axis=0).max()
    assert largest <= max_coef * model.eta0 * (1 + 1e-12)


@few(6)
@given(seed=SEEDS)
def test_the_norm_of_a_perceptron_is_at_most_the_root_of_its_updates(seed: int) -> None:
    system = CLASSIFIERS["perceptron"]
    X, y = data(system, ROWS, seed)
    model = system.make().partial_fit(X, y)
    assert norm(model) <= math.sqrt(model.n_updates_) * (1 + 1e-12)
    np.testing.assert_array_equal(np.abs(model.dual_coef_), 1.0)


@each(["rbp", "bogd", "bpa", "forgetron"])
@few(6)
@given(seed=SEEDS)
def test_the_newest_update_is_always_present(system: System, seed: int) -> None:
    X, y = data(system, ROWS, seed)
    model = system.make(budget=3)
    updates = 0
    for t in range(60):
        model.partial_fit(X[t : t + 1], y[t : t + 1])
        if model.n_updates_ > updates:
            assert (model.support_vectors_ == X[t]).all(axis=1).any()
        updates = model.n_updates_


# ---- the size of NBSGD (T13) ---------------------------------------------------------


@pytest.mark.parametrize("beta", [30.0, 90.0])
def test_the_mean_size_of_nbsgd_follows_the_formula(beta: float) -> None:
    rows, runs = 300, 120
    system = CLASSIFIERS["nbsgd"]
    X, y = data(system, rows)
    # With this loss every row becomes a centre: the insert rate is 1.
    sizes = [
        system.make(loss="log_loss", maintenance_rate=beta, random_state=seed)
        .partial_fit(X, y, classes=[0, 1])
        .model_size_
        for seed in range(runs)
    ]
    wanted = BUDGET + rows - beta - beta * math.log(rows / beta)
    pi = np.minimum(beta / np.arange(BUDGET + 1, rows + 1), 1.0)
    sigma = math.sqrt((pi * (1 - pi)).sum() / runs)
    assert abs(np.mean(sizes) - wanted) <= 3 * sigma
    # The draws are as wide as they should be, too.
    assert 0.7 < np.std(sizes) / (sigma * math.sqrt(runs)) < 1.3


@each(["nbsgd", "nbsgd-r"])
def test_the_extremes_of_nbsgd_are_sgd_and_bsgd(system: System) -> None:
    X, y = data(system, ROWS)
    kind = "Regressor" if system.regressor else "Classifier"
    shared = {
        k: v
        for k, v in system.make().get_params().items()
        if not k.startswith(("maintenance_", "hard"))
    }
    bsgd = getattr(onkel, f"BSGD{kind}")(**shared)
    budgeted = (
        *("budget", "maintenance", "n_neighbors", "n_merged", "victim"),
        "average_exact",
    )
    never = {k: v for k, v in shared.items() if k not in budgeted}
    sgd = getattr(onkel, f"KernelSGD{kind}")(**never)
    for rate, parent in ((math.inf, bsgd), (0.0, sgd)):
        np.testing.assert_array_equal(
            progressive(system.make(maintenance_rate=rate), X, y),
            progressive(parent, X, y),
        )


# ---- memory --------------------------------------------------------------------------


def shapes(thing: Any, path: str = "") -> dict[str, Any]:
    """Find the shapes of all arrays below an object."""
    if isinstance(thing, np.ndarray):
        return {path: thing.shape}
    if hasattr(thing, "_asdict"):
        inside = thing._asdict()
    elif hasattr(thing, "__dict__") and not isinstance(thing, type):
        inside = vars(thing)
    else:
        inside = thing if isinstance(thing, dict) else {}
    found = {}
    for name, part in inside.items():
        found |= shapes(part, f"{path}.{name}")
    return found


@each(BOUNDED)
def test_memory_does_not_grow_once_the_budget_is_full(system: System) -> None:
    X, y = data(system, 4000)
    model = system.make().partial_fit(X, y)
    assert model.model_size_ == BUDGET or system.spills
    arrays, stored = shapes(model._learner), len(pickle.dumps(model))
    assert len(arrays) > 10
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.t_ == 24_000
    assert shapes(model._learner) == arrays
    # The generator's state is a number, whose digits vary.
    assert abs(len(pickle.dumps(model)) - stored) <= 32


# ---- degenerate rows (T24) -----------------------------------------------------------


@each(SYSTEMS)
@pytest.mark.parametrize("classes", [2, 4])
def test_identical_rows_are_survived(system: System, classes: int) -> None:
    _, y = data(system, ROWS, classes=classes)
    X = np.tile([0.3, -1.2, 2.0], (ROWS, 1))
    for form in (X, scipy.sparse.csr_array(X)):
        model = system.make().partial_fit(form, y)
        healthy(model, form)
        assert model.t_ == ROWS


@each(SYSTEMS)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_rows_of_zeros_are_survived(system: System, kernel: str) -> None:
    # With the linear kernel such a row has no direction at all.
    X, y = data(system, ROWS)
    X[::2] = 0.0
    if system.explicit and kernel == "poly":
        pytest.skip("poly has no Fourier features")
    shape = {} if system.explicit else {"degree": 2}
    # Each map and format is compiled, and one is enough.
    dense = system.explicit and kernel == "linear"
    for form in (X,) if dense else (X, scipy.sparse.csr_array(X)):
        model = system.make(kernel=kernel, gamma=0.1, **shape)
        if kernel in ("poly", "linear") and system.accepts("eta0"):
            model.set_params(eta0=0.01)
        healthy(model.partial_fit(form, y), form)


@each(SYSTEMS)
def test_repeated_rows_are_survived(system: System) -> None:
    X, y = data(system, 20)
    X, y = np.repeat(X, 6, axis=0), np.repeat(y, 6)
    healthy(system.make().fit(X, y), X)
    healthy(system.make().partial_fit(X, y), X)


@each(BOUNDED)
@pytest.mark.parametrize("classes", [2, 4])
def test_the_smallest_budget_works(system: System, classes: int) -> None:
    X, y = data(system, ROWS, classes=classes)
    smallest = 2 if system.accepts("sampling") else 1
    model = system.make(budget=smallest)
    got = progressive(model, X, y, [1, 50])
    assert np.isfinite(got).all()
    healthy(model, X)
    assert model.model_size_ == smallest
    one_by_one = system.make(budget=smallest, block_size=1)
    np.testing.assert_allclose(progressive(one_by_one, X, y), got, rtol=1e-9)


@each(IMPLICIT)
def test_one_feature_is_enough(system: System) -> None:
    X, y = data(system, ROWS)
    X = X[:, :1]
    wanted = progressive(system.make(), X, y)
    assert np.isfinite(wanted).all()
    # A second feature that is always 0 is the same as none.
    wider = progressive(system.make(), np.column_stack([X, 0 * X]), y)
    np.testing.assert_allclose(wider, wanted, rtol=1e-9, atol=1e-12)


@each(["rbp"])
def test_one_sparse_feature_is_enough(system: System) -> None:
    X, y = data(system, ROWS)
    X = X[:, :1]
    wanted = progressive(system.make(), X, y)
    sparse = progressive(system.make(), scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse, wanted, rtol=1e-9, atol=1e-12)


@each(SYSTEMS)
def test_one_row_is_enough(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make().partial_fit(X[:1], y[:1])
    healthy(model, X)
    assert model.t_ == 1


@each_in_its_precisions(["rbp", "bpa", "forgetron", "bogd", "bogd++", "bsgd", "bsgd-r"])
@pytest.mark.parametrize("gamma", [1e-300, 1e-50, 1e6, 1e30, 1e39, 1e300])
def test_extreme_gammas_are_survived(system: System, dtype: Any, gamma: float) -> None:
    X, y = data(system, ROWS)
    X = X.astype(dtype)
    X[50:60] = X[:10]  # at distance 0 gamma has nothing to multiply
    healthy(system.make(gamma=gamma).partial_fit(X, y), X)


@each(["rbp", "bpa", "forgetron", "bogd++", "bsgd-r"])
def test_a_huge_gamma_makes_every_row_its_own_world(system: System) -> None:
    X, y = data(system, ROWS)
    model = system.make(gamma=1e6).partial_fit(X, y)
    far = X + 100.0
    np.testing.assert_allclose(scores(model, far), 0.0, atol=1e-200)


HUGE = """
import numpy as np
import onkel

X = np.zeros((200, 2))
for system, parameters in (
    (onkel.BSGDRegressor, {"loss": "squared_error", "ball": False, "kernel": "linear"}),
    (onkel.BPARegressor, {"C": 1e200, "gamma": 0.5}),
):
    for _ in range(5):
        model = system(budget=3, **parameters)
        try:
            model.partial_fit(X, np.full(200, 1e160))
        except ValueError:
            continue
        assert model.model_size_ <= 3
        assert np.isfinite(model.dual_coef_).all()
"""


def test_coefficients_too_large_to_square_do_no_harm() -> None:
    # In a process of its own: the harm would be to memory that belongs to others.
    done = subprocess.run(
        [sys.executable, "-c", HUGE],
        capture_output=True,
        text=True,
        env={**os.environ, "MALLOC_PERTURB_": "85"},
        check=False,
    )
    assert done.returncode == 0, done.stderr


@each(SYSTEMS)
def test_what_was_learnt_survives_a_long_silence(system: System) -> None:
    # Rows without weight shrink the model, for some systems to nothing.
    if not system.weighted:
        return
    X, y = data(system, 3000)
    weight = np.ones(3000)
    weight[100:2900] = 0.0
    model = system.make().partial_fit(X, y, sample_weight=weight)
    healthy(model, X)
    twin = copy.deepcopy(model).partial_fit(X[:100], y[:100])
    healthy(twin, X)


@each_in_its_precisions(["bogd", "bogd++", "ogd"])
def test_coefficients_that_have_shrunk_to_nothing_do_no_harm(
    system: System, dtype: Any
) -> None:
    # At alpha * eta0 = 1/2 a thousand silent rows leave numbers too small to square.
    X, y = data(system, 1300)
    X = X.astype(dtype)
    for silent in (140, 500, 1060, 1100):
        weight = np.ones(1300)
        weight[100 : 100 + silent] = 0.0
        model = system.make(alpha=1.0, eta0=0.5)
        model.partial_fit(X, y, sample_weight=weight)
        healthy(model, X)

"""KRLS: equal to its oracle and to batch regression, and steady over long streams."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.spatial.distance import cdist

import onkel
from onkel.engine import posterior, recursive
from onkel.model import spread
from onkel.model.inverse import JITTER, Inverse
from tests.exact import krls

GAMMA, NOISE = 0.5, 0.1
TASKS = {"binary": 2, "multiclass": 4, "regression": None}


def stream(task: str, rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows without repetitions, which single precision has, too."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).astype(np.float32).astype(np.float64)
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=rows)
    classes = TASKS[task]
    if classes is None:
        return X, f
    return X, np.searchsorted(np.quantile(f, np.arange(1, classes) / classes), f)


def made(task: str, **parameters: Any) -> Any:
    cls = onkel.KRLSRegressor if task == "regression" else onkel.KRLSClassifier
    given = {"gamma": GAMMA, "noise": NOISE, "forgetting": 1.0, "budget": 10**6}
    return cls(**{**given, **parameters})


def learn(model: Any, X: Any, y: Any, task: str, edges: Any = ()) -> np.ndarray:
    """Progressive scores, shape (rows, outputs); the stream is cut at the edges."""
    classes = TASKS[task]
    known = {} if classes is None else {"classes": range(classes)}
    scores = [
        onkel.progressive(model, X[a:b], y[a:b], **known)
        for a, b in itertools.pairwise([0, *edges, X.shape[0]])
    ]
    return np.concatenate(scores).reshape(X.shape[0], -1)


def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.exp(-GAMMA * cdist(X, Z, "sqeuclidean"))


# ---- the oracle


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("budget", [2, 7, 40])
@pytest.mark.parametrize("threshold", [0.0, 0.01, 0.3])
def test_every_score_is_the_oracles(task: str, budget: int, threshold: float) -> None:
    X, y = stream(task, 250)
    for forgetting in (1.0, 0.97):
        own = {"budget": budget, "threshold": threshold, "forgetting": forgetting}
        wanted = krls.run(X, y, TASKS[task], gamma=GAMMA, noise=NOISE, **own)
        model = made(task, **own)
        got = learn(model, X, y, task, edges=[1, 90])
        np.testing.assert_allclose(got, wanted.scores, rtol=0, atol=2e-6)
        assert model.n_updates_ == wanted.n_updates
        assert model.n_maintenance_ == wanted.n_maintenance
        scores = kernel(X, model.support_vectors_) @ model.dual_coef_.T
        expected = kernel(X, wanted.centers) @ wanted.coef.T
        np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("task", TASKS)
def test_the_form_of_the_rows_and_how_they_are_cut_do_not_matter(task: str) -> None:
    X, y = stream(task, 250, seed=1)
    own = {"budget": 20, "forgetting": 0.99}
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=250)
    wanted = krls.run(
        *(X, y, TASKS[task]), gamma=GAMMA, noise=NOISE, sample_weight=weight, **own
    )
    for dtype, sparse, block_size in itertools.product(
        (np.float64, np.float32), (False, True), (1, 3, 64, "auto")
    ):
        rows: Any = scipy.sparse.csr_array(X) if sparse else X
        rows = rows.astype(dtype)
        model = made(task, block_size=block_size, **own)
        known = {} if task == "regression" else {"classes": range(TASKS[task] or 0)}
        for a, b in itertools.pairwise([0, 1, 2, 50, 113, 250]):
            model.partial_fit(rows[a:b], y[a:b], sample_weight=weight[a:b], **known)
        scores = kernel(X, model.support_vectors_) @ model.dual_coef_.T
        expected = kernel(X, wanted.centers) @ wanted.coef.T
        atol = 1e-6 if dtype is np.float64 else 1e-3
        np.testing.assert_allclose(scores, expected, rtol=0, atol=atol)
        assert model.t_ == 250
        assert model.n_updates_ == wanted.n_updates


def test_rows_of_weight_0_are_only_counted() -> None:
    X, y = stream("regression", 90)
    model = made("regression", budget=10, forgetting=0.9)
    twin = made("regression", budget=10, forgetting=0.9)
    weight = np.tile([1.0, 0.0, 0.0], 30)
    model.partial_fit(X, y, sample_weight=weight)
    twin.partial_fit(X[::3], y[::3])
    np.testing.assert_allclose(model.predict(X), twin.predict(X), rtol=1e-12)
    assert (model.t_, model.n_updates_) == (90, 30)


# ---- batch regression


def test_with_all_rows_as_centres_it_is_kernel_ridge_regression() -> None:
    X, y = stream("regression", 200)
    model = made("regression", threshold=0.0)
    got = learn(model, X, y, "regression")[:, 0]
    K = kernel(X, X)
    for t in range(1, 200):
        coef = np.linalg.solve(K[:t, :t] + NOISE * np.eye(t), y[:t])
        assert got[t] == pytest.approx(K[t, :t] @ coef, abs=1e-8)
    assert model.model_size_ == 200
    inverse = np.linalg.inv(K + NOISE * np.eye(200))
    np.testing.assert_allclose(model.predict(X), K @ inverse @ y, atol=1e-8)
    Z = stream("regression", 50, seed=1)[0]
    between = kernel(Z, X)
    variances = 1.0 - np.einsum("ij,jk,ik->i", between, inverse, between)
    learner = model._learner
    kernel_used, belief = learner.plan.kernel, learner.budget
    found = posterior.variances(kernel_used, belief, learner.model, Z)
    np.testing.assert_allclose(found, variances, atol=1e-8)


@pytest.mark.parametrize(
    "name, scale",
    [("laplacian", 1.0), ("poly", 1.0), ("linear", 1.0), ("linear", 30.0)],
)
def test_other_kernels_make_batch_regression_too(name: str, scale: float) -> None:
    # Of a linear kernel and one of low degree few rows are centres: the rest is in
    # their span, and nothing is lost.
    X, y = stream("regression", 150)
    X = scale * X
    products = X @ X.T
    K = {
        "laplacian": np.exp(-GAMMA * cdist(X, X, "cityblock")),
        "poly": (GAMMA * products + 1.0) ** 2,
        "linear": products,
    }[name]
    model = made("regression", kernel=name, degree=2, threshold=0.0, noise=0.5)
    model.fit(X, y)
    wanted = K @ np.linalg.solve(K + 0.5 * np.eye(150), y)
    np.testing.assert_allclose(model.predict(X), wanted, atol=1e-4)
    assert model.model_size_ <= {"laplacian": 150, "poly": 25, "linear": 10}[name]


def test_with_centres_that_never_leave_it_is_regression_on_projections() -> None:
    """Row t is z_t'w + noise of variance sigma^2 + r2_t, w ~ N(0, I), at every t.

    z_t is the projection of row t on the centres there were, itself among them if it
    became one. A centre has the jitter of the inverse in its norm and not in its noise.
    """
    X, y = stream("regression", 2000)
    X = np.tanh(X)  # so that some centres represent all rows
    model = made("regression", threshold=0.02)
    got = learn(model, X, y, "regression")[:, 0]
    centers: list[int] = []
    whole, total, pull = np.zeros((2000, 200)), np.eye(200), np.zeros(200)
    root = np.zeros((0, 0))
    for t in range(2000):
        size = len(centers)
        k = kernel(X[t : t + 1], X[centers])[0]
        z = solve_triangular(root, k, lower=True) if size else np.zeros(0)
        wanted = whole[t, :size] @ pull[:size]
        r2 = 1.0 - z @ z
        if size:
            factor = cholesky(total[:size, :size], lower=True)
            wanted = z @ cho_solve((factor, True), pull[:size])
        assert got[t] == pytest.approx(wanted, abs=1e-8)
        noise = NOISE + r2
        if r2 > 0.02:
            z = np.append(z, math.sqrt(r2 + JITTER))
            noise = NOISE - JITTER
            centers.append(t)
            root = np.pad(root, (0, 1))
            root[-1] = z
        total[: len(z), : len(z)] += np.outer(z, z) / noise
        pull[: len(z)] += z * y[t] / noise
    assert 20 < model.model_size_ == len(centers) < 200
    np.testing.assert_array_equal(model.support_vectors_, X[centers])


# ---- streams without end


@pytest.mark.parametrize("forgetting", [1.0, 0.999, 0.9])
@pytest.mark.parametrize("gamma", [0.5, 0.01])
def test_the_spread_stays_a_covariance(forgetting: float, gamma: float) -> None:
    # A small gamma: all centres are close to each other.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 2)).astype(np.float32)
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    own = {"budget": 12, "threshold": 0.0, "gamma": gamma, "noise": 0.01}
    model = made("regression", forgetting=forgetting, **own)
    for first in range(0, len(X), 250_000):
        some = slice(first, first + 250_000)
        model.partial_fit(X[some], y[some])
        size, belief = model.model_size_, model._learner.budget
        eigenvalues = np.linalg.eigvalsh(spread.one_of(belief.spread, 0).matrix(size))
        assert eigenvalues.min() > 0.0
        assert eigenvalues.max() <= 1.0 + 1e-3
        deviations = model.predict(X[:1000], return_std=True)[1]
        assert np.isfinite(deviations).all()
        assert deviations.min() > 0.0


def test_a_repair_of_the_root_leaves_the_distribution_as_it_is() -> None:
    rng, size = np.random.default_rng(0), 9
    points = rng.normal(size=(size, 2))
    K = kernel(points, points)
    jittered = K + JITTER * np.eye(size)
    fresh = np.linalg.inv(np.linalg.cholesky(jittered)).T
    before = fresh @ np.linalg.qr(rng.normal(size=(size, size)))[0]
    cache = Inverse.empty(1, 16, np.float64)
    cache.values[:size, :size], cache.root[:size, :size] = K, fresh
    mean, own = rng.normal(size=size), rng.normal(size=(size, size))
    known, own = spread.Spread.empty(16), own @ own.T
    known.values[:size, :size] = np.tril(own)
    turn = recursive.turn_between(cache, np.ascontiguousarray(before))
    spread.follow(known, turn)
    wanted = before @ mean, before @ own @ before.T
    found = fresh @ turn @ mean, fresh @ known.matrix(size) @ fresh.T
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


# ---- what users ask


def test_predicted_deviations_are_honest() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3000, 2))
    K = np.exp(-0.3 * cdist(X, X, "sqeuclidean"))
    f = 5.0 * np.linalg.cholesky(K + 1e-8 * np.eye(3000)) @ rng.normal(size=3000)
    for deviation, budget in itertools.product((0.05, 0.5, 5.0), (20, 100)):
        y = f + deviation * rng.normal(size=3000)
        model = onkel.KRLSRegressor(gamma=0.3, budget=budget, random_state=0)
        model.fit(X[:2000], y[:2000])
        predicted, std = model.predict(X[2000:], return_std=True)
        np.testing.assert_array_equal(predicted, model.predict(X[2000:]))
        inside = np.abs(predicted - y[2000:]) < 1.96 * std
        # A budget that is too small errs more in some places than in others.
        assert 0.85 < inside.mean() < 0.995


def test_deviations_of_a_model_of_no_rows_with_a_weight_are_those_of_the_prior() -> (
    None
):
    X, y = stream("regression", 20)
    model = made("regression").partial_fit(X, y, sample_weight=np.zeros(20))
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(std, math.sqrt(1.0 + NOISE))


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_probabilities_are_those_of_the_rows_to_come(task: str) -> None:
    X, y = stream(task, 4000)
    model = made(task, budget=50).partial_fit(X[:3000], y[:3000])
    chances, labels = model.predict_proba(X[3000:]), model.predict(X[3000:])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], labels)
    # Of rows that it is so sure of, so many are right.
    sure = chances.max(axis=1)
    right = labels == y[3000:]
    assert right.mean() == pytest.approx(sure.mean(), abs=0.04)


def test_noise_and_forgetting_are_chosen_by_the_first_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    clean, noisy = np.sin(2 * X[:, 0]), rng.normal(size=2000)
    moving = np.sign(np.sin(2 * X[:, 0] + np.arange(2000) / 20))
    for y, low, high in ((clean, 1e-3, 1e-2), (clean + 2 * noisy, 1.0, 1.0)):
        model = onkel.KRLSRegressor(gamma=GAMMA).partial_fit(X, y)
        assert low <= model.noise_ <= high
        assert model.forgetting_ == 1.0
    labels = (moving > 0).astype(int)
    model = onkel.KRLSClassifier(gamma=GAMMA).partial_fit(X, labels)
    assert model.forgetting_ == 0.99
    # A random order says nothing of time.
    assert onkel.KRLSClassifier(gamma=GAMMA).fit(X, labels).forgetting_ == 1.0
    given = onkel.KRLSClassifier(noise=0.3, forgetting=0.9).fit(X, labels)
    assert (given.noise_, given.forgetting_) == (0.3, 0.9)


def test_rows_in_the_order_of_their_labels_choose_as_others_do() -> None:
    X, y = stream("multiclass", 600)
    order = np.argsort(y, kind="stable")
    model = onkel.KRLSClassifier(gamma=GAMMA, random_state=0).fit(X[order], y[order])
    assert model.noise_ == 0.1 or model.noise_ == 1.0
    assert model.score(X, y) > 0.7


def test_targets_that_overflow_are_refused_as_such() -> None:
    X, _ = stream("regression", 40)
    y = np.full(40, 1e303)
    for call in (onkel.KRLSRegressor().fit, onkel.KRLSRegressor().partial_fit):
        with pytest.raises(ValueError, match=r"overflow|large"):
            call(X, y)


def test_it_follows_a_world_that_moves() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = (np.sin(X[:, 0] + np.arange(4000) / 200) > 0).astype(int)
    mistakes = {
        forgetting: made("binary", budget=50, forgetting=forgetting)
        .partial_fit(X, y)
        .n_mistakes_
        for forgetting in (1.0, 0.99)
    }
    assert mistakes[0.99] < 0.6 * mistakes[1.0]


@pytest.mark.parametrize(
    "name, value",
    [
        *(("noise", 0.0), ("noise", -1.0), ("noise", "some"), ("noise", None)),
        *(("forgetting", 0.0), ("forgetting", 1.1), ("forgetting", "all")),
        *(("threshold", -0.1), ("threshold", "auto"), ("budget", 0)),
    ],
)
def test_bad_parameters_are_refused_by_name(name: str, value: Any) -> None:
    X, y = stream("binary", 20)
    model = onkel.KRLSClassifier(**{name: value})
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=name):
            call(X, y)

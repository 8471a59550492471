"""The references against what must hold without an engine (ALGORITHMS section 9)."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.exact import (
    bogd,
    bpa,
    bsgd,
    budget_perceptron,
    forgetron,
    kernel_sgd,
    nbsgd,
    ogd,
    perceptron,
    rbp,
)
from tests.exact.ball import radius
from tests.exact.expansion import Expansion
from tests.exact.kernels import gram
from tests.exact.losses import crammer_singer, margin_of, slope, slopes, value

CLASSIFICATION = ("hinge", "smooth_hinge", "squared_hinge", "log_loss")
REGRESSION = ("squared_error", "absolute_error", "epsilon_insensitive")
TASKS = (2, 4, None)


class Told:
    """A generator that returns the numbers it was given."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


def stream(n, n_classes, seed=0, d=3):
    """Noisy rows: every system errs often enough to overflow a small budget."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    if n_classes is None:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def assert_same(a, b, tol=1e-10):
    np.testing.assert_allclose(a.scores, b.scores, rtol=tol, atol=tol)
    np.testing.assert_allclose(a.centers, b.centers, rtol=0, atol=0)
    np.testing.assert_allclose(a.coef, b.coef, rtol=tol, atol=tol)
    np.testing.assert_array_equal(a.sizes, b.sizes)
    counts = ("n_updates", "n_maintenance", "n_mistakes", "n_errors")
    for name in counts:
        assert getattr(a, name) == getattr(b, name), name


def losses_for(n_classes):
    return REGRESSION if n_classes is None else CLASSIFICATION


TASKS_AND_LOSSES = [(task, loss) for task in TASKS for loss in losses_for(task)]


# kernels and losses


def test_kernels_match_their_formulas_and_are_symmetric():
    X, Z = np.array([[1.0, 2.0]]), np.array([[0.0, -1.0], [1.0, 2.0]])
    assert gram(X, Z, gamma=0.3)[0].tolist() == [math.exp(-3.0), 1.0]
    laplacian = gram(X, Z, kernel="laplacian", gamma=0.5)
    assert laplacian[0].tolist() == [math.exp(-2.0), 1.0]
    assert gram(X, Z, kernel="linear")[0].tolist() == [-2.0, 5.0]
    poly = gram(X, Z, kernel="poly", gamma=2.0, coef0=1.0, degree=3)
    assert poly[0].tolist() == [-27.0, 1331.0]
    many = np.random.default_rng(0).normal(size=(20, 7))
    for kernel in ("rbf", "laplacian", "linear", "poly"):
        K = gram(many, many, kernel=kernel)
        np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("loss", (*CLASSIFICATION, *REGRESSION, "perceptron"))
def test_slope_is_the_derivative_of_the_loss(loss):
    options = {"epsilon": 0.3, "smoothing": 0.4, "margin": 0.2}
    h = 1e-6
    targets = (-1.7, 0.4) if loss in REGRESSION else (-1.0, 1.0)
    for y in targets:
        kinks = (1.0, 0.6, 0.2, -1.0, -0.6, -0.2, y, y - 0.3, y + 0.3)
        for f in np.linspace(-3, 3, 241):
            if min(abs(f - kink) for kink in kinks) < 10 * h:
                continue
            up = value(loss, f + h, y, **options)
            down = value(loss, f - h, y, **options)
            numeric = (up - down) / (2 * h)
            assert slope(loss, f, y, **options) == pytest.approx(numeric, abs=1e-6)


def test_slope_at_a_kink_takes_the_side_of_the_contract():
    for y in (-1.0, 1.0):
        assert slope("hinge", y, y) == 0
        assert slope("smooth_hinge", y, y) == 0
        assert slope("smooth_hinge", 0.5 * y, y, smoothing=0.5) == -y
        assert slope("perceptron", 0.0, y) == -y
        assert slope("perceptron", 0.5 * y, y, margin=0.5) == -y
        assert slope("absolute_error", y, y) == 0
        assert slope("epsilon_insensitive", y + 0.5, y, epsilon=0.5) == 0
        assert slope("epsilon_insensitive", y - 0.5, y, epsilon=0.5) == 0


@pytest.mark.parametrize("loss", (*CLASSIFICATION, *REGRESSION, "perceptron"))
def test_losses_do_not_overflow(loss):
    for m in (-1e6, -800.0, 800.0, 1e6):
        assert math.isfinite(value(loss, m, 1.0))
        assert math.isfinite(slope(loss, m, 1.0))
    assert value("log_loss", -1e6, 1.0) == 1e6
    assert slope("log_loss", 1e6, 1.0) == 0


@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_crammer_singer_slopes_are_the_gradient_in_the_scores(loss):
    rng = np.random.default_rng(1)
    h = 1e-6

    def at(scores, y):
        return value(loss, crammer_singer(scores, y)[0], 1.0)

    for _ in range(50):
        f, y = rng.normal(size=4), int(rng.integers(4))
        g = slopes(loss, f, y, 4)
        steps = h * np.eye(4)
        numeric = [(at(f + e, y) - at(f - e, y)) / (2 * h) for e in steps]
        np.testing.assert_allclose(g, numeric, atol=1e-5)


def test_runner_up_is_the_lowest_index_on_ties():
    assert crammer_singer(np.zeros(3), 0) == (0.0, 1)
    assert crammer_singer(np.zeros(3), 1) == (0.0, 0)
    assert crammer_singer(np.array([1.0, 2.0, 2.0]), 0) == (-1.0, 1)


# T1: a budget that is never reached


@pytest.mark.parametrize("n_classes", TASKS)
def test_perceptrons_equal_their_parent_within_budget(n_classes):
    X, y = stream(60, n_classes)
    parent = perceptron.run(X, y, n_classes=n_classes)
    rng = np.random.default_rng(0)
    assert_same(rbp.run(X, y, n_classes=n_classes, budget=60, rng=rng), parent)
    assert_same(forgetron.run(X, y, n_classes=n_classes, budget=60), parent)
    assert len(parent.centers) == parent.n_updates
    if n_classes is not None:
        assert_same(budget_perceptron.run(X, y, n_classes=n_classes, budget=60), parent)
        assert parent.n_mistakes == parent.n_updates


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("ball", (False, True))
def test_sgd_on_a_large_budget_equals_kernel_sgd(n_classes, loss, ball):
    X, y = stream(50, n_classes)
    w = np.random.default_rng(2).uniform(size=50) * (np.arange(50) % 5 > 0)
    common = {"n_classes": n_classes, "loss": loss, "alpha": 0.05, "t0": 3.0}
    common |= {"ball": ball, "sample_weight": w}
    parent = kernel_sgd.run(X, y, **common)
    assert_same(bsgd.run(X, y, budget=50, **common), parent)
    rng = Told()  # an untouched budget draws nothing
    nonparametric = nbsgd.run(
        X, y, budget=50, maintenance_rate=math.inf, rng=rng, **common
    )
    assert_same(nonparametric, parent)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("sampling", ("uniform", "weighted"))
def test_bogd_on_a_large_budget_equals_ogd(n_classes, loss, sampling):
    X, y = stream(50, n_classes)
    common = {"n_classes": n_classes, "loss": loss, "eta0": 0.5, "alpha": 0.02}
    parent = ogd.run(X, y, **common)
    child = bogd.run(X, y, budget=50, sampling=sampling, rng=Told(), **common)
    assert_same(child, parent)


@pytest.mark.parametrize("n_classes", TASKS)
def test_bpa_on_a_large_budget_equals_pa(n_classes):
    X, y = stream(60, n_classes)
    parent = bpa.run(X, y, n_classes=n_classes, C=0.7)
    assert_same(bpa.run(X, y, n_classes=n_classes, C=0.7, budget=60), parent)


# closed forms of the unbudgeted systems


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("learning_rate", ("constant", "invscaling"))
def test_ogd_coefficients_decay_from_their_birth(n_classes, loss, learning_rate):
    X, y = stream(40, n_classes)
    eta0, alpha, n = 0.4, 0.1, len(X)
    out = ogd.run(
        X,
        y,
        n_classes=n_classes,
        loss=loss,
        eta0=eta0,
        alpha=alpha,
        learning_rate=learning_rate,
    )
    power = 0.0 if learning_rate == "constant" else 0.5
    rates = eta0 / np.arange(1, n + 1) ** power
    births = [int(np.flatnonzero((X == c).all(axis=1))[0]) for c in out.centers]
    for coef, i in zip(out.coef.T, births, strict=True):
        g = slopes(loss, out.scores[i], y[i], n_classes)
        decay = np.prod(1 - alpha * rates[i + 1 :])
        np.testing.assert_allclose(coef, -rates[i] * g * decay, rtol=1e-10)
    K = gram(out.centers, out.centers)
    if loss in ("hinge", "log_loss", "smooth_hinge") and n_classes == 2:
        assert math.sqrt(out.coef[0] @ K @ out.coef[0]) <= 1 / alpha


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("t0", (0.0, 7.0))
def test_kernel_sgd_is_the_mean_of_its_slopes(n_classes, loss, t0):
    X, y = stream(40, n_classes)
    alpha, n = 0.2, len(X)
    out = kernel_sgd.run(X, y, n_classes=n_classes, loss=loss, alpha=alpha, t0=t0)
    births = [int(np.flatnonzero((X == c).all(axis=1))[0]) for c in out.centers]
    assert len(births) == out.n_updates
    for coef, i in zip(out.coef.T, births, strict=True):
        g = slopes(loss, out.scores[i], y[i], n_classes)
        np.testing.assert_allclose(coef, -g / (alpha * (n + t0)), rtol=1e-10)


def test_two_crammer_singer_rows_equal_the_binary_model_with_half_alpha():  # T22
    X, y = stream(80, 2)
    alpha = 0.1
    for loss in CLASSIFICATION:
        binary = kernel_sgd.run(X, y, n_classes=2, loss=loss, alpha=alpha / 2)
        options = {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 1.0}
        model = Expansion(X.shape[1], 2, **options)
        model.outputs = 2
        for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
            f = model.score(x)
            difference = f[1] - f[0]
            assert difference == pytest.approx(binary.scores[t - 1, 0], abs=1e-10)
            margin, runner_up = crammer_singer(f, int(label))
            g = np.zeros(2)
            g[label] = slope(loss, margin, 1.0)
            g[runner_up] = -g[label]
            model.multiply((t - 1) / t)
            if g.any():
                model.append(x, -g / (alpha * t))


def test_flipping_the_labels_flips_the_scores():  # T23
    X, y = stream(60, 2)
    systems = (
        partial(ogd.run, alpha=0.1),
        partial(bsgd.run, loss="log_loss", budget=8, t0=5.0),
        partial(bpa.run, budget=8),
        partial(forgetron.run, budget=8),
        partial(budget_perceptron.run, budget=8),
    )
    for run in systems:
        straight = run(X, y, n_classes=2)
        flipped = run(X, 1 - y, n_classes=2)
        np.testing.assert_allclose(flipped.scores, -straight.scores, atol=1e-12)
        np.testing.assert_array_equal(flipped.centers, straight.centers)


def test_a_row_of_weight_zero_advances_the_clock_only():
    X, y = stream(30, 2)
    w = np.ones(30)
    w[10] = 0
    full = kernel_sgd.run(X[:11], y[:11], n_classes=2, sample_weight=w[:11])
    short = kernel_sgd.run(X[:10], y[:10], n_classes=2)
    np.testing.assert_allclose(full.coef, short.coef * 10 / 11, rtol=1e-12)
    assert full.n_updates == short.n_updates
    assert full.scores.shape == (11, 1)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_ball_holds_the_model(n_classes, loss):
    X, y = stream(30, n_classes)
    alpha = 0.02
    for n in (1, 5, 30):
        options = {"loss": loss, "alpha": alpha, "ball": True, "budget": 9}
        out = bsgd.run(X[:n], y[:n], n_classes=n_classes, **options)
        K = gram(out.centers, out.centers)
        norm = math.sqrt(sum(a @ K @ a for a in out.coef))
        limit = radius(loss, alpha, float(np.max(np.abs(y[:n]))))
        assert norm <= limit * (1 + 1e-12)


# maintenance


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("ball", (False, True))
def test_nbsgd_spans_kernel_sgd_and_bsgd(n_classes, loss, ball):  # T13
    X, y = stream(50, n_classes)
    common = {"n_classes": n_classes, "loss": loss, "alpha": 0.1, "ball": ball}
    limited = bsgd.run(X, y, budget=10, **common)
    assert limited.sizes.max() == 10
    rng = np.random.default_rng(0)
    always = nbsgd.run(X, y, budget=10, maintenance_rate=math.inf, rng=rng, **common)
    assert_same(always, limited)
    never = nbsgd.run(X, y, budget=10, maintenance_rate=0.0, rng=rng, **common)
    assert_same(never, kernel_sgd.run(X, y, **common))
    hard = nbsgd.run(
        X, y, budget=4, hard_budget=10, maintenance_rate=0.0, rng=rng, **common
    )
    assert_same(hard, limited)


def test_nbsgd_draws_once_per_insertion_over_the_budget():
    X, y = stream(60, 2)
    options = {"n_classes": 2, "budget": 5, "maintenance_rate": 12.0}
    out = nbsgd.run(X, y, rng=np.random.default_rng(3), **options)
    numbers = np.random.default_rng(3).random(out.n_updates - 5)
    told = Told(*numbers)
    assert_same(nbsgd.run(X, y, rng=told, **options), out)
    assert told.numbers == []
    assert 0 < out.n_maintenance < out.n_updates - 5
    assert out.sizes[-1] == out.n_updates - out.n_maintenance


def test_nbsgd_probability_is_rate_over_the_row_count():
    X = 100.0 * np.eye(4)  # k = 0 exactly, so that every row is inserted
    y = np.array([0, 1, 0, 1])
    options = {"n_classes": 2, "budget": 1, "maintenance_rate": 1.0, "t0": 5.0}
    for just, n_maintenance in ((-1e-6, 3), (1e-6, 0)):
        rng = Told(1 / 2 + just, 1 / 3 + just, 1 / 4 + just)
        out = nbsgd.run(X, y, rng=rng, **options)
        assert out.n_maintenance == n_maintenance
        assert out.sizes[-1] == 4 - n_maintenance


@pytest.mark.parametrize("n_classes", TASKS)
def test_bsgd_removal_deletes_the_oldest_when_all_coefficients_tie(n_classes):
    X, y = stream(80, n_classes)
    loss = "absolute_error" if n_classes is None else "hinge"
    out = bsgd.run(X, y, n_classes=n_classes, loss=loss, alpha=0.03, budget=7)
    births = [int(np.flatnonzero((X == c).all(axis=1))[0]) for c in out.centers]
    growing = [
        t for t in range(80) if slopes(loss, out.scores[t], y[t], n_classes).any()
    ]
    assert births == growing[-7:]
    assert out.n_maintenance == out.n_updates - 7


def test_rbp_replaces_the_drawn_slot():
    X = 100.0 * np.eye(6)  # k = 0 exactly, so that every row is a mistake
    y = np.array([0, 1, 0, 1, 0, 1])
    out = rbp.run(X, y, n_classes=2, budget=3, rng=Told(0.99, 0.0, 0.34))
    np.testing.assert_array_equal(out.centers, X[[4, 5, 3]])
    assert out.coef.tolist() == [[-1.0, 1.0, 1.0]]
    assert (out.n_updates, out.n_maintenance, out.n_mistakes) == (6, 3, 6)
    assert out.n_errors == 3  # at f = 0 the first class is predicted


@pytest.mark.parametrize("n_classes", TASKS)
def test_forgetron_keeps_its_damage_within_the_bound(n_classes):  # T16
    for budget in (1, 5, 12):
        X, y = stream(150, n_classes, seed=budget)
        out = forgetron.run(X, y, n_classes=n_classes, budget=budget, gamma=0.5)
        phi, damage = out.diagnostics["phi"], out.diagnostics["damage"]
        assert len(phi) == out.n_maintenance > 0
        assert np.all((phi > 0) & (phi <= 1))
        assert np.all(damage <= out.diagnostics["limit"] + 1e-10)
        assert out.sizes.max() == budget
        magnitudes = np.linalg.norm(out.coef, axis=0)
        assert np.all(np.diff(magnitudes) >= 0)  # older is smaller


def test_forgetron_shrinkage_is_the_largest_admissible_factor():  # T16
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 4001)
    for _ in range(300):
        magnitude, mu = rng.uniform(0.01, 2), rng.normal() * 3
        n_updates = int(rng.integers(1, 50))
        damage = 15 / 32 * (n_updates - 1) * rng.uniform(-0.2, 1)
        phi = forgetron.shrinkage(magnitude, mu, damage, n_updates)
        assert 0 < phi <= 1

        def spent(p, magnitude=magnitude, mu=mu, damage=damage):
            return damage + (magnitude * p) ** 2 + 2 * magnitude * p * (1 - p * mu)

        limit = 15 / 32 * n_updates
        assert spent(phi) <= limit + 1e-10
        # From 0 the left side rises to the limit once; where a concave one comes down
        # again before 1, phi = 1 is admissible and best.
        assert grid[spent(grid) <= limit].max() <= phi + 1e-12


@pytest.mark.parametrize("n_classes", (2, 4))
def test_budget_perceptron_deletes_the_center_the_others_know_best(n_classes):
    X, y = stream(40, n_classes)
    margin, budget = 0.3, 6
    out = budget_perceptron.run(X, y, n_classes=n_classes, budget=budget, margin=margin)
    kept = []  # indices of rows; the model is rebuilt from them at every step

    def rows_of(members):
        return np.array([births[i] for i in members]).reshape(len(members), -1)

    births = {}
    for t in range(len(X)):
        f = gram(X[[t]], X[kept])[0] @ rows_of(kept) if kept else out.scores[t] * 0
        np.testing.assert_allclose(out.scores[t], f, atol=1e-12)
        if margin_of(f, y[t], n_classes) > margin:
            continue
        births[t] = -slopes("perceptron", f, y[t], n_classes, margin=margin)
        kept.append(t)
        if len(kept) > budget:
            without = []
            for j in kept:
                rest = [i for i in kept if i != j]
                score = gram(X[[j]], X[rest])[0] @ rows_of(rest)
                without.append(margin_of(score, y[j], n_classes))
            del kept[int(np.argmax(without))]
    np.testing.assert_array_equal(out.centers, X[kept])


def test_budget_perceptron_drops_the_oldest_on_ties_and_maybe_the_newcomer():
    X = 100.0 * np.eye(4)  # no center knows of another: all margins are zero
    y = np.array([0, 1, 0, 1])
    out = budget_perceptron.run(X, y, n_classes=2, budget=2)
    np.testing.assert_array_equal(out.centers, X[2:])
    # with a margin, a correct newcomer is stored and is the one best known
    X = np.array([[0.0], [0.1], [5.0], [0.05]])
    y = np.array([1, 1, 0, 1])
    out = budget_perceptron.run(X, y, n_classes=2, budget=3, margin=2.0)
    np.testing.assert_array_equal(out.centers, X[:3])


# BPA


@pytest.mark.parametrize("C", (0.05, 0.5, 5.0))
@pytest.mark.parametrize("n_classes", (2, None))
def test_bpa_step_minimises_its_objective(C, n_classes):  # T17
    epsilon, budget = 0.1, 5
    options = {"n_classes": n_classes, "C": C, "epsilon": epsilon, "gamma": 0.5}
    options |= {"kernel": "poly", "degree": 2}
    checked = 0
    for seed in range(12):
        X, y = stream(40, n_classes, seed=seed)
        before = bpa.run(X[:-1], y[:-1], budget=budget, **options)
        after = bpa.run(X, y, budget=budget, **options)
        if after.n_updates == before.n_updates:
            continue
        checked += 1
        x, a, f = X[-1], before.coef[0], after.scores[-1, 0]
        sign = np.sign(y[-1] - f) if n_classes is None else 2 * y[-1] - 1

        def k(A, B):
            return gram(A, B, kernel="poly", gamma=0.5, degree=2)

        def loss(score, y=y, sign=sign):
            if n_classes is None:
                return max(0.0, abs(y[-1] - score) - epsilon)
            return max(0.0, 1 - sign * score)

        k_tt, k_t = k(x[None], x[None])[0, 0], k(before.centers, x[None])[:, 0]
        k_rr = np.diag(k(before.centers, before.centers))
        objectives, coefs = [], []
        for r in range(budget):

            def objective(b, r=r, a=a, f=f, k_tt=k_tt, k_t=k_t, k_rr=k_rr, loss=loss):
                moved = b**2 * k_tt - 2 * b * a[r] * k_t[r] + a[r] ** 2 * k_rr[r]
                return moved / 2 + C * loss(f - a[r] * k_t[r] + b * k_tt)

            best = minimize_scalar(objective, bracket=(-1, 1), tol=1e-12)
            objectives.append(best.fun)
            coefs.append(best.x)
        victim = int(np.argmin(objectives))
        rest = np.delete(np.arange(budget), victim)
        np.testing.assert_array_equal(after.centers[:-1], before.centers[rest])
        np.testing.assert_array_equal(after.coef[0, :-1], a[rest])
        # a minimum found by values alone is known to half the digits
        assert after.coef[0, -1] == pytest.approx(coefs[victim], abs=1e-5)
        tau = min(C, loss(f) / k_tt)
        new_score = k(x[None], after.centers)[0] @ after.coef[0]
        assert new_score == pytest.approx(f + tau * sign * k_tt, rel=1e-9, abs=1e-9)
    assert checked > 3


def test_multiclass_bpa_moves_the_pair_by_tau_and_no_other_score():  # T17
    X, y = stream(60, 4)
    C, budget = 0.3, 6
    for n in range(30, 60):
        before = bpa.run(X[: n - 1], y[: n - 1], n_classes=4, C=C, budget=budget)
        after = bpa.run(X[:n], y[:n], n_classes=4, C=C, budget=budget)
        if after.n_updates == before.n_updates:
            continue
        f, label = after.scores[-1], int(y[n - 1])
        margin, runner_up = crammer_singer(f, label)
        tau = min(C, (1 - margin) / 2)
        expected = f.copy()
        expected[label] += tau
        expected[runner_up] -= tau
        new_scores = after.coef @ gram(after.centers, X[[n - 1]])[:, 0]
        np.testing.assert_allclose(new_scores, expected, atol=1e-12)


def test_bpa_weight_multiplies_the_cap():
    X, y = stream(20, 2)
    halves = bpa.run(X, y, n_classes=2, C=0.2, sample_weight=np.full(20, 0.5), budget=5)
    assert_same(halves, bpa.run(X, y, n_classes=2, C=0.1, budget=5))


# BOGD


@pytest.mark.parametrize(
    "lengths",
    (
        [1.0, 1.0, 1.0, 1.0],
        [1e6, 1.0, 1.0, 1.0],
        [1.0, 2.0, 3.0, 1e-12],
        [0.0, 1.0, 2.0],
        [3.0, 0.0],
        [1e-300, 1e300, 1.0],
        [5.0, 1.0],
        [0.1, 0.2, 0.3, 0.4, 0.5, 1.5],
    ),
)
def test_waterfilling_is_a_distribution(lengths):  # T5
    u = np.array(lengths)
    p, s = bogd.waterfill(u)
    assert np.all(p >= 0)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(p, np.maximum(0, 1 - s * u), atol=1e-15)
    literal = 1 - (len(u) - 1) * u / u.sum()
    if np.all(literal >= 0):
        np.testing.assert_allclose(p, literal, atol=1e-12)


def test_waterfilling_is_a_distribution_at_random():  # T5
    rng = np.random.default_rng(0)
    for _ in range(500):
        u = np.exp(rng.normal(size=rng.integers(2, 12)) * rng.uniform(0, 5))
        p, _s = bogd.waterfill(u)
        assert np.all(p >= 0)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("sampling", ("uniform", "weighted"))
@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("shape", ("equal", "spread", "dominant", "tiny"))
def test_bogd_is_unbiased_over_its_victims(sampling, n_classes, shape):  # T5
    budget, eta0, alpha = 5, 0.5, 0.2
    X, y = stream(300, n_classes)
    # Far apart (gamma) so that each row is an error, weighted to shape the lengths.
    weights = {
        "equal": np.ones(6),
        "spread": np.array([1.0, 0.3, 2.0, 0.7, 1.4, 1.0]),
        "dominant": np.array([1.0, 1.0, 1e4, 1.0, 1.0, 1.0]),
        "tiny": np.array([1.0, 2.0, 1e-9, 3.0, 2.0, 1.0]),
    }[shape]
    loss = "absolute_error" if n_classes is None else "hinge"
    options = {"n_classes": n_classes, "loss": loss, "eta0": eta0, "alpha": alpha}
    options |= {"sample_weight": weights, "gamma": 30.0}
    X, y = X[:6], y[:6]
    target = ogd.run(X, y, **options)
    assert target.n_updates == 6
    before = ogd.run(X[:5], y[:5], **options | {"sample_weight": weights[:5]})
    if sampling == "uniform":
        p = np.full(budget, 1 / budget)
    else:
        p, _s = bogd.waterfill(np.linalg.norm(before.coef, axis=0))
    edges = np.concatenate([[0.0], np.cumsum(p)])
    mean = 0.0
    grid = np.random.default_rng(5).normal(size=(20, X.shape[1]))
    grid = np.concatenate([X, grid])
    for r in np.flatnonzero(p > 0):
        rng = Told((edges[r] + edges[r + 1]) / 2)
        out = bogd.run(X, y, budget=budget, sampling=sampling, rng=rng, **options)
        np.testing.assert_array_equal(out.centers[r], X[5])
        assert out.n_maintenance == 1
        mean = mean + p[r] * (gram(grid, out.centers, gamma=30.0) @ out.coef.T)
    expected = gram(grid, target.centers, gamma=30.0) @ target.coef.T
    np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-12)


def test_weighted_bogd_drops_a_zero_length_first():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [-1.0, -1.0]])
    y = np.array([1, 1, 0, 0, 1])
    run = partial(
        bogd.run, n_classes=2, kernel="linear", sampling="weighted", alpha=0.1, eta0=0.5
    )
    one_zero = run(X[:4], y[:4], budget=3, rng=Told(0.999))
    np.testing.assert_array_equal(one_zero.centers, X[[0, 3, 2]])
    np.testing.assert_allclose(one_zero.coef, [[0.5 * 0.95**3, -0.5, -0.5 * 0.95]])
    for u, victim in ((0.49, 1), (0.51, 3)):
        two_zeros = run(X, y, budget=4, rng=Told(u))
        np.testing.assert_array_equal(two_zeros.centers[victim], X[4])
        assert two_zeros.coef[0, 0] == pytest.approx(0.5 * 0.95**4)


@pytest.mark.parametrize("sampling", ("uniform", "weighted"))
@pytest.mark.parametrize("n_classes", TASKS)
def test_bogd_clips_every_row(sampling, n_classes):
    X, y = stream(120, n_classes)
    loss = "squared_error" if n_classes is None else "hinge"
    for max_coef, eta0 in ((0.5, 0.3), (2.0, 0.3)):
        out = bogd.run(
            X,
            y,
            n_classes=n_classes,
            loss=loss,
            budget=6,
            sampling=sampling,
            max_coef=max_coef,
            eta0=eta0,
            alpha=1e-4,
            rng=np.random.default_rng(0),
        )
        norms = np.linalg.norm(out.coef, axis=0)
        assert norms.max() <= max_coef * eta0 * (1 + 1e-12)
        assert out.sizes.max() == 6


# sizes and counts, all systems


@pytest.mark.parametrize("kernel", ("rbf", "laplacian", "poly", "linear"))
@pytest.mark.parametrize("n_classes", TASKS)
def test_sizes_stay_within_budget_and_scores_are_those_of_the_model(kernel, n_classes):
    X, y = stream(40, n_classes)
    rng = np.random.default_rng(0)
    residual = n_classes is None
    loss = {"loss": "absolute_error" if residual else "log_loss"}
    systems = [
        partial(rbp.run, rng=rng),
        forgetron.run,
        partial(bpa.run, C=0.1),
        partial(bsgd.run, t0=50.0, **loss),
        partial(bogd.run, rng=rng, eta0=0.1, max_coef=1.0, **loss),
        partial(bogd.run, rng=rng, eta0=0.1, max_coef=1.0, sampling="weighted", **loss),
    ]
    if not residual:
        systems.append(budget_perceptron.run)
    for run in systems:
        out = run(X, y, n_classes=n_classes, kernel=kernel, budget=5)
        outputs = n_classes if n_classes == 4 else 1
        assert out.scores.shape == (40, outputs)
        assert out.coef.shape == (outputs, len(out.centers))
        assert out.sizes.max() <= 5
        assert out.sizes[-1] == len(out.centers)
        assert out.n_maintenance == out.n_updates - len(out.centers)
        assert np.all(np.isfinite(out.coef))
        assert (out.n_mistakes is None) == residual

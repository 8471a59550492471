"""The references against what must hold without an engine (ALGORITHMS section 9)."""

import math
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from tests.exact import (
    bogd,
    bpa,
    bsgd,
    budget_perceptron,
    forgetron,
    kernel_sgd,
    klms,
    nbsgd,
    norma,
    ogd,
    perceptron,
    projectron,
    qklms,
    rbp,
)
from tests.exact.ball import radius
from tests.exact.expansion import Expansion
from tests.exact.kernels import gram
from tests.exact.losses import crammer_singer, margin_of, slope, slopes, value
from tests.exact.maintenance import (
    MAINTENANCE,
    insert,
    maintain,
    merge_pair,
    merged_row,
    represent,
    smallest,
)

CLASSIFICATION = ("hinge", "smooth_hinge", "squared_hinge", "log_loss")
REGRESSION = ("squared_error", "absolute_error", "epsilon_insensitive")
TASKS = (2, 4, None)
VARIANTS = ("s", "nn", "p")


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
    stored = {"n_classes": n_classes, "projection_threshold": 0.0, "budget": 60}
    assert_same(projectron.run(X, y, **stored), parent)
    assert_same(projectron.run(X, y, aggressive=True, **stored), parent)
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
    for maintenance in MAINTENANCE:
        common["maintenance"] = maintenance
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
def test_norma_and_qklms_with_all_rows_equal_their_parents(n_classes):
    X, y = stream(50, n_classes)
    steps = {"n_classes": n_classes, "eta0": 0.4}
    given = {**steps, "loss": losses_for(n_classes)[0], "alpha": 0.02}
    for schedule in ("constant", "invscaling"):
        given["learning_rate"] = schedule
        assert_same(norma.run(X, y, budget=50, **given), ogd.run(X, y, **given))
    parent = klms.run(X, y, **steps)
    assert_same(qklms.run(X, y, coverage_radius=1e-9, **steps), parent)


def test_errors_of_klms_solve_a_triangular_system():
    # e_t + eta sum_{i < t} k(x_i, x_t) e_i = d_t
    X, y = stream(50, None)
    earlier = np.tril(gram(X, X, gamma=0.5), -1)
    e = np.linalg.solve(np.eye(50) + 0.4 * earlier, y)
    found = klms.run(X, y, gamma=0.5, eta0=0.4)
    np.testing.assert_allclose(found.coef[0], 0.4 * e, rtol=1e-10)
    np.testing.assert_allclose(found.scores[:, 0], y - e, rtol=0, atol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_classes", TASKS)
def test_bpa_on_a_large_budget_equals_pa(n_classes, variant):
    X, y = stream(60, n_classes)
    options = {"n_classes": n_classes, "C": 0.7}
    parent = bpa.run(X, y, **options)
    assert_same(bpa.run(X, y, budget=60, variant=variant, **options), parent)
    assert_same(bpa.run(X, y, variant=variant, **options), parent)


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
        *(
            partial(bsgd.run, loss="log_loss", budget=8, maintenance=maintenance)
            for maintenance in MAINTENANCE
        ),
        *(partial(bpa.run, budget=8, variant=variant) for variant in VARIANTS),
        partial(projectron.run, budget=8, aggressive=True),
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


@pytest.mark.parametrize("maintenance", MAINTENANCE)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_ball_holds_the_model(n_classes, loss, maintenance):
    X, y = stream(30, n_classes)
    alpha = 0.02
    for n in (1, 5, 30):
        options = {"loss": loss, "alpha": alpha, "ball": True, "budget": 9}
        options["maintenance"] = maintenance
        out = bsgd.run(X[:n], y[:n], n_classes=n_classes, **options)
        K = gram(out.centers, out.centers)
        norm = math.sqrt(sum(a @ K @ a for a in out.coef))
        limit = radius(loss, alpha, float(np.max(np.abs(y[:n]))))
        assert norm <= limit * (1 + 1e-12)


# maintenance


@pytest.mark.parametrize("maintenance", MAINTENANCE)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("ball", (False, True))
def test_nbsgd_spans_kernel_sgd_and_bsgd(n_classes, loss, ball, maintenance):  # T13
    X, y = stream(50, n_classes)
    common = {"n_classes": n_classes, "loss": loss, "alpha": 0.1, "ball": ball}
    parent = kernel_sgd.run(X, y, **common)
    common["maintenance"] = maintenance
    limited = bsgd.run(X, y, budget=10, **common)
    assert limited.sizes.max() == 10
    rng = np.random.default_rng(0)
    always = nbsgd.run(X, y, budget=10, maintenance_rate=math.inf, rng=rng, **common)
    assert_same(always, limited)
    never = nbsgd.run(X, y, budget=10, maintenance_rate=0.0, rng=rng, **common)
    assert_same(never, parent)
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


# merging and projection: one operation on a model


def crowd(n_classes, size, seed=0, **kernel):
    """A model with raw coefficients beside it, spread as after a log loss."""
    rng = np.random.default_rng(seed)
    options = {"kernel": "rbf", "gamma": 0.7, "degree": 2, "coef0": 1.0} | kernel
    model = Expansion(3, n_classes, **options)
    raws = []
    for center in rng.normal(size=(size, 3)):
        raws.append(rng.normal(size=model.outputs))
        model.append(center, 0.3 * raws[-1])
    return model, raws


def state(model):
    return np.array(model.centers), np.array(model.coef)


def squared_distance(model, before, after):
    """||w_before - w_after||^2 from the Gram matrix."""
    centers = np.concatenate([before[0], after[0]])
    coef = np.concatenate([before[1], -after[1]])
    return float(np.sum(coef * (model.gram(centers, centers) @ coef)))


def run_maintenance(model, raws, maintenance, leaving=1, **options):
    defaults = {"n_neighbors": 4, "victim": "residual", "jitter": 0.0}
    before = state(model)
    maintain(model, raws, maintenance=maintenance, **defaults | options)
    after = state(model)
    assert len(model) == len(raws) == len(before[0]) - leaving
    if raws:
        np.testing.assert_allclose(after[1], 0.3 * np.array(raws), rtol=1e-9)
    return squared_distance(model, before, after), before, after


def rows_at(outputs, mu, rng):
    """Two coefficient rows with norms mu and 1 - mu and a positive inner product."""
    A_m, A_n = rng.normal(size=(2, outputs))
    A_n *= np.sign(A_m @ A_n)
    return mu * A_m / np.linalg.norm(A_m), (1 - mu) * A_n / np.linalg.norm(A_n)


KAPPAS = (1e-8, 1e-4, 0.02, 0.13, 0.1353, 0.14, 0.3, 0.7, 0.99, 0.999)
MUS = (1e-3, 0.1, 0.3, 0.5 - 1e-6, 0.5, 0.5 + 1e-6, 0.7, 0.95, 1 - 1e-3)


def degradations(A_m, A_n, x, h):
    """WD as the card has it, for an array of h."""
    p, q, r = A_m @ A_m, A_m @ A_n, A_n @ A_n
    u, v = np.exp(-x * (1 - h) ** 2), np.exp(-x * h**2)
    return p + r + 2 * q * math.exp(-x) - (p * u**2 + 2 * q * u * v + r * v**2)


@pytest.mark.parametrize("kap", KAPPAS)
@pytest.mark.parametrize("outputs", (1, 4))
def test_merge_beats_a_line_search(kap, outputs):  # T8
    rng = np.random.default_rng(0)
    x = -math.log(kap)
    grid = np.linspace(0, 1, 10_001)
    for mu in MUS:
        for _ in range(1 if outputs == 1 else 10):
            A_m, A_n = rows_at(outputs, mu, rng)
            h, wd = merge_pair(A_m, A_n, x)
            scan = degradations(A_m, A_n, x, grid)
            assert 0 <= wd <= scan.min() + 1e-14
            assert wd == pytest.approx(scan.min(), abs=1e-6)
            assert wd == pytest.approx(float(degradations(A_m, A_n, x, h)), abs=1e-14)
            assert (h >= 0.5) == (A_m @ A_m >= A_n @ A_n) or h == 0.5
            mirrored, same = merge_pair(A_n, A_m, x)
            assert same == pytest.approx(wd, rel=1e-12, abs=1e-16)
            if A_m @ A_m != A_n @ A_n:
                assert mirrored == pytest.approx(1 - h, abs=1e-14)


@pytest.mark.parametrize("kap", (1e-8, 0.02, 0.3, 0.7, 0.99))
@pytest.mark.parametrize("outputs", (1, 4))
def test_merge_finds_the_point_of_a_golden_section_search(kap, outputs):  # T8
    rng = np.random.default_rng(1)
    x, ratio = -math.log(kap), (math.sqrt(5) - 1) / 2
    for mu in MUS:
        A_m, A_n = rows_at(outputs, mu, rng)
        low, high = (0.5, 1.0) if A_m @ A_m >= A_n @ A_n else (0.0, 0.5)
        while high - low > 1e-12:
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            wd_left, wd_right = degradations(A_m, A_n, x, np.array([left, right]))
            if wd_left < wd_right:
                high = right
            else:
                low = left
        # a minimum found by values alone is known to half the digits
        assert merge_pair(A_m, A_n, x)[0] == pytest.approx((low + high) / 2, abs=1e-6)


@pytest.mark.parametrize("outputs", (1, 4))
def test_merge_loses_what_the_gram_matrix_says_and_less_than_the_others(outputs):  # T8
    rng = np.random.default_rng(2)
    for _ in range(200):
        A_m, A_n = rows_at(outputs, rng.uniform(0.01, 0.99), rng)
        c_m, c_n = rng.normal(size=(2, 3))
        gamma = math.exp(rng.uniform(-4, 4))
        x = gamma * float(np.sum((c_m - c_n) ** 2))
        h, wd = merge_pair(A_m, A_n, x)
        points = np.array([c_m, c_n, h * c_m + (1 - h) * c_n])
        delta = np.array([A_m, A_n, -merged_row(A_m, A_n, x, h)])
        K = gram(points, points, gamma=gamma)
        assert wd == pytest.approx(float(np.sum(delta * (K @ delta))), abs=1e-13)
        lighter = min(float(A_m @ A_m), float(A_n @ A_n))
        assert wd <= lighter * -math.expm1(-2 * x) <= lighter


def test_merge_of_equals_is_in_the_middle_or_at_the_first():
    one = np.array([1.0])
    for kap in (0.14, 0.5, 0.99):
        assert merge_pair(one, one, -math.log(kap))[0] == 0.5
    for kap in (0.13, 0.01, 1e-5):
        assert merge_pair(one, one, -math.log(kap))[0] > 0.5
    assert merge_pair(one, one, 1e5) == (1.0, 1.0)
    assert merge_pair(one, 2 * one, 1e5) == (0.0, 1.0)
    assert merge_pair(one, 2 * one, 0.9e-8) == (0.0, 0.0)
    # far apart, the loss is that of the lighter one to the last bit
    assert merge_pair(0.1 * one, 0.7 * one, 50.0)[1] == 0.1**2


@pytest.mark.parametrize("n_classes", (2, 4))
def test_merge_takes_the_best_partner_of_the_smallest(n_classes):  # T8
    grid = np.linspace(0, 1, 501)
    merged = 0
    for seed in range(20):
        model, raws = crowd(n_classes, 7, seed)
        m = int(np.argmin([raw @ raw for raw in raws]))
        partners = [n for n in range(7) if n != m and raws[m] @ raws[n] > 0]
        if not partners:
            continue
        merged += 1
        scans = []
        for n in partners:
            gap = model.centers[m] - model.centers[n]
            args = (model.coef[m], model.coef[n], model.gamma * float(gap @ gap))
            scans.append(degradations(*args, grid).min())
        n = partners[int(np.argmin(scans))]
        loss, before, after = run_maintenance(model, raws, "merge")
        assert loss == pytest.approx(min(scans), abs=1e-5)
        older = min(m, n)
        others = [i for i in range(7) if i not in (m, n)]
        others.insert(older, None)
        for slot, i in enumerate(others):
            if i is not None:
                np.testing.assert_array_equal(after[0][slot], before[0][i])
                np.testing.assert_array_equal(after[1][slot], before[1][i])
        # on the segment between the two
        ends = before[0][m], before[0][n]
        lengths = [np.linalg.norm(after[0][older] - end) for end in ends]
        assert sum(lengths) == pytest.approx(np.linalg.norm(ends[0] - ends[1]))
    assert merged > 10


def placed(coef, centers, n_classes=2):
    options = {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 1.0}
    model = Expansion(1, n_classes, **options)
    raws = [np.atleast_1d(np.array(a, dtype=float)) for a in coef]
    for a, c in zip(raws, centers, strict=True):
        model.append(np.array([c]), 0.3 * a)
    return model, raws


def test_merge_of_duplicates_adds_their_coefficients_at_the_partner():
    for order in (1, -1):  # the smallest one is the older, the younger
        coef, centers = [0.5, 2.0, 1.0][::order], [0.0, 1e-5, 1.0][::order]
        model, raws = placed(coef, centers)
        run_maintenance(model, raws, "merge")
        position = 0 if order == 1 else 1
        assert model.centers[position].tolist() == [1e-5]
        assert raws[position].tolist() == [2.5]
    # of several duplicates the oldest
    model, raws = placed([3.0, 2.0, 1.0], [0.0, 0.0, 0.0])
    run_maintenance(model, raws, "merge")
    assert [float(raw[0]) for raw in raws] == [4.0, 2.0]


def test_merge_without_a_partner_projects_on_the_nearest():
    model, raws = placed([-1.0, -0.2, 0.1, -3.0], [0.0, 0.9, 1.0, 2.0])
    run_maintenance(model, raws, "merge")
    expected = [-1.0, -0.2 + 0.1 * math.exp(-0.01), -3.0]
    np.testing.assert_allclose(np.ravel(raws), expected, rtol=1e-13)
    assert np.ravel(model.centers).tolist() == [0.0, 0.9, 2.0]
    # all equally far: the oldest other
    model, raws = placed([0.5, -1.0, -2.0], [0.0, 1.0, -1.0])
    run_maintenance(model, raws, "merge")
    np.testing.assert_allclose(np.ravel(raws), [-1.0 + 0.5 / math.e, -2.0], rtol=1e-13)
    # orthogonal rows of several classes are no partners either
    rows = [[0.1, -0.1, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]
    model, raws = placed(rows, [0.0, 1.0], n_classes=4)
    run_maintenance(model, raws, "merge")
    shrunk = 0.1 / math.e
    np.testing.assert_allclose(raws, [[shrunk, -shrunk, 1.0, -1.0]], rtol=1e-13)
    model, raws = placed([1.0], [0.0])
    maintain(
        model, raws, maintenance="merge", n_neighbors=4, victim="residual", jitter=1e-8
    )
    assert len(model) == len(raws) == 0


def chain(model, raws, n_merged):
    """Who merges with m, the points and raws then, the oldest first, and root WDs."""
    alive = {i: (model.centers[i], raw) for i, raw in enumerate(raws)}
    z = min(alive, key=lambda i: float(np.sum(raws[i] ** 2)))

    def pair(z, n):
        (c_z, a_z), (c_n, a_n) = alive[z], alive[n]
        x = model.gamma * float(np.sum((c_z - c_n) ** 2))
        h, wd = merge_pair(a_z, a_n, x)
        return wd, (h * c_z + (1 - h) * c_n, merged_row(a_z, a_n, x, h))

    others = [n for n in alive if n != z and raws[z] @ raws[n] > 0]
    partners = sorted(others, key=lambda n: pair(z, n)[0])[: n_merged - 1]
    merged, roots = [], []
    for n in partners:
        if alive[z][1] @ alive[n][1] <= 0:
            continue
        wd, both = pair(z, n)
        merged.append(n)
        roots.append(math.sqrt(wd))
        del alive[max(z, n)]
        z = min(z, n)
        alive[z] = both
    left = [alive[i] for i in sorted(alive)]
    return merged, [c for c, _ in left], [a for _, a in left], roots


@pytest.mark.parametrize("n_merged", (2, 3, 4, 20))
@pytest.mark.parametrize("n_classes", (2, 4))
def test_merging_several_is_one_pair_after_another(n_classes, n_merged):
    most = passed_over = 0
    for seed in range(40):
        model, raws = crowd(n_classes, 9, seed)
        m = int(np.argmin([raw @ raw for raw in raws]))
        partners = sum(raws[m] @ raw > 0 for raw in raws) - 1
        if not partners:
            continue
        merged, centers, rows, roots = chain(model, raws, n_merged)
        assert 1 <= len(merged) <= min(partners, n_merged - 1)
        loss, _, after = run_maintenance(
            model, raws, "merge", leaving=len(merged), n_merged=n_merged
        )
        np.testing.assert_array_equal(after[0], centers)
        np.testing.assert_array_equal(raws, rows)
        # the triangle inequality, the true coefficients being 0.3 of the raw ones
        assert math.sqrt(loss) <= 0.3 * sum(roots) + 1e-9
        if len(roots) == 1:
            assert math.sqrt(loss) == pytest.approx(0.3 * roots[0], abs=1e-7)
        most = max(most, len(merged))
        passed_over += len(merged) < min(partners, n_merged - 1)
    assert most >= min(n_merged - 1, 4)
    # one sign stays one sign; several classes may part
    assert (passed_over > 0) == (n_classes == 4 and n_merged > 2)


def test_a_pair_is_what_is_merged_by_default():
    for n_classes in TASKS:
        X, y = stream(60, n_classes)
        loss = "squared_error" if n_classes is None else "log_loss"
        options = {"n_classes": n_classes, "loss": loss, "maintenance": "merge"}
        default = bsgd.run(X, y, budget=8, **options)
        assert_same(bsgd.run(X, y, budget=8, n_merged=2, **options), default, 0)
        assert default.n_maintenance == default.n_updates - 8


def test_several_duplicates_add_up_the_older_first():
    model, raws = placed([3.0, 2.0, 1.0, 4.0, 5.0], [0.0] * 5)
    run_maintenance(model, raws, "merge", leaving=3, n_merged=4)
    assert np.ravel(raws).tolist() == [10.0, 5.0]
    # the last one merged with stays where it is, in the oldest one's place
    model, raws = placed([2.0, 0.5, 3.0], [3e-6, 1e-6, 4e-6])
    run_maintenance(model, raws, "merge", leaving=2, n_merged=3)
    assert np.ravel(raws).tolist() == [5.5]
    assert np.ravel(model.centers).tolist() == [4e-6]


def test_equals_in_a_row_count_what_was_merged_as_the_heavier_one():
    # k = 0 exactly: the heavier one stays as it is, and of equals the first
    model, raws = placed([3.0, 1.0, 1.0, 1.0, -1.0], [0.0, 100.0, 200.0, 300.0, 400.0])
    run_maintenance(model, raws, "merge", leaving=2, n_merged=3)
    # m = 1 loses to the older and heavier 0, which then takes 2
    assert np.ravel(raws).tolist() == [3.0, 1.0, -1.0]
    assert np.ravel(model.centers).tolist() == [0.0, 300.0, 400.0]
    model, raws = placed([1.0, 1.0, 1.0, 1.0], [0.0, 100.0, 200.0, 300.0])
    run_maintenance(model, raws, "merge", leaving=2, n_merged=3)
    assert np.ravel(model.centers).tolist() == [0.0, 300.0]


def test_a_partner_that_no_longer_goes_with_the_merged_one_is_passed_over():
    rows = [[1.0, 1.0, 0.0, 0.0], [1.0, -3.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0]]
    rows.append([1.0, 3.0, 0.0, 0.0])
    model, raws = placed(rows, [0.4, 0.2, 0.0, 0.1], n_classes=4)
    run_maintenance(model, raws, "merge", leaving=2, n_merged=4)
    # 3 first, then not 1, but 0
    assert raws[1].tolist() == rows[1] and model.centers[1].tolist() == [0.2]
    assert 0.1 < float(model.centers[0][0]) < 0.4
    model, raws = placed(rows, [0.4, 0.2, 0.0, 0.1], n_classes=4)
    run_maintenance(model, raws, "merge", leaving=1, n_merged=3)
    assert raws[0].tolist() == rows[0] and raws[1].tolist() == rows[1]
    assert 0.0 < float(model.centers[2][0]) < 0.1


@pytest.mark.parametrize("n_classes", TASKS)
def test_a_maintenance_that_merges_several_counts_once(n_classes):
    X, y = stream(80, n_classes)
    loss = {"loss": "squared_error" if n_classes is None else "log_loss"}
    options = {"n_classes": n_classes, "maintenance": "merge", "n_merged": 4}
    out = bsgd.run(X, y, budget=9, **options, **loss)
    steps = np.diff(out.sizes, prepend=0)
    assert out.n_updates == 80
    assert set(steps) <= {1, 0, -1, -2} and -2 in steps
    assert out.n_maintenance == np.sum(steps < 1)
    assert out.sizes.max() == 9
    rate = {"maintenance_rate": math.inf, "rng": np.random.default_rng(0)}
    assert_same(nbsgd.run(X, y, budget=9, **rate, **options, **loss), out)


def test_merge_is_for_the_rbf_kernel():
    X, y = stream(10, 2)
    for kernel in ("linear", "poly", "laplacian"):
        with pytest.raises(ValueError, match="rbf"):
            bsgd.run(X, y, n_classes=2, budget=3, kernel=kernel, maintenance="merge")


def project_out(model, p, members):
    """The squared loss of a_p phi_p's projection on the members, by least squares."""
    K = model.matrix()
    d = np.linalg.lstsq(K[np.ix_(members, members)], K[members, p], rcond=None)[0]
    a = model.coef[p]
    return float(a @ a) * (K[p, p] - float(d @ K[members, p]))


@pytest.mark.parametrize("kernel", ("rbf", "laplacian", "poly"))
@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("victim", ("residual", "coefficient"))
def test_projection_leaves_the_other_scores_alone(kernel, n_classes, victim):  # T6
    for seed in range(10):
        model, raws = crowd(n_classes, 6, seed, kernel=kernel)
        rest = [[i for i in range(6) if i != p] for p in range(6)]
        losses = [project_out(model, p, rest[p]) for p in range(6)]
        p = int(np.argmin(losses))
        if victim == "coefficient":
            p = smallest(model, raws)
        pivot = np.linalg.inv(model.matrix())[p, p]
        loss, before, after = run_maintenance(model, raws, "projection", victim=victim)
        np.testing.assert_array_equal(after[0], before[0][rest[p]])
        a = before[1][p]
        assert loss == pytest.approx(float(a @ a) / pivot, rel=1e-6, abs=1e-12)
        assert loss == pytest.approx(losses[p], rel=1e-6, abs=1e-12)
        K_old, K_new = (model.gram(after[0], centers) for centers, _ in (before, after))
        np.testing.assert_allclose(K_new @ after[1], K_old @ before[1], atol=1e-8)


@pytest.mark.parametrize("kernel", ("rbf", "laplacian", "poly"))
@pytest.mark.parametrize("n_classes", TASKS)
def test_projection_on_neighbors_is_exact_with_all_of_them(kernel, n_classes):  # T7
    for seed in range(10):
        model, raws = crowd(n_classes, 6, seed, kernel=kernel)
        p = smallest(model, raws)
        row = model.matrix()[p]
        order = sorted((i for i in range(6) if i != p), key=lambda i: -row[i])
        losses = [float(model.coef[p] @ model.coef[p]) * row[p]]  # removal
        for k in range(1, 7):
            model, raws = crowd(n_classes, 6, seed, kernel=kernel)
            expected = project_out(model, p, order[:k])
            loss, before, after = run_maintenance(
                model, raws, "projection_knn", n_neighbors=k
            )
            assert loss == pytest.approx(expected, rel=1e-6, abs=1e-10)
            assert loss <= losses[-1] + 1e-12
            losses.append(loss)
            # nobody else's coefficients moved
            kept = [i for i in range(6) if i != p]
            far = [kept.index(i) for i in order[k:]]
            np.testing.assert_array_equal(after[1][far], before[1][kept][far])
        exact, exact_raws = crowd(n_classes, 6, seed, kernel=kernel)
        run_maintenance(exact, exact_raws, "projection", victim="coefficient")
        np.testing.assert_allclose(state(exact)[1], after[1], rtol=1e-6, atol=1e-9)


def test_projection_on_the_nearest_one_is_the_ratio_of_kernel_values():
    model, raws = crowd(4, 6, kernel="poly")
    p = smallest(model, raws)
    K = model.matrix()
    others = [i for i in range(6) if i != p]
    n = max(others, key=lambda i: K[i, p])
    _, before, after = run_maintenance(model, raws, "projection_knn", n_neighbors=1)
    expected = before[1][n] + before[1][p] * K[n, p] / K[n, n]
    np.testing.assert_allclose(after[1][others.index(n)], expected, rtol=1e-13)


# projection: points within the span


def orthogonal_start(n_classes):
    """A stream that opens with an orthogonal basis.

    A point sum d_i c_i of the span has r2 = jitter sum d_i^2 k_ii, which is jitter
    k(x, x) for orthogonal centers and may be more than twice that for others.
    """
    X, y = stream(40, n_classes)
    X[:3] = 5 * np.eye(3)
    if n_classes is None:
        y[:3] = 1.0  # far enough from f = 0
    return X, y


@pytest.mark.parametrize("n_classes", TASKS)
def test_projection_stores_a_basis_of_the_linear_kernel(n_classes):
    X, y = orthogonal_start(n_classes)
    loss = "epsilon_insensitive" if n_classes is None else "hinge"
    options = {"n_classes": n_classes, "loss": loss, "kernel": "linear", "alpha": 0.5}
    parent = kernel_sgd.run(X, y, **options)
    options |= {"maintenance": "projection", "jitter": 1e-10}
    for budget in (3, 40):
        out = bsgd.run(X, y, budget=budget, **options)
        assert (out.sizes[-1], out.n_maintenance) == (3, 0)
        assert out.n_updates == parent.n_updates
        np.testing.assert_allclose(out.scores, parent.scores, rtol=1e-5, atol=1e-5)
        told = Told()  # no draw without an insertion
        rates = {"budget": budget, "maintenance_rate": math.inf, "rng": told}
        assert_same(nbsgd.run(X, y, **rates, **options), out)


def test_projection_does_not_store_duplicates():
    X, y = stream(12, 2)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    options = {"n_classes": 2, "loss": "log_loss", "alpha": 0.1, "jitter": 1e-10}
    out = bsgd.run(X, y, budget=12, maintenance="projection", **options)
    assert (out.sizes[-1], out.n_updates, out.n_maintenance) == (12, 36, 0)
    del options["jitter"]
    parent = kernel_sgd.run(X, y, **options)
    np.testing.assert_allclose(out.scores, parent.scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", TASKS)
def test_a_spread_step_keeps_raw_and_true_coefficients_in_proportion(n_classes):
    model, raws = crowd(n_classes, 5)
    x, raw = model.centers[2].copy(), np.arange(1.0, model.outputs + 1)
    expected = np.array(raws)
    expected[2] += raw
    options = {"maintenance": "projection", "jitter": 1e-10}
    assert not insert(model, raws, x, 0.3 * raw, raw, **options)
    np.testing.assert_allclose(raws, expected, atol=1e-7)
    np.testing.assert_allclose(model.coef, 0.3 * np.array(raws), rtol=1e-12)
    assert insert(model, raws, x + 1, 0.3 * raw, raw, **options)
    assert insert(model, raws, x, 0.3 * raw, raw, maintenance="merge", jitter=1e-10)
    np.testing.assert_array_equal(model.centers[-2:], [x + 1, x])
    np.testing.assert_array_equal(raws[-2:], [raw, raw])


def test_nbsgd_above_its_budget_does_not_draw_for_a_spread_step():
    X = 100.0 * np.eye(4)[[0, 1, 0, 2, 1, 3]]  # k = 0 exactly, but for duplicates
    y = np.array([0, 1, 0, 1, 1, 0])
    told = Told(0.9, 0.9, 0.0)  # at the second, the fourth and the last row
    options = {"n_classes": 2, "loss": "log_loss", "maintenance": "projection"}
    out = nbsgd.run(X, y, budget=1, maintenance_rate=0.6, rng=told, **options)
    assert told.numbers == []
    assert out.sizes.tolist() == [1, 2, 2, 3, 3, 3]
    assert (out.n_updates, out.n_maintenance) == (6, 1)


# Projectron


@pytest.mark.parametrize("kernel", ("rbf", "laplacian"))
@pytest.mark.parametrize("n_classes", TASKS)
def test_projectron_projects_so_that_the_stored_points_do_not_notice(kernel, n_classes):
    X, y = stream(60, n_classes, d=2)
    gamma = 0.5 if kernel == "rbf" else 0.1
    options = {"n_classes": n_classes, "kernel": kernel, "projection_threshold": 0.4}
    options |= {"budget": 5, "gamma": gamma, "eta0": 0.7, "jitter": 1e-12}
    projected = full = 0
    for n in range(2, 60):
        before = projectron.run(X[: n - 1], y[: n - 1], **options)
        after = projectron.run(X[:n], y[:n], **options)
        step = perceptron.newcomer(after.scores[-1], y[n - 1], n_classes, eta0=0.7)
        assert after.n_updates == before.n_updates + np.any(step != 0)
        if not step.any():
            continue
        x, C = X[[n - 1]], before.centers
        K = partial(gram, kernel=kernel, gamma=gamma)
        d = np.linalg.lstsq(K(C, C), K(C, x)[:, 0], rcond=None)[0]
        rest = math.sqrt(1 - float(d @ K(C, x)[:, 0]))
        if rest > 0.4 and len(C) < 5:
            np.testing.assert_array_equal(after.centers, [*C, X[n - 1]])
            np.testing.assert_array_equal(after.coef[:, -1], step)
            continue
        projected += rest <= 0.4
        full += rest > 0.4
        assert after.n_maintenance - before.n_maintenance == (rest > 0.4)
        np.testing.assert_array_equal(after.centers, C)
        unprojected = before.coef @ K(C, C) + np.outer(step, K(C, x)[:, 0])
        np.testing.assert_allclose(after.coef @ K(C, C), unprojected, atol=1e-9)
        points = np.concatenate([C, x])
        change = np.concatenate([after.coef - before.coef, -step[:, None]], axis=1)
        length = math.sqrt(np.sum(change * (change @ K(points, points))))
        assert length == pytest.approx(rest * np.linalg.norm(step), abs=1e-6)
    assert min(full, projected) > 3


@pytest.mark.parametrize("n_classes", (2, 4))
def test_aggressive_projectron_meets_the_margin_and_stores_mistakes_only(n_classes):
    X, y = stream(80, n_classes, d=2)
    options = {"n_classes": n_classes, "gamma": 0.3, "projection_threshold": 0.2}
    options["aggressive"] = True
    reached = capped = short = 0
    for n in range(2, 80):
        before = projectron.run(X[: n - 1], y[: n - 1], **options)
        after = projectron.run(X[:n], y[:n], **options)
        margin = margin_of(after.scores[-1], y[n - 1], n_classes)
        assert (after.n_mistakes > before.n_mistakes) == (margin <= 0)
        if margin <= 0:
            continue
        np.testing.assert_array_equal(after.centers, before.centers)
        if after.n_updates == before.n_updates:
            np.testing.assert_array_equal(after.coef, before.coef)
            if margin < 1:
                short += 1
            continue
        assert 0 < margin < 1
        model = Expansion(2, 2, kernel="rbf", gamma=0.3, degree=3, coef0=1.0)
        for c in before.centers:
            model.append(c, np.ones(1))
        d, r2 = represent(model, X[n - 1], 1e-8)
        loss, rest = 1 - margin, 1 - margin - math.sqrt(r2) / 0.2
        tau = min(loss / (1 - r2), 1.0, 2 * rest / (1 - r2))
        assert rest > 0
        step = np.zeros(len(after.coef))
        if n_classes == 2:
            step[0] = tau * (2 * y[n - 1] - 1)
        else:
            _, runner_up = crammer_singer(after.scores[-1], int(y[n - 1]))
            step[int(y[n - 1])], step[runner_up] = tau / 2, -tau / 2
        np.testing.assert_allclose(after.coef - before.coef, np.outer(step, d))
        scores = after.coef @ gram(after.centers, X[[n - 1]], gamma=0.3)[:, 0]
        now = margin_of(scores, y[n - 1], n_classes)
        if n_classes == 4:  # over the same runner-up
            now = scores[int(y[n - 1])] - scores[runner_up]
        if tau == loss / (1 - r2):
            reached += 1
            assert now == pytest.approx(1, abs=1e-6)
        else:
            capped += 1
            assert margin < now < 1
    assert min(reached, capped, short) > 0


@pytest.mark.parametrize("n_classes", (2, 4))
def test_a_small_threshold_leaves_no_margin_errors_to_learn_from(n_classes):
    X, y = stream(80, n_classes)
    options = {"n_classes": n_classes, "projection_threshold": 1e-9, "budget": 12}
    plain = projectron.run(X, y, **options)
    assert plain.n_maintenance == plain.n_updates - 12 > 0
    assert_same(projectron.run(X, y, aggressive=True, **options), plain)


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("aggressive", (False, True))
def test_projectron_is_finite_on_repeated_data(n_classes, aggressive):
    X, y = stream(15, n_classes)
    X, y = np.tile(X, (5, 1)), np.tile(y, 5)
    options = {"n_classes": n_classes, "aggressive": aggressive}
    out = projectron.run(X, y, projection_threshold=0.0, **options)
    assert len(np.unique(out.centers, axis=0)) == len(out.centers) <= 15
    assert out.n_maintenance == 0
    small = projectron.run(X, y, projection_threshold=0.9, **options)
    assert len(small.centers) < len(out.centers)


# BPA-NN and BPA-P


def solve_bpa(k, a, free, victim, C, violations):
    """Minimise ||w' - w||^2 / 2 + C loss(w'), w' without the victim, free to move.

    k is the Gram matrix of the old centers and the new point, a (outputs, size) the
    old coefficients. The loss is the largest of 0 and b + v.f' over the violations
    (v, b), f' the new scores of the new point. Return the minimum and the coefficients
    of w', numerically.
    """
    outputs, size = a.shape
    old = np.concatenate([a, np.zeros((outputs, 1))], axis=1)
    kept = old.copy()
    kept[:, [victim, *free]] = 0

    def change(z):  # z: the free coefficients, and last the loss
        new = kept.copy()
        new[:, free] = z[:-1].reshape(outputs, len(free))
        return new - old

    def objective(z):
        return 0.5 * np.sum(change(z) * (change(z) @ k)) + C * z[-1]

    def gradient(z):
        return np.append((change(z) @ k)[:, free].ravel(), C)

    def slack(z):
        score = (change(z) + old) @ k[:, size]
        return np.array([z[-1], *(z[-1] - b - v @ score for v, b in violations)])

    lines = [np.append(-np.outer(v, k[free, size]).ravel(), 1.0) for v, _ in violations]
    slack_slopes = np.array([np.eye(1, len(lines[0]), len(lines[0]) - 1)[0], *lines])
    best = minimize(
        objective,
        np.append(old[:, free].ravel(), 5.0),
        jac=gradient,
        method="SLSQP",
        constraints={"type": "ineq", "fun": slack, "jac": lambda z: slack_slopes},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return best.fun, change(best.x) + old


def violations_of(f, y, n_classes, epsilon):
    """The linear pieces of a row's loss, the runner-up fixed at the scores f."""
    if n_classes is None:
        one = np.ones(1)
        return [(-one, y - epsilon), (one, -y - epsilon)]
    if n_classes == 2:
        return [(np.array([1.0 - 2.0 * y]), 1.0)]
    v = np.zeros(len(f))
    v[int(y)], v[crammer_singer(f, int(y))[1]] = -1.0, 1.0
    return [(v, 1.0)]


@pytest.mark.parametrize("C", (0.05, 5.0))
@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_bpa_variants_minimise_their_objective(C, n_classes, variant):  # T17
    epsilon, budget = 0.1, 4
    options = {"n_classes": n_classes, "C": C, "epsilon": epsilon, "gamma": 0.4}
    options |= {"budget": budget, "variant": variant, "jitter": 0.0}
    checked = 0
    for seed in range(8):
        X, y = stream(20, n_classes, seed=seed)
        before = bpa.run(X[:-1], y[:-1], **options)
        after = bpa.run(X, y, **options)
        if after.n_updates == before.n_updates:
            continue
        checked += 1
        points = np.concatenate([before.centers, X[-1:]])
        k = gram(points, points, gamma=0.4)
        objectives, coefs = [], []
        for r in range(budget):
            others = [i for i in range(budget) if i != r]
            nearest = max(others, key=lambda i, r=r, k=k: k[i, r])
            free = {"s": [budget], "nn": [nearest, budget], "p": [*others, budget]}
            violations = violations_of(after.scores[-1], y[-1], n_classes, epsilon)
            best, coef = solve_bpa(k, before.coef, free[variant], r, C, violations)
            objectives.append(best)
            coefs.append(coef)
        victim = int(np.argmin(objectives))
        rest = np.delete(np.arange(budget + 1), victim)
        np.testing.assert_array_equal(after.centers, points[rest])
        np.testing.assert_allclose(after.coef, coefs[victim][:, rest], atol=2e-5)
    assert checked > 3


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_classes", TASKS)
def test_bpa_variants_move_the_score_of_the_new_point_by_tau(n_classes, variant):  # T17
    X, y = stream(40, n_classes)
    options = {"n_classes": n_classes, "C": 0.3, "budget": 6, "variant": variant}
    for n in range(25, 40):
        before = bpa.run(X[: n - 1], y[: n - 1], **options)
        after = bpa.run(X[:n], y[:n], **options)
        if after.n_updates == before.n_updates:
            continue
        f = after.scores[-1]
        expected = f + bpa.step(f, y[n - 1], n_classes, 1.0, 0.3, 0.1)
        scores = after.coef @ gram(after.centers, X[[n - 1]])[:, 0]
        np.testing.assert_allclose(
            scores, expected, atol=1e-6 if variant == "p" else 1e-12
        )


@pytest.mark.parametrize("kernel", ("rbf", "laplacian", "poly"))
def test_bpa_loses_less_the_more_it_may_move(kernel):
    for seed in range(20):
        model, _ = crowd(2, 6, seed, kernel=kernel)
        x = np.random.default_rng(seed + 100).normal(size=3)
        s, nn, p = (bpa.projections(model, x, variant, 0.0)[0] for variant in VARIANTS)
        for r in range(6):
            assert p[r] <= nn[r] * (1 + 1e-9) + 1e-12
            assert nn[r] <= s[r] * (1 + 1e-9) + 1e-12
        assert min(p) < min(nn) < min(s)
        # the residuals are those of the shares
        points = np.array([*model.centers, x])
        K = model.gram(points, points)
        for variant in VARIANTS:
            residuals, shares = bpa.projections(model, x, variant, 0.0)
            for r, (residual, d) in enumerate(zip(residuals, shares, strict=True)):
                delta = np.eye(7)[r] - d
                length = float(delta @ K @ delta)
                assert residual == pytest.approx(length, rel=1e-6, abs=1e-9)


def test_bpa_nn_without_a_use_for_its_neighbor_is_bpa_s():
    X, y = stream(30, 2)
    options = {"n_classes": 2, "C": 0.5}
    alone = bpa.run(X, y, budget=1, variant="nn", **options)
    assert_same(alone, bpa.run(X, y, budget=1, **options))
    # the new point on top of the neighbour of every other: 2x2 singular
    model, _ = crowd(2, 2)
    x = model.centers[1] + 1e-5
    singular = bpa.projections(model, x, "nn", 0.0)
    assert singular[0][0] == bpa.projections(model, x, "s", 0.0)[0][0]
    np.testing.assert_array_equal(singular[1][0][:2], [0.0, 0.0])


@pytest.mark.parametrize("n_classes", TASKS)
def test_bpa_p_stores_a_basis_of_the_linear_kernel(n_classes):
    X, y = orthogonal_start(n_classes)
    options = {"n_classes": n_classes, "kernel": "linear", "C": 0.1}
    parent = bpa.run(X, y, **options)
    for budget in (3, None):
        out = bpa.run(X, y, budget=budget, variant="p", jitter=1e-10, **options)
        assert (out.sizes[-1], out.n_maintenance) == (3, 0)
        np.testing.assert_allclose(out.scores, parent.scores, rtol=1e-5, atol=1e-5)


# degenerate data


def degenerate(case, n_classes):
    X, y = stream(30, n_classes)
    if case == "duplicates":
        return np.tile(X[:6], (5, 1)), y, {"gamma": 1.0}
    if case == "equal":
        return np.ones_like(X), y, {"gamma": 1.0}
    if case == "near":
        return 1.0 + 1e-7 * X, y, {"gamma": 1.0}
    if case == "underflow":
        return X, y, {"gamma": 1e6}
    if case == "flat":
        return X, y, {"gamma": 0.0}
    if case == "zeros":
        return X * (np.arange(30) % 3 > 0)[:, None], y, {"kernel": "linear"}
    raise ValueError(case)


CASES = ("duplicates", "equal", "near", "underflow", "flat", "zeros")


@pytest.mark.parametrize("budget", (1, 2, 7))
@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("case", CASES)
def test_degenerate_data_leave_finite_models(case, n_classes, budget):  # T24
    X, y, kernel = degenerate(case, n_classes)
    loss = {"loss": "absolute_error" if n_classes is None else "hinge"}
    smooth = {"loss": "squared_error" if n_classes is None else "log_loss"}
    systems = [partial(bpa.run, variant=variant) for variant in VARIANTS]
    for threshold in (0.0, 0.1):
        for aggressive in (False, True):
            options = {"projection_threshold": threshold, "aggressive": aggressive}
            systems.append(partial(projectron.run, **options))
    for maintenance in MAINTENANCE:
        if maintenance == "merge" and "kernel" in kernel:
            continue
        for victim in ("residual", "coefficient"):
            options = {"maintenance": maintenance, "victim": victim, "ball": True}
            systems.append(partial(bsgd.run, **options, **loss))
            systems.append(partial(bsgd.run, **options, **smooth))
            options |= {"maintenance_rate": 10.0, "hard_budget": budget + 3}
            rng = np.random.default_rng(0)
            systems.append(partial(nbsgd.run, rng=rng, **options, **loss))
    if "kernel" not in kernel:
        several = {"maintenance": "merge", "n_merged": 4}
        systems.append(partial(bsgd.run, **several, **loss))
        systems.append(partial(bsgd.run, **several, **smooth))
    for run in systems:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            out = run(X, y, n_classes=n_classes, budget=budget, **kernel)
        assert np.all(np.isfinite(out.coef))
        assert np.all(np.isfinite(out.scores))
        limit = budget + 3 * (run.func is nbsgd.run)
        assert out.sizes.max() <= limit
        if case == "underflow":
            assert set(map(tuple, out.centers)) <= set(map(tuple, X))


def test_far_points_are_merged_as_if_removed():
    X = 100.0 * np.arange(6.0)[:, None]  # k = 0 exactly
    y = np.array([1, 1, 1, 0, 1, 1])
    out = bsgd.run(X, y, n_classes=2, alpha=0.5, budget=3, maintenance="merge")
    # all raw coefficients are 1: the oldest is m and the heavier, its partner leaves
    np.testing.assert_array_equal(np.ravel(out.centers), [0.0, 300.0, 500.0])
    np.testing.assert_allclose(out.coef, [[1 / 3, -1 / 3, 1 / 3]])


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
        *(partial(bpa.run, C=0.1, variant=variant) for variant in VARIANTS),
        *(
            partial(bsgd.run, t0=50.0, maintenance=maintenance, **loss)
            for maintenance in MAINTENANCE
            if maintenance != "merge" or kernel == "rbf"
        ),
        partial(
            bsgd.run, t0=50.0, maintenance="projection", victim="coefficient", **loss
        ),
        *(
            partial(projectron.run, projection_threshold=threshold, aggressive=more)
            for threshold in (0.0, 0.3)
            for more in (False, True)
        ),
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
        overflows = out.n_updates - len(out.centers)
        options = getattr(run, "keywords", {})
        spreads = options.get("variant") == "p" or "projection_threshold" in options
        spreads |= options.get("maintenance") == "projection"
        assert out.n_maintenance <= overflows
        assert out.n_maintenance == overflows or spreads
        assert np.all(np.isfinite(out.coef))
        assert (out.n_mistakes is None) == residual

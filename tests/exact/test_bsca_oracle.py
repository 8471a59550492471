"""The BSCA reference against what must hold without an engine (T8, T10, T24)."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.exact import bsca
from tests.exact.kernels import gram
from tests.exact.losses import value

LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_error")
CLASSIFICATION = LOSSES[:2]
MAINTENANCE = ("merge", "projection", "projection_knn", "removal")
EPSILON = 0.1
TASKS_AND_LOSSES = [
    (2, "hinge"),
    (2, "squared_hinge"),
    (3, "hinge"),
    (3, "squared_hinge"),
    (None, "epsilon_insensitive"),
    (None, "squared_error"),
]


def data(n, n_classes, seed=0, d=2):
    """Noisy rows, so that there are free, bound and zero dual variables."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    if n_classes is None:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def permutations(n, epochs, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(epochs)]


def signs_or_numbers(y, n_classes):
    """Return the targets, shape (outputs, n)."""
    if n_classes is None:
        return y[None].astype(float)
    if n_classes == 2:
        return np.where(y == 1, 1.0, -1.0)[None]
    return np.array([np.where(y == o, 1.0, -1.0) for o in range(n_classes)])


def dual_objective(K, Y, dual, loss, caps):
    """Return the exact dual, straight from the dual variables."""
    total = 0.0
    for a, y in zip(dual, Y, strict=True):
        beta = y * a if loss in CLASSIFICATION else a
        total += np.sum(a) if loss in CLASSIFICATION else y @ a
        total -= beta @ K @ beta / 2
        if loss == "epsilon_insensitive":
            total -= EPSILON * np.sum(np.abs(a))
        if loss in ("squared_hinge", "squared_error"):
            total -= np.sum(a[caps > 0] ** 2 / caps[caps > 0]) / 2
    return total


def primal_objective(K, Y, coef, loss, caps):
    """Return 1/2 ||w||^2 + sum C_i loss for w with one coefficient per row."""
    total = 0.0
    for beta, y in zip(coef, Y, strict=True):
        f = K @ beta
        total += beta @ f / 2
        for C_i, f_i, y_i in zip(caps, f, y, strict=True):
            total += C_i * value(loss, f_i, y_i, epsilon=EPSILON)
    return total


def assert_in_box(dual, loss, caps):
    if loss == "hinge":
        assert np.all((dual >= 0) & (dual <= caps))
    elif loss == "squared_hinge":
        assert np.all(dual >= 0)
    elif loss == "epsilon_insensitive":
        assert np.all(np.abs(dual) <= caps)


def assert_finite(result):
    for name in ("scores", "centers", "coef", "dual", "gains", "surrogate_dual"):
        assert np.all(np.isfinite(getattr(result, name))), name


# without a budget: exact coordinate ascent (T10)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_every_visit_raises_the_exact_dual_by_its_gain(n_classes, loss):
    n, visits = 30, 90
    X, y = data(n, n_classes)
    caps = np.random.default_rng(1).uniform(0.2, 3, n)
    order = np.concatenate(permutations(n, 3))
    K, Y = gram(X, X, gamma=0.5), signs_or_numbers(y, n_classes)
    options = dict(n_classes=n_classes, loss=loss, gamma=0.5, sample_weight=caps)
    whole = bsca.run(X, y, [order], **options)
    before = 0.0
    for t in range(1, visits + 1):
        part = bsca.run(X, y, [order[:t]], **options)
        after = dual_objective(K, Y, part.dual, loss, caps)
        assert_in_box(part.dual, loss, caps)
        assert after >= before - 1e-12
        assert after - before == pytest.approx(whole.gains[t - 1], abs=1e-10)
        assert part.surrogate_dual[0] == pytest.approx(after, abs=1e-10)
        before = after
    assert np.all(whole.gains >= -1e-12)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_one_variable_is_moved_to_its_best_value(n_classes, loss):
    """Brute force over a grid of the variable, all others fixed."""
    n = 12
    X, y = data(n, n_classes, seed=3)
    K, Y = gram(X, X), signs_or_numbers(y, n_classes)
    caps = np.full(n, 0.7)
    order = np.concatenate(permutations(n, 2))
    options = dict(n_classes=n_classes, loss=loss, C=0.7)
    for t in range(1, 2 * n + 1):
        dual = bsca.run(X, y, [order[:t]], **options).dual
        reached = dual_objective(K, Y, dual, loss, caps)
        low = 0.0 if loss in CLASSIFICATION else -0.7
        for o in range(len(dual)):
            for other in np.linspace(low, 0.7, 15):
                moved = dual.copy()
                moved[o, order[t - 1]] = other
                assert dual_objective(K, Y, moved, loss, caps) <= reached + 1e-12


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_without_a_budget_the_model_is_the_dual_expansion(n_classes, loss):
    n = 40
    X, y = data(n, n_classes)
    r = bsca.run(X, y, permutations(n, 4), n_classes=n_classes, loss=loss)
    Y = signs_or_numbers(y, n_classes)
    beta = Y * r.dual if loss in CLASSIFICATION else r.dual
    np.testing.assert_allclose(
        r.coef @ gram(r.centers, X), beta @ gram(X, X), rtol=0, atol=1e-12
    )
    # every slot is its row's own, and the rows of nonzero variables are those stored
    np.testing.assert_array_equal(r.centers, X[r.owners])
    np.testing.assert_allclose(r.coef, beta[:, r.owners], rtol=0, atol=1e-12)
    assert set(r.owners) == set(np.flatnonzero(np.any(beta != 0, axis=0)))
    assert r.n_maintenance == 0
    assert np.all(r.sizes <= n)
    assert len(r.gains) == len(r.sizes) == len(r.scores) == 4 * n


def solve_dual(K, y, loss, caps):
    """Return the dual variables by scipy, with no coordinate of ours."""
    n = len(y)
    if loss == "squared_error":
        return np.linalg.solve(K + np.diag(1 / caps), y)
    if loss == "epsilon_insensitive":
        # b = plus - minus with both in [0, C_i]: smooth, and the product is 0 at the
        # optimum because epsilon > 0
        def negated(z):
            b = z[:n] - z[n:]
            slope = K @ b - y
            objective = b @ K @ b / 2 - y @ b + EPSILON * np.sum(z)
            return objective, np.concatenate([slope + EPSILON, EPSILON - slope])

        bounds = [(0, c) for c in caps] * 2
    else:
        Q = K * np.outer(y, y)
        if loss == "squared_hinge":
            Q = Q + np.diag(1 / caps)

        def negated(z):
            return z @ Q @ z / 2 - np.sum(z), Q @ z - 1

        bounds = [(0, c if loss == "hinge" else None) for c in caps]
    tight = dict(maxiter=20000, maxfun=100000, maxcor=50, ftol=0, gtol=1e-9)
    found = minimize(
        negated,
        np.zeros(len(bounds)),
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options=tight,
    ).x
    return found if len(found) == n else found[:n] - found[n:]


@pytest.mark.parametrize(
    ("loss", "selection"),
    [*((loss, None) for loss in LOSSES), ("squared_error", "acf")],
)
def test_the_limit_is_the_qp_without_bias(loss, selection):
    n, gamma = 200, 5.0
    n_classes = 2 if loss in CLASSIFICATION else None
    X, y = data(n, n_classes, d=3)
    caps = np.random.default_rng(5).uniform(0.5, 2.0, n)
    K, Y = gram(X, X, gamma=gamma), signs_or_numbers(y, n_classes)

    def gap(dual):
        beta = Y * dual if n_classes else dual
        below = dual_objective(K, Y, dual, loss, caps)
        return primal_objective(K, Y, beta, loss, caps) - below

    def learned(epochs):
        return bsca.run(
            X,
            y,
            permutations(n, epochs),
            n_classes=n_classes,
            loss=loss,
            epsilon=EPSILON,
            gamma=gamma,
            sample_weight=caps,
            selection=selection,
            rng=np.random.default_rng(0),
            epochs=epochs,
        )

    a = solve_dual(K, Y[0], loss, caps)[None]
    assert gap(a) < 1e-5  # scipy's own
    smooth = loss in ("squared_hinge", "squared_error")
    r = learned(40 if smooth else 120)
    optimum = dual_objective(K, Y, a, loss, caps)
    assert r.surrogate_dual[-1] == pytest.approx(optimum, rel=1e-9)
    f = (Y * a if n_classes else a) @ K
    np.testing.assert_allclose(
        r.coef @ gram(r.centers, X, gamma=gamma), f, rtol=0, atol=1e-5
    )
    np.testing.assert_allclose(r.dual, a, rtol=0, atol=1e-4)
    # the primal stays above the dual and they meet
    gaps = [gap(learned(epochs).dual) for epochs in (1, 4, 16)] + [gap(r.dual)]
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3] > -1e-10
    assert gaps[3] < 1e-5


@pytest.mark.parametrize("loss", CLASSIFICATION)
def test_several_classes_are_binary_problems_without_a_budget(loss):
    n, K = 50, 4
    X, y = data(n, K)
    orders = permutations(n, 5)
    weight = np.random.default_rng(2).uniform(0.5, 2, n)
    together = bsca.run(X, y, orders, n_classes=K, loss=loss, sample_weight=weight)
    alone = [
        bsca.run(X, y == o, orders, n_classes=2, loss=loss, sample_weight=weight)
        for o in range(K)
    ]
    for o, one in enumerate(alone):
        np.testing.assert_allclose(
            together.scores[:, o], one.scores[:, 0], rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(together.dual[o], one.dual[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        together.gains, np.sum([one.gains for one in alone], axis=0), atol=1e-12
    )
    np.testing.assert_allclose(
        together.surrogate_dual, np.sum([one.surrogate_dual for one in alone], axis=0)
    )


def test_more_epochs_continue_the_same_run():
    X, y = data(40, 2)
    orders = permutations(40, 4)
    short = bsca.run(X, y, orders[:2], n_classes=2, budget=8)
    long = bsca.run(X, y, orders, n_classes=2, budget=8)
    capped = bsca.run(X, y, orders, n_classes=2, budget=8, epochs=2)
    np.testing.assert_array_equal(short.scores, long.scores[:80])
    np.testing.assert_array_equal(short.surrogate_dual, long.surrogate_dual[:2])
    np.testing.assert_array_equal(short.coef, capped.coef)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_of_weight_zero_teach_nothing(loss):
    n_classes = 2 if loss in CLASSIFICATION else None
    X, y = data(30, n_classes)
    weight = np.where(np.arange(30) % 3 == 0, 0.0, 1.5)
    orders = permutations(30, 3)
    kept = [order[weight[order] > 0] for order in orders]
    a = bsca.run(X, y, orders, n_classes=n_classes, loss=loss, sample_weight=weight)
    b = bsca.run(X, y, kept, n_classes=n_classes, loss=loss, C=1.5)
    visited = weight[np.concatenate(orders)] > 0
    assert len(a.scores) == 90  # still visited
    np.testing.assert_array_equal(a.scores[visited], b.scores)
    np.testing.assert_array_equal(a.dual, b.dual)
    np.testing.assert_allclose(a.surrogate_dual, b.surrogate_dual)
    assert np.all(a.dual[:, weight == 0] == 0)
    assert np.all(a.gains[~visited] == 0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("maintenance", ["projection", "projection_knn", "removal"])
def test_zero_rows_of_the_linear_kernel(loss, maintenance):
    n_classes = 2 if loss in CLASSIFICATION else None
    X, y = data(24, n_classes)
    X[::4] = 0
    orders = permutations(24, 3)
    options = dict(n_classes=n_classes, loss=loss, C=2.0, kernel="linear")
    free = bsca.run(X, y, orders, **options)
    assert_finite(free)
    if loss == "hinge":
        expected = np.full(6, 2.0)
    elif loss == "squared_hinge":
        expected = np.full(6, 2.0)  # (1 - a/C) / (1/C) from 0
    elif loss == "epsilon_insensitive":
        expected = np.where(np.abs(y[::4]) > EPSILON, 2 * np.sign(y[::4]), 0)
    else:
        expected = 2 * y[::4]
    np.testing.assert_allclose(free.dual[0, ::4], expected)
    bound = bsca.run(X, y, orders, budget=4, maintenance=maintenance, **options)
    assert_finite(bound)
    assert np.max(bound.sizes) <= 4


# slots


def test_a_row_adds_to_its_own_slot():
    # An enemy nearby lowers f at row 0, whose variable then rises in its old slot.
    X, y = np.array([[0.0], [0.5]]), np.array([1, 0])
    options = dict(n_classes=2, C=10.0, budget=2)
    r = bsca.run(X, y, [np.array([0, 0, 1, 0])], **options)
    k = math.exp(-0.25)
    np.testing.assert_array_equal(r.sizes, [1, 1, 2, 2])
    np.testing.assert_allclose(r.scores[:, 0], [0, 1, k, 1 - k * (1 + k)])
    np.testing.assert_allclose(r.gains, [0.5, 0, (1 + k) ** 2 / 2, (k + k**2) ** 2 / 2])
    np.testing.assert_allclose(r.dual, [[1 + k * (1 + k), 1 + k]])
    np.testing.assert_allclose(r.coef, [[1 + k * (1 + k), -1 - k]])
    assert (r.n_updates, r.n_maintenance) == (3, 0)


def test_an_emptied_slot_is_freed_and_can_come_back():
    # Row 0 stands between its friends 1 and 2: learned first, it is stored; once they
    # are, f(x_0) > 1 and a_0 returns to 0; E41: this is an update with margin > 1.
    X = np.array([[0.0], [0.4], [-0.4]])
    y = np.array([1, 1, 1])
    stored = bsca.run(X, y, [np.array([0, 1, 2])], n_classes=2)
    assert stored.owners.tolist() == [0, 1, 2]
    run_out = bsca.run(X, y, [np.array([0] + [1, 2, 0] * 60)], n_classes=2)
    assert run_out.dual[0, 0] == 0
    assert run_out.owners.tolist() == [1, 2]
    assert run_out.sizes[2] == 3 and run_out.sizes[-1] == 2


@pytest.mark.parametrize(("left", "size"), [(0.0, 1), (3e-15, 1), (4e-15, 2)])
def test_a_slot_is_empty_up_to_rounding(left, size):
    C, A = np.array([[0.0], [1.0]]), np.array([[1.0, 0.5, 0.0], [2.0, 2.0, 2.0]])
    model = slots(C, A, 1.0)
    change = np.array([-1.0 + left, -0.5, 0.0])
    bsca.insert(model, C[0], change, 0, 1.0, "merge", 1e-8)
    assert len(model) == size
    assert (0 in model.owners) == (size == 2)


def test_a_merged_row_keeps_its_dual_variable_and_enters_anew():
    X, y = np.array([[0.0], [1.0], [9.0]]), np.array([1, 1, 1])
    options = dict(n_classes=2, budget=1, C=0.4)
    merged = bsca.run(X, y, [np.array([0, 1])], **options)
    assert merged.owners.tolist() == [-1]
    np.testing.assert_array_equal(merged.dual, [[0.4, 0.4, 0.0]])
    np.testing.assert_allclose(merged.centers, [[0.5]], atol=1e-12)
    np.testing.assert_allclose(merged.coef, [[0.8 * math.exp(-0.25)]])
    # at its cap nothing more: the variable, not the coefficient, is what is bounded
    again = bsca.run(X, y, [np.array([0, 1, 1, 0])], **options)
    assert (again.n_updates, again.n_maintenance) == (2, 1)
    # below its cap row 0 enters again, though a part of it is in the merged center
    options["C"] = 5.0
    merged = bsca.run(X, y, [np.array([0, 1])], **options)
    again = bsca.run(X, y, [np.array([0, 1, 0])], **options)
    f = float(again.scores[2, 0])
    assert merged.dual[0, 0] == 1.0
    assert again.dual[0, 0] == pytest.approx(2 - f)
    assert (again.n_updates, again.n_maintenance) == (3, 2)


# merging (T8)


def off_by(C, a, D, b, gamma):
    """Return ||sum a phi(C) - sum b phi(D)||^2 over all outputs, from Gram matrices."""
    both, weights = np.vstack([C, D]), np.vstack([a, -np.asarray(b)])
    return float(np.sum(weights * (gram(both, both, gamma=gamma) @ weights)))


@pytest.mark.parametrize("kap", [1e-8, 1e-3, 0.1, math.exp(-2), 0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.2, 0.4, 0.5 - 1e-6, 0.5, 0.5 + 1e-6, 0.9])
@pytest.mark.parametrize("cosine", [1.0, 0.5, 1e-6])
def test_the_merge_beats_brute_force(kap, mu, cosine):
    p, r, s = mu**2, (1 - mu) ** 2, -math.log(kap)
    q = cosine * mu * (1 - mu)
    h = bsca.best_h(p, q, r, s)
    wd = bsca.degradation(h, p, q, r, s)
    H = np.linspace(0, 1, 10001)  # the whole interval, not only the heavier half
    u, v = np.exp(-s * (1 - H) ** 2), np.exp(-s * H**2)
    grid = p + r + 2 * q * kap - (p * u**2 + 2 * q * u * v + r * v**2)
    assert wd <= np.min(grid) + 1e-15
    assert wd >= np.min(grid) - 1e-7
    assert wd >= 0
    # merge <= project the lighter one <= remove it
    lighter = min(p, r)
    residual = min(p, r) + max(p, r) + 2 * q * kap
    residual -= max(p, r) + 2 * q * kap + lighter * kap**2
    assert wd <= residual + 1e-15 <= lighter + 2e-15
    # the same as the distance of the features
    A = np.array([[mu, 0.0], [cosine, math.sqrt(1 - cosine**2)]])
    A[1] *= 1 - mu
    C = np.array([[0.0], [1.0]])
    z, a_z = [[1 - h]], [A[0] * u_of(s, h) + A[1] * v_of(s, h)]
    assert off_by(C, A, z, a_z, s) == pytest.approx(wd, abs=1e-14)


def u_of(s, h):
    return math.exp(-s * (1 - h) ** 2)


def v_of(s, h):
    return math.exp(-s * h**2)


def slots(C, A, gamma):
    model = bsca.Slots(
        C.shape[1],
        None if A.shape[1] == 1 else A.shape[1],
        kernel="rbf",
        gamma=gamma,
        degree=3,
        coef0=1.0,
    )
    for i in range(len(C)):
        model.insert(C[i], A[i], i)
    return model


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_partner_is_the_best_of_all(outputs, seed):
    rng = np.random.default_rng(seed)
    C, A, gamma = rng.normal(size=(9, 2)), rng.normal(size=(9, outputs)), 0.4
    model = slots(C, A, gamma)
    bsca.merge(model, gamma)
    m = int(np.argmin(np.sum(A**2, axis=1)))
    brute = math.inf
    for n in range(9):
        if n == m or A[m] @ A[n] <= 0:
            continue
        for h in np.linspace(0, 1, 1001):
            z = h * C[m] + (1 - h) * C[n]
            k = gram(np.array([C[m], C[n]]), z[None], gamma=gamma)[:, 0]
            a_z = k @ A[[m, n]]  # the best for z
            wd = off_by(C[[m, n]], A[[m, n]], z[None], a_z[None], gamma)
            if wd < brute:
                brute, partner, center = wd, n, z
    wd = off_by(C, A, np.array(model.centers), np.array(model.coef), gamma)
    assert wd <= brute + 1e-12
    assert wd >= brute - 1e-5
    slot = model.owners.index(-1)
    assert slot == min(m, partner)  # the older birth
    np.testing.assert_allclose(model.centers[slot], center, atol=2e-3)
    assert set(model.owners) == set(range(9)) - {m, partner} | {-1}


def test_a_merge_with_exactly_equal_norms_takes_m_s_side():
    C, A = np.array([[0.0], [2.0]]), np.array([[1.0], [1.0]])  # kap < e^-2: two modes
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0)
    assert model.centers[0][0] < 0.5  # m is the older, at 0
    C = np.array([[0.0], [1.0]])
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0)
    assert model.centers[0][0] == pytest.approx(0.5, abs=1e-12)


def test_duplicates_add_up_and_stay_where_they_are():
    C = np.array([[3.0, 3.0], [1.0, 0.0], [0.0, 0.0], [1e-6, 0.0]])
    A = np.array([[-1.0], [2.0], [3.0], [0.5]])
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0)
    np.testing.assert_array_equal(model.centers, C[:3])
    np.testing.assert_array_equal(np.array(model.coef)[:, 0], [-1.0, 2.0, 3.5])
    assert model.owners == [0, 1, -1]
    # the duplicate of the older m: n's features at m's birth
    model = slots(C[[3, 1, 2]], np.array([[0.5], [2.0], [3.0]]), 1.0)
    bsca.merge(model, 1.0)
    np.testing.assert_array_equal(model.centers, C[[2, 1]])
    assert model.owners == [-1, 1]
    # of two duplicates the older
    model = slots(np.zeros((3, 1)), np.array([[2.0], [1.0], [3.0]]), 1.0)
    bsca.merge(model, 1.0)
    assert model.owners == [-1, 2]


@pytest.mark.parametrize("n_merged", [2, 3, 4, 20])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_several_are_merged_one_after_another(seed, outputs, n_merged):
    """The next partner is made the only other center of a model of two."""
    rng = np.random.default_rng(seed)
    C, A, gamma = rng.normal(size=(9, 2)), rng.normal(size=(9, outputs)), 0.4
    m = int(np.argmin(np.sum(A**2, axis=1)))
    costs = {}
    for n in range(9):
        if n != m and A[m] @ A[n] > 0:
            two = slots(C[[m, n]], A[[m, n]], gamma)
            bsca.merge(two, gamma)
            costs[n] = off_by(C[[m, n]], A[[m, n]], two.centers, two.coef, gamma)
    z, a_z, births, root = C[m], A[m], [m], 0.0
    for n in sorted(costs, key=costs.get)[: n_merged - 1]:
        if a_z @ A[n] > 0:
            ends, rows = np.array([z, C[n]]), np.array([a_z, A[n]])
            p, q, r = (float(rows[i] @ rows[j]) for i, j in ((0, 0), (0, 1), (1, 1)))
            s = gamma * float(np.sum((z - C[n]) ** 2))
            h = bsca.best_h(p, q, r, s)
            z = h * z + (1 - h) * C[n]
            a_z = a_z * u_of(s, h) + A[n] * v_of(s, h)
            root += math.sqrt(max(0.0, off_by(ends, rows, [z], [a_z], gamma)))
            births.append(n)
    model = slots(C, A, gamma)
    bsca.merge(model, gamma, n_merged)
    if not costs:
        assert len(model) == 8
        return
    assert len(model) == 10 - len(births) >= 10 - n_merged
    assert set(model.owners) == set(range(9)) - set(births) | {-1}
    slot = model.owners.index(-1)
    others = [i for i in range(9) if i not in births]
    assert slot == sum(i < min(births) for i in others)  # the oldest birth
    np.testing.assert_allclose(model.centers[slot], z, atol=1e-9)
    np.testing.assert_allclose(model.coef[slot], a_z, atol=1e-9)
    off = off_by(C, A, np.array(model.centers), np.array(model.coef), gamma)
    assert math.sqrt(max(0.0, off)) <= root + 1e-7
    if outputs == 1:
        assert len(births) == 1 + min(n_merged - 1, len(costs))


def test_several_duplicates_add_up_at_the_last():
    C = np.array([[3e-6], [9.0], [1e-6], [4e-6], [2e-6]])
    A = np.array([[2.0], [-9.0], [0.5], [3.0], [5.0]])
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0, 3)  # of three duplicates the two older
    np.testing.assert_array_equal(model.centers, C[[3, 1, 4]])
    np.testing.assert_array_equal(np.array(model.coef)[:, 0], [5.5, -9.0, 5.0])
    assert model.owners == [-1, 1, 4]


def test_a_partner_that_parted_from_the_merged_one_is_left_out():
    C = np.array([[0.4], [0.2], [0.0], [0.1]])
    A = np.array([[1.0, 1.0, 0.0], [1.0, -3.0, 0.0], [0.5, 0.0, 0.0], [1.0, 3.0, 0.0]])
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0, 4)
    assert model.owners == [-1, 1]
    np.testing.assert_array_equal(model.coef[1], A[1])
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0, 3)
    assert model.owners == [0, 1, -1]


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_merging_several_counts_once_and_a_pair_is_the_default(n_classes, loss):
    X, y = data(60, n_classes)
    orders = permutations(60, 3)
    options = dict(n_classes=n_classes, loss=loss, budget=9)
    r = bsca.run(X, y, orders, n_merged=4, **options)
    steps = np.diff(r.sizes, prepend=0)
    assert steps.min() == -2 and steps.max() == 1
    assert np.max(r.sizes) == 9
    # a step of the size below 1 is one maintenance, or none on a visit of its own slot
    assert np.sum(steps < 0) <= r.n_maintenance <= np.sum(steps < 1)
    pair = bsca.run(X, y, orders, n_merged=2, **options)
    default = bsca.run(X, y, orders, **options)
    np.testing.assert_array_equal(pair.scores, default.scores)
    np.testing.assert_array_equal(pair.coef, default.coef)
    assert r.n_maintenance < pair.n_maintenance


def test_without_a_partner_the_victim_is_projected_on_its_nearest():
    C = np.array([[0.0], [1.0], [1.5]])
    A = np.array([[2.0], [-0.5], [3.0]])
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0)
    np.testing.assert_array_equal(model.centers, C[[0, 2]])
    expected = [2.0, 3.0 - 0.5 * math.exp(-0.25)]
    np.testing.assert_allclose(np.array(model.coef)[:, 0], expected, rtol=1e-15)
    assert model.owners == [0, 2]
    single = slots(C[:1], A[:1], 1.0)
    bsca.merge(single, 1.0)
    assert len(single) == 0 and single.owners == []


def test_partners_too_far_away_tie_and_the_oldest_is_taken():
    C = np.array([[0.0], [1.0], [2.0], [3.0]])
    A = np.array([[math.pi], [math.e], [0.7], [1 / 3]])
    model = slots(C, A, 1e6)
    bsca.merge(model, 1e6)
    assert model.owners == [-1, 1, 2]
    np.testing.assert_array_equal(model.centers, C[:3])
    np.testing.assert_array_equal(np.array(model.coef), A[:3])


# projection and removal


def test_projection_takes_the_center_that_costs_least():
    rng = np.random.default_rng(0)
    for outputs in (1, 3):
        C, A = rng.normal(size=(8, 2)), rng.normal(size=(8, outputs))
        model = slots(C, A, 1.0)
        bsca.project(model, 0.0)
        K = gram(C, C)
        costs = []
        for p in range(8):
            rest = [i for i in range(8) if i != p]
            d = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, p])
            costs.append(np.sum(A[p] ** 2) * (K[p, p] - K[rest, p] @ d))
        p = int(np.argmin(costs))
        rest = [i for i in range(8) if i != p]
        assert model.owners == rest
        d = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, p])
        np.testing.assert_allclose(model.coef, A[rest] + np.outer(d, A[p]), atol=1e-9)
        after = off_by(C, A, np.array(model.centers), np.array(model.coef), 1.0)
        assert after == pytest.approx(min(costs), abs=1e-10)


def test_projection_on_all_the_others_and_on_one():
    rng = np.random.default_rng(1)
    C, A = rng.normal(size=(7, 2)), rng.normal(size=(7, 2))
    p = int(np.argmin(np.sum(A**2, axis=1)))
    rest = [i for i in range(7) if i != p]
    K = gram(C, C)
    for how_many in (6, 20):
        model = slots(C, A, 1.0)
        bsca.project_on_nearest(model, how_many, 0.0)
        d = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, p])
        np.testing.assert_allclose(model.coef, A[rest] + np.outer(d, A[p]), atol=1e-9)
        assert model.owners == rest
    model = slots(C, A, 1.0)
    bsca.project_on_nearest(model, 1, 0.0)
    n = max(rest, key=lambda i: K[i, p])
    expected = A.copy()
    expected[n] += A[p] * K[n, p]
    np.testing.assert_allclose(model.coef, expected[rest])
    model = slots(C, A, 1.0)
    bsca.remove(model)
    np.testing.assert_array_equal(model.coef, A[rest])


def test_of_equally_near_centers_the_oldest_are_the_neighbours():
    C = np.array([[1.0], [0.0], [-1.0], [1.0]])
    A = np.array([[2.0], [-0.1], [2.0], [2.0]])
    model = slots(C, A, 1.0)
    assert model.nearest(1, 2) == [0, 2]
    bsca.project_on_nearest(model, 1, 0.0)
    changed = [2.0 - 0.1 * math.exp(-1), 2.0, 2.0]
    np.testing.assert_allclose(np.array(model.coef)[:, 0], changed)
    model = slots(C, A, 1.0)
    bsca.merge(model, 1.0)  # no partner of this sign
    np.testing.assert_allclose(np.array(model.coef)[:, 0], changed)


def test_a_row_in_the_span_is_spread_and_has_no_slot():
    X = np.array([[0.0], [1.0], [1.0]])
    y = np.array([0.5, 1.0, 3.0])
    options = dict(n_classes=None, loss="squared_error", jitter=1e-10)
    order = [np.array([0, 1, 2, 2])]
    stored = bsca.run(X, y, order, maintenance="merge", **options)
    spread = bsca.run(X, y, order, maintenance="projection", budget=5, **options)
    assert spread.owners.tolist() == [0, 1]
    assert spread.n_maintenance == 0
    assert spread.n_updates == 4  # at the second visit, what the jitter left undone
    np.testing.assert_allclose(spread.scores, stored.scores, atol=1e-8)
    np.testing.assert_allclose(spread.dual, stored.dual, atol=1e-8)


def test_removal_takes_the_oldest_of_equals():
    X = np.array([[0.0], [10.0], [20.0], [30.0]])
    y = np.array([1, 0, 1, 0])
    order = [np.arange(4)]
    r = bsca.run(X, y, order, n_classes=2, budget=2, maintenance="removal")
    assert r.owners.tolist() == [2, 3]
    np.testing.assert_array_equal(r.dual, [[1, 1, 1, 1]])
    np.testing.assert_array_equal(r.coef, [[1, -1]])


# on a budget


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_the_budget_and_the_box_are_respected(n_classes, loss, maintenance):
    n, budget = 60, 7
    X, y = data(n, n_classes)
    weight = np.random.default_rng(3).uniform(0, 2, n)
    orders = permutations(n, 3)
    r = bsca.run(
        X,
        y,
        orders,
        n_classes=n_classes,
        loss=loss,
        budget=budget,
        maintenance=maintenance,
        sample_weight=weight,
    )
    assert np.max(r.sizes) == budget
    assert len(r.centers) == len(r.owners) == r.coef.shape[1] <= budget
    assert 0 < r.n_maintenance <= r.n_updates
    assert_in_box(r.dual, loss, weight)
    assert np.all(r.gains >= -1e-12)
    assert_finite(r)
    # the scores of the last epoch's end are those of the returned model
    again = bsca.run(
        X,
        y,
        [*orders, np.arange(n)],
        n_classes=n_classes,
        loss=loss,
        budget=budget,
        maintenance=maintenance,
        sample_weight=weight,
    )
    f = (r.coef @ gram(r.centers, X))[:, 0]
    np.testing.assert_allclose(again.scores[3 * n], f, atol=1e-12)
    # own slots hold their rows' features; a row has at most one
    own = r.owners >= 0
    np.testing.assert_array_equal(r.centers[own], X[r.owners[own]])
    assert len(set(r.owners[own])) == np.count_nonzero(own)
    assert own.all() == (maintenance != "merge")
    # the surrogate is the dual objective with the model's scores
    f = r.coef @ gram(r.centers, X)
    Y = signs_or_numbers(y, n_classes)
    beta = Y * r.dual if n_classes else r.dual
    linear = np.sum(r.dual if n_classes else Y * r.dual) - np.sum(beta * f) / 2
    if loss == "epsilon_insensitive":
        linear -= EPSILON * np.sum(np.abs(r.dual))
    if loss in ("squared_hinge", "squared_error"):
        linear -= np.sum(r.dual**2 / weight) / 2
    assert r.surrogate_dual[-1] == pytest.approx(linear, rel=1e-10)


@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_a_budget_never_reached_changes_nothing(maintenance):
    X, y = data(30, 3)
    X = 3 * X  # apart: no row in the span
    orders = permutations(30, 3)
    free = bsca.run(X, y, orders, n_classes=3)
    bound = bsca.run(X, y, orders, n_classes=3, budget=30, maintenance=maintenance)
    np.testing.assert_array_equal(free.scores, bound.scores)
    np.testing.assert_array_equal(free.coef, bound.coef)
    assert bound.n_maintenance == 0


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("maintenance", MAINTENANCE)
@pytest.mark.parametrize("case", ["duplicates", "equal", "huge gamma", "budget 1"])
def test_degenerate_data(n_classes, loss, maintenance, case):
    n = 24
    X, y = data(n, n_classes)
    budget, gamma = 5, 1.0
    if case == "duplicates":
        X = X[np.arange(n) // 4]
    elif case == "equal":
        X = np.ones_like(X)
    elif case == "huge gamma":
        gamma = 1e300
    else:
        budget = 1
    r = bsca.run(
        X,
        y,
        permutations(n, 4),
        n_classes=n_classes,
        loss=loss,
        gamma=gamma,
        C=10.0,
        budget=budget,
        maintenance=maintenance,
    )
    assert_finite(r)
    assert np.max(r.sizes) <= budget
    assert_in_box(r.dual, loss, np.full(n, 10.0))


def test_a_single_class_and_a_single_row():
    for y in (0, 1):
        r = bsca.run(np.zeros((1, 1)), np.array([y]), [np.zeros(3, int)], n_classes=2)
        np.testing.assert_array_equal(r.dual, [[1.0]])
        np.testing.assert_array_equal(r.coef, [[2.0 * y - 1]])
        assert r.n_updates == 1


def test_merging_is_for_the_rbf_kernel():
    X, y = data(5, 2)
    with pytest.raises(ValueError, match="rbf"):
        bsca.run(X, y, [np.arange(5)], n_classes=2, budget=2, kernel="linear")
    bsca.run(X, y, [np.arange(5)], n_classes=2, kernel="linear")


# selection


def test_acf_follows_its_formulas():
    n, epochs = 30, 8
    X, y = data(n, 2)
    r = bsca.run(
        X,
        y,
        None,
        n_classes=2,
        budget=10,
        selection="acf",
        rng=np.random.default_rng(4),
        epochs=epochs,
    )
    rng = np.random.default_rng(4)
    preference, credit, gains = np.ones(n), np.zeros(n), iter(r.gains)
    for epoch, order in enumerate(r.orders):
        credit = credit + preference / preference.mean()
        visits = np.floor(credit)
        credit = credit - visits
        expected = rng.permutation(np.repeat(np.arange(n), visits.astype(int)))
        np.testing.assert_array_equal(order, expected)
        assert np.all((credit >= 0) & (credit < 1))
        if epoch == 0:
            mean = np.mean([next(gains) for _ in order])
            continue
        for i in order:
            gain = next(gains)
            preference[i] = np.clip(
                preference[i] * np.exp(0.2 * (gain / mean - 1)), 0.05, 20
            )
            mean = (1 - 1 / n) * mean + gain / n
    assert next(gains, None) is None
    np.testing.assert_array_equal(np.sort(r.orders[0]), np.arange(n))
    assert len({len(order) for order in r.orders}) > 1
    assert preference.max() > 1.5 * preference.min()
    # it is the same run as with these orders given
    given = bsca.run(X, y, r.orders, n_classes=2, budget=10)
    np.testing.assert_array_equal(given.scores, r.scores)


def test_acf_when_nothing_is_gained():
    X, y = data(10, 2)
    r = bsca.run(
        X,
        y,
        None,
        n_classes=2,
        sample_weight=np.zeros(10),
        selection="acf",
        rng=np.random.default_rng(0),
        epochs=3,
    )
    assert [len(order) for order in r.orders] == [10, 10, 10]
    assert r.n_updates == 0
    assert np.all(r.scores == 0)

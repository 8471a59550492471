"""The DualSVRG reference against what must hold without an engine (5.3, T18, T22)."""

import math
from functools import partial

import numpy as np
import pytest

from tests.exact import dual_svrg, ogd
from tests.exact.expansion import Expansion
from tests.exact.kernels import gram
from tests.exact.losses import crammer_singer, signed, slope, slopes, value

MARGIN = ("smooth_hinge", "squared_hinge", "log_loss")
TASKS_AND_LOSSES = [
    *((n_classes, loss) for n_classes in (2, 4) for loss in MARGIN),
    (None, "squared_error"),
]
ORACLES = ("budget", "always_move", "coverage")
# Each puts some rows of a stream among the cores and moves others.
MIXED = [
    {"oracle": "budget", "budget": 7},
    {"oracle": "always_move"},
    {"oracle": "coverage", "coverage_radius": 0.9},
    {"oracle": "coverage", "coverage_radius": 0.3, "max_core": 5},
    {"oracle": "coverage", "coverage_radius": 0.9, "lazy_core": False},
]


def stream(n, n_classes, seed=0, d=3):
    """Noisy rows, some with a zero slope and many without."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, -1] + 0.3 * rng.normal(size=n)
    if n_classes is None:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def weights(n, seed=1):
    """Uniform weights, every sixth of them 0."""
    return np.random.default_rng(seed).uniform(0, 2, size=n) * (np.arange(n) % 6 > 0)


def fourier(d, frequencies, gamma=1.0, seed=0):
    """Random features of the rbf kernel (3.11): variance 2 gamma, not gamma."""
    omega = np.random.default_rng(seed).normal(size=(d, frequencies))
    omega *= math.sqrt(2 * gamma)
    return lambda x: (
        np.concatenate((np.cos(x @ omega), np.sin(x @ omega))) / math.sqrt(frequencies)
    )


def identity(x):
    return x


def scores_of(model, centers, X, features, **kernel):
    """Return the scores of a Model, shape (n, outputs), in one product."""
    size = model.core.shape[1]  # an early model has the first of the centers
    K = gram(X, centers[:size], **kernel)
    return K @ model.core.T + np.array([features(x) for x in X]) @ model.rest.T


def last(out):
    return dual_svrg.Model(out.coef, out.feature_coef)


def checkpoint(out):
    return dual_svrg.Model(out.checkpoint_coef, out.checkpoint_feature_coef)


def padded(model, size):
    """Return the model with the coefficients 0 of the cores that came later."""
    missing = size - model.core.shape[1]
    return np.hstack((model.core, np.zeros((len(model.core), missing)), model.rest))


def assert_models(got, wanted, tol=1e-12):
    np.testing.assert_allclose(got.core, wanted.core, rtol=tol, atol=tol)
    np.testing.assert_allclose(got.rest, wanted.rest, rtol=tol, atol=tol)


# by hand


def test_four_steps_by_hand():
    X, y = np.array([[1.0], [2.0], [-1.0], [3.0]]), np.array([2.0, 1.0, 0.5, 4.0])
    eta, alpha = 0.1, 0.5
    out = dual_svrg.run(
        X,
        y,
        oracle="budget",
        budget=2,
        features=lambda x: np.array([x[0] ** 2]),
        kernel="linear",
        loss="squared_error",
        eta0=eta,
        alpha=alpha,
        memory_size=2,
        snapshot_period=2,
    )
    shrink = 1 + eta * alpha
    # t = 1, core 0: gw = gu = -2, memory mean -2
    a0 = 0.2 / shrink
    # t = 2, core 1: f = 2 a0; gw = 2 a0 - 1, gu = -1; the mean is (-2, -1) / 2
    f2 = 2 * a0
    b0 = (a0 + 0.1) / shrink
    b1 = -0.1 * (f2 - 0.5) / shrink
    # u = w = ((a0 + b0) / 2, b1 / 2)
    u0, u1 = (a0 + b0) / 2, b1 / 2
    # t = 3 moves: w(x) = u(x), so v is the mean over rows 2 (core 1) and 3 (phi = 1)
    f3 = -(u0 + 2 * u1)
    g2, g3 = 2 * (u0 + 2 * u1) - 1, f3 - 0.5
    c0, c1, cr = u0 / shrink, (u1 - 0.1 * g2 / 2) / shrink, -0.1 * g3 / 2 / shrink
    # t = 4 moves (phi = 9): memory 3, 4; row 2 has left
    f4 = 3 * (c0 + 2 * c1) + 9 * cr
    g4 = 3 * (u0 + 2 * u1) - 4
    vr = (f4 - 4 - g4) * 9 + (g3 * 1 + g4 * 9) / 2
    d0, d1, dr = c0 / shrink, c1 / shrink, (cr - 0.1 * vr) / shrink
    np.testing.assert_allclose(out.scores[:, 0], [0, f2, f3, f4], rtol=1e-13)
    u = [(c0 + d0) / 2, (c1 + d1) / 2], [(cr + dr) / 2]
    np.testing.assert_allclose(out.coef[0], u[0], rtol=1e-13)
    np.testing.assert_allclose(out.feature_coef[0], u[1], rtol=1e-13)
    assert out.checkpoint_coef.tolist() == out.coef.tolist()
    assert out.checkpoint_feature_coef.tolist() == out.feature_coef.tolist()
    np.testing.assert_allclose(out.checkpoints[0].core, [[u0, u1]], rtol=1e-13)
    np.testing.assert_allclose(padded(out.iterates[3], 2)[0], [d0, d1, dr], rtol=1e-13)
    assert out.centers.tolist() == [[1.0], [2.0]]
    assert out.sizes.tolist() == [1, 2, 2, 2]
    assert out.moved.tolist() == [0, 0, 1, 1]
    assert (out.n_updates, out.n_maintenance, out.n_errors) == (4, 0, None)


def test_the_runner_up_is_found_apart_under_w_and_u():
    X, y = np.ones((3, 1)), np.array([1, 1, 2])
    out = dual_svrg.run(
        X,
        y,
        n_classes=3,
        oracle="always_move",
        features=identity,
        loss="smooth_hinge",
        eta0=0.1,
        alpha=0.0,
        memory_size=3,
    )
    # t = 2: w = (-0.1, 0.1, 0), so 2 is next to class 1, and 0 under u by the tie rule.
    # v = (-1, 0, 1) + the mean (1, -1, 0), and w = (-0.1, 0.2, -0.1).
    # t = 3: next to class 2 is 1, and 0 under u; the mean is (3, -2, -1) / 3.
    assert out.gw.tolist() == [[1, -1, 0], [0, -1, 1], [0, 1, -1]]
    assert out.gu.tolist() == [[1, -1, 0], [1, -1, 0], [1, 0, -1]]
    wanted = [[0, 0, 0], [-0.1, 0.1, 0], [-0.1, 0.2, -0.1]]
    np.testing.assert_allclose(out.scores, wanted, atol=1e-15)
    np.testing.assert_allclose(
        out.feature_coef[:, 0], [-0.1, 0.2 - 0.1 / 3, -0.1 + 0.1 / 3], atol=1e-15
    )
    assert out.n_errors == out.n_mistakes == 2


def test_a_row_of_weight_zero_counts_in_the_memory_and_shrinks():
    X, y = np.ones((3, 1)), np.array([1.0, 5.0, 1.0])
    out = dual_svrg.run(
        X,
        y,
        oracle="budget",
        budget=2,
        features=identity,
        kernel="linear",
        loss="squared_error",
        eta0=0.1,
        alpha=1.0,
        sample_weight=np.array([2.0, 0.0, 1.0]),
    )
    a = 0.2 / 1.1
    b = (a + 0.1 * 2 / 2) / 1.1  # the mean slope of the core is -2 / 2, none from row 2
    v = (b - 1 + 1) - 1 / 3  # gw - gu, and the third of gu = -1; row 1 gives -2 / 3
    np.testing.assert_allclose(out.scores[:, 0], [0, a, b], rtol=1e-14)
    np.testing.assert_allclose(out.coef, [[(b + 0.2 / 3) / 1.1, 0.0]], rtol=1e-14)
    np.testing.assert_allclose(out.feature_coef, [[-0.1 * v / 1.1]], rtol=1e-14)
    assert out.moved.tolist() == [0, 0, 1]  # the budget takes rows without a slope
    assert out.n_updates == 2


def test_unknown_oracle():
    X, y = stream(3, 2)
    with pytest.raises(ValueError, match="prophet"):
        dual_svrg.run(X, y, oracle="prophet", features=identity, eta0=0.1)


# the exact map, the snapshot mean, the reductions (T18)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_with_an_exact_map_all_oracles_give_the_same_scores(n_classes, loss):
    X, y = stream(60, n_classes)
    common = {"n_classes": n_classes, "loss": loss, "kernel": "linear"}
    common |= {"features": identity, "eta0": 0.2, "alpha": 0.05}
    common |= {"memory_size": 9, "snapshot_period": 13, "sample_weight": weights(60)}
    first, *others = (dual_svrg.run(X, y, **common, **options) for options in MIXED)
    assert len({len(out.centers) for out in (first, *others)}) >= 3
    assert np.ptp(first.scores) > 0.5
    for out in others:
        np.testing.assert_allclose(out.scores, first.scores, rtol=0, atol=1e-10)
        assert out.n_errors == first.n_errors
        for read in (last, checkpoint):
            plane = read(out).core @ out.centers + read(out).rest
            wanted = read(first).core @ first.centers + read(first).rest
            np.testing.assert_allclose(plane, wanted, rtol=0, atol=1e-10)


def test_every_option_of_the_kernel_is_heard():
    X, y = stream(40, 2, d=1)
    gamma, coef0 = 0.7, 1.3

    def square(x):  # (gamma x z + coef0)^2 as a product
        z = float(x[0])
        return np.array([gamma * z**2, math.sqrt(2 * gamma * coef0) * z, coef0])

    common = {"n_classes": 2, "eta0": 0.1, "memory_size": 6, "snapshot_period": 8}
    common |= {"kernel": "poly", "gamma": gamma, "coef0": coef0, "degree": 2}
    common |= {"features": square}
    moved = dual_svrg.run(X, y, oracle="always_move", **common)
    kept = dual_svrg.run(X, y, oracle="budget", budget=40, **common)
    np.testing.assert_allclose(kept.scores, moved.scores, rtol=0, atol=1e-10)
    assert np.ptp(kept.scores) > 0.5


@pytest.mark.parametrize("options", MIXED)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES[::3])
def test_a_checkpoint_is_the_mean_of_the_last_iterates(options, n_classes, loss):
    n, period = 38, 9
    X, y = stream(n, n_classes)
    out = dual_svrg.run(
        X,
        y,
        n_classes=n_classes,
        loss=loss,
        features=fourier(3, 5),
        eta0=0.3,
        memory_size=6,
        snapshot_period=period,
        **options,
    )
    size = len(out.centers)
    assert len(out.iterates) == n and len(out.checkpoints) == n // period
    for r, u in enumerate(out.checkpoints):
        steps = out.iterates[r * period : (r + 1) * period]
        mean = np.mean([padded(w, size) for w in steps], axis=0)
        np.testing.assert_allclose(padded(u, size), mean, rtol=1e-12, atol=1e-15)
        # later cores have nothing in it
        assert u.core.shape[1] == out.sizes[(r + 1) * period - 1]
    np.testing.assert_array_equal(
        padded(checkpoint(out), size), padded(out.checkpoints[-1], size)
    )
    np.testing.assert_array_equal(
        padded(last(out), size), padded(out.iterates[-1], size)
    )
    # right after a checkpoint w = u, also in the score
    for t in range(period, n, period):
        np.testing.assert_array_equal(out.gw[t], out.gu[t])
        f = scores_of(
            out.checkpoints[t // period - 1], out.centers, X[t : t + 1], fourier(3, 5)
        )
        np.testing.assert_allclose(out.scores[t : t + 1], f, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_a_memory_of_one_row_is_proximal_sgd_within_the_first_period(n_classes, loss):
    """(w - eta g) / (1 + eta alpha) is a step of OGD with eta / (1 + eta alpha)."""
    n, eta, alpha = 50, 0.4, 0.1
    X, y = stream(n, n_classes)
    common = {"n_classes": n_classes, "loss": loss, "sample_weight": weights(n)}
    sgd = ogd.run(X, y, eta0=eta / (1 + eta * alpha), alpha=alpha, **common)
    svrg = partial(dual_svrg.run, X, y, features=fourier(3, 4), memory_size=1)
    for period in (1, n, n + 1):  # a period of 1 resets w to itself
        out = svrg(
            oracle="budget",
            budget=n,
            eta0=eta,
            alpha=alpha,
            snapshot_period=period,
            **common,
        )
        np.testing.assert_allclose(out.scores, sgd.scores, rtol=1e-10, atol=1e-12)
        assert not np.any(out.feature_coef)
    # with checkpoints in between the mean is where each period starts
    out = svrg(
        oracle="budget", budget=n, eta0=eta, alpha=alpha, snapshot_period=10, **common
    )
    np.testing.assert_allclose(out.scores[:10], sgd.scores[:10], rtol=1e-10, atol=1e-12)
    assert np.abs(out.scores[10:] - sgd.scores[10:]).max() > 1e-3


@pytest.mark.parametrize("options", MIXED)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_a_memory_of_one_row_is_proximal_sgd_restarted_at_the_mean(
    options, n_classes, loss
):
    """With memory_size=1 v = gw Phi(x) at every step, whatever u is."""
    n, d, period, eta, alpha = 40, 3, 7, 0.3, 0.2
    X, y = stream(n, n_classes)
    c, phi = weights(n), fourier(d, 4)
    out = dual_svrg.run(
        X,
        y,
        n_classes=n_classes,
        loss=loss,
        features=phi,
        eta0=eta,
        alpha=alpha,
        memory_size=1,
        snapshot_period=period,
        sample_weight=c,
        **options,
    )
    size, K = len(out.centers), gram(X, out.centers)
    # the row of each core, and all rows in one space: (cores, features)
    slots = np.cumsum(out.moved == 0) - 1
    P = np.hstack((K, [phi(x) for x in X]))
    w = np.zeros((out.scores.shape[1], P.shape[1]))
    past = []
    for t in range(n):
        f = w @ P[t]
        np.testing.assert_allclose(out.scores[t], f, rtol=1e-10, atol=1e-12)
        g = c[t] * slopes(loss, f, y[t], n_classes)
        if out.moved[t]:
            w[:, size:] -= eta * np.outer(g, phi(X[t]))
        else:
            w[:, slots[t]] -= eta * g
        w /= 1 + eta * alpha
        past.append(w.copy())
        if (t + 1) % period == 0:
            w = np.mean(past[-period:], axis=0)
    np.testing.assert_allclose(padded(last(out), size), w, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("options", MIXED)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_a_period_of_one_row_is_gradient_descent_on_the_window(
    options, n_classes, loss
):
    """With snapshot_period=1 u = w, so v is the mean slope of the memory at w."""
    n, m, eta, alpha = 30, 8, 0.3, 0.2
    X, y = stream(n, n_classes)
    c, phi = weights(n), fourier(3, 4)
    out = dual_svrg.run(
        X,
        y,
        n_classes=n_classes,
        loss=loss,
        features=phi,
        eta0=eta,
        alpha=alpha,
        memory_size=m,
        snapshot_period=1,
        sample_weight=c,
        **options,
    )
    np.testing.assert_array_equal(out.gw, out.gu)
    np.testing.assert_array_equal(out.coef, out.checkpoint_coef)
    np.testing.assert_array_equal(out.feature_coef, out.checkpoint_feature_coef)
    size = len(out.centers)
    P = np.hstack((gram(X, out.centers), [phi(x) for x in X]))
    steps = np.zeros_like(P)  # Phi_Z(x), as coefficients
    steps[out.moved == 1, size:] = P[out.moved == 1, size:]
    steps[out.moved == 0, :size] = np.eye(size)
    w = np.zeros((out.scores.shape[1], P.shape[1]))
    for t in range(n):
        np.testing.assert_allclose(out.scores[t], w @ P[t], rtol=1e-10, atol=1e-12)
        window = range(max(0, t + 1 - m), t + 1)
        G = np.array([c[i] * slopes(loss, w @ P[i], y[i], n_classes) for i in window])
        w = (w - eta * G.T @ steps[window] / len(window)) / (1 + eta * alpha)
    np.testing.assert_allclose(padded(last(out), size), w, rtol=1e-10, atol=1e-12)


# the incremental version of the card


def incremental(
    X, y, features, decide, *, n_classes, loss, eta, alpha, m, period, weight, smoothing
):
    """Return scores, (w, wr), (u, ur) and Z by the card's pseudo-code.

    decide(centers, x, gw) tells whether x becomes a core.
    """
    n, d = X.shape
    n_outputs = 1 if n_classes in (None, 2) else n_classes
    D = len(features(X[0]))
    centers = np.zeros((0, d))
    # Core coefficients have room for every row; slots in use come first.
    w, u, S, G = (
        (np.zeros((n_outputs, n)), np.zeros((n_outputs, D))) for _ in range(4)
    )
    memory, scores, moved = [], [], []

    def score(model, x):
        row = gram(centers, x[None])[:, 0]
        return model[0][:, : len(centers)] @ row + model[1] @ features(x)

    def slope_of(f, target):
        return slopes(loss, f, target, n_classes, smoothing=smoothing)

    def push(entry, gu, sign):
        x, _, slot = entry
        if slot is None:
            G[1][:] += sign * np.outer(gu, features(x))
        else:
            G[0][:, slot] += sign * gu

    for t in range(n):
        x = X[t]
        fw, fu = score(w, x), score(u, x)
        scores.append(fw)
        gw = weight[t] * slope_of(fw, y[t])
        gu = weight[t] * slope_of(fu, y[t])
        slot = None
        if decide(centers, x, gw):
            slot = len(centers)
            centers = np.vstack((centers, x))
        moved.append(int(slot is None))
        entry = (x, t, slot)
        memory.append((entry, gu))
        push(entry, gu, 1)
        if len(memory) > m:
            push(*memory.pop(0), -1)
        v = [G[0] / len(memory), G[1] / len(memory)]
        if slot is None:
            v[1] += np.outer(gw - gu, features(x))
        else:
            v[0][:, slot] += gw - gu
        w = [(a - eta * b) / (1 + eta * alpha) for a, b in zip(w, v, strict=True)]
        S = [a + b for a, b in zip(S, w, strict=True)]
        if (t + 1) % period == 0:
            u = [s / period for s in S]
            w = [a.copy() for a in u]
            S = [np.zeros_like(s) for s in S]
            G = [np.zeros_like(g) for g in G]
            fresh = []
            for entry, _ in memory:
                z, i, _ = entry
                gu = weight[i] * slope_of(score(u, z), y[i])
                fresh.append((entry, gu))
                push(entry, gu, 1)
            memory = fresh
    size = len(centers)
    return (
        np.array(scores),
        dual_svrg.Model(w[0][:, :size], w[1]),
        dual_svrg.Model(u[0][:, :size], u[1]),
        moved,
    )


def decision(oracle, budget=0, coverage_radius=0.0, max_core=math.inf, lazy_core=True):
    def budgeted(centers, x, gw):
        return len(centers) < budget

    def never(centers, x, gw):
        return False

    def uncovered(centers, x, gw):
        nearest = min((math.dist(c, x) for c in centers), default=math.inf)
        return (
            nearest >= coverage_radius
            and nearest > 0
            and (bool(gw.any()) or not lazy_core)
            and len(centers) < max_core
        )

    return dict(zip(ORACLES, (budgeted, never, uncovered), strict=True))[oracle]


@pytest.mark.parametrize("options", MIXED)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize(("m", "period"), ((5, 12), (17, 6)))
def test_the_incremental_version_of_the_card_agrees(
    options, n_classes, loss, m, period
):
    n, eta, alpha = 45, 0.4, 0.05
    X, y = stream(n, n_classes, seed=2)
    phi = fourier(3, 6)
    out = dual_svrg.run(
        X,
        y,
        n_classes=n_classes,
        loss=loss,
        features=phi,
        eta0=eta,
        alpha=alpha,
        memory_size=m,
        snapshot_period=period,
        sample_weight=weights(n),
        smoothing=0.8,
        **options,
    )
    scores, w, u, moved = incremental(
        X,
        y,
        phi,
        decision(**options),
        n_classes=n_classes,
        loss=loss,
        eta=eta,
        alpha=alpha,
        m=m,
        period=period,
        weight=weights(n),
        smoothing=0.8,
    )
    assert out.moved.tolist() == moved
    np.testing.assert_allclose(out.scores, scores, rtol=1e-9, atol=1e-9)
    assert_models(last(out), w, 1e-9)
    assert_models(checkpoint(out), u, 1e-9)


# the window mean is a gradient


def mean_loss(F, y, n_classes, loss, weight):
    """Return the weighted losses of the scores F, shape (n, outputs), over n."""
    total = 0.0
    for f, target, c in zip(F, y, weight, strict=True):
        if n_classes is None:
            total += c * value(loss, float(f[0]), float(target))
        elif n_classes == 2:
            total += c * value(loss, float(f[0]), signed(target))
        else:
            total += c * value(loss, crammer_singer(f, int(target))[0], 1.0)
    return total / len(y)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("case", ("features", "cores", "exact map"))
def test_the_window_mean_is_the_gradient_of_the_mean_loss(n_classes, loss, case):
    """Row n follows a checkpoint: gw = gu, and v is the mean over all n rows at u.

    A row moves v in its own space only, so with an inexact map v is a gradient if all
    rows are in one: in wr, or in the coefficients a (there K v, as phi is not a unit).
    """
    n, eta, alpha, h = 24, 0.3, 0.1, 1e-6
    X, y = stream(n, n_classes, seed=4)
    c = weights(n)
    phi = identity if case == "exact map" else fourier(3, 4)
    kernel = {"kernel": "linear"} if case == "exact map" else {"kernel": "rbf"}
    out = dual_svrg.run(
        X,
        y,
        n_classes=n_classes,
        loss=loss,
        features=phi,
        oracle="always_move" if case == "features" else "budget",
        budget=n if case == "cores" else 9,
        eta0=eta,
        alpha=alpha,
        memory_size=n,
        snapshot_period=n - 1,
        sample_weight=c,
        **kernel,
    )
    size = len(out.centers)
    u, w = padded(out.checkpoints[0], size), padded(out.iterates[-1], size)
    v = (u - (1 + eta * alpha) * w) / eta
    P = np.hstack((gram(X, out.centers, **kernel), [phi(x) for x in X]))
    if case == "features":
        moves, gradient = np.eye(P.shape[1])[size:], v[:, size:]
    elif case == "cores":
        moves, gradient = np.eye(P.shape[1])[:size], v[:, :size] @ P[:, :size].T
    else:  # in either space, the plane's coordinates
        moves = np.eye(P.shape[1])[size:]
        gradient = v[:, :size] @ out.centers + v[:, size:]
    assert np.abs(gradient).max() > 1e-2
    for j in range(len(u)):
        for k, move in enumerate(moves):
            sides = []
            for sign in (1, -1):
                moved = u.copy()
                moved[j] += sign * h * move
                sides.append(mean_loss(P @ moved.T, y, n_classes, loss, c))
            numeric = (sides[0] - sides[1]) / (2 * h)
            assert gradient[j, k] == pytest.approx(numeric, abs=1e-6)


# cores


def cores(X, y=None, **options):
    """Return Z of a coverage run of regression, slopes 0 where y is 0 at first."""
    X = np.array(X, dtype=float).reshape(len(X), -1)
    y = np.full(len(X), 1e3) if y is None else np.array(y, dtype=float)
    return dual_svrg.run(
        X,
        y,
        oracle="coverage",
        features=fourier(X.shape[1], 4),
        loss="squared_error",
        eta0=1e-3,
        **options,
    )


def test_coverage_is_open_and_a_core_covers_itself():
    # 1.0 is a whole radius from 0.0, so not covered; 0.5 is
    out = cores([0.0, 1.0, 0.5, 2.0, 1.999], coverage_radius=1.0)
    assert out.moved.tolist() == [0, 0, 1, 0, 1]
    assert np.ravel(out.centers).tolist() == [0.0, 1.0, 2.0]
    out = cores([[0, 0], [3, 4], [3, 4], [3, -3.9]], coverage_radius=5.0)
    assert out.moved.tolist() == [0, 0, 1, 1]
    for radius in (0.0, 1e-200):  # the square of which is 0
        out = cores([1.0, 1.0, 1.0 + 1e-12, 1.0], coverage_radius=radius)
        assert out.moved.tolist() == [0, 1, 0, 1]


def test_a_lazy_core_needs_a_slope_at_w():
    X, y = [0.0, 10.0, 10.0, 20.0], [0.0, 5.0, 5.0, 5.0]
    options = {"coverage_radius": 1.0, "sample_weight": np.array([1.0, 0.0, 1.0, 1.0])}
    # row 1 is fitted exactly and row 2 weighs nothing: neither is a core
    assert cores(X, y, **options).moved.tolist() == [1, 1, 0, 0]
    eager = cores(X, y, lazy_core=False, **options)
    assert eager.moved.tolist() == [0, 0, 1, 0]
    assert eager.n_updates == 2
    # The slope at u does not matter: w fits the row, u = 0 does not
    X, y = np.ones((3, 1)), np.array([1, 1, 1])
    out = dual_svrg.run(
        X,
        y,
        n_classes=2,
        oracle="coverage",
        coverage_radius=0.5,
        features=identity,
        kernel="linear",
        eta0=3.0,
        alpha=0.0,
        loss="squared_hinge",
    )
    assert out.moved.tolist() == [0, 1, 1]
    X[1] = 2.0
    far = dual_svrg.run(
        X,
        y,
        n_classes=2,
        oracle="coverage",
        coverage_radius=0.5,
        features=identity,
        kernel="linear",
        eta0=3.0,
        alpha=0.0,
        loss="squared_hinge",
    )
    assert far.gw[1] == 0 and far.gu[1] == -1
    assert far.moved.tolist() == [0, 1, 1]
    # its slope at u is in v all the same: -(-1 - 0) phi and half of -1 phi, phi = 2
    np.testing.assert_allclose(far.iterates[1].rest, [[-3.0 * (2 - 1)]])


def test_uncovered_rows_beyond_max_core_move():
    out = cores([0.0, 10.0, 20.0, 9.5, 30.0], coverage_radius=1.0, max_core=2)
    assert out.moved.tolist() == [0, 0, 1, 1, 1]
    assert out.diagnostics["absorbed"].tolist() == [2]  # 9.5 is covered
    out = cores([0.0, 10.0], [0.0, 0.0], coverage_radius=1.0, max_core=0)
    assert out.moved.tolist() == [1, 1]
    assert out.diagnostics["absorbed"].tolist() == [0]  # no slope: not wanted


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("lazy_core", (True, False))
def test_cores_lie_apart_and_cover(n_classes, loss, lazy_core):
    X, y = stream(60, n_classes, seed=5, d=2)
    for radius in (0.3, 0.8):
        out = dual_svrg.run(
            X,
            y,
            n_classes=n_classes,
            loss=loss,
            oracle="coverage",
            coverage_radius=radius,
            lazy_core=lazy_core,
            features=fourier(2, 4),
            eta0=0.5,
            memory_size=5,
            snapshot_period=10,
        )
        np.testing.assert_array_equal(out.centers, X[out.moved == 0])
        gaps = np.linalg.norm(out.centers[:, None] - out.centers, axis=2)
        assert gaps[~np.eye(len(gaps), dtype=bool)].min() >= radius
        far = np.linalg.norm(X[:, None] - out.centers, axis=2)
        # cores that came later do not count
        far[np.arange(60)[:, None] < np.flatnonzero(out.moved == 0)] = math.inf
        has_slope = out.gw.any(axis=1)
        assert not lazy_core or np.all(has_slope[out.moved == 0])
        wanted = has_slope if lazy_core else np.ones(60, dtype=bool)
        assert np.all(far[wanted].min(axis=1) < radius)
        assert out.n_updates == np.count_nonzero(has_slope)
        assert out.sizes.tolist() == np.cumsum(out.moved == 0).tolist()


@pytest.mark.parametrize("budget", (0, 1, 8, 50))
def test_the_budget_takes_the_first_arrivals(budget):
    X, y = stream(30, 2)
    out = dual_svrg.run(
        X,
        y,
        n_classes=2,
        oracle="budget",
        budget=budget,
        features=fourier(3, 4),
        eta0=0.5,
        sample_weight=np.arange(30) % 2.0,  # also those without a slope
    )
    np.testing.assert_array_equal(out.centers, X[:budget])
    assert out.sizes.tolist() == [min(t, budget) for t in range(1, 31)]
    assert out.moved.tolist() == [int(t >= budget) for t in range(30)]


# random features, symmetries, prefixes


def test_random_features_approach_the_kernel_like_the_root_of_their_number():  # T18
    X, y = stream(30, 2, seed=6)
    common = {"n_classes": 2, "loss": "log_loss", "eta0": 2.0, "alpha": 0.01}
    common |= {"memory_size": 6, "snapshot_period": 8, "gamma": 0.4}
    svrg = partial(dual_svrg.run, X, y, **common)
    exact = svrg(oracle="budget", budget=30, features=identity).scores
    frequencies, errors = 2 ** np.arange(6, 13, 2), []
    for L in frequencies:
        maps = [fourier(3, L, gamma=0.4, seed=seed) for seed in range(4)]
        off = [svrg(oracle="always_move", features=phi).scores - exact for phi in maps]
        errors.append(math.sqrt(np.mean(np.square(off))))
    steepness = np.polyfit(np.log(frequencies), np.log(errors), 1)[0]
    assert -0.65 < steepness < -0.35
    assert errors[-1] < 0.05 * np.std(exact)


class TwoRows(Expansion):
    """Two classes with a row of coefficients each."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.outputs = 2


def two_slopes(loss, f, y, n_classes, **options):
    margin, runner_up = crammer_singer(f, int(y))
    g = np.zeros(2)
    g[int(y)] = slope(loss, margin, 1.0, **options)
    g[runner_up] = -g[int(y)]
    return g


@pytest.mark.parametrize("loss", MARGIN)
@pytest.mark.parametrize("options", MIXED)
def test_two_crammer_singer_rows_are_the_binary_model_of_twice_the_step(
    monkeypatch, loss, options
):
    """T22: f_1 - f_0 takes both rows' steps, so eta is doubled and eta alpha kept."""
    X, y = stream(40, 2)
    options = options | {"n_classes": 2, "loss": loss, "features": fourier(3, 4)}
    options |= {"memory_size": 6, "snapshot_period": 8, "sample_weight": weights(40)}
    binary = dual_svrg.run(X, y, eta0=0.4, alpha=0.05, **options)
    monkeypatch.setattr(dual_svrg, "Expansion", TwoRows)
    monkeypatch.setattr(dual_svrg, "slopes", two_slopes)
    rows = dual_svrg.run(X, y, eta0=0.2, alpha=0.1, **options)
    assert rows.feature_coef.shape == (2, 8)
    np.testing.assert_array_equal(rows.moved, binary.moved)
    np.testing.assert_allclose(
        rows.scores[:, 1] - rows.scores[:, 0], binary.scores[:, 0], atol=1e-10
    )
    np.testing.assert_allclose(rows.coef[1] - rows.coef[0], binary.coef[0], atol=1e-10)


@pytest.mark.parametrize("options", MIXED)
def test_equivariances(options):  # T23
    X, y = stream(50, 2, d=4)
    options = options | {"n_classes": 2, "eta0": 0.5, "memory_size": 7}
    options |= {"snapshot_period": 9}
    phi = fourier(4, 5, gamma=0.5)
    out = dual_svrg.run(X, y, features=phi, gamma=0.5, **options)
    flipped = dual_svrg.run(X, 1 - y, features=phi, gamma=0.5, **options)
    np.testing.assert_allclose(flipped.scores, -out.scores, atol=1e-12)
    np.testing.assert_array_equal(flipped.centers, out.centers)
    order = [2, 0, 3, 1]
    back = np.argsort(order)
    swapped = dual_svrg.run(
        X[:, order], y, features=lambda x: phi(x[back]), gamma=0.5, **options
    )
    np.testing.assert_allclose(swapped.scores, out.scores, atol=1e-12)
    # by a power of two: the same to the last bit
    if "coverage_radius" in options:
        options |= {"coverage_radius": 4 * options["coverage_radius"]}
    scaled = dual_svrg.run(
        4 * X, y, features=lambda x: phi(x / 4), gamma=1 / 32, **options
    )
    np.testing.assert_array_equal(scaled.scores, out.scores)
    np.testing.assert_array_equal(scaled.centers, 4 * out.centers)


@pytest.mark.parametrize("options", MIXED)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES[::3])
def test_each_score_is_the_last_models(options, n_classes, loss):
    X, y = stream(25, n_classes)
    phi = fourier(3, 4)
    options = options | {"n_classes": n_classes, "loss": loss, "features": phi}
    options |= {"eta0": 0.5, "memory_size": 6, "snapshot_period": 8}
    whole = dual_svrg.run(X, y, **options)
    for t in (1, 7, 8, 9, 16, 24):
        part = dual_svrg.run(X[:t], y[:t], **options)
        f = scores_of(last(part), part.centers, X[t : t + 1], phi)
        np.testing.assert_allclose(whole.scores[t : t + 1], f, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(part.scores, whole.scores[:t])
        np.testing.assert_array_equal(part.moved, whole.moved[:t])
        assert len(part.checkpoints) == t // 8


# degenerate data (T24)


@pytest.mark.parametrize("options", MIXED)
@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_degenerate_data(options, n_classes, loss):
    X, y = stream(15, n_classes)
    common = options | {"n_classes": n_classes, "loss": loss, "eta0": 0.5}
    common |= {"features": fourier(3, 4), "memory_size": 4, "snapshot_period": 5}
    same = dual_svrg.run(np.full_like(X, -0.3), y, **common)
    if options["oracle"] == "coverage":
        assert same.sizes.max() == 1
    for gamma in (0.0, 1e6):
        out = dual_svrg.run(X, y, gamma=gamma, **common)
        assert np.all(np.isfinite(out.scores)) and np.all(np.isfinite(out.coef))
    out = dual_svrg.run(X, y, sample_weight=np.zeros(15), **common)
    assert not np.any(out.scores) and not np.any(out.feature_coef)
    assert out.n_updates == 0
    if options["oracle"] == "coverage" and options.get("lazy_core", True):
        assert out.moved.all()

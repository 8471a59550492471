"""FOGD, NOGD and DualSGD against what must hold without an engine (T1, T14, T18, T20).

Two classes are the indices 0 and 1, as for all references.
"""

import math
from functools import partial

import numpy as np
import pytest

from tests.exact import dual_sgd, fogd, kernel_sgd, nogd, ogd
from tests.exact.averaging import Average
from tests.exact.expansion import Expansion
from tests.exact.features import FeaturePart
from tests.exact.kernels import gram
from tests.exact.losses import crammer_singer, slope, slopes

CLASSIFICATION = ("hinge", "smooth_hinge", "squared_hinge", "log_loss")
REGRESSION = ("squared_error", "absolute_error", "epsilon_insensitive")
TASKS_AND_LOSSES = [
    *((n_classes, loss) for n_classes in (2, 4) for loss in CLASSIFICATION),
    *((None, loss) for loss in REGRESSION),
]
TASKS = (2, 4, None)
RATES = (
    {"eta0": 0.3},
    {"eta0": 0.3, "alpha": 0.2},
    {"eta0": 0.6, "alpha": 0.2, "learning_rate": "invscaling", "power_t": 0.4},
)
KINDS = (
    Average("full"),
    Average("suffix"),
    Average("suffix", suffix_fraction=0.3),
    Average("suffix", suffix_fraction=1e-3),  # counts no row: the last iterate
    Average("poly"),
    Average("poly", exponent=1),
)
OTHER_KERNELS = (
    {"kernel": "laplacian", "gamma": 0.4},
    {"kernel": "poly", "gamma": 0.4, "degree": 2, "coef0": 0.5},
    {"kernel": "linear"},
)


def stream(n, n_classes, seed=0, d=3):
    """Noisy rows, some with a zero slope and many without."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, -1] + 0.5 * rng.normal(size=n)
    if n_classes is None:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def weights(n):
    """Row weights, every fifth of which is zero."""
    return np.random.default_rng(2).uniform(0.5, 1.5, size=n) * (np.arange(n) % 5 > 0)


def identity(x):
    return x


def fourier(d, L=6, gamma=0.5, seed=0):
    """Return phi(x) = [cos(omega^T x), sin(omega^T x)] / sqrt(L) (3.11)."""
    omega = np.random.default_rng(seed).normal(scale=math.sqrt(2 * gamma), size=(d, L))

    def phi(x):
        return np.concatenate([np.cos(x @ omega), np.sin(x @ omega)]) / math.sqrt(L)

    return phi


def mapped(phi, X):
    return np.array([phi(x) for x in X])


def loss_for(n_classes):
    return "squared_error" if n_classes is None else "smooth_hinge"


def exactly(average):
    return Average(average.kind, True, average.suffix_fraction, average.exponent)


def slopes_of(out, y, weight, n_classes, loss):
    """Return the slopes that a run has met, shape (n, outputs), from its scores."""
    rows = zip(out.scores, y, weight, strict=True)
    return np.array([w * slopes(loss, f, target, n_classes) for f, target, w in rows])


def kernel_of(options):
    names = ("kernel", "gamma", "degree", "coef0")
    return partial(gram, **{k: v for k, v in options.items() if k in names})


def assert_near(got, wanted, tol=1e-10):
    np.testing.assert_allclose(got, wanted, rtol=tol, atol=tol)


def assert_same_counts(a, b):
    for name in ("n_updates", "n_mistakes", "n_errors"):
        assert getattr(a, name) == getattr(b, name), name


def assert_same(a, b, tol=1e-12):
    assert_near(a.scores, b.scores, tol)
    np.testing.assert_array_equal(a.centers, b.centers)
    assert_near(a.coef, b.coef, tol)
    np.testing.assert_array_equal(a.sizes, b.sizes)
    assert_same_counts(a, b)
    assert a.n_maintenance == b.n_maintenance
    assert (a.mean_coef is None) == (b.mean_coef is None)
    if a.mean_coef is not None:
        np.testing.assert_array_equal(a.mean_centers, b.mean_centers)
        assert_near(a.mean_coef, b.mean_coef, tol)


def weights_of(average, T):
    """The weights of a mean, from the words of the contract; the last one is w_{T+1}'s.

    That stands for a mean in which nothing counts.
    """
    if average.kind == "full":
        omega = np.ones(T)
    elif average.kind == "poly":
        e = average.exponent
        rising = [math.prod(range(t, t + e)) for t in range(1, T + 1)]
        omega = np.array(rising) / math.factorial(e)
    else:
        skipped = math.ceil((1 - average.suffix_fraction) * T)
        omega = np.repeat([0.0, 1.0], [skipped, T - skipped])
    return np.append(omega, 0.0 if omega.any() else 1.0)


def mean_of(stored, average):
    """Return the mean of stored w_1..w_{T+1}."""
    omega = weights_of(average, len(stored) - 1)
    return np.tensordot(omega, np.array(stored), axes=1) / omega.sum()


def prefixes(run, X, y, weight=None, **options):
    """Return the runs that end in w_1..w_{T+1}, by learning every prefix."""
    weight = np.ones(len(X)) if weight is None else weight
    return [
        run(X[:t], y[:t], sample_weight=weight[:t], **options)
        for t in range(len(X) + 1)
    ]


# FOGD


def test_fogd_by_hand():
    X, y = np.array([[1.0], [0.5], [2.0], [1.0]]), np.array([1, 0, 1, 1])

    def phi(x):
        return np.array([1.0, x[0]])

    out = fogd.run(X, y, features=phi, n_classes=2, eta0=0.5, alpha=0.4)
    # w: (0, 0) -> (.5, .5) -> .8 (.5, .5) - .5 (1, .5) = (-.1, .15)
    # -> .8 (-.1, .15) + .5 (1, 2) = (.42, 1.12); then f = 1.54 > 1: shrinks only
    np.testing.assert_allclose(out.scores[:, 0], [0, 0.75, 0.2, 1.54], rtol=1e-14)
    np.testing.assert_allclose(out.w, [[0.336], [0.896]], rtol=1e-14)
    assert (out.n_updates, out.n_maintenance) == (3, 0)
    assert (out.n_mistakes, out.n_errors) == (2, 2)
    assert out.sizes.tolist() == [0, 0, 0, 0]
    assert out.centers.shape == (0, 1) and out.coef.shape == (1, 0)
    assert out.mean_w is None


def test_fogd_of_three_classes_by_hand():
    X, y = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2, 1])
    options = {"learning_rate": "invscaling", "power_t": 1.0, "alpha": 0.5}
    out = fogd.run(X, y, features=identity, n_classes=3, **options)
    # t = 1: runner-up 0 of the tie, rate 1. t = 2: runner-up 2, rate 1/2, shrinks by
    # 3/4, which it does too if the row has no weight.
    np.testing.assert_allclose(out.scores, [[0, 0, 0], [-1, 0, 1]])
    np.testing.assert_allclose(out.w, [[-0.75, 0.5, 0.25], [0, 0.5, -0.5]])
    idle = fogd.run(
        X,
        y,
        features=identity,
        n_classes=3,
        sample_weight=np.array([1.0, 0.0]),
        **options,
    )
    np.testing.assert_allclose(idle.w, [[-0.75, 0, 0.75], [0, 0, 0]])


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("rate", RATES)
def test_fogd_is_ogd_with_the_kernel_of_its_features(n_classes, loss, rate):
    X, y = stream(60, n_classes)
    options = {"n_classes": n_classes, "loss": loss, "sample_weight": weights(60)}
    options |= rate
    options["eta0"] *= 0.3  # ||x||^2 is 3 or so
    for phi in (identity, fourier(3)):
        parent = ogd.run(mapped(phi, X), y, kernel="linear", **options)
        out = fogd.run(X, y, features=phi, **options)
        assert_near(out.scores, parent.scores)
        assert_near(out.w, parent.centers.T @ parent.coef.T)
        assert_same_counts(out, parent)
        assert 20 < out.n_updates < 50


@pytest.mark.parametrize("n_classes", TASKS)
def test_the_mean_of_fogd_is_that_of_stored_iterates(n_classes):
    X, y = stream(26, n_classes)
    run = partial(fogd.run, features=fourier(3), eta0=0.5, alpha=0.1)
    options = {"n_classes": n_classes, "loss": loss_for(n_classes)}
    stored = prefixes(run, X, y, weights(26), **options)
    for average in (*KINDS, *map(exactly, KINDS)):  # nothing leaves: no difference
        out = run(X, y, sample_weight=weights(26), average=average, **options)
        np.testing.assert_array_equal(out.w, stored[-1].w)
        np.testing.assert_array_equal(out.scores, stored[-1].scores)
        assert_near(out.mean_w, mean_of([part.w for part in stored], average))
        assert out.mean_coef.shape == out.coef.shape


# NOGD


def test_nogd_by_hand():
    X, y = np.array([[1.0], [2.0], [3.0], [0.5], [-1.0]]), np.array([1, 0, 1, 1, 0])
    out = nogd.run(
        X,
        y,
        budget=2,
        rank=2,
        kernel="linear",
        n_classes=2,
        eta0=0.1,
        alpha=1.0,
        loss="hinge",
    )
    # In the input space: w = 0 -> .1 -> .09 - .2 = -.11 (two centers)
    # -> switch: -.099 + .3 = .201 -> .1809 + .05 = .2309 -> .20781 + .1 = .30781
    np.testing.assert_allclose(out.scores[:, 0], [0, 0.2, -0.33, 0.1005, -0.2309])
    assert out.switched == 3
    assert out.sizes.tolist() == [1, 2, 2, 2, 2]
    assert (out.n_updates, out.n_maintenance, out.n_errors) == (5, 0, 3)
    np.testing.assert_array_equal(out.centers, X[:2])
    # K = [1 2; 2 4] has the eigenvalues 5 and 0: one feature, z(x) = +-x, and of the
    # coefficients a (1, 2) those with the least norm.
    np.testing.assert_allclose(out.lam, [5])
    assert out.w.shape == (1, 1)
    assert abs(out.w[0, 0]) == pytest.approx(0.30781)
    np.testing.assert_allclose(out.coef, [[0.30781 / 5, 2 * 0.30781 / 5]])


def test_the_switch_waits_for_a_slope_after_the_budget_is_full():
    X = np.array([[0.0], [3.0], [0.0], [0.1], [6.0], [3.0]])
    y = np.array([1, 1, 1, 1, 0, 1])
    run = partial(nogd.run, X, y, n_classes=2, eta0=2.0)
    out = run(budget=2, rank=2)
    # Rows 3 and 4 have margins above 1; row 5 learns, and row 6 is idle again.
    assert out.switched == 5
    assert out.n_updates == 3
    np.testing.assert_array_equal(out.centers, X[:2])
    assert run(budget=2, rank=2, sample_weight=np.eye(6)[0]).switched is None
    full = run(budget=3, rank=2)  # exactly as many updates as the budget
    assert full.switched is None
    assert full.w is None and full.lam is None and full.V is None
    assert full.sizes.tolist() == [1, 2, 2, 2, 3, 3]


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("rate", RATES)
def test_nogd_is_ogd_until_the_switch(n_classes, loss, rate):
    X, y = stream(60, n_classes)
    options = {"n_classes": n_classes, "loss": loss, "sample_weight": weights(60)}
    options |= {"gamma": 0.5, "average": Average("full")} | rate
    parent = ogd.run(X, y, **options)
    out = nogd.run(X, y, budget=parent.n_updates, rank=2, **options)
    assert out.switched is None and out.w is None and out.mean_w is None
    assert_same(out, parent)
    for budget in (1, 7):
        out = nogd.run(X, y, budget=budget, rank=budget, **options)
        # the row that would have been center budget + 1
        t = int(np.argmax(parent.sizes == budget + 1)) + 1
        assert out.switched == t
        np.testing.assert_array_equal(out.scores[:t], parent.scores[:t])
        np.testing.assert_array_equal(out.sizes, np.minimum(parent.sizes, budget))
        np.testing.assert_array_equal(out.centers, parent.centers[:budget])


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("kernel", ({"gamma": 0.5}, *OTHER_KERNELS))
def test_full_rank_changes_no_score_at_the_switch(n_classes, kernel):  # T20
    X, y = stream(40, n_classes)
    probes = stream(50, n_classes, seed=1)[0]
    K = kernel_of(kernel)
    options = {"n_classes": n_classes, "loss": loss_for(n_classes), "eta0": 0.1}
    run = partial(nogd.run, budget=8, rank=8, alpha=0.3, **options, **kernel)
    t = run(X, y).switched
    before, after = run(X[: t - 1], y[: t - 1]), run(X[:t], y[:t])
    assert before.switched is None and after.switched == t
    B = before.centers
    np.testing.assert_array_equal(after.centers, B)
    scores = K(probes, B) @ before.coef.T

    # the map by itself
    model = Expansion(
        3,
        n_classes,
        **{"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 1.0} | kernel,
    )
    for c, a in zip(B, before.coef.T, strict=True):
        model.append(c, a)
    space = nogd.Nystrom(model, 8)
    at_probes, at_landmarks = mapped(space.z, probes), mapped(space.z, B)
    assert_near(at_landmarks @ at_landmarks.T, K(B, B), 1e-9)
    assert_near(at_probes @ space.transfer(model.coef), scores, 1e-9)
    assert_near(K(probes, B) @ space.back(space.transfer(model.coef)), scores, 1e-9)

    # The row that switches: all that is new are its shrinking and its step, which is
    # along z(x), the part of phi(x) within the span of the landmarks.
    x = X[t - 1 : t]
    d = np.linalg.lstsq(K(B, B), K(B, x)[:, 0], rcond=1e-12)[0]
    g = slopes(options["loss"], before.coef @ K(B, x)[:, 0], y[t - 1], n_classes)
    wanted = (1 - 0.3 * 0.1) * scores - 0.1 * np.outer(K(probes, B) @ d, g)
    assert_near(K(probes, B) @ after.coef.T, wanted, 1e-9)
    assert_near(at_probes @ after.w, wanted, 1e-9)


def test_landmarks_that_span_the_space_make_nogd_ogd():
    """A linear kernel has d dimensions, a quadratic one in the plane has six."""
    cases = (({"kernel": "linear"}, 3, 3), (OTHER_KERNELS[1], 2, 6))
    for n_classes in TASKS:
        for kernel, d, budget in cases:
            X, y = stream(60, n_classes, d=d)
            options = {"n_classes": n_classes, "loss": loss_for(n_classes)}
            options |= {"eta0": 0.05, "alpha": 0.3, "learning_rate": "invscaling"}
            options |= kernel | {"sample_weight": weights(60)}
            parent = ogd.run(X, y, **options)
            for extra in (0, 4):  # more landmarks than dimensions: rank is cut
                out = nogd.run(
                    X, y, budget=budget + extra, rank=budget + extra, **options
                )
                assert out.switched < 30
                assert len(out.lam) == budget
                assert_near(out.scores, parent.scores, 1e-8)
                assert_same_counts(out, parent)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("rank", (1, 3, 8))
def test_nogd_from_its_slopes(n_classes, loss, rate, rank):
    """Unrolled: sums of past slopes, with the kernel z . z after the switch."""
    n, budget = 60, 8
    X, y = stream(n, n_classes)
    weight = weights(n)
    options = {"n_classes": n_classes, "loss": loss, "gamma": 0.5}
    out = nogd.run(
        X, y, budget=budget, rank=rank, sample_weight=weight, **options, **rate
    )
    eta0, alpha = rate["eta0"], rate.get("alpha", 0.0)
    power = rate.get("power_t", 0.0)
    eta = [eta0 / t**power for t in range(1, n + 1)]
    g = slopes_of(out, y, weight, n_classes, loss)
    K = gram(X, X, gamma=0.5)
    switch = None
    for t in range(n):
        steps = [
            -eta[i] * g[i] * math.prod(1 - alpha * eta[j] for j in range(i + 1, t))
            for i in range(t)
        ]
        f = K[t, :t] @ np.array(steps).reshape(t, g.shape[1])
        assert_near(out.scores[t], f, 1e-9)
        stored = np.flatnonzero(np.any(g[:t] != 0, axis=1))
        if switch is None and len(stored) == budget and np.any(g[t] != 0):
            switch = t + 1
            # k_B(x)^T pinv(K_BB) k_B(x'), K_BB cut to the rank
            U, s, Vt = np.linalg.svd(K[np.ix_(stored, stored)])
            inverse = (Vt[:rank].T / s[:rank]) @ U[:, :rank].T
            K = K[:, stored] @ inverse @ K[stored]
            np.testing.assert_array_equal(out.centers, X[stored])
            assert_near(out.lam, s[:rank])
    assert out.switched == switch
    assert out.n_updates == np.count_nonzero(np.any(g != 0, axis=1))
    assert np.all(out.sizes <= budget)
    # M w, of the row space of the landmarks' matrix
    assert out.w.shape == (rank, out.coef.shape[0])
    assert_near(out.coef.T, out.V @ np.diag(out.lam**-0.5) @ out.w)
    assert_near(out.V.T @ out.V, np.eye(rank))
    assert np.all(np.diff(out.lam) <= 0)


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("rank", (3, 8))
def test_the_mean_of_nogd_is_that_of_stored_iterates(n_classes, rank):
    n, budget = 26, 8
    X, y = stream(n, n_classes)
    run = partial(nogd.run, budget=budget, rank=rank, eta0=0.5, alpha=0.1, gamma=0.5)
    options = {"n_classes": n_classes, "loss": loss_for(n_classes)}
    stored = prefixes(run, X, y, weights(n), **options)
    last = stored[-1]
    assert 8 < last.switched < 20
    # every iterate in coefficients of the landmarks, those of phase 1 as they were or
    # projected on the features
    as_they_were, projected = [], []
    for part in stored:
        rows = np.zeros((budget, last.coef.shape[0]))
        rows[: len(part.centers)] = part.coef.T
        as_they_were.append(rows)
        projected.append(last.V @ last.V.T @ rows)
    ws = [np.diag(last.lam**0.5) @ last.V.T @ rows for rows in as_they_were]
    run = partial(run, X, y, sample_weight=weights(n), **options)
    for average in KINDS:
        out, kept = run(average=average), run(average=exactly(average))
        for got, iterates in ((out, projected), (kept, as_they_were)):
            np.testing.assert_array_equal(got.scores, last.scores)
            np.testing.assert_array_equal(got.coef, last.coef)
            np.testing.assert_array_equal(got.mean_centers, last.centers)
            assert_near(got.mean_coef, mean_of(iterates, average).T)
        assert_near(out.mean_w, mean_of(ws, average))
        assert kept.mean_w is None
        if rank == budget:
            assert_near(out.mean_coef, kept.mean_coef)


def test_the_mean_of_nogd_before_and_at_the_switch():
    X, y = stream(20, 2)
    run = partial(nogd.run, n_classes=2, budget=6, rank=2, eta0=0.5, alpha=0.1)
    t = run(X, y).switched
    parent = partial(ogd.run, n_classes=2, eta0=0.5, alpha=0.1)
    average = Average("full")
    before = run(X[: t - 1], y[: t - 1], average=average)
    assert_same(before, parent(X[: t - 1], y[: t - 1], average=average))
    # At the switch all that counts is of phase 1, the switching row's iterate too.
    at = run(X[:t], y[:t], average=average)
    mean = parent(X[:t], y[:t], average=average).mean_coef[:, :6]
    assert_near(at.mean_coef, mean @ at.V @ at.V.T)


@pytest.mark.parametrize("n_classes", TASKS)
def test_repeated_landmarks_lose_nothing_and_give_one_feature(n_classes):  # T24
    y = stream(30, n_classes)[1]
    X = np.full((30, 2), 0.3)
    options = {"n_classes": n_classes, "loss": loss_for(n_classes), "eta0": 0.1}
    # Without weights, classes tie again and again, and rounding would choose.
    options["sample_weight"] = weights(30)
    out = nogd.run(X, y, budget=5, rank=5, **options)
    np.testing.assert_allclose(out.lam, [5])
    assert_near(out.scores, ogd.run(X, y, **options).scores)
    # no landmark says anything: no feature is left, and every score is zero
    out = nogd.run(0 * X, y, budget=5, rank=5, kernel="linear", **options)
    assert out.switched is not None and out.w.shape == (0, out.coef.shape[0])
    assert not np.any(out.scores) and not np.any(out.coef)


# DualSGD


def test_dual_sgd_by_hand():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([4.0, 1.0, 8.0, 2.0])

    def phi(x):
        return np.array([1.0, x[0]])

    run = partial(dual_sgd.run, features=phi, loss="squared_error", alpha=0.5)
    out = run(X, y, budget=2, merge_size=2)
    e = math.exp
    f2 = 8 * e(-1)  # raw 4 at t = 2: 4 / .5 = 8
    r2 = 1 - f2
    f3 = 4 * e(-4) + r2 * e(-1)
    r3 = 8 - f3  # the largest raw: 0.0 and 1.0 move
    moved = np.array([(4 + r2) / 1.5, r2 / 1.5])
    f4 = r3 / 1.5 * e(-1) + moved[0] + 3 * moved[1]
    np.testing.assert_allclose(out.scores[:, 0], [0, f2, f3, f4], rtol=1e-14)
    assert out.sizes.tolist() == [1, 2, 1, 2]
    assert (out.n_updates, out.n_maintenance) == (4, 1)
    assert (out.n_mistakes, out.n_errors) == (None, None)
    np.testing.assert_array_equal(out.centers, X[2:])
    np.testing.assert_allclose(out.coef, [[r3 / 2, (2 - f4) / 2]])
    np.testing.assert_allclose(out.w[:, 0], 0.75 * moved)
    # the newcomer may be the least of all
    out = run(X[:2], np.array([4.0, 2.5]), budget=1, merge_size=1)
    assert abs(2.5 - f2) < 4
    np.testing.assert_array_equal(out.centers, X[:1])
    np.testing.assert_allclose(out.coef, [[4.0]])
    np.testing.assert_allclose(out.w, [[2.5 - f2], [2.5 - f2]])


@pytest.mark.parametrize("n_classes", TASKS)
def test_equal_coefficients_move_oldest_first(n_classes):
    """Slopes of the same size: the model is a queue, emptied by merge_size at once."""
    n = 40
    X = 10.0 * np.arange(n)[:, None]  # strangers: no score rises above 0
    y = np.arange(n) if n_classes == 4 else np.arange(n) % 2
    y = y % 4 if n_classes == 4 else (y if n_classes == 2 else 5.0 * (2 * y - 1))
    loss = "absolute_error" if n_classes is None else "hinge"
    for budget, k in ((5, 1), (5, 3), (5, 5), (1, 1)):
        out = dual_sgd.run(
            X,
            y,
            features=lambda x: np.zeros(1),
            budget=budget,
            merge_size=k,
            n_classes=n_classes,
            loss=loss,
            alpha=0.3,
        )
        assert out.n_updates == n
        queue, moves = [], 0
        for t in range(n):
            queue.append(t)
            if len(queue) > budget:
                queue, moves = queue[k:], moves + 1
            assert out.sizes[t] == len(queue)
        np.testing.assert_array_equal(out.centers, X[queue])
        assert out.n_maintenance == moves


def test_rows_of_coefficients_compare_by_their_norm():
    model = Expansion(1, 3, kernel="linear", gamma=1, degree=1, coef0=0)
    part = FeaturePart(identity, 1, 3)
    # norms 5, 5, 4.9..., 0 by its square but not by itself, 0
    raws = [[0, 3, 4], [5, 0, 0], [3.5, 3.5, 0], [0, 1e-200, 0], [0, 0, 0]]
    raws = [np.array(raw, dtype=float) for raw in raws]
    for i, raw in enumerate(raws):
        model.append(np.array([2.0**i]), 10 * raw)
    left = list(raws)
    dual_sgd.move(model, left, part, 1)
    assert [c[0] for c in model.centers] == [1, 2, 4, 8]
    dual_sgd.move(model, left, part, 2)
    assert [c[0] for c in model.centers] == [1, 2]
    np.testing.assert_allclose(part.w, [[140, 140, 0]])
    dual_sgd.move(model, left, part, 1)
    assert [c[0] for c in model.centers] == [2]
    np.testing.assert_allclose(part.w, [[140, 170, 40]])
    assert [raw.tolist() for raw in left] == [[5, 0, 0]]


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
def test_dual_sgd_below_its_budget_is_kernel_sgd(n_classes, loss):  # T1
    X, y = stream(40, n_classes)
    options = {"n_classes": n_classes, "loss": loss, "alpha": 0.05, "t0": 3.0}
    options |= {"sample_weight": weights(40), "average": Average("poly")}
    for kernel in ({"gamma": 0.5}, *OTHER_KERNELS):
        parent = kernel_sgd.run(X, y, **options, **kernel)
        run = partial(dual_sgd.run, X, y, features=fourier(3), **options, **kernel)
        for budget in (40, parent.n_updates):
            out = run(budget=budget, merge_size=3)
            assert_same(out, parent)
            assert out.w.shape == (12, len(out.coef))
            assert not np.any(out.w) and not np.any(out.mean_w)
        assert run(budget=budget - 1, merge_size=3).n_maintenance == 1


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize(("budget", "merge_size"), ((1, 1), (6, 1), (6, 4), (6, 6)))
@pytest.mark.parametrize("t0", (0.0, 10.0))
def test_exact_features_make_dual_sgd_kernel_sgd(
    n_classes, loss, budget, merge_size, t0
):  # T18
    X, y = stream(40, n_classes)
    options = {"n_classes": n_classes, "loss": loss, "alpha": 0.3, "t0": t0}
    options |= {"sample_weight": weights(40), "kernel": "linear"}
    options |= {"average": Average("suffix")}
    parent = kernel_sgd.run(X, y, **options)
    run = partial(dual_sgd.run, X, y, features=identity, **options)
    out = run(budget=budget, merge_size=merge_size)
    assert_near(out.scores, parent.scores, 1e-9)
    assert_same_counts(out, parent)
    assert_near(out.coef @ out.centers + out.w.T, parent.coef @ parent.centers, 1e-9)
    mean = out.mean_coef @ out.mean_centers + out.mean_w.T
    assert_near(mean, parent.mean_coef @ parent.mean_centers, 1e-9)
    assert out.sizes.max() == budget
    # each move makes room for merge_size rows less the one that is in already
    assert out.n_maintenance == math.ceil((out.n_updates - budget) / merge_size)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize(("budget", "merge_size"), ((1, 1), (6, 2), (6, 6)))
def test_dual_sgd_from_its_slopes(n_classes, loss, budget, merge_size):
    """Unrolled: f_t = -sum_{i<t} g_i k_i / (alpha (t-1+t0)), k_i of either space."""
    n, alpha, t0 = 60, 0.3, 2.0
    X, y = stream(n, n_classes)
    weight, phi = weights(n), fourier(3)
    out = dual_sgd.run(
        X,
        y,
        features=phi,
        budget=budget,
        merge_size=merge_size,
        n_classes=n_classes,
        loss=loss,
        alpha=alpha,
        t0=t0,
        gamma=0.5,
        sample_weight=weight,
    )
    g = slopes_of(out, y, weight, n_classes, loss)
    Phi = mapped(phi, X)
    kept, moved, moves = [], [], 0
    # A Crammer-Singer row has two entries of one size, sqrt(1/2) of its norm.
    size = np.abs(g).max(axis=1)
    for t in range(n):
        row = gram(X[t : t + 1], X, gamma=0.5)[0, kept] @ g[kept]
        row = row + Phi[t] @ Phi[moved].T @ g[moved]
        assert_near(out.scores[t], -row / (alpha * (t + t0)))
        if np.any(g[t] != 0):
            kept.append(t)
        if len(kept) > budget:
            leaving = sorted(kept, key=lambda i: (size[i], i))[:merge_size]
            kept = [i for i in kept if i not in leaving]
            moved, moves = moved + leaving, moves + 1
        assert out.sizes[t] == len(kept)
    np.testing.assert_array_equal(out.centers, X[kept])
    assert_near(out.coef.T, -g[kept] / (alpha * (n + t0)))
    assert_near(out.w, -Phi[moved].T @ g[moved] / (alpha * (n + t0)))
    assert out.n_maintenance == moves > 0


@pytest.mark.parametrize("n_classes", TASKS)
def test_the_mean_of_dual_sgd_is_that_of_stored_iterates(n_classes):
    n = 30
    X, y = stream(n, n_classes)
    probes = stream(7, n_classes, seed=1)[0]
    phi = fourier(3)
    run = partial(dual_sgd.run, features=phi, budget=5, merge_size=3, alpha=0.3)
    run = partial(run, n_classes=n_classes, loss=loss_for(n_classes), t0=1.0)
    stored = prefixes(run, X, y, weights(n))
    last = stored[-1]
    assert last.n_maintenance >= 4
    # the iterates as functions
    Phi = mapped(phi, probes)
    scores = [gram(probes, p.centers) @ p.coef.T + Phi @ p.w for p in stored]
    # the iterates with all that has moved since in the features
    slots = {tuple(c): i for i, c in enumerate(last.centers)}
    coefs, ws = [], []
    for part in stored:
        w, rows = np.array(part.w), np.zeros(last.coef.T.shape)
        for c, a in zip(part.centers, part.coef.T, strict=True):
            if tuple(c) in slots:
                rows[slots[tuple(c)]] = a
            else:
                w += np.outer(phi(c), a)
        coefs.append(rows)
        ws.append(w)
    run = partial(run, X, y, sample_weight=weights(n))
    for average in KINDS:
        exact, folded = run(average=exactly(average)), run(average=average)
        got = gram(probes, exact.mean_centers) @ exact.mean_coef.T + Phi @ exact.mean_w
        assert_near(got, mean_of(scores, average))
        np.testing.assert_array_equal(folded.mean_centers, last.centers)
        assert_near(folded.mean_coef, mean_of(coefs, average).T)
        assert_near(folded.mean_w, mean_of(ws, average))
        for out in (exact, folded):
            np.testing.assert_array_equal(out.scores, last.scores)
            np.testing.assert_array_equal(out.coef, last.coef)
            np.testing.assert_array_equal(out.w, last.w)


def test_more_frequencies_bring_dual_sgd_to_kernel_sgd():  # T18
    X, y = stream(30, 2)
    options = {"n_classes": 2, "loss": "log_loss", "alpha": 0.1, "gamma": 0.5}
    parent = kernel_sgd.run(X, y, **options)
    frequencies = 2 ** np.arange(4, 11, 2)
    errors = []
    for L in frequencies:
        square = 0.0
        for seed in range(8):
            phi = fourier(3, L=int(L), seed=seed)
            out = dual_sgd.run(X, y, features=phi, budget=4, merge_size=2, **options)
            square += np.mean((out.scores - parent.scores) ** 2)
        errors.append(math.sqrt(square))
    power = np.polyfit(np.log(frequencies), np.log(errors), 1)[0]
    assert power == pytest.approx(-0.5, abs=0.1)


# all three: equivalences (T22, T23), prefixes, degenerate data (T24)


SYSTEMS = {
    "fogd": partial(fogd.run, features=fourier(3), eta0=0.5, alpha=0.2),
    "nogd": partial(nogd.run, budget=7, rank=4, eta0=0.5, alpha=0.2, gamma=0.5),
    "dual_sgd": partial(
        dual_sgd.run,
        features=fourier(3),
        budget=7,
        merge_size=3,
        alpha=0.2,
        gamma=0.5,
    ),
}


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


@pytest.mark.parametrize("loss", CLASSIFICATION)
@pytest.mark.parametrize("module", (fogd, nogd, dual_sgd))
def test_two_crammer_singer_rows_are_the_binary_model(monkeypatch, module, loss):  # T22
    """f_1 - f_0 moves by two steps at once: half the alpha, or twice the rate."""
    run = SYSTEMS[module.__name__.split(".")[-1]]
    half = {"alpha": 0.1} | ({} if module is dual_sgd else {"eta0": 1.0})
    X, y = stream(50, 2)
    binary = run(X, y, n_classes=2, loss=loss, **half)
    monkeypatch.setattr(module, "Expansion", TwoRows)
    monkeypatch.setattr(module, "slopes", two_slopes)
    rows = run(X, y, n_classes=2, loss=loss)
    assert_near(rows.scores[:, 1] - rows.scores[:, 0], binary.scores[:, 0])
    np.testing.assert_array_equal(rows.centers, binary.centers)
    np.testing.assert_array_equal(rows.sizes, binary.sizes)
    assert rows.n_updates == binary.n_updates
    assert_near(rows.coef[1] - rows.coef[0], binary.coef[0], 1e-9)
    assert_near(rows.w[:, 1] - rows.w[:, 0], binary.w[:, 0])


@pytest.mark.parametrize("system", SYSTEMS)
def test_other_labels_flip_the_scores(system):  # T23
    X, y = stream(50, 2)
    run = partial(SYSTEMS[system], n_classes=2)
    out, flipped = run(X, y), run(X, 1 - y)
    assert_near(flipped.scores, -out.scores)
    np.testing.assert_array_equal(flipped.centers, out.centers)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_each_score_is_the_last_models(system, n_classes, loss):
    X, y = stream(40, n_classes)
    run = partial(SYSTEMS[system], n_classes=n_classes, loss=loss)
    whole = run(X, y)
    for t in (0, 1, 2, *range(5, 40, 4)):
        part = run(X[:t], y[:t])
        f = part.coef @ gram(part.centers, X[t : t + 1], gamma=0.5)[:, 0]
        if system != "nogd":
            f = f + fourier(3)(X[t]) @ part.w
        assert_near(whole.scores[t], f)
        assert t == 0 or len(part.centers) == whole.sizes[t - 1] <= 7


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("system", SYSTEMS)
def test_degenerate_data(system, n_classes, loss):
    X, y = stream(20, n_classes)
    run = partial(SYSTEMS[system], n_classes=n_classes, loss=loss)
    none = run(X, y, sample_weight=np.zeros(20))
    assert none.n_updates == 0 and not np.any(none.scores)
    assert none.centers.shape == (0, 3)
    for data, gamma in ((np.full_like(X, -0.3), 0.5), (X, 0.0), (X, 1e6)):
        out = run(data, y, gamma=gamma)
        assert np.all(np.isfinite(out.scores)) and np.all(np.isfinite(out.coef))

"""The KRLS-T reference against what must hold without an engine.

Its forgetting is a Gaussian process in rows and time. Between two rows of positive
weight u <- sqrt(lam) u + sqrt(1 - lam) v with a fresh draw v from the prior, so

    cov(f(x, s), f(z, t)) = lam^(|s - t| / 2) k(x, z),

s and t counting such rows. If all of them are centers nothing is approximated, and the
model is batch regression with this kernel, which is not the one with weights
lam^(T - t): a prior stays as strong as it was. A score precedes the forgetting of its
row, so it is of the time of the row before.

A row x that is no center is taken for q.u plus noise of variance r2, with the centers
of its own time. So with centers that came in at any time cov(f_s, f_t) is still
lam^(|s - t| / 2) q_s.K q_t, where q of a center is a unit vector, and r2 is noise.

All that is exact but for the jitter of Q, so it is tested without that as well.
"""

import math

import numpy as np
import pytest

from tests.exact import krls
from tests.exact.kernels import gram

TASKS = (2, 4, None)


@pytest.fixture(params=(krls.JITTER, 0.0), ids=("jitter", "none"))
def tol(request, monkeypatch):
    monkeypatch.setattr(krls, "JITTER", request.param)
    return 1e-6 if request.param else 1e-10


def stream(n, n_classes=None, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    if n_classes is None:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def weights(n, seed=7):
    return np.random.default_rng(seed).uniform(0.2, 3.0, size=n)


def signs_or_numbers(y, n_classes):
    """Return the targets, shape (n, outputs)."""
    if n_classes is None:
        return y[:, None].astype(float)
    if n_classes == 2:
        return 2.0 * y[:, None] - 1
    return 2.0 * np.eye(n_classes)[y] - 1


def gaussian(prior, cross, own, noise, Y):
    """Return mean and variance of a value, given others with noise."""
    if len(Y) == 0:
        return np.zeros(Y.shape[1]), own
    shares = np.linalg.solve(prior + np.diag(noise), cross)
    return shares @ Y, own - shares @ cross


def fading(lam, s, t):
    return lam ** (np.abs(np.subtract.outer(s, t)) / 2)


def geometry(X, gamma, threshold):
    """Return the centers' rows, and q (n, size) and r2 (n,) of the rows' own times.

    Least squares on an eigenbasis instead of a jitter; q of a center is a unit vector
    and its r2 (as noise) 0.
    """
    chosen, found = [], []
    for t in range(len(X)):
        q, r2 = np.zeros(0), 1.0
        if chosen:
            k = gram(X[chosen], X[t : t + 1], gamma=gamma)[:, 0]
            lam, V = np.linalg.eigh(gram(X[chosen], X[chosen], gamma=gamma))
            q = V @ ((V.T @ k) / lam)
            r2 = max(1 - float(np.sum((V.T @ k) ** 2 / lam)), 0.0)
        if r2 > threshold:
            q, r2 = np.append(np.zeros(len(chosen)), 1.0), 0.0
            chosen.append(t)
        found.append((q, r2))
    Q = np.zeros((len(X), len(chosen)))
    for row, (q, _) in zip(Q, found, strict=True):
        row[: len(q)] = q
    return chosen, Q, np.array([r2 for _, r2 in found])


# all rows are centers


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("weighted", (False, True))
def test_without_limits_it_is_batch_gaussian_process_regression(
    tol, n_classes, weighted
):
    n, gamma, noise = 60, 0.5, 0.1
    X, y = stream(n, n_classes)
    c = weights(n) if weighted else None
    out = krls.run(
        X, y, n_classes, gamma=gamma, noise=noise, threshold=0.0, sample_weight=c
    )
    assert out.sizes.tolist() == list(range(1, n + 1))
    assert out.n_updates == n and out.n_maintenance == 0
    K, Y = gram(X, X, gamma=gamma), signs_or_numbers(y, n_classes)
    noises = noise / (np.ones(n) if c is None else c)
    for t in range(n):
        f, var = gaussian(K[:t, :t], K[:t, t], 1.0, noises[:t], Y[:t])
        np.testing.assert_allclose(out.scores[t], f, rtol=tol, atol=tol)
        assert out.variances[t] == pytest.approx(var, rel=tol)
    np.testing.assert_allclose(out.score_variances, out.variances, rtol=1e-12)
    A = K + np.diag(noises)
    np.testing.assert_allclose(out.mu, K @ np.linalg.solve(A, Y), atol=tol)
    posterior = K - K @ np.linalg.solve(A, K)
    np.testing.assert_allclose(out.covariance, posterior, atol=tol)
    # the function of coef, at rows that were not learned
    new = stream(20, seed=1)[0]
    row = gram(new, X, gamma=gamma)
    expected = row @ np.linalg.solve(A, Y)
    np.testing.assert_array_equal(out.centers, X)
    np.testing.assert_allclose(row @ out.coef.T, expected, rtol=10 * tol, atol=10 * tol)


@pytest.mark.parametrize("lam", (0.999, 0.9, 0.5))
@pytest.mark.parametrize("n_classes", TASKS)
def test_forgetting_is_a_kernel_in_time(tol, lam, n_classes):
    n, gamma, noise = 60, 0.7, 0.05
    X, y = stream(n, n_classes, seed=3)
    c = weights(n)
    c[[4, 5, 30]] = 0.0  # time does not go on there
    out = krls.run(
        X,
        y,
        n_classes,
        gamma=gamma,
        noise=noise,
        forgetting=lam,
        threshold=0.0,
        sample_weight=c,
    )
    np.testing.assert_array_equal(out.centers, X[c > 0])
    K, Y = gram(X, X, gamma=gamma), signs_or_numbers(y, n_classes)
    for t in range(n):
        past = np.flatnonzero(c[:t] > 0)
        time = np.arange(len(past))
        prior = K[np.ix_(past, past)] * fading(lam, time, time)
        late = 0 if c[t] == 0 else 1
        wanted = []
        for now in (len(past) - 1, len(past) - 1 + late):
            cross = K[past, t] * fading(lam, time, now)
            wanted.append(gaussian(prior, cross, 1.0, noise / c[past], Y[past]))
        np.testing.assert_allclose(out.scores[t], wanted[0][0], rtol=tol, atol=tol)
        assert out.score_variances[t] == pytest.approx(wanted[0][1], rel=tol)
        assert out.variances[t] == pytest.approx(wanted[1][1], rel=tol)


# some rows are centers


@pytest.mark.parametrize("weighted", (False, True))
def test_with_fixed_centers_it_is_bayesian_linear_regression(tol, weighted):
    """On the features Q^(1/2) k, each row with its own noise + r2."""
    rng = np.random.default_rng(2)
    gamma, noise, threshold = 0.5, 0.05, 0.5
    # The corners of a cube are centers, later rows are near them.
    corners = 2.0 * np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T
    near = corners[rng.integers(8, size=60)] + 0.4 * rng.normal(size=(60, 3))
    K = gram(corners, corners, gamma=gamma)
    lam, V = np.linalg.eigh(K)
    phi = gram(near, corners, gamma=gamma) @ V / np.sqrt(lam) @ V.T
    r2 = 1 - np.sum(phi**2, axis=1)
    near, phi, r2 = (a[r2 < 0.95 * threshold] for a in (near, phi, r2))
    assert len(near) > 40 and np.quantile(r2, 0.7) > noise
    X = np.vstack((corners, near))
    y = np.sin(X @ [1.0, 2.0, -1.0]) + 0.1 * rng.normal(size=len(X))
    c = weights(len(X)) if weighted else np.ones(len(X))
    out = krls.run(X, y, gamma=gamma, noise=noise, threshold=threshold, sample_weight=c)
    np.testing.assert_array_equal(out.centers, corners)
    np.testing.assert_allclose(out.r2[8:], r2, atol=tol)
    root = V * np.sqrt(lam) @ V.T  # Q^(1/2) K: the features of the centers
    features = np.vstack((root, phi))
    variance = noise / c + np.append(np.zeros(8), r2)
    for t in range(8, len(X) + 1):
        seen = features[:t] / variance[:t, None]
        precision = np.eye(8) + features[:t].T @ seen
        mean = np.linalg.solve(precision, seen.T @ y[:t])
        if t < len(X):
            f = features[t]
            var = f @ np.linalg.solve(precision, f) + r2[t - 8]
            assert out.scores[t, 0] == pytest.approx(f @ mean, rel=tol, abs=tol)
            assert out.variances[t] == pytest.approx(var, rel=tol)
    np.testing.assert_allclose(out.mu[:, 0], root @ mean, atol=tol)
    cov = root @ np.linalg.solve(precision, root)
    np.testing.assert_allclose(out.covariance, cov, atol=tol)


@pytest.mark.parametrize("lam", (1.0, 0.97, 0.6))
@pytest.mark.parametrize("threshold", (0.02, 0.3))
@pytest.mark.parametrize("n_classes", TASKS)
def test_centers_of_any_time_are_a_kernel_in_rows_and_time(
    tol, lam, threshold, n_classes
):
    n, gamma, noise = 70, 0.3, 0.1
    X, y = stream(n, n_classes, seed=4, d=2)
    c = weights(n)
    chosen, Q, r2 = geometry(X, gamma, threshold)
    assert 3 < len(chosen) < 0.6 * n and max(chosen) > 20
    out = krls.run(
        X,
        y,
        n_classes,
        gamma=gamma,
        noise=noise,
        forgetting=lam,
        threshold=threshold,
        sample_weight=c,
    )
    np.testing.assert_array_equal(out.centers, X[chosen])
    entered = np.isin(np.arange(n), chosen)
    assert out.sizes.tolist() == np.cumsum(entered).tolist()
    K, Y = gram(X[chosen], X[chosen], gamma=gamma), signs_or_numbers(y, n_classes)
    time = np.arange(n)
    prior = (Q @ K @ Q.T) * fading(lam, time, time)
    noises = noise / c + r2
    tol *= 10  # the jitter is no smaller where the variances are
    for t in range(n):
        cross = prior[:t, t]
        own = prior[t, t] + r2[t]
        f, var = gaussian(prior[:t, :t], cross, own, noises[:t], Y[:t])
        # forgotten once less
        f = f / math.sqrt(lam)
        np.testing.assert_allclose(out.scores[t], f, rtol=tol, atol=tol)
        assert out.variances[t] == pytest.approx(var, rel=tol)
    # the last mean and covariance at the centers, and the function of coef
    cross = (Q @ K) * fading(lam, time, n - 1)[:, None]
    A = prior + np.diag(noises)
    np.testing.assert_allclose(out.mu, cross.T @ np.linalg.solve(A, Y), atol=tol)
    cov = K - cross.T @ np.linalg.solve(A, cross)
    np.testing.assert_allclose(out.covariance, cov, atol=tol)
    np.testing.assert_allclose(K @ out.coef.T, out.mu, atol=tol)


# back to the prior


@pytest.mark.parametrize("lam", (0.95, 0.5, 0.0))
def test_rows_that_say_nothing_lead_back_to_the_prior(lam):
    """Their noise is so large that they only forget: mu by sqrt(lam), S - K by lam."""
    X, y = stream(30)
    common = {"gamma": 0.5, "noise": 0.1, "threshold": 0.1, "forgetting": lam}
    before = krls.run(X, y, **common)
    K = gram(before.centers, before.centers, gamma=0.5)
    for idle in (1, 7, 400):
        after = krls.run(
            np.vstack((X, np.tile(X[:1], (idle, 1)))),
            np.append(y, np.zeros(idle)),
            sample_weight=np.append(np.ones(30), np.full(idle, 1e-14)),
            **common,
        )
        np.testing.assert_array_equal(after.centers, before.centers)
        mu = lam ** (idle / 2) * before.mu
        np.testing.assert_allclose(after.mu, mu, atol=1e-10)
        S = K + lam**idle * (before.covariance - K)
        np.testing.assert_allclose(after.covariance, S, atol=1e-10)
    if lam < 1:  # the last of idle = 400
        np.testing.assert_allclose(after.covariance, K, atol=1e-8)
        assert np.abs(after.mu).max() < 1e-3


def test_rows_far_from_the_centers_do_not_touch_them():
    """Where k is 0 so is h: they forget, and become centers on their own."""
    X, y = stream(20)
    far = 1e3 * np.arange(1, 6)[:, None] + np.zeros((5, 3))
    common = {"gamma": 0.5, "forgetting": 0.8, "noise": 0.1}
    before = krls.run(X, y, **common)
    out = krls.run(np.vstack((X, far)), np.append(y, np.full(5, 2.0)), **common)
    m = len(before.centers)
    K = gram(before.centers, before.centers, gamma=0.5)
    assert len(out.centers) == m + 5
    np.testing.assert_allclose(out.mu[:m], 0.8**2.5 * before.mu, rtol=1e-12)
    S = K + 0.8**5 * (before.covariance - K)
    np.testing.assert_allclose(out.covariance[:m, :m], S, rtol=1e-12, atol=1e-12)
    # by hand: 2 / 1.1 and 1 - 1 / 1.1, less what is forgotten of them
    for age in range(5):
        assert out.mu[-1 - age, 0] == pytest.approx(0.8 ** (age / 2) * 2 / 1.1)
        var = 1 - 0.8**age / 1.1
        assert out.covariance[-1 - age, -1 - age] == pytest.approx(var)
    np.testing.assert_array_equal(out.scores[20:], 0.0)
    np.testing.assert_array_equal(out.variances[20:], 1.0)


# the budget


def by_precision(centers, mu, S, x, target, noise, lam, threshold, gamma):
    """Return centers, mu and S after a row: evidence is added to the inverse of S."""
    K = gram(centers, centers, gamma=gamma)
    k = gram(centers, x[None], gamma=gamma)[:, 0]
    q = np.linalg.lstsq(K, k, rcond=None)[0]
    r2 = 1 - k @ q
    S, mu = lam * S + (1 - lam) * K, math.sqrt(lam) * mu
    if r2 > threshold:
        E = np.vstack((np.eye(len(K)), q))  # from u to u and f(x)
        mu, S = E @ mu, E @ S @ E.T
        S[-1, -1] += r2
        centers = np.vstack((centers, x))
        q = np.append(np.zeros(len(K)), 1.0)
        r2 = 0.0
    precision = np.linalg.inv(S)
    after = precision + np.outer(q, q) / (noise + r2)
    evidence = precision @ mu + np.outer(q, target) / (noise + r2)
    return centers, np.linalg.solve(after, evidence), np.linalg.inv(after)


def surprise(centers, mu, gamma):
    """Return how far each center's mean is from what the others say, squared."""
    K = gram(centers, centers, gamma=gamma)
    found = []
    for p in range(len(K)):
        others = np.arange(len(K)) != p
        told = np.linalg.solve(K[np.ix_(others, others)], K[others, p]) @ mu[others]
        found.append(np.sum((mu[p] - told) ** 2))
    return np.array(found)


@pytest.mark.parametrize("lam", (1.0, 0.9))
@pytest.mark.parametrize("budget", (1, 4, 9))
@pytest.mark.parametrize("n_classes", TASKS)
def test_the_least_surprising_center_leaves_and_the_others_stay(n_classes, budget, lam):
    n, gamma, noise, threshold = 40, 0.8, 0.2, 0.05
    X, y = stream(n, n_classes, seed=5, d=2)
    c = weights(n)
    Y = signs_or_numbers(y, n_classes)
    common = {"gamma": gamma, "noise": noise, "threshold": threshold}
    common |= {"forgetting": lam, "budget": budget}
    whole = krls.run(X, y, n_classes, sample_weight=c, **common)
    state = krls.run(X[:1], y[:1], n_classes, sample_weight=c[:1], **common)
    pruned, newcomers = 0, 0
    for t in range(1, n):
        row = gram(X[t : t + 1], state.centers, gamma=gamma)
        np.testing.assert_allclose(row @ state.coef.T, whole.scores[t : t + 1])
        centers, mu, S = by_precision(
            state.centers,
            state.mu,
            state.covariance,
            X[t],
            Y[t],
            noise / c[t],
            lam,
            threshold,
            gamma,
        )
        if len(centers) > budget:
            leaves = int(np.argmin(surprise(centers, mu, gamma)))
            assert whole.victims[t] == leaves
            pruned += 1
            newcomers += leaves == budget
            stay = np.arange(budget + 1) != leaves
            centers, mu, S = centers[stay], mu[stay], S[np.ix_(stay, stay)]
        else:
            assert whole.victims[t] == -1
        state = krls.run(
            X[: t + 1], y[: t + 1], n_classes, sample_weight=c[: t + 1], **common
        )
        np.testing.assert_array_equal(state.centers, centers)
        np.testing.assert_allclose(state.mu, mu, atol=1e-6)
        np.testing.assert_allclose(state.covariance, S, atol=1e-6)
        assert state.n_maintenance == pruned
    assert whole.sizes.max() == budget
    assert 0 < newcomers
    assert budget == 1 or newcomers < pruned


def test_a_newcomer_that_leaves_at_once_is_a_row_that_did_not_come_in():
    X, y = stream(30, seed=6)
    common = {"gamma": 0.5, "noise": 0.1, "forgetting": 0.95}
    # the third target is what the model says: that center surprises least
    first = krls.run(X[:2], y[:2], threshold=0.1, **common)
    f = float((gram(X[2:3], first.centers, gamma=0.5) @ first.coef.T)[0, 0])
    seen = np.append(y[:2], math.sqrt(0.95) * f)
    left = krls.run(X[:3], seen, threshold=0.1, budget=2, **common)
    assert left.victims.tolist() == [-1, -1, 2]
    assert left.sizes.tolist() == [1, 2, 2] and left.n_maintenance == 1
    K, k = gram(X[:2], X[:2], gamma=0.5), gram(X[:2], X[2:3], gamma=0.5)[:, 0]
    q = np.linalg.solve(K, k)
    S = 0.95 * first.covariance + 0.05 * K
    h, var_y = S @ q, 0.1 + 1 - k @ q + q @ S @ q
    S = S - np.outer(h, h) / var_y
    np.testing.assert_allclose(left.covariance, S, atol=1e-7)
    np.testing.assert_allclose(left.mu, math.sqrt(0.95) * first.mu, atol=1e-7)


def test_equal_costs_cost_the_oldest():
    X = 1e3 * np.arange(5.0)[:, None]
    zero = krls.run(X, np.zeros(5), gamma=1.0, budget=2)
    assert zero.victims.tolist() == [-1, -1, 0, 0, 0]
    np.testing.assert_array_equal(zero.centers, X[3:])
    # far apart and of one size, whatever the sign
    signs = krls.run(X, np.array([1, 0, 1, 1, 0]), 2, gamma=1.0, budget=2)
    np.testing.assert_array_equal(signs.centers, X[3:])
    # a smaller one leaves first, be it new
    y = np.array([3.0, 2.0, -1.0, 2.5, 2.2])
    out = krls.run(X, y, gamma=1.0, budget=2)
    assert out.victims.tolist() == [-1, -1, 2, 1, 2]
    np.testing.assert_allclose(out.mu[:, 0], np.array([3.0, 2.5]) / 1.1)
    assert out.n_updates == 5 and out.n_maintenance == 3
    none = krls.run(X, y, gamma=1.0, budget=0)
    assert none.n_maintenance == 5 and none.coef.shape == (1, 0)
    assert not none.scores.any() and none.sizes.tolist() == [0] * 5


# what becomes a center


def test_by_hand():
    """Two rows at k = 1/2, noise 1/4: fractions."""
    X, gamma = np.array([[0.0], [1.0]]), math.log(2)
    out = krls.run(X, np.array([1.0, 2.0]), gamma=gamma, noise=0.25, threshold=0.7)
    near = {"rtol": 1e-7, "atol": 1e-7}
    # mu = 0.8, S = 0.2; then q = 1/2, f = 0.4, r2 = 3/4, var_f = 0.8
    np.testing.assert_allclose(out.scores, [[0.0], [0.4]], **near)
    np.testing.assert_allclose(out.r2, [1.0, 0.75], **near)
    np.testing.assert_allclose(out.variances, [1.0, 0.8], **near)
    # h = 0.1, var_y = 1.05, e = 1.6
    mu = [[0.8 + 0.16 / 1.05], [0.4 + 1.28 / 1.05]]
    np.testing.assert_allclose(out.mu, mu, **near)
    S = [[0.2 - 0.01 / 1.05, 0.1 - 0.08 / 1.05], [0.1 - 0.08 / 1.05, 0.2 / 0.84 * 0.8]]
    np.testing.assert_allclose(out.covariance, S, **near)
    coef = np.linalg.solve([[1.0, 0.5], [0.5, 1.0]], mu).T
    np.testing.assert_allclose(out.coef, coef, **near)
    # 3/4 is not above 0.8: no center
    out = krls.run(X, np.array([1.0, 2.0]), gamma=gamma, noise=0.25, threshold=0.8)
    assert out.sizes.tolist() == [1, 1]
    np.testing.assert_allclose(out.mu, mu[:1], **near)
    np.testing.assert_allclose(out.covariance, [S[0][:1]], **near)
    # forgotten by a quarter's root, a half: f = 0.2, S = 0.8, h = 0.4, var_f = 0.95
    out = krls.run(
        X,
        np.array([1.0, 2.0]),
        gamma=gamma,
        noise=0.25,
        forgetting=0.25,
        sample_weight=np.array([1.0, 0.5]),
    )
    np.testing.assert_allclose(out.scores, [[0.0], [0.4]], **near)
    np.testing.assert_allclose(out.score_variances, [1.0, 0.8], **near)
    np.testing.assert_allclose(out.variances, [1.0, 0.95], **near)
    mu = [[0.4 + 0.4 * 1.8 / 1.45], [0.2 + 0.95 * 1.8 / 1.45]]
    np.testing.assert_allclose(out.mu, mu, **near)


def test_the_threshold_is_open_and_copies_are_no_centers():
    X, y = stream(5)
    out = krls.run(X, y, gamma=0.5, threshold=1.0)  # r2 = 1 is not above it
    assert out.sizes.tolist() == [0] * 5 and not out.scores.any()
    np.testing.assert_array_equal(out.variances, 1.0)
    assert out.n_updates == 5 and out.n_maintenance == 0
    twice = krls.run(np.repeat(X, 3, axis=0), np.repeat(y, 3), gamma=0.5, threshold=0.0)
    np.testing.assert_array_equal(twice.centers, X)
    # three copies of a row are one of thrice the weight
    once = krls.run(X, y, gamma=0.5, threshold=0.0, sample_weight=np.full(5, 3.0))
    np.testing.assert_allclose(twice.mu, once.mu, atol=1e-6)
    np.testing.assert_allclose(twice.covariance, once.covariance, atol=1e-6)
    flat = krls.run(X, y, gamma=0.0, threshold=0.0)  # a constant function
    assert flat.sizes.max() == 1
    assert flat.mu[0, 0] == pytest.approx(np.sum(y) / 5.1)


# weights, outputs, errors


@pytest.mark.parametrize("n_classes", TASKS)
def test_rows_without_weight_are_only_predicted(n_classes):
    X, y = stream(40, n_classes, seed=8)
    c = weights(40) * (np.arange(40) % 3 > 0)
    common = {"gamma": 0.5, "forgetting": 0.9, "budget": 6, "threshold": 0.1}
    out = krls.run(X, y, n_classes, sample_weight=c, **common)
    rest = krls.run(X[c > 0], y[c > 0], n_classes, sample_weight=c[c > 0], **common)
    np.testing.assert_array_equal(out.scores[c > 0], rest.scores)
    np.testing.assert_array_equal(out.covariance, rest.covariance)
    np.testing.assert_array_equal(out.coef, rest.coef)
    assert out.n_updates == np.count_nonzero(c) == rest.n_updates
    assert out.n_maintenance == rest.n_maintenance > 0
    assert out.sizes[3::3].tolist() == out.sizes[2:-1:3].tolist()
    if n_classes is None:
        assert out.n_errors is None
        return
    wrong = 0
    for f, target in zip(out.scores, y, strict=True):
        says = int(f[0] > 0) if n_classes == 2 else f.tolist().index(max(f))
        wrong += says != target
    assert out.n_errors == wrong


@pytest.mark.parametrize("lam", (1.0, 0.9))
def test_outputs_are_regressions_on_signs(lam):
    X, y = stream(40, 4)
    common = {"gamma": 0.5, "threshold": 0.1, "forgetting": lam}
    out = krls.run(X, y, 4, **common)
    for j in range(4):
        one = krls.run(X, np.where(y == j, 1.0, -1.0), **common)
        np.testing.assert_allclose(out.scores[:, j], one.scores[:, 0], atol=1e-12)
        np.testing.assert_allclose(out.mu[:, j], one.mu[:, 0], atol=1e-12)
        np.testing.assert_allclose(out.covariance, one.covariance, atol=1e-12)
    X, y = stream(40, 2)
    binary = krls.run(X, y, 2, budget=5, **common)
    one = krls.run(X, 2.0 * y - 1, budget=5, **common)
    np.testing.assert_array_equal(binary.scores, one.scores)
    np.testing.assert_array_equal(binary.coef, one.coef)


@pytest.mark.parametrize("budget", (None, 5))
def test_two_of_several_classes_are_the_binary_model_up_to_sign(monkeypatch, budget):
    X, y = stream(40, 2)
    common = {"gamma": 0.5, "threshold": 0.1, "forgetting": 0.95, "budget": budget}
    binary = krls.run(X, y, 2, **common)
    flipped = krls.run(X, 1 - y, 2, **common)
    np.testing.assert_array_equal(flipped.scores, -binary.scores)
    if budget is not None:
        # A third class without rows has a say in who leaves: -1 everywhere. Not so 0.
        whole = krls.targets

        def silenced(target, n_classes):
            return whole(target, n_classes) * [1.0, 1.0, 0.0]

        monkeypatch.setattr(krls, "targets", silenced)
    several = krls.run(X, y, 3, **common)
    np.testing.assert_array_equal(several.centers, binary.centers)
    np.testing.assert_array_equal(several.victims, binary.victims)
    np.testing.assert_allclose(several.scores[:, 1], binary.scores[:, 0], atol=1e-12)
    np.testing.assert_allclose(several.scores[:, 0], -binary.scores[:, 0], atol=1e-12)
    np.testing.assert_allclose(several.covariance, binary.covariance, atol=1e-12)


@pytest.mark.parametrize("n_classes", TASKS)
def test_each_score_is_the_last_models(n_classes):
    X, y = stream(25, n_classes)
    common = {"gamma": 0.5, "budget": 6, "forgetting": 0.9}
    whole = krls.run(X, y, n_classes, **common)
    for t in (1, 5, 6, 7, 16, 24):
        part = krls.run(X[:t], y[:t], n_classes, **common)
        row = gram(X[t : t + 1], part.centers, gamma=0.5)
        f = row @ part.coef.T
        np.testing.assert_allclose(whole.scores[t : t + 1], f, rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(part.scores, whole.scores[:t])
        np.testing.assert_array_equal(part.sizes, whole.sizes[:t])


# two memories

MEMORIES = ((1.0, 0.98), (0.98, 0.9), (0.9, 1.0), (0.9, 0.0))


def assert_known(one, other):
    """One memory is the other, a run or a run's second memory."""
    for name in krls.Known._fields:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("lams", MEMORIES)
@pytest.mark.parametrize("n_classes", TASKS)
def test_memories_that_nobody_leaves_are_runs_of_their_own(n_classes, lams):
    X, y = stream(60, n_classes, seed=9)
    c = weights(60) * (np.arange(60) % 5 > 0)
    common = {"gamma": 0.5, "threshold": 0.1, "sample_weight": c}
    both = krls.run(X, y, n_classes, forgetting=lams[0], faster=lams[1], **common)
    first, second = (krls.run(X, y, n_classes, forgetting=a, **common) for a in lams)
    assert first.faster is None and 5 < len(both.centers) < 40
    for alone, found in ((first, both), (second, both.faster)):
        np.testing.assert_array_equal(both.centers, alone.centers)
        np.testing.assert_array_equal(both.sizes, alone.sizes)
        np.testing.assert_array_equal(both.r2, alone.r2)
        assert_known(found, alone)
    assert both.n_errors == first.n_errors
    assert np.abs(first.scores - second.scores).max() > 0.1


@pytest.mark.parametrize("pruning", ("value", "norm"))
@pytest.mark.parametrize("n_classes", TASKS)
def test_equal_memories_are_one(n_classes, pruning):
    X, y = stream(60, n_classes, seed=10)
    common = {"gamma": 0.5, "budget": 6, "forgetting": 0.95, "pruning": pruning}
    both = krls.run(X, y, n_classes, faster=0.95, **common)
    one = krls.run(X, y, n_classes, **common)
    assert both.n_maintenance == one.n_maintenance > 20
    np.testing.assert_array_equal(both.victims, one.victims)
    assert_known(both, one)
    assert_known(both.faster, one)


@pytest.mark.parametrize("pruning", ("value", "norm"))
@pytest.mark.parametrize("budget", (1, 4, 9))
@pytest.mark.parametrize("n_classes", TASKS)
def test_who_surprises_both_memories_least_leaves_both(n_classes, budget, pruning):
    n, gamma, noise, threshold, lams = 40, 0.8, 0.2, 0.05, (1.0, 0.8)
    X, y = stream(n, n_classes, seed=5, d=2)
    c = weights(n)
    Y = signs_or_numbers(y, n_classes)
    out = krls.run(
        *(X, y, n_classes),
        gamma=gamma,
        budget=budget,
        noise=noise,
        forgetting=lams[0],
        faster=lams[1],
        threshold=threshold,
        pruning=pruning,
        sample_weight=c,
    )
    start = krls.run(X[:1], y[:1], n_classes, gamma=gamma, noise=noise / c[0])
    centers = start.centers
    known = [(start.mu, start.covariance)] * 2
    # Who would leave if only one memory were asked.
    differently = np.zeros(2, dtype=int)
    for t in range(1, n):
        after = [
            by_precision(
                *(centers, mu, S, X[t], Y[t]), noise / c[t], lam, threshold, gamma
            )
            for (mu, S), lam in zip(known, lams, strict=True)
        ]
        # The last centers, until somebody leaves them.
        row = gram(X[t : t + 1], centers, gamma=gamma)[0]
        for told, (mu, _) in zip((out, out.faster), known, strict=True):
            f = row @ np.linalg.solve(gram(centers, centers, gamma=gamma), mu)
            np.testing.assert_allclose(told.scores[t], f, atol=1e-6)
        centers = after[0][0]
        known = [(mu, S) for _, mu, S in after]
        victim = -1
        if len(centers) > budget:
            costs = [surprise(centers, mu, gamma) for mu, _ in known]
            if pruning == "norm":
                # The squared norm of what says it, and nothing at the others.
                costs = [cost / own_norms(centers, gamma) for cost in costs]
            victim = int(np.argmin(costs[0] + costs[1]))
            differently += [int(np.argmin(cost)) != victim for cost in costs]
            stay = np.arange(budget + 1) != victim
            centers = centers[stay]
            known = [(mu[stay], S[np.ix_(stay, stay)]) for mu, S in known]
        assert out.victims[t] == victim
    np.testing.assert_array_equal(out.centers, centers)
    for told, (mu, S) in zip((out, out.faster), known, strict=True):
        np.testing.assert_allclose(told.mu, mu, atol=1e-6)
        np.testing.assert_allclose(told.covariance, S, atol=1e-6)
    if budget > 1:
        assert differently.all()


def own_norms(centers, gamma):
    """Return the squared norm of each k(c_p, .) apart from the others' span."""
    K = gram(centers, centers, gamma=gamma)
    found = []
    for p in range(len(K)):
        others = np.arange(len(K)) != p
        cross = K[others, p]
        told = np.linalg.solve(K[np.ix_(others, others)], cross)
        found.append(K[p, p] - told @ cross)
    return np.array(found)

"""The averages of the references against means of stored iterates (T14)."""

import math
from functools import partial

import numpy as np
import pytest

from tests.exact import bogd, bsgd, kernel_sgd, nbsgd, ogd
from tests.exact.averaging import Average, Averager
from tests.exact.expansion import Expansion
from tests.exact.kernels import gram
from tests.exact.losses import slopes
from tests.exact.maintenance import insert, maintain

TASKS = (2, 4, None)
KINDS = (
    Average("full"),
    Average("suffix"),
    Average("suffix", suffix_fraction=0.3),
    Average("poly"),
    Average("poly", exponent=1),
)
KERNELS = {
    "rbf": {"gamma": 0.7},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
    "linear": {"kernel": "linear"},
}


class Told:
    """A generator that returns the numbers it was given."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


def stream(n, n_classes, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    if n_classes is None:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def seeded(run, seed=0):
    """Give a drawing run a fresh generator on each call."""

    def fresh(*args, **options):
        return run(*args, rng=np.random.default_rng(seed), **options)

    return fresh


def exactly(average):
    return Average(average.kind, True, average.suffix_fraction, average.exponent)


def scores_at(probes, centers, coef, kernel):
    K = gram(probes, centers, **{"degree": 3, "coef0": 1.0} | kernel)
    return K @ coef.T


def iterates(run, X, y, probes, kernel, weight=None):
    """Scores of w_1..w_T at the probes, by learning every prefix: (T, n, outputs)."""
    scores = []
    for t in range(len(X)):
        part = None if weight is None else weight[:t]
        w = run(X[:t], y[:t], sample_weight=part, **kernel)
        scores.append(scores_at(probes, w.centers, w.coef, kernel))
    return np.array(scores)


def weights_of(average, T):
    """The weights once more, from the words of the contract."""
    if average.kind == "full":
        return np.ones(T)
    if average.kind == "poly":
        e = average.exponent
        rising = [math.prod(range(t, t + e)) for t in range(1, T + 1)]
        return np.array(rising) / math.factorial(e)
    skipped = math.ceil((1 - average.suffix_fraction) * T)
    return np.repeat([0.0, 1.0], [skipped, T - skipped])


def assert_is_the_mean(run, n_classes, *, averages, kernel, n=26):
    X, y = stream(n, n_classes)
    probes = stream(7, n_classes, seed=1)[0]
    weight = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], size=n)
    stored = iterates(run, X, y, probes, kernel, weight)
    plain = run(X, y, sample_weight=weight, **kernel)
    for average in averages:
        result = run(X, y, sample_weight=weight, average=average, **kernel)
        np.testing.assert_array_equal(result.scores, plain.scores)
        np.testing.assert_array_equal(result.coef, plain.coef)
        np.testing.assert_array_equal(result.centers, plain.centers)
        size = len(result.centers)
        np.testing.assert_array_equal(result.mean_centers[:size], result.centers)
        omega = weights_of(average, n)
        mean = np.tensordot(omega, stored, axes=1) / omega.sum()
        got = scores_at(probes, result.mean_centers, result.mean_coef, kernel)
        np.testing.assert_allclose(got, mean, rtol=1e-10, atol=1e-10)
    return plain, result


def loss_for(n_classes):
    return "squared_error" if n_classes is None else "smooth_hinge"


# systems whose centers stay


STAYING = {
    "kernel_sgd": partial(kernel_sgd.run, alpha=0.1, t0=1.0),
    "kernel_sgd ball": partial(kernel_sgd.run, alpha=0.3, ball=True),
    "ogd": partial(ogd.run, eta0=0.3, alpha=0.1),
    "ogd invscaling": partial(ogd.run, eta0=0.3, learning_rate="invscaling"),
    "bsgd": partial(bsgd.run, budget=99, alpha=0.1, maintenance="merge"),
    "nbsgd": seeded(partial(nbsgd.run, budget=4, maintenance_rate=0.0, alpha=0.3)),
    "bogd": seeded(partial(bogd.run, budget=99, eta0=0.3, max_coef=0.7)),
}


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("system", STAYING)
def test_centers_that_stay_give_the_mean_of_the_iterates(system, n_classes):
    run = partial(STAYING[system], n_classes=n_classes, loss=loss_for(n_classes))
    averages = (*KINDS, *map(exactly, KINDS))
    kernel = KERNELS["rbf"]
    _, result = assert_is_the_mean(run, n_classes, averages=averages, kernel=kernel)
    np.testing.assert_array_equal(result.mean_centers, result.centers)


def test_rows_spread_over_the_stored_ones_count_from_now_on():
    # A linear kernel in three dimensions: later rows are within the span.
    run = partial(
        bsgd.run, budget=5, maintenance="projection", alpha=0.3, loss="log_loss"
    )
    run = partial(run, n_classes=2)
    kernel = KERNELS["linear"]
    plain, _ = assert_is_the_mean(run, 2, averages=KINDS, kernel=kernel)
    assert plain.n_updates > 3 * len(plain.centers)
    assert plain.n_maintenance == 0


@pytest.mark.parametrize("loss", ("hinge", "log_loss", "squared_error"))
def test_mean_of_pegasos_is_a_difference_of_harmonic_numbers(loss):
    n_classes, alpha, T = (None if loss == "squared_error" else 2), 0.4, 60
    X, y = stream(T, n_classes)
    result = kernel_sgd.run(
        X, y, n_classes=n_classes, loss=loss, alpha=alpha, average=Average("full")
    )
    H = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, T + 1))])
    expected = []
    for i in range(1, T + 1):
        g = slopes(loss, result.scores[i - 1], y[i - 1], n_classes)[0]
        if g != 0:
            expected.append(-(g / (alpha * T)) * (H[T - 1] - H[i - 1]))
    assert len(expected) == result.n_updates
    np.testing.assert_allclose(result.mean_coef[0], expected, rtol=1e-12, atol=1e-15)


# systems whose centers leave


LEAVING = {
    "removal": (partial(bsgd.run, maintenance="removal"), "rbf"),
    "merge": (partial(bsgd.run, maintenance="merge"), "rbf"),
    "knn": (partial(bsgd.run, maintenance="projection_knn", n_neighbors=2), "poly"),
    "projection": (partial(bsgd.run, maintenance="projection"), "rbf"),
    "coefficient": (
        partial(bsgd.run, maintenance="projection", victim="coefficient"),
        "poly",
    ),
}


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("ball", (False, True))
@pytest.mark.parametrize("strategy", LEAVING)
def test_exact_average_of_bsgd_is_the_mean_of_the_iterates(strategy, ball, n_classes):
    run, kernel = LEAVING[strategy]
    options = {"n_classes": n_classes, "loss": loss_for(n_classes)}
    run = partial(run, budget=5, alpha=0.5, ball=ball, **options)
    averages, kernel = map(exactly, KINDS), KERNELS[kernel]
    plain, result = assert_is_the_mean(run, n_classes, averages=averages, kernel=kernel)
    assert plain.n_maintenance > 5
    assert len(result.mean_centers) > len(result.centers)


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("maintenance", ("removal", "merge", "projection"))
def test_exact_average_of_nbsgd_is_the_mean_of_the_iterates(maintenance, n_classes):
    options = {"n_classes": n_classes, "loss": loss_for(n_classes), "alpha": 0.5}
    run = partial(nbsgd.run, maintenance=maintenance, budget=4, **options)
    run = seeded(partial(run, maintenance_rate=12.0))
    plain, _ = assert_is_the_mean(
        run, n_classes, averages=map(exactly, KINDS), kernel=KERNELS["rbf"]
    )
    assert plain.n_maintenance > 5
    assert len(plain.centers) > 4


@pytest.mark.parametrize("n_classes", TASKS)
@pytest.mark.parametrize("max_coef", (1.0, math.inf))
@pytest.mark.parametrize("sampling", ("uniform", "weighted"))
def test_exact_average_of_bogd_is_the_mean_of_the_iterates(
    sampling, max_coef, n_classes
):
    options = {"n_classes": n_classes, "loss": loss_for(n_classes), "eta0": 0.2}
    run = partial(bogd.run, sampling=sampling, max_coef=max_coef, budget=5, **options)
    plain, result = assert_is_the_mean(
        seeded(run), n_classes, averages=map(exactly, KINDS), kernel=KERNELS["rbf"]
    )
    assert plain.n_maintenance > 5
    assert len(result.mean_centers) > 5


@pytest.mark.parametrize("average", KINDS)
def test_projection_within_the_span_loses_nothing(average):
    # Any two rows span a linear kernel's plane: the mass is moved, and none is lost.
    X, y = stream(40, 2, d=2)
    run = partial(
        bsgd.run, X, y, budget=6, n_classes=2, loss="log_loss", kernel="linear"
    )
    run = partial(run, maintenance="projection_knn", n_neighbors=2, jitter=0.0)
    folded, exact = run(average=average), run(average=exactly(average))
    assert folded.n_maintenance > 20
    assert len(folded.mean_centers) == 6
    np.testing.assert_allclose(
        folded.mean_coef @ folded.mean_centers,
        exact.mean_coef @ exact.mean_centers,
        rtol=1e-9,
    )


@pytest.mark.parametrize("average", KINDS)
def test_merging_a_point_with_itself_loses_nothing(average):
    X, y = np.zeros((12, 1)), np.ones(12, dtype=int)
    run = partial(bsgd.run, X, y, n_classes=2, loss="log_loss", average=average)
    folded, free = run(budget=1, maintenance="merge"), run(budget=99)
    assert folded.n_maintenance == 11
    assert len(folded.mean_centers) == 1
    assert folded.mean_coef.sum() == pytest.approx(free.mean_coef.sum(), rel=1e-12)


@pytest.mark.parametrize("average", KINDS)
@pytest.mark.parametrize("maintenance", ("removal", "merge", "projection_knn"))
def test_folded_average_has_the_present_centers_only(maintenance, average):
    X, y = stream(40, 4)
    result = bsgd.run(
        X, y, budget=5, n_classes=4, maintenance=maintenance, average=average
    )
    np.testing.assert_array_equal(result.mean_centers, result.centers)
    assert result.mean_coef.shape == result.coef.shape


# the weights


def test_weights():
    def weights(average, T):
        return [average.weight(t, T) for t in range(1, T + 1)]

    assert weights(Average("full"), 3) == [1, 1, 1]
    assert weights(Average("suffix"), 4) == [0, 0, 1, 1]
    assert weights(Average("suffix"), 5) == [0, 0, 0, 1, 1]
    assert weights(Average("suffix"), 1) == [0]
    assert weights(Average("suffix", suffix_fraction=0.25), 5) == [0, 0, 0, 0, 1]
    assert weights(Average("suffix", suffix_fraction=1.0), 2) == [1, 1]
    for fraction, count in ((0.1, 1), (0.3, 3), (0.7, 7), (0.9, 9), (1 / 3, 3)):
        average = Average("suffix", suffix_fraction=fraction)
        assert sum(weights(average, 10)) == count
    assert weights(Average("poly"), 4) == [1, 4, 10, 20]
    assert weights(Average("poly", exponent=0), 3) == [1, 1, 1]
    with pytest.raises(ValueError, match="unknown average"):
        Average("mean").weight(1, 1)


@pytest.mark.parametrize("e", (1, 3))
def test_poly_weights_are_the_recursion(e):
    T = 32
    X, y = stream(T, 2)
    probes, kernel = stream(7, 2, seed=1)[0], KERNELS["rbf"]
    run = partial(bsgd.run, budget=5, maintenance="merge", n_classes=2, loss="log_loss")
    mean = 0.0
    for t, w in enumerate(iterates(run, X, y, probes, kernel), start=1):
        r = (e + 1) / (t + e)
        mean = (1 - r) * mean + r * w
    result = run(X, y, average=Average("poly", exact=True, exponent=e), **kernel)
    got = scores_at(probes, result.mean_centers, result.mean_coef, kernel)
    np.testing.assert_allclose(got, mean, rtol=1e-10, atol=1e-10)
    weights = [Average("poly", exponent=e).weight(t, T) for t in range(1, T + 1)]
    assert sum(weights) == math.comb(T + e, e + 1)


def test_without_an_average_there_is_no_mean():
    X, y = stream(5, 2)
    result = kernel_sgd.run(X, y, n_classes=2)
    assert result.mean_centers is None
    assert result.mean_coef is None


@pytest.mark.parametrize("exact", (False, True))
def test_if_no_row_counts_the_last_iterate_is_the_answer(exact):
    X, y = stream(3, 2)
    average = Average("suffix", exact, suffix_fraction=0.2)
    result = bsgd.run(X, y, n_classes=2, budget=1, loss="log_loss", average=average)
    np.testing.assert_array_equal(result.mean_centers, result.centers)
    np.testing.assert_array_equal(result.mean_coef, result.coef)
    assert result.n_maintenance == 2
    assert np.all(result.coef != 0)
    nothing = bsgd.run(X[:0], y[:0], n_classes=2, budget=1, average=Average("full"))
    assert nothing.mean_centers.shape == (0, 3)
    assert nothing.mean_coef.shape == (1, 0)


def test_rows_without_a_slope_or_a_weight_count():
    # One step of size 1, halved and halved again: 0, 1, then 1/2 and 1/3 by shrinking.
    X, y = np.zeros((4, 1)), np.ones(4, dtype=int)
    run = partial(kernel_sgd.run, X, y, n_classes=2, alpha=1.0, average=Average("full"))
    result = run(sample_weight=np.array([1.0, 0.0, 0.0, 0.0]))
    assert result.mean_coef[0] == pytest.approx([(0 + 1 + 1 / 2 + 1 / 3) / 4])
    # The same where the slope is 0 on the second row, since f = 1 then.
    result = ogd.run(X, y, n_classes=2, eta0=1.0, average=Average("full"))
    assert result.n_updates == 1
    assert result.mean_coef[0].tolist() == [3 / 4]


# what becomes of a mass


FAR = np.array([[0.0], [100.0], [200.0]])  # k = 0 between them


def test_removed_mass_by_hand():
    # w_1 = 0, w_2 = phi_1, w_3 = -phi_2 / 2 (1 has left), and w_4 does not count.
    run = partial(bsgd.run, FAR, np.array([1, 0, 1]), budget=1, alpha=1.0, n_classes=2)
    dropped = run(average=Average("full"))
    assert dropped.coef[0] == pytest.approx([1 / 3])
    assert dropped.mean_centers.tolist() == [[200.0]]
    assert dropped.mean_coef.tolist() == [[0.0]]
    exact = run(average=Average("full", exact=True))
    assert exact.mean_centers.tolist() == [[200.0], [0.0], [100.0]]
    assert exact.mean_coef[0] == pytest.approx([0, 1 / 3, -1 / 6])
    poly = run(average=Average("poly", exact=True))  # weights 1, 4, 10
    assert poly.mean_coef[0] == pytest.approx([0, 4 / 15, -5 / 15])
    suffix = run(average=Average("suffix", exact=True))  # w_3 alone
    assert suffix.mean_centers.tolist() == [[200.0], [100.0]]
    assert suffix.mean_coef[0] == pytest.approx([0, -1 / 2])


def test_replaced_mass_by_hand():
    # w_1 = 0, w_2 = phi_1, w_3 = phi_1 + phi_2; row 3 takes the first slot, and
    # w_4 = phi_3 + 2 phi_2 (stretched by 1 / (1 - 1/2)), clipped to phi_3 + 1.5 phi_2.
    X, y = np.concatenate([FAR, [[300.0]]]), np.ones(4, dtype=int)

    def run(exact):
        return bogd.run(
            X,
            y,
            budget=2,
            rng=Told(0.0, 0.75),
            alpha=0.0,
            max_coef=1.5,
            n_classes=2,
            average=Average("full", exact),
        )

    # row 4 takes the second slot: w_5 = 1.5 phi_3 + phi_4
    dropped = run(exact=False)
    assert dropped.centers.tolist() == [[200.0], [300.0]]
    assert dropped.coef.tolist() == [[1.5, 1.0]]
    # 3 has been there with 1; 2, gone now, with 1 and 1.5; 1 twice with 1
    assert dropped.mean_centers.tolist() == [[200.0], [300.0]]
    assert dropped.mean_coef.tolist() == [[1 / 4, 0.0]]
    exact = run(exact=True)
    assert exact.mean_centers.tolist() == [[200.0], [300.0], [0.0], [100.0]]
    assert exact.mean_coef.tolist() == [[1 / 4, 0.0, 2 / 4, 2.5 / 4]]


def placed(coef, centers, mass, n_classes=2):
    """A model on a line, exp(-d^2), with masses."""
    options = {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 1.0}
    model = Expansion(1, n_classes, **options)
    raws = [np.atleast_1d(np.array(a, dtype=float)) for a in coef]
    for a, c in zip(raws, centers, strict=True):
        model.append(np.array([c]), a)
    model.mass = [np.atleast_1d(np.array(m, dtype=float)) for m in mass]
    return model, raws


def maintained(model, raws, maintenance, **options):
    defaults = {"n_neighbors": 4, "victim": "residual", "jitter": 0.0}
    maintain(model, raws, maintenance=maintenance, **defaults | options)
    return [m.tolist() for m in model.mass]


def retired(model):
    return [(float(c[0]), m.tolist()) for c, m in model.retired]


def test_removed_mass_of_one_operation():
    model, raws = placed([3.0, 1.0, 2.0], [0.0, 1.0, 2.0], [5.0, 6.0, 7.0])
    assert maintained(model, raws, "removal") == [[5.0], [7.0]]
    model, raws = placed([3.0, 1.0, 2.0], [0.0, 1.0, 2.0], [5.0, 6.0, 7.0])
    model.retired = []
    assert maintained(model, raws, "removal") == [[5.0], [7.0]]
    assert retired(model) == [(1.0, [6.0])]


@pytest.mark.parametrize("coef", ([1.0, 1.0], [1.0, 3.0], [3.0, 1.0]))
def test_merged_mass_of_one_operation(coef):
    mass = [-4.0, 7.0]
    model, raws = placed(coef, [0.0, 0.5], mass)
    ((got,),) = maintained(model, raws, "merge")
    z = float(model.centers[0][0])
    assert 0 < z < 0.5
    u, v = math.exp(-(z**2)), math.exp(-((0.5 - z) ** 2))
    assert float(model.coef[0][0]) == pytest.approx(coef[0] * u + coef[1] * v)
    assert got == pytest.approx(mass[0] * u + mass[1] * v)
    # exact: both retire, and the merged one begins anew
    model, raws = placed(coef, [0.0, 0.5], mass)
    model.retired = []
    assert maintained(model, raws, "merge") == [[0.0]]
    assert sorted(retired(model)) == [(0.0, [-4.0]), (0.5, [7.0])]


def test_merged_mass_of_coincident_centers_is_the_sum():
    coef, centers = [[1.0, -1.0, 0.0], [2.0, -2.0, 0.0]], [0.0, 1e-5]
    mass = [[1.0, 2.0, -3.0], [4.0, -5.0, 1.0]]
    model, raws = placed(coef, centers, mass, n_classes=3)
    assert maintained(model, raws, "merge") == [[5.0, -3.0, -2.0]]
    model, raws = placed(coef, centers, mass, n_classes=3)
    model.retired = []
    assert maintained(model, raws, "merge") == [[0.0, 0.0, 0.0]]
    assert sorted(retired(model)) == list(zip(centers, mass, strict=True))


def test_merged_mass_of_several_is_that_of_one_pair_after_another():
    coef, centers, mass = [1.0, 3.0, 2.0], [0.0, 0.5, 1.0], [-4.0, 7.0, 5.0]
    model, raws = placed(coef[:2], centers[:2], mass[:2])
    ((mass_of_pair,),) = maintained(model, raws, "merge")
    z, a = float(model.centers[0][0]), float(raws[0][0])
    model, raws = placed(coef, centers, mass)
    ((got,),) = maintained(model, raws, "merge", n_merged=3)
    last = float(model.centers[0][0])
    u, v = math.exp(-((last - z) ** 2)), math.exp(-((1.0 - last) ** 2))
    assert float(model.coef[0][0]) == pytest.approx(a * u + 2.0 * v)
    assert got == pytest.approx(mass_of_pair * u + 5.0 * v)
    # exact: all three retire, and no point on the way does
    model, raws = placed(coef, centers, mass)
    model.retired = []
    assert maintained(model, raws, "merge", n_merged=3) == [[0.0]]
    assert sorted(retired(model)) == [(0.0, [-4.0]), (0.5, [7.0]), (1.0, [5.0])]


def test_mass_of_a_center_without_a_partner_goes_to_the_nearest():
    model, raws = placed([-1.0, 2.0, 3.0], [0.0, 1.0, -0.5], [8.0, 6.0, 7.0])
    k = math.exp(-0.25)
    got = maintained(model, raws, "merge")
    assert np.ravel(got) == pytest.approx([6.0, 7.0 + 8.0 * k])
    assert np.ravel(model.coef) == pytest.approx([2.0, 3.0 - k])
    model, raws = placed([-1.0, 2.0, 3.0], [0.0, 1.0, -0.5], [8.0, 6.0, 7.0])
    model.retired = []
    assert maintained(model, raws, "merge") == [[6.0], [7.0]]
    assert retired(model) == [(0.0, [8.0])]


def test_mass_of_a_lone_merging_center_goes_with_it():
    model, raws = placed([1.0], [0.0], [8.0])
    assert maintained(model, raws, "merge") == []
    model, raws = placed([1.0], [0.0], [8.0])
    model.retired = []
    assert maintained(model, raws, "merge") == []
    assert retired(model) == [(0.0, [8.0])]


@pytest.mark.parametrize("maintenance", ("projection", "projection_knn"))
def test_projected_mass_of_one_operation(maintenance):
    # The middle one of three, on both others: d (1 + k(0, 2)) = k(0, 1).
    coef, centers, mass = [3.0, 1.0, 2.0], [0.0, 1.0, 2.0], [5.0, 6.0, 7.0]
    d = math.exp(-1) / (1 + math.exp(-4))
    model, raws = placed(coef, centers, mass)
    got = maintained(model, raws, maintenance)
    assert np.ravel(got) == pytest.approx([5.0 + 6.0 * d, 7.0 + 6.0 * d])
    assert np.ravel(model.coef) == pytest.approx([3.0 + d, 2.0 + d])
    model, raws = placed(coef, centers, mass)
    model.retired = []
    assert maintained(model, raws, maintenance) == [[5.0], [7.0]]
    assert np.ravel(model.coef) == pytest.approx([3.0 + d, 2.0 + d])
    assert retired(model) == [(1.0, [6.0])]


def test_projected_mass_on_one_neighbour():
    model, raws = placed([3.0, 1.0, 2.0], [0.0, 1.0, 1.5], [5.0, 6.0, 7.0])
    got = maintained(model, raws, "projection_knn", n_neighbors=1)
    assert np.ravel(got) == pytest.approx([5.0, 7.0 + 6.0 * math.exp(-0.25)])


def test_a_point_spread_over_the_stored_ones_moves_no_mass():
    model, raws = placed([3.0, 1.0], [0.0, 1.0], [5.0, 6.0])
    step = np.array([2.0])
    stored = insert(
        model,
        raws,
        np.array([1.0]),
        step,
        step,
        maintenance="projection",
        jitter=1e-8,
    )
    assert not stored
    assert np.ravel(model.coef) == pytest.approx([3.0, 3.0], rel=1e-6)
    assert np.ravel(model.mass).tolist() == [5.0, 6.0]


def test_an_averager_beside_a_model_that_changes_by_hand():
    # For a system with its own loop: centers appended, coefficients changed, scaled.
    model, _ = placed([], [], [])
    averager = Averager(model, Average("poly"), n_rows=4)  # weights 1, 4, 10, 20
    averager.see()
    model.append(np.array([1.0]), np.array([2.0]))
    averager.see()
    model.multiply(0.5)
    model.append(np.array([2.0]), np.array([-1.0]))
    averager.see()
    model.coef[0] = model.coef[0] + 3.0
    averager.see()
    centers, coef = averager.mean()
    assert centers.tolist() == [[1.0], [2.0]]
    expected = [(4 * 2 + 10 * 1 + 20 * 4) / 35, (10 * -1 + 20 * -1) / 35]
    assert coef[0] == pytest.approx(expected)

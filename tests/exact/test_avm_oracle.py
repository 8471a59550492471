"""The AVM reference against what must hold without an engine (4.6, T11, T12, T22)."""

import math

import numpy as np
import pytest

from tests.exact import avm, kernel_sgd
from tests.exact.ball import radius as ball_radius
from tests.exact.expansion import Expansion
from tests.exact.kernels import gram
from tests.exact.losses import crammer_singer, slope, slopes

CLASSIFICATION = ("hinge", "smooth_hinge", "squared_hinge", "log_loss")
REGRESSION = ("squared_error", "absolute_error", "epsilon_insensitive")
TASKS_AND_LOSSES = [
    *((n_classes, loss) for n_classes in (2, 4) for loss in CLASSIFICATION),
    *((None, loss) for loss in REGRESSION),
]
COVERAGES = (("sphere", False), ("box", False), ("box", True), ("grid", False))


class Told:
    """A generator that returns the numbers it was given, and must return them all."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


def fresh(seed=0):
    return np.random.default_rng(seed)


def stream(n, n_classes, seed=0, d=3):
    """Noisy rows, some with a zero slope and many without."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(2 * X[:, 0]) + X[:, -1] + 0.5 * rng.normal(size=n)
    if n_classes is None:
        return X, signal
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal)


def counted(X, radius, numbers=None, **options):
    """Learn rows whose slope is always -1: return the run and updates per center.

    Then T alpha a_i is the number of rows added to center i.
    """
    X = np.array(X, dtype=float).reshape(len(X), -1)
    rng = Told(*([0.5] * len(X) if numbers is None else numbers))
    y = np.full(len(X), 1e3)
    options |= {"loss": "absolute_error", "alpha": 1.0, "coverage_radius": radius}
    out = avm.run(X, y, rng=rng, **options)
    assert rng.numbers == []
    counts = len(X) * out.coef[0]
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    return out, np.round(counts).astype(int).tolist()


def assert_same(a, b, tol=1e-12):
    np.testing.assert_allclose(a.scores, b.scores, rtol=tol, atol=tol)
    np.testing.assert_array_equal(a.centers, b.centers)
    np.testing.assert_allclose(a.coef, b.coef, rtol=tol, atol=tol)
    np.testing.assert_array_equal(a.sizes, b.sizes)
    for name in ("n_updates", "n_maintenance", "n_mistakes", "n_errors"):
        assert getattr(a, name) == getattr(b, name), name


def cores_of(out):
    return out.centers[out.diagnostics["cores"] == 1]


def most_in_a_line(X, radius):
    """Return how many points of the range of X can lie pairwise a radius apart."""
    return math.floor((X.max() - X.min()) / radius) + 1


# by hand


def test_five_steps_of_the_sphere_by_hand():
    X = np.array([[0.0], [0.4], [1.0], [0.5], [0.75], [0.7]])
    y = np.array([1, 0, 1, 1, 1, 1])
    rng = Told(*[0.0] * 5)  # beta = 0: even u = 0 approximates; row 6 does not ask
    out = avm.run(X, y, n_classes=2, alpha=0.5, coverage_radius=0.5, rng=rng)
    assert rng.numbers == []
    e = math.exp
    expected = [
        0.0,  # -> core 0.0 with 1 / (alpha 1)
        2 * e(-0.16),  # covered by 0.0; 2 / 2 - 1 / (alpha 2) cancels to 0
        0.0,  # -> core 1.0 with 1 / (alpha 3)
        2 / 3 * e(-0.25),  # a radius from both cores: not covered -> core
        (e(-0.0625) + e(-0.0625)) / 2,  # as far from 0.5 as from 1.0: to the older
        0.8 * e(-0.09) + 0.4 * e(-0.04),  # > 1: shrinks only
    ]
    np.testing.assert_allclose(out.scores[:, 0], expected, rtol=1e-14)
    assert out.centers.tolist() == [[0.0], [1.0], [0.5]]
    np.testing.assert_allclose(out.coef, [[0.0, 2 / 3, 1 / 3]], atol=1e-15)
    assert out.sizes.tolist() == [1, 1, 2, 3, 3, 3]
    assert (out.n_updates, out.n_maintenance, out.n_errors) == (5, 0, 3)
    assert out.diagnostics["cores"].tolist() == [1, 1, 1]
    assert out.diagnostics["absorbed"].tolist() == [0]
    np.testing.assert_allclose(out.diagnostics["assigned"], [0, 0.4, 0, 0, 0.25])


def test_three_classes_by_hand():
    X, y = np.array([[0.0], [0.3], [2.0]]), np.array([2, 1, 0])
    out = avm.run(X, y, n_classes=3, alpha=0.5, coverage_radius=1.0, rng=fresh())
    # t = 1: runner-up 0 of the tie. t = 2: f = 2k (-1, 0, 1), 2 is the runner-up, and
    # its step at the core of row 1 meets the shrunken (-1, 0, 1).
    # t = 3: f = k' (-1, 1, 0), so 1 is the runner-up.
    k, far = math.exp(-0.09), math.exp(-4)
    np.testing.assert_allclose(
        out.scores, [[0, 0, 0], [-2 * k, 0, 2 * k], [-far, far, 0]]
    )
    np.testing.assert_allclose(
        out.coef.T, [[-2 / 3, 2 / 3, 0], [2 / 3, -2 / 3, 0]], atol=1e-15
    )
    assert out.centers.tolist() == [[0.0], [2.0]]


def test_the_slope_is_taken_at_the_row_and_the_step_at_the_core():
    X, y = np.array([[0.0], [1.0]]), np.array([1.0, 3.0])
    options = {"loss": "squared_error", "alpha": 0.5, "t0": 2.0}
    out = avm.run(X, y, coverage_radius=1.5, rng=fresh(), **options)
    first = 1 / (0.5 * 3)
    f = first * math.exp(-1)  # at x = 1, unshrunken
    assert out.scores[1, 0] == pytest.approx(f, rel=1e-14)
    assert out.centers.tolist() == [[0.0]]
    np.testing.assert_allclose(out.coef, [[first * 3 / 4 + (3 - f) / (0.5 * 4)]])


def test_the_sphere_is_open_and_nearest_first():
    out, counts = counted([0, 2, 1.0, 1.9, 0.5, 1.0], 1.0)
    # 1.0 is a whole radius from both and a core of its own; 0.5 as far from 0 as from
    # 1.0 goes to the older
    assert np.ravel(out.centers).tolist() == [0, 2, 1]
    assert counts == [2, 2, 2]
    np.testing.assert_allclose(out.diagnostics["assigned"], [0, 0, 0, 0.1, 0.5, 0])


def test_the_box_is_open_and_takes_the_nearest_of_its_hits():
    root = math.sqrt(2)  # half a side is 1
    out, counts = counted([[0, 0], [0.9, -0.9], [1, 0]], root, coverage="box")
    assert out.centers.tolist() == [[0, 0], [1, 0]]
    assert counts == [2, 1]
    assert out.diagnostics["assigned"][1] == pytest.approx(0.9 * root)
    # both hit, the younger is nearer
    X = [[0, 0], [1.5, 0], [0.8, 0]]
    out, counts = counted(X, root, coverage="box")
    assert counts == [1, 2]
    assert out.diagnostics["assigned"][2] == pytest.approx(0.7)
    # both hit, equally near: the older
    assert counted([[0, 0], [1, 0], [0.5, 0]], root, coverage="box")[1] == [2, 1]
    # the nearest core of all is no hit
    X = [[1, 0], [-0.9, 0.9], [0, 0]]
    out, counts = counted(X, root, coverage="box")
    assert counts == [1, 2]
    assert out.diagnostics["assigned"][2] == pytest.approx(0.9 * root)
    # the sphere would take it
    assert counted(X, root)[1] == [2, 1]


def test_the_box_of_the_paper_is_twice_as_wide():
    X, root = [[0, 0], [1.9, 1.9], [2, 0], [4, 0]], math.sqrt(2)
    out, counts = counted(X, root, coverage="box", paper_box=True)
    assert out.centers.tolist() == [[0, 0], [2, 0], [4, 0]]
    assert counts == [2, 1, 1]
    assert len(counted(X, root, coverage="box")[0].centers) == 4
    # no other cover listens to it
    for coverage in ("sphere", "grid"):
        a = counted(X, root, coverage=coverage, paper_box=True)[0]
        assert_same(a, counted(X, root, coverage=coverage)[0])


def test_grid_cells_are_half_open_and_negative_too():
    X = [0.1, -0.1, 0.9, -0.9, 1.0, 0.0, -1.0, -1.1, -0.0]
    out, counts = counted(X, 0.5, coverage="grid")
    assert np.ravel(out.centers).tolist() == [0.1, -0.1, 1.0, -1.1]
    assert counts == [4, 3, 1, 1]  # [0, 1) has 0.1 0.9 0.0 -0.0, [-1, 0) the next
    # in the plane the side is 2 r / sqrt(2): here 2
    X = [[0.1, 0.1], [1.9, 1.9], [2.0, 0.1], [0.1, -0.1], [3.9, 1.9]]
    out, counts = counted(X, math.sqrt(2), coverage="grid")
    assert out.centers.tolist() == [[0.1, 0.1], [2.0, 0.1], [0.1, -0.1]]
    assert counts == [2, 2, 1]
    # within a cell the core may be further than a radius, and outside it nearer
    assert out.diagnostics["assigned"].max() > math.sqrt(2)


def test_an_ordinary_center_is_never_a_core():
    # beta = rho = 1: Z = 1 iff u >= 1 / t
    X, numbers = [0, 0, 0.1, 0.1, 0.1], [0.999, 0.5, 0.33, 0.25, 0.1]
    out, counts = counted(X, 1.0, numbers, approx_beta=1.0)
    # Z = 0: stored. Z = 1: no core yet, so the same point again. Z = 0: though covered,
    # stored. Z = 1: to the core at 0, not to the ordinary 0.1. Z = 0.
    assert np.ravel(out.centers).tolist() == [0, 0, 0.1, 0.1]
    assert out.diagnostics["cores"].tolist() == [0, 1, 0, 0]
    assert counts == [1, 2, 1, 1]
    np.testing.assert_allclose(out.diagnostics["assigned"], [0, 0.1])
    assert out.sizes.tolist() == [1, 2, 3, 3, 4]
    # ordinary centers do not count against max_core either
    again = counted(X, 1.0, numbers, approx_beta=1.0, max_core=1)[0]
    assert_same(again, out)


@pytest.mark.parametrize("rho", (0.5, 1.0, 1.5))
def test_the_schedule_compares_the_number_with_beta_over_t_to_the_rho(rho):
    n, beta = 6, 1.7
    limits = [beta / t**rho for t in range(1, n + 1)]
    X = 10.0 * np.arange(n)
    options = {"approx_beta": beta, "approx_rho": rho}
    at, _ = counted(X, 1.0, [min(limit, 0.999) for limit in limits], **options)
    expected = [int(limit <= 0.999) for limit in limits]
    assert at.diagnostics["cores"].tolist() == expected
    assert 0 in expected and 1 in expected
    below = [min(math.nextafter(limit, 0), 0.999) for limit in limits]
    assert counted(X, 1.0, below, **options)[0].diagnostics["cores"].sum() == 0


def test_an_uncovered_row_beyond_max_core_goes_to_the_nearest_core():
    X = [0, 10, 4, 6, 5, 9.5, 100]
    out, counts = counted(X, 1.0, max_core=2)
    # 4 to 0, 6 to 10, 5 is half way and goes to the older, 9.5 is covered, 100 to 10
    assert np.ravel(out.centers).tolist() == [0, 10]
    assert counts == [3, 4]
    assert out.diagnostics["absorbed"].tolist() == [4]
    assert out.n_maintenance == 0
    np.testing.assert_allclose(out.diagnostics["assigned"], [0, 0, 4, 4, 5, 0.5, 90])
    # whatever the cover, the nearest is by Euclidean distance
    X = [[3, 0], [-2.5, 2.5], [0, 0]]
    for coverage in ("box", "grid"):
        out, counts = counted(X, 0.1, coverage=coverage, max_core=2)
        assert counts == [2, 1]
        assert out.diagnostics["absorbed"].tolist() == [1]
    # a row with Z = 0 is stored all the same
    numbers = [0.9, 0.9, 0.9, 0.1]
    out, counts = counted(
        [0, 10, 5, 5], 1.0, numbers, max_core=2, approx_beta=0.5, approx_rho=0.1
    )
    assert counts == [2, 1, 1]
    assert out.diagnostics["cores"].tolist() == [1, 1, 0]


def test_only_rows_with_a_slope_ask_for_cover():
    # weight 0 or an exact fit: nothing to add
    X = np.array([[0.0], [10.0], [20.0], [30.0], [20.5]])
    y = np.array([5.0, 5.0, 0.0, 0.0, 5.0])
    options = {"sample_weight": np.array([1.0, 0.0, 1.0, 1.0, 1.0])}
    options |= {"loss": "absolute_error", "alpha": 0.5, "coverage_radius": 1.0}
    options |= {"approx_beta": 1.0, "approx_rho": 0.5, "gamma": 10.0}
    rng = Told(0.9, 0.9)  # Z = 0 for t = 1, Z = 1 for t = 5
    lazy = avm.run(X, y, rng=rng, **options)
    assert rng.numbers == []
    assert lazy.centers.tolist() == [[0.0], [20.5]]
    assert lazy.diagnostics["cores"].tolist() == [0, 1]
    # eager: a number for each row; Z = 0 without a slope does nothing
    rng = Told(0.9, 0.9, 0.9, 0.1, 0.9)
    eager = avm.run(X, y, rng=rng, lazy_core=False, **options)
    assert rng.numbers == []
    assert eager.centers.tolist() == [[0.0], [10.0], [20.0]]
    np.testing.assert_allclose(eager.coef, [[0.4, 0.0, 0.4]])
    assert eager.diagnostics["cores"].tolist() == [0, 1, 1]
    assert eager.sizes.tolist() == [1, 2, 3, 3, 3]
    np.testing.assert_array_equal(eager.diagnostics["assigned"], [0.5])
    assert eager.n_updates == lazy.n_updates == 2
    # at max_core a row without a slope is neither stored nor counted
    rng = Told(0.9, 0.9, 0.9, 0.9, 0.9)
    full = avm.run(X, y, rng=rng, lazy_core=False, max_core=1, **options)
    assert rng.numbers == []
    assert full.centers.tolist() == [[0.0], [10.0]]
    np.testing.assert_allclose(full.coef, [[0.4, 0.4]])
    assert full.diagnostics["absorbed"].tolist() == [1]
    np.testing.assert_array_equal(full.diagnostics["assigned"], [10.5])


def test_unknown_coverage():
    with pytest.raises(ValueError, match="disc"):
        counted([0, 0], 1.0, coverage="disc")


# the whole run, unrolled


def replay(X, slopes_of_rows, numbers, *, coverage, paper_box, radius, beta, rho, cap):
    """Return the row that stands for each learned row (3.4), by plain loops."""
    d = X.shape[1]
    cores, owner = [], {}
    numbers = iter(numbers)
    for i in range(len(X)):
        if not slopes_of_rows[i].any():
            continue
        owner[i] = i
        if next(numbers) < beta / (i + 1) ** rho:
            continue
        best = None
        for c in cores:
            gaps = [abs(X[i, k] - X[c, k]) for k in range(d)]
            if coverage == "sphere":
                hit = math.hypot(*gaps) < radius
            elif coverage == "box":
                hit = max(gaps) * math.sqrt(d) < radius * (1 + paper_box)
            else:
                side = 2 * radius / math.sqrt(d)
                hit = all(X[i, k] // side == X[c, k] // side for k in range(d))
            if hit and (best is None or math.hypot(*gaps) < best[0]):
                best = (math.hypot(*gaps), c)
        if best is not None:
            owner[i] = best[1]
        elif len(cores) < cap:
            cores.append(i)
        else:
            owner[i] = min(cores, key=lambda c: math.dist(X[c], X[i]))
    return owner


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize(("coverage", "paper_box"), COVERAGES)
@pytest.mark.parametrize(("cap", "beta"), ((1000, 0.0), (5, 4.0)))
def test_the_model_is_the_mean_of_its_slopes(
    n_classes, loss, coverage, paper_box, cap, beta
):
    n, d, radius, rho, alpha, t0 = 50, 2, 0.8, 0.7, 0.3, 4.0
    X, y = stream(n, n_classes, seed=3, d=d)
    weight = np.random.default_rng(1).uniform(size=n) * (np.arange(n) % 6 > 0)
    out = avm.run(
        X,
        y,
        coverage=coverage,
        paper_box=paper_box,
        coverage_radius=radius,
        approx_beta=beta,
        approx_rho=rho,
        max_core=cap,
        rng=fresh(9),
        n_classes=n_classes,
        loss=loss,
        alpha=alpha,
        t0=t0,
        sample_weight=weight,
    )
    g = [weight[i] * slopes(loss, out.scores[i], y[i], n_classes) for i in range(n)]
    setting = {"coverage": coverage, "paper_box": paper_box, "radius": radius}
    setting |= {"beta": beta, "rho": rho, "cap": cap}
    owner = replay(X, g, fresh(9).random(n), **setting)
    stored = sorted(set(owner.values()))
    np.testing.assert_array_equal(out.centers, X[stored])
    # w_{T+1} = -1 / (alpha (T + t0)) sum_t g_t phi(z_t), and likewise before
    K = gram(X, X)
    for t in range(n + 1):
        total = np.zeros((n, len(out.coef)))
        for i, z in owner.items():
            if i < t:
                total[z] -= g[i]
        if t < n:
            f = K[t] @ total / (alpha * (t + t0))
            np.testing.assert_allclose(out.scores[t], f, rtol=1e-9, atol=1e-11)
            assert out.sizes[t] == len({z for i, z in owner.items() if i <= t})
    np.testing.assert_allclose(
        out.coef, total[stored].T / (alpha * (n + t0)), rtol=1e-10, atol=1e-12
    )
    assert out.n_updates == len(owner) <= np.count_nonzero(weight)
    assert (out.diagnostics["absorbed"][0] > 0) == (cap == 5)


# radius -> 0 is kernel SGD


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize(("coverage", "paper_box"), COVERAGES)
@pytest.mark.parametrize("ball", (False, True))
def test_a_tiny_radius_is_kernel_sgd(n_classes, loss, coverage, paper_box, ball):
    X, y = stream(30, n_classes)
    w = np.random.default_rng(2).uniform(size=30) * (np.arange(30) % 5 > 0)
    common = {"n_classes": n_classes, "loss": loss, "alpha": 0.05, "t0": 3.0}
    common |= {"ball": ball, "sample_weight": w}
    parent = kernel_sgd.run(X, y, **common)
    cover = {"coverage": coverage, "paper_box": paper_box, "coverage_radius": 1e-9}
    for beta in (0.0, 5.0):
        out = avm.run(X, y, approx_beta=beta, rng=fresh(), **cover, **common)
        assert_same(out, parent)
        assert not np.any(out.diagnostics["assigned"])
    # an infinite beta never approximates, so no radius matters
    out = avm.run(
        X, y, approx_beta=math.inf, coverage_radius=9.0, rng=fresh(), **common
    )
    assert_same(out, parent)
    assert not out.diagnostics["cores"].any()
    # eager: the same function, and a core of coefficient 0 for each idle row
    out = avm.run(X, y, lazy_core=False, rng=fresh(), **cover, **common)
    np.testing.assert_allclose(out.scores, parent.scores, rtol=1e-12, atol=1e-12)
    assert out.sizes.tolist() == list(range(1, 31))
    used = np.any(out.coef != 0, axis=0)
    np.testing.assert_array_equal(out.centers[used], parent.centers)
    np.testing.assert_allclose(out.coef[:, used], parent.coef, rtol=1e-12)


@pytest.mark.parametrize("kernel", ("laplacian", "poly", "linear"))
def test_other_kernels_with_a_tiny_radius(kernel):
    X, y = stream(40, 4)
    common = {"n_classes": 4, "kernel": kernel, "gamma": 0.4, "degree": 2, "coef0": 0.5}
    common |= {"alpha": 0.1}
    parent = kernel_sgd.run(X, y, **common)
    assert_same(avm.run(X, y, coverage_radius=1e-9, rng=fresh(), **common), parent)
    # cells are of the features, not of the kernel
    coarse = avm.run(X, y, coverage_radius=1.0, rng=fresh(), **common)
    assert len(coarse.centers) < len(parent.centers)
    assert_apart(cores_of(coarse), 1.0)


def test_repeated_rows_share_a_core_and_the_function_is_that_of_kernel_sgd():
    X, y = stream(60, 2, seed=4)
    X = np.tile(X[:7], (9, 1))[:60]
    common = {"n_classes": 2, "loss": "log_loss", "alpha": 0.1}
    parent = kernel_sgd.run(X, y, **common)
    out = avm.run(X, y, coverage_radius=1e-9, rng=fresh(), **common)
    np.testing.assert_allclose(out.scores, parent.scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(out.centers, X[:7])
    assert len(parent.centers) == 60


# coverage (T11)


def assert_apart(cores, radius, norm=2):
    for i in range(1, len(cores)):
        gaps = np.linalg.norm(cores[:i] - cores[i], ord=norm, axis=1)
        assert gaps.min() >= radius * (1 - 1e-12)


@pytest.mark.parametrize("d", (1, 2, 5))
@pytest.mark.parametrize("lazy_core", (True, False))
@pytest.mark.parametrize("beta", (0.0, 3.0))
@pytest.mark.parametrize("radius", (0.3, 1.0))
def test_cores_are_apart_and_rows_near_theirs(d, lazy_core, beta, radius):
    X, y = stream(120, 2, seed=5, d=d)
    common = {"n_classes": 2, "alpha": 0.02, "coverage_radius": radius}
    common |= {"lazy_core": lazy_core, "approx_beta": beta}
    sphere = avm.run(X, y, rng=fresh(), **common)
    assert_apart(cores_of(sphere), radius)
    assert sphere.diagnostics["assigned"].max() < radius
    for paper_box in (False, True):
        reach = radius * (1 + paper_box)
        box = avm.run(X, y, coverage="box", paper_box=paper_box, rng=fresh(), **common)
        assert_apart(cores_of(box), reach / math.sqrt(d), norm=math.inf)
        assert box.diagnostics["assigned"].max() < reach * (1 + 1e-12)
    grid = avm.run(X, y, coverage="grid", rng=fresh(), **common)
    cells = np.floor(cores_of(grid) * math.sqrt(d) / (2 * radius))
    assert len(np.unique(cells, axis=0)) == len(cells)
    assert grid.diagnostics["assigned"].max() < 2 * radius * (1 + 1e-12)
    for out in (sphere, box, grid):
        assert out.diagnostics["absorbed"].tolist() == [0]
        if beta == 0:
            assert out.diagnostics["cores"].all()
            assert len(out.diagnostics["assigned"]) == out.n_updates
        if beta == 0 and not lazy_core:  # every row is covered, learned or not
            gaps = np.linalg.norm(X[:, None] - out.centers[None], axis=2).min(axis=1)
            assert gaps.max() < 2 * radius
            assert gaps.max() < radius or out is not sphere


@pytest.mark.parametrize("max_core", (1, 4))
def test_only_absorbed_rows_are_far_from_their_core(max_core):
    X, y = stream(80, 2, seed=6, d=2)
    for coverage, reach in (("sphere", 0.5), ("box", 0.5), ("grid", 1.0)):
        out = avm.run(
            X,
            y,
            n_classes=2,
            loss="log_loss",
            coverage=coverage,
            coverage_radius=0.5,
            max_core=max_core,
            rng=fresh(),
        )
        far = np.count_nonzero(out.diagnostics["assigned"] >= reach)
        absorbed = out.diagnostics["absorbed"][0]
        assert 0 < far <= absorbed < 80
        # a sphere covers whatever is near; a box or cell may miss a near row
        assert far == absorbed or coverage != "sphere"
        assert out.sizes.max() == max_core


@pytest.mark.parametrize("seed", range(3))
def test_cores_in_a_line_are_bounded_in_any_order(seed):
    X, y = stream(120, 2, seed=seed, d=1)
    shuffled = np.random.default_rng(seed).permutation(120)
    span = X.max() - X.min()
    for radius in (0.07, 0.5, 1.0):
        for order in (np.argsort(X[:, 0]), shuffled):
            for coverage, paper_box in COVERAGES:
                out = avm.run(
                    X[order],
                    y[order],
                    n_classes=2,
                    loss="log_loss",
                    coverage=coverage,
                    paper_box=paper_box,
                    coverage_radius=radius,
                    rng=fresh(),
                )
                if coverage == "grid":  # the range may begin and end within cells
                    most = math.floor(span / (2 * radius)) + 2
                else:
                    most = most_in_a_line(X, radius * (1 + paper_box))
                assert 1 < len(out.centers) <= most


# the schedule (T12)


@pytest.mark.parametrize("rho", (0.5, 1.0, 1.5))
def test_sizes_are_bounded_in_the_mean(rho):
    n, radius, seeds, beta = 120, 0.5, 20, 3.0
    X, y = stream(n, 2, seed=7, d=1)
    cells = most_in_a_line(X, radius)
    if rho < 1:
        extra = beta * n ** (1 - rho) / (1 - rho)
    elif rho == 1:
        extra = beta * (1 + math.log(n))
    else:  # zeta(rho), the tail by its integral
        head = sum(t**-rho for t in range(1, 1000))
        extra = beta * (head + 999 ** (1 - rho) / (rho - 1))
    limits = np.array([beta / t**rho for t in range(1, n + 1)])
    chances = np.minimum(1, limits)
    sizes, ordinary = [], []
    for seed in range(seeds):
        out = avm.run(
            X,
            y,
            n_classes=2,
            loss="log_loss",  # no slope is zero: row t has the t-th number
            alpha=0.05,
            coverage_radius=radius,
            approx_beta=beta,
            approx_rho=rho,
            rng=fresh(seed),
        )
        is_core = out.diagnostics["cores"] == 1
        told = fresh(seed).random(n) < limits
        np.testing.assert_array_equal(out.centers[~is_core], X[told])
        assert np.count_nonzero(is_core) <= cells
        sizes.append(len(out.centers))
        ordinary.append(np.count_nonzero(~is_core))
    assert np.mean(sizes) <= cells + extra
    sigma = math.sqrt(np.sum(chances * (1 - chances)) / seeds)
    assert abs(np.mean(ordinary) - chances.sum()) <= 4 * sigma


@pytest.mark.parametrize("rho", (0.5, 1.0, 1.5))
def test_sizes_of_the_hinge_are_bounded_in_the_mean(rho):
    """Rows without a slope draw nothing, so the bounds have more room."""
    n, radius, beta = 120, 0.5, 3.0
    X, y = stream(n, 2, seed=8, d=1)
    expected = np.minimum(1, beta / np.arange(1, n + 1) ** rho).sum()
    sizes = []
    for seed in range(20):
        out = avm.run(
            X,
            y,
            n_classes=2,
            alpha=0.05,
            coverage_radius=radius,
            approx_beta=beta,
            approx_rho=rho,
            rng=fresh(seed),
        )
        assert out.n_updates < n
        sizes.append(len(out.centers))
    assert np.mean(sizes) <= most_in_a_line(X, radius) + expected


# equivalences (T22, T23), ball, prefixes


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
@pytest.mark.parametrize(("coverage", "paper_box"), COVERAGES)
@pytest.mark.parametrize("lazy_core", (True, False))
def test_two_crammer_singer_rows_are_the_binary_model_with_half_alpha(
    monkeypatch, loss, coverage, paper_box, lazy_core
):  # T22
    X, y = stream(50, 2)
    options = {"n_classes": 2, "loss": loss, "coverage": coverage, "max_core": 12}
    options |= {"paper_box": paper_box, "coverage_radius": 0.8, "approx_beta": 2.0}
    options |= {"lazy_core": lazy_core}
    binary = avm.run(X, y, alpha=0.05, rng=fresh(), **options)
    monkeypatch.setattr(avm, "Expansion", TwoRows)
    monkeypatch.setattr(avm, "slopes", two_slopes)
    rows = avm.run(X, y, alpha=0.1, rng=fresh(), **options)
    assert rows.coef.shape == (2, len(binary.centers))
    np.testing.assert_array_equal(rows.centers, binary.centers)
    np.testing.assert_array_equal(rows.sizes, binary.sizes)
    assert rows.n_updates == binary.n_updates
    for name, sequence in binary.diagnostics.items():
        np.testing.assert_array_equal(rows.diagnostics[name], sequence)
    np.testing.assert_allclose(
        rows.scores[:, 1] - rows.scores[:, 0], binary.scores[:, 0], atol=1e-10
    )
    np.testing.assert_allclose(
        rows.coef[1] - rows.coef[0], binary.coef[0], rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(("coverage", "paper_box"), COVERAGES)
def test_equivariances(coverage, paper_box):  # T23
    X, y = stream(80, 2, d=4)
    options = {"n_classes": 2, "coverage": coverage, "paper_box": paper_box}
    options |= {"approx_beta": 1.0, "max_core": 15, "alpha": 0.05}
    out = avm.run(X, y, coverage_radius=1.3, gamma=0.5, rng=fresh(), **options)
    flipped = avm.run(X, 1 - y, coverage_radius=1.3, gamma=0.5, rng=fresh(), **options)
    np.testing.assert_allclose(flipped.scores, -out.scores, atol=1e-12)
    np.testing.assert_array_equal(flipped.centers, out.centers)
    swapped = avm.run(
        X[:, [2, 0, 3, 1]], y, coverage_radius=1.3, gamma=0.5, rng=fresh(), **options
    )
    np.testing.assert_allclose(swapped.scores, out.scores, atol=1e-12)
    # by a power of two: the same to the last bit
    scaled = avm.run(
        4 * X, y, coverage_radius=5.2, gamma=1 / 32, rng=fresh(), **options
    )
    np.testing.assert_array_equal(scaled.scores, out.scores)
    np.testing.assert_array_equal(scaled.centers, 4 * out.centers)
    np.testing.assert_allclose(
        scaled.diagnostics["assigned"], 4 * out.diagnostics["assigned"]
    )


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize("lazy_core", (True, False))
def test_the_ball_holds_the_model_and_each_score_is_the_last_models(
    n_classes, loss, lazy_core
):
    X, y = stream(40, n_classes, d=2)
    options = {"n_classes": n_classes, "loss": loss, "alpha": 0.02, "ball": True}
    options |= {"coverage_radius": 0.7, "approx_beta": 2.0, "lazy_core": lazy_core}
    whole = avm.run(X, y, rng=fresh(), **options)
    touched = False
    for t in (1, 2, *range(5, 40, 6)):
        part = avm.run(X[:t], y[:t], rng=fresh(), **options)
        K = gram(part.centers, part.centers)
        norm = math.sqrt(np.sum(part.coef * (part.coef @ K)))
        limit = ball_radius(loss, 0.02, np.abs(y[:t]).max())
        assert norm <= limit * (1 + 1e-12)
        touched = touched or norm > limit * (1 - 1e-12)
        f = part.coef @ gram(part.centers, X[t : t + 1])[:, 0]
        np.testing.assert_allclose(whole.scores[t], f, rtol=1e-10, atol=1e-10)
        assert len(part.centers) == whole.sizes[t - 1]
    assert touched


def test_the_ball_by_hand():
    X, y = np.array([[0.0], [0.5]]), np.array([2.0, 2.0])
    options = {"loss": "squared_error", "alpha": 0.25, "coverage_radius": 1.0}
    out = avm.run(X, y, ball=True, rng=fresh(), **options)
    # R = 2 / (2 / 2) = 2; the first step has length 2 / 0.25 = 8
    f = 2 * math.exp(-0.25)
    assert out.scores[1, 0] == pytest.approx(f)
    # f < 2: 2 / 2 + (2 - f) / (0.25 * 2) at the core, 1.885 < 2
    np.testing.assert_allclose(out.coef, [[1 + 2 * (2 - f)]])


# degenerate data (T24)


@pytest.mark.parametrize(("n_classes", "loss"), TASKS_AND_LOSSES)
@pytest.mark.parametrize(("coverage", "paper_box"), COVERAGES)
def test_degenerate_data(n_classes, loss, coverage, paper_box):
    X, y = stream(20, n_classes)
    options = {"n_classes": n_classes, "loss": loss, "alpha": 0.2, "ball": True}
    options |= {"coverage": coverage, "paper_box": paper_box}
    same = np.full_like(X, -0.3)
    out = avm.run(same, y, coverage_radius=1e-3, rng=fresh(), **options)
    assert out.centers.tolist() == same[:1].tolist()
    assert not np.any(out.diagnostics["assigned"])
    # 0 is a face of every grid, so the data are moved into one cell
    moved = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    out = avm.run(moved, y, coverage_radius=1e6, rng=fresh(), **options)
    assert out.sizes.max() == 1
    assert out.n_updates > 1
    for gamma in (0.0, 1e6):
        out = avm.run(X, y, coverage_radius=0.5, gamma=gamma, rng=fresh(), **options)
        assert np.all(np.isfinite(out.coef)) and np.all(np.isfinite(out.scores))
    out = avm.run(
        X, y, coverage_radius=0.5, sample_weight=np.zeros(20), rng=Told(), **options
    )
    assert out.centers.shape == (0, 3)
    assert out.diagnostics["cores"].shape == out.diagnostics["assigned"].shape == (0,)

"""Merging: where two centres best become one, who merges with whom, what is kept.

What is lost is computed from kernel values, and the best place by trying 100 000 of
them.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.budget import merge, neighbors
from onkel.budget.dispatch import add_to_span, in_span, maintain
from onkel.budget.merge import TABLE_ERROR, Merge, best_meeting, lower_bound, partner
from onkel.budget.remove import Remove
from onkel.model import center_cache
from onkel.model.expansion import insert, row
from onkel.model.expansion import merge as merge_centers
from tests.unit.hand_made import GAMMA, Bench, rbf, update

FEW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
KAPPAS = [1e-8, 1e-4, 0.02, math.exp(-2.0), 0.2, 0.5, 0.9, 0.999, 0.999999]
MUS = [1e-4, 0.01, 0.2, 0.4, 0.5 - 1e-6, 0.5, 0.5 + 1e-6, 0.55, 0.8, 0.999]
EVERYWHERE = np.linspace(0.0, 1.0, 100_001)


def lost(p: float, q: float, r: float, x: float, h: Any) -> Any:
    """|a_m phi_m + a_n phi_n - a_z phi_z|^2 at z = h c_m + (1 - h) c_n."""
    u, v = np.exp(-x * (1 - h) ** 2), np.exp(-x * h**2)
    return p + r + 2 * q * np.exp(-x) - p * u**2 - 2 * q * u * v - r * v**2


def meet(p: float, q: float, r: float, kappa: float) -> merge.Meeting:
    return best_meeting(max(p, r), q, min(p, r), -math.log(kappa))


def check_meeting(p: float, q: float, r: float, kappa: float) -> None:
    heavy, light, x = max(p, r), min(p, r), -math.log(kappa)
    meeting = meet(p, q, r, kappa)
    best = lost(heavy, q, light, x, EVERYWHERE).min()
    assert meeting.loss <= best + 1e-6 * light
    assert 0.5 <= meeting.h <= 1.0
    assert meeting.u == pytest.approx(math.exp(-x * (1 - meeting.h) ** 2))
    assert meeting.v == pytest.approx(math.exp(-x * meeting.h**2))
    there = lost(heavy, q, light, x, meeting.h)
    assert meeting.loss == pytest.approx(there, rel=1e-6, abs=1e-14 * heavy)


def random_rows(seed: int, count: int) -> Any:
    """Yield p, q, r and kappa of rows of coefficients at angles below 90 degrees."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        p, r = 10.0 ** rng.uniform(-4, 0, size=2)
        if rng.random() < 0.3:
            r = p * (1 + 10.0 ** rng.uniform(-8, -1))
        angle = rng.choice([rng.random(), 1e-9, 1.0, 1.0 - 1e-6])
        near, far = 10.0 ** rng.uniform(-6, 0), 10.0 ** rng.uniform(-8, 0)
        kappa = min(rng.choice([rng.random(), far, 1 - near]), 0.999999)
        yield float(p), float(angle * math.sqrt(p * r)), float(r), max(kappa, 1e-8)


# ---- where two centres meet ----------------------------------------------------------


@pytest.mark.parametrize("kappa", KAPPAS)
def test_the_best_meeting_is_as_good_as_any_place_between_two(kappa: float) -> None:
    for mu in MUS:
        check_meeting(mu**2, mu * (1 - mu), (1 - mu) ** 2, kappa)


def test_the_best_meeting_is_as_good_as_any_place_for_several_outputs() -> None:
    for p, q, r, kappa in random_rows(0, 200):
        check_meeting(p, q, r, kappa)


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_loss_is_the_norm_that_kernel_values_give(outputs: int) -> None:
    rng = np.random.default_rng(outputs)
    for _ in range(50):
        points, a = rng.normal(size=(2, 4)), rng.uniform(0.1, 2.0, size=(outputs, 2))
        a = a[:, np.argsort(-(a**2).sum(axis=0))]
        (p, q), (_, r) = a.T @ a
        x = GAMMA * ((points[0] - points[1]) ** 2).sum()
        meeting = best_meeting(p, q, r, x)
        z = meeting.h * points[0] + (1 - meeting.h) * points[1]
        three = np.vstack([points, z])
        K = rbf(three, three)
        coef = np.column_stack([a, -(a @ K[:2, 2])])
        norm = np.einsum("oi,ij,oj", coef, K, coef)
        assert meeting.loss == pytest.approx(norm, abs=1e-12)


def test_centres_that_are_one_point_lose_nothing() -> None:
    assert best_meeting(4.0, 2.0, 1.0, 0.0) == (1.0, 1.0, 1.0, 0.0)


def test_centres_that_are_far_apart_lose_the_lighter() -> None:
    for x in (merge.FAR, merge.FAR + 1, 1e6):
        meeting = best_meeting(4.0, 2.0, 1.0, x)
        assert meeting.loss == pytest.approx(1.0)
        assert meeting.h == pytest.approx(1.0)


# ---- the table and the bounds it gives -----------------------------------------------


def test_the_table_is_as_exact_as_it_says() -> None:
    rng = np.random.default_rng(0)
    some = 8000
    mu = np.concatenate([rng.uniform(0.5, 1.0, some), rng.uniform(0.5, 0.508, some)])
    kappa = np.concatenate([rng.random(some), rng.uniform(0.12, 0.16, some)])
    kappa[::4] = 10.0 ** rng.uniform(-8, 0, some // 2)
    kappa[1::4] = 1.0 - 10.0 ** rng.uniform(-6, 0, some // 2)
    table = merge.table()
    pairs = list(zip(mu, kappa, strict=True))
    read = np.array([merge.interpolated(table, m, k) for m, k in pairs])
    read *= (mu * (1 - mu) * (1 - kappa)) ** 2
    exact = [meet(m**2, m * (1 - m), (1 - m) ** 2, k).loss for m, k in pairs]
    np.testing.assert_allclose(read, exact, rtol=TABLE_ERROR)


def test_no_loss_falls_below_the_bound_that_the_table_gives() -> None:
    table = merge.table()
    for p, q, r, kappa in random_rows(1, 4000):
        assert lower_bound(table, p, q, r, kappa) <= meet(p, q, r, kappa).loss


def test_no_loss_falls_below_its_outline() -> None:
    kappas = np.concatenate([np.linspace(0.0, 1.0, 400), np.geomspace(1e-8, 1e-2, 40)])
    kappas = kappas[kappas < 1.0]
    bench, out = Bench(np.ones(len(kappas) + 1), capacity=512), np.zeros(512)
    values = np.append(np.clip(kappas, 1e-12, None), 1.0)
    last = len(kappas)
    for mu in np.append(np.linspace(0.5, 1.0, 60, endpoint=False), 0.9999):
        for own, other in ((mu, 1.0 - mu), (1.0 - mu, mu)):
            bench.model.coef[0, :last], bench.model.coef[0, last] = other, own
            least = merge.outline(bench.model, last, values, out)
            p, q, r = own * own, own * other, other * other
            exact = np.array([meet(p, q, r, k).loss for k in values[:-1]])
            assert least == out[:last].min()
            assert out[last] == np.inf
            assert (out[:last] <= exact * (1.0 + 1e-9) + 1e-15).all()
            # Without these partners are found as well, but not as soon.
            assert (out[:last] >= 0.57 * exact).all()


def test_the_bound_is_tight_for_one_output() -> None:
    table = merge.table()
    for p, _, r, kappa in random_rows(2, 500):
        exact = meet(p, math.sqrt(p * r), r, kappa).loss
        bound = lower_bound(table, p, math.sqrt(p * r), r, kappa)
        assert bound >= exact * (1 - 3 * TABLE_ERROR)


# ---- who merges with whom ------------------------------------------------------------


def find(bench: Bench, m: int) -> merge.Match:
    row(bench.model, bench.block, m, bench.block.second)
    return partner(bench.model, bench.block, m, bench.block.second[: bench.size])


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0, 8.0, 16.0])
def test_the_partner_is_that_of_an_exhaustive_search(
    outputs: int, spread: float
) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        coef = rng.normal(size=(outputs, 25))
        bench = Bench(coef, capacity=25, points=spread * rng.normal(size=(25, 2)))
        m = int((coef**2).sum(axis=0).argmin())
        products = coef.T @ coef
        x = GAMMA * ((bench.located() - bench.located()[m]) ** 2).sum(axis=1)
        p, r = products[m, m], products.diagonal()
        losses = {
            n: best_meeting(max(p, r[n]), products[m, n], min(p, r[n]), x[n]).loss
            for n in range(25)
            if n != m and products[m, n] > 0
        }
        match = find(bench, m)
        assert match.n == min(losses, key=lambda n: losses[n])
        assert match.meeting.loss == pytest.approx(losses[match.n])


def saved(x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """1 - WD / |a_m|^2 for |a_m| / |a_n| = share, x >= 4, by iterating e u = h v share.

    In the form in which nothing cancels.
    """
    e = np.zeros_like(x * share)
    for _ in range(200):
        odds = share * np.exp(2 * x * e - x)
        e = odds / (1 + odds)
    h = 1 - e
    both = -np.exp(-x * (e**2 + h**2)) * np.expm1(-2 * x * h * e)
    return np.exp(-2 * x * h**2) + np.expm1(-2 * x * e**2) / share**2 + 2 * both / share


def test_far_away_nearness_alone_decides_what_is_saved() -> None:
    x = np.linspace(merge.DISTANT, merge.FAR, 500)[:, None]
    shares = np.geomspace(1e-3, 1.0, 60)[None, :]
    found = saved(x, shares)
    limit = np.exp(-2 * x) * (1 + 2 * x)
    assert (np.diff(found, axis=0) < 0).all(), "the nearer, the more"
    assert (np.diff(found, axis=1) > -1e-9 * limit).all(), "the more alike, the more"
    assert (found >= (1 - 1e-9) * limit).all()
    assert (found <= merge.SPREAD * limit).all()
    assert found[-1, -1] < 2.0**-54, "FAR loses all"
    for i in range(0, 500, 50):
        for share in (0.01, 0.3, 1.0):
            meeting = best_meeting(1.0 / share**2, 1.0 / share, 1.0, float(x[i, 0]))
            wanted = 1 - saved(x[i], np.array([share]))[0]
            assert meeting.loss == pytest.approx(wanted, rel=0, abs=1e-14)


def test_nobody_beyond_the_horizon_loses_less() -> None:
    x = np.linspace(merge.DISTANT, merge.FAR, 2000)
    least = 1 - saved(x, np.ones(1))
    for lost in (0.2, 0.99, 0.999, 1 - 1e-5, 1 - 1e-9, 1 - 1e-13, 1.0):
        assert (least[x > merge.horizon(lost)] > lost - 1e-15).all()
    assert merge.horizon(1 - 1e-5) < 7.3, "it says something"


@pytest.mark.parametrize("outputs", [1, 3])
def test_among_equally_good_partners_the_oldest_is_taken(outputs: int) -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    coef = np.tile([0.5, 1.0, 1.0, 1.0, 1.0], (outputs, 1))
    for births in itertools.permutations([1, 2, 3, 4]):
        bench = Bench(coef, points=points)
        bench.model.birth[:5] = [5, *births]
        assert find(bench, 0).n == 1 + births.index(1)


def test_rows_of_coefficients_at_a_right_angle_are_no_partners() -> None:
    for slightly, n in ((1e-14, -1), (1e-6, 1)):
        bench = Bench([[0.1, 1.0], [0.3, -1.0 / 3.0 + slightly]])
        assert find(bench, 0).n == n


# ---- maintenance ---------------------------------------------------------------------


def maintained(bench: Bench, strategy: Any = None) -> Bench:
    """Let row 0 pass, and the strategy make the model smaller."""
    bench.arrive(0)
    maintain(strategy or Merge(), bench.model, bench.block, 0)
    bench.fill_later(0)
    return bench


def degradation(before: Bench, after: Bench) -> float:
    """Squared norm of the difference of two models, from the features."""
    points = np.vstack([before.located(), after.located()])
    coef = np.hstack([before.true_coef, -after.true_coef])
    return float(np.einsum("oi,ij,oj", coef, rbf(points, points), coef))


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_merging_loses_less_than_projection_and_that_less_than_removal(
    outputs: int, seed: int
) -> None:
    coef = np.random.default_rng(seed).uniform(0.1, 2.0, size=(outputs, 6))
    before = Bench(coef, seed=seed)
    m = int((coef**2).sum(axis=0).argmin())
    merging, projection, removal = (
        degradation(before, maintained(Bench(coef, seed=seed), strategy))
        for strategy in (Merge(), neighbors.make(1), Remove())
    )
    assert merging == pytest.approx(find(before, m).meeting.loss, abs=1e-12)
    assert merging <= projection <= removal


def test_what_is_merged_is_the_smallest_and_the_oldest_of_equals() -> None:
    bench = Bench([1.0, -1.0, 1.0, -1.0, 1.0])
    bench.model.birth[:5] = [4, 2, 5, 1, 3]
    n = find(bench, 3).n
    maintained(bench)
    assert n == 1, "the only other of its sign"
    assert sorted(bench.births) == [1, 3, 4, 5]


@pytest.mark.parametrize("coef", [[0.5, 2.0, -1.0], [[0.5, 2.0, -1.0], [0.25, 1, -3]]])
def test_duplicates_are_added(coef: Any) -> None:
    coef = np.atleast_2d(coef)
    points = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5]])
    bench = maintained(Bench(coef, points=points))
    assert sorted(bench.births) == [1, 3]
    j = bench.births.index(1)
    np.testing.assert_array_equal(bench.coef[:, j], coef[:, 0] + coef[:, 1])
    np.testing.assert_array_equal(bench.located()[j], points[0])


@pytest.mark.parametrize("outputs", [1, 2])
def test_without_a_partner_the_victim_is_projected_on_the_nearest(outputs: int) -> None:
    coef = np.array([[-0.9, 0.2, -1.0, -2.0], [-0.5, 0.1, -2.0, -1.0]])[:outputs]
    points = np.array([[3.0, 0.0], [0.0, 0.0], [0.5, 0.5], [-2.0, 0.0]])
    bench = maintained(Bench(coef, points=points))
    wanted = coef.copy()
    wanted[:, 2] += coef[:, 1] * rbf(points[1:2], points[2:3])[0, 0]
    assert bench.births == [1, 4, 3]
    np.testing.assert_allclose(bench.coef, wanted[:, [0, 3, 2]])


def test_the_nearest_of_equals_is_the_oldest() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    for births, heir in (([3, 1, 2], 1), ([1, 3, 2], 2)):
        bench = Bench([0.5, -1.0, -1.0], points=points)
        bench.model.birth[:3] = births
        values = rbf(points[:1], points)[0]
        assert merge.nearest(bench.model, values, 0) == heir


def test_a_model_of_one_centre_becomes_empty() -> None:
    assert maintained(Bench([1.0])).size == 0


def test_a_newcomer_that_is_the_smallest_merges_too() -> None:
    bench = Bench([1.0, 2.0, -1.0])
    bench.arrive(0)
    insert(bench.model, bench.block, 0, update(0.1))
    before = Bench(bench.coef, points=bench.located())
    maintain(Merge(), bench.model, bench.block, 0)
    bench.fill_later(0)
    assert sorted(bench.births) == [1, 2, 3]
    assert degradation(before, bench) == pytest.approx(find(before, 3).meeting.loss)
    K = rbf(bench.rows[1:], bench.located())
    np.testing.assert_allclose(bench.block.kernel[1:, :3], K)


def test_merging_never_leans_on_the_centres() -> None:
    bench = Bench([1.0, 2.0], block=np.zeros((1, 2)), points=np.zeros((2, 2)))
    assert not in_span(Merge(), bench.model, bench.block, 0)
    add_to_span(Merge(), bench.model, 0, 1.0)
    np.testing.assert_array_equal(bench.coef, [[1.0, 2.0]])


# ---- the primitive -------------------------------------------------------------------

SHARE = st.floats(0.0, 1.0, exclude_max=True)
MERGES = st.lists(
    st.tuples(st.booleans(), SHARE, SHARE, st.floats(0, 1), SHARE, SHARE), max_size=4
)


def check_kept(bench: Bench, t: int) -> None:
    """Compare what the model keeps with what follows from the features."""
    size, K, close = bench.size, bench.gram(), {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(
        bench.block.kernel[t + 1 :, :size],
        rbf(bench.rows[t + 1 :], bench.located()),
        **close,
    )
    np.testing.assert_allclose(
        bench.model.norms[:size], (bench.located() ** 2).sum(axis=1), **close
    )
    if isinstance(bench.model.cache, center_cache.Gram):
        np.testing.assert_allclose(bench.model.cache.values[:size, :size], K, **close)
        np.testing.assert_allclose(
            bench.model.cache.scores[:, :size], bench.coef @ K, **close
        )
        assert bench.model.counters[0].norm2 == pytest.approx(
            bench.squared_norm(), rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize("outputs, gram", [(1, True), (3, True), (1, False)])
@FEW
@given(steps=MERGES)
def test_merging_two_centres_keeps_all_that_is_kept(
    outputs: int, gram: bool, steps: Any
) -> None:
    coef = np.random.default_rng(1).normal(size=(outputs, 5))
    bench = Bench(coef, rows=6, gram=gram)
    for t, (comes, one, other, h, u, v) in enumerate(steps):
        bench.arrive(t)
        if comes:
            change = update(0.7) if outputs == 1 else update(0.7, up=1, down=2)
            insert(bench.model, bench.block, t, change)
        i, j = int(one * bench.size), int(other * bench.size)
        if i != j:
            births, labels = bench.births, bench.model.label[: bench.size].tolist()
            points, old = bench.located(), bench.coef
            merge_centers(bench.model, bench.block, t, i, j, h, u, v)
            points[i] = h * points[i] + (1 - h) * points[j]
            old[:, i] = u * old[:, i] + v * old[:, j]
            births[i], labels[i] = min(births[i], births[j]), -1
            # The last takes the slot of the one that leaves.
            order = list(range(len(births)))
            order[j] = order[-1]
            order.pop()
            np.testing.assert_allclose(bench.located(), points[order])
            np.testing.assert_allclose(bench.coef, old[:, order], atol=1e-15)
            assert bench.births == [births[k] for k in order]
            found = bench.model.label[: bench.size].tolist()
            assert found == [labels[k] for k in order]
        bench.fill_later(t)
        check_kept(bench, t)


def test_coefficients_whose_squares_underflow_bound_nothing() -> None:
    # In single precision those of 1e-30 do; 0/0 is no place in the table.
    for p, q, r in ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)):
        assert merge.lower_bound(merge.table(), p, q, r, 0.5) == 0.0

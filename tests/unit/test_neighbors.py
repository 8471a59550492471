"""Projection on a few nearest centres, BPA-NN, and who is nearest to whom."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.budget import neighbors
from onkel.budget.dispatch import absorb, add_to_span, in_span, maintain
from onkel.budget.neighbors import choose, solve
from onkel.budget.project import Project
from onkel.budget.project_pair import ProjectPair, parts
from onkel.model import center_cache
from onkel.model.expansion import drop, insert, replace
from onkel.model.inverse import JITTER, Inverse
from tests.unit.hand_made import Bench, Numbers, linear, poly, rbf, update

FEW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
COEF = {
    1: np.array([[0.5, -1.0, 2.0, 0.25, -0.75, 0.6, 1.5]]),
    3: np.random.default_rng(0).normal(size=(3, 7)),
}
outputs_and_kernels = pytest.mark.parametrize(
    "outputs, kernel", [(1, rbf), (3, rbf), (1, poly)]
)


def by_birth(bench: Bench) -> np.ndarray:
    return bench.coef[:, np.argsort(bench.births)]


def degradation(before: Bench, after: Bench) -> float:
    """Squared norm of the difference of two models, from the features."""
    points = np.vstack([before.located(), after.located()])
    coef = np.hstack([before.coef, -after.coef])
    K = before.kernel(points, points)
    return float(np.einsum("oi,ij,oj", coef, K, coef))


# ---- projection on the nearest -------------------------------------------------------


def projected(k: int, outputs: int, **options: Any) -> Bench:
    bench = Bench(COEF[outputs], **options)
    maintain(neighbors.make(k), bench.model, bench.block, 0)
    return bench


@outputs_and_kernels
@pytest.mark.parametrize("k", [1, 2, 4, 6, 9])
def test_the_projection_on_the_nearest_is_what_numpy_solves_for(
    outputs: int, kernel: Any, k: int
) -> None:
    for seed in range(6):
        before = Bench(COEF[outputs], kernel=kernel, seed=seed)
        coef, K = before.coef, before.gram()
        p = int(((coef**2).sum(axis=0) * np.diag(K)).argmin())
        others = [j for j in np.argsort(-K[p]) if j != p][:k]
        jitter = JITTER * np.diag(np.diag(K))
        d = np.linalg.solve((K + jitter)[np.ix_(others, others)], K[others, p])
        coef[:, others] += np.outer(coef[:, p], d)
        after = projected(k, outputs, kernel=kernel, seed=seed)
        assert sorted(after.births) == [b for b in range(1, 8) if b != p + 1]
        np.testing.assert_allclose(
            by_birth(after), np.delete(coef, p, axis=1), rtol=1e-5, atol=1e-8
        )


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_projection_on_all_others_is_the_exact_one(outputs: int) -> None:
    exact = Bench(COEF[outputs], kind=Inverse)
    maintain(Project(False), exact.model, exact.block, 0)
    np.testing.assert_allclose(
        by_birth(projected(6, outputs)), by_birth(exact), rtol=1e-5, atol=1e-8
    )


@outputs_and_kernels
def test_the_more_neighbours_the_less_is_lost(outputs: int, kernel: Any) -> None:
    before = Bench(COEF[outputs], kernel=kernel)
    lost = [
        degradation(before, projected(k, outputs, kernel=kernel)) for k in range(1, 7)
    ]
    assert (np.diff(lost) <= 1e-7).all()


def test_neighbours_are_chosen_by_value_and_then_by_age() -> None:
    bench = Bench(np.ones(6))
    bench.model.birth[:6] = [6, 5, 2, 4, 3, 1]
    values = np.array([0.5, 0.9, 0.7, 0.7, 0.7, 0.1])
    chosen = np.full(4, -1)
    assert choose(bench.model, values.copy(), 1, chosen) == 4
    assert chosen.tolist() == [2, 4, 3, 0]
    chosen = np.full(9, -1)
    assert choose(bench.model, values.copy(), 1, chosen) == 5
    assert chosen.tolist() == [2, 4, 3, 0, 5, -1, -1, -1, -1]


def test_of_equally_near_centres_the_oldest_inherits() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    for births, heir in (([3, 1, 2], 1), ([1, 3, 2], 2)):
        bench = Bench([0.5, 1.0, 1.0], points=points)
        bench.model.birth[:3] = births
        wanted = {births[1]: 1.0, births[2]: 1.0}
        wanted[births[heir]] += 0.5 * rbf(points[:1], points[1:2])[0, 0]
        maintain(neighbors.make(1), bench.model, bench.block, 0)
        found = dict(zip(bench.births, bench.coef[0], strict=True))
        assert found == pytest.approx(wanted)


def test_duplicates_among_the_neighbours_share() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    before = Bench([0.5, 1.0, 1.0], points=points)
    after = Bench([0.5, 1.0, 1.0], points=points)
    maintain(neighbors.make(2), after.model, after.block, 0)
    assert np.abs(after.coef).max() < 2.0
    kappa = rbf(points[:1], points[1:2])[0, 0]
    assert degradation(before, after) == pytest.approx(0.25 * (1 - kappa**2))


def test_a_matrix_without_an_inverse_still_has_a_solution() -> None:
    matrix, shares = np.ones((3, 3)), np.array([1.0, 1.0 + 1e-12, 1.0])
    solve(matrix, shares, 3)
    assert np.abs(shares).max() < 2.0
    assert shares.sum() == pytest.approx(1.0)


def test_a_newcomer_may_be_the_victim() -> None:
    bench = Bench(COEF[1])
    bench.arrive(0)
    insert(bench.model, bench.block, 0, update(0.01))
    before = Bench(bench.coef, points=bench.located())
    maintain(neighbors.make(7), bench.model, bench.block, 0)
    assert bench.births == [1, 2, 3, 4, 5, 6, 7]
    left = 1e-4 / np.linalg.inv(before.gram())[7, 7]
    assert degradation(before, bench) == pytest.approx(left, rel=1e-4)


def test_the_last_centre_leaves_without_heirs() -> None:
    bench = Bench([1.0])
    maintain(neighbors.make(3), bench.model, bench.block, 0)
    assert bench.size == 0


def test_neighbours_never_carry_a_row_that_was_not_stored() -> None:
    bench, strategy = Bench([1.0], points=np.zeros((1, 2))), neighbors.make(1)
    assert not in_span(strategy, bench.model, bench.block, 0)
    add_to_span(strategy, bench.model, 0, 1.0)
    np.testing.assert_array_equal(bench.coef, [[1.0]])


# ---- BPA-NN --------------------------------------------------------------------------


def shared(bench: Bench, r: int) -> tuple[int, np.ndarray, float]:
    """Nearest neighbour of r, r's parts on the newcomer and on it, and the rest."""
    K = bench.kernel(bench.points, bench.points)
    n = max((j for j in range(bench.size) if j != r), key=lambda j: K[r, j])
    two = np.vstack([bench.rows[:1], bench.points[n : n + 1]])
    k = bench.kernel(two, bench.points[r : r + 1])[:, 0]
    d = np.linalg.solve(bench.kernel(two, two), k)
    return n, d, float(K[r, r] - d @ k)


@outputs_and_kernels
@pytest.mark.parametrize("seed", range(6))
def test_the_newcomer_and_the_nearest_stand_in_for_the_cheapest(
    outputs: int, kernel: Any, seed: int
) -> None:
    change = update(0.4) if outputs == 1 else update(0.4, up=2, down=1)
    bench = Bench(COEF[outputs], kernel=kernel, kind=center_cache.Nearest, seed=seed)
    before = bench.coef
    squared = (before**2).sum(axis=0)
    bench.arrive(0)
    expected = [shared(bench, r) for r in range(7)]
    for r, (_, d, left) in enumerate(expected):
        found = parts(bench.model, bench.block, 0, r)
        np.testing.assert_allclose(found, [*d, left], rtol=1e-6, atol=1e-9)
    victim = int(np.argmin([squared[r] * expected[r][2] for r in range(7)]))
    n, d, _ = expected[victim]
    wanted = before.copy()
    wanted[:, n] += before[:, victim] * d[1]
    wanted[:, victim] *= d[0]
    wanted[change.up, victim] += 0.4
    if change.down >= 0:
        wanted[change.down, victim] -= 0.4
    absorb(ProjectPair(7), bench.model, bench.block, 0, change, Numbers())
    assert bench.births[victim] == 8
    assert bench.model.counters[0].maintenance == 1
    np.testing.assert_allclose(bench.coef, wanted, rtol=1e-6, atol=1e-9)


def test_with_room_the_newcomer_just_enters() -> None:
    bench = Bench(COEF[1], kind=center_cache.Nearest)
    bench.arrive(0)
    absorb(ProjectPair(8), bench.model, bench.block, 0, update(0.4), Numbers())
    np.testing.assert_array_equal(bench.coef, np.hstack([COEF[1], [[0.4]]]))
    assert bench.model.counters[0].maintenance == 0


@pytest.mark.parametrize("apart", [0.0, 1e-4])
def test_a_newcomer_on_the_nearest_stands_in_alone(apart: float) -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]])
    block = points[1:2] + apart
    bench = Bench(
        [0.5, 1.0, 9.0], kind=center_cache.Nearest, points=points, block=block
    )
    bench.arrive(0)
    kappa = rbf(points[:1], block)[0, 0]
    found = parts(bench.model, bench.block, 0, 0)
    assert found == pytest.approx((kappa, 0.0, 1 - kappa**2))


def test_without_a_neighbour_the_newcomer_stands_in_alone() -> None:
    bench = Bench([2.0], kind=center_cache.Nearest)
    bench.model.cache.nearest[0] = -1
    bench.arrive(0)
    kappa = rbf(bench.rows[:1], bench.points)[0, 0]
    absorb(ProjectPair(1), bench.model, bench.block, 0, update(0.4), Numbers())
    assert bench.coef[0, 0] == pytest.approx(0.4 + 2.0 * kappa)
    assert bench.births == [2]


def test_victims_of_equal_cost_leave_oldest_first() -> None:
    points = np.array([[5.0, 0.0], [-5.0, 0.0], [0.0, 5.0], [0.0, -5.0]])
    for births, slot in (([2, 4, 1, 3], 2), ([3, 1, 4, 2], 1)):
        bench = Bench(
            [1.0] * 4, kind=center_cache.Nearest, points=points, block=np.zeros((1, 2))
        )
        bench.model.birth[:4] = births
        bench.arrive(0)
        absorb(ProjectPair(4), bench.model, bench.block, 0, update(0.4), Numbers())
        assert bench.births[slot] == 5


# ---- who is nearest ------------------------------------------------------------------

WHO = st.floats(0.0, 1.0, exclude_max=True)
MOVES = st.lists(
    st.tuples(st.sampled_from(["insert", "replace", "drop", "resize"]), WHO), max_size=9
)
# Integers and the linear kernel: all is exact, and there are many ties.
ON_A_GRID = {
    "points": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]]),
    "block": np.random.default_rng(0).integers(0, 3, size=(9, 2)).astype(float),
    "kernel": linear,
}
ON_ONE_POINT = {"points": np.ones((4, 2)), "block": np.ones((9, 2)), "kernel": linear}
ANYWHERE = {"rows": 9, "kernel": rbf}


@pytest.mark.parametrize(
    "options",
    [ON_A_GRID, ON_ONE_POINT, ANYWHERE],
    ids=["grid", "one point", "anywhere"],
)
@FEW
@given(moves=MOVES)
def test_nearest_neighbours_stay_right_whatever_comes_and_goes(
    options: Any, moves: Any
) -> None:
    bench = Bench(
        [1.0, -0.5, 0.25, 2.0], kind=center_cache.Nearest, capacity=13, **options
    )
    for t, (move, who) in enumerate(moves):
        bench.arrive(t)
        j = int(who * bench.size)
        if move == "insert" or bench.size == 0:
            insert(bench.model, bench.block, t, update(0.5))
        elif move == "replace":
            replace(bench.model, bench.block, t, j, update(0.5))
        elif move == "drop":
            drop(bench.model, bench.block, t, j)
        else:
            bench.resize(20)
        bench.fill_later(t)
        size, K, births = bench.size, bench.gram(), bench.births
        known = bench.model.cache
        np.testing.assert_allclose(known.values[:size, :size], K, atol=1e-12)
        np.testing.assert_allclose(known.scores[0, :size], bench.coef[0] @ K)
        for i in range(size):
            nearest = min(
                (j for j in range(size) if j != i),
                key=lambda j: (-known.values[i, j], births[j]),
                default=-1,
            )
            assert known.nearest[i] == nearest

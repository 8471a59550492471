"""The cover: who takes a row's update, against a list of cores and the definitions."""

import math
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.budget import cover, dispatch
from onkel.budget.cover import NO_CORE, Cover
from onkel.budget.declaration import UNLIMITED, largest_size
from onkel.budget.dispatch import absorb
from onkel.model import center_cache, distances
from onkel.model.state import Update, allocate
from tests.unit.hand_made import Bench, Numbers, linear, poly, rbf, update

FEW = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def with_room(budget: Cover, capacity: int) -> Cover:
    return dispatch.resized(
        budget, allocate(1, capacity, 2, np.float64, center_cache.Nothing)
    )


SHAPES = ("sphere", "ball", "box", "grid")
each_shape = pytest.mark.parametrize("shape", SHAPES)


def covering(
    shape: str,
    radius: float,
    *,
    beta: float = 0.0,
    rho: float = 1.0,
    limit: int = UNLIMITED,
    features: int = 2,
    capacity: int = 40,
) -> Cover:
    half_width = radius / math.sqrt(features)
    made = cover.make(shape, radius, half_width, beta, rho, limit)
    return with_room(made, capacity)


def covers(shape: str, radius: float, core: np.ndarray, x: np.ndarray) -> bool:
    """Say whether a core covers a point, by definition."""
    if shape == "sphere":
        return bool(((core - x) ** 2).sum() < radius**2)
    if shape == "ball":
        return bool(((core - x) ** 2).sum() <= radius**2)
    half_width = radius / math.sqrt(len(x))
    if shape == "box":
        return bool((np.abs(core - x) < half_width).all())
    side = 2 * half_width
    return bool((np.floor(core / side) == np.floor(x / side)).all())


class Centre(NamedTuple):
    """A centre of the mirror."""

    point: np.ndarray
    coef: np.ndarray
    core: bool


class Mirror:
    """The same by definition: a list of centres, nobody ever leaves."""

    def __init__(self, shape: str, radius: float, limit: int, outputs: int) -> None:
        self.shape, self.radius, self.limit = shape, radius, limit
        self.outputs = outputs
        self.centres: list[Centre] = []
        self.absorbed = 0

    def take(self, x: np.ndarray, change: Update, kept: bool) -> None:
        weights = np.zeros(self.outputs)
        weights[change.up] = change.weight
        if change.down >= 0:
            weights[change.down] = -change.weight
        moves = change.weight != 0
        if kept:
            if moves:
                self.centres.append(Centre(x, weights, core=False))
            return
        cores = [c for c in self.centres if c.core]
        hit = [c for c in cores if covers(self.shape, self.radius, c.point, x)]
        if not hit and len(cores) < self.limit:
            self.centres.append(Centre(x, weights, core=True))
            return
        self.absorbed += moves and not hit
        far = [((c.point - x) ** 2).sum() for c in hit or cores]
        (hit or cores)[int(np.argmin(far))].coef[:] += weights

    def same_as(self, bench: Bench, budget: Cover) -> None:
        size = len(self.centres)
        assert bench.size == size
        for j, centre in enumerate(self.centres):
            np.testing.assert_array_equal(bench.located()[j], centre.point)
            np.testing.assert_array_equal(bench.coef[:, j], centre.coef)
        cores = [c.core for c in self.centres]
        assert (budget.mark[:size] != NO_CORE).tolist() == cores
        assert (budget.mark[size:] == NO_CORE).all()
        assert budget.counters[0].cores == sum(cores)
        assert budget.counters[0].absorbed == self.absorbed


def empty(block: np.ndarray, outputs: int = 1, **options: Any) -> Bench:
    """Make a model without centres, and rows to come."""
    return Bench(
        np.zeros((outputs, 0)),
        block=np.asarray(block, np.float64),
        points=np.zeros((0, np.shape(block)[1])),
        capacity=40,
        **options,
    )


def take(bench: Bench, budget: Cover, t: int, change: Update, draw: float) -> None:
    """Let the walk come to row t; exactly one number is drawn."""
    numbers = Numbers(draw)
    bench.arrive(t)
    absorb(budget, bench.model, bench.block, t, change, numbers)
    bench.fill_later(t)
    assert not numbers.left


def learn(
    bench: Bench, budget: Cover, weights: Any = None, draws: Any = None
) -> list[int]:
    """Learn all rows; return the slot that each changed, -1 if it changed none."""
    count = len(bench.rows)
    weights = np.ones(count) if weights is None else weights
    draws = np.ones(count) * 0.999 if draws is None else draws
    slots = []
    for t in range(count):
        before = np.zeros(40)
        before[: bench.size] = bench.coef[0]
        take(bench, budget, t, update(float(weights[t])), float(draws[t]))
        changed = np.flatnonzero(bench.model.coef[0] != before)
        assert len(changed) <= 1
        slots.append(int(changed[0]) if len(changed) else -1)
    return slots


# ---- everything at once --------------------------------------------------------------


@each_shape
@pytest.mark.parametrize("outputs", [1, 3])
@FEW
@given(
    seed=st.integers(0, 10_000),
    kernel=st.sampled_from([rbf, poly, linear]),
    features=st.integers(1, 3),
    limit=st.sampled_from([1, 3, UNLIMITED]),
    beta=st.sampled_from([0.0, 2.0]),
    capacity=st.integers(25, 40),
    modulus=st.sampled_from([distances.MODULUS, 3]),
)
def test_a_stream_is_covered_as_defined(
    shape: str,
    outputs: int,
    seed: int,
    kernel: Any,
    features: int,
    limit: int,
    beta: float,
    capacity: int,
    modulus: int,
) -> None:
    rng = np.random.default_rng(seed)
    # On a lattice borders are met and ties are exact; some rows come again.
    rows = rng.integers(-4, 5, size=(24, features)) / 2.0
    radius = float(rng.choice([0.5, 1.0, 1.5])) * math.sqrt(features)
    bench = empty(rows, outputs, kernel=kernel)
    budget = covering(
        shape, radius, beta=beta, limit=limit, features=features, capacity=4
    )
    mirror = Mirror(shape, radius, limit, outputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "MODULUS", modulus)
        for t, x in enumerate(rows):
            if bench.size == len(budget.mark):
                # As when the model grows, or more than is needed.
                budget = with_room(budget, min(bench.size + 4, capacity))
            weight = float(rng.choice([0.0, 1.0, -0.5, 0.25]))
            down = int(rng.integers(1, 3)) if outputs == 3 else -1
            draw = rng.random()
            take(bench, budget, t, update(weight, down=down), draw)
            mirror.take(x, update(weight, down=down), draw < beta / (t + 1))
            mirror.same_as(bench, budget)


# ---- the shapes ----------------------------------------------------------------------


def test_a_sphere_covers_what_is_nearer_than_its_radius() -> None:
    bench = empty([[0.0, 0.0], [3.0, 4.0], [2.9, 4.0], [0.0, -4.99], [-3.0, 4.0]])
    budget = covering("sphere", 5.0)
    assert learn(bench, budget) == [0, 1, 1, 0, 2]


def test_a_ball_also_covers_what_is_as_far_as_its_radius() -> None:
    bench = empty([[0.0, 0.0], [3.0, 4.0], [3.0, 4.01], [0.0, -5.0], [-3.0, 4.0]])
    assert learn(bench, covering("ball", 5.0)) == [0, 0, 1, 0, 0]


def test_of_several_spheres_the_nearest_takes_it_the_oldest_on_ties() -> None:
    bench = empty([[0.0], [2.0], [4.0], [3.0], [1.0], [1.25]])
    assert learn(bench, covering("sphere", 2.0, features=1)) == [0, 1, 2, 1, 0, 1]


def test_a_box_covers_what_differs_by_less_in_every_feature() -> None:
    # The half-width is 1 at this radius.
    rows = [[0.0, 0.0], [0.9, -0.9], [0.0, 1.0], [-0.99, 0.99], [0.1, 0.6]]
    bench = empty(rows)
    budget = covering("box", math.sqrt(2.0))
    assert budget.half_width == pytest.approx(1.0)
    budget = budget._replace(half_width=1.0)
    assert learn(bench, budget) == [0, 0, 1, 1, 1]


def test_of_several_boxes_the_nearest_takes_it_not_the_first() -> None:
    bench = empty([[0.0], [1.0], [0.7], [0.5]])
    budget = covering("box", 1.0, features=1)
    assert learn(bench, budget) == [0, 1, 1, 0]


def test_a_cell_of_the_grid_has_its_first_row_as_its_core() -> None:
    # Cells of side 2, half open: [-2, 0), [0, 2), [2, 4).
    rows = [[0.5], [1.99], [2.0], [-0.01], [-2.0], [-2.01], [0.0], [3.0]]
    budget = covering("grid", 1.0, features=1)
    assert learn(empty(rows), budget) == [0, 0, 1, 2, 2, 3, 0, 1]


def test_cells_far_out_are_told_apart() -> None:
    # Beyond the largest integer they share their hash, and that is all.
    far = [[1e150, 0.0], [-1e150, 0.0], [2e150, 0.0], [1e150, 5.0], [1e150, 0.5]]
    for shape in SHAPES:
        bench = empty(far, kernel=rbf)
        budget = covering(shape, 1.0)
        assert learn(bench, budget) == ([0, 1, 2, 3, 0])


# ---- the table of cells --------------------------------------------------------------


def test_collisions_in_the_table_cost_time_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distances, "MODULUS", 1)
    rows = np.arange(20.0)[:, None]
    bench = empty(np.concatenate([rows, rows + 0.25]))
    budget = covering("grid", 0.5, features=1)
    assert learn(bench, budget) == [*range(20), *range(20)]
    assert set(budget.mark[:20]) == {0}


@each_shape
@pytest.mark.parametrize("capacity", [1, 2, 3, 20, 64])
def test_a_cover_with_more_room_knows_the_same_cores(shape: str, capacity: int) -> None:
    rows = np.arange(20.0)[:, None]
    bench = empty(np.concatenate([rows, rows + 0.25]))
    budget = covering(shape, 0.5, features=1, capacity=20)
    for t in range(20):
        take(bench, budget, t, update(1.0), 0.5)
    assert budget.counters[0].cores == bench.size == 20
    budget = with_room(budget, 20 + capacity)
    assert len(budget.mark) == 20 + capacity
    assert budget.counters[0].cores == 20
    assert (budget.mark[20:] == NO_CORE).all()
    if shape == "grid":
        assert len(budget.table) >= 2 * len(budget.mark)
        assert len(budget.table) & (len(budget.table) - 1) == 0
        entered = budget.table[budget.table != NO_CORE]
        assert sorted(entered) == list(range(20))
    for t in range(20, 40):
        take(bench, budget, t, update(1.0), 0.5)
    assert bench.size == 20
    np.testing.assert_array_equal(bench.coef, 2.0)


def test_kept_rows_are_not_in_the_table_when_it_is_made_anew() -> None:
    bench = empty([[0.5], [0.6], [4.5], [0.7]])
    budget = covering("grid", 1.0, beta=1e9, features=1, capacity=4)
    take(bench, budget, 0, update(1.0), 0.5)
    take(bench, budget, 1, update(1.0), 0.5)
    never = with_room(budget._replace(beta=0.0), 9)
    take(bench, never, 2, update(1.0), 0.5)
    take(bench, never, 3, update(1.0), 0.5)
    assert (never.mark[:4] == NO_CORE).tolist() == [True, True, False, False]
    never = with_room(never, 12)
    assert sorted(never.table[never.table != NO_CORE]) == [2, 3]


def test_a_new_cover_has_no_cores_and_is_copied_whole() -> None:
    budget = covering("grid", 1.0, limit=7)
    assert budget.counters[0].cores == budget.counters[0].absorbed == 0
    assert (budget.mark == NO_CORE).all()
    assert (budget.table == NO_CORE).all()
    bench = empty(np.random.default_rng(0).normal(size=(20, 2)))
    learn(bench, budget)
    twin = pickle.loads(pickle.dumps(budget))
    assert twin.counters[0].cores == budget.counters[0].cores > 0
    np.testing.assert_array_equal(twin.table, budget.table)
    np.testing.assert_array_equal(twin.mark, budget.mark)


# ---- no more cores -------------------------------------------------------------------


@each_shape
def test_a_full_cover_lets_the_nearest_core_absorb_and_counts(shape: str) -> None:
    rows = [[0.5], [4.5], [9.5], [20.5], [0.6], [6.9], [7.1], [-9.5]]
    bench = empty(rows)
    budget = covering(shape, 0.5, features=1, limit=3)
    assert learn(bench, budget) == [0, 1, 2, 2, 0, 1, 2, 0]
    assert budget.counters[0].cores == bench.size == 3
    # Not the one that was covered.
    assert budget.counters[0].absorbed == 4
    np.testing.assert_array_equal(bench.coef, [[3.0, 2.0, 3.0]])


@each_shape
def test_a_full_cover_still_keeps_rows_and_does_not_count_them(shape: str) -> None:
    rows = [[0.5], [4.5], [4.6], [4.7]]
    bench = empty(rows)
    budget = covering(shape, 0.5, beta=1.0, features=1, limit=1)
    # 1/t: kept at t = 2 and not at t = 3, although nearer to the row that was kept.
    assert learn(bench, budget, draws=[1.0, 0.49, 0.34, 0.26]) == [0, 1, 0, 0]
    assert (budget.counters[0].cores, budget.counters[0].absorbed) == (1, 2)
    assert budget.mark[:2].tolist() == [budget.mark[0], NO_CORE]
    assert budget.mark[0] != NO_CORE


@each_shape
def test_a_full_cover_without_an_update_absorbs_nothing(shape: str) -> None:
    bench = empty([[0.5], [4.5], [9.5]])
    budget = covering(shape, 0.5, features=1, limit=1)
    assert learn(bench, budget, weights=[1.0, 0.0, 0.0]) == [0, -1, -1]
    assert (budget.counters[0].cores, budget.counters[0].absorbed) == (1, 0)


# ---- rows without an update, rows that are kept --------------------------------------


@each_shape
def test_an_eager_row_becomes_a_core_with_coefficient_zero(shape: str) -> None:
    bench = empty([[0.5, 0.5], [0.55, 0.5], [9.5, 0.5]])
    budget = covering(shape, 0.5)
    assert learn(bench, budget, weights=[0.0, 2.0, 0.0]) == [-1, 0, -1]
    assert budget.counters[0].cores == bench.size == 2
    np.testing.assert_array_equal(bench.coef, [[2.0, 0.0]])
    np.testing.assert_array_equal(bench.located(), [[0.5, 0.5], [9.5, 0.5]])


@each_shape
def test_a_row_without_an_update_is_never_kept(shape: str) -> None:
    bench = empty([[0.5, 0.5], [0.5, 0.5]])
    budget = covering(shape, 0.5, beta=9.0)
    assert learn(bench, budget, weights=[0.0, 0.0], draws=[0.5, 0.5]) == [-1, -1]
    assert budget.counters[0].cores == bench.size == 0


@each_shape
def test_a_kept_row_covers_nothing(shape: str) -> None:
    rows = [[0.5], [0.5], [0.5], [0.5]]
    bench = empty(rows)
    budget = covering(shape, 0.5, beta=1.0, features=1)
    # Kept, then a core, then covered by it: never by the first.
    assert learn(bench, budget, draws=[0.9, 0.6, 0.5, 0.9]) == [0, 1, 1, 1]
    assert budget.counters[0].cores == 1
    assert budget.mark[0] == NO_CORE != budget.mark[1]


@pytest.mark.parametrize("rho", [0.5, 1.0, 1.5])
def test_a_row_is_kept_with_the_probability_of_the_paper(rho: float) -> None:
    rows = np.zeros((30, 1))
    for beta in (0.3, 2.0):
        for side in (-1e-9, 1e-9):
            bench = empty(rows)
            budget = covering("sphere", 1.0, beta=beta, rho=rho, features=1)
            t = np.arange(1, 31)
            draws = beta / t**rho + side
            learn(bench, budget, draws=draws)
            kept = 30 if side < 0 else 0
            assert bench.size - budget.counters[0].cores == kept
            assert budget.counters[0].cores == (kept == 0)


def test_an_update_of_two_classes_goes_to_both_rows_of_the_core() -> None:
    bench = empty([[0.5], [0.6], [0.7]], outputs=3)
    budget = covering("sphere", 1.0, features=1)
    for t, change in enumerate(
        (update(1.0, 0, 2), update(0.5, 1, 0), update(0.25, 2, 1))
    ):
        take(bench, budget, t, change, 0.5)
    np.testing.assert_array_equal(bench.coef, [[0.5], [0.25], [-0.75]])


@pytest.mark.parametrize("kind", ["nothing", "gram"])
def test_scores_of_rows_to_come_follow_the_core_not_the_row(kind: str) -> None:
    rows = np.random.default_rng(4).normal(size=(8, 2))
    bench = empty(rows, gram=kind == "gram")
    budget = covering("sphere", 0.9)
    for t in range(8):
        take(bench, budget, t, update(1.0 + t), 0.5)
        later = bench.coef @ bench.block.kernel[t + 1 :, : bench.size].T
        wanted = bench.coef @ rbf(bench.located(), rows[t + 1 :])
        np.testing.assert_allclose(later, wanted)
        if kind == "gram":
            squared = bench.model.counters[0].norm2
            assert squared == pytest.approx(bench.squared_norm())
    assert 1 < bench.size < 8


# ---- room ----------------------------------------------------------------------------


def test_only_cores_are_limited() -> None:
    assert largest_size(covering("sphere", 1.0, limit=9)) == 9
    assert largest_size(covering("sphere", 1.0)) == math.inf
    assert largest_size(covering("sphere", 1.0, limit=9, beta=0.1)) == math.inf

"""The primitives keep everything that is kept, whatever the order they come in.

Kernel values of rows to come, the Gram matrix, the scores of the centres and the norm
are changed step by step; here they are computed afresh from the features after every
step. The primitives run as plain Python.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.model import center_cache
from onkel.model.expansion import (
    add,
    column,
    drop,
    fold,
    insert,
    oldest_smallest,
    replace,
    rescale,
    squared_norms,
    stretch,
)
from onkel.model.state import Block, allocate, relabelled, resized
from tests.unit.hand_made import Bench, linear, poly, rbf, update

ROWS, CAPACITY = 7, 12
FEW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
COEF = {
    1: np.array([[0.5, -1.0, 2.0, 0.25, -0.75]]),
    3: np.array(
        [
            [1.0, -0.5, 0.0, 0.0, 0.3],
            [-1.0, 0.0, 0.7, 0.2, -0.3],
            [0.0, 0.5, -0.7, -0.2, 0.0],
        ]
    ),
}

# What happens at a row: names of primitives, a number that picks the centre they act
# on (as a share of those there are), and a weight.
WEIGHTS = st.floats(-2.0, 2.0).filter(lambda w: abs(w) > 1e-3)
WHO = st.floats(0.0, 1.0, exclude_max=True)
MOVES = ("insert", "replace", "insert and drop", "drop", "rescale", "fold", "nothing")
STEPS = st.lists(st.tuples(st.sampled_from(MOVES), WHO, WEIGHTS), max_size=ROWS)


class Mirror:
    """Who sits in which slot, with what, kept by plain lists."""

    def __init__(self, bench: Bench) -> None:
        self.points = list(bench.points)
        self.coef = list(bench.coef.T)
        self.birth = list(bench.births)
        self.factor = 1.0

    def put(self, j: int, bench: Bench, t: int, change: Any) -> None:
        a = np.zeros(bench.model.coef.shape[0])
        a[change.up] = change.weight
        if change.down >= 0:
            a[change.down] = -change.weight
        self.points[j : j + 1] = [bench.rows[t]]
        self.coef[j : j + 1] = [a]
        self.birth[j : j + 1] = [int(bench.model.counters[0].t)]

    def remove(self, j: int) -> None:
        """Let the last take the slot of the one that leaves."""
        for seats in (self.points, self.coef, self.birth):
            seats[j] = seats[-1]
            seats.pop()


def perform(bench: Bench, mirror: Mirror, t: int, step: Any) -> None:
    """Do one step to the model and to its mirror."""
    name, who, weight = step
    outputs = bench.model.coef.shape[0]
    change = update(weight) if outputs == 1 else update(weight, up=1, down=2)
    bench.arrive(t)
    j = int(who * bench.size)
    if name == "replace" and bench.size:
        replace(bench.model, bench.block, t, j, change)
        mirror.put(j, bench, t, change)
    if name.startswith("insert"):
        insert(bench.model, bench.block, t, change)
        mirror.put(bench.size - 1, bench, t, change)
        j = int(who * bench.size)
    if name.endswith("drop") and bench.size:
        drop(bench.model, bench.block, t, j)
        mirror.remove(j)
    if name == "rescale":
        rescale(bench.model, abs(weight))
        mirror.factor *= abs(weight)
    if name == "fold":
        fold(bench.model)
        mirror.coef = [mirror.factor * a for a in mirror.coef]
        mirror.factor = 1.0
    bench.fill_later(t)


def check(bench: Bench, mirror: Mirror, t: int) -> None:
    """Compare what the model keeps with what follows from the features."""
    size = bench.size
    assert size == len(mirror.points)
    outputs = bench.model.coef.shape[0]
    coef = np.array(mirror.coef).reshape(size, outputs).T
    points = np.array(mirror.points).reshape(size, 2)
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(bench.coef, coef, **close)
    np.testing.assert_allclose(bench.model.counters[0].factor, mirror.factor, **close)
    assert bench.births == mirror.birth
    if size:
        np.testing.assert_array_equal(bench.located(), points)
    K = bench.kernel(points, points)
    np.testing.assert_allclose(bench.model.diag[:size], np.diag(K), **close)
    for s in range(t + 1, ROWS):
        np.testing.assert_allclose(
            column(bench.model, bench.block, s),
            bench.kernel(bench.rows[s : s + 1], points)[0],
            **close,
        )
    if isinstance(bench.model.cache, center_cache.Gram):
        np.testing.assert_allclose(bench.model.cache.values[:size, :size], K, **close)
        np.testing.assert_allclose(
            bench.model.cache.scores[:, :size], coef @ K, **close
        )
        np.testing.assert_allclose(
            bench.model.counters[0].norm2, np.einsum("oi,ij,oj", coef, K, coef), **close
        )


outputs_and_kernels = pytest.mark.parametrize(
    "outputs, kernel", [(1, rbf), (3, rbf), (1, poly), (3, linear)]
)


@outputs_and_kernels
@FEW
@given(steps=STEPS)
def test_all_that_is_kept_equals_a_recomputation(
    outputs: int, kernel: Any, steps: Any
) -> None:
    bench = Bench(COEF[outputs], ROWS, kernel=kernel, gram=True, capacity=CAPACITY)
    mirror = Mirror(bench)
    for t, step in enumerate(steps):
        perform(bench, mirror, t, step)
        check(bench, mirror, t)


@outputs_and_kernels
@FEW
@given(steps=STEPS)
def test_the_block_needs_no_gram_matrix(outputs: int, kernel: Any, steps: Any) -> None:
    bench = Bench(COEF[outputs], ROWS, kernel=kernel, capacity=CAPACITY)
    mirror = Mirror(bench)
    for t, step in enumerate(steps):
        perform(bench, mirror, t, step)
        check(bench, mirror, t)
    assert bench.model.cache == center_cache.Nothing()


@pytest.mark.parametrize("outputs", [1, 3])
@FEW
@given(weights=st.lists(WEIGHTS, min_size=1, max_size=ROWS))
def test_insertions_alone_keep_the_norm_without_a_gram_matrix(
    outputs: int, weights: Any
) -> None:
    bench = Bench(COEF[outputs], ROWS, capacity=CAPACITY)
    bench.model.counters[0].norm2 = bench.squared_norm()
    for t, weight in enumerate(weights):
        bench.arrive(t)
        change = update(weight) if outputs == 1 else update(weight, up=2, down=0)
        insert(bench.model, bench.block, t, change)
        bench.fill_later(t)
        assert bench.model.counters[0].norm2 == pytest.approx(bench.squared_norm())


@pytest.mark.parametrize("outputs", [1, 3])
@FEW
@given(steps=st.lists(st.tuples(st.booleans(), WEIGHTS), max_size=ROWS))
def test_scores_without_a_gram_matrix_count_what_came_later(
    outputs: int, steps: Any
) -> None:
    # First in, first out, as the Forgetron does it.
    bench = Bench(COEF[outputs], ROWS, scores=True, capacity=CAPACITY)
    for t, (forget, weight) in enumerate(steps):
        bench.arrive(t)
        change = update(weight) if outputs == 1 else update(weight, up=1, down=0)
        if forget:
            oldest = int(np.argmin(bench.births))
            replace(bench.model, bench.block, t, oldest, change)
        else:
            insert(bench.model, bench.block, t, change)
        bench.fill_later(t)
        K, births = bench.gram(), np.array(bench.births)
        later = births[None, :] >= births[:, None]
        wanted = bench.coef @ (K * later).T
        np.testing.assert_allclose(bench.model.cache.scores[:, : bench.size], wanted)


@pytest.mark.parametrize("outputs", [1, 3])
def test_add_and_stretch_change_what_they_say(outputs: int) -> None:
    bench = Bench(COEF[outputs], ROWS, capacity=CAPACITY)
    before = bench.coef
    add(bench.model, outputs - 1, 2, 0.4)
    before[outputs - 1, 2] += 0.4
    np.testing.assert_array_equal(bench.coef, before)
    factors = np.arange(1.0, CAPACITY + 1)
    stretch(bench.model, factors)
    np.testing.assert_array_equal(bench.coef, before * factors[:5])
    assert not bench.model.coef[:, 5:].any()


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("primitive", ["add", "stretch"])
def test_add_and_stretch_keep_scores_and_norm_where_these_are_declared(
    outputs: int, primitive: str
) -> None:
    bench = Bench(COEF[outputs], ROWS, gram=True, capacity=CAPACITY)
    if primitive == "add":
        add(bench.model, outputs - 1, 2, 0.4)
    else:
        stretch(bench.model, np.arange(1.0, CAPACITY + 1))
    np.testing.assert_allclose(
        bench.model.cache.scores[:, :5], bench.coef @ bench.gram()
    )
    assert bench.model.counters[0].norm2 == pytest.approx(bench.squared_norm())


@pytest.mark.parametrize("outputs", [1, 3])
def test_refresh_recomputes_scores_and_norm(outputs: int) -> None:
    bench = Bench(COEF[outputs], ROWS, gram=True, capacity=CAPACITY)
    bench.model.cache.scores[:] += 0.1
    bench.model.counters[0].norm2 = 77.0
    counters = bench.model.counters[0]
    counters.norm2 = center_cache.refresh(
        bench.model.cache, bench.model.coef, 5, counters.norm2
    )
    np.testing.assert_allclose(
        bench.model.cache.scores[:, :5], bench.coef @ bench.gram()
    )
    assert bench.model.counters[0].norm2 == pytest.approx(bench.squared_norm())


def test_squared_norms_are_those_of_coefficient_columns() -> None:
    bench = Bench(COEF[3], ROWS)
    out = np.full(12, -1.0)
    squared_norms(bench.model, out)
    np.testing.assert_allclose(out[:5], (COEF[3] ** 2).sum(axis=0))
    assert (out[5:] == -1.0).all()


def test_the_oldest_of_the_smallest_is_found_in_any_slot() -> None:
    bench = Bench(COEF[1], ROWS)
    cost = np.array([3.0, 1.0, 2.0, 1.0, 1.0, *[0.0] * 7])  # the last are not in use
    bench.model.birth[:5] = [1, 9, 2, 4, 7]
    assert oldest_smallest(bench.model, cost) == 3
    cost[:5] = [np.inf] * 5
    assert oldest_smallest(bench.model, cost) == 0
    cost[:5] = [5.0, 4.0, 3.0, 2.0, 1.0]
    assert oldest_smallest(bench.model, cost) == 4


@pytest.mark.parametrize("where", [[0], [3], [0, 3], [0, 1, 2, 3, 4]])
def test_a_cost_that_is_not_a_number_still_leads_to_a_slot(where: list[int]) -> None:
    # The square of a large coefficient is infinite, and infinity times 0 is not a
    # number. A slot that does not exist would be written to all the same.
    bench = Bench(COEF[1], ROWS)
    cost = np.array([3.0, 1.0, 2.0, 1.0, 1.0, *[0.0] * 7])
    cost[where] = np.nan
    assert 0 <= oldest_smallest(bench.model, cost) < 5


@pytest.mark.parametrize("gram, scores", [(True, True), (False, True), (False, False)])
def test_a_resized_model_is_the_same_model(gram: bool, scores: bool) -> None:
    bench = Bench(COEF[3], ROWS, gram=gram, scores=scores)
    model = bench.model._replace(points=bench.model.points.grid)
    model.counters[0].factor = 0.25
    new = resized(model, 40)
    assert new.counters[0] == model.counters[0]
    assert new.coef.shape == (3, 40)
    olds, news = (
        [*model[1:-3], *(part for part in model.cache if np.ndim(part))]
        for model in (model, new)
    )
    for old, copied in zip(olds, news, strict=True):
        used = tuple(
            slice(0, min(a, b)) for a, b in zip(old.shape, copied.shape, strict=True)
        )
        np.testing.assert_array_equal(copied[used], old[used])
    assert type(new.cache) is type(bench.model.cache)
    if scores:
        assert new.cache.scores.shape == (3, 40)
    if gram:
        assert new.cache.values.shape == (40, 40)


def test_relabelling_maps_coefficients_scores_and_norm() -> None:
    bench = Bench(COEF[1], ROWS, gram=True)
    halves = np.array([[-0.5], [0.0], [0.5]])
    new = relabelled(bench.model, halves, np.arange(12) % 2)
    np.testing.assert_array_equal(new.coef, halves @ bench.model.coef)
    bench.model = new
    np.testing.assert_allclose(new.cache.scores[:, :5], bench.coef @ bench.gram())
    assert new.counters[0].norm2 == pytest.approx(bench.squared_norm())

    wider = np.zeros((4, 3))
    wider[[0, 2, 3], [0, 1, 2]] = 1.0
    bench.model = relabelled(new, wider, np.zeros(12, int))
    assert bench.coef.shape == (4, 5)
    assert not bench.coef[1].any()
    np.testing.assert_allclose(
        bench.model.cache.scores[:, :5], bench.coef @ bench.gram(), atol=1e-12
    )
    assert bench.model.counters[0].norm2 == pytest.approx(bench.squared_norm())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_empty_model_has_room_and_a_scale_of_one(dtype: Any) -> None:
    model = allocate(2, 6, 2, dtype, center_cache.Gram)
    assert model.counters[0].count == model.counters[0].t == 0
    assert model.counters[0].factor == 1.0
    assert model.coef.dtype == model.cache.values.dtype == model.cache.scores.dtype
    assert model.coef.dtype == dtype
    assert model.coef.shape == model.cache.scores.shape == (2, 6)


def test_the_block_made_by_hand_has_every_field() -> None:
    assert set(Bench(COEF[1]).block._asdict()) == set(Block._fields)

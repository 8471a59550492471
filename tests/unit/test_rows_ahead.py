"""Rows that are projected before their turn: the same as one at a time."""

from typing import Any

import numpy as np
import pytest

from onkel.model import rows_ahead
from onkel.model.expansion import drop, insert
from onkel.model.inverse import (
    JITTER,
    Inverse,
    project_row,
    project_row_ahead,
    represent_row,
)
from onkel.model.rows import TILE, between_points
from tests.unit.hand_made import SIMILARITY, Bench, linear, poly, rbf, update

COEF = np.array([[0.5, -1.0, 2.0, 0.25, -0.75]])
ROWS = 9


def made(**options: Any) -> Bench:
    return Bench(COEF, ROWS, kind=Inverse, capacity=24, **options)


def alone(bench: Bench, t: int) -> float:
    """Squared norm of what a projection on the centres leaves, by numpy."""
    x = bench.rows[t : t + 1]
    K, k_x = bench.gram(), bench.kernel(bench.located(), x)[:, 0]
    jittered = K + 1e-8 * np.diag(np.diag(K))
    return float(bench.kernel(x, x)[0, 0] - k_x @ np.linalg.solve(jittered, k_x))


@pytest.mark.parametrize("kernel", [rbf, poly])
@pytest.mark.parametrize("wanted", [[], range(1, 8), [1, 4, 5, 8], [0, 8]])
def test_rows_together_leave_what_each_leaves_alone(kernel: Any, wanted: Any) -> None:
    bench = made(kernel=kernel)
    bench.block.ahead.wanted[: len(wanted)] = wanted
    for t in range(ROWS):
        found = project_row_ahead(bench.model, bench.block, t)
        assert found == pytest.approx(alone(bench, t), abs=1e-6)
        assert bench.model.cache.status[0].kxx == pytest.approx(bench.block.diag[t])


def test_a_centre_that_comes_meanwhile_counts_for_rows_that_were_projected() -> None:
    bench = made()
    for t in range(ROWS):
        bench.arrive(t)
        found = project_row_ahead(bench.model, bench.block, t)
        assert found == pytest.approx(alone(bench, t), abs=1e-6)
        if t % 2 == 0:
            represent_row(bench.model.cache, bench.size)
            insert(bench.model, bench.block, t, update(0.3))
            bench.fill_later(t)
    assert bench.size == COEF.shape[1] + 5
    size = bench.size
    product = (
        bench.model.cache.root[:size, :size] @ bench.model.cache.root[:size, :size].T
    )
    np.testing.assert_allclose(product @ bench.gram(), np.eye(size), atol=1e-5)


def test_rows_that_are_not_expected_are_left_for_later() -> None:
    bench = made()
    ahead = bench.block.ahead
    ahead.wanted[:4] = [0, 3, 6, 7]
    project_row_ahead(bench.model, bench.block, 2)
    assert ahead.rows[:5].tolist() == [2, 3, 6, 7, -1]
    assert rows_ahead.place_of(ahead, 6) == 2
    assert rows_ahead.place_of(ahead, 1) == -1
    rows_ahead.forget(ahead)
    assert (ahead.rows == -1).all() and (ahead.wanted == -1).all()


@pytest.mark.parametrize("kernel", [rbf, poly, linear])
@pytest.mark.parametrize("features", [3, 4, 9])
@pytest.mark.parametrize("size", [1, TILE, TILE + 3])
def test_kernel_values_of_tiles_are_those_of_pairs(
    kernel: Any, features: int, size: int
) -> None:
    rng = np.random.default_rng(0)
    centers, X = rng.normal(size=(size, features)), rng.normal(size=(5, features))
    turned = np.full((features, size + 1), np.nan)
    turned[:, :size] = centers.T
    out = np.full((5, size + 2), np.nan)
    between_points(SIMILARITY[kernel], turned, size, X, out)
    np.testing.assert_allclose(out[:, :size], kernel(X, centers), rtol=1e-13)
    assert np.isnan(out[:, size:]).all()


def test_a_new_pass_turns_the_centres_anew() -> None:
    bench, ahead = made(), made().block.ahead
    for size in (2, 5):
        rows_ahead._turn(ahead, bench.model.points, size)
        np.testing.assert_array_equal(ahead.turned[:, :size], bench.points[:size].T)
    other = made(seed=1).model.points
    rows_ahead.start(ahead)
    rows_ahead._turn(ahead, other, 3)
    np.testing.assert_array_equal(ahead.turned[:, :3], other.grid[:3].T)


def test_a_repaired_root_projects_all_anew() -> None:
    bench = made()
    bench.block.ahead.wanted[0] = 1
    project_row_ahead(bench.model, bench.block, 0)
    assert rows_ahead.place_of(bench.block.ahead, 1) == 1
    cache = bench.model.cache
    cache.root[:5, :5] *= 2.0  # as if it had been that wrong before
    cache.status[0].repairs += 1
    project_row_ahead(bench.model, bench.block, 1)
    size = bench.size
    wanted = cache.root[:size, :size].T @ cache.column[:size]
    np.testing.assert_allclose(cache.work[:size], wanted, rtol=1e-12)


def test_rows_to_come_follow_a_centre_that_comes_and_one_that_leaves() -> None:
    bench = made()
    model, ahead, cache = bench.model, bench.block.ahead, bench.model.cache
    ahead.wanted[:7] = np.arange(1, 8)
    size = bench.size
    rows_ahead.project_ahead(
        *(ahead, bench.block.similarity, bench.block.rows, model.points),
        *(cache.root.T[:size], False, 0),
    )
    bench.arrive(0)
    project_row(model, bench.block, 0)
    tip = np.sqrt(cache.status[0].residual + JITTER * cache.status[0].kxx)
    rows_ahead.note_entry(ahead, bench.block.similarity, 0, size, tip)
    insert(model, bench.block, 0, update(0.3))
    drop(model, bench.block, 0, 1)
    scale = 2.0 / (cache.work[: size + 1] @ cache.work[: size + 1])
    rows_ahead.note_exit(ahead, 0, 1, size + 1, cache.work, scale)
    for t in range(1, 8):
        place = rows_ahead.place_of(ahead, t)
        column = bench.kernel(bench.located(), bench.rows[t : t + 1])[:, 0]
        np.testing.assert_allclose(ahead.columns[place, :size], column, atol=1e-12)
        projected = cache.root[:size, :size].T @ column
        np.testing.assert_allclose(ahead.projected[place, :size], projected, atol=1e-6)
        assert ahead.sizes[place] == size
    np.testing.assert_allclose(ahead.turned[:, :size].T, bench.located())

"""Rows that are projected before their turn: the same as one at a time."""

from typing import Any

import numpy as np
import pytest

from onkel.model import rows_ahead
from onkel.model.expansion import insert
from onkel.model.inverse import Inverse, project_row, represent_row
from onkel.model.rows import TILE, beside, between_points, rows_of
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
@pytest.mark.parametrize("expected", [[], range(ROWS), [1, 4, 5, 8], [0, 8]])
def test_rows_together_leave_what_each_leaves_alone(kernel: Any, expected: Any) -> None:
    bench = made(kernel=kernel)
    bench.block.expected[:] = False
    bench.block.expected[list(expected)] = True
    for t in range(ROWS):
        found = project_row(bench.model, bench.block, t, True)
        assert found == pytest.approx(alone(bench, t), abs=1e-6)
        assert bench.model.cache.status[0].kxx == pytest.approx(bench.block.diag[t])


def test_a_centre_that_comes_meanwhile_counts_for_rows_that_were_projected() -> None:
    bench = made()
    for t in range(ROWS):
        bench.arrive(t)
        found = project_row(bench.model, bench.block, t, True)
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
    bench.block.expected[:] = [1, 0, 1, 0, 0, 0, 1, 1, 1]
    project_row(bench.model, bench.block, 0, True)
    ahead = bench.block.ahead
    assert ahead.rows.tolist() == [0, 2, 6, 7][: rows_ahead.AT_ONCE]
    assert rows_ahead.place_of(ahead, 6) == 2
    assert rows_ahead.place_of(ahead, 1) == -1
    rows_ahead.forget(ahead)
    assert (ahead.rows == -1).all()


@pytest.mark.parametrize("kernel", [rbf, poly, linear])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [1, TILE, TILE + 3])
def test_kernel_values_of_tiles_are_those_of_pairs(
    kernel: Any, order: Any, size: int
) -> None:
    rng = np.random.default_rng(0)
    centers, X = rng.normal(size=(size, 3)), rng.normal(size=(5, 3))
    points = beside(rows_of(X, np.float64), np.asarray(centers, order=order))
    if order == "F":
        points = points._replace(grid=np.ascontiguousarray(centers.T), turned=True)
    out = np.full((5, size + 2), np.nan)
    tile = np.zeros((3, TILE))
    between_points(SIMILARITY[kernel], points, size, X, tile, out)
    np.testing.assert_allclose(out[:, :size], kernel(X, centers), rtol=1e-13)
    assert np.isnan(out[:, size:]).all()

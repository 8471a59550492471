"""The inverse Gram matrix, and the strategies that project with it.

The inverse is edited; here it is computed afresh from the features. What a projection
is, numpy solves for.
"""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.dispatch import absorb, add_to_span, in_span, maintain
from onkel.budget.project import Project, losses, project_out
from onkel.budget.project_all import ProjectAll
from onkel.budget.project_if_close import ProjectIfClose
from onkel.model.expansion import drop, insert
from onkel.model.inverse import (
    CHECK_EVERY,
    JITTER,
    Inverse,
    add_to_centers,
    deviation,
    inverse_column,
    inverse_diagonal,
    project_row,
    project_row_ahead,
    represent_row,
    row_in_span,
)
from tests.unit.hand_made import Bench, Numbers, linear, poly, rbf, update

FEW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
FIVE = np.array([[0.5, -1.0, 2.0, 0.25, -0.75]])
THIRD = np.eye(5)[2:3]
THREE_CLASSES = np.array(
    [
        [1.0, -0.5, 0.0, 0.0, 0.3],
        [-1.0, 0.0, 0.7, 0.2, -0.3],
        [0.0, 0.5, -0.7, -0.2, 0.0],
    ]
)
each_change = pytest.mark.parametrize(
    "coef, change",
    [
        (FIVE, update(0.4)),
        (FIVE, update(-0.4)),
        (THREE_CLASSES, update(0.4, up=2, down=1)),
    ],
    ids=["positive", "negative", "multiclass"],
)


def made(coef: Any = FIVE, **options: Any) -> Bench:
    return Bench(coef, kind=Inverse, **options)


def jittered(K: np.ndarray) -> np.ndarray:
    return K + JITTER * np.diag(np.diag(K))


def projection(bench: Bench, points: np.ndarray) -> np.ndarray:
    """Project points on the centres: a column of coefficients for each."""
    cross = bench.kernel(bench.located(), points)
    return np.linalg.solve(jittered(bench.gram()), cross)


def directions(change: Any, outputs: int) -> np.ndarray:
    """Return what an update gives to each output."""
    given = np.zeros(outputs)
    given[change.up] = change.weight
    if change.down >= 0:
        given[change.down] = -change.weight
    return given


def distance(bench: Bench, points: np.ndarray, coef: np.ndarray) -> float:
    """Squared norm of the difference between the model and another."""
    both = np.vstack([bench.located(), points])
    change = np.hstack([bench.true_coef, -coef])
    return float(np.einsum("oi,ij,oj", change, bench.kernel(both, both), change))


def check_inverse(bench: Bench, error: float = 1e-6) -> None:
    size, K = bench.size, bench.gram()
    np.testing.assert_allclose(bench.model.cache.values[:size, :size], K, atol=1e-12)
    root = bench.model.cache.root[:size, :size]
    product = jittered(K) @ (root @ root.T)
    np.testing.assert_allclose(product, np.eye(size), atol=error)


# ---- the inverse ---------------------------------------------------------------------

WHO = st.floats(0.0, 1.0, exclude_max=True)
EDITS = st.lists(
    st.tuples(st.sampled_from(["nothing", "project out", "drop"]), WHO), max_size=9
)


@pytest.mark.parametrize(
    "kernel, near, error",
    [
        (rbf, 1.0, 1e-8),
        (rbf, 1e-3, 1e-4),  # rows that are nearly the same
        (poly, 1.0, 1e-4),  # in a space of six dimensions
    ],
)
@FEW
@given(edits=EDITS)
def test_the_root_gives_the_inverse_whatever_comes_and_goes(
    kernel: Any, near: float, error: float, edits: Any
) -> None:
    rng = np.random.default_rng(0)
    block = np.ones(2) + near * rng.normal(size=(9, 2))
    bench = made(FIVE, kernel=kernel, block=block, capacity=14)
    for t, (edit, who) in enumerate(edits):
        bench.arrive(t)
        project_row(bench.model, bench.block, t)
        if not row_in_span(bench.model):
            insert(bench.model, bench.block, t, update(0.3))
        j = int(who * bench.size)
        if edit != "nothing" and bench.size > 1:
            edit_out = drop if edit == "drop" else project_out
            edit_out(bench.model, bench.block, t, j)
        bench.fill_later(t)
        check_inverse(bench, error)


def test_a_model_that_was_emptied_starts_anew() -> None:
    bench = made([0.5, 1.0])
    for j in (1, 0):
        drop(bench.model, bench.block, 0, j)
    for t in range(2):
        bench.arrive(t)
        assert project_row(bench.model, bench.block, t) > 0
        insert(bench.model, bench.block, t, update(0.3))
        bench.fill_later(t)
    assert bench.size == 2
    check_inverse(bench)


def test_columns_and_the_diagonal_are_those_of_the_inverse() -> None:
    bench = made()
    K_inv = np.linalg.inv(jittered(bench.gram()))
    diagonal = np.zeros(12)
    inverse_diagonal(bench.model.cache, 5, diagonal)
    np.testing.assert_allclose(diagonal[:5], np.diag(K_inv))
    for p in range(5):
        inverse_column(bench.model.cache, p, 5)
        np.testing.assert_allclose(bench.model.cache.shares[:5], K_inv[p])
        assert deviation(bench.model.cache, p, 5) < 1e-10


@pytest.mark.parametrize("triangular", [False, True])
def test_what_a_row_leaves_is_orthogonal_to_the_centres(triangular: bool) -> None:
    for kernel in (rbf, poly):
        bench = made(kernel=kernel)
        x = bench.rows[:1]
        if triangular:
            r2 = project_row_ahead(bench.model, bench.block, 0)
            represent_row(bench.model.cache, 5)
        else:
            r2 = project_row(bench.model, bench.block, 0)
        d, K = bench.model.cache.shares[:5], bench.gram()
        k_x, kxx = kernel(bench.points, x)[:, 0], kernel(x, x)[0, 0]
        np.testing.assert_allclose(d, projection(bench, x)[:, 0], rtol=1e-6)
        np.testing.assert_allclose(K @ d, k_x, atol=1e-6)
        assert r2 == pytest.approx(kxx - 2 * d @ k_x + d @ K @ d, abs=1e-6)


def test_the_inverse_diagonal_is_one_over_what_a_centre_adds() -> None:
    bench = made()
    K, diagonal = bench.gram(), np.zeros(12)
    inverse_diagonal(bench.model.cache, 5, diagonal)
    for p in range(5):
        others = np.arange(5) != p
        d = np.linalg.solve(K[np.ix_(others, others)], K[others, p])
        left = K[p, p] - d @ K[others, p]
        assert 1 / diagonal[p] == pytest.approx(left, rel=1e-4)


@pytest.mark.parametrize("kernel", [rbf, poly])
def test_only_a_duplicate_lies_in_the_span(kernel: Any) -> None:
    points = np.random.default_rng(0).normal(size=(5, 2))
    bench = made(kernel=kernel, points=points, block=np.vstack([points, [[2.0, 2.0]]]))
    for t in range(6):
        project_row(bench.model, bench.block, t)
        assert row_in_span(bench.model) == (t < 5)


def test_two_directions_span_the_plane() -> None:
    block = np.array([[3.0, -7.0], [1e-3, 0.0], [0.0, 0.0]])
    bench = made([1.0, 1.0], kernel=linear, points=np.eye(2), block=block)
    for t in range(3):
        project_row(bench.model, bench.block, t)
        assert row_in_span(bench.model)
    line = made([1.0], kernel=linear, points=np.eye(2)[:1], block=block)
    project_row(line.model, line.block, 0)
    assert not row_in_span(line.model)


@pytest.mark.parametrize("corrupt", [False, True])
def test_a_corrupted_root_is_repaired_and_counted(corrupt: bool) -> None:
    bench = made(rows=CHECK_EVERY)
    if corrupt:
        bench.model.cache.root[:5, :5] += 0.1
    status = bench.model.cache.status[0]
    for t in range(CHECK_EVERY):
        assert status.repairs == 0
        bench.arrive(t)
        project_row(bench.model, bench.block, t)
        insert(bench.model, bench.block, t, update(0.3))
        if t < CHECK_EVERY - 1:
            drop(bench.model, bench.block, t, 5)
    assert status.edits == CHECK_EVERY
    assert status.repairs == corrupt
    check_inverse(bench)


def test_a_resized_inverse_goes_on() -> None:
    bench = made(capacity=6)
    bench.model.cache.status[0].edits = 7
    bench.resize(12)
    bench.block = bench._block(1, 12)
    assert bench.model.cache.status[0].edits == 7
    check_inverse(bench)
    for t in range(3):
        bench.arrive(t)
        project_row(bench.model, bench.block, t)
        insert(bench.model, bench.block, t, update(0.3))
        bench.fill_later(t)
    assert bench.size == 8
    check_inverse(bench)


# ---- laying a row on the centres -----------------------------------------------------


def laid(bench: Bench, change: Any, tau: float = 1.0) -> np.ndarray:
    """Coefficients once row 0 is laid on the centres."""
    d = projection(bench, bench.rows[:1])[:, 0]
    return bench.coef + tau * np.outer(directions(change, len(bench.coef)), d)


@each_change
def test_laying_a_row_on_the_centres_adds_its_projection(
    coef: np.ndarray, change: Any
) -> None:
    bench = made(coef)
    wanted = laid(bench, change)
    project_row(bench.model, bench.block, 0)
    add_to_centers(bench.model, change)
    np.testing.assert_allclose(bench.coef, wanted, rtol=1e-6)
    # Of all models over these centres it is the nearest to the one with the row.
    full = np.hstack([coef, directions(change, len(coef))[:, None]])
    points = np.vstack([bench.points, bench.rows[:1]])
    least = distance(bench, points, full)
    for j in range(5):
        for step in (-0.01, 0.01):
            bench.model.coef[0, j] += step
            assert distance(bench, points, full) > least
            bench.model.coef[0, j] -= step


@pytest.mark.parametrize("by_residual", [False, True])
def test_a_row_in_the_span_is_laid_on_the_centres_not_stored(by_residual: bool) -> None:
    strategy = Project(by_residual)
    bench = made(points=np.arange(10.0).reshape(5, 2), block=np.array([[4.0, 5.0]]))
    assert in_span(strategy, bench.model, bench.block, 0)
    add_to_span(strategy, bench.model, 0, 0.5)
    np.testing.assert_allclose(bench.coef, FIVE + 0.5 * THIRD, atol=1e-6)
    absorb(
        Bernoulli(5, math.inf, 2**62, strategy),
        bench.model,
        bench.block,
        0,
        update(0.5),
        Numbers(),
    )
    np.testing.assert_allclose(bench.coef, FIVE + THIRD, atol=1e-6)
    assert bench.model.counters[0].maintenance == 0


# ---- projecting a centre out ---------------------------------------------------------


def without(bench: Bench, p: int) -> tuple[np.ndarray, float]:
    """Coefficients of the others once p is projected on them, and the norm lost."""
    K, others = bench.gram(), np.arange(bench.size) != p
    coef = bench.coef
    d = np.linalg.solve(jittered(K)[np.ix_(others, others)], K[others, p])
    left = K[p, p] - 2 * d @ K[others, p] + d @ K[np.ix_(others, others)] @ d
    kept = coef[:, others] + np.outer(coef[:, p], d)
    return kept, float((coef[:, p] ** 2).sum() * left)


def check_projected(bench: Bench, before: Bench, p: int) -> None:
    births = [birth for slot, birth in enumerate(before.births) if slot != p]
    by_birth = np.argsort(bench.births)
    np.testing.assert_array_equal(np.array(bench.births)[by_birth], sorted(births))
    kept = without(before, p)[0][:, np.argsort(births)]
    np.testing.assert_allclose(bench.coef[:, by_birth], kept, rtol=1e-5, atol=1e-7)
    check_inverse(bench)


@pytest.mark.parametrize("kernel", [rbf, poly])
@pytest.mark.parametrize("coef", [FIVE, THREE_CLASSES], ids=["binary", "multiclass"])
@pytest.mark.parametrize("by_residual", [False, True])
def test_the_victim_and_its_projection_equal_brute_force(
    kernel: Any, coef: np.ndarray, by_residual: bool
) -> None:
    for seed in range(10):
        bench, before = (made(coef, kernel=kernel, seed=seed) for _ in range(2))
        lost = np.array([without(before, p)[1] for p in range(5)])
        cost = np.zeros(12)
        inverse_diagonal(bench.model.cache, 5, bench.model.cache.work)
        losses(bench.model, cost)
        np.testing.assert_allclose(cost[:5], lost, rtol=1e-3)
        if not by_residual:
            lost = (coef**2).sum(axis=0) * np.diag(before.gram())
        inverse_diagonal(bench.model.cache, 5, bench.model.cache.work)
        maintain(Project(by_residual), bench.model, bench.block, 0)
        check_projected(bench, before, int(lost.argmin()))


# ---- BPA-P ---------------------------------------------------------------------------


@each_change
@pytest.mark.parametrize("weight", [1e-6, 0.4])
def test_the_newcomer_inherits_and_never_leaves(
    coef: np.ndarray, change: Any, weight: float
) -> None:
    change = change._replace(weight=math.copysign(weight, change.weight))
    given = directions(change, len(coef))[:, None]
    for seed in range(10):
        bench = made(coef, seed=seed)
        points = np.vstack([bench.points, bench.rows[:1]])
        before = made(np.hstack([coef, given]), points=points)
        old = [without(before, p)[1] for p in range(5)]
        bench.arrive(0)
        absorb(ProjectAll(5), bench.model, bench.block, 0, change, Numbers())
        assert 6 in bench.births
        assert bench.model.counters[0].maintenance == 1
        check_projected(bench, before, int(np.argmin(old)))


def test_a_newcomer_with_room_or_in_the_span_moves_nobody_out() -> None:
    bench = made()
    bench.arrive(0)
    absorb(ProjectAll(6), bench.model, bench.block, 0, update(0.4), Numbers())
    np.testing.assert_array_equal(bench.coef, np.hstack([FIVE, [[0.4]]]))
    bench = made(block=made().points[2:3])
    bench.arrive(0)
    absorb(ProjectAll(5), bench.model, bench.block, 0, update(0.4), Numbers())
    np.testing.assert_allclose(bench.coef, FIVE + 0.4 * THIRD, atol=1e-6)
    assert bench.model.counters[0].maintenance == 0


# ---- the Projectron ------------------------------------------------------------------

PLENTY = 2**62


def project_if_close(bench: Bench, change: Any, *budget: Any) -> Any:
    """Let row 0 arrive as an update; return the head of the model."""
    bench.arrive(0)
    bench.model.counters[0].updates = 1
    absorb(ProjectIfClose(*budget), bench.model, bench.block, 0, change, Numbers())
    return bench.model.counters[0]


def leftover(bench: Bench) -> float:
    """Norm of what the centres leave of row 0."""
    return math.sqrt(project_row(bench.model, bench.block, 0))


@each_change
def test_a_mistake_is_stored_or_laid_on_the_centres_by_its_residual(
    coef: np.ndarray, change: Any
) -> None:
    for share, stored in ((0.999, True), (1.001, False)):
        bench = made(coef)
        threshold, wanted = share * leftover(bench), laid(bench, change)
        counters = project_if_close(bench, change, PLENTY, threshold, False)
        assert (counters.updates, counters.maintenance) == (1, 0)
        if stored:
            new = directions(change, len(coef))
            np.testing.assert_array_equal(
                bench.coef, np.hstack([coef, new[:, None]]), strict=True
            )
            check_inverse(bench)
        else:
            np.testing.assert_allclose(bench.coef, wanted, rtol=1e-6)


def test_a_full_budget_lays_all_mistakes_on_the_centres_and_counts_them() -> None:
    for threshold, counted in ((1e-3, 1), (1.0, 0)):
        bench = made()
        wanted = laid(bench, update(0.4))
        counters = project_if_close(bench, update(0.4), 5, threshold, False)
        assert counters.maintenance == counted
        np.testing.assert_allclose(bench.coef, wanted, rtol=1e-6)


def test_a_threshold_of_zero_stores_all_but_duplicates() -> None:
    assert project_if_close(made(), update(0.4), PLENTY, 0.0, False).count == 6
    bench = made(block=made().points[2:3])
    assert project_if_close(bench, update(0.4), PLENTY, 0.0, False).count == 5
    np.testing.assert_allclose(bench.coef, FIVE + 0.4 * THIRD, atol=1e-6)


def with_margin(coef: np.ndarray, change: Any, margin: float) -> Bench:
    """Scale a model so that row 0 has a margin as to the update."""
    bench = made(coef)
    f = bench.f(bench.rows[0]) @ np.sign(directions(change, len(coef)))
    bench.model.counters[0].factor = margin / f
    return bench


@each_change
@pytest.mark.parametrize("margin", [0.05, 0.3, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.6, 2.0, 100.0])
def test_a_small_margin_is_corrected_by_the_formula_of_the_paper(
    coef: np.ndarray, change: Any, margin: float, threshold: float
) -> None:
    change = change._replace(weight=math.copysign(1.0, change.weight))
    bench = with_margin(coef, change, margin)
    residual = leftover(bench)
    loss, p2 = 1.0 - margin, 1.0 - residual**2
    counters = project_if_close(bench, change, PLENTY, threshold, True)
    assert (counters.count, counters.maintenance) == (5, 0)
    if loss * threshold <= residual:
        np.testing.assert_array_equal(bench.coef, coef)
        assert counters.updates == 0, "nothing happened, so it does not count"
        return
    tau = min(loss / p2, 1.0, 2.0 * (loss - residual / threshold) / p2)
    tau = tau if len(coef) == 1 else tau / 2
    wanted = laid(made(coef), change, tau)
    np.testing.assert_allclose(bench.coef, wanted, rtol=1e-6)
    assert counters.updates == 1


@each_change
def test_a_mistake_is_one_for_the_aggressive_too(coef: np.ndarray, change: Any) -> None:
    for margin in (-0.5, 0.0):
        bench = with_margin(coef, change, -1.0)
        bench.model.counters[0].factor *= -margin
        assert project_if_close(bench, change, PLENTY, 1e-3, True).count == 6
    bench = with_margin(coef, change._replace(weight=-change.weight), 0.5)
    assert project_if_close(bench, change, PLENTY, 1e-3, True).count == 6


def test_a_row_that_no_centre_knows_is_not_corrected() -> None:
    bench = made([1.0, 2.0], block=np.full((1, 2), 9.0))
    assert 0 < bench.f(bench.rows[0])[0] < 1e-12
    assert project_if_close(bench, update(1.0), PLENTY, 100.0, True).updates == 0
    np.testing.assert_array_equal(bench.coef, [[1.0, 2.0]])

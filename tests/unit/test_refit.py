"""The parts of the re-fit: kernel values, calibration, held-out rows, climb, rows."""

import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax

from onkel.engine.threads import Team
from onkel.problem import kernels, losses
from onkel.refit import values as values_module
from onkel.refit.calibration import BENDS, FEW_BENDS, calibrate, log_odds
from onkel.refit.held_out import FEW, MOST, VERY_FEW, Targets, parts
from onkel.refit.reservoir import MOST_CHUNKS, Reservoir
from onkel.refit.scoring import error
from onkel.refit.search import FARTHEST, climb
from onkel.refit.values import Values
from tests.exact.kernels import gram

ROWS, CENTERS = 300, 7
KERNELS = ("rbf", "laplacian", "poly", "linear")
SLOPES = np.array([0.6, 3.0, 1.5, 2.5])


def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make tiles of the fewest rows, 64, so that there are several."""
    monkeypatch.setattr(values_module, "TILE", 1)


def rows(dtype: type = np.float64) -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    X[np.abs(X) < 0.3] = 0.0
    return X.astype(np.float32).astype(dtype)


def make_values(X: Any, kept: int, n_jobs: int = 1, kernel: str = "rbf") -> Values:
    made = kernels.make(kernel, 0.3, 3, 1.0)
    return Values(made, X, rows()[:CENTERS], Team(n_jobs), kept)


def wanted_values(kernel: str = "rbf") -> np.ndarray:
    X = rows()
    return gram(X, X[:CENTERS], kernel=kernel, gamma=0.3, degree=3, coef0=1.0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("kept", [0, 150 * CENTERS, 10**6], ids=["none", "some", "all"])
def test_every_tile_has_the_kernel_values(
    monkeypatch: pytest.MonkeyPatch, kernel: str, dtype: type, sparse: bool, kept: int
) -> None:
    small_tiles(monkeypatch)
    X: Any = scipy.sparse.csr_array(rows(dtype)) if sparse else rows(dtype)
    values = make_values(X, kept, kernel=kernel)
    wanted = wanted_values(kernel)
    assert len(values) == ROWS
    scale = max(np.abs(wanted).max(), 1.0)
    for _ in range(2):  # once computed, once kept
        for first in range(0, ROWS, values.rows):
            tile = values.tile(first)
            assert tile.dtype == np.float32
            some = wanted[first : first + values.rows]
            np.testing.assert_allclose(tile, some, rtol=2e-6, atol=1e-6 * scale)


def test_values_next_to_nothing_are_zero() -> None:
    X = np.array([[0.0], [4.0], [4.2], [100.0]])
    values = Values(kernels.make("rbf", 1.0, 1, 0.0), X, X[:1], Team(1))
    found = values.tile(0)[:, 0]
    assert found[0] == 1.0
    assert found[1] == pytest.approx(math.exp(-16.0), rel=1e-5)
    assert not found[2:].any()


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("kept", [0, 150 * CENTERS, 10**6], ids=["none", "some", "all"])
@settings(max_examples=20, deadline=None)
@given(
    chosen=st.none() | st.lists(st.integers(0, ROWS - 1), unique=True, max_size=ROWS),
    first=st.booleans(),
)
def test_each_row_is_visited_once(
    n_jobs: int, kept: int, chosen: list[int] | None, first: bool
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_tiles(monkeypatch)
        values = make_values(rows(), kept, n_jobs)
        seen = np.zeros(ROWS, int)
        found = np.full((ROWS, CENTERS), np.nan)
        lock = threading.Lock()

        def targets(which: Any, known: np.ndarray, _: None) -> None:
            with lock:
                seen[which] += 1
                found[which] = known

        if first:  # so that some are kept already
            values.each(targets)
            seen[:] = 0
        which = None if chosen is None else np.array(chosen, int)
        values.each(targets, rows=which)
    wanted = np.ones(ROWS, int) if which is None else np.bincount(which, minlength=ROWS)
    assert seen.tolist() == wanted.tolist()
    visited = seen > 0
    np.testing.assert_allclose(
        found[visited], wanted_values()[visited], rtol=2e-6, atol=1e-6
    )


def task_of(y: np.ndarray, outputs: int, weight: np.ndarray | None = None) -> Targets:
    weight = np.ones(len(y)) if weight is None else weight
    return Targets(y, weight, outputs, losses.make("squared_hinge"), False)


def wrong(count: int, rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and scores that are wrong for so many of the first rows."""
    y = np.where(np.arange(rows) % 3 == 0, 1.0, -1.0)
    return y, np.where(np.arange(rows) < count, -y, y)[:, np.newaxis]


@pytest.mark.parametrize(("count", "can"), [(0, False), (29, False), (30, True)])
def test_with_fewer_than_thirty_mistakes_no_gain_is_seen(count: int, can: bool) -> None:
    y, scores = wrong(count)
    targets, rows = task_of(y, 1), np.arange(len(y))
    assert targets.can_gain(scores, rows) is can
    # Of several classes, too.
    index = np.arange(len(y)) % 3
    said = np.where(rows < count, (index + 1) % 3, index)
    assert task_of(index * 1.0, 3).can_gain(np.eye(3)[said], rows) is can


def test_only_the_rows_that_are_asked_can_tell_a_gain() -> None:
    y, scores = wrong(50)
    targets = task_of(y, 1)
    for first, can in ((0, True), (20, True), (21, False), (100, False)):
        some = np.arange(first, first + 100)
        assert targets.can_gain(scores[some], some) is can
        assert targets.can_gain(scores[some[::-1]], some[::-1]) is can


def test_mistakes_that_weigh_less_count_less() -> None:
    y, scores = wrong(50)
    rows = np.arange(len(y))
    for wrongs, can in ((1.0, True), (0.6, True), (0.4, False), (0.0, False)):
        weight = np.where(rows < 50, wrongs, 1.0)
        assert task_of(y, 1, weight).can_gain(scores, rows) is can
        # Whatever the unit of the weights.
        assert task_of(y, 1, 1e6 * weight).can_gain(scores, rows) is can
    # Without any weight rows are alike.
    assert task_of(y, 1, np.zeros(len(y))).can_gain(scores, rows) is True


def test_of_values_there_is_always_something_to_gain() -> None:
    y = np.random.default_rng(0).normal(size=50)
    made = losses.make("squared_error")
    targets = Targets(y, np.ones(50), 1, made, True)
    for scores in (y, y + 1e-9, y + 1.0):
        assert targets.can_gain(scores[:, np.newaxis], np.arange(50)) is True


def bent(scores: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The bent line, one number at a time."""

    def g(s: float) -> float:
        if s < -1.0:
            return -slopes[1] + slopes[0] * (s + 1.0)
        if s < 0.0:
            return slopes[1] * s
        if s < 1.0:
            return slopes[2] * s
        return slopes[2] + slopes[3] * (s - 1.0)

    return np.vectorize(g, otypes=[float])(scores)


def draw(rng: np.random.Generator, chances: np.ndarray) -> np.ndarray:
    """One class of each row."""
    return (rng.random(len(chances))[:, None] > chances.cumsum(axis=1)).sum(axis=1)


# A subnormal number times a slope may be nothing.
SCORES = st.floats(-50.0, 50.0, allow_subnormal=False)


@given(st.lists(SCORES, min_size=1), st.integers(0, 999))
def test_log_odds_are_the_bent_line(scores: list[float], seed: int) -> None:
    slopes = np.exp(np.random.default_rng(seed).normal(size=4))
    found = log_odds(np.array(scores), slopes)
    assert found == pytest.approx(bent(np.array(scores), slopes))
    assert (np.sign(found) == np.sign(scores)).all()
    order = np.argsort(scores)
    assert (np.diff(found[order]) >= 0.0).all()


def test_calibration_recovers_log_odds_of_two_classes() -> None:
    rng = np.random.default_rng(0)
    scores = 1.5 * rng.normal(size=(60_000, 1))
    y = np.where(rng.random(60_000) < expit(bent(scores[:, 0], SLOPES)), 1.0, -1.0)
    found = calibrate(task_of(y, 1), scores, FEW_BENDS)
    # Three standard errors, found by repetition: few rows far out are in doubt.
    assert (np.abs(found - SLOPES) <= [0.17, 0.12, 0.06, 0.3]).all()


def test_calibration_of_many_rows_follows_what_the_squared_hinge_makes() -> None:
    rng = np.random.default_rng(0)
    chances = rng.beta(0.6, 1.2, size=40_000)
    y = np.where(rng.random(40_000) < chances, 1.0, -1.0)
    scores = (2.0 * chances - 1.0)[:, np.newaxis]
    slopes = calibrate(task_of(y, 1), scores)
    assert len(slopes) == len(BENDS) + 1
    found = expit(log_odds(scores, slopes)[:, 0])
    assert np.abs(found - chances).mean() < 0.008
    few = expit(log_odds(scores, calibrate(task_of(y, 1), scores, FEW_BENDS))[:, 0])
    assert np.abs(few - chances).mean() > 0.012
    assert ((found > 0.5) == (scores[:, 0] > 0.0)).all()


def test_calibration_recovers_log_odds_of_several_classes() -> None:
    rng = np.random.default_rng(0)
    scores = 1.5 * rng.normal(size=(40_000, 4))
    y = draw(rng, softmax(bent(scores, SLOPES), axis=1)).astype(float)
    found = calibrate(task_of(y, 4), scores, FEW_BENDS)
    assert (np.abs(found - SLOPES) <= [0.15, 0.14, 0.07, 0.08]).all()


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_calibration_of_perfectly_separated_scores_is_finite(
    outputs: int, size: float
) -> None:
    rng = np.random.default_rng(0)
    if outputs == 1:
        y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
        scores = size * (y * (0.5 + rng.random(200)))[:, None]
    else:
        y = rng.integers(outputs, size=200).astype(float)
        scores = size * (2.0 * np.eye(outputs)[y.astype(int)] - 1.0)
    slopes = calibrate(task_of(y, outputs), scores)
    assert np.isfinite(slopes).all()
    assert (slopes > 0.0).all()
    odds = log_odds(scores, slopes)
    if outputs == 1:
        chances = expit(odds[:, 0] * y)
        assert (chances > 0.5).all()
    else:
        chances = softmax(odds, axis=1)[np.arange(200), y.astype(int)]
        assert (odds.argmax(axis=1) == y).all()
    # Platt's targets: the rows of a class count as (n + 1) / (n + 2) certain.
    if size >= 1.0:
        assert 0.95 < chances.mean() < 1.0 - 1e-3


def test_a_search_is_judged_by_the_scoring() -> None:
    y = np.array([-1.0] * 8 + [1.0] * 2)
    # Nothing is found, but ranked well; and one is found, the other ranked last.
    ranked = np.linspace(-1.0, -0.1, 10)[:, np.newaxis]
    found = ranked.copy()
    found[8:, 0] = -3.0, 0.5
    rows, targets = np.arange(10), task_of(y, 1)._replace(loss=losses.make("hinge"))
    assert targets.validation_loss(found, rows) < targets.validation_loss(ranked, rows)
    by_rank = targets._replace(measure=partial(error, "average_precision"))
    assert by_rank.validation_loss(found, rows) > by_rank.validation_loss(ranked, rows)
    assert by_rank.error(ranked, rows) == pytest.approx(0.0)
    assert np.isnan(by_rank.error(ranked[:5], rows[:5]))  # of one class only


def test_the_stated_error_knows_no_weights_of_classes() -> None:
    y, scores = np.array([-1.0, -1.0, -1.0, 1.0]), np.full((4, 1), -1.0)
    rows, targets = np.arange(4), task_of(y, 1, np.array([1.0, 1.0, 1.0, 9.0]))
    assert targets.stated(scores, rows) == targets.error(scores, rows) == 0.75
    targets = targets._replace(plain=np.ones(4))
    assert targets.error(scores, rows) == 0.75
    assert targets.stated(scores, rows) == 0.25


@pytest.mark.parametrize("outputs", [1, 3])
def test_calibration_of_a_rare_class_keeps_it_rare(outputs: int) -> None:
    rng = np.random.default_rng(0)
    scores = np.full((3000, outputs), -1.0)
    scores[:, 0] = 1.0 if outputs > 1 else -1.0
    scores += 0.05 * rng.normal(size=scores.shape)
    y = np.full(3000, 0.0 if outputs > 1 else -1.0)
    y[:30] = 1.0
    odds = log_odds(scores, calibrate(task_of(y, outputs), scores))
    rare = softmax(odds, axis=1)[:, 1:] if outputs > 1 else expit(odds)
    chances = rare.sum(axis=1)
    # Nothing tells them apart: one in a hundred, for all rows.
    assert 0.007 < chances.mean() < 0.013


@pytest.mark.parametrize("outputs", [1, 3])
def test_calibration_keeps_the_order_when_scores_say_the_opposite(outputs: int) -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(500, outputs))
    if outputs == 1:
        y = np.where(rng.random(500) < expit(-2.0 * scores[:, 0]), 1.0, -1.0)
    else:
        y = draw(rng, softmax(-2.0 * scores, axis=1)).astype(float)
    assert (calibrate(task_of(y, outputs), scores) > 0.0).all()


@pytest.mark.parametrize("outputs", [1, 3])
def test_calibration_reads_weights_as_repetitions(outputs: int) -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(400, outputs))
    if outputs == 1:
        y = np.where(rng.random(400) < expit(2.0 * scores[:, 0]), 1.0, -1.0)
    else:
        y = draw(rng, softmax(2.0 * scores, axis=1)).astype(float)
    weight = rng.integers(0, 4, 400)
    found = calibrate(task_of(y, outputs, weight.astype(float)), scores)
    repeated = calibrate(
        task_of(y.repeat(weight), outputs), scores.repeat(weight, axis=0)
    )
    assert found == pytest.approx(repeated, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 9000),
    outputs=st.sampled_from([1, 3, 7]),
    share=st.sampled_from([0.2, 2.0 / 3.0]),
    seed=st.integers(0, 999),
)
def test_parts_are_disjoint_and_every_class_has_its_share(
    n: int, outputs: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    chances = np.arange(1, max(outputs, 2) + 1) ** 2.0
    y = rng.choice(len(chances), n, p=chances / chances.sum()).astype(float)
    targets = task_of(2.0 * y - 1.0 if outputs == 1 else y, outputs)
    held = parts(targets, rng, share)
    together = np.concatenate(held)
    assert len(np.unique(together)) == len(together)
    if n < FEW:
        assert len(together) == n
        assert len(held) == min(3 if n >= VERY_FEW else 5, n)
        assert max(map(len, held)) - min(map(len, held)) <= 1
    else:
        assert len(held) == 1
        assert len(together) == min(round(share * n), MOST)
    for part in held:
        assert (np.diff(part) > 0).all()
        for label in np.unique(y):
            # Dealt out in order: short of the ends, one more or one less.
            expected = np.sum(y == label) * len(part) / n
            assert abs(np.sum(y[part] == label) - expected) <= 2.0


@pytest.mark.parametrize("n", [FEW, 60_000, 100_000])
def test_of_many_rows_so_many_are_held_out(n: int) -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    for targets in (task_of(y, 1), task_of(y, 1)._replace(is_regression=True)):
        (held,) = parts(targets, rng)
        assert len(np.unique(held)) == min(n // 5, 10_000)


# Functions of x = log2(gamma / best), lowest at 0.
BOWLS: dict[str, Callable[[float], float]] = {
    "parabola": lambda x: 0.2 + 0.01 * x * x,
    "round": lambda x: math.sqrt(1.0 + x * x),
    "flat": lambda x: 1.0 - math.exp(-x * x / 50.0),
    "steep": lambda x: math.cosh(min(max(x, -300.0), 300.0)),
    "skew": lambda x: math.exp(0.3 * x) - 0.3 * x,
}


@pytest.mark.parametrize("bowl", BOWLS.values(), ids=BOWLS)
@given(away=st.floats(-8.0, 8.0), start=st.floats(1e-3, 1e3))
def test_climb_finds_the_lowest_gamma(
    bowl: Callable[[float], float], away: float, start: float
) -> None:
    best = start * 2.0**away
    judged: list[float] = []

    def judge(gamma: float) -> float:
        judged.append(gamma)
        return bowl(math.log2(gamma / best))

    found = climb(judge, start)
    assert abs(math.log(found / best)) < math.log(1.5)
    assert len(judged) == len(set(judged))  # a trial is dear
    assert len(judged) <= 10


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("steepness", [1e-4, 0.01, 0.1])
def test_climb_stays_in_its_range(sign: float, steepness: float) -> None:
    found = climb(lambda gamma: math.exp(sign * steepness * math.log(gamma)), 1.0)
    assert 1.0 / FARTHEST / 4.0 <= found <= 4.0 * FARTHEST


def test_climb_stays_where_nothing_helps() -> None:
    assert climb(lambda gamma: 1.0, 0.3) == pytest.approx(0.3)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 40),
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=3 * MOST_CHUNKS),
    when=st.integers(0, 50),
)
def test_a_reservoir_is_a_list_of_the_last_rows(
    sparse: bool, size: int, lengths: list[int], when: int
) -> None:
    rng = np.random.default_rng(len(lengths))
    places = np.array([2, 0, 1])
    recent, plain = Reservoir(size), list[tuple[list[float], float, float]]()
    for number, length in enumerate(lengths):
        X = rng.integers(0, 3, (length, 4)).astype(np.float32)
        y = rng.integers(0, 3, length).astype(np.float64)
        weight = rng.random(length)
        recent.add(scipy.sparse.csr_array(X) if sparse else X, y, weight)
        plain += [
            (x.tolist(), float(t), float(w))
            for x, t, w in zip(X, y, weight, strict=True)
        ]
        if number == when:
            recent.relabel(places)
            plain = [(x, float(places[int(t)]), w) for x, t, w in plain]
        plain = plain[-size:]
        assert len(recent) == len(plain)
        assert len(recent.kept) <= MOST_CHUNKS
    rows, y, weight = recent.rows()
    assert scipy.sparse.issparse(rows) == sparse
    assert rows.dtype == np.float32
    assert (rows.toarray() if sparse else rows).tolist() == [x for x, _, _ in plain]
    assert y.tolist() == [t for _, t, _ in plain]
    assert weight.tolist() == [w for _, _, w in plain]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_copy_of_a_reservoir_goes_its_own_way(sparse: bool) -> None:
    X: Any = np.arange(6.0).reshape(3, 2)
    X = scipy.sparse.csr_array(X) if sparse else X
    recent = Reservoir(4)
    recent.add(X, np.array([0.0, 1.0, 0.0]), np.ones(3))
    twin = recent.copy()
    recent.add(X, np.array([1.0, 1.0, 1.0]), np.ones(3))
    recent.relabel(np.array([1, 0]))
    assert twin.rows()[1].tolist() == [0.0, 1.0, 0.0]
    assert recent.rows()[1].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert len(twin) == 3


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_a_reservoir_does_not_see_what_becomes_of_its_input(sparse: bool) -> None:
    X: Any = np.ones((3, 2))
    X = scipy.sparse.csr_array(X) if sparse else X
    y, weight = np.ones(3), np.ones(3)
    recent = Reservoir(4)
    recent.add(X, y, weight)
    (X.data if sparse else X)[:] = 5.0
    y[:] = weight[:] = 5.0
    for part in recent.rows():
        assert (part.toarray() if scipy.sparse.issparse(part) else part).max() == 1.0

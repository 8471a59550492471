"""The mean of the iterates, against a list of all of them.

An iterate is a matrix of true coefficients over the slots. In a Mean, what happens to a
centre that leaves happens to its coefficients in all iterates so far. In a Whole,
nothing ever happens to the iterates so far: they are functions, and remain the same.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.model import averages
from onkel.model.averages import (
    Last,
    Mean,
    Whole,
    Window,
    allocate,
    count_row,
    has_room,
    settle,
)
from onkel.model.expansion import (
    add,
    clip,
    drop,
    fold,
    insert,
    merge,
    replace,
    rescale,
    spread,
    stretch,
    transfer,
)
from onkel.model.state import relabelled
from tests.unit.hand_made import Bench, rbf, update

ROWS, CAPACITY = 9, 14
PROBE = np.random.default_rng(1).normal(size=(5, 2))
FEW = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# Primitives, and what comes between rows.
MOVES = (
    *("insert", "replace", "add", "spread", "transfer", "drop", "merge"),
    *("rescale", "fold", "stretch", "clip"),
    *("nothing", "settle", "resize", "relabel"),
)
WHO = st.floats(0.0, 1.0, exclude_max=True)
WEIGHTS = st.floats(-2.0, 2.0)
SCALES = st.floats(0.01, 100.0)
STEPS = st.lists(
    st.tuples(st.sampled_from(MOVES), WHO, WHO, WEIGHTS, WEIGHTS, SCALES),
    max_size=ROWS,
)
WINDOWS = st.builds(
    Window,
    start=st.integers(0, 5),
    decay=st.sampled_from([0, averages.DECAY]),
    whole=st.just(False),
)


def averaging(outputs: int, window: Window | None, dtype: Any = np.float64) -> Bench:
    coef = np.random.default_rng(0).normal(size=(outputs, 4))
    bench = Bench(coef, ROWS, capacity=CAPACITY)
    average = allocate(window, outputs, CAPACITY, 2, dtype)
    bench.model = bench.model._replace(average=average)
    return bench


class Step(NamedTuple):
    """What is done at a row: to whom, with which numbers; and the scale before it."""

    move: str
    one: float = 0.0
    other: float = 0.0
    u: float = 0.0
    v: float = 0.0
    base: float = 1.0


class Past:
    """All iterates so far, as matrices over the slots, and the weights of the mean."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.rows = 0
        self.weights: list[float] = []
        self.iterates: list[np.ndarray] = []

    def count(self, iterate: np.ndarray) -> None:
        self.rows += 1
        t = self.rows - self.window.start
        weight = 0.0
        if t > 0:
            weight = float(math.comb(t + 2, 3)) if self.window.decay else 1.0
        self.weights.append(weight)
        self.iterates.append(iterate)

    @property
    def total(self) -> float:
        return sum(self.weights)

    def mean(self) -> np.ndarray:
        parts = zip(self.weights, self.iterates, strict=True)
        return sum(w * a for w, a in parts) / self.total

    def entered(self) -> None:
        self.iterates = [np.pad(a, ((0, 0), (0, 1))) for a in self.iterates]

    def left(self, j: int) -> None:
        """Let the last take the slot of the one that left."""
        for a in self.iterates:
            a[:, j] = a[:, -1]
        self.iterates = [a[:, :-1] for a in self.iterates]

    def mapped(self, matrix: np.ndarray) -> None:
        self.iterates = [matrix @ a for a in self.iterates]


class Functions(Past):
    """The same as functions, given by their values at some points: these stay."""

    def entered(self) -> None:
        pass

    def left(self, j: int) -> None:
        pass


def perform(bench: Bench, past: Past, t: int, step: Step) -> None:
    """Do one step to the model, and what it means to the iterates so far."""
    model, block = bench.model, bench.block
    outputs, size = len(model.coef), bench.size
    change = update(step.u) if outputs == 1 else update(step.u, up=1, down=2)
    i, j = int(step.one * size), int(step.other * size)
    # What a Mean does to the past; a Whole leaves it alone.
    matrices = [] if isinstance(past, Functions) else past.iterates
    match step.move:
        case "insert":
            insert(model, block, t, change)
            past.entered()
        case "replace" if size:
            replace(model, block, t, i, change)
            for a in matrices:
                a[:, i] = 0
        case "add" if size:
            add(model, outputs - 1, i, step.u)
        case "spread":
            spread(model, outputs - 1, step.u, np.linspace(-1.0, 1.0, CAPACITY))
        case "rescale":
            rescale(model, 0.1 + abs(step.u))
        case "fold":
            fold(model)
        case "stretch":
            stretch(model, np.linspace(step.u, step.v, CAPACITY))
        case "clip":
            clip(model, 0.1 + abs(step.u), block.scratch)
        case "drop" if size:
            drop(model, block, t, i)
            past.left(i)
        case "transfer" if i != j:
            heirs = {k: s for k, s in ((j, step.u), (0, step.v)) if k != i}
            for k, share in heirs.items():
                transfer(model, i, k, share)
                for a in matrices:
                    a[:, k] += share * a[:, i]
            drop(model, block, t, i)
            past.left(i)
        case "merge" if i != j:
            merge(model, block, t, i, j, 0.3, step.u, step.v)
            for a in matrices:
                a[:, i] = step.u * a[:, i] + step.v * a[:, j]
            past.left(j)
        case "settle":
            settle(model.average, model.coef, size)
        case "resize":
            bench.resize(len(model.diag) + 2)
        case "relabel":
            relabel(bench, past)


def relabel(bench: Bench, past: Past) -> None:
    """Let a class arrive: the third, which splits the score, or one more."""
    outputs = len(bench.model.coef)
    matrix = np.eye(outputs + 1, outputs)
    if outputs == 1:
        matrix = np.array([[-0.5], [0.0], [0.5]])
    labels = np.zeros(len(bench.model.label), int)
    bench.model = relabelled(bench.model, matrix, labels)
    bench.block = bench.block._replace(raw=np.zeros(len(matrix)))
    past.mapped(matrix)


def arrive(bench: Bench, t: int, base: float) -> float:
    """Do what the walk does for row t before it absorbs it; return the scale."""
    bench.arrive(t)
    scale = float(bench.model.counters[0].factor) * base
    count_row(bench.model.average, bench.model.coef, bench.size, scale)
    return scale


# ---- Mean ----------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("every", [3, 8192])
@FEW
@given(steps=STEPS, window=WINDOWS)
def test_the_mean_is_that_of_all_iterates(
    outputs: int, every: int, steps: Any, window: Window
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "SETTLE_EVERY", every)
        bench = averaging(outputs, window)
        past = Past(window)
        for t, step in enumerate(Step(*step) for step in steps):
            iterate = bench.true_coef * step.base
            scale = arrive(bench, t, step.base)
            past.count(iterate)
            perform(bench, past, t, step)
            bench.fill_later(t)
            wanted = past.mean() if past.total else scale * bench.coef
            found = bench.model.average.of(bench.coef, scale)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_a_restart_forgets_all_iterates() -> None:
    bench = averaging(1, Window())
    past = Past(Window())
    steps = [Step("insert", u=0.5), Step("add", 0.3, u=0.7), Step("add", 0.9, u=-1.0)]
    for t, step in enumerate(steps):
        arrive(bench, t, 2.0)
        perform(bench, past, t, step)
        bench.fill_later(t)
    bench.model.average.restart()
    found = bench.model.average.of(bench.coef, 2.0)
    np.testing.assert_array_equal(found, 2.0 * bench.coef)
    wanted = bench.coef
    arrive(bench, 3, 3.0)
    add(bench.model, 0, 0, 5.0)
    found = bench.model.average.of(bench.coef, 1.0)
    np.testing.assert_allclose(found, 3.0 * wanted)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("decay", [0, averages.DECAY])
def test_rows_before_the_first_centre_count_as_zero(whole: bool, decay: int) -> None:
    window = Window(decay=decay, whole=whole)
    bench = Bench(np.zeros((1, 0)), 4)
    average = allocate(window, 1, 12, 2, np.float64)
    bench.model = bench.model._replace(average=average)
    if whole:
        bench.model = bench.model._replace(average=average.with_room(4))
    past = Past(window)
    bench.model.average.skip(3)
    for _ in range(3):
        past.count(np.zeros((1, 0)))
    for t, step in enumerate([Step("insert", u=2.0), Step("insert", u=-1.0)]):
        past.count(0.5 * bench.coef)
        arrive(bench, t, 0.5)
        perform(bench, past, t, step)
        bench.fill_later(t)
    found = bench.model.average.of(bench.coef, 0.5)
    np.testing.assert_allclose(found, past.mean())


@pytest.mark.parametrize("whole", [False, True])
def test_until_a_row_counts_the_mean_is_the_last_iterate(whole: bool) -> None:
    bench = averaging(1, Window(start=2, whole=whole))
    if whole:
        average = bench.model.average.with_room(3)
        bench.model = bench.model._replace(average=average)
    for t in range(3):
        found = bench.model.average.of(bench.coef, 0.5)
        # What left before the window opened has no part in it.
        gone = np.zeros((1, t if whole else 0))
        np.testing.assert_array_equal(found, np.hstack([0.5 * bench.coef, gone]))
        if t < 2:
            arrive(bench, t, 0.5)
            drop(bench.model, bench.block, t, 0)


def test_the_sum_of_the_weights_of_the_rows() -> None:
    for decay, start in ((0, 0), (0, 4), (3, 0), (3, 4)):
        weights = [math.comb(t + decay - 1, decay) for t in range(1, 7)]
        for counted in range(7):
            found = averages.weight_of(start + counted, start, decay)
            assert found == sum(weights[:counted])
    assert averages.weight_of(2, 5, 3) == averages.weight_of(2, 5, 0) == 0.0


def test_polynomial_weights_are_the_recursion_of_the_paper() -> None:
    # mean_t = (1 - r_t) mean_{t-1} + r_t w_t with r_t = 4 / (t + 3).
    bench = averaging(1, Window(decay=averages.DECAY))
    wanted = np.zeros(4)
    for t in range(ROWS):
        scale = 1.0 + t
        arrive(bench, t, scale)
        share = 4 / (t + 1 + 3)
        wanted = (1 - share) * wanted + share * scale * bench.coef
        add(bench.model, 0, t % 4, 0.3)
    found = bench.model.average.of(bench.coef, 1.0)
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("whole", [False, True])
def test_the_mean_has_the_precision_of_the_model(whole: bool) -> None:
    average = allocate(Window(whole=whole), 1, 4, 2, np.float32)
    coef = np.zeros((1, 4), np.float32)
    coef[0, :3] = 1.0, 2.0, 0.1
    for scale in (0.1, 0.3):
        count_row(average, coef, 3, scale)
    found = average.of(coef[:, :3], 1.0)
    assert found.dtype == np.float32
    # Added up in double precision, and rounded once.
    wanted = 0.2 * coef[:, :3].astype(np.float64)
    np.testing.assert_allclose(found, wanted, rtol=6e-8)


def test_settling_after_many_rows_keeps_what_differences_would_lose() -> None:
    # A factor that falls by 1e12 within the window: without settling at folds the
    # masses would be differences of numbers 1e12 times as large.
    bench = averaging(1, Window())
    past = Past(Window())
    for t in range(ROWS):
        past.count(bench.true_coef)
        arrive(bench, t, 1.0)
        add(bench.model, 0, t % 4, 0.5 / bench.model.counters[0].factor)
        rescale(bench.model, 0.05)
        if bench.model.counters[0].factor < 1e-3:
            fold(bench.model)
    found = bench.model.average.of(bench.coef, 1.0)
    np.testing.assert_allclose(found, past.mean(), rtol=1e-13)


# ---- Whole ---------------------------------------------------------------------------


def values(coef: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Values at the points to probe, shape (outputs, probes)."""
    return coef @ rbf(points, PROBE)


def of_whole(bench: Bench, scale: float) -> np.ndarray:
    """Values of the mean, with what left, at the points to probe."""
    average = bench.model.average
    gone = int(average.counters[0].retired)
    points = np.concatenate([bench.located(), average.points[:gone]])
    squared = np.concatenate([bench.model.norms[: bench.size], average.norms[:gone]])
    np.testing.assert_allclose(squared, (points**2).sum(axis=1))
    return values(average.of(bench.coef, scale), points)


def make_room(bench: Bench, rows: int = 1) -> None:
    if not has_room(bench.model.average, rows):
        average = bench.model.average.with_room(rows)
        bench.model = bench.model._replace(average=average)
    assert has_room(bench.model.average, rows)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("every", [3, 8192])
@FEW
@given(steps=STEPS, window=WINDOWS)
def test_nothing_is_lost_from_a_whole_mean(
    outputs: int, every: int, steps: Any, window: Window
) -> None:
    window = window._replace(whole=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "SETTLE_EVERY", every)
        bench = averaging(outputs, window)
        past = Functions(window)
        for t, step in enumerate(Step(*step) for step in steps):
            make_room(bench)
            past.count(values(bench.true_coef * step.base, bench.located()))
            scale = arrive(bench, t, step.base)
            perform(bench, past, t, step)
            bench.fill_later(t)
            if past.total:
                wanted = past.mean()
            else:
                wanted = values(scale * bench.coef, bench.located())
            found = of_whole(bench, scale)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_room_is_made_for_two_centres_a_row_and_keeps_what_is_there() -> None:
    bench = averaging(1, Window(whole=True))
    assert not has_room(bench.model.average, 1)
    assert has_room(bench.model.average, 0)
    make_room(bench, 2)
    assert not has_room(bench.model.average, 3)
    arrive(bench, 0, 1.0)
    first, second = bench.located()[[0, 1]]
    wanted = bench.coef[0, :2]
    merge(bench.model, bench.block, 0, 0, 1, 0.5, 0.7, 0.7)
    before = bench.model.average
    assert before.counters[0].retired == 2
    make_room(bench, 5)
    average = bench.model.average
    assert len(average.norms) >= 2 + 2 * 5
    np.testing.assert_array_equal(average.points[:2], [first, second])
    np.testing.assert_array_equal(average.masses[0, :2], wanted)
    np.testing.assert_array_equal(average.norms[:2], before.norms[:2])
    # The merged centre begins without a past.
    np.testing.assert_allclose(average.of(bench.coef, 1.0)[0, 0], 0.0, atol=1e-15)


def test_room_doubles_so_that_a_long_stream_is_copied_few_times() -> None:
    average = allocate(Window(whole=True), 2, 4, 3, np.float32)
    copies = 0
    for _ in range(2000):
        if not has_room(average, 1):
            average, copies = average.with_room(1), copies + 1
        average.counters[0].retired += 2
    assert copies < 20
    assert average.points.dtype == average.norms.dtype == np.float32
    assert average.masses.shape == (2, len(average.norms))


# ---- Last ----------------------------------------------------------------------------


def test_the_last_iterate_needs_no_memory() -> None:
    bench = averaging(1, None)
    last = bench.model.average
    assert isinstance(last, Last)
    for t, move in enumerate(MOVES[:11]):
        if t < ROWS:
            arrive(bench, t, 0.5)
        perform(bench, Past(Window()), min(t, ROWS - 1), Step(move, 0.0, 0.5, 0.5, 0.5))
    settle(last, bench.model.coef, bench.size)
    last.skip(7)
    assert has_room(last, 10**9)
    np.testing.assert_array_equal(last.of(bench.coef, 0.5), 0.5 * bench.coef)
    single = last.of(np.ones((1, 2), np.float32), 0.1)
    assert single.dtype == np.float32
    assert last.resized(3, 20) == last.mapped(np.eye(1)) == last


def test_the_window_says_which_mean() -> None:
    assert isinstance(allocate(None, 1, 4, 2, np.float64), Last)
    assert isinstance(allocate(Window(), 1, 4, 2, np.float64), Mean)
    whole = allocate(Window(3, 3, True), 2, 4, 5, np.float32)
    assert isinstance(whole, Whole)
    assert whole.points.shape == (0, 5)
    assert (whole.counters[0].start, whole.counters[0].decay) == (3, 3)

"""Rows drawn say where centres, weights and coefficients go: the oracle's way.

    P(c, r, b) = 1/2 sum_o b_o' G b_o + sum_i C w_i l(f_i, y_i),    over C sum_i w_i

    f_i = sum_j b_j exp(-gamma |r * (x_i - c_j)|^2)
    G_jk = exp(-gamma |r * (c_j - c_k)|^2)

over the rows that are learnt: neither held out nor without weight. The oracle writes P
down in double precision, and has no gradient: differences of P stand in for it.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

from onkel.problem import kernels, losses
from onkel.refit import processor, stochastic_descent
from onkel.refit.center_descent import Place
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.held_out import Targets
from onkel.refit.solver import Point, Solver
from onkel.refit.stochastic_descent import (
    StochasticDescent,
    _Coordinates,
    rows_of_a_step,
    shares,
)
from tests.devices import EVERY, device
from tests.exact import refit

COUNT, FEATURES, CENTRES, GAMMA, C = 240, 4, 7, 0.3, 2.0
RESIDUAL = ("squared_error", "smooth_tube")
TASKS = [
    pytest.param(loss, outputs, id=f"{loss}-{outputs}")
    for loss in refit.LOSSES
    for outputs in ((1,) if loss in RESIDUAL else (1, 3))
]
each = pytest.mark.parametrize(("loss", "outputs"), TASKS)
forms = pytest.mark.parametrize("form", ["dense", "csr"])
every_device = pytest.mark.parametrize("name", EVERY)
# Share of the largest slope that single precision may miss.
OFF = 1e-4


class Example(NamedTuple):
    """Rows that single precision holds exactly, targets, weights, and a place."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    held: np.ndarray
    loss: str
    outputs: int
    place: Place

    @property
    def targets(self) -> Targets:
        made = losses.make(self.loss)
        return Targets(self.y, self.weight, self.outputs, made, self.loss in RESIDUAL)

    @property
    def learnt(self) -> np.ndarray:
        rows = np.setdiff1d(np.arange(COUNT), self.held)
        return rows[self.weight[rows] > 0.0]

    def rows(self, form: str = "dense") -> Any:
        X = self.X.astype(np.float32)
        return scipy.sparse.csr_array(X) if form == "csr" else X


def example(loss: str = "squared_hinge", outputs: int = 1) -> Example:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(COUNT, FEATURES)).astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.4] = 0.0  # so that sparse rows are sparse
    hidden = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    if loss in RESIDUAL:
        y = hidden
    elif outputs == 1:
        y = np.where(hidden > 0.2, 1.0, -1.0)
    else:
        y = np.digitize(hidden, [-0.7, 0.7]).astype(np.float64)
    weight = rng.integers(0, 4, COUNT) * (0.2 + rng.random(COUNT))
    held = np.sort(rng.choice(COUNT, COUNT // 5, replace=False))
    # Neither where rows are, nor of features that are all alike.
    points = rng.normal(size=(CENTRES, FEATURES))
    relevance = np.exp(rng.normal(scale=0.4, size=FEATURES))
    coef = rng.normal(size=(outputs, CENTRES))
    place = Place(points, relevance, coef)
    return Example(X, y, weight, held, loss, outputs, place)


def descent(
    given: Example,
    name: str = "processor",
    form: str = "dense",
    n_jobs: int = 1,
    deadline: Deadline = ENDLESS,
    seed: int = 1,
) -> StochasticDescent:
    return StochasticDescent(
        *(given.rows(form), given.targets, given.held, GAMMA, C),
        *(device(name, n_jobs), np.random.default_rng(seed), deadline),
    )


def begun(
    given: Example, name: str = "processor", form: str = "dense"
) -> tuple[Place, Solver, Point]:
    """The best coefficients of the place, with which a descent begins."""
    place, made = given.place, kernels.make("rbf", GAMMA, 1, 0.0)
    passes = device(name).passes(
        made, given.rows(form), place.points * place.relevance, place.relevance
    )
    weight = np.zeros(COUNT)
    weight[given.learnt] = given.weight[given.learnt]
    solver = Solver(
        *(passes, losses.make(given.loss), given.y, weight, given.outputs),
        np.random.default_rng(2),
    )
    point = solver.solve(C)
    return place._replace(coef=point.coef), solver, point


# ---- the oracle ----------------------------------------------------------------------


def alike(X: np.ndarray, Z: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    """Kernel values, one feature at a time."""
    exponent = np.zeros((len(X), len(Z)))
    for d, r in enumerate(relevance):
        exponent += (r * (X[:, d, None] - Z[None, :, d])) ** 2
    return np.exp(-GAMMA * exponent)


def objective(given: Example, place: Place) -> float:
    """P, for each row: by what rows weigh."""
    learnt = given.learnt
    G = alike(place.points, place.points, place.relevance)
    f = alike(given.X[learnt], place.points, place.relevance) @ place.coef.T
    lost, _, _ = refit.of_rows(given.loss, f, given.y[learnt])
    weight = given.weight[learnt]
    smooth = 0.5 * float(np.sum(place.coef @ G * place.coef))
    return (smooth + C * float(weight @ lost)) / (C * float(weight.sum()))


def flat(coef: Any, points: Any, log_relevance: Any) -> np.ndarray:
    """Numbers of a place, or their slopes, in this order."""
    parts = (np.asarray(part, np.float64) for part in (coef, points, log_relevance))
    return np.concatenate([part.ravel() for part in parts])


def differences(given: Example) -> np.ndarray:
    """Slopes of P, by coefficients, points and the logarithms of the weights."""
    place, h = given.place, 1e-5
    middle = flat(place.coef, place.points, np.log(place.relevance))
    first, last = place.coef.size, len(middle) - FEATURES

    def at(where: np.ndarray) -> float:
        return objective(
            given,
            Place(
                where[first:last].reshape(place.points.shape),
                np.exp(where[last:]),
                where[:first].reshape(place.coef.shape),
            ),
        )

    steps = h * np.eye(len(middle))
    return np.array([(at(middle + s) - at(middle - s)) / (2 * h) for s in steps])


# ---- the gradient --------------------------------------------------------------------


def gradient(
    descent: StochasticDescent,
    place: Place,
    rows: np.ndarray,
    some: np.ndarray | None = None,
) -> np.ndarray:
    """What a step of these rows goes by, and of some centres or all."""
    batches = descent.batches
    some = np.arange(len(place.points)) if some is None else some
    points = place.points - descent.origin
    sums = descent._gradient(
        *(batches.put(points), batches.put(np.log(place.relevance))),
        *(batches.put(place.coef.T), batches.order(rows), batches.order(some)),
    )
    coef, points, weights = (batches.get(part) for part in sums)
    return flat(coef.T, points, weights)


def is_near(found: np.ndarray, wanted: np.ndarray) -> None:
    largest = np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=OFF * largest)


@each
@forms
@every_device
def test_the_gradient_of_all_rows_is_the_oracles(
    loss: str, outputs: int, form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "SLICE", 50)  # four parts
    given = example(loss, outputs)
    found = gradient(descent(given, name, form), given.place, given.learnt)
    is_near(found, differences(given))


def far_away(given: Example, far: float) -> Example:
    """The same, so far from the origin; single precision holds the rows exactly."""
    place = given.place._replace(points=given.place.points + far)
    return given._replace(X=given.X + far, place=place)


def coarse(given: Example) -> Example:
    return given._replace(X=np.round(given.X * 2**10) / 2**10)


@pytest.mark.parametrize(("loss", "outputs"), [("squared_error", 1), ("log_loss", 3)])
@forms
@every_device
def test_rows_far_from_the_origin_have_the_same_gradient(
    loss: str, outputs: int, form: str, name: str
) -> None:
    given = coarse(example(loss, outputs))
    far = far_away(given, 1e3)
    np.testing.assert_array_equal(far.X.astype(np.float32), far.X)
    wanted, made = differences(given), descent(far, name, form)
    # From the origin single precision would see little of distances.
    blind = gradient(made, far.place, far.learnt)
    assert np.abs(blind - wanted).max() > OFF * np.abs(wanted).max()
    made._move_origin(np.median(far.place.points, axis=0))
    is_near(gradient(made, far.place, far.learnt), wanted)
    rows = far.held
    K = alike(given.X[rows], given.place.points, given.place.relevance)
    off = 1e-5 * np.abs(given.place.coef).sum()
    np.testing.assert_allclose(
        made.scores(far.place, rows), K @ given.place.coef.T, rtol=0, atol=off
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_error"])
@every_device
def test_the_steps_of_an_epoch_go_the_oracles_way_together(
    loss: str, name: str
) -> None:
    given = example(loss)
    learnt = given.learnt
    order = np.random.default_rng(3).permutation(learnt[: len(learnt) // 5 * 5])
    given.weight[learnt[len(order) :]] = 0.0  # so that five parts are equal
    made = descent(given, name)
    steps = [gradient(made, given.place, part) for part in np.split(order, 5)]
    is_near(np.mean(steps, axis=0), differences(given))


def test_of_the_regulariser_some_pairs_stand_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stochastic_descent, "PAIRS", 3)
    given = example("log_loss", 3)
    # So large that the regulariser is most of it.
    given = given._replace(place=given.place._replace(coef=30.0 * given.place.coef))
    made, rng = descent(given), np.random.default_rng(4)
    made.T = np.eye(CENTRES)
    draws = np.stack(
        [
            gradient(
                made, given.place, rng.choice(given.learnt, 30, replace=False), some
            )
            for some in made._some_pairs(2000)
        ]
    )
    wanted = differences(given)
    spread = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert (spread < 0.1 * np.abs(wanted).max()).all()
    assert (np.abs(draws.mean(axis=0) - wanted) < 4.5 * spread).all()


@forms
@every_device
def test_scores_are_the_oracles(form: str, name: str) -> None:
    given = example("log_loss", 3)
    rows = np.random.default_rng(5).permutation(COUNT)[:130]
    place = given.place
    found = descent(given, name, form).scores(place, rows)
    K = alike(given.X[rows], place.points, place.relevance)
    assert found.dtype == np.float64
    off = 1e-5 * np.abs(place.coef).sum()
    np.testing.assert_allclose(found, K @ place.coef.T, rtol=0, atol=off)


# ---- the descent ---------------------------------------------------------------------


class Watch:
    """Takes note of the rows of each step; a step takes a second."""

    def __init__(self) -> None:
        self.now, self.steps = 0.0, list[np.ndarray]()

    def __call__(self) -> float:
        return self.now

    def over(self, descent: StochasticDescent) -> StochasticDescent:
        gradient: Any = descent._gradient

        def noted(points: Any, log_weights: Any, b: Any, rows: Any, some: Any) -> Any:
            self.now += 1.0
            self.steps.append(descent.batches.get(rows).astype(int))
            return gradient(points, log_weights, b, rows, some)

        descent._gradient = noted  # type: ignore[method-assign]
        return descent


@pytest.mark.parametrize(("size", "epochs"), [(8, 3), (50, 5), (500, 4)])
def test_every_row_that_is_learnt_is_visited_equally_often(
    size: int, epochs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic_descent, "ROWS", size)
    given, watch = example(), Watch()
    place, solver, point = begun(given)
    visits = epochs * len(given.learnt)
    watch.over(descent(given)).run(place, solver, point, visits)
    assert {len(rows) for rows in watch.steps} == {size}
    assert len(watch.steps) == max(visits // size, 1)
    seen = np.bincount(np.concatenate(watch.steps), minlength=COUNT)
    rest = np.setdiff1d(np.arange(COUNT), given.learnt)
    assert (seen[rest] == 0).all()
    assert np.ptp(seen[given.learnt]) <= 1
    # And in another order each time.
    first, *others = watch.steps
    assert not any(np.array_equal(np.sort(first), np.sort(rows)) for rows in others)


@each
@every_device
def test_a_descent_ends_lower_and_returns_what_the_rows_held_out_like_best(
    loss: str, outputs: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic_descent, "ROWS", 32)
    given, told = example(loss, outputs), list[tuple[int, int, float]]()
    place, solver, point = begun(given, name)
    made = descent(given, name)
    found, path = made.run(place, solver, point, 6400, lambda *each: told.append(each))
    assert path == [each[2] for each in told]
    assert [each[0] for each in told] == list(range(0, 6401, 800))
    assert {each[1] for each in told} == {6400}
    targets = given.targets

    def loss_of(where: Place) -> float:
        scores = made.scores(where, given.held)
        return targets.validation_loss(scores, given.held)

    assert path[0] == loss_of(place)
    assert min(path) == pytest.approx(loss_of(found), rel=1e-5)
    assert min(path) < path[0]
    assert objective(given, found) < 0.9 * objective(given, place)
    assert found.points.shape == place.points.shape
    assert found.coef.shape == place.coef.shape
    assert (found.relevance > 0.0).all()


@every_device
def test_where_nothing_is_better_the_start_is_returned(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic_descent, "ROWS", 32)
    monkeypatch.setattr(stochastic_descent, "COEF", 1e6)  # steps as if blind
    given = example("squared_error")
    place, solver, point = begun(given, name)
    found, path = descent(given, name).run(place, solver, point, 1600)
    assert min(path) == path[0] < path[-1]
    for ours, theirs in zip(found, place, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@every_device
def test_the_place_that_is_given_stays_as_it_is(name: str) -> None:
    given = example()
    place, solver, point = begun(given, name)
    for dtype in (np.float32, np.float64):
        start = Place(*(part.astype(dtype) for part in place))
        copies = [part.copy() for part in start]
        descent(given, name).run(start, solver, point, 5000)
        for ours, theirs in zip(start, copies, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("seconds", "done"), [(30.5, 30), (1.0, 20), (1000.0, 100)])
def test_a_deadline_shortens_the_descent_and_says_so(
    seconds: float, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic_descent, "ROWS", 32)
    given, watch, told = example(), Watch(), list[int]()
    place, solver, point = begun(given)
    deadline = Deadline(seconds, watch)
    made = watch.over(descent(given, deadline=deadline))
    made.run(place, solver, point, 3200, lambda visits, of, loss: told.append(of))
    assert len(watch.steps) == done
    assert told[-1] == 32 * done
    wanted = [] if done == 100 else [f"all but {32 * done:,} of 3,200 visits"]
    assert deadline.left_out == wanted


def liked(made: StochasticDescent) -> None:
    """Let the rows held out like every place better than the last."""
    told = iter(range(0, -1000, -1))
    made._badness = lambda where: float(next(told))  # type: ignore[method-assign]


def after(
    given: Example, name: str, n_jobs: int = 1, steps: int = 4, seed: int = 1
) -> Place:
    """Where some steps lead to, whatever the rows held out say."""
    place, solver, point = begun(given, name)
    made = descent(given, name, n_jobs=n_jobs, seed=seed)
    liked(made)
    found, _ = made.run(place, solver, point, steps * stochastic_descent.ROWS)
    return found


@every_device
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    given = example("log_loss", 3)
    one, two, other = (after(given, name, seed=seed) for seed in (1, 1, 2))
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(one.points, other.points)


@pytest.mark.parametrize(
    ("name", "n_jobs"), [("processor", 2), ("cpu", 1), ("cuda", 1)]
)
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_error"])
def test_threads_and_devices_agree_for_some_steps(
    name: str, n_jobs: int, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "SLICE", 50)
    given = example(loss)
    start, _, _ = begun(given)
    one, other = after(given, "processor"), after(given, name, n_jobs)
    for before, ours, theirs in zip(start, one, other, strict=True):
        moved = np.abs(ours - before).max()
        assert moved > 0.0
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=0.01 * moved)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared_error"])
@every_device
def test_a_descent_far_from_the_origin_takes_the_same_steps(
    loss: str, name: str
) -> None:
    given = coarse(example(loss))
    far = far_away(given, 1e3)
    start, solver, point = begun(given, name)
    ends = list[Place]()
    for where in (given, far):
        made, apart = descent(where, name), (where.X - given.X)[0, 0]
        liked(made)
        # Otherwise taken by the solver's passes, over rows that are near.
        made._lengths = lambda *of: [0.02, 0.1, 0.1]  # type: ignore[method-assign]
        place = start._replace(points=start.points + apart)
        found, _ = made.run(place, solver, point, 4 * stochastic_descent.ROWS)
        np.testing.assert_array_equal(made.origin, np.median(place.points, axis=0))
        ends.append(found._replace(points=found.points - apart))
    one, other = ends
    for before, ours, theirs in zip(start, one, other, strict=True):
        moved = np.abs(ours - before).max()
        assert moved > 0.0
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=0.01 * moved)


# ---- how many, and how far -----------------------------------------------------------


def test_of_many_centres_a_step_sees_more_rows() -> None:
    counts = [rows_of_a_step(n) for n in (1, 500, 2000, 2999, 3500, 4000, 8000, 32_000)]
    assert counts == [256, 256, 256, 256, 512, 512, 1024, 4096]


@every_device
def test_a_descent_of_many_centres_sees_more_rows_a_step(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic_descent, "ROWS", 8)
    monkeypatch.setattr(stochastic_descent, "CENTRES_FOR_ROWS", CENTRES / 3)
    given, watch, told = example(), Watch(), list[tuple[int, int]]()
    place, solver, point = begun(given, name)
    made = watch.over(descent(given, name))
    made.run(place, solver, point, 490, lambda *each: told.append(each[:2]))
    assert {len(rows) for rows in watch.steps} == {24}
    assert len(watch.steps) == 490 // 24
    assert told[0] == (0, 480)
    assert told[-1] == (480, 480)


@pytest.mark.parametrize("at_once", [1, 7, 64, 1000])
def test_draws_are_orders_of_all_rows_one_after_another(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic_descent, "AHEAD", 30)
    given = example()
    made, learnt = descent(given), given.learnt
    parts, ends = list[np.ndarray](), list[int]()
    for part in made._draws(at_once):
        assert part.shape[1] == at_once
        assert 0 < len(part) <= 30
        parts.append(part)
        ends.append(sum(map(len, parts)))
        enough = sum(each.size for each in parts) >= 5 * len(learnt)
        if enough and ends[-1] >= stochastic_descent.TIMED:
            break
    assert stochastic_descent.TIMED in ends  # when it is asked what a step takes
    drawn = np.concatenate([part.ravel() for part in parts])
    orders = drawn[: 5 * len(learnt)].reshape(5, -1)
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), learnt)
    assert len(np.unique(orders, axis=0)) == 5


@pytest.mark.parametrize("pairs", [3, 64])
def test_centres_stand_for_the_regulariser_equally_often(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stochastic_descent, "PAIRS", pairs)
    made = descent(example())
    made.T = np.eye(CENTRES)
    some = made._some_pairs(7000)
    assert some.shape == (7000, min(pairs, CENTRES))
    assert all(len(set(each)) == len(each) for each in some)
    seen = np.bincount(some.ravel(), minlength=CENTRES) / some.size
    np.testing.assert_allclose(seen, 1.0 / CENTRES, atol=0.02)


@pytest.mark.parametrize("steps", [1, 30, 400])
def test_steps_are_those_of_adam_warmed_up_and_slower_and_slower(steps: int) -> None:
    rng = np.random.default_rng(6)
    starts = [rng.normal(size=shape) for shape in ((3, 2), (4,))]
    lengths = [0.3, 0.01]
    moving = _Coordinates(np, starts, lengths)
    wanted = [start.copy() for start in starts]
    means = [np.zeros_like(start) for start in starts]
    squares = [np.zeros_like(start) for start in starts]
    # However many are known at a time.
    cut = steps // 3
    far = np.concatenate([shares(0, cut, steps), shares(cut, steps, steps)])
    assert far.shape == (steps,)
    for t in range(1, steps + 1):
        gradients = [rng.normal(size=start.shape) for start in starts]
        copies = [each.copy() for each in gradients]
        moving.step(gradients, far[t - 1])
        slower = 0.5 * (1.0 + np.cos(np.pi * t / steps)) * min(t / 50, 1.0)
        for k, gradient in enumerate(copies):
            means[k] = 0.9 * means[k] + 0.1 * gradient
            squares[k] = 0.999 * squares[k] + 0.001 * gradient**2
            mean, square = means[k] / (1 - 0.9**t), squares[k] / (1 - 0.999**t)
            wanted[k] -= slower * lengths[k] * mean / np.sqrt(square)
    for found, each in zip(moving.parts, wanted, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-7, atol=1e-9)

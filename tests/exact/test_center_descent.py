"""Centres move downhill: the objective and its slopes are the oracle's.

    F(c, r) = min_b  1/2 b' (G + (nugget + ridge) I) b + sum_i C w_i l(f_i, y_i)

    f_i = sum_j b_j exp(-gamma |r * (x_i - c_j)|^2)
    G_jk = exp(-gamma |r * (c_j - c_k)|^2),    nugget = 1e-5
    ridge = 1e-5 mean_j sum_i C w_i k_ij^2, of the place where moves begin

Rows held out have no weight. The oracle writes K and G down, in double precision,
solves for b by Newton's method, and has no gradient: differences of F stand in for it.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

from onkel.engine.threads import Team
from onkel.problem import losses
from onkel.refit import center_descent, values
from onkel.refit.center_descent import CenterDescent, Place
from onkel.refit.held_out import Targets
from onkel.refit.processor import Processor
from tests.exact import refit

ROWS, FEATURES, CENTRES, GAMMA, C = 240, 4, 7, 0.3, 2.0
TASKS = [
    pytest.param(loss, outputs, id=f"{loss}-{outputs}")
    for loss, outputs in (
        *(("squared_error", 1), ("squared_hinge", 1), ("squared_hinge", 3)),
        *(("log_loss", 1), ("log_loss", 3)),
    )
]
each = pytest.mark.parametrize(("loss", "outputs"), TASKS)
forms = pytest.mark.parametrize("form", ["dense", "csr"])
# Kernel values are in single precision, and so are products with coefficients that are
# larger than scores: they are off by about 1e-7 times the sum of |coef|.
OFF = 1e-3
NUGGET = RIDGE = 1e-5


class Example(NamedTuple):
    """Rows that single precision holds exactly, targets, weights, and a place."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    held: np.ndarray
    loss: str
    outputs: int
    place: Place

    def descent(self, form: str = "dense", n_jobs: int = 1) -> CenterDescent:
        X: Any = self.X.astype(np.float32)
        X = scipy.sparse.csr_array(X) if form == "csr" else X
        is_regression = self.loss == "squared_error"
        loss = losses.make(self.loss)
        targets = Targets(self.y, self.weight, self.outputs, loss, is_regression)
        rng = np.random.default_rng(1)
        return CenterDescent(
            X, targets, self.held, GAMMA, C, Processor(Team(n_jobs)), rng
        )


def example(loss: str, outputs: int, noise: float = 0.5) -> Example:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.4] = 0.0  # so that sparse rows are sparse
    hidden = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise * rng.normal(size=ROWS)
    if loss == "squared_error":
        y = hidden
    elif outputs == 1:
        y = np.where(hidden > 0.2, 1.0, -1.0)
    else:
        y = np.digitize(hidden, [-0.7, 0.7]).astype(np.float64)
    weight = rng.integers(0, 3, ROWS) * (0.2 + rng.random(ROWS))
    held = np.sort(rng.choice(ROWS, ROWS // 5, replace=False))
    # Neither where rows are, nor of features that are all alike.
    points = rng.normal(size=(CENTRES, FEATURES))
    relevance = np.exp(rng.normal(scale=0.4, size=FEATURES))
    place = Place(points, relevance, np.zeros((outputs, CENTRES)))
    return Example(X, y, weight, held, loss, outputs, place)


# ---- the oracle ----------------------------------------------------------------------


def alike(X: np.ndarray, Z: np.ndarray, relevance: np.ndarray) -> np.ndarray:
    """Kernel values, one feature at a time."""
    exponent = np.zeros((len(X), len(Z)))
    for d, r in enumerate(relevance):
        exponent += (r * (X[:, d, None] - Z[None, :, d])) ** 2
    return np.exp(-GAMMA * exponent)


def weights(given: Example) -> np.ndarray:
    """C of the rows: none, if they are held out."""
    found = C * given.weight
    found[given.held] = 0.0
    return found


def ridge(given: Example) -> float:
    K = alike(given.X, given.place.points, given.place.relevance)
    return RIDGE * float(np.mean([weights(given) @ k**2 for k in K.T]))


def problem(given: Example, place: Place) -> refit.Problem:
    G = alike(place.points, place.points, place.relevance)
    M = G + (NUGGET + ridge(given)) * np.eye(len(G))
    K = alike(given.X, place.points, place.relevance)
    return refit.Problem(K, M, given.y, weights(given), given.outputs, given.loss)


def least(given: Example, place: Place) -> float:
    """F, for each row: by what rows weigh."""
    written = problem(given, place)
    best = refit.solve(written, tol=1e-11)
    return written.objective(best) / float(weights(given).sum())


def at(place: Place, where: np.ndarray) -> Place:
    """Place of log relevances and points, in this order."""
    points = where[FEATURES:].reshape(place.points.shape)
    return place._replace(points=points, relevance=np.exp(where[:FEATURES]))


def differences(given: Example, which: Any) -> np.ndarray:
    """Slopes of F by some of the log relevances and points."""
    place, h = given.place, 1e-4
    middle = np.concatenate([np.log(place.relevance), place.points.ravel()])
    found = []
    for k in which:
        step = h * (np.arange(len(middle)) == k)
        up, down = (least(given, at(place, middle + s)) for s in (step, -step))
        found.append((up - down) / (2 * h))
    return np.array(found)


# ---- what is compared ----------------------------------------------------------------


def visit(given: Example, form: str = "dense", n_jobs: int = 1) -> Any:
    """Objective and gradient, at a place where moves begin."""
    descent = given.descent(form, n_jobs)
    descent.ridge = descent._ridge(given.place)
    value, by_relevance, by_points = descent._visit(given.place)
    return value, np.concatenate([by_relevance, by_points.ravel()])


@pytest.fixture
def exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coefficients as exact as single precision has them."""
    monkeypatch.setattr(center_descent, "EXACT", 1e-10)
    monkeypatch.setattr(center_descent, "ITERATIONS", 300)


@each
@forms
def test_the_ridge_is_the_oracles(loss: str, outputs: int, form: str) -> None:
    given = example(loss, outputs)
    found = given.descent(form)._ridge(given.place)
    assert found == pytest.approx(ridge(given), rel=1e-6)


@each
@forms
@pytest.mark.usefixtures("exactly")
def test_the_objective_is_the_oracles(loss: str, outputs: int, form: str) -> None:
    given = example(loss, outputs)
    value, _ = visit(given, form)
    assert value == pytest.approx(least(given, given.place), rel=1e-6)


@each
@forms
@pytest.mark.usefixtures("exactly")
def test_the_gradient_is_the_oracles(loss: str, outputs: int, form: str) -> None:
    given = example(loss, outputs)
    _, gradient = visit(given, form)
    assert gradient.shape == (FEATURES + CENTRES * FEATURES,)
    # All relevances, and every third coordinate of the points.
    which = [*range(FEATURES), *range(FEATURES, len(gradient), 3)]
    wanted = differences(given, which)
    np.testing.assert_allclose(
        gradient[which], wanted, rtol=OFF, atol=OFF * np.abs(wanted).max()
    )


@each
def test_the_gradient_is_good_enough_where_it_is_made_in_haste(
    loss: str, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = example(loss, outputs)
    descent = given.descent()
    descent.ridge = descent._ridge(given.place)
    with monkeypatch.context() as context:
        # Where moves begin there are coefficients, if not quite these.
        context.setattr(center_descent, "EXACT", 1e-3)
        context.setattr(center_descent, "ITERATIONS", 100)
        descent._visit(given.place)
    _, by_relevance, by_points = descent._visit(descent._here)
    gradient = np.concatenate([by_relevance, by_points.ravel()])
    which = [*range(FEATURES), *range(FEATURES, len(gradient), 5)]
    slopes, found = differences(given, which), gradient[which]
    cosine = found @ slopes / np.linalg.norm(found) / np.linalg.norm(slopes)
    # Where to go is what it is for; measured: 0.999998 and more.
    assert cosine > 0.9999


@pytest.mark.parametrize(("loss", "outputs"), [("squared_hinge", 3), ("log_loss", 1)])
@forms
@pytest.mark.usefixtures("exactly")
def test_tiles_and_threads_add_up(
    loss: str, outputs: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = example(loss, outputs)
    value, gradient = visit(given, form)
    monkeypatch.setattr(values, "TILE", 1)  # tiles of 64 rows: four of them
    for n_jobs in (1, 2):
        again, slopes = visit(given, form, n_jobs)
        assert again == pytest.approx(value, rel=1e-5)
        largest = np.abs(gradient).max()
        np.testing.assert_allclose(slopes, gradient, rtol=0, atol=OFF * largest)


@pytest.mark.usefixtures("exactly")
def test_a_place_where_two_centres_are_one_has_a_gradient() -> None:
    given = example("squared_hinge", 1)
    points = given.place.points.copy()
    points[1] = points[0]
    given = given._replace(place=given.place._replace(points=points))
    _, gradient = visit(given)
    # Of these two the slopes are those of one half each.
    pair = slice(FEATURES, 3 * FEATURES)
    wanted = differences(given, range(*pair.indices(len(gradient))))
    largest = np.abs(gradient).max()
    np.testing.assert_allclose(gradient[pair], wanted, rtol=0, atol=3 * OFF * largest)


@each
def test_rows_held_out_change_neither(loss: str, outputs: int) -> None:
    given = example(loss, outputs)
    X, y = given.X.copy(), given.y.copy()
    X[given.held] += 1.0
    y[given.held] = y[given.held][::-1]
    value, gradient = visit(given)
    again, slopes = visit(given._replace(X=X, y=y))
    assert again == pytest.approx(value, rel=1e-6)
    largest = np.abs(gradient).max()
    np.testing.assert_allclose(slopes, gradient, rtol=0, atol=OFF * largest)


@each
def test_a_row_of_weight_two_is_two_rows(loss: str, outputs: int) -> None:
    given = example(loss, outputs)
    given = given._replace(weight=np.ones(ROWS))
    learnt = np.setdiff1d(np.arange(ROWS), given.held)
    twice = learnt[::3]
    weight = given.weight.copy()
    weight[twice] = 2.0
    more = np.concatenate([np.arange(ROWS), twice])
    repeated = given._replace(
        X=given.X[more], y=given.y[more], weight=np.ones(len(more))
    )
    value, gradient = visit(given._replace(weight=weight))
    again, slopes = visit(repeated)
    assert again == pytest.approx(value, rel=1e-5)
    largest = np.abs(gradient).max()
    np.testing.assert_allclose(slopes, gradient, rtol=0, atol=0.01 * largest)


@each
@forms
def test_moves_lower_the_oracles_objective(
    loss: str, outputs: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(center_descent, "PATIENCE", 100)  # however rows held out fare
    given = example(loss, outputs)
    reached = []
    descent = given.descent(form)
    descent.run(
        given.place, 12, lambda step, validation_loss: reached.append(descent._here)
    )
    path = [least(given, place) for place in reached]
    assert len(path) == 13
    # Every step goes down, as far as it can be seen.
    assert (np.diff(path) < 1e-4 * path[0]).all()
    assert path[-1] < 0.9 * path[0]
    # The coefficients are as good as the place allows.
    last = problem(given, reached[-1])
    own = last.objective(reached[-1].coef) / float(weights(given).sum())
    assert own == pytest.approx(path[-1], rel=1e-4)


@each
def test_the_place_that_is_returned_is_lower_than_the_start(
    loss: str, outputs: int
) -> None:
    given = example(loss, outputs, noise=0.0)  # so that what helps is the same for all
    found, path = given.descent().run(given.place, 12)
    assert path[0] > min(path)
    assert least(given, found) < least(given, given.place)

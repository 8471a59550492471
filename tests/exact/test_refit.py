"""The re-fit reaches the minimum that Newton's method finds in double precision."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel.engine.objective import differentiate
from onkel.engine.threads import Team
from onkel.problem import kernels, losses
from onkel.refit import values as values_module
from onkel.refit.processor import OnProcessor
from onkel.refit.solver import Point, Solver
from onkel.refit.values import Values
from tests.devices import EVERY, device
from tests.exact import losses as scalar
from tests.exact import refit
from tests.exact.kernels import gram

ROWS, CENTERS, GAMMA, TOL = 300, 25, 0.5, 1e-8
DEGREE, COEF0 = 2, 1.0
RESIDUAL = ("squared_error", "smooth_tube")
TASKS = [
    pytest.param(loss, outputs, id=f"{loss}-{outputs}")
    for loss in refit.LOSSES
    for outputs in ((1,) if loss in RESIDUAL else (1, 3))
]
each = pytest.mark.parametrize(("loss", "outputs"), TASKS)
every_device = pytest.mark.parametrize("name", EVERY)
# Scores are products in single precision: their errors, 1e-7 times the sum of |coef|,
# hide steps that gain less than about that share of the objective. Measured: 6e-7.
SHARE = 3e-6
# A valley that flat is wide: measured 5e-3 of the largest score, at C = 100.
WIDE = 1e-2


def data(
    loss: str, outputs: int, rows: int = ROWS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rows that single precision holds exactly, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).astype(np.float32).astype(np.float64)
    hidden = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=rows)
    if loss in RESIDUAL:
        return X, hidden
    if outputs == 1:
        return X, np.where(hidden > 0.2, 1.0, -1.0)
    return X, np.digitize(hidden, [-0.7, 0.7]).astype(np.float64)


def weights(rows: int = ROWS) -> np.ndarray:
    """Weights, a third of them zero."""
    rng = np.random.default_rng(7)
    return rng.integers(0, 3, rows) * rng.random(rows)


def solver_for(
    X: Any,
    centers: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    loss: str,
    outputs: int,
    *,
    kernel: str = "rbf",
    gamma: float = GAMMA,
    n_jobs: int = 1,
    kept: int = values_module.KEPT,
) -> Solver:
    made = kernels.make(kernel, gamma, DEGREE, COEF0)
    passes = OnProcessor(Values(made, X, centers, Team(n_jobs), kept))
    rng = np.random.default_rng(1)
    return Solver(passes, losses.make(loss), y, weight, outputs, rng)


def problem_for(
    X: np.ndarray,
    centers: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    loss: str,
    outputs: int,
    *,
    C: float,
    kernel: str = "rbf",
    gamma: float = GAMMA,
) -> refit.Problem:
    return refit.problem(
        X,
        centers,
        y,
        weight,
        C=C,
        outputs=outputs,
        loss=loss,
        kernel=kernel,
        gamma=gamma,
        degree=DEGREE,
        coef0=COEF0,
    )


def is_minimum(
    problem: refit.Problem,
    found: Point,
    share: float = SHARE,
    wide: float = WIDE,
    best: np.ndarray | None = None,
) -> None:
    """Check the point against the oracle's, and what it says of itself."""
    best = refit.solve(problem) if best is None else best
    least = problem.objective(best)
    assert problem.objective(found.coef) <= (1 + share) * least
    assert problem.objective(found.coef) >= (1 - 1e-8) * least
    wanted = problem.K @ best.T
    assert np.abs(found.scores - wanted).max() <= wide * np.abs(wanted).max()
    # Its own scores: single precision, term by term, and values below 2^-24 are 0.
    terms = (1e-6 * np.abs(problem.K) + 2.0**-24) @ np.abs(found.coef.T)
    assert (np.abs(found.scores - problem.K @ found.coef.T) <= terms).all()
    own = problem.objective(found.coef)
    assert found.objective == pytest.approx(own, rel=max(share, 1e-6))


@pytest.mark.parametrize("loss", refit.LOSSES[:4])
def test_the_oracle_has_the_losses_of_the_other_oracles(loss: str) -> None:
    f = np.linspace(-3, 3, 61) + 1e-3
    for y in (-1.0, 1.0):
        value, slope, _ = refit.derivatives(loss, f, np.full(61, y))
        assert value == pytest.approx([scalar.value(loss, g, y) for g in f])
        assert slope == pytest.approx([scalar.slope(loss, g, y) for g in f])


@each
def test_the_oracle_has_the_derivatives_of_its_objective(
    loss: str, outputs: int
) -> None:
    X, y = data(loss, outputs, rows=40)
    problem = problem_for(X, X[:4], y, weights(40), loss, outputs, C=2.0)
    rng = np.random.default_rng(2)
    coef = rng.normal(size=(outputs, 4))
    step = rng.normal(size=(outputs, 4))
    h = 1e-6
    up, down = coef + h * step, coef - h * step
    slope = (problem.objective(up) - problem.objective(down)) / (2 * h)
    assert slope == pytest.approx(np.sum(problem.gradient(coef) * step), rel=1e-6)
    bend = (problem.gradient(up) - problem.gradient(down)).ravel() / (2 * h)
    assert bend == pytest.approx(problem.hessian(coef) @ step.ravel(), rel=1e-5)


@each
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_minimum_is_reached(
    loss: str, outputs: int, weighted: bool, C: float
) -> None:
    X, y = data(loss, outputs)
    weight = weights() if weighted else np.ones(ROWS)
    given_to = (X, X[:CENTERS], y, weight, loss, outputs)
    found = solver_for(*given_to).solve(C, tol=TOL)
    is_minimum(problem_for(*given_to, C=C), found)


@pytest.mark.parametrize("loss", ["smooth_hinge", "smooth_tube"])
def test_the_minimum_is_reached_from_where_the_loss_is_straight(loss: str) -> None:
    X, _ = data(loss, 1)
    y = np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)
    given_to = (X, X[:CENTERS], y, np.ones(ROWS), loss, 1)
    found = solver_for(*given_to).solve(100.0, tol=TOL)
    is_minimum(problem_for(*given_to, C=100.0), found)


def test_the_minimum_is_reached_where_few_rows_are_active() -> None:
    X, _ = data("squared_hinge", 1)
    y = np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)
    given_to = (X, X[:CENTERS], y, np.ones(ROWS), "squared_hinge", 1)
    found = solver_for(*given_to).solve(1e4, tol=1e-4)
    problem = problem_for(*given_to, C=1e4)
    least = problem.objective(refit.solve(problem))
    assert problem.objective(found.coef) <= 1.05 * least


@pytest.mark.parametrize("kernel", ["laplacian", "poly", "linear"])
@pytest.mark.parametrize(
    ("loss", "outputs"), [("squared_hinge", 3), ("log_loss", 1), ("smooth_tube", 1)]
)
def test_the_minimum_is_reached_with_any_kernel(
    kernel: str, loss: str, outputs: int
) -> None:
    X, y = data(loss, outputs)
    given_to = (X, X[:CENTERS], y, weights(), loss, outputs)
    found = solver_for(*given_to, kernel=kernel).solve(3.0, tol=TOL)
    is_minimum(problem_for(*given_to, C=3.0, kernel=kernel), found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("kept", [0, 100 * CENTERS, 10**6], ids=["none", "some", "all"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("loss", "outputs"), [("squared_hinge", 1), ("log_loss", 3)])
def test_the_minimum_is_reached_for_rows_of_any_kind(
    monkeypatch: pytest.MonkeyPatch,
    dtype: type,
    sparse: bool,
    kept: int,
    n_jobs: int,
    loss: str,
    outputs: int,
) -> None:
    monkeypatch.setattr(values_module, "TILE", 1)  # tiles of 64 rows: five of them
    X, y = data(loss, outputs)
    X[np.abs(X) < 0.5] = 0.0
    rows = scipy.sparse.csr_array(X.astype(dtype)) if sparse else X.astype(dtype)
    about = (X[:CENTERS], y, weights(), loss, outputs)
    solver = solver_for(rows, *about, n_jobs=n_jobs, kept=kept)
    is_minimum(problem_for(X, *about, C=3.0), solver.solve(3.0, tol=TOL))


@each
def test_a_path_ends_where_a_cold_start_does(loss: str, outputs: int) -> None:
    X, y = data(loss, outputs)
    given_to = (X, X[:CENTERS], y, np.ones(ROWS), loss, outputs)
    solver = solver_for(*given_to)
    coef = None
    for C in (0.01, 0.1, 1.0):
        warm = solver.solve(C, coef, TOL)
        coef = warm.coef
        problem = problem_for(*given_to, C=C)
        is_minimum(problem, warm)
        cold = solver_for(*given_to).solve(C, tol=TOL)
        ratio = problem.objective(warm.coef) / problem.objective(cold.coef)
        assert ratio == pytest.approx(1.0, abs=SHARE)


@each
@every_device
def test_what_is_left_of_another_problem_does_not_lead_astray(
    loss: str, outputs: int, name: str
) -> None:
    X, y = data(loss, outputs)
    held, weight = np.arange(0, ROWS, 4), 0.5 + weights()
    learnt = weight.copy()
    learnt[held] = 0.0
    made = kernels.make("rbf", GAMMA, DEGREE, COEF0)
    passes = device(name).passes(made, X.astype(np.float32), X[:CENTERS])
    rng = np.random.default_rng(1)
    solver = Solver(passes, losses.make(loss), y, learnt, outputs, rng)

    def is_solved(C: float, coef: np.ndarray | None) -> np.ndarray:
        found = solver.solve(C, coef, TOL)
        given_to = (X, X[:CENTERS], y, solver.weight, loss, outputs)
        is_minimum(problem_for(*given_to, C=C), found)
        assert solver.last is not None
        return found.coef

    coef = None
    for C in (0.3, 3.0, 30.0, 1.0):
        coef = is_solved(C, coef)
    # The rows held out join; and everybody begins again from nothing.
    solver.weight = weight
    is_solved(1.0, coef)
    is_solved(1.0, None)
    # Others are held out.
    solver.weight = np.where(np.arange(ROWS) % 4 == 1, 0.0, weight)
    is_solved(1.0, coef)


@every_device
def test_a_factor_is_made_of_the_last_where_few_rows_joined(name: str) -> None:
    X, y = data("squared_error", 1)
    learnt = np.where(np.arange(ROWS) % 10 == 0, 0.0, 1.0)
    made = kernels.make("rbf", GAMMA, DEGREE, COEF0)
    passes: Any = device(name).passes(made, X.astype(np.float32), X[:CENTERS])
    solver = Solver(
        *(passes, losses.make("squared_error"), y, learnt, 1), np.random.default_rng(1)
    )
    taken, owner = list[int](), passes.values if name == "processor" else passes
    of_some = owner._of_some

    def noted(rows: Any) -> Any:
        taken.append(len(rows))
        return of_some(rows)

    owner._of_some = noted
    coef = solver.solve(1.0).coef
    assert sum(taken) == 270
    taken.clear()
    coef = solver.solve(8.0, coef).coef  # another C is a factor of all
    assert taken == []
    solver.weight = np.ones(ROWS)
    solver.solve(8.0, coef)
    assert sum(taken) == 30


@each
def test_the_minimum_is_reached_by_way_of_a_sample(loss: str, outputs: int) -> None:
    rows = 46_000  # two thirds count, so that the start is on a sample of 10,000
    X, y = data(loss, outputs, rows)
    weight = np.minimum(weights(rows), 1.0)
    assert np.count_nonzero(weight) > 3 * 10_000
    given_to = (X, X[:10], y, weight, loss, outputs)
    problem = problem_for(*given_to, C=0.1)
    best = None
    for n_jobs in (1, 2):
        found = solver_for(*given_to, n_jobs=n_jobs).solve(0.1, tol=TOL)
        # To begin there saves time; the oracle's bound on the gap holds all the same.
        best = refit.solve(problem, start=found.coef) if best is None else best
        is_minimum(problem, found, best=best)


@pytest.mark.parametrize("loss", refit.LOSSES)
@pytest.mark.parametrize("apart", [0.0, 1e-7, 1e-4, 1e-2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_that_are_nearly_alike_do_little_harm(
    loss: str, apart: float, dtype: type
) -> None:
    X, y = data(loss, 1)
    moved = X[:12] + apart * np.random.default_rng(3).normal(size=(12, 3))
    centers = np.vstack([X[:12], moved]).astype(dtype).astype(np.float64)
    about = (centers, y, np.ones(ROWS), loss, 1)
    found = solver_for(X.astype(dtype), *about).solve(1.0, tol=TOL)
    # Their coefficients are large and of opposite signs, and so is what rounding loses.
    is_minimum(problem_for(X, *about, C=1.0), found, share=1e-5)


@each
def test_one_centre_is_enough(loss: str, outputs: int) -> None:
    X, y = data(loss, outputs)
    given_to = (X, X[:1], y, weights(), loss, outputs)
    is_minimum(problem_for(*given_to, C=0.3), solver_for(*given_to).solve(0.3, tol=TOL))


@each
def test_rows_without_weight_change_nothing(loss: str, outputs: int) -> None:
    X, y = data(loss, outputs)
    weight = weights()
    some = weight > 0.0
    whole = solver_for(X, X[:CENTERS], y, weight, loss, outputs).solve(1.0, tol=TOL)
    part = solver_for(X[some], X[:CENTERS], y[some], weight[some], loss, outputs)
    found = part.solve(1.0, tol=TOL)
    assert found.objective == pytest.approx(whole.objective, rel=SHARE)
    wanted = whole.scores[some]
    assert np.abs(found.scores - wanted).max() < WIDE * np.abs(wanted).max()
    assert len(whole.scores) == ROWS


@each
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_without_any_weight_the_coefficients_are_zero(
    loss: str, outputs: int, n_jobs: int
) -> None:
    X, y = data(loss, outputs)
    solver = solver_for(X, X[:5], y, np.zeros(ROWS), loss, outputs, n_jobs=n_jobs)
    found = solver.solve(1.0)
    assert not found.coef.any()
    assert found.objective == 0.0


@settings(max_examples=60, deadline=None)
@given(
    task=st.sampled_from([(p.values[0], p.values[1]) for p in TASKS]),
    rows=st.integers(1, 120),
    centers=st.integers(1, 30),
    log_C=st.floats(-3.0, 0.0),
    log_gamma=st.floats(-3.0, 2.0),
    seed=st.integers(0, 10**6),
)
def test_the_minimum_is_reached_whatever_the_problem(
    task: tuple[str, int],
    rows: int,
    centers: int,
    log_C: float,
    log_gamma: float,
    seed: int,
) -> None:
    loss, outputs = task
    X, y = data(loss, outputs, rows, seed)
    points = np.random.default_rng(seed).normal(size=(centers, 3))
    C, gamma = 10.0**log_C, 10.0**log_gamma
    given_to = (X, points, y, np.ones(rows), loss, outputs)
    found = solver_for(*given_to, gamma=gamma).solve(C, tol=TOL)
    problem = problem_for(*given_to, C=C, gamma=gamma)
    least = problem.objective(refit.solve(problem))
    # A wide kernel makes centres that are nearly alike.
    assert problem.objective(found.coef) <= (1 + 1e-4) * least


@each
def test_the_gradient_of_a_point_is_the_oracles(loss: str, outputs: int) -> None:
    X, y = data(loss, outputs)
    given_to = (X, X[:CENTERS], y, weights(), loss, outputs)
    found = solver_for(*given_to).solve(0.5, tol=0.1)
    problem = problem_for(*given_to, C=0.5)
    _, slopes, _ = refit.of_rows(loss, problem.K @ found.coef.T, y)
    # Terms that cancel at the minimum are rounded one by one.
    terms = np.abs(problem.C[:, None] * slopes).T @ np.abs(problem.K)
    wanted = problem.gradient(found.coef)
    assert (np.abs(found.gradient - wanted) <= 1e-5 * (terms + 1.0)).all()


@each
@settings(max_examples=40, deadline=None)
@given(rows=st.integers(0, 20), size=st.floats(0.01, 100.0), seed=st.integers(0, 999))
def test_differentiate_gives_the_oracles_derivatives(
    loss: str, outputs: int, rows: int, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scores = size * rng.normal(size=(rows, outputs))
    y = data(loss, outputs, max(rows, 1), seed)[1][:rows]
    C = rng.integers(0, 3, rows) * rng.random(rows)
    slopes, curvatures = np.empty_like(scores), np.empty(rows)
    made = losses.make(loss)
    total = differentiate(made, scores, y, C, slopes, curvatures)
    value, slope, bend = refit.of_rows(loss, scores, y)
    assert total == pytest.approx(C @ value)
    np.testing.assert_allclose(slopes, C[:, None] * slope, rtol=1e-9, atol=1e-12)
    meant = C * np.trace(bend, axis1=1, axis2=2) / outputs
    np.testing.assert_allclose(curvatures, meant, rtol=1e-9, atol=1e-12)


@each
def test_differentiate_agrees_with_finite_differences(loss: str, outputs: int) -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(50, outputs))
    y = data(loss, outputs, 50)[1]
    C = rng.random(50)
    made, h = losses.make(loss), 1e-6

    def at(moved: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        slopes, curvatures = np.empty_like(moved), np.empty(50)
        return differentiate(made, moved, y, C, slopes, curvatures), slopes, curvatures

    _, slopes, curvatures = at(scores)
    bends = np.zeros(50)
    for o in range(outputs):
        step = h * np.eye(outputs)[o]
        above, below = at(scores + step)[1][:, o], at(scores - step)[1][:, o]
        bends += (above - below) / (2 * h * outputs)
        for i in range(50):
            one = np.zeros_like(scores)
            one[i] = step
            change = (at(scores + one)[0] - at(scores - one)[0]) / (2 * h)
            assert slopes[i, o] == pytest.approx(change, abs=1e-7)
    assert curvatures == pytest.approx(bends, abs=1e-7)


@pytest.mark.parametrize("loss", refit.LOSSES)
@settings(max_examples=100, deadline=None)
@given(
    f=st.floats(-50.0, 50.0),
    y=st.floats(-5.0, 5.0),
    epsilon=st.floats(0.0, 2.0),
    smoothing=st.floats(0.01, 3.0),
)
def test_value_slope_and_curvature_belong_together(
    loss: str, f: float, y: float, epsilon: float, smoothing: float
) -> None:
    y = y if loss in RESIDUAL else (1.0 if y > 0.0 else -1.0)
    if loss == "smooth_hinge":
        smoothing = min(smoothing, 1.0)
    made = losses.make(loss, epsilon, smoothing)
    wanted = refit.derivatives(loss, np.array([f]), np.array([y]), epsilon, smoothing)
    value, slope, bend = (float(part[0]) for part in wanted)
    assert losses.value(made, f, y) == pytest.approx(value, abs=1e-12)
    assert losses.slope(made, f, y) == pytest.approx(slope, abs=1e-12)
    assert abs(losses.slope(made, f, y)) <= losses.lipschitz(made)
    assert 0.0 <= losses.curvature(made, f, y) <= losses.smoothness(made) + 1e-12
    # The bends of the slope are where sides differ.
    ends = (1.0, 1.0 - smoothing, epsilon, epsilon + smoothing)
    where = abs(f - y) if loss in RESIDUAL else y * f
    if min(abs(where - end) for end in ends) > 1e-9:
        assert losses.curvature(made, f, y) == pytest.approx(bend, abs=1e-12)


def test_the_nugget_is_a_share_of_the_mean_diagonal() -> None:
    X, y = data("log_loss", 1)
    X *= 3.0
    solver = solver_for(X, X[:9], y, np.ones(ROWS), "log_loss", 1, kernel="poly")
    G = gram(X[:9], X[:9], kernel="poly", gamma=GAMMA, degree=DEGREE, coef0=COEF0)
    found = solver.passes.smooth(np.eye(9)) - G
    np.testing.assert_allclose(found, 1e-5 * np.trace(G) / 9 * np.eye(9), atol=1e-10)


def test_a_step_to_where_the_slope_is_infinite_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Kernel values that are noise can lower the objective beyond all bounds.
    def search(self: Solver, here: Point, direction: np.ndarray, C: float) -> Point:
        return here._replace(gradient=np.full_like(here.gradient, np.inf))

    monkeypatch.setattr(Solver, "_search", search)
    X, y = data("log_loss", 1)
    solver = solver_for(X, X[:CENTERS], y, weights(), "log_loss", 1)
    assert np.isfinite(solver.solve(0.1).gradient).all()

"""Passes over kernel values say what the formulas say, on every device.

Rows x_i, their features times a relevance r where one is given; centres c_j, weighed
already; coefficients b_oj; weights C_i.

    K_ij = k(r x_i, c_j),    G = k(c, c) + (nugget mean diagonal + ridge) I
    f = K b',    s = C dl/df,    D = C d2l/df2, meant over the outputs

    visit    f, D, sum_i C_i l_i, and s' K; where a loss is straight but not flat, D is
             that of the parabola above it: C times its largest second derivative
    smooth   b G
    factor   L L' = K' D K + G + lift I, the lift 1e-6 of the mean diagonal; D is that
             of all rows, and a factor of another D may be given
    squares  sum_ij C_i K_ij^2
    pulls    W_ij = s_i b_j K_ij: sums over i of W_ij, W_ij x_i and W_ij x_i^2
    pairs    V_ij = b_i b_j G_ij, without i = j: sums over i of V_ij, and V_ij z_i

Everything here is in double precision. Kernel values of a pass are in single: each may
be off by some last places of the terms that it is made of, and sums of them by as much
of what they add up.
"""

import importlib.util
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

from onkel.engine.fitted_expansion import expansion_of
from onkel.problem import kernels, losses
from onkel.refit import processor, values
from onkel.refit.passes import Factor, Passes, changed
from tests.devices import EVERY, OF_TENSORS, device
from tests.exact import refit
from tests.exact.kernels import gram

ROWS, FEATURES, CENTRES = 230, 5, 12
GAMMA, DEGREE, COEF0, RIDGE = 0.2, 2, 1.0, 0.3
NUGGET, LIFT = 1e-5, 1e-6
EPSILON, SMOOTHING = 0.1, 0.5
# Single precision: some roundings of what is added up; below 2^-24 a kernel value may
# be taken for 0.
OFF, NOTHING = 1e-6, 2.0**-24
RESIDUAL = ("squared_error", "smooth_tube")
SMOOTHNESS = {
    "squared_error": 1.0,
    "squared_hinge": 1.0,
    "log_loss": 0.25,
    "smooth_hinge": 1.0 / SMOOTHING,
    "smooth_tube": 1.0 / SMOOTHING,
}
TASKS = [
    pytest.param(loss, outputs, id=f"{loss}-{outputs}")
    for loss in refit.LOSSES
    for outputs in ((1,) if loss in RESIDUAL else (1, 3))
]
each_task = pytest.mark.parametrize(("loss", "outputs"), TASKS)
every_device = pytest.mark.parametrize("name", EVERY)
of_tensors = pytest.mark.parametrize("name", OF_TENSORS)
forms = pytest.mark.parametrize("form", ["dense", "csr"])
weighed_or_not = pytest.mark.parametrize("is_weighed", [False, True])
each_kernel = pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])


class Given(NamedTuple):
    """Rows and centres that single precision holds exactly, and a task."""

    X: np.ndarray
    points: np.ndarray
    relevance: np.ndarray | None
    y: np.ndarray
    weight: np.ndarray  # of the rows, C included; a third of them is 0
    coef: np.ndarray
    loss: str = "squared_hinge"
    kernel: str = "rbf"
    ridge: float = 0.0

    def rows(self, form: str = "dense") -> Any:
        X = self.X.astype(np.float32)
        return scipy.sparse.csr_array(X) if form == "csr" else X

    def passes(self, name: str, form: str = "dense", n_jobs: int = 1) -> Passes:
        made = kernels.make(self.kernel, GAMMA, DEGREE, COEF0)
        points = self.points.astype(np.float32)
        there, X = device(name, n_jobs), self.rows(form)
        return there.passes(made, X, points, self.relevance, self.ridge)

    def part(self, rows: np.ndarray) -> "Given":
        return self._replace(X=self.X[rows], y=self.y[rows], weight=self.weight[rows])


def example(
    loss: str = "squared_hinge",
    outputs: int = 1,
    kernel: str = "rbf",
    is_weighed: bool = False,
    ridge: float = 0.0,
) -> Given:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.4] = 0.0  # so that sparse rows are sparse
    hidden = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=ROWS)
    if loss in RESIDUAL:
        y = hidden
    elif outputs == 1:
        y = np.where(hidden > 0.2, 1.0, -1.0)
    else:
        y = np.digitize(hidden, [-0.7, 0.7]).astype(np.float64)
    weight = rng.integers(0, 3, ROWS) * (0.2 + rng.random(ROWS))
    points = rng.normal(size=(CENTRES, FEATURES)).astype(np.float32).astype(np.float64)
    relevance = np.exp(rng.normal(scale=0.4, size=FEATURES)) if is_weighed else None
    coef = rng.normal(size=(outputs, CENTRES))
    return Given(X, points, relevance, y, weight, coef, loss, kernel, ridge)


# ---- the oracle ----------------------------------------------------------------------


def weighed(given: Given) -> np.ndarray:
    return given.X if given.relevance is None else given.X * given.relevance


def between(given: Given, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return gram(X, Z, kernel=given.kernel, gamma=GAMMA, degree=DEGREE, coef0=COEF0)


def values_of(given: Given) -> np.ndarray:
    return between(given, weighed(given), given.points)


def smoother(given: Given) -> np.ndarray:
    G = between(given, given.points, given.points)
    return G + (NUGGET * np.mean(np.diag(G)) + given.ridge) * np.eye(len(G))


def terms(given: Given) -> np.ndarray:
    """What kernel values are made of: how far they may be off, but for a factor."""
    X, Z = weighed(given), given.points
    if given.kernel in ("poly", "linear"):
        return between(given, np.abs(X), np.abs(Z))
    power = 2 if given.kernel == "rbf" else 1
    far = (np.abs(X) ** power).sum(axis=1)[:, None] + (np.abs(Z) ** power).sum(axis=1)
    return values_of(given) * (1.0 + GAMMA * far) + NOTHING / OFF


class Slopes(NamedTuple):
    """What losses say of scores."""

    lost: float
    slopes: np.ndarray
    curvatures: np.ndarray


def slopes_at(given: Given, f: np.ndarray) -> Slopes:
    loss, C = given.loss, given.weight
    lost, slopes, bends = refit.of_rows(loss, f, given.y)
    slopes = C[:, np.newaxis] * slopes
    curvatures = C * np.einsum("noo->no", bends).mean(axis=1)
    straight = (curvatures == 0.0) & (slopes != 0.0).any(axis=1)
    curvatures[straight] = C[straight] * SMOOTHNESS[loss]
    return Slopes(float(C @ lost), slopes, curvatures)


# ---- what is compared ----------------------------------------------------------------


def is_near(found: np.ndarray, wanted: np.ndarray, added: np.ndarray) -> None:
    """Check sums against the oracle's; `added` is the sum of what may be off."""
    assert found.shape == wanted.shape
    assert found.dtype == np.float64
    assert (np.abs(found - wanted) <= OFF * added).all()


def visits(passes: Passes, given: Given) -> None:
    K, off = values_of(given), terms(given)
    made = losses.make(given.loss, EPSILON, SMOOTHING)
    found = passes.visit(made, given.coef, given.y, given.weight)
    is_near(found.scores, K @ given.coef.T, off @ np.abs(given.coef.T))
    # Of the scores that were found, since at a kink the least difference is much.
    wanted = slopes_at(given, found.scores)
    assert found.lost == pytest.approx(wanted.lost, rel=1e-12)
    np.testing.assert_allclose(found.curvatures, wanted.curvatures, rtol=1e-9)
    is_near(found.gradient, wanted.slopes.T @ K, np.abs(wanted.slopes.T) @ off)


def smooths(passes: Passes, given: Given) -> None:
    np.testing.assert_allclose(
        passes.smooth(given.coef), given.coef @ smoother(given), rtol=1e-9, atol=1e-12
    )


def lower(factor: Factor) -> np.ndarray:
    """L, of which the coefficients 1, 0, ..., 0 and so on are whitened."""
    return factor.whitened(np.eye(CENTRES))


def curved(given: Given, rows: np.ndarray, seed: int = 1) -> np.ndarray:
    """Curvatures of all rows; only those named have any."""
    curvatures = np.zeros(len(given.y))
    curvatures[rows] = 0.1 + np.random.default_rng(seed).random(len(rows))
    return curvatures


def factors(passes: Passes, given: Given, rows: np.ndarray | None = None) -> None:
    rows = np.arange(0, len(given.y), 3) if rows is None else rows
    curvatures = curved(given, rows)
    is_factor(passes.factor(curvatures), given, curvatures)


def is_factor(
    factor: Factor,
    given: Given,
    curvatures: np.ndarray,
    summed: np.ndarray | None = None,
) -> None:
    """Check a factor; `summed` is what its sums took of rows, if more than these."""
    summed = curvatures if summed is None else summed
    np.testing.assert_array_equal(factor.curvatures, curvatures)
    K, off = values_of(given), terms(given)
    matrix = (K.T * curvatures) @ K + smoother(given)
    L = lower(factor)
    assert (np.triu(L, 1) == 0.0).all()
    lifted = matrix + LIFT * np.mean(np.diag(matrix)) * np.eye(CENTRES)
    # Each product of two values may be off as far as both are.
    is_near(L @ L.T, lifted, (off.T * summed) @ off + np.abs(lifted))
    gradient = np.random.default_rng(2).normal(size=(2, CENTRES))
    solved = factor.solve(gradient)
    np.testing.assert_allclose(solved @ (L @ L.T), gradient, atol=1e-8)
    basis: Any = factor.basis()
    basis = basis if isinstance(basis, np.ndarray) else basis.cpu().numpy()
    assert basis.dtype == np.float32
    np.testing.assert_allclose(L.T @ basis, np.eye(CENTRES), atol=1e-4)


def squares(passes: Passes, given: Given) -> None:
    wanted = given.weight @ (values_of(given) ** 2).sum(axis=1)
    off = given.weight @ (terms(given) ** 2).sum(axis=1)
    assert abs(passes.squares(given.weight) - wanted) <= 2 * OFF * off


def pulls(passes: Passes, given: Given) -> None:
    slopes = np.random.default_rng(3).normal(size=(len(given.y), len(given.coef)))
    slopes[::3] = 0.0  # rows without one pull at nothing
    for some in (slopes, slopes * (np.arange(len(slopes)) % 5 == 0)[:, np.newaxis]):
        pulled, off = some @ given.coef, np.abs(some) @ np.abs(given.coef)
        W, off = pulled * values_of(given), off * terms(given)
        X = given.X  # whose features are not weighed
        found = passes.pulls(some, given.coef)
        is_near(found.weights, W.sum(axis=0), off.sum(axis=0))
        is_near(found.products, W.T @ X, off.T @ np.abs(X))
        is_near(found.squares, W.sum(axis=1) @ X**2, off.sum(axis=1) @ X**2)


def pairs(passes: Passes, given: Given) -> None:
    V = given.coef.T @ given.coef * smoother(given)
    V -= np.diag(np.diag(V))
    points = np.random.default_rng(4).normal(size=(CENTRES, 3))
    sums, products = passes.pairs(given.coef, points)
    np.testing.assert_allclose(sums, V.sum(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(products, V.T @ points, rtol=1e-9, atol=1e-9)


def all_are_right(passes: Passes, given: Given) -> None:
    """Check whatever there is, the visit before and after kernel values are kept."""
    assert len(passes) == len(given.y)
    for check in (visits, visits, factors, squares, pulls, smooths, pairs):
        check(passes, given)


# ---- the tests -----------------------------------------------------------------------


@each_task
@forms
@weighed_or_not
@every_device
def test_a_visit_is_right_with_every_loss(
    loss: str, outputs: int, form: str, is_weighed: bool, name: str
) -> None:
    given = example(loss, outputs, is_weighed=is_weighed)
    visits(given.passes(name, form), given)


@pytest.mark.parametrize("loss", ["smooth_hinge", "smooth_tube"])
def test_rows_are_bent_flat_and_straight_in_the_example(loss: str) -> None:
    given = example(loss)
    f = values_of(given) @ given.coef.T
    _, slopes, bends = refit.of_rows(loss, f, given.y)
    kinds = {
        (bool(s), bool(b)) for s, b in zip(slopes.ravel(), bends.ravel(), strict=True)
    }
    assert kinds == {(False, False), (True, False), (True, True)}


@each_kernel
@forms
@weighed_or_not
@pytest.mark.parametrize("ridge", [0.0, RIDGE])
@every_device
def test_every_pass_is_right_with_every_kernel(
    kernel: str, form: str, is_weighed: bool, ridge: float, name: str
) -> None:
    given = example("squared_hinge", 3, kernel, is_weighed, ridge)
    all_are_right(given.passes(name, form), given)


def cramp(monkeypatch: pytest.MonkeyPatch, name: str, how: str) -> None:
    """Make memory small: tiles of 64 rows, and little that is kept or there."""
    monkeypatch.setattr(values, "TILE", 1)
    kept = {"some values": 100 * CENTRES, "no values": 0}.get(how)
    if kept is not None:
        monkeypatch.setattr(values, "MOST_KEPT", kept)
    if name == "processor":
        return
    device(name)  # skips where it is not
    from onkel.refit import cuda

    monkeypatch.setattr(cuda, "TILE", 1)
    monkeypatch.setattr(cuda, "DENSE", 50 * FEATURES)
    if kept is not None:
        monkeypatch.setattr(cuda, "FOR_VALUES", 1.0)
        monkeypatch.setattr(cuda.Cuda, "free", lambda self: 4 * kept)
        monkeypatch.setattr(cuda, "FOR_ROWS", np.inf if kept else 1.0)
    if how == "no rows":
        monkeypatch.setattr(cuda, "FOR_ROWS", 0.0)


ROOMS = ("all", "some values", "no values", "no rows")


@pytest.mark.parametrize("how", ROOMS)
@forms
@weighed_or_not
@every_device
def test_every_pass_is_right_however_little_room_there_is(
    how: str, form: str, is_weighed: bool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cramp(monkeypatch, name, how)
    given = example("log_loss", 3, is_weighed=is_weighed)
    passes = given.passes(name, form)
    all_are_right(passes, given)
    passes.forget()
    all_are_right(passes, given)
    rows = np.random.default_rng(5).permutation(ROWS)[:150]
    all_are_right(passes.of(rows), given.part(rows))


@pytest.mark.parametrize("how", ["all", "some values"])
@forms
def test_two_threads_add_up_what_one_does(
    how: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cramp(monkeypatch, "processor", how)
    given = example("squared_hinge", 3, is_weighed=True)
    all_are_right(given.passes("processor", form, n_jobs=2), given)


@every_device
def test_a_factor_is_made_of_the_rows_that_have_curvature(name: str) -> None:
    given = example()
    for is_known in (False, True):
        passes = given.passes(name)
        if is_known:
            visits(passes, given)
        for rows in (np.arange(ROWS), np.array([7, 200, 3]), np.zeros(0, np.int64)):
            factors(passes, given, rows)


# Rows with curvature to begin with, and how the curvatures of all become others.
HALF = np.arange(0, ROWS, 2)
CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nothing": lambda old: old.copy(),
    "another C": lambda old: 10.0 * old,
    "a smaller C": lambda old: old / 7.0,
    "some join": lambda old: np.where(np.arange(ROWS) % 20 == 1, 0.6, old),
    "some leave": lambda old: np.where(np.arange(ROWS) % 20 == 0, 0.0, old),
    "some change": lambda old: np.where(np.arange(ROWS) % 20 == 0, 0.5 * old, old),
    "all of that": lambda old: (
        3.0 * np.choose(np.arange(ROWS) % 25, [0.0 * old, 0.5 * old + 0.1, *[old] * 23])
    ),
    "all change": lambda old: old * np.linspace(0.5, 1.5, ROWS),
    "others": lambda old: np.roll(old, 1),
    "few are left": lambda old: np.where(np.arange(ROWS) < 20, old, 0.0),
    "none are left": lambda old: 0.0 * old,
}
# Most rows whose kernel values a factor of the last takes.
TAKEN = {
    **dict.fromkeys(("nothing", "another C", "a smaller C", "none are left"), 0),
    **dict.fromkeys(("some join", "some leave", "some change"), 12),
    **{"all of that": 20, "few are left": 10},
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of rows whose kernel values factors ask for."""
    seen = list[int]()

    def noted(owner: Any) -> None:
        whole = owner._of_some

        def of_some(self: Any, rows: Any) -> Any:
            seen.append(len(rows))
            return whole(self, rows)

        monkeypatch.setattr(owner, "_of_some", of_some)

    noted(values.Values)
    if importlib.util.find_spec("torch") is not None:
        from onkel.refit import cuda

        noted(cuda.OnCuda)
    return seen


@pytest.mark.parametrize("how", CHANGES)
@forms
@every_device
def test_a_factor_made_of_another_is_that_made_anew(
    how: str, form: str, name: str, taken: list[int]
) -> None:
    given = example("squared_hinge", 1, is_weighed=True, ridge=RIDGE)
    passes = given.passes(name, form)
    old = curved(given, HALF)
    last = passes.factor(old)
    new = CHANGES[how](old)
    taken.clear()
    made = passes.factor(new, last)
    rows = np.count_nonzero(new)
    assert sum(taken) <= TAKEN.get(how, rows)
    share = new.max() / old.max()
    is_factor(made, given, new, new + share * old)
    gradient = np.random.default_rng(2).normal(size=(2, CENTRES))
    anew = passes.factor(new)
    np.testing.assert_allclose(
        made.solve(gradient), anew.solve(gradient), rtol=1e-3, atol=1e-5
    )
    is_factor(last, given, old)  # which nothing has changed


@every_device
def test_factors_made_of_each_other_stay_right(name: str) -> None:
    given, rng = example(), np.random.default_rng(7)
    passes = given.passes(name)
    weight = 0.1 + rng.random(ROWS)
    active = rng.random(ROWS) < 0.5
    last, summed = None, np.zeros(ROWS)
    for C in (1.0, 1.0, 4.0, 4.0, 16.0, 2.0, 2.0, 0.1):
        curvatures = C * weight * active
        summed = np.maximum(summed, C * weight)
        last = passes.factor(curvatures, last)
        is_factor(last, given, curvatures, summed)
        other = rng.random(ROWS) < 0.1
        active = active != other


@every_device
def test_a_factor_may_be_made_of_one_of_no_rows(name: str) -> None:
    given = example()
    passes = given.passes(name)
    none = passes.factor(np.zeros(ROWS))
    is_factor(none, given, np.zeros(ROWS))
    for far in (1e-6, 1.0, 1e6, 1e10):
        curvatures = far * curved(given, HALF)
        is_factor(passes.factor(curvatures, none), given, curvatures)


def told(new: list[float], last: list[float] | None) -> tuple[float, Any, Any]:
    known: Any = None
    if last is not None:
        known = SimpleNamespace(curvatures=np.array(last), summed=sum(last))
    share, rows, changes, _ = changed(np.array(new), known)
    return share, rows.tolist(), changes.tolist()


def test_what_changed_is_told() -> None:
    # Nothing is known of the last, or there is no use in it.
    assert told([2.0, 0.0, 1.0], None) == (0.0, [0, 2], [2.0, 1.0])
    assert told([2.0, 0.0, 1.0], [0.0, 1.0, 0.0]) == (0.0, [0, 2], [2.0, 1.0])
    assert told([2.0, 0.0, 1.0], [1.0, 0.0, 2.0]) == (0.0, [0, 2], [2.0, 1.0])
    assert told([2.0, 0.0, 1.0], [0.0, 0.0, 0.0]) == (0.0, [0, 2], [2.0, 1.0])
    assert told([0.0, 0.0, 0.0], [1.0, 0.0, 2.0]) == (0.0, [], [])
    # What is known and stays as it was.
    assert told([2.0, 0.0, 1.0], [2.0, 0.0, 1.0]) == (1.0, [], [])
    assert told([6.0, 0.0, 3.0], [2.0, 0.0, 1.0]) == (3.0, [], [])
    # One joins, leaves, or weighs something else.
    assert told([2.0, 1.0, 1.0], [2.0, 0.0, 1.0]) == (1.0, [1], [1.0])
    assert told([2.0, 0.0, 1.0], [2.0, 1.0, 1.0]) == (1.0, [1], [-1.0])
    assert told([4.0, 0.0, 3.0], [2.0, 0.0, 1.0]) == (2.0, [2], [1.0])


def test_rows_that_left_are_taken_away_until_rounding_would_be_what_is_left() -> None:
    # As where fewer and fewer rows are active: each step alone changes few of them.
    active, last, summed = np.ones(1000), None, []
    while active.sum() > 10:
        made = changed(active, last)
        summed.append(made.summed / active.sum())
        assert made.share in (0.0, 1.0)
        last = SimpleNamespace(curvatures=active, summed=made.summed)
        active = active * (np.cumsum(active) <= 0.9 * active.sum())
    assert max(summed) <= 2.0
    assert summed.count(1.0) < len(summed) / 2  # most are made of the last


def test_what_is_rounding_has_not_changed() -> None:
    last = np.random.default_rng(8).random(50) + 0.1
    for C in (1.0 / 3.0, 0.1, 7.0):
        _, rows, _ = told((C * last).tolist(), last.tolist())
        assert rows == []
    nearly = last * (1.0 + 1e-9)
    nearly[np.argmax(last)] = last.max()
    share, rows, _ = told(nearly.tolist(), last.tolist())
    assert (share, rows) == (1.0, np.flatnonzero(nearly != last).tolist())


@every_device
def test_a_factor_is_lifted_as_far_as_need_be(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = example()
    given = given._replace(points=given.points[[0] * CENTRES])  # rank 1, but for G
    passes = given.passes(name)
    monkeypatch.setattr(processor, "LIFT", 1e-20)
    if name in OF_TENSORS:
        from onkel.refit import cuda

        monkeypatch.setattr(cuda, "LIFT", 1e-20)
    curvatures = np.full(ROWS, 1e14)
    K = values_of(given)
    matrix = (K.T * curvatures) @ K + smoother(given)
    L = lower(passes.factor(curvatures))
    assert np.isfinite(L).all()
    largest = np.abs(matrix).max()
    np.testing.assert_allclose(L @ L.T, matrix, rtol=0, atol=1e-4 * largest)


@every_device
def test_a_factor_of_what_is_no_number_is_refused(name: str) -> None:
    given = example()
    passes = given.passes(name)
    for strange in (np.nan, np.inf):
        curvatures = np.full(ROWS, strange)
        with pytest.raises(ValueError, match="infs or NaNs"):
            passes.factor(curvatures)


@forms
@weighed_or_not
@every_device
def test_some_of_the_rows_are_those_named_in_their_order(
    form: str, is_weighed: bool, name: str
) -> None:
    given = example("smooth_hinge", 3, is_weighed=is_weighed, ridge=RIDGE)
    passes = given.passes(name, form)
    visits(passes, given)  # so that there are values that they could have wrongly
    rows = np.random.default_rng(6).permutation(ROWS)[:80]
    some = passes.of(rows)
    all_are_right(some, given.part(rows))
    all_are_right(some.of(np.array([40, 3, 79])), given.part(rows[[40, 3, 79]]))
    all_are_right(passes, given)


@forms
@pytest.mark.parametrize("was_weighed", [False, True])
@weighed_or_not
@every_device
def test_other_centres_see_the_same_rows(
    form: str, was_weighed: bool, is_weighed: bool, name: str
) -> None:
    given = example("squared_error", is_weighed=was_weighed)
    passes = given.passes(name, form)
    visits(passes, given)
    other = given._replace(
        points=(given.points[::-1] + 0.25).astype(np.float32).astype(np.float64),
        relevance=np.linspace(0.5, 1.5, FEATURES) if is_weighed else np.ones(FEATURES),
    )
    assert other.relevance is not None
    all_are_right(passes.at(other.points, other.relevance), other)
    rows = np.array([50, 3, 220])
    some = passes.of(rows).at(other.points, other.relevance)
    all_are_right(some, other.part(rows))
    all_are_right(passes, given)


@every_device
def test_kernel_values_are_made_once_and_again_when_they_were_forgotten(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = example()
    passes, made = given.passes(name), []
    if name == "processor":
        whole, owner, method = values.Values.exact, values.Values, "exact"
    else:
        from onkel.refit import cuda

        whole, owner, method = cuda.values_of, cuda, "values_of"

    def counted(*arguments: Any) -> Any:
        found = whole(*arguments)
        made.append(found.shape)
        return found

    monkeypatch.setattr(owner, method, counted)
    for _ in range(2):
        visits(passes, given)
        pulls(passes, given)
        factors(passes, given)
    assert made == [(ROWS, CENTRES)]
    passes.forget()
    squares(passes, given)
    squares(passes, given)
    assert made == 2 * [(ROWS, CENTRES)]
    other = passes.at(given.points, np.ones(FEATURES))
    made.clear()
    squares(other, given)
    squares(other, given)
    assert made == 2 * [(ROWS, CENTRES)]


@of_tensors
def test_kernel_values_of_a_pass_that_was_cut_short_are_not_believed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cramp(monkeypatch, name, "all")
    given = example("squared_error")
    passes = given.passes(name)
    with pytest.raises(RuntimeError, match="size of tensor"):
        # Targets for the first tile only.
        visits(passes, given._replace(y=given.y[:64]))
    factors(passes, given)
    all_are_right(passes, given)


@of_tensors
def test_of_rows_that_stay_here_few_are_made_dense_at_a_time(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, given, seen = device(name), example(), list[int]()
    from onkel.refit import cuda

    # Wide rows: as many as go into a tile of kernel values would fill the memory.
    monkeypatch.setattr(cuda, "DENSE", 70 * FEATURES)
    monkeypatch.setattr(cuda, "FOR_ROWS", 0.0)
    whole = cuda.Cuda.dense

    def noted(self: Any, X: Any, *more: Any) -> Any:
        seen.append(X.shape[0])
        return whole(self, X, *more)

    monkeypatch.setattr(cuda.Cuda, "dense", noted)
    passes = given.passes(name, "csr")
    all_are_right(passes, given)
    all_are_right(passes.of(np.arange(150)), given.part(np.arange(150)))
    made = kernels.make("rbf", GAMMA, DEGREE, COEF0)
    there.score(expansion_of(made, given.points, given.coef), given.rows("csr"))
    assert max(seen) == 70


@every_device
def test_what_is_given_is_read_only_and_stays_as_it_is(name: str) -> None:
    given = example("squared_hinge", 3, is_weighed=True)
    X, points = given.X.astype(np.float32), given.points.copy()
    for array in (X, points, given.relevance, given.y, given.weight, given.coef):
        assert array is not None
        array.setflags(write=False)
    made = kernels.make("rbf", GAMMA, DEGREE, COEF0)
    there = device(name)
    all_are_right(there.passes(made, X, points, given.relevance), given)
    expansion = expansion_of(made, points.astype(np.float32), given.coef)
    assert there.score(expansion, X).shape == (ROWS, 3)


@forms
@every_device
def test_passes_over_several_sets_of_rows_do_not_mix_them_up(
    form: str, name: str
) -> None:
    there, given = device(name), example()
    made = kernels.make("rbf", GAMMA, DEGREE, COEF0)
    parts = [given.part(np.arange(first, first + 60)) for first in (0, 60, 120)]
    rows = [part.rows(form) for part in parts]
    for _ in range(2):
        for part, X in zip(parts, rows, strict=True):
            visits(there.passes(made, X, part.points), part)
    there.close()
    visits(there.passes(made, rows[0], parts[0].points), parts[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@each_kernel
@forms
@every_device
def test_scores_are_right_in_the_precision_of_the_model(
    dtype: type, kernel: str, form: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cramp(monkeypatch, name, "all")
    given = example("squared_hinge", 3, kernel)
    made = kernels.make(kernel, GAMMA, DEGREE, COEF0)
    expansion = expansion_of(made, given.points.astype(dtype), given.coef)
    X: Any = given.X.astype(dtype)
    X = scipy.sparse.csr_array(X) if form == "csr" else X
    found = device(name).score(expansion, X)
    assert found.dtype == dtype
    off = terms(given) @ np.abs(given.coef.T)
    precision = 1.0 if dtype == np.float32 else 1e-8
    wanted = values_of(given) @ given.coef.T
    assert (np.abs(found - wanted) <= precision * OFF * off).all()


@forms
@every_device
def test_scores_of_no_rows_and_of_no_centres_are_none_and_nothing(
    form: str, name: str
) -> None:
    given = example()
    made = kernels.make("rbf", GAMMA, DEGREE, COEF0)
    X: Any = given.X if form == "dense" else scipy.sparse.csr_array(given.X)
    whole = expansion_of(made, given.points, given.coef)
    assert device(name).score(whole, X[:0]).shape == (0, 1)
    empty = expansion_of(made, given.points[:0], given.coef[:, :0])
    np.testing.assert_array_equal(device(name).score(empty, X), np.zeros((ROWS, 1)))


@every_device
def test_a_kernel_of_no_width_is_that_of_equal_points(name: str) -> None:
    # Infinite in single precision, and infinity times 0 would be no number.
    made = kernels.make("rbf", 1e300, DEGREE, COEF0)
    X = np.eye(4, dtype=np.float32)
    passes = device(name).passes(made, X, X)
    found = passes.visit(
        losses.make("squared_error"), np.eye(4), np.zeros(4), np.ones(4)
    )
    np.testing.assert_array_equal(found.scores, np.eye(4))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("far", [100.0, 1e4])
@every_device
def test_rows_in_double_precision_may_lie_far_from_the_origin(
    kernel: str, far: float, name: str
) -> None:
    given = example("squared_error", kernel=kernel)
    given = given._replace(X=given.X + far, points=given.points + far)
    made = kernels.make(kernel, GAMMA, DEGREE, COEF0)
    passes = device(name).passes(made, given.X, given.points)
    scores = values_of(given) @ given.coef.T
    found = passes.visit(
        losses.make("squared_error"), given.coef, given.y, given.weight
    )
    # On a GPU rows are in single precision: what is left of them there, and no more.
    off = 2.0**-23 * far * np.abs(given.coef).sum()
    np.testing.assert_allclose(found.scores, scores, rtol=0, atol=off)

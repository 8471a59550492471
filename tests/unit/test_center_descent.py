"""Moves of centres: they end, end at the best place, and bear rows of any kind."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from onkel.engine.threads import Team
from onkel.problem import losses
from onkel.refit import values
from onkel.refit.center_descent import FARTHEST, PATIENCE, CenterDescent, Place
from onkel.refit.held_out import Targets
from onkel.refit.processor import Processor
from onkel.refit.values import weighed
from tests.exact.kernels import gram

ROWS, CENTRES, GAMMA, C, STEPS = 600, 8, 0.3, 1.0, 16
KINDS = ("regression", "binary", "classes")
each = pytest.mark.parametrize("kind", KINDS)


def made_up(kind: str, hidden: np.ndarray) -> Targets:
    if kind == "regression":
        y, outputs, loss = hidden.astype(np.float64), 1, "squared_error"
    elif kind == "binary":
        y, outputs, loss = np.where(hidden > 0.0, 1.0, -1.0), 1, "squared_hinge"
    else:
        y, outputs, loss = np.digitize(hidden, [-0.5, 0.5]) * 1.0, 3, "squared_hinge"
    made = losses.make(loss)
    return Targets(y, np.ones(len(y)), outputs, made, kind == "regression")


def data(kind: str, noise: float = 0.1) -> tuple[np.ndarray, Targets]:
    """Five features, of which two say something."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 5)).astype(np.float32)
    hidden = np.sin(2.0 * X[:, 0]) * X[:, 1] + noise * rng.normal(size=ROWS)
    return X, made_up(kind, hidden)


def descent(
    X: Any, targets: Targets, n_jobs: int = 1, gamma: float = GAMMA
) -> CenterDescent:
    """Every fourth row is held out."""
    rng = np.random.default_rng(0)
    return CenterDescent(
        X, targets, np.arange(0, X.shape[0], 4), gamma, C, Processor(Team(n_jobs)), rng
    )


def start(X: Any, targets: Targets, centres: int = CENTRES) -> Place:
    points = X[1 : 2 * centres : 2]
    points = points.toarray() if scipy.sparse.issparse(points) else points
    ones = np.ones(X.shape[1])
    return Place(points.astype(np.float64), ones, np.zeros((targets.outputs, centres)))


def validation_loss(moving: CenterDescent, place: Place, X: np.ndarray) -> float:
    """Of the rows held out, from the place alone."""
    rows, points = (np.float64(part) * place.relevance for part in (X, place.points))
    scores = gram(rows[moving.held], points, gamma=GAMMA) @ place.coef.T
    return moving.targets.validation_loss(scores, moving.held)


def everywhere(moving: CenterDescent, place: Place) -> list[np.ndarray]:
    """Relevances of all places that were reached."""
    reached: list[np.ndarray] = []
    found, _ = moving.run(
        place, STEPS, lambda *told: reached.append(moving._here.relevance)
    )
    return [*reached, found.relevance]


def same(one: Place, two: Place) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


# ---- features that count more than others --------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "form",
    [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix],
    ids=["dense", "csr-array", "csr-matrix"],
)
def test_features_are_weighed(form: Any, dtype: type) -> None:
    X = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0]], dtype)
    rows, relevance = form(X), np.array([2.0, 0.1, 1.0])
    found = weighed(rows, relevance)
    assert type(found) is type(rows)
    assert found.dtype == dtype
    dense = found.toarray() if scipy.sparse.issparse(found) else found
    np.testing.assert_allclose(dense, [[2.0, 0.0, 2.0], [0.0, -0.3, 0.0]], rtol=1e-6)
    # What was given is as it was.
    kept = rows.toarray() if scipy.sparse.issparse(rows) else rows
    np.testing.assert_array_equal(kept, X)
    assert relevance.tolist() == [2.0, 0.1, 1.0]


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_rows_whose_features_all_count_one_are_the_same_object(form: Any) -> None:
    rows = form(np.eye(3))
    assert weighed(rows, np.ones(3)) is rows


def test_no_rows_are_weighed() -> None:
    relevance = np.array([1.0, 2.0])
    assert weighed(np.zeros((0, 2)), relevance).shape == (0, 2)
    assert weighed(scipy.sparse.csr_array((0, 2)), relevance).shape == (0, 2)
    # A row of zeros stores nothing.
    assert weighed(scipy.sparse.csr_array((4, 2)), relevance).nnz == 0


# ---- the best place of a path --------------------------------------------------------


@each
@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_the_best_place_of_the_path_is_returned(kind: str, noise: float) -> None:
    X, targets = data(kind, noise)
    moving, told = descent(X, targets), []
    found, path = moving.run(
        start(X, targets), STEPS, lambda *given: told.append(given)
    )
    assert told == list(enumerate(path))
    assert np.isfinite(path).all()
    # It says of itself what its points, relevances and coefficients say.
    assert validation_loss(moving, found, X) == pytest.approx(min(path), rel=1e-3)
    assert min(path) <= path[0]


@each
def test_moves_help_where_features_are_noise(kind: str) -> None:
    X, targets = data(kind)
    found, path = descent(X, targets).run(start(X, targets), STEPS)
    assert min(path) < 0.8 * path[0]
    assert found.relevance[:2].min() > found.relevance[2:].max()


@each
def test_of_targets_that_are_noise_the_start_is_not_made_worse(kind: str) -> None:
    X, _ = data(kind)
    targets = made_up(kind, np.random.default_rng(1).normal(size=ROWS))
    moving, place = descent(X, targets), start(X, targets)
    found, path = moving.run(place, STEPS)
    moving._visit(place)
    at_first = moving._here  # with the coefficients that it should have
    assert (
        validation_loss(moving, found, X) <= validation_loss(moving, at_first, X) + 1e-4
    )
    assert len(path) < STEPS


@each
def test_what_is_given_stays_as_it_was(kind: str) -> None:
    X, targets = data(kind)
    place, rows = start(X, targets), X.copy()
    kept = Place(*(part.copy() for part in place))
    weight = targets.weight.copy()
    descent(X, targets).run(place, STEPS)
    assert same(place, kept)
    np.testing.assert_array_equal(X, rows)
    np.testing.assert_array_equal(targets.weight, weight)


# ---- when it ends --------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 3, 7])
def test_no_more_steps_are_taken_than_allowed(steps: int) -> None:
    X, targets = data("regression")
    _, path = descent(X, targets).run(start(X, targets), steps)
    assert len(path) <= steps + 1


def test_it_ends_once_rows_held_out_gain_no_more() -> None:
    X, targets = data("binary")
    targets.y[::4] *= -1.0  # what is learnt is the opposite for these
    found, path = descent(X, targets).run(start(X, targets), 1000)
    assert PATIENCE < len(path) <= 2 * PATIENCE
    assert min(path) == path[0]
    assert same(found._replace(coef=start(X, targets).coef), start(X, targets))


def test_it_ends_where_there_is_no_slope() -> None:
    X, targets = data("regression")
    targets = targets._replace(y=np.zeros(ROWS))
    found, path = descent(X, targets).run(start(X, targets), 1000)
    assert len(path) <= 2 * PATIENCE
    assert not found.coef.any()
    assert min(path) == 0.0


def test_a_relevance_stays_within_its_bounds() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3)).astype(np.float32)
    X[:, 1] *= 1e5  # so wide that every row is alone, until it counts for nothing
    X[:, 2] *= 1e-5
    targets = made_up("regression", X[:, 0] + 1e5 * X[:, 2])
    place = start(X, targets)
    for near in (1.0 / FARTHEST, 1.0, FARTHEST):
        begun = place._replace(relevance=np.array([1.0, 1.0 / FARTHEST, near]))
        reached = everywhere(descent(X, targets), begun)
        assert np.min(reached) >= (1 - 1e-9) / FARTHEST
        assert np.max(reached) <= (1 + 1e-9) * FARTHEST


# ---- chance and threads --------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "form"),
    [("regression", np.asarray), ("classes", scipy.sparse.csr_array)],
    ids=["dense", "csr"],
)
def test_the_same_seed_gives_the_same_bits(kind: str, form: Any) -> None:
    X, targets = data(kind)
    X = form(X)
    (one, path), (two, again) = (
        descent(X, targets).run(start(X, targets), STEPS) for _ in range(2)
    )
    assert path == again
    assert same(one, two)


@each
def test_threads_change_next_to_nothing(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "TILE", 1)  # tiles of 64 rows: ten of them
    X, targets = data(kind)
    (one, path), (two, again) = (
        descent(X, targets, n_jobs).run(start(X, targets), 3) for n_jobs in (1, 2)
    )
    # Sums are added up in another order, in double precision.
    assert again == pytest.approx(path, rel=1e-6)
    for name in ("points", "relevance"):
        found, wanted = getattr(two, name), getattr(one, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@each
def test_sparse_rows_are_dense_rows(kind: str) -> None:
    X, targets = data(kind)
    X[np.abs(X) < 0.5] = 0.0
    (one, path), (two, again) = (
        descent(form(X), targets).run(start(X, targets), 3)
        for form in (np.asarray, scipy.sparse.csr_array)
    )
    assert again == pytest.approx(path, rel=1e-3)
    np.testing.assert_allclose(two.points, one.points, rtol=0, atol=0.02)
    np.testing.assert_allclose(two.relevance, one.relevance, rtol=0.02)


# ---- odd rows ------------------------------------------------------------------------


ODD = {
    # Whoever has rows checked them: their squares do not overflow.
    "huge": lambda X: X * X.dtype.type(1e17 if X.dtype == np.float32 else 1e30),
    "large": lambda X: X * X.dtype.type(1e10),
    "tiny": lambda X: X * X.dtype.type(1e-30),
    "zeros": np.zeros_like,
    "far away": lambda X: X + np.float32(1e6),
    "constant feature": lambda X: np.column_stack([X, np.full(len(X), 7, X.dtype)]),
    "constant features": np.ones_like,
    "an outlier": lambda X: np.vstack([X[:-1], np.full_like(X[:1], 1e18)]),
    "one feature": lambda X: X[:, :1],
    "twice": lambda X: np.repeat(X[::2], 2, axis=0),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["regression", "classes"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("dtype", "form"),
    [(np.float32, np.asarray), (np.float64, scipy.sparse.csr_array)],
    ids=["float32-dense", "float64-csr"],
)
def test_odd_rows_stop_nothing(kind: str, odd: str, dtype: type, form: Any) -> None:
    X, targets = data(kind)
    X = form(ODD[odd](X.astype(dtype)))
    found, path = descent(X, targets).run(start(X, targets), STEPS)
    assert len(path) <= STEPS + 1
    for part in found:
        assert np.isfinite(part).all()
    assert (found.relevance > 0.0).all()
    assert min(path) <= path[0]


@pytest.mark.filterwarnings("error")
@each
@pytest.mark.parametrize("unit", [1e-15, 1e-3, 1e3, 3e17])
def test_features_may_have_any_unit(kind: str, unit: float) -> None:
    X, targets = data(kind)
    X = X * np.float32(unit)
    # Squares of these rows are finite in single precision; of features that count more
    # they need not be.
    moving = descent(X, targets, gamma=GAMMA / unit**2)
    found, path = moving.run(start(X, targets), STEPS)
    for part in found:
        assert np.isfinite(part).all()
    assert np.isfinite(path).all()
    assert min(path) <= path[0]


@each
@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_the_gain_does_not_depend_on_the_unit(kind: str, unit: float) -> None:
    X, targets = data(kind)
    _, path = descent(X, targets).run(start(X, targets), STEPS)
    X = X * np.float32(unit)
    moving = descent(X, targets, gamma=GAMMA / unit**2)
    _, other = moving.run(start(X, targets), STEPS)
    # Kernel values are the same, and so is where they could come to.
    assert other[0] == pytest.approx(path[0], rel=1e-3)
    assert path[0] - min(other) > 0.8 * (path[0] - min(path))


def test_a_constant_feature_is_neither_more_nor_less_than_it_was() -> None:
    X, targets = data("regression")
    X = np.column_stack([X, np.full(ROWS, 2.0, np.float32)])
    found, path = descent(X, targets).run(start(X, targets), STEPS)
    assert min(path) < 0.8 * path[0]
    # Centres are where rows are, so that it has no slope; nothing leads elsewhere.
    np.testing.assert_allclose(found.points[:, -1], 2.0, atol=1e-3)
    assert found.relevance[-1] == pytest.approx(1.0, abs=1e-3)


@each
def test_a_single_centre_moves(kind: str) -> None:
    X, targets = data(kind)
    moving, place = descent(X, targets), start(X, targets, 1)
    found, path = moving.run(place, STEPS)
    assert found.points.shape == place.points.shape
    assert validation_loss(moving, found, X) == pytest.approx(min(path), rel=1e-3)


@each
def test_centres_that_are_the_same_stop_nothing(kind: str) -> None:
    X, targets = data(kind)
    place = start(X, targets)
    place = place._replace(points=np.repeat(place.points[::2], 2, axis=0))
    found, path = descent(X, targets).run(place, STEPS)
    assert np.isfinite(found.points).all()
    assert min(path) <= path[0]


@each
def test_rows_without_weight_stop_nothing(kind: str) -> None:
    X, targets = data(kind)
    for weight in (np.zeros(ROWS), np.eye(ROWS)[3], np.eye(ROWS)[4]):
        weighted = targets._replace(weight=weight)
        found, path = descent(X, weighted).run(start(X, targets), STEPS)
        assert np.isfinite(found.points).all()
        assert min(path) <= path[0]


def test_a_single_row_may_be_held_out() -> None:
    X, targets = data("binary")
    rng = np.random.default_rng(0)
    moving = CenterDescent(X, targets, np.array([5]), GAMMA, C, Processor(Team(1)), rng)
    _, path = moving.run(start(X, targets), STEPS)
    # It is either right or wrong, and no gain that is smaller counts.
    assert len(path) <= 2 * PATIENCE + 1

"""The nearest centre and the cell of a row, against the definitions.

Everything runs as plain Python. Kernel values are made as the engine makes them, and
once more as compiled code leaves them, whose exponential ends at 0 before they do.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.compiled.functions import ordered
from onkel.engine.evaluation import Task, Workspace, block_of, fill
from onkel.model import center_cache, distances, rows_ahead
from onkel.model.distances import (
    hash_of_cell,
    in_box,
    in_cell,
    load_row,
    nearest,
    nearest_in_box,
    squared_distance_to,
)
from onkel.model.rows import measure, rows_of
from onkel.model.state import Block, Model, allocate, facing
from onkel.problem import kernels

FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
SEEDS = st.integers(0, 10_000)
# Where the exponential of compiled code ends, by precision.
END = {np.dtype(np.float32): -87.68, np.dtype(np.float64): -708.74}
FORMS = (
    pytest.param(np.float64, "dense", id="f64-dense"),
    pytest.param(np.float64, "csr", id="f64-csr"),
    pytest.param(np.float32, "dense", id="f32-dense"),
    pytest.param(np.float32, "csr", id="f32-csr"),
)
in_each_form = pytest.mark.parametrize("dtype, form", FORMS)
each_kernel = pytest.mark.parametrize("kernel", kernels.KERNELS)


class Faced(NamedTuple):
    """A model, a block, and the features they were made of in double precision."""

    model: Model
    block: Block
    points: np.ndarray
    rows: np.ndarray

    def nearest(self, t: int, mark: np.ndarray) -> distances.Nearness:
        load_row(self.block, t)
        marked = mark >= 0
        # Near the limit, and only there, the distance has to be exact.
        limit = self.squared(t)[marked].min() if marked.any() else 0.0
        return nearest(self.model, self.block, t, mark, bool(marked.all()), limit)

    def in_box(self, t: int, mark: np.ndarray, half_width: float) -> int:
        load_row(self.block, t)
        return nearest_in_box(self.model, self.block, t, mark, half_width)

    def squared(self, t: int) -> np.ndarray:
        return ((self.points - self.rows[t]) ** 2).sum(axis=1)


def faced(
    points: Any,
    rows: Any,
    *,
    kernel: str = "rbf",
    gamma: float = 0.5,
    dtype: Any = np.float64,
    form: str = "dense",
    clamped: bool = True,
) -> Faced:
    """Make the kernel values of some rows with some centres, and all around them."""
    points, rows = np.asarray(points, dtype), np.asarray(rows, dtype)
    (size, features), count = points.shape, len(rows)
    similarity = kernels.make(kernel, gamma, 2, 1.0)
    model = allocate(1, size + 3, features, np.dtype(dtype), center_cache.Nothing)
    model.points[size:] = np.nan  # nobody may read what is not in use
    model.counters[0].count = size
    model.points[:size] = points
    measure(similarity, rows_of(points, dtype), model.norms[:size])
    given = rows_of(scipy.sparse.csr_array(rows) if form == "csr" else rows, dtype)
    model = facing(model, given)
    slots = size
    task = Task(slots, foresee=False)
    work = Workspace(
        kernel=np.zeros(count * slots, dtype),
        room=np.zeros(0, dtype),
        norms=np.zeros(count, dtype),
        diag=np.zeros(count, dtype),
        foreseen=np.zeros((count, 1), dtype),
        ahead=rows_ahead.Alone(),
        pending=np.full(1, -1),
        point=np.full(features, np.nan, dtype),
        other=np.zeros(features, dtype),
        later=np.zeros(count, dtype),
        raw=np.zeros(1),
        f=np.zeros(1),
        scratch=np.full(slots + 3, np.nan, dtype),
        second=np.zeros(slots + 3, dtype),
        table=np.zeros((0, 0), np.float32),
    )
    with np.errstate(under="ignore", over="ignore"):
        fill(similarity, given, (0, count), model, task, work)
    if clamped and kernel in ("rbf", "laplacian"):
        work.kernel[work.kernel < math.exp(END[np.dtype(dtype)])] = 0
    block = block_of(similarity, given, count, task, work)
    return Faced(model, block, points.astype(np.float64), rows.astype(np.float64))


def marks(size: int, kept: Any = ()) -> np.ndarray:
    """All centres are cores but those that were kept."""
    mark = np.zeros(size, np.int32)
    mark[list(kept)] = -1
    return mark


def halves(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Points of a coarse lattice: distances are exact, zeros and ties frequent."""
    return rng.integers(-3, 4, size=shape) / 2.0


def oldest_nearest(squared: np.ndarray, among: np.ndarray) -> int:
    """Return the first of the smallest, -1 if there are none."""
    if not among.any():
        return -1
    return int(np.argmin(np.where(among, squared, np.inf)))


# ---- distances -----------------------------------------------------------------------


@in_each_form
@each_kernel
@FEW
@given(seed=SEEDS)
def test_squared_distances_come_from_the_features(
    dtype: Any, form: str, kernel: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.7)
    # Far from the origin, too, where products have no digits left for distances.
    shift = rng.choice([0.0, 0.0, 100.0])
    rows = points[:3] + rng.choice([0.0, 1e-3, 1.0]) * rng.normal(size=(3, 5))
    made = faced(points + shift, rows + shift, kernel=kernel, dtype=dtype, form=form)
    for t in range(3):
        load_row(made.block, t)
        found = [squared_distance_to(made.model, made.block, j) for j in range(6)]
        np.testing.assert_allclose(found, made.squared(t), rtol=1e-10, atol=1e-300)


def test_a_row_is_at_distance_zero_of_itself() -> None:
    rng = np.random.default_rng(0)
    points = 1e5 + rng.normal(size=(4, 30))
    for dtype in (np.float64, np.float32):
        for form in ("dense", "csr"):
            made = faced(points, points, dtype=dtype, form=form)
            for t in range(4):
                assert made.nearest(t, marks(4)) == (t, 0.0)


# ---- the nearest ---------------------------------------------------------------------

GAMMAS = (1e-300, 1e-12, 0.5, 30.0, 1e4, 1e30, 1e300)


@in_each_form
@each_kernel
@pytest.mark.parametrize("clamped", [True, False])
@FEW
@given(
    seed=SEEDS,
    size=st.integers(1, 12),
    gamma=st.sampled_from(GAMMAS),
    shift=st.sampled_from([0.0, 0.0, 64.0]),
)
def test_the_nearest_core_is_found_the_oldest_on_ties(
    dtype: Any,
    form: str,
    kernel: str,
    clamped: bool,
    seed: int,
    size: int,
    gamma: float,
    shift: float,
) -> None:
    if kernel == "poly":
        gamma = min(gamma, 30.0)  # else its values are no numbers
    rng = np.random.default_rng(seed)
    points, rows = halves(rng, (size, 4)) + shift, halves(rng, (3, 4)) + shift
    among = rng.random(size) < rng.choice([0.0, 0.5, 1.0])
    mark = np.where(among, 7, -1)
    made = faced(
        points,
        rows,
        kernel=kernel,
        gamma=gamma,
        dtype=dtype,
        form=form,
        clamped=clamped,
    )
    for t in range(3):
        squared = made.squared(t)
        with np.errstate(over="ignore"):
            found = made.nearest(t, mark)
        slot = oldest_nearest(squared, among)
        assert found.slot == slot
        assert found.squared == (squared[slot] if slot >= 0 else np.inf)


@in_each_form
@each_kernel
@FEW
@given(seed=SEEDS, gamma=st.sampled_from([1e-8, 1e-3, 0.5, 100.0]))
def test_no_core_is_nearer_than_the_one_found(
    dtype: Any, form: str, kernel: str, seed: int, gamma: float
) -> None:
    # Points in general position, some of them in tight clusters.
    rng = np.random.default_rng(seed)
    clusters = rng.normal(size=(3, 6)) * (rng.random((3, 6)) < 0.7)
    spread = 10.0 ** rng.integers(-6, 1)
    points = clusters[rng.integers(3, size=20)] + spread * rng.normal(size=(20, 6))
    rows = clusters + spread * rng.normal(size=(3, 6))
    among = rng.random(20) < 0.8
    made = faced(points, rows, kernel=kernel, gamma=gamma, dtype=dtype, form=form)
    for t in range(3):
        squared = made.squared(t)
        slot, _ = made.nearest(t, np.where(among, 3, -1))
        assert among[slot]
        assert squared[slot] <= squared[among].min() * (1 + 1e-11)


@pytest.mark.parametrize("kept", [0, 1, 130])
@pytest.mark.parametrize("gamma", [1e-9, 0.5, 1e6])
def test_the_nearest_of_many_centres_is_found(kept: int, gamma: float) -> None:
    rng = np.random.default_rng(kept)
    size = 145
    points = halves(rng, (size, 3))
    rows = halves(rng, (25, 3))
    mark = marks(size, rng.permutation(size)[:kept])
    made = faced(points, rows, gamma=gamma)
    for t in range(len(rows)):
        slot = oldest_nearest(made.squared(t), mark >= 0)
        assert made.nearest(t, mark).slot == slot


def test_a_nearer_centre_that_is_no_core_is_passed_over() -> None:
    made = faced([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], [[0.1, 0.0]])
    assert made.nearest(0, marks(3)).slot == 0
    assert made.nearest(0, marks(3, [0])).slot == 1
    assert made.nearest(0, marks(3, [0, 1])) == (2, pytest.approx(2.9**2))
    assert made.nearest(0, marks(3, [0, 1, 2])) == (-1, np.inf)


def test_an_empty_model_has_no_nearest_centre() -> None:
    for form in ("dense", "csr"):
        made = faced(np.zeros((0, 2)), [[1.0, 2.0]], form=form)
        assert made.nearest(0, np.full(3, -1)) == (-1, np.inf)
        assert made.in_box(0, np.full(3, -1), 5.0) == -1


@in_each_form
def test_values_that_say_nothing_do_not_decide(dtype: Any, form: str) -> None:
    # All underflow, or all are 1: the first centre would do as well, by its value.
    points = [[5.0, 0.0], [4.0, 0.0], [0.0, 3.0], [3.0, 0.0], [0.0, 4.0]]
    for gamma in (1e-30, 1e30):
        for clamped in (True, False):
            made = faced(
                points,
                [[0.5, 0.0]],
                gamma=gamma,
                dtype=dtype,
                form=form,
                clamped=clamped,
            )
            assert len(np.unique(made.block.kernel[0])) == 1
            assert made.nearest(0, marks(5)) == (3, 6.25)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_that_has_just_not_underflowed_does_not_decide(dtype: Any) -> None:
    # Its neighbour may be 0 for a difference in the last digit of the exponent.
    smallest = np.finfo(dtype).smallest_normal
    mark = np.zeros(3, np.int32)
    for value in (0.0, smallest / 2, smallest):
        values = np.array([0.0, value, 0.0], dtype)
        found = distances._candidates(ordered(values), mark, True, 1.0)
        assert (found.first, found.last) == (0, 2) and found.lowest == 0
    values = np.array([0.0, 64 * smallest, 0.0], dtype)
    found = distances._candidates(ordered(values), mark, True, 1.0)
    assert (found.first, found.last) == (1, 1)


def test_values_whose_digits_are_lost_do_not_decide() -> None:
    # Far from the origin the squared distance is the difference of large products;
    # by their values, some other centre would seem the nearest.
    rng = np.random.default_rng(0)
    misled = 0
    for dtype, shift in ((np.float32, 3e3), (np.float64, 1e8)):
        points = shift + rng.normal(size=(40, 4))
        rows = shift + rng.normal(size=(30, 4))
        for form in ("dense", "csr"):
            made = faced(points, rows, dtype=dtype, form=form)
            for t in range(30):
                squared = made.squared(t)
                slot = made.nearest(t, marks(40)).slot
                assert squared[slot] <= squared.min() * (1 + 1e-9)
                misled += int(made.block.kernel[t].argmax()) != squared.argmin()
    assert misled > 5


# ---- boxes ---------------------------------------------------------------------------


def covered(made: Faced, t: int, half_width: float) -> np.ndarray:
    return np.abs(made.points - made.rows[t]).max(axis=1) < half_width


@in_each_form
@each_kernel
@FEW
@given(
    seed=SEEDS,
    size=st.integers(1, 12),
    gamma=st.sampled_from(GAMMAS),
    half_width=st.sampled_from([0.5, 1.0, 1.25, 2.0, 100.0, 1e-9, 1e200]),
)
def test_the_nearest_core_whose_box_holds_the_row(
    dtype: Any,
    form: str,
    kernel: str,
    seed: int,
    size: int,
    gamma: float,
    half_width: float,
) -> None:
    if kernel == "poly":
        gamma = min(gamma, 30.0)
    rng = np.random.default_rng(seed)
    points, rows = halves(rng, (size, 4)), halves(rng, (3, 4))
    among = rng.random(size) < rng.choice([0.0, 0.5, 1.0])
    made = faced(points, rows, kernel=kernel, gamma=gamma, dtype=dtype, form=form)
    for t in range(3):
        inside = covered(made, t, half_width)
        with np.errstate(over="ignore"):
            found = made.in_box(t, np.where(among, 0, -1), half_width)
        assert found == oldest_nearest(made.squared(t), among & inside)
        for j in range(size):
            assert in_box(made.model, made.block, j, half_width) == inside[j]


def test_the_border_of_a_box_does_not_belong_to_it() -> None:
    made = faced([[0.0, 0.0]], [[0.5, 0.0], [-0.5, 0.25], [0.25, -0.5], [0.49, -0.49]])
    found = [made.in_box(t, marks(1), 0.5) for t in range(4)]
    assert found == [-1, -1, -1, 0]


@in_each_form
def test_corners_of_a_box_are_in_it_where_values_have_lost_their_digits(
    dtype: Any, form: str
) -> None:
    # The value at a corner is the smallest in the box: rounding must not exclude it.
    rng = np.random.default_rng(1)
    corners = rng.choice([-1.0, 1.0], size=(50, 6)) * (1 - 1e-4)
    for shift, gamma in ((0.0, 0.5), (1e3, 0.5), (1e3, 50.0), (0.0, 1e3)):
        made = faced(
            np.full((1, 6), shift), corners + shift, gamma=gamma, dtype=dtype, form=form
        )
        for t in range(50):
            assert covered(made, t, 1.0).all()
            assert made.in_box(t, marks(1), 1.0) == 0


# ---- cells ---------------------------------------------------------------------------


def cell(x: np.ndarray, side: float) -> tuple[float, ...]:
    return tuple(np.floor(x / side).tolist())


COORDINATES = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 0.3, -0.3, 1e-300, -1e-300]),
    st.sampled_from([1e9, -1e9, 1e150, -1e150, 2**62 * 0.5, -(2.0**70)]),
)


@pytest.mark.parametrize("form", ["dense", "csr"])
@FEW
@given(
    points=st.lists(st.tuples(COORDINATES, COORDINATES), min_size=2, max_size=8),
    side=st.sampled_from([0.5, 0.3, 0.1, 1.0, 7.0]),
)
def test_cells_are_those_of_the_floor_and_share_their_hash(
    form: str, points: Any, side: float
) -> None:
    X = np.array(points)
    made = faced(X, X, form=form, kernel="laplacian", gamma=1e-300)
    hashes = []
    for t in range(len(X)):
        load_row(made.block, t)
        hashes.append(hash_of_cell(made.block, side))
        same = [cell(x, side) == cell(X[t], side) for x in X]
        found = [in_cell(made.model, made.block, j, side) for j in range(len(X))]
        assert found == same
    assert all(0 <= h < distances.MODULUS for h in hashes)
    for i in range(len(X)):
        for j in range(len(X)):
            if cell(X[i], side) == cell(X[j], side):
                assert hashes[i] == hashes[j]


def test_cells_are_half_open_and_go_on_below_zero() -> None:
    points = [[0.0], [0.49], [0.5], [-0.01], [-0.5], [-0.51], [-0.0]]
    made = faced(points, points)
    load_row(made.block, 0)
    found = [in_cell(made.model, made.block, j, 0.5) for j in range(7)]
    assert found == [True, True, False, False, False, False, True]
    load_row(made.block, 3)
    found = [in_cell(made.model, made.block, j, 0.5) for j in range(7)]
    assert found == [False, False, False, True, True, False, False]


def test_points_of_a_cell_are_no_further_apart_than_its_diagonal() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    made = faced(X, X)
    for t in range(0, 300, 10):
        load_row(made.block, t)
        same = [j for j in range(300) if in_cell(made.model, made.block, j, 0.8)]
        assert made.squared(t)[same].max() <= 3 * 0.8**2


def test_neighbouring_cells_rarely_share_their_hash() -> None:
    lattice = np.stack(np.meshgrid(*[np.arange(-8, 8)] * 3), axis=-1).reshape(-1, 3)
    made = faced([[0.0] * 3], lattice + 0.5)
    hashes = []
    for t in range(len(lattice)):
        load_row(made.block, t)
        hashes.append(hash_of_cell(made.block, 1.0))
    assert len(set(hashes)) >= 0.99 * len(lattice)
    # Also among the low bits, by which the table is filled.
    assert np.bincount(np.array(hashes) & 8191).max() <= 8


def test_a_cell_is_the_same_in_both_precisions_of_what_both_can_say() -> None:
    X = np.random.default_rng(3).normal(size=(20, 4)).astype(np.float32)
    for dtype in (np.float32, np.float64):
        for form in ("dense", "csr"):
            made = faced(X, X, dtype=dtype, form=form)
            hashes = []
            for t in range(20):
                load_row(made.block, t)
                hashes.append(hash_of_cell(made.block, 0.3))
            if dtype is np.float32 and form == "dense":
                wanted = hashes
            assert hashes == wanted

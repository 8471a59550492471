"""Feature maps, and the strategies and the memory that work with them, by definition.

Maps run compiled, as transformers use them. Strategies run as plain Python, on models
made by hand.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from onkel.budget import dispatch, landmarks, spill
from onkel.budget.declaration import largest_size
from onkel.budget.dispatch import absorb
from onkel.budget.linear import Linear
from onkel.compiled.functions import jit
from onkel.compiled.trigonometry import FURTHEST_DOUBLE, FURTHEST_SINGLE, circle
from onkel.engine import svrg
from onkel.engine.fitted_expansion import TILE
from onkel.engine.mapper import Mapper
from onkel.engine.threads import CHUNK
from onkel.features import fourier, nystrom
from onkel.features.absent import Absent
from onkel.features.dispatch import width
from onkel.features.fourier import Fourier
from onkel.features.identity import Identity
from onkel.features.nystrom import Nystrom
from onkel.model import center_cache
from onkel.model.rows import rows_of
from onkel.model.state import allocate, facing
from onkel.problem import kernels, losses, rates
from onkel.problem.tasks import judge
from tests.unit.hand_made import Bench, update

FEW = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
RBF = kernels.make("rbf", 0.5, 3, 1.0)
in_both_formats = pytest.mark.parametrize(
    "form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"]
)
in_both_precisions = pytest.mark.parametrize(
    "dtype", [np.float64, np.float32], ids=["f64", "f32"]
)


# ---- cosines and sines ---------------------------------------------------------------


@jit
def _circle(angles: Any, scale: Any, cosines: Any, sines: Any) -> None:
    circle(angles, scale, cosines, sines)


def turned(angles: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Compiled cosines and sines; what is beyond them stays as it is."""
    out = np.full((2, len(angles) + 1), 7.0, angles.dtype)
    with np.errstate(over="ignore"):  # plain Python would warn of it
        _circle(angles, angles.dtype.type(scale), out[0, :-1], out[1, :-1])
    assert (out[:, -1] == 7).all()
    return out[0, :-1], out[1, :-1]


# Of the cosines of the angles as given; a unit in the last place more than documented,
# because the double-precision reference is rounded, too.
ERROR = {np.float64: 4e-16, np.float32: 2e-7}


def check_circle(angles: np.ndarray) -> None:
    error = ERROR[angles.dtype.type]
    cosines, sines = turned(angles)
    exact = angles.astype(np.float64)
    np.testing.assert_allclose(cosines, np.cos(exact), rtol=0, atol=error)
    np.testing.assert_allclose(sines, np.sin(exact), rtol=0, atol=error)
    assert (np.abs(cosines) <= 1 + error).all() and (np.abs(sines) <= 1 + error).all()


def ladder(furthest: float) -> np.ndarray:
    """Angles of all sizes: at, between and next to the multiples of a quarter turn."""
    turns = np.arange(-300, 301) * (math.pi / 4)
    close = [np.nextafter(turns, direction) for direction in (-np.inf, np.inf)]
    sizes = np.geomspace(1e-300, 0.999 * furthest, 2000)
    return np.concatenate([turns, *close, sizes, -sizes, [0.0, -0.0]])


@in_both_precisions
def test_cosines_and_sines_of_all_angles(dtype: Any) -> None:
    furthest = FURTHEST_DOUBLE if dtype is np.float64 else FURTHEST_SINGLE
    # One at a time, so that the sum of squares of a row does not choose the code.
    for angle in ladder(furthest).astype(dtype)[::7]:
        check_circle(np.array([angle]))
    rng = np.random.default_rng(0)
    for size in (1e-3, 1.0, furthest / 300):
        check_circle((size * rng.uniform(-1, 1, size=50_000)).astype(dtype)[:40_000])
    check_circle(np.sort(ladder(furthest / 100).astype(dtype)))


@in_both_precisions
def test_multiples_of_a_quarter_turn_up_to_the_last(dtype: Any) -> None:
    furthest = FURTHEST_DOUBLE if dtype is np.float64 else FURTHEST_SINGLE
    last = int(furthest / (math.pi / 2))
    for n in [1, 2, 3, 4, 5, 1000, 1001, last - 2, last - 1, last]:
        for sign in (-1, 1):
            angle = np.array([sign * n * math.pi / 2], dtype)
            assert abs(angle[0]) < furthest
            check_circle(angle)
            check_circle(np.nextafter(angle, dtype(0)))


@in_both_precisions
@pytest.mark.parametrize("size", [2.0, 1e3, 1e10, 1e30])
def test_huge_angles_are_left_to_the_library(dtype: Any, size: float) -> None:
    furthest = FURTHEST_DOUBLE if dtype is np.float64 else FURTHEST_SINGLE
    rng = np.random.default_rng(1)
    check_circle((size * furthest * rng.uniform(-1, 1, size=501)).astype(dtype))
    check_circle(np.array([np.finfo(dtype).max, -np.finfo(dtype).max], dtype))


@in_both_precisions
def test_mixed_magnitudes_and_what_is_at_the_border(dtype: Any) -> None:
    furthest = FURTHEST_DOUBLE if dtype is np.float64 else FURTHEST_SINGLE
    border = [np.nextafter(dtype(furthest), dtype(0)), furthest, 1.0001 * furthest]
    mixed = [1e-30, -3.0, 0.0, 1e25, -0.5, furthest, math.pi, -1e-5, 1e4]
    for angles in ([border[0]], [border[1]], [border[2]], border, mixed, mixed[::-1]):
        check_circle(np.array(angles, dtype))


@in_both_precisions
@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33])
def test_rows_of_any_length(dtype: Any, length: int) -> None:
    angles = np.random.default_rng(length).normal(size=length).astype(dtype) * 5
    check_circle(angles)
    cosines, sines = turned(angles, 0.25)
    exact = angles.astype(np.float64)
    np.testing.assert_allclose(cosines, np.cos(exact) / 4, atol=ERROR[dtype])
    np.testing.assert_allclose(sines, np.sin(exact) / 4, atol=ERROR[dtype])


def test_zero_is_exact() -> None:
    for dtype in (np.float64, np.float32):
        cosines, sines = turned(np.zeros(9, dtype))
        assert (cosines == 1).all() and (sines == 0).all()


def test_plain_python_turns_alike() -> None:
    angles = np.array([0.0, 1.0, -2e5, 1e9])
    for some in (angles[:3], angles):
        out = np.empty((2, len(some)))
        circle(some, 0.5, out[0], out[1])
        np.testing.assert_allclose(out, turned(some, 0.5), rtol=0, atol=4e-16)


# ---- frequencies ---------------------------------------------------------------------


def drawn(
    kernel: str = "rbf",
    gamma: float = 0.5,
    count: int = 40,
    inputs: int = 3,
    seed: int = 0,
    **options: Any,
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return fourier.draw(kernel, gamma, count, inputs, rng, **options)


@pytest.mark.parametrize("count, inputs", [(2, 1), (2, 7), (40, 3), (42, 1), (10, 30)])
@pytest.mark.parametrize(
    "kind", [("rbf", False), ("rbf", True), ("laplacian", False)], ids=str
)
def test_there_is_a_frequency_for_two_features(
    kind: tuple[str, bool], count: int, inputs: int
) -> None:
    kernel, orthogonal = kind
    omega = drawn(kernel, 0.5, count, inputs, orthogonal=orthogonal)
    assert omega.shape == (count // 2, inputs)
    assert omega.dtype == np.float64
    assert np.isfinite(omega).all()
    again = drawn(kernel, 0.5, count, inputs, orthogonal=orthogonal)
    np.testing.assert_array_equal(omega, again)
    assert not np.array_equal(
        omega, drawn(kernel, 0.5, count, inputs, 1, orthogonal=orthogonal)
    )


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("gamma", [0.01, 0.5, 10.0])
@pytest.mark.parametrize("inputs", [1, 3, 20])
def test_frequencies_of_rbf_are_normal(
    gamma: float, inputs: int, orthogonal: bool
) -> None:
    count = 20_000 // inputs * 2
    omega = drawn("rbf", gamma, count, inputs, orthogonal=orthogonal)
    standard = omega / math.sqrt(2 * gamma)
    n = standard.size
    # Within a block they depend on each other, which makes means vary less.
    assert abs(standard.mean()) < 4 / math.sqrt(n)
    assert abs((standard**2).mean() - 1) < 4 * math.sqrt(2 / n)
    assert abs((standard**4).mean() - 3) < 6 * math.sqrt(96 / n)
    assert abs((standard**3).mean()) < 6 * math.sqrt(15 / n)
    for feature in standard.T:
        assert abs(feature.std() - 1) < 5 / math.sqrt(2 * len(feature))
        assert scipy.stats.kstest(feature, "norm").pvalue > 1e-4


@pytest.mark.parametrize("gamma", [0.01, 0.5, 10.0])
def test_frequencies_of_laplacian_are_cauchy(gamma: float) -> None:
    omega = drawn("laplacian", gamma, 40_000, 2)
    for feature in omega.T:
        assert scipy.stats.kstest(feature / gamma, "cauchy").pvalue > 1e-4
    # They have no moments; half of them are within gamma of zero.
    assert abs((np.abs(omega) < gamma).mean() - 0.5) < 4 * 0.5 / math.sqrt(omega.size)


@pytest.mark.parametrize("count, inputs", [(20, 5), (24, 5), (6, 5), (8, 1), (14, 2)])
def test_orthogonal_frequencies_are_so_within_a_block(count: int, inputs: int) -> None:
    omega = drawn(count=count, inputs=inputs, orthogonal=True)
    for first in range(0, len(omega), inputs):
        some = omega[first : first + inputs]
        some = some / np.linalg.norm(some, axis=1)[:, None]
        np.testing.assert_allclose(some @ some.T, np.eye(len(some)), atol=1e-12)


@pytest.mark.parametrize("inputs", [1, 4])
def test_orthogonal_frequencies_are_as_long_as_normal_vectors(inputs: int) -> None:
    omega = drawn(gamma=3.0, count=8000, inputs=inputs, orthogonal=True)
    lengths = np.linalg.norm(omega, axis=1) / math.sqrt(6.0)
    assert scipy.stats.kstest(lengths, "chi", args=(inputs,)).pvalue > 1e-4
    # Lengths of one block are independent of each other.
    pairs = lengths[: 4000 // inputs * inputs].reshape(-1, inputs)
    if inputs > 1:
        assert abs(np.corrcoef(pairs.T)[0, 1]) < 5 / math.sqrt(len(pairs))


def test_directions_are_uniform_whatever_the_solver_does_with_signs() -> None:
    # A QR that made all diagonals of R negative would favour one side.
    firsts = np.array(
        [drawn(count=4, inputs=2, seed=seed, orthogonal=True) for seed in range(3000)]
    )
    for omega in firsts[:, 0], firsts[:, 1]:
        angle = np.arctan2(omega[:, 1], omega[:, 0]) / (2 * math.pi) + 0.5
        assert scipy.stats.kstest(angle, "uniform").pvalue > 1e-4
    # Both turns of a pair are as likely.
    turn = np.linalg.det(firsts) > 0
    assert abs(turn.mean() - 0.5) < 4 * 0.5 / math.sqrt(len(turn))


@pytest.mark.parametrize("gamma", [5e-324, 1e-300, 1e300, 1.7e308])
def test_extreme_gammas_give_frequencies_without_complaint(gamma: float) -> None:
    for orthogonal in (False, True):
        omega = drawn("rbf", gamma, 40, 3, orthogonal=orthogonal)
        assert np.isfinite(omega).all()
        size = np.abs(drawn("rbf", 0.5, 40, 3, orthogonal=orthogonal))
        np.testing.assert_allclose(
            np.abs(omega), size * math.sqrt(gamma) * math.sqrt(2.0), rtol=1e-9
        )


# ---- Nystrom factors -----------------------------------------------------------------


def gram(count: int, seed: int = 0, gamma: float = 0.5) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(count, 3))
    return rbf_kernel(X, gamma=gamma)


@pytest.mark.parametrize("count", [1, 2, 30])
@pytest.mark.parametrize("more", [0, 100])
def test_a_factor_of_full_rank_reproduces_the_gram_matrix(
    count: int, more: int
) -> None:
    K = gram(count)
    matrix, transfer = nystrom.factor(K, rank=count + more)
    assert matrix.shape == transfer.T.shape == (count, count)
    Z = K @ matrix
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-12)
    np.testing.assert_allclose(transfer.T @ transfer, K, atol=1e-12)
    # There and back again.
    np.testing.assert_allclose(matrix @ transfer, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(transfer @ matrix, np.eye(count), atol=1e-9)


@pytest.mark.parametrize("rank", [1, 5, 29])
def test_a_cut_factor_is_the_best_of_its_rank(rank: int) -> None:
    K = gram(30)
    matrix, transfer = nystrom.factor(K, rank)
    assert matrix.shape == (30, rank) and transfer.shape == (rank, 30)
    values, vectors = np.linalg.eigh(K)
    top, V = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    np.testing.assert_allclose(transfer.T @ transfer, (V * top) @ V.T, atol=1e-12)
    # The largest first.
    np.testing.assert_allclose((transfer**2).sum(axis=1), top, rtol=1e-9)
    np.testing.assert_allclose((matrix**2).sum(axis=0), 1 / top, rtol=1e-9)
    np.testing.assert_allclose(transfer @ matrix, np.eye(rank), atol=1e-9)


def test_duplicates_are_cut() -> None:
    K = np.repeat(np.repeat(gram(4), 3, axis=0), 3, axis=1)
    matrix, transfer = nystrom.factor(K, rank=12)
    assert matrix.shape == (12, 4)
    np.testing.assert_allclose(transfer.T @ transfer, K, atol=1e-12)
    assert np.isfinite(matrix).all()


@pytest.mark.parametrize("rank", [1, 3])
def test_a_matrix_of_zeros_has_one_feature_that_is_zero(rank: int) -> None:
    matrix, transfer = nystrom.factor(np.zeros((3, 3)), rank)
    assert matrix.shape == (3, 1) and transfer.shape == (1, 3)
    assert not matrix.any() and not transfer.any()


def test_the_share_says_what_is_rounding() -> None:
    K = np.diag([1.0, 1e-3, 1e-6, 1e-9, 1e-12])
    for share, kept in ((1e-2, 1), (1e-5, 2), (1e-10, 4), (1e-13, 5), (0.0, 5)):
        matrix, _ = nystrom.factor(K, 5, share)
        assert matrix.shape[1] == kept
    assert nystrom.factor(1e-200 * K, 5)[0].shape[1] == 4, "of the largest, that is"
    assert nystrom.factor(K, 2, 1e-5)[0].shape[1] == 2
    # A negative eigenvalue is rounding whatever the share.
    assert nystrom.factor(np.diag([1.0, -1e-20]), 2, 0.0)[0].shape[1] == 1


# ---- the mapper ----------------------------------------------------------------------


def mappers(dtype: Any = np.float64) -> dict[str, Mapper]:
    omega = drawn(count=20).astype(dtype)
    points = np.random.default_rng(2).normal(size=(11, 3))
    matrix = nystrom.factor(rbf_kernel(points, gamma=0.5), 6).matrix
    laplacian = kernels.make("laplacian", 0.5, 3, 1.0)
    # Products with frequencies are products, also where the kernel's are distances.
    other = Mapper(Fourier(20), laplacian, drawn("laplacian", count=20).astype(dtype))
    factor = nystrom.factor(laplacian_kernel(points, gamma=0.5), 11)
    return {
        "fourier": Mapper(Fourier(20), RBF, omega),
        "laplacian": other,
        "nystrom": Mapper(Nystrom(matrix.astype(dtype)), RBF, points.astype(dtype)),
        "nystrom-l": Mapper(
            Nystrom(factor.matrix.astype(dtype)), laplacian, points.astype(dtype)
        ),
    }


def wanted(name: str, mapper: Mapper, X: np.ndarray) -> np.ndarray:
    points = mapper.points.astype(np.float64)
    if not name.startswith("nystrom"):
        angles = X @ points.T
        return np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(len(points))
    kernel = laplacian_kernel if name == "nystrom-l" else rbf_kernel
    return kernel(X, points, gamma=0.5) @ mapper.mapping.matrix


def sparse_rows(count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(count, 3)) * (rng.random((count, 3)) < 0.6)
    X[0] = 0
    return X


@pytest.mark.parametrize("name", mappers())
@in_both_formats
@pytest.mark.parametrize("count", [1, TILE - 1, TILE, 2 * TILE + 5])
def test_features_are_those_of_the_definition(name: str, form: Any, count: int) -> None:
    mapper, X = mappers()[name], sparse_rows(count)
    found = mapper.transform(form(X))
    assert found.shape == (count, width(mapper.mapping))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted(name, mapper, X), atol=1e-11)
    two = mapper.transform(form(X), n_jobs=2)
    np.testing.assert_allclose(two, found, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["fourier", "nystrom"])
@in_both_formats
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_many_rows_are_mapped_in_chunks(name: str, form: Any, jobs: int) -> None:
    mapper, X = mappers()[name], sparse_rows(2 * CHUNK + 77)
    found = mapper.transform(form(X), n_jobs=jobs)
    np.testing.assert_allclose(found, wanted(name, mapper, X), atol=1e-11)


@pytest.mark.parametrize("name", ["fourier", "nystrom"])
@in_both_formats
def test_single_precision_features(name: str, form: Any) -> None:
    mapper, X = mappers(np.float32)[name], sparse_rows(200).astype(np.float32)
    found = mapper.transform(form(X))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted(name, mapper, X), atol=1e-4)


def test_fewer_rows_than_threads() -> None:
    mapper, X = mappers()["fourier"], sparse_rows(2)
    found = mapper.transform(X, n_jobs=4)
    np.testing.assert_allclose(found, wanted("fourier", mapper, X), atol=1e-12)


def test_widths() -> None:
    assert width(Absent()) == 0
    assert width(Fourier(8)) == 8
    assert width(Identity(3)) == 3
    assert width(Nystrom(np.zeros((7, 2)))) == 2


# ---- strategies, by hand -------------------------------------------------------------

WIDE = 4


def featured(
    coef: Any, rows: int = 6, seed: int = 0, capacity: int = 20
) -> tuple[Bench, np.ndarray]:
    """Make a model whose first slots are features; their values at the rows."""
    bench = Bench(coef, rows, capacity=capacity, seed=seed)
    bench.model = bench.model._replace(mapping=Fourier(WIDE))
    # Features are no rows: they were there before the first.
    bench.model.birth[:WIDE] = 0
    bench.model.birth[WIDE : bench.size] -= WIDE
    bench.model.counters[0].t -= WIDE
    values = np.random.default_rng(seed + 1).normal(size=(rows, WIDE))
    bench.block.kernel[:, :WIDE] = values
    return bench, values


@pytest.mark.parametrize("outputs", [1, 3])
def test_linear_moves_the_weights_along_the_features(outputs: int) -> None:
    start = np.random.default_rng(5).normal(size=(outputs, WIDE))
    bench, values = featured(start)
    for t, z in enumerate(values):
        weight, down = 0.5 - t, (t % 2 + 1 if outputs == 3 else -1)
        bench.arrive(t)
        absorb(Linear(), bench.model, bench.block, t, update(weight, 0, down), None)
        start[0] += weight * z
        if down >= 0:
            start[down] -= weight * z
        np.testing.assert_allclose(bench.coef, start, rtol=1e-12)
    assert bench.size == WIDE
    assert bench.model.counters[0].maintenance == 0
    assert largest_size(Linear()) == 0


class Spilt:
    """The same as Spill by definition: a list of centres, and the features' weights."""

    def __init__(self, outputs: int, limit: int, portion: int) -> None:
        self.w = np.zeros((outputs, WIDE))
        self.centres: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []
        self.limit, self.portion, self.maintenance = limit, portion, 0

    def take(self, t: int, x: np.ndarray, z: np.ndarray, coef: np.ndarray) -> None:
        self.centres.append((t, coef, z, x))
        if len(self.centres) <= self.limit:
            return
        # The smallest coefficients, the oldest on ties.
        self.centres.sort(key=lambda c: (np.sum(c[1] ** 2), c[0]))
        for _, a, zeta, _ in self.centres[: self.portion]:
            self.w += np.outer(a, zeta)
        self.centres = self.centres[self.portion :]
        self.maintenance += 1

    def same_as(self, bench: Bench, budget: Any) -> None:
        np.testing.assert_allclose(bench.coef[:, :WIDE], self.w, atol=1e-12)
        assert bench.size - WIDE == len(self.centres)
        slots = {int(bench.model.birth[j]): j for j in range(WIDE, bench.size)}
        for birth, coef, z, x in self.centres:
            slot = slots[birth]
            np.testing.assert_array_equal(bench.model.coef[:, slot], coef)
            np.testing.assert_array_equal(bench.model.points.grid[slot], x)
            np.testing.assert_array_equal(budget.features[slot - WIDE], z)
        assert bench.model.counters[0].maintenance == self.maintenance


@pytest.mark.parametrize("outputs", [1, 3])
@FEW
@given(
    seed=st.integers(0, 10_000),
    limit=st.integers(1, 6),
    portion=st.integers(1, 6),
    room=st.integers(0, 5),
)
def test_a_stream_spills_as_defined(
    outputs: int, seed: int, limit: int, portion: int, room: int
) -> None:
    portion, count = min(portion, limit), 20
    rng = np.random.default_rng(seed)
    bench, values = featured(np.zeros((outputs, WIDE)), count, seed, capacity=30)
    small = allocate(outputs, WIDE + limit + 1, 2, np.float64, center_cache.Nothing)
    budget = dispatch.resized(
        spill.make(limit, portion), small._replace(mapping=Fourier(WIDE))
    )
    mirror = Spilt(outputs, limit, portion)
    for t, z in enumerate(values):
        if t == 10:  # as when the model grows
            budget = dispatch.resized(budget, bench.model)
        weight = float(rng.choice([-1.0, -0.5, 0.25, 0.5, 1.0]))
        down = int(rng.integers(1, 3)) if outputs == 3 else -1
        bench.arrive(t)
        absorb(budget, bench.model, bench.block, t, update(weight, 0, down), None)
        bench.fill_later(t)
        coef = np.zeros(outputs)
        coef[0] = weight
        if down >= 0:
            coef[down] = -weight
        mirror.take(t + 1, bench.rows[t], z, coef)
        mirror.same_as(bench, budget)
    assert largest_size(budget) == limit + 1


def test_the_newcomer_may_be_the_first_to_move() -> None:
    bench, values = featured(np.array([[0, 0, 0, 0, 2.0, 3.0]]))
    budget = dispatch.resized(spill.make(2, 1), bench.model)
    bench.arrive(0)
    absorb(budget, bench.model, bench.block, 0, update(1.0), None)
    bench.fill_later(0)
    assert bench.size == WIDE + 2
    np.testing.assert_array_equal(bench.coef[0, WIDE:], [2.0, 3.0])
    np.testing.assert_allclose(bench.coef[0, :WIDE], values[0])
    # Nothing is pending of a centre that is no longer there.
    assert bench.block.pending[0] == -1


def test_on_ties_the_oldest_move() -> None:
    bench, _ = featured(np.array([[0, 0, 0, 0, 1.0, -1.0, 1.0]]))
    budget = dispatch.resized(spill.make(3, 2), bench.model)
    bench.arrive(0)
    absorb(budget, bench.model, bench.block, 0, update(-1.0), None)
    assert sorted(bench.births[WIDE:]) == [3, 4]


def test_a_spill_that_is_resized_keeps_its_features() -> None:
    model = allocate(1, WIDE + 3, 2, np.float32, center_cache.Nothing)
    model = model._replace(mapping=Fourier(WIDE))
    budget = dispatch.resized(spill.make(2, 1), model)
    assert budget.features.shape[1] == WIDE
    assert len(budget.features) >= 3
    assert budget.features.dtype == np.float32
    before = np.arange(3.0 * WIDE).reshape(3, WIDE)
    budget.features[:3] = before
    larger = allocate(1, 50, 2, np.float32, center_cache.Nothing)
    budget = dispatch.resized(budget, larger._replace(mapping=Fourier(WIDE)))
    np.testing.assert_array_equal(budget.features[:3], before)
    assert not budget.features[3:].any()
    assert (budget.limit, budget.portion) == (2, 1)


@pytest.mark.parametrize("outputs", [1, 3])
def test_landmarks_are_collected_and_the_next_update_waits(outputs: int) -> None:
    bench = Bench(np.zeros((outputs, 0)), points=np.zeros((0, 2)), rows=6)
    budget = landmarks.make(3, 2)
    down = 2 if outputs == 3 else -1
    for t in range(3):
        bench.arrive(t)
        change = update(t + 0.5, 0, down)
        absorb(budget, bench.model, bench.block, t, change, None)
        bench.fill_later(t)
        assert bench.size == t + 1
        assert bench.model.counters[0].halted == 0
    before = bench.coef
    bench.arrive(3)
    absorb(budget, bench.model, bench.block, 3, update(-0.25, 0, down), None)
    assert bench.model.counters[0].halted == 1
    assert bench.size == 3
    np.testing.assert_array_equal(bench.coef, before)
    np.testing.assert_array_equal(bench.located(), bench.rows[:3])
    pending = budget.counters[0]
    assert (pending.up, pending.down, pending.weight) == (0, down, -0.25)
    assert bench.model.counters[0].maintenance == 0
    assert largest_size(budget) == 3


# ---- the memory of DualSVRG ----------------------------------------------------------

SIZE = 7


def remembered(outputs: int, seed: int, length: int = SIZE) -> svrg.Memory:
    """Make a memory of rows with slopes, some of them cores; its gradient fits."""
    rng = np.random.default_rng(seed)
    memory = svrg.make(limit=5, radius=0.0, lazy=False, size=SIZE)
    model = allocate(outputs, 12, 2, np.float64, center_cache.Nothing)
    memory = dispatch.resized(memory, model._replace(mapping=Fourier(WIDE)))
    count = WIDE + 3
    for array in (memory.checkpoint, memory.total):
        array[:, :count] = rng.normal(size=(outputs, count))
    memory.values[:length, :count] = rng.normal(size=(length, count))
    memory.points[:length] = rng.normal(size=(length, 2))
    entries = memory.entries
    entries.slot[:] = svrg.NO_SLOT
    for i in range(length):
        entry = entries[i]
        up = int(rng.integers(outputs))
        entry.y = up if outputs > 1 else rng.choice([-1.0, 1.0])
        entry.weight = rng.random()
        # Margins' slopes are negative; those of a score have the sign against y.
        entry.slope = -rng.random() * (1.0 if outputs > 1 else entry.y)
        entry.up, entry.down = up, -1
        if outputs > 1:
            entry.down = (up + 1 + int(rng.integers(outputs - 1))) % outputs
        entry.slot = WIDE + i if i < 3 else svrg.NO_SLOT
        entry.known = count
    memory.gradient[:] = summed(memory, length)
    memory.counters[0].length, memory.counters[0].place = length, length % SIZE
    memory.counters[0].steps = 4
    return memory


def summed(memory: svrg.Memory, length: int = SIZE) -> np.ndarray:
    """Sum of the gradients of all rows in memory, from the entries."""
    total = np.zeros_like(memory.gradient)
    for i in range(length):
        entry, expressed = memory.entries[i], np.zeros(total.shape[1])
        if entry.slot == svrg.NO_SLOT:
            expressed[:WIDE] = memory.values[i, :WIDE]
        else:
            expressed[entry.slot] = 1.0
        total[entry.up] += entry.slope * expressed
        if entry.down >= 0:
            total[entry.down] -= entry.slope * expressed
    return total


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("capacity", [12, 13, 40])
def test_a_memory_that_is_resized_keeps_its_contents(
    outputs: int, capacity: int
) -> None:
    memory = remembered(outputs, seed=0)
    model = allocate(outputs, capacity, 2, np.float64, center_cache.Nothing)
    new = dispatch.resized(memory, model._replace(mapping=Fourier(WIDE)))
    for name in ("checkpoint", "total", "gradient", "values"):
        old, got = getattr(memory, name), getattr(new, name)
        assert got.shape == (len(old), capacity)
        np.testing.assert_array_equal(got[:, :12], old)
        assert not got[:, 12:].any()
        assert not np.shares_memory(got, old)
    assert len(new.values) % svrg.TILE == 0 and not new.values[SIZE:].any()
    np.testing.assert_array_equal(new.points, memory.points)
    np.testing.assert_array_equal(new.entries, memory.entries)
    np.testing.assert_array_equal(new.counters, memory.counters)
    assert (new.mark[:WIDE] != 0).all() and (new.mark[WIDE:] == 0).all()
    assert new.scores.shape == (outputs,) and new.some.shape == (outputs, svrg.TILE)


# New x old: where the old classes come to stand.
THIRD = [np.array([0, 1]), np.array([1, 2]), np.array([0, 2])]
FOURTH = [np.array(p) for p in ([0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 1, 3])]


@pytest.mark.parametrize("place", THIRD, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_third_label_shares_the_output_and_doubles_the_gradient(
    place: np.ndarray, seed: int
) -> None:
    low, high = place
    new = 3 - low - high
    matrix = np.zeros((3, 1))
    matrix[place, 0] = -0.5, 0.5
    memory = remembered(1, seed)
    after = dispatch.relabelled(memory, matrix)
    for name in ("checkpoint", "total"):
        old, got = getattr(memory, name), getattr(after, name)
        np.testing.assert_array_equal(got[low], -old[0] / 2)
        np.testing.assert_array_equal(got[high], old[0] / 2)
        np.testing.assert_array_equal(got[new], 0.0)
    # Of f = f_high - f_low: the slope of the one, its negative of the other.
    np.testing.assert_array_equal(after.gradient[high], memory.gradient[0])
    np.testing.assert_array_equal(after.gradient[low], -memory.gradient[0])
    np.testing.assert_array_equal(after.gradient[new], 0.0)
    np.testing.assert_allclose(after.gradient, summed(after), atol=1e-12)
    for old, entry in zip(memory.entries, after.entries, strict=True):
        own, other = (high, low) if old.y > 0 else (low, high)
        assert (entry.y, entry.up, entry.down) == (own, own, other)
        assert entry.slope == old.slope * old.y <= 0
        for name in ("weight", "slot", "known"):
            assert entry[name] == old[name]
    # The old one is as it was.
    np.testing.assert_allclose(memory.gradient, summed(memory), atol=1e-12)
    assert set(memory.entries.y) == {-1.0, 1.0}


@pytest.mark.parametrize("place", FOURTH, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_fourth_label_moves_the_rows_of_the_others(
    place: np.ndarray, seed: int
) -> None:
    matrix = np.zeros((4, 3))
    matrix[place, np.arange(3)] = 1.0
    memory = remembered(3, seed)
    after = dispatch.relabelled(memory, matrix)
    for name in ("checkpoint", "total", "gradient"):
        old, got = getattr(memory, name), getattr(after, name)
        np.testing.assert_array_equal(got[place], old)
        assert not np.delete(got, place, axis=0).any()
    np.testing.assert_allclose(after.gradient, summed(after), atol=1e-12)
    for old, entry in zip(memory.entries, after.entries, strict=True):
        assert entry.y == entry.up == place[old.up]
        assert entry.down == place[old.down]
        assert entry.slope == old.slope
    assert after.scores.shape == (4,) and after.some.shape == (4, svrg.TILE)


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_memory_that_is_not_full_is_relabelled_alike(outputs: int) -> None:
    memory = remembered(outputs, seed=1, length=4)
    place = THIRD[1] if outputs == 1 else FOURTH[2]
    matrix = np.zeros((outputs + 1 if outputs > 1 else 3, outputs))
    if outputs == 1:
        matrix[place, 0] = -0.5, 0.5
    else:
        matrix[place, np.arange(3)] = 1.0
    after = dispatch.relabelled(memory, matrix)
    np.testing.assert_allclose(after.gradient, summed(after, 4), atol=1e-12)
    assert not after.entries.slope[4:].any()


@pytest.mark.parametrize("length", [1, 3, 4, 5, 7])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("reset", [True, False])
def test_a_checkpoint_takes_all_slopes_anew(
    outputs: int, length: int, reset: bool
) -> None:
    memory = remembered(outputs, seed=2, length=length)
    count, period = WIDE + 3, 5
    loss = losses.make("log_loss")
    rate = rates.constant(0.1, 0.01)
    plan = svrg.ReducedPlan(RBF, loss, rate, False, period, reset)
    model = allocate(outputs, 12, 2, np.float64, center_cache.Nothing)
    model = model._replace(mapping=Fourier(WIDE))
    model.counters[0].count = count
    model.points[WIDE:count] = np.random.default_rng(3).normal(size=(3, 2))
    # The last core came after some of the rows.
    for i in range(length):
        memory.entries[i].known = count - i % 2
    total = memory.total.copy()
    faced = facing(model, rows_of(model.points, np.float64))
    svrg._take_checkpoint(plan, memory, faced, np.zeros(outputs))
    np.testing.assert_array_equal(memory.checkpoint, total / period)
    np.testing.assert_array_equal(model.coef, total / period if reset else 0.0)
    assert not memory.total.any()
    assert memory.counters[0].steps == 0
    for i in range(length):
        entry = memory.entries[i]
        values = memory.values[i, :count].copy()
        if i % 2:
            x, core = memory.points[i : i + 1], model.points[count - 1 : count]
            assert values[-1] == pytest.approx(rbf_kernel(x, core, gamma=0.5)[0, 0])
        verdict = judge(loss, memory.checkpoint[:, :count] @ values, entry.y)
        assert entry.slope == pytest.approx(verdict.slope * entry.weight)
        assert (entry.up, entry.down) == (verdict.up, verdict.down)
        assert entry.known == count
    np.testing.assert_allclose(memory.gradient, summed(memory, length), atol=1e-12)


def test_an_empty_memory_says_whom_it_takes() -> None:
    for limit, radius, lazy, size in itertools.product(
        (0, 9), (0.0, 1.5), (False, True), (1, 30)
    ):
        memory = svrg.make(limit, radius, lazy, size)
        assert (memory.limit, memory.radius, memory.lazy) == (limit, radius, lazy)
        assert len(memory.entries) == size
        assert memory.counters[0].length == memory.counters[0].place == 0
        assert largest_size(memory) == limit

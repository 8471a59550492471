"""Budget strategies on models of five centres: who leaves, and what the others get.

The strategies run as plain Python. What should happen is computed from the features,
by brute force where a strategy claims to choose the best.
"""

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from onkel.budget import forget
from onkel.budget.bernoulli import Bernoulli
from onkel.budget.discard import Discard
from onkel.budget.dispatch import absorb
from onkel.budget.grow import Grow
from onkel.budget.project_newest import ProjectNewest
from onkel.budget.redundant import Redundant
from onkel.budget.remove import Remove
from onkel.budget.sample import Uniform, Weighted, waterfill
from onkel.budget.slide import Slide
from tests.unit.hand_made import Bench, Numbers, linear, poly, rbf, update

FIVE = [0.5, -1.0, 2.0, 0.25, -0.75]
THREE_CLASSES = [
    [1.0, -0.5, 0.0, 0.0, 0.3],
    [-1.0, 0.0, 0.7, 0.2, -0.3],
    [0.0, 0.5, -0.7, -0.2, 0.0],
]
ALMOST_ONE = math.nextafter(1.0, 0.0)
FEW = settings(max_examples=200, deadline=None, derandomize=True)


def take_in(bench: Bench, budget: Any, change: Any, *numbers: float, t: int = 0) -> Any:
    """Let row t arrive and the budget absorb it; return the generator."""
    rng = Numbers(*numbers)
    bench.arrive(t)
    absorb(budget, bench.model, bench.block, t, change, rng)
    bench.fill_later(t)
    return rng


def survivors(bench: Bench) -> dict[int, np.ndarray]:
    """Return the true coefficients of each centre by its birth."""
    return dict(zip(bench.births, bench.true_coef.T, strict=True))


# ---- room, and none ------------------------------------------------------------------

HARD = [
    Discard(6),
    Slide(6),
    Uniform(6, 100.0),
    Weighted(6, 100.0),
    ProjectNewest(6),
    Grow(),
    Redundant(6),
    Bernoulli(6, math.inf, 2**62, Remove()),
    forget.make(6, unsigned=False),
]
each_budget = pytest.mark.parametrize("budget", HARD, ids=lambda b: type(b).__name__)


def bench_for(budget: Any, coef: Any, **options: Any) -> Bench:
    return Bench(
        coef,
        gram=isinstance(budget, Redundant),
        scores=isinstance(budget, forget.Forget),
        **options,
    )


@each_budget
def test_with_room_every_budget_just_inserts_and_draws_nothing(budget: Any) -> None:
    for coef, change in (
        (FIVE, update(0.3)),
        (THREE_CLASSES, update(0.3, up=2, down=0)),
    ):
        bench = bench_for(budget, coef)
        before = bench.coef
        take_in(bench, budget, change)
        assert bench.size == 6
        assert bench.model.counters[0].maintenance == 0
        np.testing.assert_array_equal(bench.coef[:, :5], before)
        assert bench.coef[change.up, 5] == 0.3
        assert bench.coef[:, 5].sum() == pytest.approx(0.3 if len(before) == 1 else 0.0)
        np.testing.assert_array_equal(bench.located()[5], bench.rows[0])
        assert bench.births[5] == 6


@each_budget
def test_without_room_one_leaves_and_the_row_that_came_is_counted(budget: Any) -> None:
    if isinstance(budget, Grow):
        return
    full = budget._replace(limit=5)
    if isinstance(budget, forget.Forget):
        full = forget.make(5, unsigned=False)
    for coef, change in (
        (FIVE, update(0.9)),
        (THREE_CLASSES, update(0.9, up=2, down=0)),
    ):
        bench = bench_for(budget, coef)
        take_in(bench, full, change, 0.5)
        assert bench.size == 5
        assert bench.model.counters[0].maintenance == 1
        K = bench.kernel(bench.rows[1:], bench.located())
        np.testing.assert_allclose(bench.block.kernel[1:, :5], K)


# ---- removal -------------------------------------------------------------------------


def maintained(bench: Bench, change: Any) -> set[int]:
    """Births of those that stay."""
    take_in(bench, Bernoulli(5, math.inf, 2**62, Remove()), change, 0.5)
    return set(bench.births)


def test_removal_takes_the_smallest_share_of_the_norm() -> None:
    assert maintained(Bench(FIVE), update(0.3)) == {1, 2, 3, 5, 6}
    bench = Bench(FIVE, kernel=poly)
    share = np.array(FIVE) ** 2 * np.diag(bench.gram())
    assert maintained(bench, update(50.0)) == {1, 2, 3, 4, 5, 6} - {
        1 + int(share.argmin())
    }


def test_removal_of_equals_takes_the_oldest() -> None:
    bench = Bench([1.0, -1.0, 1.0, -1.0, 1.0])
    bench.model.birth[:5] = [4, 2, 5, 1, 3]
    bench.model.counters[0].t = 5
    assert maintained(bench, update(-1.0)) == {2, 3, 4, 5, 6}


def test_removal_spares_the_newcomer_on_ties_only() -> None:
    ones = [1.0] * 5
    assert maintained(Bench(ones), update(1.0)) == {2, 3, 4, 5, 6}
    assert maintained(Bench(ones), update(0.9)) == {1, 2, 3, 4, 5}


def test_removal_with_several_classes_compares_row_norms() -> None:
    bench = Bench(THREE_CLASSES)
    norms = (np.array(THREE_CLASSES) ** 2).sum(axis=0)
    assert maintained(bench, update(1.0, up=0, down=1)) == {1, 2, 3, 4, 5, 6} - {
        1 + int(norms.argmin())
    }


# ---- maintenance by chance -----------------------------------------------------------


def fires(rate: float, number: float, t: int, hard: int = 2**62) -> bool:
    bench = Bench(FIVE)
    bench.model.counters[0].t = t - 1
    rng = take_in(bench, Bernoulli(5, rate, hard, Remove()), update(1.0), number)
    assert rng.left == [], "one number for every insertion that exceeds the budget"
    assert bench.size == (5 if bench.model.counters[0].maintenance else 6)
    return bool(bench.model.counters[0].maintenance)


def test_maintenance_runs_with_probability_rate_over_t() -> None:
    assert fires(30.0, 0.29, t=100)
    assert not fires(30.0, 0.31, t=100)
    assert not fires(0.0, 0.0, t=100), "a rate of 0 never maintains"
    assert fires(math.inf, ALMOST_ONE, t=10**9), "an infinite rate always does"
    # Up to t = rate the probability is 1.
    for t in (3, 7, 30, 49, 97, 10**6 + 3):
        assert fires(float(t), ALMOST_ONE, t=t)


def test_beyond_the_hard_limit_maintenance_is_certain() -> None:
    assert fires(0.0, 0.5, t=100, hard=5)
    assert not fires(0.0, 0.5, t=100, hard=6)


# ---- random discarding ---------------------------------------------------------------


@pytest.mark.parametrize("slot", range(5))
def test_every_centre_is_discarded_by_its_fifth_of_the_numbers(slot: int) -> None:
    for number in (slot / 5 + 1e-12, (slot + 1) / 5 - 1e-12):
        bench = Bench(FIVE)
        take_in(bench, Discard(5), update(-1.0), number)
        assert set(bench.births) == {1, 2, 3, 4, 5, 6} - {slot + 1}
        # The newcomer takes the slot of the one that left.
        assert bench.births[slot] == 6
        assert bench.coef[0, slot] == -1.0
        np.testing.assert_array_equal(bench.located()[slot], bench.rows[0])


def test_the_largest_number_discards_the_last_centre() -> None:
    bench = Bench(FIVE)
    take_in(bench, Discard(5), update(-1.0), ALMOST_ONE)
    assert bench.births == [1, 2, 3, 4, 6]


# ---- a window ------------------------------------------------------------------------


def test_a_window_slides_past_the_oldest_again_and_again() -> None:
    bench = Bench(FIVE, rows=7)
    for t in range(7):
        take_in(bench, Slide(5), update(0.1), t=t)
        assert sorted(bench.births) == list(range(t + 2, t + 7))
    assert bench.model.counters[0].maintenance == 7
    np.testing.assert_array_equal(bench.located(), bench.rows[[5, 6, 2, 3, 4]])


# ---- unbiased sampling ---------------------------------------------------------------


def probabilities(u: np.ndarray) -> np.ndarray:
    """Return the distribution that the strategy claims to draw from."""
    s = waterfill(u, len(u))
    if s == 0.0:
        return (u == 0) / (u == 0).sum()
    return np.maximum(0.0, 1.0 - s * u)


def brute_force(u: np.ndarray) -> np.ndarray:
    """Find s by bisection."""

    def excess(s: float) -> float:
        return float(np.maximum(0.0, 1.0 - s * u).sum()) - 1.0

    high = 2.0 * len(u) / u[u > 0].min()
    with np.errstate(over="ignore"):
        s = scipy.optimize.bisect(
            excess, 0.0, high, xtol=1e-300, rtol=1e-15, maxiter=2000
        )
        return np.maximum(0.0, 1.0 - s * u)


ADVERSARIAL = {
    "plain": [0.5, 1.0, 2.0, 0.25, 0.75],
    "equal": [1.0] * 5,
    "one dominant": [1.0, 1.0, 1e6, 1.0, 1.0],
    "one tiny": [1.0, 1.0, 1e-12, 1.0, 1.0],
    "two tiny": [1.0, 1e-12, 3e-12, 1.0, 1.0],
    "one zero": [1.0, 2.0, 0.0, 3.0, 4.0],
    "one zero of equals": [1.0, 1.0, 0.0, 1.0, 1.0],
    "two zeros": [0.0, 1.0, 0.0, 3.0, 4.0],
    "all zero": [0.0] * 5,
    "ladder": [1e-8, 1e-4, 1.0, 1e4, 1e8],
    "steep ladder": [1e-200, 1e-100, 1.0, 1e100, 1e200],
    "at the edge": [1.0, 1.0, 2.0, 2.0, 2.0],
    "two": [1.0, 3.0],
    "two, one zero": [0.0, 3.0],
    "two zeros only": [0.0, 0.0],
}
adversarial = pytest.mark.parametrize("u", ADVERSARIAL.values(), ids=ADVERSARIAL)


@adversarial
def test_waterfilling_gives_a_distribution(u: list[float]) -> None:
    p = probabilities(np.array(u))
    assert (p >= 0.0).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    # The smaller, the likelier to leave.
    assert (np.diff(p[np.argsort(u)]) <= 1e-15).all()


@adversarial
def test_waterfilling_equals_bisection(u: list[float]) -> None:
    if np.count_nonzero(u) >= len(u) - 1:
        np.testing.assert_allclose(
            probabilities(np.array(u)), brute_force(np.array(u)), atol=1e-12
        )


@FEW
@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=12))
def test_waterfilling_is_right_for_any_magnitudes(u: list[float]) -> None:
    p = probabilities(np.array(u))
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(p, brute_force(np.array(u)), atol=1e-9)


def test_waterfilling_agrees_with_the_paper_where_the_paper_is_a_distribution() -> None:
    u = np.array([1.0, 1.1, 0.9, 1.05, 0.95])
    paper = 1.0 - 4.0 * u / u.sum()
    assert (paper > 0).all()
    np.testing.assert_allclose(probabilities(u), paper, rtol=1e-12)


def outcomes(kind: type, bench: Any, change: Any, cap: float = 1e300) -> Any:
    """Yield the probability of each possible victim, and the model without it.

    Every victim is reached through the number that draws it, so what is checked is
    what the strategy does.
    """
    first = bench()
    u = np.sqrt((first.coef**2).sum(axis=0) * first.model.diag[: first.size])
    size = len(u)
    p = np.full(size, 1 / size) if kind is Uniform else probabilities(u)
    edges = np.concatenate([[0.0], np.cumsum(p)])
    for victim in np.flatnonzero(p > 1e-12):
        outcome = bench()
        middle = (edges[victim] + edges[victim + 1]) / 2
        take_in(outcome, kind(size, cap), change, min(middle, ALMOST_ONE))
        assert outcome.births[victim] == size + 1, "another centre left"
        yield p[victim], outcome


@pytest.mark.parametrize("kind", [Uniform, Weighted])
@pytest.mark.parametrize("kernel", [rbf, poly])
@adversarial
def test_the_expected_model_is_the_model_before_the_draw(
    kind: type, kernel: Any, u: list[float]
) -> None:
    signs = np.array([1.0, -1.0, -1.0, 1.0, -1.0])[: len(u)]

    def bench() -> Bench:
        # The squares of a steep ladder would not all be numbers.
        bounded = np.clip(u, 1e-120, 1e120) * (np.array(u) > 0)
        return Bench(signs * bounded, kernel=kernel)

    before = bench().coef[0]
    mean = np.zeros(len(u))
    newcomer = 0.0
    for p, outcome in outcomes(kind, bench, update(0.7)):
        for birth, (a,) in survivors(outcome).items():
            if birth <= len(u):
                mean[birth - 1] += p * a
            else:
                newcomer += p * a
    np.testing.assert_allclose(mean, before, rtol=1e-9, atol=1e-12 * max(u))
    assert newcomer == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize("kind", [Uniform, Weighted])
def test_the_expected_model_of_several_classes_is_the_model_before(kind: type) -> None:
    def bench() -> Bench:
        made = Bench(THREE_CLASSES)
        made.model.counters[0].factor = 0.25
        return made

    before = bench().true_coef
    mean = np.zeros((3, 5))
    for p, outcome in outcomes(kind, bench, update(0.7, up=0, down=2)):
        for birth, a in survivors(outcome).items():
            if birth <= 5:
                mean[:, birth - 1] += p * a
            else:
                np.testing.assert_allclose(a, [0.175, 0.0, -0.175])
    np.testing.assert_allclose(mean, before, atol=1e-12)


def test_survivors_that_could_have_left_end_with_one_magnitude() -> None:
    def bench() -> Bench:
        return Bench([0.8, -1.0, 9.0, 0.9, -1.1])

    for _, outcome in outcomes(Weighted, bench, update(0.7)):
        rest = {b: abs(a[0]) for b, a in survivors(outcome).items() if b <= 5}
        assert rest.pop(3) == pytest.approx(9.0), "it could not leave, and stays"
        assert max(rest.values()) == pytest.approx(min(rest.values()))


@pytest.mark.parametrize("kind", [Uniform, Weighted])
@pytest.mark.parametrize("factor", [1.0, 0.2])
@pytest.mark.parametrize(
    "coef, change",
    [(FIVE, update(9.0)), (THREE_CLASSES, update(-9.0, up=1, down=2))],
    ids=["binary", "multiclass"],
)
def test_no_coefficient_exceeds_the_cap(
    kind: type, factor: float, coef: Any, change: Any
) -> None:
    cap = 0.6 * factor

    def bench() -> Bench:
        made = Bench(coef)
        made.model.counters[0].factor = factor
        return made

    before = bench().true_coef
    for _, outcome in outcomes(kind, bench, change, cap):
        for birth, a in survivors(outcome).items():
            assert np.linalg.norm(a) <= cap * (1 + 1e-12)
            if birth == 6:
                assert np.linalg.norm(a) == pytest.approx(cap), "the newcomer too"
            else:
                # Directions stay.
                old = before[:, birth - 1]
                cosine = a @ old / np.linalg.norm(a) / np.linalg.norm(old)
                assert cosine == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [Uniform, Weighted])
def test_a_newcomer_is_clipped_also_while_there_is_room(kind: type) -> None:
    bench = Bench(FIVE)
    take_in(bench, kind(8, 0.6), update(-9.0))
    assert bench.coef[0, 5] == pytest.approx(-0.6)
    bench = Bench(THREE_CLASSES)
    take_in(bench, kind(8, 0.6), update(9.0, up=0, down=1))
    assert np.linalg.norm(bench.coef[:, 5]) == pytest.approx(0.6)
    assert bench.coef[:, 5].sum() == pytest.approx(0.0)


def test_two_centres_of_no_weight_share_the_chance_to_leave() -> None:
    for number, victim in ((0.2, 0), (0.7, 2)):
        bench = Bench([0.0, 1.0, 0.0, 3.0, -4.0])
        take_in(bench, Weighted(5, 100.0), update(0.7), number)
        assert bench.births[victim] == 6
        others = [0.0, 1.0, 0.0, 3.0, -4.0]
        others[victim] = 0.7
        np.testing.assert_array_equal(bench.coef[0], others)


@pytest.mark.parametrize("size", [5, 70, 200])
def test_a_centre_that_cannot_leave_never_does(size: int) -> None:
    # Rounding can leave a gap between the sum of the probabilities and 1.
    rng = np.random.default_rng(0)
    for _ in range(30):
        coef = rng.uniform(0.5, 1.5, size=size)
        coef[0] = 1e3
        assert probabilities(coef)[0] == 0.0
        bench = Bench(coef, rows=1, capacity=size)
        take_in(bench, Weighted(size, 1e9), update(0.7), ALMOST_ONE)
        assert bench.births[0] == 1


# ---- the Forgetron -------------------------------------------------------------------


def damage(phi: Any, sig: float, mu: float) -> Any:
    return (sig * phi) ** 2 + 2 * sig * phi * (1 - phi * mu)


@FEW
@given(
    st.floats(1e-3, 1.0), st.floats(-5.0, 5.0), st.floats(0.0, 1.0), st.integers(1, 60)
)
def test_the_shrinkage_is_the_largest_that_is_allowed(
    sig: float, mu: float, used: float, mistakes: int
) -> None:
    # Q has stayed within what the mistakes before this one allowed.
    Q = used * 15 / 32 * (mistakes - 1)
    phi = forget.shrinkage(sig, mu, Q, mistakes)
    assert 0.0 < phi <= 1.0
    allowed = 15 / 32 * mistakes
    assert Q + damage(phi, sig, mu) <= allowed + 1e-9
    grid = np.linspace(0.0, 1.0, 20_001)[1:]
    fit = grid[Q + damage(grid, sig, mu) <= allowed]
    largest = fit.max() if len(fit) else 0.0
    assert phi >= largest - 1e-9
    assert phi <= largest + 1e-4


@pytest.mark.parametrize("mu", [-1e300, -1e18, -1.0, 0.4, 1e18, 1e300])
@pytest.mark.parametrize("Q", [-1e300, -1e18, 0.0, 5.0, 1e18])
def test_a_shrinkage_is_a_factor_whatever_rounding_made_of_the_damage(
    mu: float, Q: float
) -> None:
    # Kernel values of large features leave nothing right in the sum of the damages.
    for sig in (1e-100, 1e-3, 1.0):
        assert 0.0 < forget.shrinkage(sig, mu, Q, 7) <= 1.0


def test_a_shrinkage_that_is_not_needed_is_one() -> None:
    assert forget.shrinkage(0.1, 1.0, 0.0, 50) == 1.0


@pytest.mark.parametrize("unsigned", [False, True])
def test_the_forgetron_forgets_the_oldest_and_accounts_for_it(unsigned: bool) -> None:
    rng = np.random.default_rng(3)
    budget = forget.make(5, unsigned)
    bench = Bench(np.zeros((1, 0)), rows=40, scores=True, capacity=5)
    ledger = budget.counters[0]
    seen = []
    for t in range(40):
        if len(seen) >= 5:
            a = survivors(bench)
            oldest = min(a)
            x = bench.rows[seen[-5]]
            assert bench.births.index(oldest) == (t - 5) % 5
        Q = float(ledger.damage)
        weight = float(rng.choice([-1.0, 1.0]))
        before = bench.true_coef.copy()
        centers = bench.located() if bench.size else np.zeros((0, 2))
        factor = bench.model.counters[0].factor
        take_in(bench, budget, update(weight / factor), t=t)
        assert ledger.mistakes == t + 1
        assert ledger.damage <= 15 / 32 * (t + 1) + 1e-12
        if len(seen) >= 5:
            sig = abs(float(a[oldest][0]))
            with_newcomer = before[0] @ rbf(centers, x[None])[:, 0]
            with_newcomer += weight * rbf(bench.rows[t : t + 1], x[None])[0, 0]
            sign = np.sign(a[oldest][0])
            mu = abs(with_newcomer) if unsigned else sign * with_newcomer
            phi = float(bench.model.counters[0].factor / factor)
            assert phi == pytest.approx(forget.shrinkage(sig, mu, Q, t + 1))
            assert ledger.damage - Q == pytest.approx(damage(phi, sig, mu))
            assert oldest not in survivors(bench)
            # Younger centres shrank less often.
            ages = sorted(survivors(bench).items())
            assert (np.diff([abs(v[0]) for _, v in ages]) >= -1e-12).all()
        seen.append(t)
        K = rbf(bench.rows[t + 1 :], bench.located())
        np.testing.assert_allclose(bench.block.kernel[t + 1 :, : bench.size], K)


def test_the_forgetron_reads_the_true_class_of_the_centre_that_leaves() -> None:
    coef = np.array(THREE_CLASSES)
    budget = forget.make(5, unsigned=False)
    budget.counters[0].mistakes = 5
    bench = Bench(coef, scores=True, capacity=5)
    assert bench.model.label[0] == 0
    take_in(bench, budget, update(1.0, up=2, down=0))
    after = np.column_stack([coef, [-1.0, 0.0, 1.0]])
    points = np.vstack([bench.points, bench.rows[:1]])
    mu = after[0] @ rbf(points, bench.points[:1])[:, 0]
    phi = forget.shrinkage(1.0, mu, 0.0, 6)
    assert bench.model.counters[0].factor == pytest.approx(phi)
    assert budget.counters[0].damage == pytest.approx(damage(phi, 1.0, mu))


# ---- the Budget Perceptron -----------------------------------------------------------


def most_redundant(bench: Bench, change: Any) -> int:
    """Return who is most correct without itself, the newcomer included; by birth."""
    outputs = bench.model.coef.shape[0]
    newcomer = np.zeros((outputs, 1))
    newcomer[change.up] = change.weight
    if change.down >= 0:
        newcomer[change.down] = -change.weight
    coef = np.hstack([bench.coef, newcomer])
    points = np.vstack([bench.points, bench.rows[:1]])
    margins = []
    for j in range(len(points)):
        others = np.arange(len(points)) != j
        f = coef[:, others] @ bench.kernel(points[others], points[j : j + 1])[:, 0]
        if outputs == 1:
            margins.append(np.sign(coef[0, j]) * f[0])
        else:
            own = int(coef[:, j].argmax())
            margins.append(f[own] - np.delete(f, own).max())
    return 1 + int(np.argmax(margins))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kernel", [rbf, poly])
def test_the_most_redundant_centre_leaves(seed: int, kernel: Any) -> None:
    rng = np.random.default_rng(seed)
    binary = rng.choice([-1.0, 1.0], size=5)
    classes = np.zeros((3, 5))
    for j in range(5):
        up, down = rng.permutation(3)[:2]
        classes[up, j], classes[down, j] = 1.0, -1.0
    for coef, change in (
        (binary, update(float(rng.choice([-1.0, 1.0])))),
        (classes, update(1.0, up=1, down=2)),
    ):
        bench = Bench(coef, gram=True, kernel=kernel, seed=seed)
        leaves = most_redundant(bench, change)
        take_in(bench, Redundant(5), change)
        assert set(bench.births) == {1, 2, 3, 4, 5, 6} - {leaves}
        np.testing.assert_allclose(
            bench.model.cache.scores[:, :5], bench.coef @ bench.gram(), atol=1e-12
        )


def test_the_newcomer_competes_for_redundancy() -> None:
    # Five centres of one sign surround the newcomer, which they hold up best.
    angles = np.arange(5) * 2 * np.pi / 5
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    bench = Bench([1.0] * 5, gram=True, points=points, block=np.zeros((1, 2)))
    take_in(bench, Redundant(5), update(1.0))
    assert set(bench.births) == {1, 2, 3, 4, 5}


def test_equally_redundant_centres_leave_oldest_first() -> None:
    points = np.zeros((5, 2))
    bench = Bench([1.0] * 5, gram=True, points=points, block=np.zeros((1, 2)))
    bench.model.birth[:5] = [3, 5, 1, 2, 4]
    bench.model.counters[0].t = 5
    take_in(bench, Redundant(5), update(1.0))
    assert set(bench.births) == {2, 3, 4, 5, 6}


# ---- BPA-S ---------------------------------------------------------------------------


def substituted(
    bench: Bench, r: int, tau: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return points, coefficients and cost if centre r makes room for row 0."""
    x = bench.rows[:1]
    points = np.vstack([bench.points, x])
    coef = np.hstack([bench.coef, tau[:, None]])
    K = bench.kernel(points, points)
    share = K[r, 5] / K[5, 5]
    coef[:, 5] += coef[:, r] * share
    coef[:, r] = 0.0
    change = coef - np.hstack([bench.coef, np.zeros((len(tau), 1))])
    return points, coef, float(np.einsum("oi,ij,oj", change, K, change)) / 2


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kernel", [rbf, poly])
def test_the_newcomer_stands_in_for_the_cheapest_victim(seed: int, kernel: Any) -> None:
    rng = np.random.default_rng(seed)
    for coef, change in (
        (rng.normal(size=5), update(0.4)),
        (rng.normal(size=(3, 5)), update(0.4, up=2, down=1)),
    ):
        bench = Bench(coef, kernel=kernel, seed=seed)
        before = bench.f(bench.rows[0])
        tau = np.zeros(len(before))
        tau[change.up] = 0.4
        if change.down >= 0:
            tau[change.down] = -0.4
        costs = [substituted(bench, r, tau)[2] for r in range(5)]
        victim = int(np.argmin(costs))
        _, wanted, _ = substituted(bench, victim, tau)
        take_in(bench, ProjectNewest(5), change)
        assert bench.births[victim] == 6
        kept = np.arange(5) != victim
        np.testing.assert_array_equal(bench.coef[:, kept], wanted[:, :5][:, kept])
        np.testing.assert_allclose(bench.coef[:, victim], wanted[:, 5])
        # f'(x_t) = f(x_t) + tau y k_tt, whoever leaves.
        kxx = bench.block.diag[0]
        np.testing.assert_allclose(bench.f(bench.rows[0]), before + tau * kxx)


@pytest.mark.parametrize("seed", range(6))
def test_the_weight_of_the_substitute_minimises_the_objective(seed: int) -> None:
    # min over the newcomer's coefficient of |w' - w|^2 / 2 + C hinge, victim given
    bench = Bench(np.random.default_rng(seed).normal(size=5), seed=seed)
    C, y = 0.8, 1.0
    f = float(bench.f(bench.rows[0])[0])
    tau = min(C, max(0.0, 1.0 - y * f))
    for r in range(5):
        points, coef, _ = substituted(bench, r, np.array([tau * y]))
        K = rbf(points, points)
        old = np.append(bench.coef[0], 0.0)

        def objective(b: float, coef: Any = coef, K: Any = K, old: Any = old) -> float:
            new = coef[0].copy()
            new[5] = b
            return (new - old) @ K @ (new - old) / 2 + C * max(
                0.0, 1 - y * (new @ K[5])
            )

        best = scipy.optimize.minimize_scalar(
            objective, bounds=(-20.0, 20.0), method="bounded", options={"xatol": 1e-10}
        )
        assert objective(coef[0, 5]) <= best.fun + 1e-9
        assert coef[0, 5] == pytest.approx(best.x, abs=1e-4)


def test_victims_of_equal_cost_leave_oldest_first() -> None:
    points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 0.0]])
    bench = Bench([1.0, -1.0, 1.0, -1.0, 1.0], points=points, block=np.zeros((1, 2)))
    bench.model.birth[:5] = [4, 2, 5, 1, 3]
    bench.model.counters[0].t = 5
    take_in(bench, ProjectNewest(5), update(0.5))
    assert set(bench.births) == {2, 3, 4, 5, 6}


def test_a_newcomer_without_a_direction_replaces_the_smallest() -> None:
    bench = Bench(FIVE, kernel=linear, block=np.zeros((2, 2)))
    share = np.array(FIVE) ** 2 * np.diag(bench.gram())
    victim = int(share.argmin())
    take_in(bench, ProjectNewest(5), update(0.5))
    assert bench.births[victim] == 6
    assert bench.coef[0, victim] == 0.5

"""Mixture: its steps beside those of a slow oracle, and what they may lose.

The oracle is the formulas of the docstring, with numpy's solver and whole matrices.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from onkel.engine import mixture
from onkel.engine.mixture import HEAVIEST, KEPT, LEAST, LIMIT, WIDTH, Mixture, mix
from onkel.problem import losses

SQUARED, LOGISTIC = losses.make("squared_error"), losses.make("log_loss")
NOTHING = np.zeros(0)


class Stream(NamedTuple):
    """Scores of some models, and what was right."""

    scores: np.ndarray  # shape (rows, models, outputs)
    y: np.ndarray
    weight: np.ndarray
    is_regression: bool

    def part(self, start: int, stop: int) -> "Stream":
        scores, y, weight = (each[start:stop] for each in self[:3])
        return Stream(scores, y, weight, self.is_regression)


def stream(kind: str, rows: int = 300, seed: int = 0) -> Stream:
    """Scores beyond the clip now and then, rows without weight, and heavy ones."""
    rng = np.random.default_rng(seed)
    outputs = 3 if kind == "several" else 1
    scores = 2.0 * rng.normal(size=(rows, 4, outputs))
    scores[::17] *= 1e6
    if kind == "values":
        # Targets that grow, so that ever larger scores are believed.
        y = (scores[:, 1, 0] + rng.normal(size=rows)).clip(-9.0, 9.0)
        y *= np.linspace(0.1, 3.0, rows)
    elif kind == "two":
        y = np.where(scores[:, 1, 0] + rng.normal(size=rows) > 0.0, 1.0, -1.0)
    else:
        y = (scores[:, 1] + rng.normal(size=(rows, 3))).argmax(axis=1).astype(float)
    weight = rng.choice([0.0, 0.3, 1.0, 7.0], size=rows)
    return Stream(scores, y, weight, kind == "values")


def slopes_and_curvatures(
    f: np.ndarray, y: float, is_regression: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return p and H of a row."""
    if is_regression:
        return f - y, np.eye(1)
    if len(f) == 1:
        p = -y / (1.0 + np.exp(y * f))
        doubt = np.abs(p)
        return p, np.diag(np.maximum(doubt * (1.0 - doubt), LEAST))
    share = np.exp(f - f.max())
    share /= share.sum()
    return share - np.eye(len(f))[int(y)], np.diag(share) - np.outer(share, share)


def oracle(data: Stream, w: np.ndarray) -> tuple[np.ndarray, Mixture]:
    """Answers of all rows, and what is left after them."""
    models = len(w)
    A, largest, answers = np.eye(models) / WIDTH, LIMIT, []
    for s, y, weight in zip(*data[:3], strict=True):
        S = s.clip(-largest, largest)
        f = w @ S
        answers.append(f)
        if weight == 0.0:
            continue
        if data.is_regression:
            largest = max(largest, abs(y))
        p, H = slopes_and_curvatures(f, y, data.is_regression)
        A = KEPT * A + (1.0 - KEPT) * np.eye(models) / WIDTH + weight * S @ H @ S.T
        w = w - np.linalg.solve(A, weight * S @ p)
    return np.array(answers), Mixture(w, A, np.array([largest]))


def mixed(data: Stream, models: Mixture, learns: bool = True) -> np.ndarray:
    out = np.empty((len(data.y), data.scores.shape[2]))
    y, weight = (data.y, data.weight) if learns else (NOTHING, NOTHING)
    loss = SQUARED if data.is_regression else LOGISTIC
    mix(loss, data.is_regression, data.scores, y, weight, models, out)
    return out


def same(found: Mixture, expected: Mixture) -> None:
    for part, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-7, atol=1e-9)


kinds = pytest.mark.parametrize("kind", ["two", "several", "values"])


@kinds
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_the_formulas(kind: str, seed: int) -> None:
    data, first = stream(kind, seed=seed), np.array([1.0, 0.0, -0.5, 2.0])
    models = mixture.begin(first)
    answers, expected = oracle(data, first)
    np.testing.assert_allclose(mixed(data, models), answers, rtol=1e-7, atol=1e-8)
    same(models, expected)
    assert (data.weight == 0.0).any()
    assert (np.abs(data.scores) > models.largest[0]).any()  # which were clipped
    assert (models.largest[0] > LIMIT) == (kind == "values")


@kinds
def test_rows_may_come_in_any_pieces(kind: str) -> None:
    data = stream(kind)
    whole, pieces = (mixture.begin(np.ones(4)) for _ in "ab")
    expected = mixed(data, whole)
    cuts = [0, 1, 2, 9, 130, 131, 300]
    found = [mixed(data.part(*ends), pieces) for ends in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    for part, other in zip(pieces, whole, strict=True):
        np.testing.assert_array_equal(part, other)


@kinds
def test_without_targets_it_answers_and_learns_nothing(kind: str) -> None:
    data = stream(kind)
    models = mixture.begin(np.ones(4))
    mixed(data, models)
    before = models.copy()
    answers = mixed(data, models, learns=False)
    for part, other in zip(models, before, strict=True):
        np.testing.assert_array_equal(part, other)
    S = data.scores.clip(-models.largest[0], models.largest[0])
    np.testing.assert_allclose(answers, np.einsum("teo,e->to", S, models.weights))


def test_a_copy_learns_by_itself() -> None:
    models = mixture.begin(np.ones(4))
    twin = models.copy()
    mixed(stream("values"), models)
    same(twin, mixture.begin(np.ones(4)))


@kinds
@pytest.mark.parametrize("who", [0, 2])
def test_who_alone_is_always_right_takes_the_weight(kind: str, who: int) -> None:
    rng, rows = np.random.default_rng(0), 3000
    outputs = 3 if kind == "several" else 1
    scores = rng.normal(size=(rows, 4, outputs))
    right = scores[:, who]
    y = {
        "two": np.where(right[:, 0] > 0.0, 1.0, -1.0),
        "several": right.argmax(axis=1).astype(float),
        "values": right[:, 0],
    }[kind]
    models = mixture.begin(np.full(4, 0.25))
    mixed(Stream(scores, y, np.ones(rows), kind == "values"), models)
    weights, others = models.weights, np.delete(models.weights, who)
    assert weights[who] > 20.0 * np.abs(others).max()
    if kind == "values":
        assert weights[who] == pytest.approx(1.0, abs=3e-3)


# ---- what it may lose ----------------------------------------------------------------


def random_values(rng: np.random.Generator, f: float, s: np.ndarray) -> float:
    return float(rng.normal())


def best_of_two(rng: np.random.Generator, f: float, s: np.ndarray) -> float:
    return float(np.clip(0.7 * s[0] - 0.4 * s[2] + 0.1 * rng.normal(), -LIMIT, LIMIT))


def adversary(rng: np.random.Generator, f: float, s: np.ndarray) -> float:
    """As far away as targets go, on the other side."""
    return -LIMIT if f > 0.0 else LIMIT


def a_turn(rng: np.random.Generator, f: float, s: np.ndarray) -> float:
    """One model is right, and then its contrary."""
    right = s[1] if rng.integers(2**32) % 2**10 < 2**9 else -s[1]
    return float(right)


@pytest.mark.parametrize(
    "target", [random_values, best_of_two, adversary, a_turn], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_it_loses_no_more_than_it_says(target: Any, scale: float) -> None:
    rng, rows, models = np.random.default_rng(0), 1500, 3
    scores = (scale * rng.normal(size=(rows, models, 1))).clip(-LIMIT, LIMIT)
    learner = mixture.begin(np.ones(models) / models)
    first, one, out = learner.weights.copy(), np.ones(1), np.empty((1, 1))
    y, answers, paid = np.empty(rows), np.empty(rows), 0.0
    for t in range(rows):
        s = scores[t, :, 0]
        answers[t] = learner.weights @ s
        y[t] = target(rng, answers[t], s)
        mix(SQUARED, True, scores[t : t + 1], y[t : t + 1], one, learner, out)
        g = (answers[t] - y[t]) * s
        paid += g @ np.linalg.solve(learner.precision, g)
    S = scores[:, :, 0]
    best = np.linalg.lstsq(S, y, rcond=None)[0]
    for u in (best, first, np.zeros(models), *np.eye(models)):
        more = 0.5 * ((answers - y) ** 2).sum() - 0.5 * ((S @ u - y) ** 2).sum()
        most = ((u - first) ** 2).sum() / (2.0 * WIDTH) + 0.5 * paid
        assert more <= most + 1e-9
    # And what is paid is little: c is the largest of p'p, as curvatures are 1.
    c = ((answers - y) ** 2).max()
    volume = np.linalg.slogdet(WIDTH * learner.precision)[1]
    assert paid <= c * (volume - models * rows * math.log(KEPT)) + 1e-9


# ---- where numbers are odd -----------------------------------------------------------


@pytest.mark.parametrize("size", [1e6, 1e9, 1e13])
def test_targets_that_become_far_larger_leave_the_weights_finite(size: float) -> None:
    rng, rows = np.random.default_rng(0), 600
    y = rng.normal(size=rows) * np.where(np.arange(rows) < 300, 1.0, size)
    # Models that hardly differ: rounding leaves nothing of what does.
    scores = y[:, None, None] * (1.0 + 1e-3 * rng.normal(size=(rows, 4, 1)))
    models = mixture.begin(np.full(4, 0.25))
    answers = mixed(Stream(scores, y, np.ones(rows), True), models)
    assert np.isfinite(models.weights).all()
    wrong = np.abs(answers[400:, 0] - y[400:])
    assert wrong.mean() < 0.1 * np.abs(y[400:]).mean()


@pytest.mark.parametrize("kind", ["two", "several"])
@pytest.mark.parametrize("size", [1e12, 1e18, 1e100])
def test_rows_that_weigh_far_more_leave_the_weights_finite(
    kind: str, size: float
) -> None:
    data = stream(kind)
    weight = np.where(np.arange(len(data.y)) % 50 == 0, size, 1.0)
    models = mixture.begin(np.ones(4))
    assert np.isfinite(mixed(data._replace(weight=weight), models)).all()
    assert np.isfinite(models.weights).all()


@kinds
def test_of_heavy_rows_all_weigh_the_same(kind: str) -> None:
    data, weights = stream(kind), np.array([1.0, 0.5, 0.0, 0.0])
    found = []
    for weight in (HEAVIEST, 1e6, 1e20):
        models = mixture.begin(weights)
        mixed(data._replace(weight=np.full_like(data.weight, weight)), models)
        found.append(models.weights)
    np.testing.assert_array_equal(found[1:], [found[0]] * 2)
    assert np.isfinite(found[0]).all()

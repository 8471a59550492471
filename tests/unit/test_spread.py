"""The spread: what is held back of it, and done in squares of four, is the same."""

import numpy as np
import pytest

from onkel.model import spread
from onkel.model.spread import FOUR, TOGETHER, Spread

CAPACITY = 32


def learnt(V: np.ndarray, keep: float, shrink: float, g: np.ndarray) -> np.ndarray:
    return keep * V + (1.0 - keep) * np.eye(len(V)) - shrink * np.outer(g, g)


def answers(known: Spread, rows: np.ndarray) -> np.ndarray:
    """V z of each row, shape (rows, size)."""
    count, size = rows.shape
    given, out = np.full((2, count, CAPACITY), np.nan)
    given[:, :size] = rows
    spread.answer(known, size, given, out)
    return out[:, :size]


@pytest.mark.parametrize("seed", range(4))
def test_a_spread_that_is_held_back_is_the_one_that_is_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known, V = Spread.empty(CAPACITY), np.zeros((0, 0))
    for _ in range(200):
        size = len(V)
        if size < 3 or (size < 14 and rng.random() < 0.3):
            spread.widen(known, size)
            V = np.pad(V, (0, 1))
            V[-1, -1] = 1.0
        elif rng.random() < 0.3 and not known.held[0].turned:
            mirror = rng.normal(size=CAPACITY)
            w = mirror[:size]
            scale = 2.0 / (w @ w)
            H = np.eye(size) - scale * np.outer(w, w)
            spread.reflect(known, size, mirror, scale)
            V = (H @ V @ H)[:-1, :-1]
            # A reflection is the last that is held back.
            np.testing.assert_allclose(answers(known, V[:0]), np.zeros((0, size - 1)))
        size = len(V)
        if known.held[0].rows < TOGETHER:
            g = np.zeros(CAPACITY)
            g[:size] = 0.5 * V @ rng.normal(size=size)
            keep, shrink = rng.choice([1.0, 0.9]), 0.05
            spread.hold(known, size, keep, shrink, g)
            V = learnt(V, keep, shrink, g[:size])
        if rng.random() < 0.4 or known.held[0].rows == TOGETHER:
            rows = rng.normal(size=(rng.integers(0, 5), size))
            np.testing.assert_allclose(answers(known, rows), rows @ V, atol=1e-9)
            np.testing.assert_allclose(known.matrix(size), V, atol=1e-9)
            held = known.held[0]
            assert (held.rows, held.turned, held.keep) == (0, 0, 1.0)


def test_it_is_turned_and_given_more_room() -> None:
    rng, size = np.random.default_rng(0), 2 * FOUR + 3
    V = rng.normal(size=(size, size))
    V = V @ V.T
    known = Spread.empty(CAPACITY)
    known.values[:size, :size] = np.tril(V)
    T = np.linalg.qr(rng.normal(size=(size, size)))[0]
    spread.follow(known, T)
    np.testing.assert_allclose(known.matrix(size), T @ V @ T.T)
    larger = known.resized(size, 2 * CAPACITY)
    np.testing.assert_array_equal(larger.matrix(size), known.matrix(size))
    rows = rng.normal(size=(2, 2 * CAPACITY))
    out = np.zeros_like(rows)
    spread.answer(larger, size, rows, out)
    np.testing.assert_allclose(out[:, :size], rows[:, :size] @ T @ V @ T.T)


@pytest.mark.parametrize("value", [0.0, -1.0, 2.0, np.nan])
def test_a_variance_that_cannot_be_is_refused(value: float) -> None:
    known = Spread.empty(CAPACITY)
    known.values[:5, :5] = np.eye(5)
    known.refuse_nonsense(5)
    known.values[3, 3] = value
    known.refuse_nonsense(3)
    with pytest.raises(ValueError, match=r"Spread\.values"):
        known.refuse_nonsense(5)

"""Losses on tensors are those that compiled code computes row by row."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from onkel.engine.objective import differentiate
from onkel.problem import losses
from onkel.problem.losses import Kind, Loss
from tests.devices import OF_TENSORS, tensors_lie_on

RESIDUAL = (*losses.RESIDUAL, "smooth_tube")
NAMES = tuple(kind.name.lower() for kind in Kind)
TASKS = [
    pytest.param(name, outputs, id=f"{name}-{outputs}")
    for name in NAMES
    for outputs in ((1,) if name in RESIDUAL else (1, 3))
]
each = pytest.mark.parametrize(("name", "outputs"), TASKS)
devices = pytest.mark.parametrize("where", OF_TENSORS)
ROWS = 4000
# Where some loss has a kink or a bend, as a score for either label, and beyond.
MARKS = (0.0, 0.1, 0.25, 0.5, 0.6, 0.75, 1.0, 1.5, 40.0, 700.0, 800.0, 1e4)


class Found(NamedTuple):
    """Losses of all rows, slopes and curvatures."""

    lost: float
    slopes: np.ndarray
    curvatures: np.ndarray


class Rows(NamedTuple):
    """Scores, targets and weights."""

    scores: np.ndarray
    y: np.ndarray
    C: np.ndarray


def rows(name: str, outputs: int, seed: int = 0) -> Rows:
    """Random scores, and some of every row at a mark; a third weigh nothing."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2.0, size=(ROWS, outputs))
    at_a_mark = rng.random((ROWS, outputs)) < 0.5
    signs = rng.choice((-1.0, 1.0), (ROWS, outputs))
    scores = np.where(at_a_mark, signs * rng.choice(MARKS, (ROWS, outputs)), scores)
    if name in RESIDUAL:
        # Halves are exact, and so are residuals that are meant to be a mark.
        y = rng.integers(-2, 3, ROWS) / 2.0
        scores += y[:, np.newaxis]
    elif outputs == 1:
        y = rng.choice((-1.0, 1.0), ROWS)
    else:
        y = rng.integers(outputs, size=ROWS).astype(np.float64)
    return Rows(scores, y, rng.integers(0, 3, ROWS) * rng.random(ROWS))


def by_rows(loss: Loss, given: Rows) -> Found:
    slopes, curvatures = np.empty_like(given.scores), np.empty(len(given.y))
    lost = differentiate(loss, given.scores, given.y, given.C, slopes, curvatures)
    return Found(lost, slopes, curvatures)


def on_tensors(loss: Loss, given: Rows, where: str) -> Found:
    tensors_lie_on(where)
    import torch

    from onkel.refit import torch_losses

    found: Any = torch_losses.differentiate(
        loss, *(torch.tensor(array, device=where) for array in given)
    )
    assert {each.dtype for each in found} == {torch.float64}
    lost, slopes, curvatures = (each.cpu().numpy() for each in found)
    return Found(float(lost), slopes, curvatures)


def are_alike(loss: Loss, given: Rows, where: str) -> None:
    wanted, found = by_rows(loss, given), on_tensors(loss, given, where)
    assert found.lost == pytest.approx(wanted.lost, rel=1e-12)
    assert found.slopes.shape == wanted.slopes.shape
    assert found.curvatures.shape == wanted.curvatures.shape
    # Numbers that are next to nothing count, too: without a curvature a row gets
    # another in its place.
    close = {"rtol": 1e-9, "atol": 1e-300}
    if loss.kind == Kind.LOG_LOSS and given.scores.shape[1] > 1:
        close["atol"] = 1e-15  # shares are differences from 1 there, on both sides
    np.testing.assert_allclose(found.slopes, wanted.slopes, **close)
    np.testing.assert_allclose(found.curvatures, wanted.curvatures, **close)


@each
@devices
def test_losses_and_derivatives_are_those_of_compiled_code(
    name: str, outputs: int, where: str
) -> None:
    are_alike(losses.make(name), rows(name, outputs), where)


@each
@devices
def test_another_width_and_another_margin_are_read(
    name: str, outputs: int, where: str
) -> None:
    made = losses.make(name, epsilon=0.25, smoothing=1.0, margin=0.5)
    are_alike(made, rows(name, outputs, 1), where)


@each
@devices
@pytest.mark.parametrize("far", [-1e4, 1e4])
def test_scores_far_away_overflow_nowhere(
    name: str, outputs: int, where: str, far: float
) -> None:
    given = rows(name, outputs)
    given = given._replace(scores=np.full_like(given.scores, far))
    made = losses.make(name)
    are_alike(made, given, where)
    assert all(np.isfinite(part).all() for part in on_tensors(made, given, where))


@each
@devices
def test_no_rows_have_no_losses(name: str, outputs: int, where: str) -> None:
    given = Rows(np.zeros((0, outputs)), np.zeros(0), np.zeros(0))
    found = on_tensors(losses.make(name), given, where)
    assert found.lost == 0.0
    assert found.slopes.shape == (0, outputs)
    assert found.curvatures.shape == (0,)

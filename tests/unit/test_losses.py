"""Losses: slopes against finite differences, large margins, and the constants."""

import math
import sys

import numpy as np
import pytest

from onkel.problem import losses

EPSILON, SMOOTHING = 0.3, 0.4
LOSSES = {
    name: losses.make(name, epsilon=EPSILON, smoothing=SMOOTHING)
    for name in (*losses.MARGIN, "perceptron", *losses.RESIDUAL)
}
each = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
SCORES = np.linspace(-3.0, 3.0, 121) + 1e-3  # clear of every kink
TARGETS = {True: (-1.0, 1.0), False: (-1.7, 0.0, 0.4)}


def is_margin(loss: losses.Loss) -> bool:
    return loss.kind <= losses.Kind.PERCEPTRON


def targets(loss: losses.Loss) -> tuple[float, ...]:
    return TARGETS[is_margin(loss)]


@each
def test_the_slope_is_the_derivative(loss: losses.Loss) -> None:
    h = 1e-5
    for y in targets(loss):
        for f in SCORES:
            up, down = losses.value(loss, f + h, y), losses.value(loss, f - h, y)
            slope = losses.slope(loss, f, y)
            assert slope == pytest.approx((up - down) / (2 * h), abs=1e-6)


@each
def test_the_slope_at_a_kink_lies_between_the_sides(loss: losses.Loss) -> None:
    h = 1e-7
    for y in targets(loss):
        kinks = [0.0, y, y + EPSILON, y - EPSILON]
        for f in [*kinks, (1 - SMOOTHING) / y if y else 0.0]:
            at = losses.value(loss, f, y)
            left = (at - losses.value(loss, f - h, y)) / h
            right = (losses.value(loss, f + h, y) - at) / h
            assert left - 1e-5 <= losses.slope(loss, f, y) <= right + 1e-5


def test_which_side_a_kink_takes() -> None:
    for y in (-1.0, 1.0):
        # The hinge is content at a margin of 1, the perceptron is not at 0.
        for name in ("hinge", "smooth_hinge", "squared_hinge"):
            assert losses.slope(LOSSES[name], y, y) == 0.0
        assert losses.slope(LOSSES["perceptron"], 0.0, y) == -y
        margin = losses.make("perceptron", margin=0.25)
        assert losses.slope(margin, 0.25 * y, y) == -y
        assert losses.slope(margin, 0.26 * y, y) == 0.0
    assert losses.slope(LOSSES["absolute_error"], 2.0, 2.0) == 0.0
    assert losses.slope(losses.make("epsilon_insensitive", epsilon=0.5), 2.5, 2.0) == 0
    assert losses.slope(losses.make("epsilon_insensitive", epsilon=0.0), 2.0, 2.0) == 0


@each
def test_huge_scores_overflow_nothing(loss: losses.Loss) -> None:
    for y in targets(loss):
        for f in (-1e6, -800.0, -710.0, 710.0, 800.0, 1e6):
            value, slope = losses.value(loss, f, y), losses.slope(loss, f, y)
            assert math.isfinite(value)
            assert math.isfinite(slope)
            assert value >= 0.0
            if is_margin(loss) and y * f > 0:
                assert value == pytest.approx(0.0, abs=1e-300)
                assert slope == pytest.approx(0.0, abs=1e-300)


def test_the_log_loss_is_accurate_where_it_is_small() -> None:
    loss = LOSSES["log_loss"]
    for m in (-40.0, -1.0, 0.0, 1.0, 30.0, 600.0):
        assert losses.value(loss, m, 1.0) == pytest.approx(
            float(np.logaddexp(0.0, -m)), rel=1e-14
        )
        exact = (
            1.0 / (1.0 + math.exp(m)) if m < 0 else math.exp(-m) / (1 + math.exp(-m))
        )
        assert losses.slope(loss, m, 1.0) == pytest.approx(-exact, rel=1e-14)
        assert losses.slope(loss, -m, -1.0) == pytest.approx(exact, rel=1e-14)


@each
def test_losses_are_convex_and_zero_or_more(loss: losses.Loss) -> None:
    for y in targets(loss):
        slopes = [losses.slope(loss, f, y) for f in SCORES]
        assert (np.diff(slopes) >= -1e-12).all()
        assert min(losses.value(loss, f, y) for f in SCORES) >= 0.0


@each
def test_slopes_obey_the_lipschitz_constant(loss: losses.Loss) -> None:
    steepest = max(
        abs(losses.slope(loss, f, y))
        for y in targets(loss)
        for f in (*SCORES, -50.0, 50.0)
    )
    if math.isinf(losses.lipschitz(loss)):
        assert steepest > 10.0
    else:
        assert 0.99 < steepest <= losses.lipschitz(loss) == 1.0


@each
def test_slopes_obey_the_smoothness_constant(loss: losses.Loss) -> None:
    fine = np.linspace(-3.0, 3.0, 6001) + 1e-4
    step = fine[1] - fine[0]
    steepest = max(
        np.abs(np.diff([losses.slope(loss, f, y) for f in fine])).max()
        for y in targets(loss)
    )
    if math.isinf(losses.smoothness(loss)):
        assert steepest >= 1.0, "the slope jumps"
    else:
        assert steepest / step <= losses.smoothness(loss) * (1 + 1e-6)
        assert steepest / step >= losses.smoothness(loss) * 0.99


def test_the_names_say_which_losses_have_a_bounded_slope() -> None:
    for name in (*losses.MARGIN, *losses.RESIDUAL):
        bounded = math.isfinite(losses.lipschitz(LOSSES[name]))
        assert (name in losses.LIPSCHITZ) == bounded


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("name", [*losses.MARGIN, *losses.RESIDUAL])
def test_the_ball_holds_the_minimiser(name: str, alpha: float) -> None:
    # One row with k(x, x) = 1: w is a number, and its norm |w|.
    loss = LOSSES[name]
    y = 1.0 if name in losses.MARGIN else 1.7
    grid = np.linspace(0.0, 3.0, 30001)
    objective = [alpha / 2 * w * w + losses.value(loss, w, y) for w in grid]
    minimiser = grid[int(np.argmin(objective))]
    radius = losses.radius(loss, alpha, y)
    assert minimiser <= radius * (1 + 1e-4)
    if name == "squared_error" and alpha == 1.0:
        assert minimiser == pytest.approx(radius, rel=1e-3), "the bound is tight"


def test_the_radii_are_those_of_the_table() -> None:
    assert losses.radius(LOSSES["squared_error"], 0.25, 3.0) == 3.0
    assert losses.radius(LOSSES["absolute_error"], 0.5, 4.0) == 4.0
    assert losses.radius(LOSSES["epsilon_insensitive"], 0.5, 4.0) == 4.0
    for name in ("hinge", "smooth_hinge", "squared_hinge"):
        assert losses.radius(LOSSES[name], 0.25, 1.0) == 2.0
    wanted = math.sqrt(2 * math.log(2) / 0.25)
    assert losses.radius(LOSSES["log_loss"], 0.25, 1.0) == pytest.approx(wanted)


@each
def test_the_largest_numbers_give_infinity_or_a_number_but_no_error(
    loss: losses.Loss,
) -> None:
    # Squares of such scores overflow: to infinity, which the walk looks for.
    for f in (-sys.float_info.max, sys.float_info.max):
        for y in targets(loss):
            assert not math.isnan(losses.slope(loss, f, y))

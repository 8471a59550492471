"""Rates: the closed forms against the recursion, one row at a time."""

from collections.abc import Callable

import numpy as np
import pytest

from onkel.problem import rates

ROWS = 40
RATES = {
    "pegasos": (rates.pegasos(0.3), lambda t: 1 / (0.3 * t), 0.3),
    "pegasos-t0": (rates.pegasos(0.3, t0=5.0), lambda t: 1 / (0.3 * (t + 5)), 0.3),
    "constant": (rates.constant(0.4, alpha=0.2), lambda t: 0.4, 0.2),
    "constant-alpha-0": (rates.constant(0.4), lambda t: 0.4, 0.0),
    "default": (rates.constant(), lambda t: 1.0, 0.0),
    "invscaling": (rates.invscaling(0.4, 0.2, 0.7), lambda t: 0.4 / t**0.7, 0.2),
    "invscaling-0": (rates.invscaling(0.4, 0.2, 0.0), lambda t: 0.4, 0.2),
}


@pytest.mark.parametrize("rate, eta, alpha", RATES.values(), ids=RATES)
def test_scaled_coefficients_equal_the_recursion(
    rate: rates.Rate, eta: Callable, alpha: float
) -> None:
    # w <- (1 - alpha eta) w - eta g phi(x), each row with a slope of its own
    slopes = np.random.default_rng(0).normal(size=ROWS)
    slopes[::3] = 0.0
    explicit, raw = np.zeros(ROWS), np.zeros(ROWS)
    factor = 1.0
    for t in range(1, ROWS + 1):
        explicit *= 1.0 - alpha * eta(t)
        explicit[t - 1] = -eta(t) * slopes[t - 1]
        factor *= rates.decay(rate, t)
        raw[t - 1] = -rates.gain(rate, t) * slopes[t - 1] / factor
        scale = factor * rates.base(rate, t)
        np.testing.assert_allclose(scale * raw, explicit, rtol=1e-12, atol=1e-15)


def test_equal_slopes_keep_equal_raw_coefficients_under_pegasos() -> None:
    # Ties between coefficients must be exact for the oldest to be found.
    rate = rates.pegasos(0.3, t0=2.0)
    assert {(rates.gain(rate, t), rates.decay(rate, t)) for t in range(1, 99)} == {
        (1.0, 1.0)
    }


def test_before_the_first_row_the_scale_is_a_number() -> None:
    assert rates.base(rates.pegasos(0.3), 0) == 0.0
    assert rates.base(rates.pegasos(0.5, t0=4.0), 0) == 0.5
    assert rates.base(rates.constant(0.4, 0.1), 0) == 1.0
    # An average adds it up: it must be nothing beside the scales of later rows.
    assert rates.base(rates.pegasos(0.3, t0=1e-300), 0) == 0.0
    assert rates.base(rates.pegasos(0.5, t0=1e-300), 1) == 2.0


def test_without_regularisation_nothing_shrinks() -> None:
    for rate in (rates.constant(0.4), rates.invscaling(0.4, 0.0, 0.5)):
        assert all(rates.decay(rate, t) == 1.0 for t in range(1, 50))

"""What benchmarks make of their measurements."""

import numpy as np
import pytest

from benchmarks.flat_cost import ratio, stretches
from benchmarks.second_order import HEADS, bandwidth, cells


def test_a_cost_that_only_follows_the_updates_is_flat() -> None:
    rows = np.full(6, 100.0)
    updates = np.array([90.0, 10.0, 30.0, 20.0, 50.0, 40.0])
    seconds = 1e-6 * (2.0 * rows + 5.0 * updates)
    found = stretches(np.column_stack([rows, updates, seconds]), (100, 300, 600))
    n, changed, spent, equal = found.T
    assert n.tolist() == [100, 200, 300]
    assert changed.tolist() == [90, 40, 110]
    assert ratio(spent / n) > 1.1
    assert ratio(equal / n) == pytest.approx(1.0)
    # Together they are what was spent, but for the first batch, which is still growing.
    assert equal[1:].sum() == pytest.approx(spent[1:].sum())


def test_a_cost_that_grows_is_not_flat() -> None:
    rows, updates = np.full(6, 100.0), np.array([50.0, 50.0, 49.0, 51.0, 50.0, 50.0])
    seconds = 1e-6 * rows * np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    found = stretches(np.column_stack([rows, updates, seconds]), (100, 400, 600))
    assert ratio(found[:, 3] / found[:, 0]) > 1.9


def test_rates_are_bytes_over_time() -> None:
    of = {"system": "BPA-P", "budget": 500, "updates": 10, "seconds": 1e-3}
    (line,) = cells([of | {"bytes": 1e7, "dot": 2e10, "memory": 1e10}])
    assert dict(zip(HEADS, line, strict=False))["GB/s"] == "10.0"
    assert line[-3:] == ["50%", "10.0", "100%"]
    assert bandwidth(1000) > 1e7

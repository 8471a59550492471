"""The search that all share."""

import math
from typing import Any

import pytest

from onkel.tune.grid_search import Tried, best, grid_search, tried


def error_on(model: dict[str, Any], split: float) -> float:
    if model["step"] > 2:
        raise ValueError("scores overflowed at row 3")
    return abs(model["step"] - split)


def test_every_combination_is_tried_in_the_order_of_the_grid() -> None:
    grid = {"step": (0, 1, 3), "kind": ("a", "b")}
    found = list(grid_search(grid, dict, [1.0, 2.0], error_on))
    assert [tuple(one.parameters.values()) for one in found] == [
        (step, kind) for step in (0, 1, 3) for kind in "ab"
    ]
    assert [one.error for one in found] == [1.5, 1.5, 0.5, 0.5, math.inf, math.inf]
    assert found[0].spread == pytest.approx(math.sqrt(0.5))
    # the first of equals
    assert best(found).parameters == {"step": 1, "kind": "a"}


def test_what_overflows_or_has_no_error_is_never_the_best() -> None:
    unknown, lost = Tried({"step": 0}, math.nan, 0.0), Tried({"step": 9}, math.inf, 0.0)
    good = Tried({"step": 1}, 0.4, 0.1)
    assert best([unknown, lost, good]) is good
    assert tried({"step": 9}, dict, [1.0], error_on) == lost


def test_other_faults_are_not_hidden() -> None:
    with pytest.raises(KeyError):
        tried({}, dict, [1.0], error_on)

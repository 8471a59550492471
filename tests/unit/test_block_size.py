"""How many rows a block has: by the size of the model, and by updates a row."""

from typing import Any

import numpy as np
import pytest

import onkel
from onkel.engine import learner
from onkel.engine.learner import FEWEST, MOST


def sized(count: int, budget: int) -> Any:
    """Return a learner with so many centres."""
    model = onkel.RBPClassifier(budget=budget, gamma=0.5, random_state=0)
    rng = np.random.default_rng(0)
    model.partial_fit(rng.normal(size=(8, 2)), rng.integers(0, 2, 8), classes=[0, 1])
    model._learner.counters.count = count
    return model._learner


@pytest.mark.parametrize("count", [10, 500, 2000])
def test_many_updates_make_blocks_small_within_limits(count: int) -> None:
    made = sized(count, budget=count)
    sizes = [made._block_size(False, rate) for rate in (0.0, 0.01, 0.1, 0.5, 1.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == MOST
    assert all(FEWEST <= size <= MOST for size in sizes)


@pytest.mark.parametrize("rate", [0.05, 0.3, 1.0])
def test_many_centres_allow_large_blocks(rate: float) -> None:
    sizes = [
        sized(count, count)._block_size(False, rate) for count in (10, 100, 500, 2000)
    ]
    assert sizes == sorted(sizes)


def test_a_block_has_no_more_kernel_values_than_a_cache() -> None:
    huge = 10 * learner.CACHED_VALUES
    assert sized(1 << 19, huge)._block_size(False, 0.0) == FEWEST


@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.parametrize("outputs", [2, 3])
def test_scores_from_before_a_block_are_those_of_the_walk(
    rate: float, outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without them the same, to the last bit, whatever changes on the way."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(700, 3)), rng.integers(0, outputs, 700)
    found = []
    for few in (0.0, np.inf):
        monkeypatch.setattr(learner, "FEW_UPDATES", few)
        model = onkel.BSGDClassifier(budget=20, gamma=0.5, random_state=0)
        weight = np.r_[np.ones(300), np.full(400, rate)]
        model.partial_fit(X, y, classes=range(outputs), sample_weight=weight)
        found.append(onkel.progressive(model, X, y))
    np.testing.assert_array_equal(*found)

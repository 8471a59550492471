"""The mean of the iterates, against a list of all of them.

An iterate is a matrix of coefficients over the slots. What happens to a centre that
leaves happens to its coefficients in all iterates so far.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onkel.averages import Last, Mean, allocate, tick
from onkel.expansion import (
    add,
    bequeath,
    drop,
    insert,
    merge,
    relabelled,
    replace,
    resized,
    spread,
)
from tests.unit.hand_made import Bench, update

ROWS = 9
FEW = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
MOVES = (
    *("insert", "replace", "add", "spread", "bequeath", "drop", "merge"),
    *("nothing", "resize", "restart"),
)
WHO = st.floats(0.0, 1.0, exclude_max=True)
WEIGHTS = st.floats(-2.0, 2.0)
STEPS = st.lists(
    st.tuples(st.sampled_from(MOVES), WHO, WHO, WEIGHTS, WEIGHTS), max_size=ROWS
)


def averaging(outputs: int) -> Bench:
    coef = np.random.default_rng(0).normal(size=(outputs, 4))
    bench = Bench(coef, ROWS, capacity=14)
    average = allocate(Mean, outputs, 14)
    bench.model = bench.model._replace(average=average)
    return bench


def without(coef: np.ndarray, j: int) -> np.ndarray:
    """Let the last take the slot of the one that leaves."""
    coef[:, j] = coef[:, -1]
    return coef[:, :-1]


def perform(bench: Bench, past: list[np.ndarray], t: int, step: Any) -> None:
    """Do one step to the model, and what it means to the iterates so far."""
    move, one, other, u, v = step
    model, ahead = bench.model, bench.ahead
    outputs = len(model.coef)
    change = update(u) if outputs == 1 else update(u, up=1, down=2)
    i, j = int(one * bench.size), int(other * bench.size)
    if move == "insert":
        insert(model, ahead, t, change)
        past[:] = [np.pad(a, ((0, 0), (0, 1))) for a in past]
    elif move == "replace" and bench.size:
        replace(model, ahead, t, i, change)
        for a in past:
            a[:, i] = 0
    elif move == "add" and bench.size:
        add(model, outputs - 1, i, u)
    elif move == "spread":
        spread(model, outputs - 1, u, np.linspace(-1.0, 1.0, 14))
    elif move == "drop" and bench.size:
        drop(model, ahead, t, i)
        past[:] = [without(a, i) for a in past]
    elif move == "bequeath" and i != j:
        heirs = {k: s for k, s in ((j, u), (0, v)) if k != i}
        for k, share in heirs.items():
            bequeath(model, i, k, share)
            for a in past:
                a[:, k] += share * a[:, i]
        drop(model, ahead, t, i)
        past[:] = [without(a, i) for a in past]
    elif move == "merge" and i != j:
        merge(model, ahead, t, i, j, 0.3, u, v)
        for a in past:
            a[:, i] = u * a[:, i] + v * a[:, j]
        past[:] = [without(a, j) for a in past]
    elif move == "resize":
        bench.model = resized(model, len(model.diag) + 2)
    elif move == "restart":
        model.average.restart()
        past.clear()


@pytest.mark.parametrize("outputs", [1, 3])
@FEW
@given(steps=STEPS)
def test_the_mean_is_that_of_all_iterates(outputs: int, steps: Any) -> None:
    bench = averaging(outputs)
    past: list[np.ndarray] = []
    for t, step in enumerate(steps):
        bench.arrive(t)
        past.append(bench.coef)
        tick(bench.model.average)
        perform(bench, past, t, step)
        bench.look_ahead(t)
        wanted = np.mean(past, axis=0) if past else bench.coef
        found = bench.model.average.of(bench.coef)
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_mapped_outputs_have_the_mapped_mean() -> None:
    bench = averaging(1)
    for t, step in enumerate([("insert", 0, 0, 0.5, 0), ("add", 0.3, 0, 0.7, 0)]):
        bench.arrive(t)
        tick(bench.model.average)
        perform(bench, [], t, step)
    mean = bench.model.average.of(bench.coef)
    halves = np.array([[-0.5], [0.0], [0.5]])
    bench.model = relabelled(bench.model, halves, np.zeros(14, int))
    found = bench.model.average.of(bench.coef)
    np.testing.assert_allclose(found, halves @ mean)
    assert not np.allclose(found, bench.coef)


def test_before_the_first_row_the_mean_is_the_model() -> None:
    bench = averaging(1)
    np.testing.assert_array_equal(bench.model.average.of(bench.coef), bench.coef)


def test_the_mean_has_the_precision_of_the_model() -> None:
    average = allocate(Mean, 1, 4)
    tick(average)
    assert average.of(np.ones((1, 3), np.float32)).dtype == np.float32


def test_the_last_iterate_needs_no_memory() -> None:
    bench = averaging(1)
    last = allocate(Last, 1, 14)
    bench.model = bench.model._replace(average=last)
    perform(bench, [], 0, ("merge", 0.0, 0.5, 0.5, 0.5))
    tick(last)
    assert last.of(bench.model.coef) is bench.model.coef
    assert last.resized(3, 20) == last.mapped(np.eye(1)) == last

"""A deadline is kept, whatever comes in between, and says what it cost."""

from typing import Any

import numpy as np
import pytest

from onkel.engine.threads import Team
from onkel.problem import kernels, losses
from onkel.refit.deadline import Deadline
from onkel.refit.fitter import Solution
from onkel.refit.machine import Request, fit
from onkel.refit.processor import Processor
from onkel.refit.solver import Solver
from onkel.refit.values import Values
from tests.unit.test_refit_machine import error, find, simulate

ROWS = 7000


class Clock:
    """Time that passes as kernel values are visited, a million in a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made, each = Clock(), Values.each

    def slow(self: Values, targets: Any, new: Any = list, rows: Any = None) -> Any:
        count = len(self) if rows is None else len(rows)
        made.now += count * len(self.points) / 1e6
        return each(self, targets, new, rows)

    monkeypatch.setattr(Values, "each", slow)
    return made


def fitted(asked: Request, deadline: Deadline, rows: int = ROWS) -> Solution:
    X, targets = simulate(rows, "binary", 0)
    rng = np.random.default_rng(0)
    return fit(find, X, targets, asked, 0.5, rng, deadline=deadline)


@pytest.mark.parametrize("budget", [200, None])
def test_it_is_kept_for_every_budget(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, budget: int | None
) -> None:
    monkeypatch.setattr(Processor, "most_centres", 250)
    X, targets = simulate(2000, "binary", 1)
    asked = Request(budget)
    fitted(asked, Deadline(None, clock))
    whole = clock.now
    for limit in (2.0 * whole, 0.5 * whole, 0.2 * whole):
        begun, deadline = clock.now, Deadline(limit, clock)
        machine = fitted(asked, deadline)
        assert clock.now - begun <= 1.2 * limit
        assert limit > whole or deadline.left_out
        assert error(machine, X, targets) < 0.25


def test_of_time_enough_nothing_is_left_out(clock: Clock) -> None:
    deadline = Deadline(1e6, clock)
    fitted(Request(60), deadline)
    assert deadline.left_out == []


@pytest.mark.parametrize("rows", [5, 400, ROWS])
@pytest.mark.parametrize("asked", [Request(300), Request(None), Request(300, 0.5, 2.0)])
def test_without_any_time_there_is_a_model(asked: Request, rows: int) -> None:
    deadline = Deadline(0.0)
    machine = fitted(asked, deadline, rows)
    X, targets = simulate(2000, "binary", 1)
    assert deadline.left_out
    assert np.isfinite(machine.coef).all()
    assert rows < 100 or error(machine, X, targets) < 0.25
    assert asked.gamma is None or (machine.gamma, machine.C) == (
        asked.gamma,
        asked.C,
    )


def test_a_solver_takes_one_step_at_least(clock: Clock) -> None:
    X, targets = simulate(500, "binary", 0)
    kernel = kernels.make("rbf", 0.5, 1, 0.0)
    passes = Processor(Team(1)).passes(kernel, X, X[:20])
    loss, rng = losses.make("squared_hinge"), np.random.default_rng(0)
    solver = Solver(passes, loss, targets.y, targets.weight, 1, rng)
    whole = solver.solve(1.0)
    visits = solver.visits
    deadline = Deadline(0.0, clock)
    short = solver.solve(1.0, deadline=deadline)
    assert solver.visits - visits < visits
    assert 0.0 < short.objective - whole.objective < 0.5 * whole.objective
    assert deadline.left_out


def test_items_are_yielded_while_there_is_time_for_one_more() -> None:
    clock = Clock()
    deadline = Deadline(10.0, clock)
    done = []
    for item in deadline.each([1.0, 2.0, 4.0, 1.0], "some"):
        clock.now += item
        done.append(item)
    assert done == [1.0, 2.0, 4.0]
    assert deadline.left_out == ["some"]
    assert list(deadline.each("abc", "others", takes=4.0, least=2)) == ["a", "b"]


def test_a_share_and_an_earlier_one_note_together() -> None:
    clock = Clock()
    deadline = Deadline(10.0, clock)
    assert (deadline.share(0.3).left, deadline.earlier(4.0).left) == (3.0, 6.0)
    deadline.share(0.3).leave_out("this")
    deadline.earlier(1.0).leave_out("this")
    deadline.aside().leave_out("that")
    assert deadline.left_out == ["this"]

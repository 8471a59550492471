"""The protocols by which parameters are chosen, and the data they are chosen on."""

from typing import Any

import numpy as np
import pytest

import onkel
from onkel.reproduce import choosing, online_data
from onkel.reproduce.online_data import OnlineData


def small_task(regression: bool = False) -> OnlineData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    f = X[:, 0] * X[:, 1]
    return OnlineData("cod-rna", X, f if regression else f > 0, regression, 300)


class Guess:
    """A model that says the same to all rows."""

    def __init__(self, says: Any) -> None:
        self.says = says

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Guess":
        if self.says == "overflow":
            raise ValueError("The scores of Guess overflowed at row 1")
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.says)


def test_choose_takes_what_errs_least_on_held_out_rows() -> None:
    task = small_task()._replace(y=np.arange(400) % 4 == 0)
    grid = {"says": ["overflow", True, False]}
    choice = choosing.choose(task, Guess, grid, choosing.linear_error)
    assert choice.parameters == {"says": False}
    assert 0.15 < choice.error < 0.35


def test_choose_goes_by_the_progressive_error_of_parts() -> None:
    task = small_task(regression=True)
    errors = {1.0: 0.3, 2.0: 0.2, 3.0: 0.4}
    choice = choosing.choose(
        task,
        Guess,
        {"says": list(errors)},
        lambda task, model, rows: errors[model.says],
        choosing.parts(task),
    )
    assert choice.parameters == {"says": 2.0}
    assert choice.error == pytest.approx(0.2)


def test_choose_passes_other_failures_on() -> None:
    class Broken(Guess):
        def fit(self, X: np.ndarray, y: np.ndarray) -> "Guess":
            raise ValueError("something else")

    with pytest.raises(ValueError, match="something else"):
        choosing.choose(small_task(), Broken, {"says": [True]}, choosing.linear_error)


def test_choose_goes_by_the_progressive_error_of_passes() -> None:
    errors = {1.0: 0.3, 2.0: 0.2}
    choice = choosing.choose(
        small_task(),
        Guess,
        {"says": list(errors)},
        lambda task, model, rows: errors[model.says] * len(rows),
        choosing.passes(small_task(), most=10, count=2),
    )
    assert choice.parameters == {"says": 2.0}
    assert choice.error == pytest.approx(2.0)


def test_choose_regresses_on_held_out_rows_where_there_are_any() -> None:
    task = small_task(regression=True)._replace(y=np.full(400, 2.0))
    grid = {"says": [1.0, 2.0, 3.0]}
    splits = choosing.folds(task)
    choice = choosing.choose(task, Guess, grid, choosing.linear_error, splits)
    assert choice.parameters == {"says": 2.0} and choice.error == 0.0


@pytest.mark.parametrize("split", [choosing.halves, choosing.folds])
def test_rows_are_learnt_or_tested(split: Any) -> None:
    splits = split(small_task(), most=100, count=5)
    assert len(splits) == 5
    for learnt, tested in splits:
        assert (len(learnt), len(tested)) == (80, 20)
        assert not set(learnt) & set(tested)
        assert max(*learnt, *tested) < small_task().n_train
    if split is choosing.folds:
        assert len({row for one in splits for row in one.tested}) == 100


def test_parameters_are_chosen_on_training_rows_only() -> None:
    rows = small_task().tuning_rows(np.random.default_rng(0))
    assert sorted(rows) == list(range(300))
    large = small_task()._replace(n_train=300_000)
    assert len(large.tuning_rows(np.random.default_rng(0))) == 3000


def test_the_linear_model_predicts_before_it_learns() -> None:
    # One batch: nothing was learnt before it.
    task = small_task()
    few = np.arange(choosing.BATCH)
    model = choosing.linear(task, "hinge", random_state=0)
    assert choosing.linear_error(task, model, few) == task.y[few].mean()
    separable = task._replace(y=task.X[:, 0] > 0)
    model = choosing.linear(separable, "hinge", random_state=0)
    assert choosing.linear_error(separable, model, np.arange(400)) < 0.2


def test_constant_errors() -> None:
    assert (
        choosing.constant_error(small_task()._replace(y=np.array([1, 1, 1, 2]))) == 0.25
    )
    numbers = small_task(regression=True)._replace(y=np.array([0.0, 2.0]))
    assert choosing.constant_error(numbers) == 1.0


def test_tasks_are_scaled_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.array([[0.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    y = np.array([0.0, 16.0, 32.0])
    monkeypatch.setattr(online_data, "load", lambda *_, dtype: (X.astype(dtype), y))
    late = online_data.task("nycflights")
    assert late.y.tolist() == [False, True, True]
    assert (late.X.min(axis=0) == 0).all() and (late.X.max(axis=0) == 1).all()
    minutes = online_data.task("nycflights", regression=True)
    assert minutes.y.tolist() == y.tolist()
    casp = online_data.task("casp", regression=True)
    assert casp.y.tolist() == [0.0, 0.5, 1.0]
    assert np.allclose(casp.X.mean(axis=0), 0.0, atol=1e-6)
    assert online_data.task("cod-rna").X.min() == -1.0
    assert casp.X.dtype == late.X.dtype == np.float64
    two = online_data.task("covtype-2")
    assert two.X.max() == 1.0 and two.y.dtype == bool


def test_the_best_constant_of_a_search() -> None:
    task = small_task()._replace(y=np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    rows = np.arange(8)
    splits = [choosing.Split(rows[4:], rows[:4]), choosing.Split(rows[:4], rows[4:])]
    assert choosing.constant_on(task, splits) == pytest.approx(0.125)
    none = np.zeros(0, dtype=int)
    assert choosing.constant_on(task, [choosing.Split(rows, none)]) == 0.375


def test_a_score_of_0_is_positive_where_that_class_is_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    y = np.array([-1.0, 1.0, 1.0])
    X = np.array([[0.0], [1e3], [2e3]])
    monkeypatch.setattr(online_data, "load", lambda *_, dtype: (X.astype(dtype), y))
    work = online_data.positive_first("magic04")
    assert work.y.tolist() == [True, False, False] and work.n_train == 3
    model = onkel.RBPClassifier(gamma=1.0, budget=2)
    model.partial_fit(work.X[:1], work.y[:1], classes=[False, True])
    assert model.decision_function(X[1:2]) == 0.0 and not model.predict(X[1:2])

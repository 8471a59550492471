"""The AVM experiments, on data made here."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onkel.experiments import avm, avm_differences, online_data, tradeoff, tuning
from onkel.experiments.online_data import Task


def small_task(regression: bool = False) -> Task:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    f = X[:, 0] * X[:, 1]
    return Task("cod-rna", X, f if regression else f > 0, regression, 300)


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
    choice = tuning.choose(task, Guess, grid, tuning.linear_error)
    assert choice.parameters == {"says": False}
    assert 0.15 < choice.error < 0.35


def test_choose_goes_by_the_progressive_error_in_regression() -> None:
    task = small_task(regression=True)
    errors = {1.0: 0.3, 2.0: 0.2, 3.0: 0.4}
    choice = tuning.choose(
        task,
        Guess,
        {"says": list(errors)},
        lambda task, model, rows: errors[model.says],
    )
    assert choice.parameters == {"says": 2.0}
    assert choice.error == pytest.approx(0.2)


def test_choose_passes_other_failures_on() -> None:
    class Broken(Guess):
        def fit(self, X: np.ndarray, y: np.ndarray) -> "Guess":
            raise ValueError("something else")

    with pytest.raises(ValueError, match="something else"):
        tuning.choose(small_task(), Broken, {"says": [True]}, tuning.linear_error)


def test_parameters_are_chosen_on_training_rows_only() -> None:
    rows = small_task().tuning_rows(np.random.default_rng(0))
    assert sorted(rows) == list(range(300))
    large = small_task()._replace(n_train=300_000)
    assert len(large.tuning_rows(np.random.default_rng(0))) == 3000


def test_the_linear_model_predicts_before_it_learns() -> None:
    # One batch: nothing was learnt before it.
    task = small_task()
    few = np.arange(tuning.BATCH)
    model = tuning.linear(task, "hinge", random_state=0)
    assert tuning.linear_error(task, model, few) == task.y[few].mean()
    separable = task._replace(y=task.X[:, 0] > 0)
    model = tuning.linear(separable, "hinge", random_state=0)
    assert tuning.linear_error(separable, model, np.arange(400)) < 0.2


def test_constant_errors() -> None:
    assert (
        tuning.constant_error(small_task()._replace(y=np.array([1, 1, 1, 2]))) == 0.25
    )
    numbers = small_task(regression=True)._replace(y=np.array([0.0, 2.0]))
    assert tuning.constant_error(numbers) == 1.0


def test_the_radius_is_the_papers_or_has_a_bounded_number_of_cores() -> None:
    assert avm.radius_of(small_task()) == 0.5
    other = small_task()._replace(name="another")
    distances = np.sqrt(avm.squared_distances(other.X[:300]))
    radius = avm.radius_of(other)
    assert 0 < radius < distances.mean()


def outcome(error: float, constant: float) -> dict[str, Any]:
    return {
        "errors": [error, error + 0.01],
        "sizes": [10, 12],
        "absorbed": [0.0, 0.0],
        "seconds": [1.0, 2.0],
        "linear": [0.2, 0.2],
        "rows": 1234,
        "radius": 0.5,
        "constant": constant,
        "parameters": {"gamma": 0.25, "alpha": 4.0},
    }


def test_table() -> None:
    outcomes = {
        ("a9a", "hinge"): outcome(0.17, 0.24),
        ("cod-rna", "hinge"): outcome(0.1, 0.33),
        ("casp", "squared_error"): outcome(0.3, 0.29),
    }
    text = avm.table(outcomes)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in lines}) == 1
    assert "| 2^-2 | 2^2/n | 11 | 17.50 ± 0.71 | 17.46 ± 0.12 (142) | +0.1 |" in text
    assert "5.61 ± 0.17 (436), other rows |  |" in text
    assert "0.3050 ± 0.0071" in text


def test_results_that_are_there_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = {"a9a/hinge": outcome(0.17, 0.24)}
    (tmp_path / "avm.json").write_text(json.dumps(numbers))
    monkeypatch.setattr(avm, "task", lambda name, regression: small_task())
    monkeypatch.setattr(avm, "measure", lambda *_, **__: outcome(0.15, 0.24))
    arguments = ["--output", str(tmp_path), "--classification", "a9a", "--regression"]
    avm.main(arguments)
    found = json.loads((tmp_path / "avm.json").read_text())
    assert found["a9a/hinge"]["errors"][0] == 0.17
    assert found["a9a/log_loss"]["errors"][0] == 0.15
    assert "a9a" in capsys.readouterr().out


def test_tasks_are_scaled_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.array([[0.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    y = np.array([0.0, 16.0, 32.0])
    monkeypatch.setattr(online_data, "load", lambda *_: (X, y))
    late = online_data.task("nycflights")
    assert late.y.tolist() == [False, True, True]
    assert (late.X.min(axis=0) == 0).all() and (late.X.max(axis=0) == 1).all()
    minutes = online_data.task("nycflights", regression=True)
    assert minutes.y.tolist() == y.tolist()
    casp = online_data.task("casp", regression=True)
    assert casp.y.tolist() == [0.0, 0.5, 1.0]
    assert np.allclose(casp.X.mean(axis=0), 0.0, atol=1e-6)
    assert online_data.task("cod-rna").X.min() == -1.0


def test_a_pass_and_the_trade_off(tmp_path: Path) -> None:
    task = small_task()
    chosen = {"gamma": 1.0, "alpha": 1.0}
    coarse = tradeoff.trial(task, 2, coverage_radius=1.0, **chosen)
    fine = tradeoff.trial(task, 2, coverage_radius=0.1, **chosen)
    assert np.mean(coarse[1]) < np.mean(fine[1])
    surface = [[coarse for _ in tradeoff.RHOS] for _ in tradeoff.BETAS]
    measured = {
        "parameters": chosen,
        "diameters": [0.2, 2.0],
        "by_diameter": [fine, coarse],
        "surface": surface,
    }
    tradeoff.save({"cod-rna": measured}, tmp_path)
    assert (tmp_path / "tradeoff.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "tradeoff.json").read_text())["cod-rna"]


def test_mistakes_by_fifths_are_those_of_the_pass() -> None:
    task = small_task()
    given = {"coverage_radius": 0.5, "gamma": 1.0, "alpha": 1.0}
    order = avm_differences.shuffled(task)
    fifths = avm_differences.by_fifths(task, avm.machine(task, "hinge", **given), order)
    error, _ = tuning.pass_of(task, avm.machine(task, "hinge", **given), order)
    assert len(fifths) == 5
    assert np.mean(fifths) == pytest.approx(100 * error)

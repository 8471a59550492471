"""How our errors of AVM and DualSVRG differ from the papers', on data made here."""

import numpy as np
import pytest

from onkel.reproduce import avm, choosing, dualsvrg, store
from onkel.reproduce.online_data import OnlineData
from studies import avm_differences, dual_svrg_differences


def small_task() -> OnlineData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    return OnlineData("cod-rna", X, X[:, 0] * X[:, 1] > 0, False, 300)


def test_mistakes_by_fifths_are_those_of_the_pass() -> None:
    task = small_task()
    given = {"coverage_radius": 0.5, "gamma": 1.0, "alpha": 1.0}
    order = avm_differences.shuffled(task)
    fifths = avm_differences.by_fifths(
        task, avm.estimator_for(task, "hinge", **given), order
    )
    error, _ = choosing.pass_of(task, avm.estimator_for(task, "hinge", **given), order)
    assert len(fifths) == 5
    assert np.mean(fifths) == pytest.approx(100 * error)


def test_parameters_are_taken_from_results_or_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = small_task()
    results: store.Results = {
        ("cod-rna", dualsvrg.DUAL_SGD): {"parameters": {"gamma": 3.0}}
    }
    assert dual_svrg_differences.parameters_of(work, dualsvrg.DUAL_SGD, results) == {
        "gamma": 3.0
    }
    few = {"gamma": (0.5,), "alpha": (1.0,)}
    monkeypatch.setattr(dual_svrg_differences, "grid_of", lambda *_: few)
    found = dual_svrg_differences.parameters_of(work, dualsvrg.DUAL_SGD, {})
    assert found == {"gamma": 0.5, "alpha": 1.0}


def test_differences(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = small_task()
    monkeypatch.setattr(dual_svrg_differences, "task", lambda _: work)
    monkeypatch.setitem(dualsvrg.BUDGETS, work.name, 20)
    results: store.Results = {
        (work.name, system): {
            "parameters": {name: 0.5 for name in dualsvrg.grid_of(work, system)}
        }
        for system in dualsvrg.SYSTEMS
    }
    dual_svrg_differences.on_a_test_part(results)
    dual_svrg_differences.other_alphas(results)
    dual_svrg_differences.going_back_to_the_mean(results)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 + 12 + 6
    assert lines[10].startswith("covtype, DualSVRG-H-B, alpha 2^16/n: ")

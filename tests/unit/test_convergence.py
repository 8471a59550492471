"""DualSVRG's pictures and its differences from the paper, on data made here."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.measuring.records import RecordFile
from onkel.reproduce import dualsvrg, store
from onkel.reproduce.online_data import OnlineData
from studies import convergence, dual_svrg_differences


def small_task(name: str = "cod-rna") -> OnlineData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    return OnlineData(name, X, X[:, 0] * X[:, 1] > 0, False, 200)


CHOSEN: dict[str, dict[str, Any]] = {
    convergence.REDUCED: {"gamma": 0.5, "alpha": 1.0},
    convergence.REDUCED + dualsvrg.CHOSEN: {"gamma": 1.0, "alpha": 1.0, "eta0": 0.5},
    convergence.PLAIN: {"gamma": 0.5, "alpha": 1.0},
}


def test_the_objective_is_the_mean_of_the_losses_so_far() -> None:
    work = small_task()
    order = np.arange(300)
    model = dualsvrg.estimator_for(work, dualsvrg.DUAL_SGD, gamma=0.5, alpha=1.0)
    found = convergence.objective(work, model, order)
    again = dualsvrg.estimator_for(work, dualsvrg.DUAL_SGD, gamma=0.5, alpha=1.0)
    scores = onkel.progressive(again, work.X, work.y, classes=[False, True])
    hinge = np.maximum(0.0, 1.0 - np.where(work.y, scores, -scores))
    seen = convergence.points(300)
    assert seen[0] == convergence.FIRST and seen[-1] == 300
    expected = [hinge[:rows].mean() for rows in seen]
    assert np.allclose(found[convergence.HINGE], expected)
    # The hinge is DualSGD's own loss.
    assert found[convergence.OWN] == found[convergence.HINGE]
    assert found["late"] == pytest.approx([hinge[60:].mean()])


def test_the_smooth_hinge_is_below_the_hinge_by_half_its_width_at_most() -> None:
    work = small_task()
    given = CHOSEN[convergence.REDUCED]
    model = dualsvrg.estimator_for(work, convergence.REDUCED, **given)
    found = convergence.objective(work, model, np.arange(300))
    own, hinge = (np.array(found[k]) for k in (convergence.OWN, convergence.HINGE))
    gap = hinge - own
    assert (gap > 0).all() and (gap <= dualsvrg.SMOOTHING / 2 + 1e-9).all()


def test_parameters_are_taken_from_results_or_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = small_task()
    results: store.Results = {
        ("cod-rna", dualsvrg.DUAL_SGD): {"parameters": {"gamma": 3.0}}
    }
    assert convergence.parameters_of(work, dualsvrg.DUAL_SGD, results) == {"gamma": 3.0}
    few = {"gamma": (0.5,), "alpha": (1.0,)}
    monkeypatch.setattr(convergence, "grid_of", lambda *_: few)
    found = convergence.parameters_of(work, dualsvrg.DUAL_SGD, {})
    assert found == {"gamma": 0.5, "alpha": 1.0}


def test_pictures_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"memory_size": (10, 100), "snapshot_period": (10, 100)}
    monkeypatch.setattr(convergence, "SWEEPS", few)
    monkeypatch.setattr(convergence, "task", small_task)
    results: store.Results = {
        ("cod-rna", system): {"parameters": given} for system, given in CHOSEN.items()
    }
    kept = tmp_path / "dualsvrg_table2.json"
    cells = {"/".join(key): outcome for key, outcome in results.items()}
    RecordFile(kept).write({"cells": cells})
    arguments = ["--output", str(tmp_path), "--results", str(kept)]
    convergence.main(
        [*arguments, "--data", "cod-rna", "--seeds", "2", "--repetitions", "2"]
    )
    for name in ("dualsvrg_convergence.png", *convergence.FILES.values()):
        assert (tmp_path / name).stat().st_size > 10_000
    numbers = json.loads((tmp_path / "convergence.json").read_text())["cod-rna"]
    assert numbers["parameters"] == CHOSEN
    sweep = numbers["memory_size"][convergence.PAPER_STEP]
    assert np.shape(sweep["mistakes"]) == np.shape(sweep["seconds"]) == (2, 2)
    text = (tmp_path / "convergence.md").read_text()
    assert text.count("| cod-rna |") == len(convergence.CURVES) + 2 * 2 * 2


# ---- the differences -----------------------------------------------------------------


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
    dual_svrg_differences.larger_cells(results)
    dual_svrg_differences.other_alphas(results)
    dual_svrg_differences.going_back_to_the_mean(results)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 + 8 + 12 + 6
    moved = [float(line.split(": ")[1].split(" %")[0]) for line in lines[5:9]]
    assert moved == sorted(moved)
    assert lines[18].startswith("covtype, DualSVRG-H-B, alpha 2^16/n: ")

"""The DualSVRG experiments, on data made here."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.experiments import (
    convergence,
    dual_svrg,
    dual_svrg_differences,
    tables,
    tuning,
)
from onkel.experiments.online_data import Task


def small_task(name: str = "cod-rna") -> Task:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    return Task(name, X, X[:, 0] * X[:, 1] > 0, False, 200)


def outcome(error: float, **parameters: float) -> dict[str, Any]:
    return {
        "errors": [error, error],
        "sizes": [10, 12],
        "seconds": 1.5,
        "rows": 1234,
        "constant": 0.02988,
        "parameters": parameters,
    }


# ---- the systems ---------------------------------------------------------------------


@pytest.mark.parametrize("system", dual_svrg.SYSTEMS)
def test_every_system_has_a_grid_of_its_own_parameters(system: str) -> None:
    work = small_task()
    grid = dual_svrg.grid_of(work, system)
    given = {name: values[0] for name, values in grid.items()}
    model = dual_svrg.machine(work, system, **given)
    for name, value in given.items():
        scale = work.n_train if name == "alpha" and system != dual_svrg.LINEAR else 1
        assert getattr(model, name) == pytest.approx(value / scale)


def test_settings_are_those_of_the_paper() -> None:
    work = small_task("w8a")
    fogd = dual_svrg.machine(work, "FOGD", gamma=1.0, eta0=1.0)
    assert fogd.n_components == 4000
    assert dual_svrg.machine(work, "NOGD", gamma=1.0, eta0=1.0).budget == 1000
    hinge = dual_svrg.machine(work, "DualSVRG-H-C", gamma=1.0, alpha=1.0)
    assert hinge.loss == "smooth_hinge" and hinge.oracle == "coverage"
    assert hinge.eta0 == pytest.approx(1 / 152) and hinge.coverage_radius == 6.5
    assert not hinge.lazy_core
    log = dual_svrg.machine(work, "DualSVRG-L-AM", gamma=1.0, alpha=1.0)
    assert log.loss == "log_loss" and log.oracle == "always_move"
    assert log.eta0 == pytest.approx(1 / 76)
    chosen = "DualSVRG-L-AM" + dual_svrg.CHOSEN
    assert dual_svrg.machine(work, chosen, gamma=1.0, alpha=1.0, eta0=2.0).eta0 == 2.0


@pytest.mark.parametrize("system", ["NOGD", "DualSVRG-H-B", dual_svrg.LINEAR])
def test_measure(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"gamma": (0.5,), "alpha": (0.01, 1.0)}
    if system == "NOGD":
        few = {"gamma": (0.5,), "eta0": (0.2, 0.5)}
    if system == dual_svrg.LINEAR:
        few = {"alpha": (1e-4,)}
    monkeypatch.setattr(dual_svrg, "grid_of", lambda *_: few)
    found = dual_svrg.measure(small_task(), system, permutations=4)
    is_linear = system == dual_svrg.LINEAR
    runs = tuning.LINEAR_PERMUTATIONS if is_linear else 4
    assert len(found["errors"]) == runs
    assert len(found["sizes"]) == (0 if is_linear else runs)
    assert all(0 < error < 1 for error in found["errors"])
    assert set(found["parameters"]) == set(few)


def test_the_clock_keeps_the_fastest_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([3.0, 30.0, 2.0, 10.0, 4.0, 20.0])
    monkeypatch.setattr(dual_svrg, "pass_of", lambda *_: (0.1, next(times)))
    found = {
        "FOGD": {"parameters": {"gamma": 1.0, "eta0": 1.0}},
        "DualSGD": {"parameters": {"gamma": 1.0, "alpha": 1.0}},
    }
    dual_svrg.clock(small_task(), found)
    assert found["FOGD"]["seconds"] == 2.0 and found["DualSGD"]["seconds"] == 10.0


# ---- the tables ----------------------------------------------------------------------


def test_published_entries_that_are_the_constant() -> None:
    found = [s for s in dual_svrg.PUBLISHED if dual_svrg.is_constant("w8a", s, 2.988)]
    assert found == ["DualSGD", "DualSVRG-H-B", *dual_svrg.VARIANTS[3:]]
    assert dual_svrg.is_constant("nycflights", "DualSGD", 21.98)
    assert not dual_svrg.is_constant("nycflights", "FOGD", 21.98)
    assert not dual_svrg.is_constant("cod-rna", "FOGD", 7.15)
    assert not dual_svrg.is_constant("ijcnn1", "FOGD", 9.57)


def test_table() -> None:
    outcomes = {
        ("w8a", "FOGD"): outcome(0.0352, gamma=0.25, eta0=0.2),
        ("w8a", "DualSVRG-H-B"): outcome(0.0309, gamma=4.0, alpha=0.25),
        ("w8a", dual_svrg.LINEAR): outcome(0.02, alpha=1e-4),
        ("cod-rna", "DualSGD"): outcome(0.1, gamma=1.0, alpha=4.0),
    }
    text = dual_svrg.table(outcomes)
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in lines}) == 1
    assert "| FOGD | 3.52 ± 0.00 | 3.52 ± 0.05 | +0.0 | 11 | 2^-2 | - | 0.2 |" in text
    # No spread, neither here nor there: rounding is all that is known.
    assert (
        "| 3.09 ± 0.00 | 2.99 ± 0.00 = constant | +20.0 | 11 | 2^2 | 2^-2/n |" in text
    )
    assert "| DualSGD | 10.00 ± 0.00 | 4.92 ± 0.25 |  |" in text
    assert "1,234 rows; the paper has other rows. Constant predictor: 2.99 %." in text
    short = dual_svrg.overview(outcomes)
    assert "| FOGD | 3.52 (3.52) |  |" in short
    assert "| DualSVRG-H-B | 3.09 (2.99c) |  |" in short
    assert "| constant | 2.99 | 2.99 |" in short


def test_results_that_are_there_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {("cod-rna", "FOGD"): outcome(0.17, gamma=1.0, eta0=2.0)}
    tables.keep(there, tmp_path / "dual_svrg.json")
    monkeypatch.setattr(dual_svrg, "task", small_task)
    fresh = outcome(0.15, gamma=1.0, eta0=2.0)
    del fresh["seconds"]
    monkeypatch.setattr(dual_svrg, "measure", lambda *_: fresh)
    arguments = ["--output", str(tmp_path), "--data", "cod-rna", "--systems"]
    dual_svrg.main([*arguments, "FOGD", "NOGD"])
    found = tables.known(tmp_path / "dual_svrg.json")
    assert found["cod-rna", "FOGD"]["errors"][0] == 0.17
    assert found["cod-rna", "NOGD"]["errors"][0] == 0.15
    # What was there keeps its time, the other one has got it.
    assert found["cod-rna", "FOGD"]["seconds"] == 1.5
    assert 0 < found["cod-rna", "NOGD"]["seconds"] != 1.5
    assert "17.00 (7.15)" in capsys.readouterr().out


# ---- the pictures --------------------------------------------------------------------


CHOSEN: dict[str, dict[str, Any]] = {
    convergence.REDUCED: {"gamma": 0.5, "alpha": 1.0},
    convergence.REDUCED + dual_svrg.CHOSEN: {"gamma": 1.0, "alpha": 1.0, "eta0": 0.5},
    convergence.PLAIN: {"gamma": 0.5, "alpha": 1.0},
}


def test_the_objective_is_the_mean_of_the_losses_so_far() -> None:
    work = small_task()
    order = np.arange(300)
    model = dual_svrg.machine(work, "DualSGD", gamma=0.5, alpha=1.0)
    found = convergence.objective(work, model, order)
    again = dual_svrg.machine(work, "DualSGD", gamma=0.5, alpha=1.0)
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
    model = dual_svrg.machine(work, convergence.REDUCED, **given)
    found = convergence.objective(work, model, np.arange(300))
    own, hinge = (np.array(found[k]) for k in (convergence.OWN, convergence.HINGE))
    gap = hinge - own
    assert (gap > 0).all() and (gap <= dual_svrg.SMOOTHING / 2 + 1e-9).all()


def test_parameters_are_taken_from_results_or_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = small_task()
    results: tables.Results = {("cod-rna", "DualSGD"): outcome(0.1, gamma=3.0)}
    assert convergence.parameters_of(work, "DualSGD", results) == {"gamma": 3.0}
    few = {"gamma": (0.5,), "alpha": (1.0,)}
    monkeypatch.setattr(convergence, "grid_of", lambda *_: few)
    found = convergence.parameters_of(work, "DualSGD", {})
    assert found == {"gamma": 0.5, "alpha": 1.0}


def test_pictures_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"memory_size": (10, 100), "snapshot_period": (10, 100)}
    monkeypatch.setattr(convergence, "SWEEPS", few)
    monkeypatch.setattr(convergence, "task", small_task)
    results: tables.Results = {
        ("cod-rna", system): {"parameters": given} for system, given in CHOSEN.items()
    }
    kept = tmp_path / "dual_svrg.json"
    tables.keep(results, kept)
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
    monkeypatch.setitem(dual_svrg.BUDGETS, work.name, 20)
    results: tables.Results = {
        (work.name, system): {
            "parameters": {name: 0.5 for name in dual_svrg.grid_of(work, system)}
        }
        for system in dual_svrg.SYSTEMS
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

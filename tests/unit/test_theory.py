"""Theory measured: targets on small problems made here, and rules of their judges."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import onkel
from onkel.reproduce import (
    avm,
    avm_budgets,
    avm_curves,
    avm_gap,
    avm_judges,
    avm_tradeoff,
    bogd_regret,
    bogd_times,
    bsca_curves,
    bsca_judges,
    bsca_lemma,
    bsca_theorem,
    command,
    dualsvrg,
    dualsvrg_convergence,
    dualsvrg_memory,
    dualsvrg_rate,
    dualsvrg_sweeps,
    nbsgd,
    nbsgd_progress,
    nbsgd_projections,
    nbsgd_theorem,
    theory_judges,
)
from onkel.reproduce.choosing import pass_of
from onkel.reproduce.claims import JUDGES, claims
from onkel.reproduce.comparators import CONTRADICTED, MIXED, SUPPORTED, Finding
from onkel.reproduce.evidence import Evidence, Question
from onkel.reproduce.objective import Objective
from onkel.reproduce.online_data import OnlineData
from onkel.reproduce.powers import power_of
from onkel.reproduce.problems import Problem
from onkel.reproduce.protocol import Cell, EstimatorSetup, Figure
from onkel.reproduce.store import file_of, fingerprint

Outcomes = dict[str, dict[str, Any]]


def rows(count: int = 120) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=count) > 0, 1, -1)


def small_problem(name: str = "ijcnn1") -> Problem:
    X, y = rows()
    return Problem(name, X, y, X[:50], y[:50], C=4.0, gamma=1.0)


def small_task(name: str = "cod-rna") -> OnlineData:
    X, y = rows(200)
    return OnlineData(name, X, y > 0, False, 160)


def run(setups: dict[str, EstimatorSetup], measure: Any, wanted: int = 2) -> Outcomes:
    """Run all cells of one data set, with the first parameters of their grids."""
    found = {}
    for label, setup in setups.items():
        chosen = {key: values[0] for key, values in setup.grid.items()}
        cell = Cell("one", label, "", None, setup.settled(chosen), "")
        found[label] = {"parameters": chosen, **measure("ijcnn1", cell, wanted, 60.0)}
    return {"one": found}


def check(outcomes: Outcomes, lay_out: Any, draw: Any, path: Path) -> list[list[str]]:
    """Lay out and draw, and return the rows below the heads."""
    heads, *laid = lay_out(outcomes)
    assert laid and all(len(row) == len(heads) for row in laid)
    draw(outcomes).savefig(path / "picture.png")
    assert (path / "picture.png").stat().st_size > 5000
    return laid


def judged(
    by: str, outcomes: Outcomes, folder: Path, target: str = "bsca/lemma2", **asked: Any
) -> Finding:
    """Judge outcomes as if they had been stored."""
    asked = {"data": list(outcomes), **asked}
    question = Question(by, target=target, **asked)
    return JUDGES[by](question, stored(outcomes, folder, target))


def stored(outcomes: Outcomes, folder: Path, target: str) -> Evidence:
    """Store outcomes, and look them up."""
    cells = {
        f"{data}/{label}": outcome
        for data, found in outcomes.items()
        for label, outcome in found.items()
    }
    file_of(target, folder).write({"cells": cells})
    return Evidence(folder)


def verdict_on(name: str, outcomes: Outcomes, folder: Path) -> str:
    """Judge a claim as claims.toml has it, by outcomes on its own data sets."""
    claim = next(one for one in claims() if one.name == name)
    return claim.judged(stored(outcomes, folder, claim.parts[0].target)).verdict


# ---- what they share -----------------------------------------------------------------


def test_powers_of_several_runs() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0])
    found = power_of(x.tolist(), [(3 / x).tolist(), (5 / x**2).tolist()])
    assert found.mean == pytest.approx(-1.5)
    assert found.error == pytest.approx(np.std([-1, -2], ddof=1) / np.sqrt(2))


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_the_objective_is_its_formula(loss: str) -> None:
    X, y = rows()
    model = onkel.KernelSGDClassifier(
        loss=loss, alpha=0.1, gamma=1.0, shuffle=False
    ).fit(X, y)
    scores = model.decision_function(X)
    coef, centres = model.dual_coef_[0], model.support_vectors_
    norm2 = coef @ rbf_kernel(centres, gamma=1.0) @ coef
    margins = y * scores
    lost = np.maximum(0, 1 - margins) if loss == "hinge" else np.log1p(np.exp(-margins))
    expected = 0.05 * norm2 + lost.mean()
    assert Objective(X, y, 1.0, 0.1, loss).of_model(model) == pytest.approx(expected)


def test_targets_that_measure_differ_in_their_prints() -> None:
    by_target: dict[str, set[str]] = {}
    for target in ("dualsvrg/figure2", "dualsvrg/figure3", "dualsvrg/figure4"):
        table = command.tables()[target]
        prints = [fingerprint(table, cell) for cell in table.cells() if cell.setup]
        by_target[target] = set(prints)
        assert len(by_target[target]) == len(prints)
    assert not set.intersection(*by_target.values())
    # Figures of the same runs share them.
    one, two = (command.tables()[f"bsca/figure{k}"] for k in (6, 7))
    assert [fingerprint(one, c) for c in one.cells()] == [
        fingerprint(two, c) for c in two.cells()
    ]


def test_targets_of_theory_are_figures_with_a_judge() -> None:
    wanted = {"bsca/lemma2", "bsca/theorem1", "nbsgd/theorem11", "bogd/theorem3"}
    wanted |= {"bogd/times", "avm/theorem5", "dualsvrg/theorem2", "dualsvrg/theta"}
    wanted |= {"nbsgd/projections", "dualsvrg/memory"}
    assert all(isinstance(command.tables()[name], Figure) for name in wanted)
    judges = avm_judges.JUDGES | bsca_judges.JUDGES | theory_judges.JUDGES
    assert all(judge.__doc__ for judge in judges.values())


# ---- BSCA ----------------------------------------------------------------------------


def test_the_lemma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bsca_lemma, "few", small_problem)
    monkeypatch.setattr(bsca_lemma, "EPOCHS_EXACT", 400)
    monkeypatch.setattr(bsca_lemma, "EPOCHS_DUAL", 200)
    monkeypatch.setattr(bsca_lemma, "EPOCHS_SGD", 60)
    bsca_lemma._exact.cache_clear()
    outcomes = run(bsca_lemma.systems("ijcnn1"), bsca_lemma.shares)
    bsca_lemma._exact.cache_clear()
    check(outcomes, bsca_lemma.share_rows, bsca_lemma.draw_shares, tmp_path)
    limits = outcomes["one"]["exact"]["limits"]
    assert np.mean(outcomes["one"]["SCA"]["values"]) == pytest.approx(
        limits["SCA"], rel=0.15
    )
    finding = judged("violators are fixed", outcomes, tmp_path)
    assert finding.verdict == SUPPORTED and "% of them at C" in finding.shown
    outcomes["one"]["SCA"]["values"] = [limits["SCA"]]
    outcomes["one"]["SGD"]["values"] = [2 * limits["SGD"]]
    assert judged("shares reach their limits", outcomes, tmp_path).verdict == MIXED


def test_gains_of_a_step_and_what_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bsca_theorem, "small", small_problem)
    monkeypatch.setattr(bsca_theorem, "EPOCHS_EXACT", 2000)
    bsca_theorem._known.cache_clear()
    known = bsca_theorem._known("ijcnn1")
    bsca_theorem._known.cache_clear()
    a = np.random.default_rng(1).uniform(0, known.case.C, size=len(known.case.y))
    exact = bsca_theorem.state(known, a, known.case.y * (known.Q @ a))
    assert exact["promised"] == pytest.approx(exact["promised_by_least"])
    assert exact["gain"] >= exact["promised"] > 0
    # One step of one variable gains what lemma 1 says.
    slopes = 1 - known.Q @ a
    step = np.clip(a[3] + slopes[3], 0, known.case.C) - a[3]
    moved = a.copy()
    moved[3] += step
    gained = bsca_theorem._objective(known.Q, moved) - bsca_theorem._objective(
        known.Q, a
    )
    steps = np.zeros(len(a))
    steps[3] = step
    assert bsca_theorem._gains(known.Q, slopes, steps)[3] == pytest.approx(gained)


def made_progress(left: float, violation: float, gain: float) -> dict[str, Any]:
    epochs = len(bsca_theorem.POINTS)
    falling = np.geomspace(1.0, left, epochs)
    falling[: np.searchsorted(bsca_theorem.POINTS, bsca_judges.EARLY) + 1] = 1.0
    curves = {
        "suboptimality": [falling.tolist()],
        "violation": [[violation] * epochs],
        "gain": [[gain] * epochs],
        "promised": [[1e-4] * epochs],
        "promised_by_least": [[-1e-4] * epochs],
        "bound": [[100.0] * epochs],
    }
    return {"curves": curves, "kappa": 1e-4, "values": [left]}


def test_judges_of_the_theorem(tmp_path: Path) -> None:
    free = made_progress(1e-6, 1e-4, gain=1e-3)
    stalled = made_progress(1.0, 0.1, gain=-1e-3)
    outcomes = {"one": {"no budget": free, "B = 30": stalled}}
    check(outcomes, bsca_theorem.progress_rows, bsca_theorem.draw_progress, tmp_path)
    found = judged("stalls late", outcomes, tmp_path)
    assert found.verdict == SUPPORTED
    assert "early as without a budget 1, stalled late 1" in found.shown
    progress = judged("promised progress", outcomes, tmp_path)
    assert progress.verdict == MIXED
    assert "as printed, at 0 to 0 %" in progress.shown
    assert "E < 1 at 0.0 %" in progress.shown
    free["curves"]["gain"][0][7] = 0.0
    assert judged("promised progress", outcomes, tmp_path).verdict == CONTRADICTED


def test_objectives_that_rise_late_and_the_time_of_a_row(tmp_path: Path) -> None:
    def made(primal: list[float], seconds: float) -> dict[str, Any]:
        curves = {"primal": [primal], "dual": [list(range(10))]}
        return {
            **{"values": [0.0], "rows": 100},
            "curves": {**curves, "seconds": [[seconds] * 10, [1.01 * seconds] * 10]},
        }

    rising, falling = list(range(10, 20)), list(range(20, 10, -1))
    restless = [15.0, 12, 18, 11, 16, 13, 17, 12, 16, 14]
    asked: dict[str, Any] = {"first": ["1", "2", "4"], "cell": "B = {}"}
    for curve, power, verdicts in (
        (rising, 1, (SUPPORTED, SUPPORTED)),
        (falling, 2, (CONTRADICTED, CONTRADICTED)),
        (restless, 0, (MIXED, SUPPORTED)),
    ):
        budgets = {f"B = {B}": made(curve, float(B**power)) for B in (1, 2, 4)}
        outcomes = {"one": budgets}
        judges = ("objectives rise late", "time of a row by budget")
        for by, verdict in zip(judges, verdicts, strict=True):
            assert judged(by, outcomes, tmp_path, **asked).verdict == verdict


def test_gains_on_large_sets(tmp_path: Path) -> None:
    def made(ours: float) -> dict[str, Any]:
        return {
            "a": {"values": [ours, 1.01 * ours]},
            "b": {"values": [10.0, 10.1]},
        }

    asked = {"data": ["large"], "each": {"beside": ["small"]}}
    sides = {"first": ["a"], "second": ["b"]}
    for large, small, verdict in (
        (5.0, 9.0, SUPPORTED),
        (9.0, 5.0, CONTRADICTED),
        (20.0, 40.0, MIXED),  # no gains at all
    ):
        outcomes = {"large": made(large), "small": made(small)}
        found = judged("larger gains", outcomes, tmp_path, **asked, **sides)
        assert found.verdict == verdict


def test_who_is_good_sooner(tmp_path: Path) -> None:
    def made(errors: list[float], seconds: list[float]) -> dict[str, Any]:
        curves = {"error": [errors], "seconds": [seconds]}
        return {"curves": curves, "values": [0.0]}

    outcomes = {
        "one": {"a": made([9, 5], [1, 2]), "b": made([5, 5], [3, 4])},
        "two": {"a": made([9, 9], [1, 2]), "b": made([9, 5], [3, 4])},
    }
    asked = {"first": "a", "second": "b", "opposite": ["two"]}
    found = judged("good sooner", outcomes, tmp_path, **asked)
    assert found.verdict == SUPPORTED and "two never, 4.0 s" in found.shown
    asked["opposite"] = []
    assert judged("good sooner", outcomes, tmp_path, **asked).verdict == MIXED
    # A little later is no later, as times are compared.
    late = {"one": {"a": made([5], [3.2]), "b": made([5], [3])}}
    assert judged("good sooner", late, tmp_path, **asked).verdict == SUPPORTED


def test_merging_beside_the_lemma(tmp_path: Path) -> None:
    exact = {"limits": {"SCA": 0.1, "SGD": 0.2}, "values": [0.0]}
    file_of(bsca_judges.LEMMA, tmp_path).write({"cells": {"one/exact": exact}})
    outcomes = {
        "one": {
            "BSCA, B = 5": {"curves": {"maintenance": [[0.11] * 12]}, "values": [1]},
            "BSGD, B = 5": {"curves": {"maintenance": [[0.30] * 12]}, "values": [1]},
        }
    }
    found = judged(
        "merges as the lemma says",
        outcomes,
        tmp_path,
        target="bsca/figure8",
        each={"budget": ["5"]},
        cell="{}, B = {budget}",
        first="BSCA",
        second="BSGD",
        of="maintenance",
    )
    assert found.verdict == MIXED and found.shown.startswith("1 of 2 within")


@pytest.mark.parametrize("name", ["figure4", "figure6", "figure7", "figure8"])
def test_figures_of_bsca(name: str, tmp_path: Path) -> None:
    figure = command.tables()[f"bsca/{name}"]
    assert isinstance(figure, Figure)
    rng = np.random.default_rng(0)
    kinds = ("error", "error_of_last", "primal", "dual", "maintenance", "seconds")
    outcomes: Outcomes = {}
    for cell in figure.cells():
        made = {
            kind: np.sort(1 + rng.random((2, 300)), axis=1).tolist() for kind in kinds
        }
        outcomes.setdefault(cell.data, {})[cell.algorithm] = {"curves": made}
    check(outcomes, figure.rows, figure.draw, tmp_path)


def test_settings_of_a_setup_come_before_those_of_the_figures() -> None:
    setup = EstimatorSetup("BSCAClassifier", {"budget": None, "max_iter": 3})
    model = bsca_curves.estimator_for(small_problem(), setup, 0)
    assert model.max_iter == 3 and model.budget is None


# ---- NBSGD ---------------------------------------------------------------------------


def test_what_is_left_to_the_optimum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nbsgd_theorem, "small", small_problem)
    monkeypatch.setattr(nbsgd_theorem, "LENGTHS", (32, 64, 128, 256, 512))
    nbsgd_theorem._optimum.cache_clear()
    setups = nbsgd_theorem.in_theory("ijcnn1")
    outcomes = run(setups, nbsgd_theorem.suboptimality)
    nbsgd_theorem._optimum.cache_clear()
    lay_out, draw = nbsgd_theorem.suboptimality_rows, nbsgd_theorem.draw_suboptimality
    check(outcomes, lay_out, draw, tmp_path)
    left = np.array(outcomes["one"]["SGD"]["curves"]["suffix average"])
    assert (left > 0).all() and (left[:, -1] < left[:, 0]).all()
    lengths = np.array(nbsgd_theorem.LENGTHS, dtype=float)
    for powers, verdict in (
        ((-1.0, -1.0, -1.0), SUPPORTED),
        ((-0.9, -0.91, -0.905), CONTRADICTED),
        ((-0.7, -0.9, -1.1), SUPPORTED),  # the interval is wide
    ):
        curves = [(lengths**power).tolist() for power in powers]
        outcomes["one"]["NBSGD"]["curves"]["last iterate"] = curves
        found = judged("falls like 1/T", outcomes, tmp_path, first="last iterate")
        assert found.verdict == verdict


def test_objectives_during_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows()
    work = OnlineData("ijcnn1", X, y, False, len(y))
    monkeypatch.setattr(nbsgd_progress, "first_rows", lambda name: work)
    monkeypatch.setattr(nbsgd_progress, "ROWS", len(y))
    monkeypatch.setattr(nbsgd_progress, "POINTS", (20, 60, 120))
    nbsgd_progress._objective.cache_clear()
    outcomes = run(nbsgd_progress.three("ijcnn1"), nbsgd_progress.objectives)
    nbsgd_progress._objective.cache_clear()
    lay_out, draw = nbsgd_progress.objective_rows, nbsgd_progress.draw_objectives
    check(outcomes, lay_out, draw, tmp_path)
    for label, level in (("NBSGD", 1.0), ("BSGD", 2.0), ("SGD", 3.0)):
        noise = np.array([[0.0], [1e-3]])
        curves = (level + noise + np.zeros(3)).tolist()
        outcomes["one"][f"{label}, lambda 2^-8"]["curves"]["objective"] = curves
    asked = {"each": {"lambda": ["2^-8"]}, "cell": "{}, lambda {lambda}"}
    found = judged("objectives of a pass", outcomes, tmp_path, **asked)
    assert found.verdict == SUPPORTED and found.shown.startswith("4 of 4")


def test_kinds_of_maintenance_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nbsgd_projections, "some_rows", small_task)
    made = nbsgd.by_maintenance("ijcnn1")
    few = {"gamma": (0.5, 1.0), "alpha": (2.0**-4,)}
    setups = {
        label: replace(one, grid=few)
        for label, one in made.items()
        if label.startswith("NBSGD, hinge")
    }

    outcomes = run(setups, nbsgd_projections.turns)
    lay_out, draw = (
        nbsgd_projections.projection_rows,
        nbsgd_projections.draw_projections,
    )
    assert len(check(outcomes, lay_out, draw, tmp_path)) == 3
    found = outcomes["one"].values()
    assert all(min(one["maintained"]) > 0 for one in found)
    # The same as learning the same order alone.
    work, one = small_task(), outcomes["one"]["NBSGD, hinge, removal"]
    order = np.random.default_rng(1).permutation(work.n_train)
    setup = setups["NBSGD, hinge, removal"]
    model = setup.build(work, len(order), random_state=1, **one["parameters"])
    model.partial_fit(work.X[order], work.y[order], classes=[False, True])
    assert one["values"][1] == 100 * model.score(work.X[160:], work.y[160:])
    assert one["sizes"][1] == model.model_size_


def test_claims_of_maintenance(tmp_path: Path) -> None:
    levels = {"removal": (80, 1), "approximate projection": (85, 2)}
    levels["exact projection"] = (85, 9)
    outcomes: Outcomes = {
        data: {
            label: {
                "values": [levels[label.split(", ")[2]][0] + k / 10 for k in range(5)],
                "seconds": [levels[label.split(", ")[2]][1]] * 5,
            }
            for label in nbsgd.by_maintenance(data)
        }
        for data in ("A9A", "IJCNN")
    }
    for name in ("N4", "N7"):
        assert verdict_on(name, outcomes, tmp_path) == SUPPORTED
    for found in outcomes.values():
        for label, outcome in found.items():
            if label.endswith("exact projection"):
                outcome["values"] = [value + 5 for value in outcome["values"]]
            if label.endswith("removal"):
                outcome["seconds"] = [5.0]
    assert verdict_on("N4", outcomes, tmp_path) == CONTRADICTED
    assert verdict_on("N7", outcomes, tmp_path) == MIXED  # faster, and less accurate


# ---- BOGD ----------------------------------------------------------------------------


def test_regret_and_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(256)
    monkeypatch.setattr(bogd_regret, "rows_of", lambda name: bogd_regret.Rows(X, y))
    monkeypatch.setattr(bogd_regret, "LENGTHS", (64, 256))
    monkeypatch.setattr(bogd_regret, "BUDGETS", (8, 32))
    monkeypatch.setattr(bogd_regret, "FIXED_BUDGET", 20)
    monkeypatch.setattr(bogd_regret, "FIXED_LENGTH", 128)
    bogd_regret.rival.cache_clear()
    best = bogd_regret.rival("ijcnn1", 64, 8.0)
    assert abs(best.gap) < 1e-3 and best.loss < best.penalised < 64
    outcomes = run(bogd_regret.systems("ijcnn1"), bogd_regret.regret)
    bogd_regret.rival.cache_clear()
    check(outcomes, bogd_regret.regret_rows, bogd_regret.draw_regret, tmp_path)
    by = "regret within its bound"
    assert judged(by, outcomes, tmp_path, first="against T").verdict == SUPPORTED
    for label in ("BOGD, against T", "BOGD++, against T"):
        outcomes["one"][label]["curves"]["excess"][0][-1] = 1e6
    assert judged(by, outcomes, tmp_path, first="against T").verdict == CONTRADICTED
    assert judged(by, outcomes, tmp_path, first="against B").verdict == SUPPORTED


def test_the_conditions_of_the_theorems() -> None:
    for against in (bogd_regret.BY_LENGTH, bogd_regret.BY_BUDGET):
        for one in bogd_regret.conditions(against):
            product = one.alpha * one.eta
            inverse = one.length if against == bogd_regret.BY_LENGTH else one.budget
            assert product == pytest.approx(1 / inverse)
            assert one.penalty == pytest.approx(
                (1 / one.eta + one.alpha * one.length) / 2
            )


@pytest.mark.parametrize(("loss", "is_same"), [("hinge", True), ("log_loss", False)])
def test_with_the_hinge_no_printed_probability_is_negative(
    loss: str, is_same: bool
) -> None:
    X, y = rows(400)
    one, two = (
        onkel.progressive(
            onkel.BOGDClassifier(
                **{"loss": loss, "sampling": sampling, "budget": 10, "eta0": 0.5},
                **{"max_coef": 4.0, "alpha": 1e-5, "gamma": 1.0, "random_state": 0},
            ),
            *(X, y),
            classes=[-1, 1],
        )
        for sampling in ("weighted", "as_printed")
    )
    assert np.allclose(one, two, rtol=0, atol=1e-9) == is_same


def test_times_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bogd_times, "some_rows", small_task)
    monkeypatch.setattr(bogd_times, "BUDGETS", {"ijcnn1": (10,)})
    outcomes = run(bogd_times.budgets("ijcnn1"), bogd_times.turns)
    assert len(outcomes["one"]["B = 10"]["values"]) == bogd_times.TURNS
    check(outcomes, bogd_times.time_rows, bogd_times.draw_times, tmp_path)
    for ratio, verdict in ((1.2, SUPPORTED), (0.9, CONTRADICTED), (1.6, CONTRADICTED)):
        outcomes["one"]["B = 10"]["values"] = [ratio] * 9
        assert judged("slightly slower", outcomes, tmp_path).verdict == verdict


# ---- AVM -----------------------------------------------------------------------------


def test_the_trade_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avm_tradeoff, "task", small_task)
    few = {"gamma": (1.0,), "alpha": (1.0,)}
    setups = {
        label: EstimatorSetup(one.kind, one.fixed, few, one.units)
        for label, one in avm.unlimited("ijcnn1").items()
    }
    outcomes = run(setups, avm_tradeoff.tradeoff)
    check(outcomes, avm_tradeoff.tradeoff_rows, avm_tradeoff.draw_tradeoff, tmp_path)
    found = outcomes["one"][avm_tradeoff.SYSTEM]
    sizes = np.array(found["by_diameter"]).mean(axis=2)[:, 1]
    assert sizes[0] > sizes[-1]
    steps = np.arange(len(found["diameters"]))
    rates = np.array([10, 10, 10, 10.1, 10.2, 10.5, 12, 13, 14, 15.0])
    made = np.stack([rates, 100.0 - steps], axis=1)[:, :, np.newaxis]
    found["by_diameter"] = made.tolist()
    by = "trade-off of cells"
    assert judged(by, outcomes, tmp_path).verdict == SUPPORTED
    found["by_diameter"] = (110.0 - made).tolist()
    assert judged(by, outcomes, tmp_path).verdict == CONTRADICTED
    assert judged("always approximating", outcomes, tmp_path).verdict in (
        SUPPORTED,
        CONTRADICTED,
    )
    kept = avm_tradeoff.rows_kept(found["rows"])
    assert (kept[0] == 0).all() and (np.diff(kept[1:], axis=0) > 0).all()
    made = np.stack([50.0 - 0.1 * kept, kept], axis=2)[..., np.newaxis]
    by = "schedule of approximation"
    for surface, verdict in ((made, SUPPORTED), (-made, CONTRADICTED)):
        found["surface"] = surface.tolist()
        assert judged(by, outcomes, tmp_path).verdict == verdict
    found["surface"] = (made * [[1.0], [-1.0]]).tolist()
    assert judged(by, outcomes, tmp_path).verdict == MIXED


def test_gaps_of_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avm_gap, "few_rows", small_problem)
    monkeypatch.setattr(avm_gap, "LENGTH", 300)
    avm_gap._objective.cache_clear()
    outcomes = run(avm_gap.losses("ijcnn1"), avm_gap.gaps)
    avm_gap._objective.cache_clear()
    check(outcomes, avm_gap.gap_rows, avm_gap.draw_gaps, tmp_path)
    model = onkel.AVMClassifier(gamma=2.0, coverage_radius=avm_gap.radius_of(0.4, 2.0))
    X, y = rows()
    assert model.fit(X, y).coverage_gap_ == pytest.approx(0.4)
    # Cells that hold one row only change nothing.
    assert np.allclose(np.array(outcomes["one"]["hinge"]["curves"]["gap"])[:, 0], 0.0)
    deltas = np.array(avm_gap.GAPS)
    for power, verdict in ((2.0, SUPPORTED), (0.5, CONTRADICTED)):
        for found in outcomes["one"].values():
            found["curves"]["gap"] = [(deltas**power).tolist()] * 2
        assert judged("gap by delta", outcomes, tmp_path).verdict == verdict


def passed(table: Figure, work: OnlineData) -> Outcomes:
    """Run the systems of a figure on made-up rows; all parameters are 1."""
    found = {}
    for label, setup in table.extra(work.name).items():
        settled = setup.settled({key: 1.0 for key in setup.grid})
        assert table.passes is not None
        found[label] = {
            **{"rows": len(work.y), "metric": table.metric},
            **table.passes(work, settled, 2, 60.0),
        }
    return {"one": found}


@pytest.mark.parametrize(("name", "data"), [("figure4", "ijcnn1"), ("figure8", "casp")])
def test_curves_of_all_systems(name: str, data: str, tmp_path: Path) -> None:
    figure = command.tables()[f"avm/{name}"]
    assert isinstance(figure, Figure)
    X, y = rows(400)
    work = OnlineData(data, X, y > 0 if name == "figure4" else X[:, 0], False, 300)
    work = work._replace(is_regression=name == "figure8")
    outcomes = passed(figure, work)
    laid = check(outcomes, figure.rows, figure.draw, tmp_path)
    assert len(laid) == (12 if name == "figure4" else 9)
    label, outcome = next(iter(outcomes["one"].items()))
    setup = figure.extra(data)[label]
    model = setup.build(work, 400, random_state=0, **{k: 1.0 for k in setup.grid})
    order = np.random.default_rng(0).permutation(400)
    error, _ = pass_of(work, model, order)
    # It ends where a table does.
    unit = 1.0 if work.is_regression else 100.0
    assert outcome["values"][0] == pytest.approx(unit * error)
    for outcome in outcomes["one"].values():
        curve = avm_curves.curve_of(outcome)
        assert curve.at(1.0) == pytest.approx(np.mean(outcome["values"]), rel=1e-5)
        assert (curve.rows[0], curve.rows[-1], curve.orders) == (200, 400, 2)
        seconds = np.array(outcome["curves"]["seconds"])
        assert np.all(np.diff(seconds, axis=1) >= 0)
        assert seconds[:, -1] == pytest.approx(outcome["seconds"], rel=1e-5)


def made_curves(shape: Callable[[np.ndarray], np.ndarray], digits: int = 6) -> Outcomes:
    seen = avm_curves.points(50_000, avm_curves.POINTS)
    errors = np.round(shape(seen / 50_000), digits)
    curves = {"error": [errors.tolist()] * 3}
    return {"one": {"some": {"rows": 50_000, "curves": curves, "values": [1.0] * 3}}}


@pytest.mark.parametrize(
    ("shape", "right"),
    [
        # A bump within the first fifth, then nothing.
        (
            lambda s: 20 + 10 * np.exp(-(((s - 0.1) / 0.03) ** 2)),
            {"fluctuates, then settles", "saturates early"},
        ),
        # The same, but rising ever after: no longer settled.
        (
            lambda s: 20 + 10 * np.exp(-(((s - 0.1) / 0.03) ** 2)) + 5 * s,
            {"keeps rising"},
        ),
        # Steep at the beginning, then flat: settled, but it never rose.
        (lambda s: 20 + 20 * np.exp(-s / 0.02), {"saturates early"}),
        (lambda s: 20 - 5 * s, {"keeps improving"}),
        (lambda s: 20 - 0.5 * s, {"saturates early"}),
        (lambda s: 20 + s, {"saturates early", "keeps rising", "rises slightly"}),
        (lambda s: 20 + 10 * s, {"keeps rising"}),
        (lambda s: 20 + 5 * np.cos(9 * s), set()),
    ],
)
def test_shapes_of_curves(
    shape: Callable[[np.ndarray], np.ndarray], right: set[str], tmp_path: Path
) -> None:
    judges = list(avm_judges.JUDGES)[:5]
    found = {
        by: judged(by, made_curves(shape), tmp_path, first=["some"]).verdict
        for by in judges
    }
    assert {by for by, verdict in found.items() if verdict == SUPPORTED} == right
    assert set(found.values()) <= {SUPPORTED, CONTRADICTED}


def test_a_curve_that_moves_by_chance_does_not_fluctuate(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    wrong = np.cumsum(rng.random((3, 50_000)) < 0.2, axis=1)
    outcomes = made_curves(lambda s: s)
    seen = avm_curves.points(50_000, avm_curves.POINTS)
    rates = 100 * wrong[:, seen - 1] / seen
    outcomes["one"]["some"]["curves"]["error"] = rates.tolist()
    asked: dict[str, Any] = {"first": ["some"]}
    by = "fluctuates, then settles"
    assert judged(by, outcomes, tmp_path, **asked).verdict == CONTRADICTED
    assert judged("saturates early", outcomes, tmp_path, **asked).verdict == SUPPORTED


def test_budgets_beside_cells(tmp_path: Path) -> None:
    figure = command.tables()["avm/figure7"]
    assert isinstance(figure, Figure)
    X, y = rows(300)
    work = OnlineData("a9a", X, y > 0, False, 300)
    outcomes = passed(figure, work)
    laid = check(outcomes, figure.rows, figure.draw, tmp_path)
    assert len(laid) == 5 * 6 + 1
    found = outcomes["one"]
    for label in avm_budgets.SWEPT:
        sizes = np.array(found[label]["curves"]["size"])
        assert np.all(sizes <= avm_budgets.BUDGETS["a9a"])
        assert sizes[0, 0] < sizes[0, -1] or sizes[0, -1] < 50
    few = np.array([[0.0], [1e-3], [2e-3]])
    falling = 20.0 - np.arange(6)
    for label, outcome in found.items():
        is_cover = label == "AVM-Hinge"
        mistakes = np.array([10.0]) if is_cover else falling
        times = np.array([0.5]) if is_cover else 0.1 * 2.0 ** np.arange(6)
        outcome["curves"] = {
            "mistakes": (mistakes + few).tolist(),
            "seconds": (times + few).tolist(),
        }
    asked: dict[str, Any] = {"first": list(avm_budgets.SWEPT)}
    judges = list(avm_judges.JUDGES)[5:]
    for by in judges:
        assert judged(by, outcomes, tmp_path, **asked).verdict == SUPPORTED
    on_all = {**asked, "opposite": ["one"]}
    assert judged(judges[2], outcomes, tmp_path, **on_all).verdict == CONTRADICTED
    found["RBP"]["curves"]["mistakes"] = (4.0 + np.arange(6) + few).tolist()
    finding = judged("no budget reaches AVM", outcomes, tmp_path, **asked)
    assert finding.verdict == MIXED and "one RBP, B = 50 10.00 > 4.00" in finding.shown
    finding = judged("larger budgets help and slow", outcomes, tmp_path, **asked)
    assert finding.verdict == MIXED and "9 of 10 comparisons" in finding.shown


# ---- DualSVRG ------------------------------------------------------------------------


def small_setups(make: Callable[..., dict[str, EstimatorSetup]]) -> Any:
    """Return setups with one value for every parameter."""

    def made(name: str) -> dict[str, EstimatorSetup]:
        one = {"gamma": 1.0, "alpha": 1.0, "eta0": 0.5}
        return {
            label: EstimatorSetup(
                setup.kind,
                setup.fixed,
                {key: (one[key],) for key in setup.grid},
                setup.units,
            )
            for label, setup in make("ijcnn1").items()
        }

    return made


def test_mean_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dualsvrg_convergence, "task", small_task)
    work = small_task()
    model = dualsvrg.estimator_for(
        work._replace(name="cod-rna"), dualsvrg.DUAL_SGD, gamma=0.5, alpha=1.0
    )
    order = np.arange(len(work.y))
    found = dualsvrg_convergence.mean_losses(work, model, order)
    again = dualsvrg.estimator_for(work, dualsvrg.DUAL_SGD, gamma=0.5, alpha=1.0)
    scores = onkel.progressive(again, work.X, work.y, classes=[False, True])
    hinge = np.maximum(0.0, 1.0 - np.where(work.y, scores, -scores))
    assert found["hinge"][-1] == pytest.approx(hinge.mean())
    assert found["own loss"] == found["hinge"]  # the hinge is DualSGD's own
    setups = small_setups(dualsvrg.curves)("ijcnn1")
    outcomes = run(setups, dualsvrg_convergence.convergence)
    lay_out = dualsvrg_convergence.convergence_rows
    laid = check(outcomes, lay_out, dualsvrg_convergence.draw_convergence, tmp_path)
    assert len(laid) == 5
    for label, found in outcomes["one"].items():
        level = 1.0 if label.startswith("DualSVRG") else 2.0
        wiggle = 0.1 * (level - 1) * (np.arange(20) % 2)
        curves = (level + wiggle + np.array([[0.0], [1e-3]])).tolist()
        found["curves"] = {"own loss": curves, "hinge": curves}
    assert judged("steadier and lower", outcomes, tmp_path).verdict == SUPPORTED


@pytest.mark.parametrize(
    ("setting", "make", "by"),
    [
        ("memory_size", dualsvrg.steps, "accuracy stays, time grows linearly"),
        ("snapshot_period", dualsvrg.steps, "accuracy stays, time falls"),
        ("coverage_radius", dualsvrg.without_limit, "larger theta"),
    ],
)
def test_sweeps(
    setting: str, make: Any, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dualsvrg_sweeps, "task", small_task)

    def measure(*given: Any) -> dict[str, Any]:
        return dualsvrg_sweeps.sweep(*given, setting=setting)

    outcomes = run(small_setups(make)("ijcnn1"), measure)
    check(outcomes, dualsvrg_sweeps.sweep_rows, dualsvrg_sweeps.draw_sweep, tmp_path)
    values = np.array(dualsvrg_sweeps.VALUES[setting])
    for found in outcomes["one"].values():
        times = {"snapshot_period": 1.0 / values}.get(setting, 0.01 + values)
        mistakes = 5.0 + 0.05 * np.arange(len(values)) + np.array([[0.0], [1e-3]])
        found["curves"] = {
            "mistakes": mistakes.tolist(),
            "seconds": [times.tolist()] * 2,
            "size": [(100 - 10 * np.arange(len(values))).tolist()] * 2,
        }
    asked: dict[str, Any] = {"first": list(outcomes["one"])}
    assert judged(by, outcomes, tmp_path, **asked).verdict == SUPPORTED
    for found in outcomes["one"].values():
        for kind in ("mistakes", "seconds", "size"):
            turned = np.array(found["curves"][kind])[:, ::-1]
            found["curves"][kind] = turned.tolist()
        found["curves"]["mistakes"][0][0] += 50.0
    assert judged(by, outcomes, tmp_path, **asked).verdict == CONTRADICTED
    if setting == "memory_size":
        # Where nothing is learnt, that nothing changes says nothing.
        for found in outcomes["one"].values():
            found["curves"]["mistakes"] = [[found["constant"]] * len(values)] * 2
        assert judged(by, outcomes, tmp_path, **asked).verdict == CONTRADICTED


def test_descent_with_a_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dualsvrg_memory, "task", small_task)
    setups = small_setups(dualsvrg.memories)("ijcnn1")
    outcomes = run(setups, dualsvrg_memory.memory)
    lay_out, draw = dualsvrg_memory.memory_rows, dualsvrg_memory.draw_memory
    assert len(check(outcomes, lay_out, draw, tmp_path)) == 5
    for label, setup in setups.items():
        if label != "DualSGD":
            assert setup.fixed["snapshot_period"] == 1
            assert f"m = {setup.fixed['memory_size']}" in label


def test_claims_of_a_memory(tmp_path: Path) -> None:
    times = {"1": 1.0, "10": 2.0, "100": 9.0}
    runs = [5.0, 5.1, 4.9]
    outcomes: Outcomes = {
        data: {
            f"m = {m}": {"values": runs, "seconds": [seconds]}
            for m, seconds in times.items()
        }
        for data in ("w8a", "cod-rna")
    }
    assert verdict_on("D9", outcomes, tmp_path) == SUPPORTED
    for found in outcomes.values():
        found["m = 100, parameters of m = 1"] = {"values": [4.0, 4.1, 3.9]}
    assert verdict_on("D9", outcomes, tmp_path) == MIXED  # slower, but better
    for found in outcomes.values():
        for outcome in found.values():
            outcome["seconds"] = [1.0]
        found["m = 1"]["seconds"], found["m = 100"]["seconds"] = [9.0], [0.1]
    assert verdict_on("D9", outcomes, tmp_path) == CONTRADICTED


def test_the_rate_and_its_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dualsvrg_rate, "rows_of", small_problem)
    monkeypatch.setattr(dualsvrg_rate, "MEMORIES", (2, 10))
    case = dualsvrg_rate.Case("log_loss", 0.25, 500, 6)
    monkeypatch.setattr(dualsvrg_rate, "CASES", (case,))
    dualsvrg_rate.features.cache_clear()
    outcomes = run(dualsvrg_rate.systems("ijcnn1"), dualsvrg_rate.gaps)
    dualsvrg_rate.features.cache_clear()
    check(outcomes, dualsvrg_rate.gap_rows, dualsvrg_rate.draw_gaps, tmp_path)
    (found,) = outcomes["one"].values()
    assert (np.array(found["gaps"]) > 0).all() and dualsvrg_rate.first_fall(found) < 0.9
    by = "geometric down to 1/m"
    assert judged(by, outcomes, tmp_path).verdict == MIXED  # m is not what decides
    floor = [[[0.1] + [1e-3] * 5, [0.1] + [1e-4] * 5]] * 2
    found |= {"start": 1.0, "gaps": floor}
    assert judged(by, outcomes, tmp_path).verdict == SUPPORTED
    found["gaps"] = [[[1e3] * 6, [1e3] * 6]] * 2
    assert judged(by, outcomes, tmp_path).verdict == CONTRADICTED


def test_the_theorem_of_dual_svrg_is_read_right() -> None:
    case = dualsvrg_rate.CASES[0]
    eta, M, lam = 1 / 152, 2.0, 0.1
    left = 1 - 12 * eta * M
    assert case.period >= 1 / (eta * lam * 0.5 * left)
    rho = 13 * M * eta / ((eta * lam + 1) * left) + 1 / (case.period * lam * eta * left)
    assert dualsvrg_rate.rate(case) == pytest.approx(rho)
    floor = dualsvrg_rate.bounds(case, 10, start=1.0)[-1] - rho**case.periods
    assert floor == pytest.approx(2 * (6 + 12 * M) * eta / (10 * (1 - rho)), rel=0.05)
    for loss in ("smooth_hinge", "log_loss"):
        margins = np.linspace(-1.0, 2.0, 50)
        lost, slope = dualsvrg_rate._loss_and_slope(loss, margins)
        moved, _ = dualsvrg_rate._loss_and_slope(loss, margins + 1e-6)
        assert np.allclose((moved - lost) / 1e-6, slope, atol=1e-4)

"""Reproduction: protocols as data, the runner, verdicts, pages and claims."""

import dataclasses
import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

import onkel
from onkel.reproduce import (
    avm,
    bogd,
    bsca,
    check_stored,
    claims,
    command,
    comparators,
    dualsvrg,
    evidence,
    nbsgd,
    page,
    problems,
    published,
    reproduce,
    runner,
    store,
    targets,
)
from onkel.reproduce.agreement import agreement, half_interval
from onkel.reproduce.online_data import OnlineData
from onkel.reproduce.protocol import (
    LINEAR,
    Cell,
    EstimatorSetup,
    SearchProtocol,
    Table,
)
from onkel.reproduce.summary import Measured, measured, unrest

DOCS = Path(__file__).parents[2] / "docs"


def small_task(name: str = "magic04") -> OnlineData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    return OnlineData(name, X, X[:, 0] * X[:, 1] > 0, False, 300)


def rbp(number: published.PublishedNumber, name: str) -> EstimatorSetup | str:
    if number.algorithm != "RBP":
        return "not this one"
    return EstimatorSetup("RBPClassifier", {"budget": 20}, {"gamma": (0.1, 1.0)})


def small_table(**changes: Any) -> Table:
    given: dict[str, Any] = {
        "paper": "bogd",
        "name": "table3",
        "sentence": "Mistakes.",
        "metric": "mistake_rate_pct",
        "digits": 3,
        "load": small_task,
        "data": {"magic04": "magic04"},
        "setup_of": rbp,
        "search": SearchProtocol("held-out", 2, "80 % and 20 %"),
        "permutations": 3,
        "readings": ("a reading",),
        "remarks": ("a remark",),
    }
    return Table(**{**given, **changes})


def cell_of(table: Table, algorithm: str = "RBP") -> Cell:
    return next(c for c in table.cells() if c.algorithm == algorithm and c.setup)


def claim_of(name: str) -> claims.Claim:
    (found,) = [claim for claim in claims.claims() if claim.name == name]
    return found


# ---- the published numbers -----------------------------------------------------------


def test_published_numbers_of_every_paper() -> None:
    assert {e.paper for e in published.numbers()} == set(command.PAPERS)
    (one,) = [
        e
        for e in published.of("avm", "table4", "mistake_rate_pct")
        if (e.dataset, e.algorithm) == ("a9a", "AVM-Hinge")
    ]
    assert (one.value, one.std, one.n_train, one.size) == (17.46, 0.12, 48842, "142")
    sizes = published.sizes("avm", "table4")
    assert sizes["a9a", "AVM-Hinge", "142"].value == 142


# ---- the protocols -------------------------------------------------------------------


@pytest.mark.parametrize("target", command.tables())
def test_every_system_can_be_built_from_its_grid(target: str) -> None:
    table = command.tables()[target]
    cells = table.cells()
    assert len({cell.key for cell in cells}) == len(cells)
    if table.paper == "bsca":
        return
    work = small_task()._replace(is_regression=table.metric == "rmse")
    for cell in cells:
        if cell.setup is None:
            assert cell.why_not
            continue
        first = {name: values[0] for name, values in cell.setup.grid.items()}
        model = cell.setup.build(work, 200, random_state=0, **first)
        for name, value in first.items():
            if name not in cell.setup.units:
                assert getattr(model, name) == value


def test_units_of_parameters() -> None:
    system = EstimatorSetup(
        "NBSGDClassifier",
        {"budget": 0.1, "maintenance_rate": 0.6},
        units={"alpha": "1/n", "budget": "rows", "maintenance_rate": "rows"},
    )
    model = system.build(small_task(), 200, alpha=3.0)
    assert model.budget == 20 and isinstance(model.budget, int)
    assert model.maintenance_rate == pytest.approx(120.0)
    assert model.alpha == pytest.approx(3.0 / 300)


def test_settings_of_dual_svrg() -> None:
    work = small_task("w8a")
    assert (
        dualsvrg.estimator_for(work, "FOGD", gamma=1.0, eta0=1.0).n_components == 4000
    )
    assert dualsvrg.estimator_for(work, "NOGD", gamma=1.0, eta0=1.0).budget == 1000
    hinge = dualsvrg.estimator_for(work, "DualSVRG-H-C", gamma=1.0, alpha=1.0)
    assert hinge.loss == "smooth_hinge" and hinge.oracle == "coverage"
    assert hinge.eta0 == pytest.approx(1 / 152) and hinge.coverage_radius == 6.5
    assert not hinge.lazy_core
    chosen = "DualSVRG-L-AM" + dualsvrg.CHOSEN
    assert (
        dualsvrg.estimator_for(work, chosen, gamma=1.0, alpha=1.0, eta0=2.0).eta0 == 2.0
    )


def test_papers_share_the_systems_that_they_share() -> None:
    def prints(table: Table) -> dict[str, str]:
        return {
            cell.algorithm: store.fingerprint(table, cell)
            for cell in table.cells()
            if cell.setup is not None and cell.data == "w8a"
        }

    tables = command.tables()
    one, two = (prints(tables[name]) for name in ("avm/table4", "dualsvrg/table2"))
    shared = set(one) & set(two)
    assert shared >= {"Perceptron", "OGD", "RBP", "Projectron++", "FOGD", LINEAR}
    assert all(one[name] == two[name] for name in shared)
    # Another system has another print.
    assert len(set(two.values())) == len(two)


def test_rows_of_the_nbsgd_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(50_000, dtype=float)
    whole = OnlineData("ijcnn1", rows[:, np.newaxis], rows, False, 49_990)
    monkeypatch.setattr(nbsgd, "whole", lambda name: whole)
    work = nbsgd.classification("ijcnn1")
    assert work.n_train == 35_000
    assert work.y[[34_999, 35_000, -1]].tolist() == [34_999, 49_990, 49_999]


# ---- the runner ----------------------------------------------------------------------


def test_a_cell_is_run_with_chosen_parameters() -> None:
    table = small_table()
    outcome = runner.run(table, cell_of(table), wanted=3, limit=60.0)
    assert len(outcome["values"]) == len(outcome["sizes"]) == 3
    assert outcome["values"] == outcome["progressive"]
    assert all(0 < value < 60 for value in outcome["values"])
    assert outcome["parameters"]["gamma"] in (0.1, 1.0)
    assert outcome["rows"] == 400 and outcome["features"] == 2
    json.dumps(outcome)


def test_held_out_rows_are_not_learnt() -> None:
    table = small_table(metric="accuracy_pct", held_out=True)
    cell = cell_of(small_table())
    outcome = runner.run(table, cell, wanted=1, limit=60.0)
    assert outcome["rows"] == 300
    assert outcome["values"] != outcome["progressive"]
    test = small_task().y[300:]
    assert outcome["constant"] == pytest.approx(100 * max(test.mean(), 1 - test.mean()))


def test_a_hopeless_cell_says_how_long_it_would_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "PIECE", 40)
    table = small_table()
    outcome = runner.run(table, cell_of(table), wanted=3, limit=0.0)
    assert "values" not in outcome
    assert outcome["why_not"].startswith("needs about")
    assert outcome["needs"] > 0
    assert page.said_of(table, cell_of(table), outcome).startswith("not run: needs")


def test_orders_stop_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "stream", lambda *_, **__: runner.Pass(0.2, 4.0))
    model = type("Model", (), {"model_size_": 5, "partial_fit": None})()
    system = EstimatorSetup("RBPClassifier")
    monkeypatch.setattr(EstimatorSetup, "build", lambda *_, **__: model)
    found = runner._passes(small_table(), small_task(), system, 10, 9.0)
    assert found["seconds"] == [4.0, 4.0]
    assert found["values"] == [20.0, 20.0]


@pytest.mark.parametrize("piece", [40, 2048])
def test_rows_lost_in_pieces_are_the_mistakes_that_a_model_counts(
    piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PIECE", piece)
    work, order = small_task(), np.arange(300)
    three = work._replace(y=np.digitize(work.X[:, 0], [-0.5, 0.5]))
    for some in (work, three):
        model = onkel.RBPClassifier(budget=20, gamma=1.0, random_state=0)
        found = list(runner.pieces(some, model, order, 60.0))
        assert len(found) == -(-300 // piece)
        assert sum(one.losses.sum() for one in found) == model.n_mistakes_
        again = onkel.RBPClassifier(budget=20, gamma=1.0, random_state=0)
        assert runner.stream(some, again, order, 60.0).error == pytest.approx(
            model.n_mistakes_ / 300
        )


def test_the_linear_model_is_run_in_a_few_orders() -> None:
    table = small_table(extra=lambda name: avm.linear())
    outcome = runner.run(table, cell_of(table, LINEAR), wanted=10, limit=60.0)
    assert len(outcome["values"]) == 3
    assert outcome["sizes"] == []


# ---- the command ---------------------------------------------------------------------


def use(monkeypatch: pytest.MonkeyPatch, table: Table) -> None:
    monkeypatch.setattr(bogd, "TABLES", (table,))
    monkeypatch.setattr(command, "PAPERS", {"bogd": bogd})


def outcome(**changes: Any) -> store.Outcome:
    given = {
        "rows": 19_020,
        "features": 10,
        "constant": 35.0,
        "wanted": 3,
        "parameters": {"gamma": 0.25},
        "values": [31.6, 31.7, 31.8],
        "sizes": [500, 500, 500],
        "seconds": [1.0, 1.0, 1.0],
    }
    return {**given, **changes}


def test_targets_and_unknown_ones(tmp_path: Path) -> None:
    assert {"bogd/table3", "avm/table4", "bsca/figure2", "claims"} <= set(targets())
    assert all(sentence.endswith(".") for sentence in targets().values())
    with pytest.raises(ValueError, match=r"'bogd/table9'; there is .*bogd/table3"):
        reproduce("bogd/table9", tmp_path)
    with pytest.raises(ValueError, match=r"no data set 'mnist', only .*magic04"):
        reproduce("bogd/table3", tmp_path, datasets=["mnist"])
    with pytest.raises(ValueError, match=r"no system 'SVM', only .*RBP"):
        reproduce("bogd/table3", tmp_path, systems=["SVM"])


def test_cells_are_kept_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = small_table()
    use(monkeypatch, table)
    asked: list[str] = []

    def run(
        table: Table, cell: Cell, wanted: int, limit: float, choice: Any
    ) -> store.Outcome:
        assert choice is None
        asked.append(cell.key)
        return outcome(fingerprint=store.fingerprint(table, cell), wanted=wanted)

    monkeypatch.setattr(runner, "run", run)
    heard: list[str] = []
    (written,) = reproduce(
        "bogd", tmp_path, cell_seconds=9.0, announce=heard.append, systems=["RBP"]
    )
    text = written.read_text()
    assert asked and heard[0].startswith("bogd/table3: magic04/RBP/500 (1 of ")
    before = len(asked)
    reproduce("bogd/table3", tmp_path, cell_seconds=9.0, systems=["RBP"])
    assert len(asked) == before
    reproduce(
        "bogd/table3", tmp_path, cell_seconds=9.0, permutations=5, systems=["RBP"]
    )
    assert len(asked) > before
    assert "    onkel reproduce bogd/table3 --system RBP --cell-seconds 9" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| RBP, 500 |")]
    assert row.startswith("| RBP, 500 | 31.700 ± 0.100 | 31.682 ± 0.363 | +0.018 ± ")
    assert " | 500 | - | agrees (wide interval) | " in row  # three runs
    assert "gamma 2^-2" in text
    assert "not run: not this one" in text
    assert "19,020 rows, 10 features. Constant predictor: 35.000." in text
    assert "a reading" in text and "a remark" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in rows}) == 1


def noted(
    work: OnlineData, setup: EstimatorSetup, wanted: int, limit: float
) -> dict[str, Any]:
    return {"values": [setup.fixed["gamma"]] * wanted}


def looked_at(name: str, cell: Cell, wanted: int, limit: float) -> dict[str, Any]:
    assert cell.setup is not None and not cell.setup.grid
    return {"values": [cell.setup.fixed["gamma"]] * wanted}


def lender(name: str, cell: Cell) -> EstimatorSetup:
    return EstimatorSetup("RBPClassifier", {"budget": 20}, {"gamma": (4.0,)})


@pytest.mark.parametrize("code", [{"passes": noted}, {"measure": looked_at}])
def test_a_figure_takes_the_parameters_that_a_table_has_chosen(
    code: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = small_table()
    figure = dataclasses.replace(table, name="table2", **code)
    cell = cell_of(table)
    (given,) = [one for one in figure.cells() if one.key == cell.key] or [cell]
    assert store.fingerprint(figure, given) != store.fingerprint(table, cell)
    assert store.choice_of(figure, given, {}) is None
    # Alone it searches.
    alone = runner.run(figure, given, 2, 60.0, None)
    assert alone["values"] == [alone["parameters"]["gamma"]] * 2
    assert runner.again(figure, given, alone, 1) == alone["values"][:1]
    stored = outcome(parameters={"gamma": 0.7}, error_of_choice=0.1)
    stored |= {"constant_of_choice": 0.5, "why_not": "needs about 70 s a run"}
    known = {store.fingerprint(table, cell): stored}
    choice = store.choice_of(figure, given, known)
    assert choice is not None and choice["parameters"] == {"gamma": 0.7}
    lending = dataclasses.replace(figure, lender=lender)
    assert store.choice_of(lending, given, known) is None
    assert runner.run(lending, given, 2, 60.0)["values"] == [4.0, 4.0]
    monkeypatch.setattr(runner, "search", None)
    # What is stored is checked without a search.
    assert runner.again(figure, given, stored, 1) == [0.7]
    found = runner.run(figure, given, 2, 60.0, choice)
    assert found["values"] == [0.7, 0.7] and found["error_of_choice"] == 0.1
    assert "search_seconds" not in found
    # What has another setup takes nothing; a cell that had no time keeps its own.
    other = given._replace(setup=EstimatorSetup("RBPClassifier", {"budget": 7}))
    assert store.choice_of(figure, other, known) is None
    assert store.choice_of(table, cell, known) == choice


@pytest.mark.parametrize(
    ("target", "cell", "lent_by"),
    [
        ("nbsgd/projections", "BSGD, hinge, removal", "BSGD, hinge, exact projection"),
        ("dualsvrg/memory", "m = 100, parameters of m = 1", "m = 1"),
        ("dualsvrg/memory", "m = 100", "m = 100"),
        (
            "dualsvrg/figure2",
            "DualSGD, parameters of DualSVRG",
            "DualSVRG-H-B, parameters of DualSVRG",
        ),
        (
            "dualsvrg/figure2",
            "DualSVRG-H-B, parameters of DualSGD",
            "DualSGD, parameters of DualSGD",
        ),
        ("bogd/table3", "BOGD++", "BOGD++"),
    ],
)
def test_parameters_are_those_of_who_lends_them(
    target: str, cell: str, lent_by: str
) -> None:
    table = command.tables()[target]
    found = {one.algorithm: one for one in table.cells() if one.setup}
    assert table.searched(found[cell]) == found[lent_by].setup


def test_figures_of_avm_have_the_setups_of_its_tables() -> None:
    prints = {
        store.fingerprint(table, cell)
        for table in (avm.TABLE_4, avm.TABLE_5)
        for cell in table.cells()
        if cell.setup
    }
    for name in ("figure4", "figure7", "figure8"):
        figure = command.tables()[f"avm/{name}"]
        plain = dataclasses.replace(figure, passes=None)
        assert {store.fingerprint(plain, cell) for cell in figure.cells()} <= prints
        assert not {store.fingerprint(figure, cell) for cell in figure.cells()} & prints


@pytest.mark.parametrize(
    ("changes", "limit", "enough"),
    [
        ({}, 60.0, True),
        ({"wanted": 10}, 3.5, True),  # no time for a fourth then, nor now
        ({"wanted": 10}, 60.0, False),
        ({"values": [1.0] * 10}, 60.0, True),
        ({"why_not": "needs about 70 s a run", "needs": 70.0}, 60.0, True),
        ({"why_not": "needs about 70 s a run", "needs": 70.0}, 80.0, False),
    ],
)
def test_what_was_run_before_is_enough(
    changes: dict[str, Any], limit: float, enough: bool
) -> None:
    wanted = 3 if not changes else 10
    assert command._is_enough(outcome(**changes), wanted, limit) == enough


def test_cells_in_processes(tmp_path: Path) -> None:
    # Not at hand: nothing to run, but all of the way there.
    (written,) = reproduce(
        "bogd/table2", tmp_path, datasets=["codrna"], jobs=2, permutations=1
    )
    assert "Not run: its 271,617 rows" in written.read_text()


# ---- verdicts and pages --------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "changes", "said"),
    [
        ((10.0, 0.1, 5), (10.2, 0.1, 5), {}, "agrees"),
        ((10.0, 0.1, 20), (10.2, 0.1, 20), {}, "better"),
        ((10.0, 0.0, 1), (10.04, 0.0, 1), {}, "agrees"),
        ((10.0, 0.0, 1), (9.9, 0.0, 1), {}, "worse (single run)"),
        ((10.0, 0.0, 1), (10.4, 0.3, 5), {}, "agrees (wide interval)"),
        ((10.0, 0.5, 5), (10.3, 0.0, 1), {}, "agrees (wide interval)"),
        ((10.0, 0.1, 9), (10.3, 0.0, 1), {}, "better"),
        ((10.9, 0.1, 9), (10.0, 0.1, 9), {}, "worse"),
        ((10.9, 0.1, 9), (10.0, 0.1, 9), {"larger_is_better": True}, "better"),
        ((10.0, 0.1, 9), (10.9, 0.1, 9), {"same_data": False}, "data differ"),
        (
            *((30.02, 0.1, 9), (10.9, 0.1, 9), {"same_data": False}),
            "constant predictor (ours)",
        ),
        ((10.0, 0.1, 9), (30.04, 0.1, 9), {}, "constant predictor (theirs)"),
        ((30.0, 0.1, 9), (30.0, 0.0, 1), {}, "constant predictor (ours and theirs)"),
    ],
)
def test_verdicts(
    ours: tuple[float, float, int],
    theirs: tuple[float, float, int],
    changes: dict[str, Any],
    said: str,
) -> None:
    known = {"constant": 30.0, "same_data": True, "digits": 1}
    given = {**known, "larger_is_better": False, **changes}
    found = agreement(Measured(*ours), Measured(*theirs), **given)
    assert found.verdict == said
    assert found.difference == pytest.approx(ours[0] - theirs[0])


def test_the_interval_of_a_difference_is_that_of_welch() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.normal(0.0, 1.0, 7), rng.normal(0.5, 2.0, 12)
    low, high = ttest_ind(one, two, equal_var=False).confidence_interval(0.99)
    found = half_interval(measured(list(one)), measured(list(two)))
    assert found == pytest.approx((high - low) / 2)


def curve_outcome(seed: int) -> store.Outcome:
    rng = np.random.default_rng(seed)
    names = ("error", "error_of_last", "primal", "dual", "maintenance", "seconds")
    made = {name: (1 + rng.random((3, bsca.EPOCHS))).tolist() for name in names}
    return outcome(curves=made, values=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ["figure1", "figure2", "figure3", "figure5"])
def test_figures_are_drawn(name: str, tmp_path: Path) -> None:
    (figure,) = [table for table in bsca.TABLES if table.name == name]
    cells = {cell.key: curve_outcome(i) for i, cell in enumerate(figure.cells())}
    missing = list(cells)[-1]
    cells[missing] = {"why_not": "needs about 900 s a run"}
    about = {"command": "onkel", "machine": "a machine", "date": "a day"}
    kept = store.file_of(figure.target, tmp_path)
    kept.write({"about": about, "cells": cells})
    text = page.write("bsca", bsca.TABLES, tmp_path).read_text()
    assert (tmp_path / f"bsca_{name}.png").stat().st_size > 5000
    assert f"](bsca_{name}.png)" in text
    assert "needs about 900 s a run" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) > 5 and len({line.count("|") for line in rows}) == 1


def test_betas_are_drawn(tmp_path: Path) -> None:
    (figure,) = [table for table in nbsgd.TABLES if table.name == "figure2"]
    made = {
        cell.key: outcome(
            values=[90.0 + i, 91.0 + i],
            sizes=[100 - i, 100 - i],
            parameters={"gamma": 1.0, "alpha": 0.25},
        )
        for i, cell in enumerate(figure.cells())
    }
    about = {"command": "onkel", "machine": "a machine", "date": "a day"}
    kept = store.file_of(figure.target, tmp_path)
    kept.write({"about": about, "cells": made})
    text = page.write("nbsgd", nbsgd.TABLES, tmp_path).read_text()
    assert "| beta = 0.6 n | 94.50 ± 0.71 | 96 | 1 | 2^-2 |" in text
    finding = claim_of("N2").judged(evidence.Evidence(tmp_path))
    # The model shrinks, but is more accurate.
    assert finding.verdict == comparators.MIXED


def test_unrest_is_the_spread_over_late_epochs() -> None:
    errors = np.zeros((2, 14))
    errors[:, :4] = 1.0
    assert unrest(errors).tolist() == [0.0, 0.0]


def test_curves_of_a_problem() -> None:
    work = small_task()
    signs = np.where(work.y, 1, -1)
    task = problems.Problem("a", work.X, signs, work.X, signs, C=1.0, gamma=1.0)
    (cell, *_) = bsca.TABLES[4].cells()
    small = dataclasses.replace(cell.setup, fixed={"budget": 20, "max_iter": 3})
    curves = partial(bsca.curves, load=lambda name: task)
    found = curves("a", cell._replace(setup=small), wanted=2, limit=600.0)
    assert np.shape(found["curves"]["error"]) == (2, 3)
    assert np.shape(found["curves"]["dual"]) == (2, 3)
    assert found["values"] == [errors[-1] for errors in found["curves"]["error"]]
    assert all(0 <= value < 50 for value in found["values"])
    slow = curves("a", cell._replace(setup=small), wanted=2, limit=1e-9)
    assert "needs about" in slow["why_not"]


# ---- claims --------------------------------------------------------------------------


def test_every_claim_has_a_verdict(tmp_path: Path) -> None:
    names = [claim.name for claim in claims.claims()]
    wanted = {"N": 16, "O": 13, "S": 17, "A": 21, "D": 12}
    assert names == [f"{k}{i}" for k, n in wanted.items() for i in range(1, n + 1)]
    (tmp_path / "reproduce").mkdir()
    written = reproduce("claims", tmp_path / "reproduce")
    assert written == [tmp_path / "claims.md"]
    rows = [r for r in written[0].read_text().splitlines() if r.startswith("| ")]
    assert sum("not run" in row for row in rows) > 20
    known = set(targets()) | set(command.PAPERS)
    for claim in claims.claims():
        if claim.command.startswith("onkel reproduce"):
            assert claim.command.split()[2] in known


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the outcomes of our runs, in a place where pages may be written."""
    folder = Path("docs/reproduce")
    (tmp_path / folder).mkdir(parents=True)
    for path in (DOCS / "reproduce").glob("*.json"):
        shutil.copy(path, tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("name", ["claims", "papers"])
def test_pages_of_all_papers_are_what_our_outcomes_say(name: str, kept: Path) -> None:
    (written,) = reproduce(name, kept)
    assert written.read_text() == (DOCS / f"{name}.md").read_text()


def test_every_target_of_a_table_or_figure_is_on_the_page_of_papers() -> None:
    shown = (DOCS / "papers.md").read_text()
    named = re.compile(r"\w+/(table|figure)\d+")
    wanted = {name for name in targets() if named.fullmatch(name)}
    # Figure 3 is figure 2 on other data.
    missing = {name for name in wanted if f"reproduce {name}`" not in shown}
    assert missing == {"avm/figure3"}


@pytest.mark.parametrize("module", [bogd, avm, dualsvrg])
def test_pages_are_what_our_outcomes_say(module: Any, kept: Path) -> None:
    paper = module.TABLES[0].paper
    text = (DOCS / "reproduce" / f"{paper}.md").read_text()
    # Code changes more often than pages do.
    (engine,) = re.findall(r"engine `(\w+)`", text)
    written = page.write(paper, module.TABLES, kept, engine)
    assert written.read_text() == text


def test_claims_are_judged_by_outcomes(tmp_path: Path) -> None:
    cells = {
        f"{data}/{name}/{size}": outcome(values=values)
        for data in ("spambase", "magic04")
        for name, size, values in (
            ("Perceptron", "7", [20.0, 20.2, 20.1]),
            ("OGD", "9", [15.0, 15.2, 15.1]),
        )
    }
    store.file_of("bogd/table2", tmp_path).write({"cells": cells})
    found = evidence.Evidence(tmp_path)
    finding = claim_of("O1").judged(found)
    assert finding.verdict == comparators.SUPPORTED
    assert "2 of 2 better" in finding.shown and "15.10 < 20.10" in finding.shown
    (asked,) = claim_of("O1").parts
    reverse = dataclasses.replace(
        asked, data=["magic04"], first="Perceptron", second="OGD"
    )
    assert comparators.better(reverse.pairs(found)).verdict == comparators.CONTRADICTED
    missing = dataclasses.replace(reverse, data=["german"])
    assert comparators.better(missing.pairs(found)).verdict == comparators.NOT_TESTED


def test_comparisons() -> None:
    near = evidence.Pair("a", [1.0, 1.1], [1.05, 1.1])
    far = evidence.Pair("b", [1.0, 1.1], [3.0, 3.1])
    single = far._replace(first=[1.0])
    assert comparators.sign_of_difference(near) == 0
    assert comparators.sign_of_difference(far) == 1
    assert comparators.sign_of_difference(far, larger=True) == -1
    assert comparators.sign_of_difference(single) is None
    assert (
        comparators.sign_of_difference(evidence.Pair("c", [2.0, 2.0], [1.0, 1.0])) == -1
    )
    assert comparators.better([near, far]).verdict == comparators.MIXED
    assert comparators.better([near, far, far]).verdict == comparators.SUPPORTED
    assert comparators.better([near, far, far], larger=True).verdict == (
        comparators.CONTRADICTED
    )
    assert comparators.better([near]).verdict == comparators.MIXED
    assert "1.05 ≈ 1.08" in comparators.better([near]).shown
    unknown = comparators.better([single])
    assert unknown.verdict == comparators.NOT_TESTED and "1.00 ? 3.05" in unknown.shown


def test_what_is_nearly_equal_is_so_by_the_interval_of_the_difference() -> None:
    near = evidence.Pair("a", [1.0, 1.1, 1.2], [1.05, 1.1, 1.15])
    far = evidence.Pair("b", [1.0, 1.1, 1.2], [3.0, 3.1, 3.2])
    loose = evidence.Pair("c", [0.0, 1.0, 2.0], [2.0, 1.0, 0.0])
    single = evidence.Pair("d", [1.0], [1.0])
    signs = [comparators.sign_of_gap(one, 0.5) for one in (near, far, loose, single)]
    assert signs == [1, -1, 0, None]
    # In the same orders the spread of both does not matter.
    assert comparators.sign_of_gap(loose._replace(second=loose.first), 0.5) == 1
    assert comparators.sign_of_gap(loose._replace(second=[1.0, 1.0]), 0.5) == 0
    assert comparators.alike([near, far], room=0.5).verdict == comparators.MIXED
    assert comparators.alike([near], room=0.5).verdict == comparators.SUPPORTED
    assert comparators.alike([far], room=0.5).verdict == comparators.CONTRADICTED
    assert comparators.alike([loose], room=0.5).verdict == comparators.MIXED
    assert comparators.alike([single], room=0.5).verdict == comparators.NOT_TESTED
    most = comparators.alike([near, near, far], room=0.5, mostly=True)
    assert most.verdict == comparators.SUPPORTED
    assert "2 of 3 within 0.5, 1 further apart. Largest gap: b 1.10 and" in most.shown


def test_trends_are_those_of_ranks() -> None:
    x = list(range(8))
    up = [value**3 for value in x]
    assert comparators.sign_of_trend(x, up) == 1
    assert comparators.sign_of_trend(x, up[::-1]) == -1
    assert comparators.sign_of_trend(x, [0, 5, 1, 4, 2, 3, 0, 5]) == 0
    assert comparators.sign_of_trend(x[:5], up[:5]) is None
    assert comparators.verdict_on([1, None, 1]) == comparators.SUPPORTED
    assert comparators.verdict_on([-1, -1]) == comparators.CONTRADICTED
    assert comparators.verdict_on([1, 0]) == comparators.MIXED
    assert comparators.verdict_on([0]) == comparators.MIXED
    assert comparators.verdict_on([None]) == comparators.NOT_TESTED


def test_claims_that_something_is_not_worse_or_mostly_better() -> None:
    near = evidence.Pair("a", [1.0, 1.1], [1.05, 1.1])
    far = evidence.Pair("b", [1.0, 1.1], [3.0, 3.1])
    back = evidence.Pair("c", far.second, far.first)
    assert comparators.better([near], or_equal=True).verdict == comparators.SUPPORTED
    assert (
        comparators.better([near, back, far], or_equal=True).verdict
        == comparators.MIXED
    )
    assert comparators.better([far, far, back]).verdict == comparators.MIXED
    mostly = comparators.better([far, far, back], mostly=True)
    assert mostly.verdict == comparators.SUPPORTED
    assert comparators.better([back, back, far], mostly=True).verdict == (
        comparators.CONTRADICTED
    )


def test_times_are_compared_where_they_can_be() -> None:
    quick = evidence.Pair("d", [0.001], [0.01])
    far = evidence.Pair("b", [1.0, 1.1], [3.0, 3.1])
    assert comparators.sign_of_times(quick) is None
    assert comparators.sign_of_times(far) == 1
    assert comparators.sign_of_times(evidence.Pair("", [1.0], [1.4])) == 0
    assert comparators.sign_of_times(evidence.Pair("", [0.06], [0.0])) == -1
    assert comparators.faster([quick]).verdict == comparators.NOT_TESTED
    equal = evidence.Pair("", [1.0], [1.4])
    assert comparators.faster([equal]).verdict == comparators.MIXED
    assert comparators.faster([equal], or_equal=True).verdict == comparators.SUPPORTED
    found = comparators.faster([quick, far], about="a, b")
    assert found.verdict == comparators.SUPPORTED
    assert "0.00 ? 0.01; b 1.00 < 3.00" in found.shown


def test_pairs_of_a_question(tmp_path: Path) -> None:
    def at(data: str, system: str, size: int, *values: float) -> dict[str, Any]:
        curves = {"error": [[value, value + 1] for value in values]}
        made = outcome(values=list(values), sizes=[size], curves=curves)
        return {f"{data}/{system}, x/{size}": made}

    cells = at("a", "one", 5, 3.0) | at("a", "one", 10, 2.0) | at("a", "two", 10, 1.0)
    cells |= at("b", "two", 5, 9.0)
    store.file_of("bogd/table3", tmp_path).write({"cells": cells})
    found = evidence.Evidence(tmp_path)
    asked = evidence.Question(
        "lower",
        target="bogd/table3",
        data=["a"],
        first="one",
        second=["one", "two"],
        cell="{}, {letter}",
        each={"budget": "all", "letter": ["x"]},
    )
    assert list(asked.pairs(found)) == [
        ("a 5 x (one)", [3.0], [3.0]),
        ("a 10 x (two)", [2.0], [1.0]),
    ]
    largest = dataclasses.replace(
        asked, each={"budget": "largest", "letter": ["x"]}, of="error", epoch=2
    )
    assert list(largest.pairs(found)) == [("a 10 x (two)", [3.0], [2.0])]
    plain = evidence.Question(
        "lower",
        target="bogd/table3",
        data=["a", "b"],
        first="one",
        second={"system": "two", "of": "missed"},
        cell="{}, x",
        opposite=["a"],
        pair="on {data}",
    )
    assert list(plain.pairs(found)) == [
        ("on a (two, one)", [99.0], [3.0]),
        ("on b", [], [91.0]),
    ]


def test_parts_of_a_claim_are_joined() -> None:
    good, bad, _, none, no_data = (
        comparators.Finding(verdict, "shown") for verdict in comparators.VERDICTS
    )
    assert comparators.joined([good, none]) == (comparators.SUPPORTED, "shown. shown")
    assert comparators.joined([good, bad]).verdict == comparators.MIXED
    assert comparators.joined([none, no_data]).verdict == comparators.NOT_TESTED
    assert comparators.joined([no_data]).verdict == comparators.NO_DATA
    assert comparators.counted([True, False]) == comparators.MIXED


def all_cells() -> list[tuple[Table, Cell]]:
    tables = command.tables().values()
    return [(table, cell) for table in tables for cell in table.cells() if cell.setup]


def test_stored_outcomes_are_recognised_whatever_room_their_loaders_are_in() -> None:
    def elsewhere(name: str) -> OnlineData:
        return small_task(name)

    elsewhere.__module__ = "other.rooms.online_data"
    here = dataclasses.replace(small_table(), load=elsewhere)
    cell = cell_of(here)
    before = store.fingerprint(here, cell)
    elsewhere.__module__ = "onkel.reproduce.online_data"
    assert store.fingerprint(here, cell) == before
    single = dataclasses.replace(here, dtype="float32")
    assert store.fingerprint(single, cell) != before
    # What was stored since outcomes name their engine is still asked for.
    asked = {store.fingerprint(table, cell) for table, cell in all_cells()}
    known = store.everything(DOCS / "reproduce")
    stored = [mark for mark, found in known.items() if "engine" in found]
    assert sum(mark in asked for mark in stored) >= 0.9 * len(stored)


def test_what_is_stored_was_measured_by_the_protocols_of_today() -> None:
    others = []
    for target, table in command.tables().items():
        asked = {
            cell.key: store.fingerprint(table, cell)
            for cell in table.cells()
            if cell.setup is not None
        }
        for key, found in store.file_of(target, DOCS / "reproduce").records.items():
            if "values" in found and found.get("fingerprint") != asked.get(key, "-"):
                others.append(f"{target}: {key}")
    assert others == []


# ---- stale cells, and cells that are run again ---------------------------------------


def test_stale_cells_are_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = small_table()
    use(monkeypatch, table)
    (written,) = reproduce("bogd", tmp_path, systems=["RBP"], permutations=2)
    fresh = written.read_text()
    assert "†" not in fresh and "‡" not in fresh
    assert f"engine `{store.engine()}`" in fresh
    page.write("bogd", [table], tmp_path, engine="another")
    assert " | 2 of 3† | " not in fresh and "†" in written.read_text()
    assert "3 of 3 cells were measured by another engine" in written.read_text()
    other = dataclasses.replace(table, dtype="float32")
    page.write("bogd", [other], tmp_path)
    assert "3 of 3 cells were measured by an earlier protocol" in written.read_text()


def test_a_cell_is_stale_by_the_code_of_its_own_loader_and_measure() -> None:
    tables = command.tables()

    def cell_on(target: str, data: str) -> tuple[Table, Cell]:
        table = tables[target]
        return table, next(c for c in table.cells() if c.setup and c.data == data)

    # Who loads poker is not who loads a9a; both are measured by the runner.
    poker, a9a = (
        store.code_of(*cell_on("avm/table4", data)) for data in ("poker", "a9a")
    )
    assert poker != a9a != store.code_of(*cell_on("avm/theorem5", "IJCNN"))
    assert {"choosing", "limited_fit", "online_data"} <= store.imported_by("runner")
    assert not store.imported_by("avm_gap") & store.DESCRIBING
    # Every name that is left out is one.
    assert all(store._source(name) for name in store.DESCRIBING)
    table = small_table()
    cell = cell_of(table)
    known = {
        "fingerprint": store.fingerprint(table, cell),
        "engine": "a",
        "code": store.code_of(table, cell),
    }

    def why(**changes: str) -> str:
        return store.staleness(table, cell, {**known, **changes}, "a")

    assert why() == ""
    assert why(code="other") == why(engine="b") == store.OTHER_ENGINE
    assert why(engine="b", confirmed="a") == ""
    del known["code"]
    assert why() == ""  # stored earlier


def test_stored_cells_are_run_again_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = small_table()
    use(monkeypatch, table)
    reproduce("bogd", tmp_path, systems=["RBP"], permutations=2)
    kept = store.file_of(table.target, tmp_path)
    key = "magic04/RBP/1000"
    first = kept.records[key]
    # What a process is sent, of several.
    found = command._again_by_name(7, table.target, key, first, 1)
    assert found == (7, first["values"][:1])
    for name, changed in (
        (key, {"values": [1.0, 2.0]}),
        ("magic04/RBP/500", {"engine": "another"}),
        ("magic04/RBP/1500", {"fingerprint": "of another protocol"}),
    ):
        kept.add(name, {**kept.records[name], **changed})
    heard: list[str] = []
    written, one = check_stored(tmp_path, announce=heard.append)
    text = written.read_text()
    assert len(heard) == 2 and "1 of 2 are the same" in text
    assert "1 more were stored by\nan earlier protocol" in text
    (differs,) = [line for line in text.splitlines() if line.endswith("| differs |")]
    assert key in differs and "| 1 |" in differs
    assert kept.records["magic04/RBP/500"]["confirmed"] == store.engine()
    known = kept.records["magic04/RBP/500"]["code"]
    assert known == store.code_of(table, cell_of(table))
    assert "confirmed" not in kept.records[key]
    assert "†" not in one.read_text() and "‡" in one.read_text()


def test_rows_are_learnt_in_the_precision_of_the_table() -> None:
    seen: list[Any] = []

    class Watch(EstimatorSetup):
        def build(self, work: OnlineData, rows: int, **parameters: Any) -> Any:
            seen.append(work.X.dtype)
            return super().build(work, rows, **parameters)

    table = small_table(dtype="float32")
    cell = cell_of(table)._replace(setup=Watch("RBPClassifier", {"budget": 20}))
    one = runner.run(table, cell, wanted=1, limit=60.0)
    assert set(seen) == {np.dtype("float32")}
    assert one["engine"] == store.engine()


# ---- what the pages must say ---------------------------------------------------------


def test_what_is_worse_has_a_cause_or_says_that_none_was_found() -> None:
    silent = [
        f"{target}: {cell.key}"
        for target, table in command.tables().items()
        for cell in page.worse_cells(
            table, store.file_of(target, DOCS / "reproduce").records
        )
        if not table.cause_of(cell)
    ]
    assert silent == []


def test_causes_and_constants_are_on_the_page(tmp_path: Path) -> None:
    causes = {"magic04/RBP/*": "it was tested"}
    table = small_table(causes=causes, permutations=20)
    cells = {
        "magic04/RBP/500": outcome(values=[33.0, 33.1, 33.2]),
        "magic04/RBP/1000": outcome(values=[35.0, 35.0, 35.0]),
        "magic04/RBP/1500": outcome(error_of_choice=0.35, constant_of_choice=0.35),
    }
    about = {"command": "onkel", "machine": "a machine", "date": "a day"}
    store.file_of(table.target, tmp_path).write({"about": about, "cells": cells})
    text = page.write("bogd", [table], tmp_path).read_text()
    assert "Why ours is worse:\n\n- RBP, 500; RBP, 1,500: it was tested\n" in text
    assert "| constant predictor (ours) |" in text
    assert "| gamma 2^-2 (constant predictor in the search) |" in text


def test_a_number_of_ours_stands_beside_the_published_one() -> None:
    (table, *_) = bogd.TABLES
    (cell,) = [
        one
        for one in table.cells()
        if (one.data, one.algorithm) == ("ijcnn1", "OGD, eta = 1")
    ]
    assert cell.published is not None and cell.published.value == 9.181
    assert table.is_extra(cell)
    assert cell.setup is not None and cell.setup.fixed["eta0"] == 1.0
    w8a = next(one for one in table.cells() if one.data == "w8a")
    assert not table.is_extra(w8a)
    assert table.has_published_rows(w8a, 64_700)
    assert not table.has_published_rows(w8a, 24_692)


def test_of_several_budgets_that_of_the_setup_stands_beside_it() -> None:
    table = command.tables()["bogd/table3"]
    ours = [one for one in table.cells() if "as printed" in one.algorithm]
    assert len(ours) == 12 and all(table.is_extra(one) for one in ours)
    for cell in ours:
        assert cell.setup is not None and cell.published is not None
        assert cell.setup.fixed["sampling"] == "as_printed"
        assert cell.algorithm.endswith(f"B = {cell.published.size}")
        assert str(cell.setup.fixed["budget"]) == cell.published.size
        assert cell.published.algorithm == "BOGD++"


def test_claims_rest_on_outcomes_that_commands_produce(kept: Path) -> None:
    commands = set(targets()) | set(command.PAPERS)
    found = evidence.Evidence(kept)
    for claim in claims.claims():
        words = claim.command.split()
        if claim.command == "-":
            assert {asked.by for asked in claim.parts} <= {"untested", "no data"}
            continue
        assert words[:2] == ["onkel", "reproduce"] and words[2] in commands
        for asked in claim.parts:
            sides = [asked.first, asked.second]
            own = [side["target"] for side in sides if "target" in side]
            for target in {asked.target, *own}:
                assert target in command.tables(), claim.name
                assert store.file_of(target, kept).path.exists(), (
                    f"{claim.name} is judged by {target}, of which nothing is stored"
                )
    # Without outcomes nothing can be shown but why.
    empty = evidence.Evidence(kept / "nothing")
    for claim in claims.claims():
        nothing = claim.judged(empty)
        assert nothing.verdict in (comparators.NOT_TESTED, comparators.NO_DATA)
        if claim.command != "-":
            assert set(nothing.shown.split(". ")) == {"not run"}, claim.name
        assert claim.judged(found).verdict in comparators.VERDICTS


def test_verdicts_are_counted_beside_earlier_ones(tmp_path: Path) -> None:
    folder = tmp_path / "reproduce"
    folder.mkdir()
    plain = claims.write(folder).read_text()
    assert "| all | 0 | 0 | 0 | 75 | 4 |" in plain
    earlier = {"commit": "abc", "verdicts": {"N1": "supported", "O1": "untestable"}}
    (folder / "verdicts.json").write_text(json.dumps(earlier))
    text = claims.write(folder).read_text()
    assert "those of commit abc in brackets" in text
    assert "| NBSGD | 0 (1) | 0 (0) | 0 (0) | 15 (0) | 1 (0) | 0 (0) |" in text
    assert "| all | 0 (1) | 0 (0) | 0 (0) | 75 (0) | 4 (0) | 0 (1) |" in text

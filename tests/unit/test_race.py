"""The race: contestants, streams, orders, and what is written about them."""

import dataclasses
import importlib
import importlib.util
import io
import json
import sys
import tracemalloc
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import scipy.sparse
from rich.console import Console
from sklearn.neighbors import KNeighborsClassifier

import onkel
from onkel.data import Batch
from onkel.data.shuffling import shuffled
from onkel.estimators._registry import systems
from onkel.race import compilation, contestants, orders, references, report, trees
from onkel.race import race as racing
from onkel.race.contestants import library
from onkel.race.entrants import Entrant, StartList
from onkel.race.orders import Orders
from onkel.race.outcome import Outcome, Result
from onkel.race.predictions import slug
from onkel.race.problem import Problem
from onkel.race.report.curves import rates
from onkel.race.report.files import written
from onkel.race.report.labels import spread
from onkel.race.report.pictures import pictures
from onkel.race.report.prices import front
from onkel.race.report.words import unplaced
from onkel.race.settings import RaceSettings
from onkel.race.streams import Stream, digits, turning_rings

# Float64 and few systems: each more would have to be compiled.
RACERS = ("BSGD", "RBP")
GRAND = {"budget": 30, "gamma": 0.5, "systems": RACERS}


def wide(stream: Stream, rows: int | None = None) -> Stream:
    X, y = stream.X[:rows].astype(np.float64), stream.y[:rows]
    return dataclasses.replace(stream, X=X, y=y)


def waves(rows: int = 300) -> Stream:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(rows, 2))
    y = 1000 + 50 * np.sin(2 * X[:, 0]) + rng.normal(size=rows)
    return Stream("waves", X, y, is_regression=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("race")


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    stream = wide(digits(), rows=300)
    stream = dataclasses.replace(stream, name="<i>digits</i> & more")
    saved = folder / "predictions"
    return raced(stream, permutations=2, seed=1, predictions=saved, **GRAND)


def raced(stream: Any, **settings: Any) -> Outcome:
    return racing.race(stream, RaceSettings(**settings))


def by_name(outcome: Outcome) -> dict[str, Result]:
    return {result.name: result for result in outcome.results}


# ---- who starts


@pytest.mark.parametrize(("task", "classes"), [("Classifier", 3), ("Regressor", 0)])
def test_every_system_for_streams_starts_or_is_said_not_to(
    task: str, classes: int
) -> None:
    starting = library(Problem(100, 5, classes), budget=50, gamma=1.0)
    started = {entrant.model.split("(")[0] for entrant in starting.entrants}
    assert systems(task).keys() - started == {f"BSCA{task}", f"LLSVM{task}"}
    assert set(starting.left_out) == {"BSCA", "LLSVM"}
    names = {entrant.name for entrant in starting.entrants}
    assert {"BOGD", "BOGD++", "BPA-S", "BPA-NN", "BPA-P", "Projectron"} <= names


def test_all_have_the_same_budget_or_none() -> None:
    starting = library(Problem(100, 5, 2), budget=50, gamma=1.0)
    assert {entrant.budget for entrant in starting.entrants} == {50, None}


def test_systems_without_a_budget_start_in_short_races_only() -> None:
    starting = library(Problem(contestants.UNBUDGETED_ROWS + 1, 5, 2), 50, 1.0)
    assert {"KernelPerceptron", "OGD", "KernelSGD"} <= set(starting.left_out)
    assert all(entrant.budget == 50 for entrant in starting.entrants)


def test_unknown_systems_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'magic'; there are: AVM, BOGD"):
        raced(wide(turning_rings(100)), gamma=1.0, systems=["magic", "rbp"])


@pytest.mark.parametrize("name", ["budget", "permutations", "batch_rows"])
def test_nothing_is_not_enough(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        raced(wide(turning_rings(100)), gamma=1.0, **{name: 0})


@pytest.mark.parametrize("gamma", ["wide", 0.0, np.nan])
def test_gamma_is_a_number_above_zero(gamma: Any) -> None:
    with pytest.raises(ValueError, match='gamma must be "auto" or a number above 0'):
        raced(wide(turning_rings(100)), gamma=gamma)


def test_one_label_makes_no_race() -> None:
    stream = dataclasses.replace(wide(turning_rings(100)), y=np.ones(100, int))
    with pytest.raises(ValueError, match="needs two labels"):
        raced(stream, gamma=1.0)


# ---- how they do


def test_results_are_finite_and_in_order(outcome: Outcome) -> None:
    assert {*RACERS, references.CONSTANT, references.LINEAR} <= set(by_name(outcome))
    errors = [result.error for result in outcome.ranked]
    assert errors == sorted(errors)
    assert outcome.results[: len(errors)] == outcome.ranked
    for result in outcome.results:
        assert len(result.runs) == 2
        assert result.spread is not None and result.spread >= 0
        assert result.rows_per_second is not None and result.rows_per_second > 0
        assert result.memory is not None and result.memory > 0
    for name in RACERS:
        result = by_name(outcome)[name]
        assert result.size == result.budget == 30
        assert all(run.updates and 30 <= run.updates <= 300 for run in result.runs)


def test_order_agrees_with_saved_predictions(outcome: Outcome, folder: Path) -> None:
    recomputed = {}
    for result in outcome.ranked:
        rates = []
        for run in ("run-1", "run-2"):
            y = np.load(folder / "predictions" / run / "y.npy")
            said = np.load(folder / "predictions" / run / f"{slug(result.name)}.npy")
            assert sorted(y) == sorted(digits().y[:300])
            rates.append(np.mean(said != y))
        recomputed[result.name] = np.mean(rates)
        assert recomputed[result.name] == pytest.approx(result.error, abs=1e-15)
    assert sorted(recomputed, key=recomputed.get) == [r.name for r in outcome.ranked]  # type: ignore[arg-type]
    one, other = (recomputed[name] for name in RACERS)
    assert one != other


def test_mistakes_are_those_that_the_model_counts(folder: Path) -> None:
    stream = dataclasses.replace(wide(digits(), rows=300), in_order=True)
    result = by_name(raced(stream, **GRAND))["RBP"]
    model = onkel.RBPClassifier(budget=30, gamma=0.5, random_state=0)
    model.partial_fit(stream.X, stream.y, classes=stream.classes)
    (run,) = result.runs
    assert run.error == model.n_mistakes_ / 300
    assert run.updates == model.n_updates_
    assert run.curve[-1] == model.n_mistakes_


def test_who_exceeds_the_budget_is_said_to_grow(outcome: Outcome) -> None:
    result = by_name(outcome)["BSGD"]
    assert not result.grows
    larger = [dataclasses.replace(run, size=31) for run in result.runs]
    assert dataclasses.replace(result, runs=larger).grows
    assert dataclasses.replace(result, budget=None).grows


def test_batches_change_nothing() -> None:
    stream = wide(digits(), rows=200)
    given = {**GRAND, "permutations": 1, "references": False}
    one, other = (raced(stream, batch_rows=rows, **given) for rows in (7, 200))
    for name in RACERS:
        ours, theirs = (by_name(o)[name].runs[0] for o in (one, other))
        assert ours.error == theirs.error
        assert ours.curve.tolist() == theirs.curve.tolist()


def test_labels_may_be_words_and_rows_sparse() -> None:
    stream = wide(turning_rings(300))
    words = np.where(stream.y == 1, "ja", "nein")
    X = scipy.sparse.csr_array(stream.X)
    sparse = dataclasses.replace(stream, X=X, y=words)
    given = {**GRAND, "systems": ["RBP"]}
    dense, thin = (
        raced(dataclasses.replace(stream, y=words), **given),
        raced(sparse, **given),
    )
    for name in ("RBP", references.CONSTANT, references.LINEAR, references.SAMPLED):
        assert by_name(thin)[name].error == pytest.approx(
            by_name(dense)[name].error, abs=0.02
        )
    assert by_name(thin)["RBP"].error < by_name(thin)[references.CONSTANT].error


def test_regression_is_in_the_unit_of_the_targets(tmp_path: Path) -> None:
    outcome = raced(waves(), permutations=1, predictions=tmp_path, **GRAND)
    y = np.load(tmp_path / "run-1" / "y.npy")
    for result in outcome.results:
        said = np.load(tmp_path / "run-1" / f"{slug(result.name)}.npy")
        assert np.sqrt(np.mean((said - y) ** 2)) == pytest.approx(result.error)
    results = by_name(outcome)
    assert results["BSGD"].error < 0.8 * results[references.CONSTANT].error
    assert 30 < results[references.CONSTANT].error < 50
    with_unit = rates(results["BSGD"].runs[0].curve, outcome.marks, window=None)[1][-1]
    assert np.sqrt(with_unit) == pytest.approx(results["BSGD"].error)


def test_gamma_is_chosen_from_trials_that_are_kept() -> None:
    outcome = raced(wide(turning_rings(600)), budget=60, systems=["RBP"])
    errors = [trial.error for trial in outcome.trials]
    assert outcome.gamma == outcome.trials[int(np.argmin(errors))].gamma
    # the best was looked for until it got worse on both sides
    assert outcome.trials[0].gamma < outcome.gamma < outcome.trials[-1].gamma


def test_each_result_is_shown_when_it_is_ready() -> None:
    told: list[str] = []
    outcome = racing.race(
        wide(turning_rings(300)),
        RaceSettings(**{**GRAND, "systems": ["RBP"]}),
        announce=lambda text, share: told.append(text),
        ready=lambda problem, result: told.append(report.line(problem, result)),
    )
    lines = [text for text in told if text.endswith("rows/s")]
    assert len(lines) == len(outcome.results)
    assert lines[0].startswith(references.CONSTANT)
    # the constant was done before the next one began
    assert told.index(lines[0]) < told.index(f"compiling {references.LINEAR}")


def test_others_are_compiled_elsewhere_only_if_one_took_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(0, 1000, 2))  # two seconds from look to look
    monkeypatch.setattr(compilation.time, "perf_counter", lambda: float(next(clock)))
    elsewhere: list[str] = []

    def shared(entries: Any, X: Any, y: Any) -> Any:
        elsewhere.extend(entry.name for entry in entries)
        return iter(entries)

    monkeypatch.setattr(compilation, "_shared", shared)
    monkeypatch.setattr(compilation.compile_cache, "is_empty", lambda: False)
    entries = references.references(Problem(100, 2, 2), 10, 1.0).entrants[:3]
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    for entry in compilation.compiled(entries, X, y):
        next(clock)  # what it does then is no compiling
        assert entry in entries
    assert elsewhere == []
    monkeypatch.setattr(compilation, "CACHED", 1.0)
    assert list(compilation.compiled(entries, X, y)) == entries
    assert elsewhere == [entry.name for entry in entries[1:]]


def test_where_nothing_is_compiled_all_are_compiled_elsewhere_from_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []

    def shared(entries: Any, X: Any, y: Any) -> Any:
        told.extend(f"elsewhere {entry.name}" for entry in entries)
        return iter(entries)

    monkeypatch.setattr(compilation, "_shared", shared)
    monkeypatch.setattr(compilation.compile_cache, "is_empty", lambda: True)
    monkeypatch.setattr(numba.config, "DISABLE_JIT", False)

    def entry(name: str, **given: Any) -> Any:
        return Entrant(name, name, lambda seed: None, **given)

    entries = [entry("rival", is_reference=True), entry("quick")]
    entries.append(entry("slow", takes_longest=True))
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    found = [one.name for one in compilation.compiled(entries, X, y, told.append)]
    assert found == ["rival", "slow", "quick"]
    assert told == ["elsewhere slow", "elsewhere quick", *found]
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert list(compilation.compiled(entries, X, y)) == entries


def test_the_best_constant_and_a_sorted_stream_are_told() -> None:
    stream = wide(turning_rings(300))
    order = np.argsort(stream.y, kind="stable")
    stream = dataclasses.replace(stream, X=stream.X[order], y=stream.y[order])
    given = {**GRAND, "systems": ["RBP"], "references": False}
    found = report.numbers(raced(stream, **given))
    rarer = min(np.mean(stream.y == 0), np.mean(stream.y == 1))
    assert found["baseline"]["error"] == pytest.approx(rarer)
    assert "sorted by label" in found["warnings"][0]
    assert report.numbers(raced(stream, in_order=False, **given))["warnings"] == []


# ---- who does not finish


class Fragile:
    size = updates = None
    memory = 1

    def __init__(self, rows: int, fault: str) -> None:
        self.left, self.fault = rows, fault

    def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
        if len(y) > self.left:
            raise ValueError(self.fault)
        self.left -= len(y)
        return np.zeros_like(y)


def race_with(monkeypatch: pytest.MonkeyPatch, contestant: Any) -> Outcome:
    entry = Entrant("guest", "guest()", lambda seed: contestant)
    starting = StartList([entry], {})
    monkeypatch.setattr(racing, "references", lambda *given: starting)
    stream = wide(turning_rings(300))
    return raced(stream, batch_rows=100, **{**GRAND, "systems": ["RBP"]})


def test_overflow_ends_one_contestant_not_the_race(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = "The scores of X overflowed at row 17 of this call; nothing was learnt"
    outcome = race_with(monkeypatch, Fragile(200, fault))
    guest = outcome.results[-1]
    assert guest.stopped == "overflowed at row 217" and guest.runs[0].rows == 200
    assert [result.name for result in outcome.ranked] == ["RBP"]


def test_infinite_predictions_are_an_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wild(Fragile):
        def predict_then_learn(self, X: Any, y: np.ndarray) -> np.ndarray:
            return np.where(np.arange(len(y)) == 3, np.inf, 0.0)

    entry = Entrant("guest", "", lambda seed: Wild(0, ""))
    monkeypatch.setattr(racing, "references", lambda *given: StartList([entry], {}))
    outcome = raced(waves(), **{**GRAND, "systems": ["RBP"], "permutations": 2})
    assert by_name(outcome)["guest"].stopped == "overflowed at row 3, run 1"
    report.numbers(outcome)


def test_refusal_at_the_start_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = race_with(monkeypatch, Fragile(0, "budget must be at least 2"))
    guest = outcome.results[-1]
    assert guest.stopped == "refused: budget must be at least 2"
    assert np.isnan(guest.error) and guest.memory is None


def test_other_faults_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="guest failed after 200 rows: a bug"):
        race_with(monkeypatch, Fragile(200, "a bug"))


def test_time_limit_stops_after_a_batch() -> None:
    stream = wide(turning_rings(300))
    given = {**GRAND, "systems": ["RBP"], "references": False}
    outcome = raced(stream, seconds=0.0, batch_rows=100, **given)
    (result,) = outcome.results
    assert result.stopped == "first 100 rows only: 0 s were over"
    assert not outcome.ranked
    report.show(outcome, Console(file=io.StringIO()))
    for figure, _ in pictures(outcome).values():
        figure.savefig(io.BytesIO())
    # one batch of all rows is never too late
    assert raced(stream, seconds=0.0, batch_rows=300, **given).ranked


# ---- references


def test_linear_model_is_tested_before_it_is_trained() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(96, 3)), rng.integers(2, size=96)
    model = references.Linear(Problem(96, 3, 2), seed=0)
    said = model.predict_then_learn(X, y)
    # labels that have nothing to do with the rows cannot be known in advance
    assert not said[: references.PIECE].any() and said.any()
    assert np.mean(said != y) > 0.25


def test_constant_goes_on_from_batch_to_batch() -> None:
    y = np.array([1, 1, 2, 2, 2, 0, 0, 0, 0])
    whole = references.Constant(Problem(9, 1, 3)).predict_then_learn(None, y)
    cut = references.Constant(Problem(9, 1, 3))
    parts = [cut.predict_then_learn(None, y[:4]), cut.predict_then_learn(None, y[4:])]
    assert whole.tolist() == np.concatenate(parts).tolist()
    assert whole.tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 0]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_boosted_trees_learn_by_doubling(
    classes: int, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(trees, "KEPT_ROWS", 300)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = X[:, 0] if classes == 0 else np.digitize(X[:, 0], [0, 1][: classes - 1])
    rows = scipy.sparse.csr_array(X) if sparse else X
    model = trees.Boosted(Problem(1000, 3, classes), seed=0)
    parts = [slice(0, 400), slice(400, 1000)]
    said = np.concatenate([model.predict_then_learn(rows[p], y[p]) for p in parts])
    assert not said[: trees.FIRST_FIT].any()
    late = slice(512, None)
    wrong = (said - y)[late] if classes == 0 else (said != y)[late]
    assert np.sqrt(np.mean(wrong**2.0)) < 0.5
    assert sum(len(y) for _, y in model._kept) == 300
    assert model._kept[-1][1][-1] == y[-1]


@pytest.mark.parametrize("classes", [0, 3])
def test_trees_of_river_learn(classes: int) -> None:
    pytest.importorskip("river")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] if classes == 0 else np.digitize(X[:, 0], [0, 1])
    model = trees.tree(Problem(600, 3, classes), seed=0)
    said = model.predict_then_learn(scipy.sparse.csr_array(X), y)
    off = (said - y)[300:] if classes == 0 else (said != y)[300:]
    assert np.mean(off**2.0) < (0.9 if classes == 0 else 0.35)


def test_forests_run_short_races_only() -> None:
    pytest.importorskip("river")
    problem = Problem(references.FOREST_ROWS, 5, 2)
    assert not references.references(problem, 50, 1.0).left_out.get("River ARF")
    longer = problem._replace(rows=problem.rows + 1)
    assert "per row" in references.references(longer, 50, 1.0).left_out["River ARF"]


def test_what_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    starting = references.references(Problem(100, 5, 2), budget=50, gamma=1.0)
    assert len(starting.entrants) == 3
    missing = 'is not installed: pip install "onkel[rivals]"'
    assert starting.left_out["LightGBM"] == missing


# ---- streams and orders


@pytest.mark.parametrize("make", [lambda seed: turning_rings(500, seed)])
def test_streams_are_reproducible(make: Any) -> None:
    one, same, other = make(3), make(3), make(4)
    assert np.array_equal(one.X, same.X) and np.array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)
    assert one.X.dtype == np.float32


def test_rings_drift() -> None:
    def score_of_the_start_at_the_end(rows_per_turn: float) -> float:
        stream = turning_rings(4000, rows_per_turn=rows_per_turn, flipped=0.0)
        start, end = slice(400), slice(-400, None)
        believer = KNeighborsClassifier(5).fit(stream.X[start], stream.y[start])
        return float(believer.score(stream.X[end], stream.y[end]))

    assert score_of_the_start_at_the_end(np.inf) > 0.95
    # by one bump of six, which puts every label where its opposite was
    assert score_of_the_start_at_the_end(6 * 4000) < 0.1


def numbered(rows: int = 1000, in_order: bool = False) -> Stream:
    X = np.arange(rows, dtype=float)[:, None]
    return Stream("numbered", X, np.arange(rows) % 2, in_order=in_order)


def rows_of(source: Orders, permutation: int) -> list[float]:
    return np.vstack([part.X for part in source.parts(permutation)])[:, 0].tolist()


def test_loaded_rows_are_permuted_whole_and_again_the_same() -> None:
    source = Orders(numbered(), RaceSettings(batch_rows=100))
    assert source.permutations == 5 and source.is_loaded
    first = rows_of(source, 0)
    assert sorted(first) == list(range(1000)) != first
    assert max(first[:100]) > 500
    assert rows_of(source, 1) != first
    assert rows_of(Orders(numbered(), RaceSettings(batch_rows=300)), 0) == first
    assert source.first(250).X[:, 0].tolist() == first[:250]


def test_order_that_means_something_is_kept() -> None:
    source = Orders(numbered(in_order=True), RaceSettings(batch_rows=100))
    assert source.permutations == 1
    assert rows_of(source, 0) == list(range(1000)) != rows_of(source, 1)


def test_any_file_can_be_raced_in_its_order() -> None:
    source = Orders(numbered(), RaceSettings(batch_rows=100, in_order=True))
    assert source.permutations == 1 and "own order" in source.description
    assert rows_of(source, 0) == list(range(1000))


@pytest.mark.parametrize("most_bytes", [0, 1000, 3000, 1e6])
def test_whole_files_are_shuffled_in_any_memory(most_bytes: float) -> None:
    parts = list(shuffled(numbered(), 100, 0, most_bytes))
    found = np.vstack([part.X for part in parts])[:, 0]
    assert sorted(found) == list(range(1000))
    assert all(len(part.y) <= 100 for part in parts)
    # rows of both ends meet at once
    assert found[:50].min() < 200 and found[:50].max() > 800
    assert np.concatenate([part.y for part in parts]).tolist() == (found % 2).tolist()


def test_long_races_have_fewer_orders() -> None:
    assert (
        Orders(numbered(orders.MANY_ROWS), RaceSettings(batch_rows=100)).permutations
        == 5
    )
    assert (
        Orders(
            numbered(orders.MANY_ROWS + 1), RaceSettings(batch_rows=100)
        ).permutations
        == 3
    )


def test_long_files_are_shuffled_by_the_batch() -> None:
    source = Orders(numbered(), RaceSettings(batch_rows=100, most_bytes=1000))
    assert source.permutations == 1 and not source.is_loaded
    assert "within each batch of 100" in source.description
    found = rows_of(source, 0)
    assert sorted(found[:100]) == list(range(100)) != found[:100]
    assert source.first(150).X[:, 0].tolist() == found[:150]


class Endless(Stream):
    """Rows that are made when they are asked for."""

    @property
    def n_rows(self) -> int:
        return self.settings["rows"]

    def load(self) -> Any:
        raise AssertionError("too large")

    def batches(self, rows: int = 65_536) -> Iterator[Batch]:
        for first in range(0, self.n_rows, rows):
            rng = np.random.default_rng(first)
            X = rng.normal(size=(min(rows, self.n_rows - first), self.X.shape[1]))
            yield Batch(X, (X[:, 0] > 0).astype(int), first)


def test_memory_does_not_depend_on_the_rows(tmp_path: Path) -> None:
    peaks = {}
    for rows in (8_000, 32_000):
        stream = Endless("endless", np.zeros((0, 20)), np.arange(2))
        stream.settings["rows"] = rows
        tracemalloc.start()
        given = {**GRAND, "systems": ["RBP"], "references": False, "most_bytes": 0}
        outcome = raced(stream, batch_rows=1000, predictions=tmp_path, **given)
        peaks[rows] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert outcome.problem.rows == rows
        assert len(np.load(tmp_path / "run-1" / "RBP.npy")) == rows
    assert peaks[32_000] < 1.1 * peaks[8_000]
    assert peaks[32_000] < 32_000 * 20 * 8


# ---- what is written about it


def test_names_are_no_markup_in_markdown(outcome: Outcome) -> None:
    name = "x](javascript:a) <img src=x onerror=a> |*_.csv\n# b"
    text = written(
        dataclasses.replace(outcome, name=name, left_out={"<b>": "is | not"}),
        f"onkel race '{name}'",
    )
    assert text.startswith(
        r"# x\](javascript:a) \<img src=x onerror=a\> \|\*\_.csv \# b" + "\n\n    onkel"
    )
    assert "\n    # b'\n" in text  # of the command, which is code
    assert r"\<b\> did not start: it is \| not" in text


def test_those_left_out_alike_share_a_line(outcome: Outcome) -> None:
    why = {"LightGBM": "is away", "River HAT": "is away", "BSCA": "is late"}
    lines = unplaced(dataclasses.replace(outcome, left_out=why))
    assert lines == [
        "LightGBM, River HAT did not start: each is away",
        "BSCA did not start: it is late",
    ]


def test_table_names_everyone_and_how_it_was_done(outcome: Outcome) -> None:
    console = Console(file=io.StringIO(), width=80)
    report.show(outcome, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for name in (*RACERS, references.CONSTANT, references.LINEAR):
        assert name in text
    assert "<i>digits</i>" in text
    assert f"{references.PIECE} rows at a time" in " ".join(text.split())
    assert "…" not in text


def test_rates_average_over_the_window() -> None:
    marks = np.arange(10, 1001, 10)
    sums = np.minimum(marks, 500).astype(float)
    seen, rate = rates(sums, marks, window=10)
    assert rate[seen <= 500].tolist() == [1.0] * int((seen <= 500).sum())
    assert rate[seen >= 600].tolist() == [0.0] * int((seen >= 600).sum())
    assert rates(sums, marks, window=None)[1][-1] == 0.5


def test_labels_keep_their_distance_and_their_order() -> None:
    ends = np.sort(np.random.default_rng(0).random(12)) ** 2
    placed = spread(ends, gap=0.05)
    assert (np.diff(placed) >= 0.05 - 1e-12).all()
    assert placed.mean() == pytest.approx(ends.mean())


def test_nobody_beats_the_front() -> None:
    rng = np.random.default_rng(0)
    costs, errors = rng.random(50), rng.random(50)
    best = front(costs, errors)
    beaten = [
        ((costs <= costs[i]) & (errors <= errors[i])).sum() > 1 for i in range(50)
    ]
    assert sorted(best) == np.flatnonzero(~np.array(beaten)).tolist()


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_page_holds_everything_and_escapes_it(outcome: Outcome, folder: Path) -> None:
    out = folder / "new" / "folder"
    paths = report.save([outcome, outcome], out, ["onkel race <one>", "two"])
    assert all(path.stat().st_size > 1000 for path in paths)
    assert {path.suffix for path in paths} == {".html", ".json", ".md", ".png"}
    html = (out / "race.html").read_text()
    assert "<i>" not in html and "&lt;i&gt;digits&lt;/i&gt; &amp; more" in html
    assert "onkel race &lt;one&gt;" in html
    tags = Tags()
    tags.feed(html)
    images = [given for tag, given in tags.found if tag == "svg"]
    assert len(images) == 6 and all(given["aria-label"] for given in images)
    known = [given["id"] for _, given in tags.found if "id" in given]
    assert len(known) == len(set(known))
    for tag, given in tags.found:
        assert tag not in {"img", "link", "iframe"} and "src" not in given
        for name in ("href", "xlink:href"):
            assert (given.get(name) or "#").startswith("#")


def test_numbers_tell_the_same(outcome: Outcome, folder: Path) -> None:
    report.save([outcome], folder / "numbers")
    (told,) = json.loads((folder / "numbers" / "race.json").read_text())["races"]
    assert [r["system"] for r in told["results"]] == [r.name for r in outcome.results]
    for entry, result in zip(told["results"], outcome.results, strict=True):
        assert entry["error"] == result.error
        assert len(entry["runs"][0]["summed_errors"]) == len(told["marks"])
    assert told["settings"]["seed"] == 1 and told["machine"]["versions"]["onkel"]
    assert "race(dataset(" in told["command"]


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("onkel.race.report", "onkel.race.report.screen"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "rich.box", None)
    with pytest.raises(ImportError, match=r'pip install "onkel\[cli\]"'):
        importlib.import_module("onkel.race.report")

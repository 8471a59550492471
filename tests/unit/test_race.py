"""The race: contestants, streams, and what is written about them."""

import importlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.neighbors import KNeighborsClassifier

import onkel
from onkel.experiments import contestants, report
from onkel.experiments.contestants import Outcome, constant, most_frequent, systems
from onkel.experiments.race import main, race
from onkel.experiments.streams import Stream, digits, turning_rings

RACERS = ("BSGD", "OGD")


def two_systems(stream: Stream, seed: int = 0) -> dict[str, Any]:
    every = systems(stream, seed)
    return {name: every[name] for name in RACERS}


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    numerals = digits()
    numerals = numerals._replace(X=numerals.X[:300], y=numerals.y[:300], budget=20)
    rings = turning_rings(rows=400)._replace(budget=50)
    return [race(stream, two_systems(stream)) for stream in (numerals, rings)]


def test_every_classifier_for_streams_starts_some_more_than_once() -> None:
    names = systems(turning_rings(rows=100))
    classes = {type(model).__name__ for model in names.values()}
    public = {n for n in onkel.__all__ if n.endswith("Classifier")}
    assert public - classes == {"BSCAClassifier", "LLSVMClassifier"}
    assert {"BOGD", "BOGD++", "BPA-S", "BPA-NN", "BPA-P"} <= set(names)
    assert {"Projectron", "Projectron++"} <= set(names)


def test_race_gives_finite_numbers_in_order(outcomes: list[Outcome]) -> None:
    for stream, results in outcomes:
        assert {r.name for r in results} == {*RACERS, *contestants.REFERENCES}
        rates = [r.mistake_rate for r in results]
        assert rates == sorted(rates)
        assert all(0 < rate < 1 for rate in rates)
        for result in results:
            assert result.mistakes.shape == stream.y.shape
            if not result.is_reference:
                assert result.size is not None and result.updates is not None
                assert 0 < result.size <= result.updates <= len(stream.y)
                assert result.rows_per_second is not None
                assert np.isfinite(result.rows_per_second)


def test_mistakes_are_those_that_the_model_counts(outcomes: list[Outcome]) -> None:
    for stream, results in outcomes:
        for name, model in two_systems(stream).items():
            model.partial_fit(stream.X, stream.y, classes=np.unique(stream.y))
            (result,) = (r for r in results if r.name == name)
            assert result.mistakes.sum() == model.n_mistakes_


def test_budget_binds_those_that_have_one(outcomes: list[Outcome]) -> None:
    for stream, results in outcomes:
        by_name = {r.name: r for r in results}
        assert by_name["BSGD"].size == by_name["BSGD"].budget == stream.budget
        assert by_name["OGD"].grows and not by_name["BSGD"].grows


def test_constant_predicts_the_most_frequent_label_so_far() -> None:
    y = np.array(["b", "b", "a", "a", "a", "b"])
    # a (nothing seen), b, b, b, a (tie, the smaller), a
    assert most_frequent(y).tolist() == ["a", "b", "b", "b", "a", "a"]
    stream = turning_rings(rows=100)._replace(y=y)
    assert constant(stream).mistakes.tolist() == [True, False, True, True, False, True]


def test_linear_model_is_tested_before_it_is_trained() -> None:
    rng = np.random.default_rng(0)
    stream = turning_rings(rows=3 * contestants.BATCH)
    # labels that have nothing to do with the rows cannot be known in advance
    stream = stream._replace(y=rng.integers(2, size=len(stream.y)))
    result = contestants.linear(stream)
    first = slice(contestants.BATCH)
    assert np.array_equal(result.mistakes[first], stream.y[first] != 0)
    assert result.mistake_rate > 0.25


@pytest.mark.parametrize("make", [digits, lambda seed: turning_rings(500, seed)])
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


def test_kernel_model_beats_linear_model_beats_constant() -> None:
    stream = turning_rings(rows=4000)
    best = race(stream, two_systems(stream)).results
    assert [r.name for r in best[-2:]] == [contestants.LINEAR, contestants.CONSTANT]
    assert best[1].mistake_rate < 0.6 * best[2].mistake_rate


def test_table_names_everyone_and_the_batch(outcomes: list[Outcome]) -> None:
    console = Console(file=io.StringIO(), width=80)
    report.show(outcomes, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for name in (*RACERS, *contestants.REFERENCES, "digits", "turning rings"):
        assert name in text
    assert f"batches of {contestants.BATCH}" in " ".join(text.split())
    assert "…" not in text


def test_curve_averages_over_the_window() -> None:
    mistakes = np.arange(1000) < 500
    seen, rate = report.curve(mistakes, window=100)
    assert rate[seen <= 500].tolist() == [1.0] * int((seen <= 500).sum())
    assert rate[seen >= 600].tolist() == [0.0] * int((seen >= 600).sum())
    assert report.curve(mistakes)[1][-1] == 0.5


def test_labels_keep_their_distance_and_their_order() -> None:
    ends = np.sort(np.random.default_rng(0).random(12)) ** 2
    placed = report.spread(ends, gap=0.05)
    assert (np.diff(placed) >= 0.05 - 1e-12).all()
    assert placed.mean() == pytest.approx(ends.mean())


def test_main_writes_picture_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(contestants, "systems", two_systems)
    folder = tmp_path / "new" / "folder"
    main(["--rows", "300", "--budget", "30", "--seed", "1", "--output", str(folder)])
    printed = capsys.readouterr().out
    assert str(folder / "race.png") in printed and str(folder / "race.json") in printed
    assert (folder / "race.png").read_bytes().startswith(b"\x89PNG")
    numbers = json.loads((folder / "race.json").read_text())
    assert [s["stream"] for s in numbers["streams"]] == ["digits", "turning rings"]
    assert [s["rows"] for s in numbers["streams"]] == [1797, 300]
    for stream in numbers["streams"]:
        (bsgd,) = (r for r in stream["results"] if r["system"] == "BSGD")
        assert bsgd["model_size"] == bsgd["budget"] == 30
        assert "random_state=1" in bsgd["model"]


@pytest.mark.parametrize("arguments", [["--rows", "99"], ["--budget", "1"]])
def test_main_refuses_too_little(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "must be at least" in capsys.readouterr().err


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "onkel.experiments.report")
    monkeypatch.setitem(sys.modules, "rich.box", None)
    with pytest.raises(ImportError, match=r'pip install "onkel\[race\]"'):
        importlib.import_module("onkel.experiments.report")

"""Streams in the order of the file, on rows made here."""

import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onkel
from onkel.measuring.records import RecordFile
from onkel.race.contestants import StreamedEstimator
from onkel.race.problem import Problem
from onkel.reproduce.online_data import OnlineData
from studies import streaming, streaming_run, streaming_systems
from studies.streaming_page import summary
from studies.streaming_results import Result
from studies.streaming_run import CHOSEN, DEFAULTS, RACE
from studies.streaming_systems import NEW, Stream

ROWS = 230
PROBLEM = Problem(45_000, 6, classes=2)


def small() -> Stream:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2)).astype(np.float32)
    scaled = OnlineData("elec2", X, (X[:, 0] * X[:, 1] > 0).astype(int), False, ROWS)
    return Stream(scaled._replace(X=X * [1, 1000] + 5), scaled)


def newcomer(budget: int, random_state: int) -> Any:
    return onkel.RBPClassifier(budget=budget, gamma=1.0, random_state=random_state)


HOARDED = 2**24  # bytes a chunk


class Hoarder(onkel.RBPClassifier):
    """Keeps something of every chunk."""

    def _learn_stream(self, X: Any, *given: Any, **named: Any) -> Any:
        # Pages of its own: an array may lie where an earlier test left free memory,
        # and then the process does not grow.
        pages = np.frombuffer(mmap.mmap(-1, HOARDED))
        pages[:] = 1
        self.hoard_ = [*getattr(self, "hoard_", []), pages]
        return super()._learn_stream(X, *given, **named)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A short stream, short chunks, and a newcomer that is there."""
    for module in (streaming, streaming_run):
        monkeypatch.setattr(module, "stream", lambda name: small())
    monkeypatch.setattr(streaming_run, "CHUNK", 50)
    monkeypatch.setattr(streaming_systems, "BUDGET", 20)
    monkeypatch.setattr(streaming_systems, "SEARCHED", 100)
    monkeypatch.setattr(onkel, NEW, newcomer, raising=False)
    yield


def test_a_run_counts_the_mistakes_of_progressive(tiny: None) -> None:
    work = small().scaled
    record = streaming_run.run(newcomer(20, 0), work)
    whole = newcomer(20, 0)
    scores = onkel.progressive(whole, work.X, work.y, classes=[0, 1])
    wrong = (scores > 0) != work.y
    assert record["error"] == pytest.approx(wrong.mean())
    assert record["mistakes"] == [wrong[k : k + 50].sum() for k in range(0, ROWS, 50)]
    assert record["tenths"][-1] == pytest.approx(wrong[-23:].mean())
    assert len(record["tenths"]) == len(record["pickled"]) == 10
    assert record["size"] == 20
    assert 0 < record["seconds_per_row"] <= record["slowest_chunk"]


def test_the_newcomer_alone_sees_the_rows_as_they_are(
    tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run(model: Any, work: OnlineData) -> dict[str, Any]:
        seen.append(work.X)
        return {}

    monkeypatch.setattr(streaming_run, "run", run)
    for system in (NEW, "RBP"):
        streaming_run.measure("elec2", system, DEFAULTS, 1.0, {})
    np.testing.assert_array_equal(seen[0], small().raw.X)
    np.testing.assert_array_equal(seen[1], small().scaled.X)


def test_memory_that_a_model_hoards_is_found(tiny: None) -> None:
    record = streaming_run.run(Hoarder(budget=20, gamma=1.0), small().scaled)
    # Five chunks; the first tenth ends with the first of them.
    kept = 4 * HOARDED
    assert record["pickled"][-1] - record["pickled"][0] == pytest.approx(kept, rel=0.1)
    if record["growth"] is not None:
        assert record["growth"] > 0.8 * kept


def test_grids_begin_with_the_values_of_the_race() -> None:
    by_system = {
        "BSGD": {"gamma", "alpha"},
        "BPA-NN": {"gamma", "C"},
        "FOGD": {"gamma", "eta0"},
        "BOGD++": {"gamma", "eta0", "max_coef"},
        "Forgetron": {"gamma"},
    }
    for system, names in by_system.items():
        grid = streaming_systems.grid_of(system, PROBLEM, 0.5)
        model = streaming_systems.raced(system, PROBLEM, 0.5)
        assert set(grid) == names
        for name, values in grid.items():
            assert values[0] == getattr(model, name)
            assert len(set(values)) == len(values)


def test_plain_systems_keep_their_size_and_their_variant_only() -> None:
    model = streaming_systems.plain("BPA-NN", PROBLEM)
    assert (model.variant, model.budget) == ("nn", streaming_systems.BUDGET)
    assert model.gamma == onkel.BPAClassifier().gamma
    dual = streaming_systems.plain("DualSGD", PROBLEM)
    assert dual.budget + dual.n_components == streaming_systems.BUDGET


def test_all_with_a_budget_and_partial_fit_are_rivals() -> None:
    names = streaming_systems.rivals(PROBLEM)
    assert {"AVM", "BPA-P", "NOGD", "Projectron++"} <= set(names)
    assert not {"BSCA", "LLSVM", "OGD", "Kernel", NEW} & set(names)
    with pytest.raises(ValueError, match="no system is called Nobody"):
        streaming_systems.starters(PROBLEM, ["Nobody"])


def test_runs_are_kept_and_shown(
    tiny: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = RecordFile(tmp_path / "results" / "streaming.json")
    calls = []

    def measured(*given: Any) -> dict[str, Any]:
        calls.append(given)
        return streaming_run.measure(*given)

    for _ in range(2):
        systems = [NEW, "RBP", "BPA-S"]
        streaming.work_through(["elec2"], systems, ledger, measured=measured)
    assert len(calls) == 1 + 2 * 3
    streaming.work_through(["elec2"], [NEW], ledger, again=True, measured=measured)
    assert calls[-1][:3] == ("elec2", NEW, DEFAULTS)
    assert len(calls) == 8
    records = ledger.records
    assert records["elec2/BPA-S/search"]["tried"] == 36
    chosen = records["elec2/BPA-S/search"]["parameters"]
    assert f"C={chosen['C']}" in records["elec2/BPA-S/chosen"]["model"] or (
        chosen["C"] == 1.0
    )
    given = ["--page", "--ledger", str(tmp_path / "results" / "streaming.json")]
    streaming.main([*given, "--docs", str(tmp_path)])
    page = (tmp_path / "streaming.md").read_text()
    assert f"**{NEW}**" in page and "| BPA-S |" in page
    assert f"{100 * records['elec2/RBP/race']['error']:.2f}" in page
    assert "mistakes" not in json.loads((tmp_path / "streaming.json").read_text())
    assert (tmp_path / "streaming.png").stat().st_size > 10_000


def test_an_overflow_is_told(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise ValueError("overflow at row 3")

    monkeypatch.setattr(StreamedEstimator, "predict_then_learn", fail)
    record = streaming_run.run(newcomer(20, 0), small().scaled)
    assert record["failed"] == "overflow by row 0"
    assert Result("RBP", {CHOSEN: record}, {}).error == np.inf


def test_the_best_of_all_runs_counts() -> None:
    # What was searched for on the first rows may be worse than the defaults.
    best = Result("B", {CHOSEN: {"error": 0.1}, DEFAULTS: {"error": 0.07}}, {})
    other = Result("A", {CHOSEN: {"error": 0.08}, RACE: {"error": 0.09}}, {})
    new = Result(NEW, {DEFAULTS: {"error": 0.075}}, {})
    said = summary([best, new, other])
    assert "place 2 of 3" in said
    assert "Best of the others: B, 7.00 %" in said
    assert "with the parameters searched for, A, 8.00 %" in said
    assert "0.50 mistakes more" in said
    assert "fewer" in summary([Result(NEW, {DEFAULTS: {"error": 0.01}}, {}), best])


def test_a_stream_can_be_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.repeat([-1, 1], 5)
    monkeypatch.setattr(
        streaming_systems, "load", lambda name: {"cod-rna": (X, y)}[name]
    )
    plain, mixed = (
        streaming_systems.stream("cod-rna"),
        streaming_systems.stream("cod-rna-shuffled"),
    )
    assert plain.raw.y.tolist() == [0] * 5 + [1] * 5
    assert mixed.raw.y.tolist() != plain.raw.y.tolist()
    np.testing.assert_array_equal(mixed.raw.y, mixed.raw.X[:, 0] >= 10)
    np.testing.assert_allclose(mixed.scaled.X.mean(axis=0), 0.0, atol=1e-6)

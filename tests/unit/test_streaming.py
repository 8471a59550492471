"""The streams of the study, on rows made here."""

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
from studies import streaming, streaming_run, streaming_streams, streaming_systems
from studies.streaming_references import REFERENCES
from studies.streaming_results import Result, standing
from studies.streaming_run import Run
from studies.streaming_setup import Setup
from studies.streaming_streams import STREAMS, Source, Stream
from studies.streaming_summary import sentence
from studies.streaming_systems import CHOSEN, DEFAULTS, NEWCOMERS

ROWS = 230
SETUP = Setup(Problem(45_000, 6, classes=2), budget=500, gamma=0.5)
NEW = NEWCOMERS[0]


def small(name: str = "elec2", order: int = 0) -> Stream:
    rng = np.random.default_rng(order)
    X = rng.normal(size=(ROWS, 2)).astype(np.float32)
    y = X[:, 0] * X[:, 1]
    if name != "casp":
        y = (y > 0).astype(int)
    scaled = OnlineData(name, X, y, name == "casp", ROWS)
    return Stream(scaled._replace(X=X * [1, 1000] + 5, y=y * 3), scaled)


def newcomer(budget: int, random_state: int) -> Any:
    return onkel.RBPClassifier(budget=budget, gamma=1.0, random_state=random_state)


def new_regressor(budget: int, random_state: int) -> Any:
    return onkel.RBPRegressor(budget=budget, gamma=1.0, random_state=random_state)


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
    """Short streams, and newcomers that are quick."""
    for module in (streaming, streaming_run):
        monkeypatch.setattr(module, "stream", small)
    for name, orders in (("elec2", 1), ("magic04", 3), ("casp", 2)):
        monkeypatch.setitem(STREAMS, name, Source(20, orders, None, name == "casp"))
    monkeypatch.setattr(streaming_systems, "SEARCHED", 100)
    monkeypatch.setattr(onkel, NEWCOMERS[0], newcomer)
    monkeypatch.setattr(onkel, NEWCOMERS[1], new_regressor)
    yield


def test_a_run_counts_the_mistakes_of_progressive(tiny: None) -> None:
    work = small().scaled
    record = streaming_run.run(StreamedEstimator(newcomer(20, 0), 2), work, 2)
    whole = newcomer(20, 0)
    scores = onkel.progressive(whole, work.X, work.y, classes=[0, 1])
    wrong = (scores > 0) != work.y
    assert record["error"] == pytest.approx(wrong.mean())
    stops = (50, 100, 150, 200, 230)
    assert record["curve"] == pytest.approx([wrong[:stop].mean() for stop in stops])
    assert record["tenths"][-1] == pytest.approx(wrong[-23:].mean())
    assert len(record["tenths"]) == len(record["pickled"]) == 10
    assert record["size"] == 20
    assert 0 < record["seconds_per_row"] <= record["slowest_chunk"]


def test_errors_of_regression_are_shares_of_the_deviation() -> None:
    work = small("casp").raw
    said = onkel.progressive(new_regressor(20, 0), work.X, work.y)
    record = streaming_run.run(StreamedEstimator(new_regressor(20, 0), 0), work, 0)
    error = np.sqrt(np.mean((said - work.y) ** 2)) / work.y.std()
    assert record["error"] == record["curve"][-1] == pytest.approx(error)


def test_the_newcomer_alone_sees_the_rows_as_they_are(
    tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run(model: Any, work: OnlineData, classes: int) -> dict[str, Any]:
        seen.append(work.X)
        return {}

    monkeypatch.setattr(streaming_run, "run", run)
    for system in (NEW, "RBP", "HAT"):
        streaming_run.measure(Run("elec2", system, DEFAULTS, 0), 1.0, {})
    np.testing.assert_array_equal(seen[0], small().raw.X)
    for rows in seen[1:]:
        np.testing.assert_array_equal(rows, small().scaled.X)


def test_memory_that_a_model_hoards_is_found() -> None:
    model = StreamedEstimator(Hoarder(budget=20, gamma=1.0), 2)
    record = streaming_run.run(model, small().scaled, 2)
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
        grid = streaming_systems.grid_of(system, SETUP)
        model = streaming_systems.raced(system, SETUP)
        assert set(grid) == names
        for name, values in grid.items():
            assert values[0] == getattr(model, name)
            assert len(set(values)) == len(values)


def test_plain_systems_keep_their_size_and_their_variant_only() -> None:
    model = streaming_systems.plain("BPA-NN", SETUP)
    assert (model.variant, model.budget) == ("nn", SETUP.budget)
    assert model.gamma == onkel.BPAClassifier().gamma
    dual = streaming_systems.plain("DualSGD", SETUP)
    assert dual.budget + dual.n_components == SETUP.budget


def test_all_with_a_budget_and_partial_fit_are_rivals() -> None:
    few = SETUP._replace(problem=SETUP.problem._replace(rows=1000))
    for setup in (SETUP, few):
        names = streaming_systems.rivals(setup)
        assert {"AVM", "BPA-P", "NOGD", "Projectron++"} <= set(names)
        assert not {"BSCA", "LLSVM", "OGD", "Kernel", NEW} & set(names)
    with pytest.raises(ValueError, match="no system is called Nobody"):
        streaming_systems.starters(SETUP, ["Nobody"])
    # There is no such classifier.
    assert streaming_systems.starters(SETUP, ["KernelRegressor", "RBP"]) == ["RBP"]


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_references_learn_any_problem(classes: int) -> None:
    X = small().scaled.X
    y = X[:, 0] if classes == 0 else np.digitize(X[:, 0], np.arange(classes - 1.0))
    setup = Setup(Problem(*X.shape, classes), budget=20, gamma=0.5)
    for name, make in REFERENCES.items():
        reference = make(setup)
        reference.predict_then_learn(X[:200], y[:200])
        loss = setup.problem.errors(reference.predict_then_learn(X, y), y).mean()
        assert loss < 0.7 * setup.problem.errors(np.median(y), y).mean(), name


def test_runs_are_kept_and_shown(tiny: None, tmp_path: Path) -> None:
    ledgers = [tmp_path / f"{name}.json" for name in ("ours", "river")]
    ledger, calls = RecordFile(ledgers[0]), []

    def measured(*given: Any) -> dict[str, Any]:
        calls.append(given[0])
        return streaming_run.measure(*given)

    names, systems = ["elec2", "magic04", "casp"], [*NEWCOMERS, "RBP", "BPA-S"]
    for _ in range(2):
        streaming.work_through(names, systems, ledger, measured=measured)
    # One order, three and two: the best kind of the first alone runs in the others.
    assert len(calls) == (1 + 2 * 3) + (3 + 2 * 5) + (2 + 2 * 4)
    streaming.work_through(names, [NEW], ledger, again=True, measured=measured)
    again = [(run.stream, run.order) for run in calls[30:]]
    assert again == [("elec2", 0), *(("magic04", order) for order in range(3))]
    river = RecordFile(ledgers[1])
    streaming.work_through(["magic04"], ["HAT"], river, [0, 1], measured=measured)
    assert [run.name for run in calls[34:]] == ["magic04/HAT/defaults/0"]
    records = ledger.records
    assert records["elec2/BPA-S/search"]["tried"] == 36
    chosen = records["elec2/BPA-S/search"]["parameters"]
    assert f"C={chosen['C']}" in records["elec2/BPA-S/chosen/0"]["model"] or (
        chosen["C"] == 1.0
    )
    given = ["--page", "--ledger", *map(str, ledgers), "--docs", str(tmp_path)]
    streaming.main(given)
    page = (tmp_path / "streaming.md").read_text()
    assert f"| **{NEW}** |" in page and "| BPA-S |" in page and "| *HAT* |" in page
    assert f"{100 * records['elec2/RBP/race/0']['error']:.2f}" in page
    ours = [100 * records[f"magic04/{NEW}/defaults/{k}"]["error"] for k in range(3)]
    assert f"| **{np.mean(ours):.2f} ± {np.std(ours, ddof=1):.2f}** |" in page
    assert "curve" not in (tmp_path / "streaming.json").read_text()
    assert (tmp_path / "streaming.png").stat().st_size > 10_000


def test_an_overflow_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise ValueError("overflow at row 3")

    monkeypatch.setattr(StreamedEstimator, "predict_then_learn", fail)
    record = streaming_run.run(StreamedEstimator(newcomer(20, 0), 2), small().raw, 2)
    assert record["failed"] == "overflow by row 0"
    assert Result("RBP", {CHOSEN: {0: record}}).error == np.inf


def test_the_best_of_all_runs_counts() -> None:
    # What was searched for on the first rows may be worse than the defaults.
    def result(system: str, **errors: list[float]) -> Result:
        runs = {
            k: {i: {"error": e} for i, e in enumerate(v)} for k, v in errors.items()
        }
        return Result(system, runs)

    best = result("B", chosen=[0.1], defaults=[0.07, 0.08])
    other = result("A", chosen=[0.08], race=[0.09])
    new = result(NEW, defaults=[0.075, 0.087])
    river = result("ARF", defaults=[0.01])
    stood = standing([river, best, new, other])
    assert (stood.newcomer, stood.best, stood.searched) == (new, best, other)
    np.testing.assert_allclose(stood.gaps, [0.005, 0.007])
    said = sentence([river, best, new, other], {"classes": 2})
    assert "place 2 of 3" in said
    assert "Best of the others: B, 7.50 ± 0.71 %" in said
    assert "with the parameters searched for, A, 8.00 %" in said
    assert "+0.60 ± 0.14 points" in said


def test_a_stream_can_be_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.repeat([-1, 1], 5)
    monkeypatch.setattr(streaming_streams, "load", lambda name: (X, y))
    plain, *mixed = (
        streaming_streams.stream(name, order)
        for name, order in (("elec2", 0), ("cod-rna", 0), ("cod-rna", 1))
    )
    assert plain.raw.y.tolist() == [0] * 5 + [1] * 5
    assert plain.problem == Problem(10, 2, classes=2)
    assert mixed[0].raw.y.tolist() != mixed[1].raw.y.tolist()
    for one in mixed:
        np.testing.assert_array_equal(one.raw.y, one.raw.X[:, 0] >= 10)
        np.testing.assert_allclose(one.scaled.X.mean(axis=0), 0.0, atol=1e-6)


def test_rivals_see_targets_of_unit_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0) ** 2
    monkeypatch.setattr(streaming_streams, "load", lambda name: (X, y))
    stream = streaming_streams.stream("casp")
    assert sorted(stream.raw.y) == y.tolist()
    assert (stream.scaled.y.mean(), stream.scaled.y.std()) == pytest.approx((0, 1))
    assert stream.problem == Problem(10, 2, classes=0)

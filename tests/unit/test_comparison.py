"""The comparison with SVC, Nystroem and LightGBM, on data made here."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import onkel
from onkel.measuring.records import RecordFile
from studies import (
    comparison,
    comparison_cells,
    comparison_svm,
    comparison_timing,
)
from studies.comparison import FEW, Cell
from studies.comparison_page import page, save
from studies.comparison_sets import LARGE, case, prepared
from studies.comparison_timing import Rung, Timed
from studies.comparison_verdicts import Difference, results, standing

ROWS = 150
# The test runner has threads, which fork() is afraid of.
FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(autouse=True)
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Few rows under the names of three data sets: dense, values, and sparse."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "mirror"
    folder.mkdir()

    def write(file: str, targets: list[Any], X: np.ndarray) -> str:
        rows = [
            " ".join([str(target), *(f"{j}:{v:.3f}" for j, v in enumerate(x, 1))])
            for target, x in zip(targets, X, strict=True)
        ]
        (folder / file).write_text("\n".join(rows) + "\n")
        return file

    def made() -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(ROWS, 3)) * [1.0, 10.0, 100.0]
        return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)

    catalogue = {}
    for name, parts in (
        ("german.numer_scale", ["train"]),
        ("space_ga", ["train"]),
        ("dna", ["train", "test"]),
    ):
        files = {}
        for part in parts:
            X, y = made()
            targets = (5 + 2 * X[:, 0]).round(3) if name == "space_ga" else y
            files[part] = write(f"{name}.{part}", targets.tolist(), X)
        rows = {f"rows_{part}": ROWS for part in parts}
        catalogue[name] = {"files": files, "features": 3, **rows}
    (folder / "catalog.json").write_text(json.dumps(catalogue))
    monkeypatch.setenv("ONKEL_DATA_MIRROR", str(folder))
    return folder


class ReadyMade(SVC):
    """Stand in for ours, with what is read of it."""

    def __init__(self, budget: int, random_state: int) -> None:
        super().__init__()
        self.budget, self.random_state = budget, random_state

    def fit(self, X: Any, y: np.ndarray) -> "ReadyMade":
        self.C_, self.gamma_, self.held_out_score_ = 1.0, np.float32(0.5), 0.9
        self.model_size_ = self.budget
        super().fit(X, y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        right = self.predict(X) == self.classes_[1]
        return np.column_stack([0.8 - 0.6 * right, 0.2 + 0.6 * right])


def test_seed_0_of_all_sets_comes_first_and_large_sets_last() -> None:
    order = comparison.cells(comparison.SETS, comparison_cells.METHODS, 5)
    assert len(set(order)) == len(order)
    small = [cell.seed for cell in order if cell.set not in LARGE]
    assert small == sorted(small)
    assert all(cell.set in LARGE for cell in order[len(small) :])
    # No randomness and one test part: once; SVC on covtype: once, for its time.
    assert order.count(Cell("ijcnn1", "svc", 0)) == 1
    assert Cell("ijcnn1", "svc", 1) not in order
    assert Cell("ijcnn1", "svc-grid", FEW - 1) in order
    assert Cell("ijcnn1", "svc-grid", FEW) not in order
    assert Cell("covtype-7", "svc-grid", 1) not in order


def test_rows_are_scaled_by_the_training_rows_and_sparse_ones_stay_sparse() -> None:
    dense = prepared(case("space_ga", 0))
    np.testing.assert_allclose(dense.X.std(axis=0), 1.0, rtol=1e-4)
    assert dense.y.std() == pytest.approx(1.0)
    assert len(dense.y_test) == ROWS // 5
    sparse = prepared(case("dna", 0))
    assert sparse.is_fixed
    assert abs(sparse.X).max() == pytest.approx(1.0)
    assert not np.array_equal(case("space_ga", 1).y_test, case("space_ga", 0).y_test)


@FORKS
@pytest.mark.parametrize("name", ["german.numer_scale", "space_ga", "dna"])
def test_rivals_are_better_than_a_constant(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison_svm, "COSTS", (1.0, 10.0))
    for method in ("svc-grid", "svc", "nystroem", "lightgbm"):
        record = comparison_cells.measure(name, method, 0, 30, {})
        assert record["error"] < (1.0 if name == "space_ga" else 0.45), method
        assert 0 <= record["standard_error"] < 0.5
        assert record["seconds"] >= 0
        assert record["wall"] > 0
        assert record["model_size"] > 0
        if method == "svc-grid":
            parts = record["search_seconds"] + record["fit_seconds"]
            assert record["seconds"] == pytest.approx(parts)
            if name == "dna":
                # The same choice on the same rows is not fitted twice.
                known = {"dna/svc-grid/0": record}
                again = comparison_cells.measure(name, method, 0, 30, known)
                assert again["fit_of_seed"] == 0
                assert again["fit_seconds"] == record["fit_seconds"]


def test_ours_is_measured_with_its_choices_and_its_calibration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onkel, "KernelClassifier", ReadyMade, raising=False)
    record = comparison_cells.measure("german.numer_scale", "onkel", 0, 30, {})
    assert record["parameters"] == {"gamma": 0.5, "C": 1.0, "held_out_score": 0.9}
    gap = abs(0.8 - (1 - record["error"]))
    assert record["calibration_error"] == pytest.approx(gap)
    json.dumps(record, allow_nan=False)


def busy(seconds: float) -> None:
    end = comparison_timing.cpu_seconds() + seconds
    while comparison_timing.cpu_seconds() < end:
        pass


@FORKS
def test_work_beyond_the_limit_is_stopped() -> None:
    assert comparison_timing.limited(lambda: busy(30.0), 1.0) is None
    done = comparison_timing.limited(lambda: "done", 1.0)
    assert done is not None
    assert done.value == "done"
    with pytest.raises(RuntimeError, match="ended with"):
        comparison_timing.limited(lambda: np.linalg.inv(np.zeros((2, 2))), 1.0)


@FORKS
def test_climbing_ends_before_the_limit() -> None:
    rungs = comparison_timing.climb([1, 2, 4, 8], lambda n: busy(0.02 * n**2), 1.0)
    assert [rung.rows for rung in rungs] == [1, 2, 4]
    assert comparison_timing.exponent(rungs) == pytest.approx(2.0, abs=0.5)


def test_a_machine_that_would_not_finish_is_extrapolated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def climb(sizes: Any, work: Any, limit: float) -> list[Rung]:
        return [Rung(n, Timed(work(n), 0.0, n / 10)) for n in list(sizes)[:3]]

    monkeypatch.setattr(comparison_svm, "climb", climb)
    monkeypatch.setattr(comparison_svm, "FIT_ROWS", 10)
    monkeypatch.setattr(comparison_svm, "FIRST_RUNG", 8)
    record = comparison_cells.measure("german.numer_scale", "svc", 0, 30, {})
    assert record["fit_part"]["rows"] == ROWS * 4 // 5 // 2
    assert record["seconds"] == pytest.approx(ROWS * 4 / 5 / 10)
    assert record["wall"] is None


def test_the_command_keeps_what_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "ledger.json"
    given = ["--sets", "german.numer_scale", "--methods", "svc", "--seeds", "1"]
    given += ["--ledger", str(ledger)]
    comparison.main(given)
    assert "[1/1] german.numer_scale/svc/0: error" in capsys.readouterr().out
    record = RecordFile(ledger).records["german.numer_scale/svc/0"]
    assert record["threads"] == 1
    comparison.main(given)
    assert "1 cells, 0 of them to do" in capsys.readouterr().out


def test_a_failed_cell_and_another_budget_are_measured_again() -> None:
    cell = Cell("dna", "nystroem", 0)
    assert not comparison.is_done({}, cell, 500)
    assert not comparison.is_done({cell.key: {"failed": "no"}}, cell, 500)
    assert comparison.is_done({cell.key: {"budget": 500}}, cell, 500)
    assert not comparison.is_done({cell.key: {"budget": 200}}, cell, 500)


# ---- the page --------------------------------------------------------------------


def record(name: str, method: str, seed: int, error: float, **facts: Any) -> Any:
    return {
        **{"set": name, "method": method, "seed": seed, "budget": 500},
        **{"error": error, "standard_error": 0.01, "test_rows": 10_000},
        **{"seconds": 1.0, "wall": 1.0, "train_rows": 100, "predict_seconds": 0.1},
        **{"model_size": 9, "memory": 2**20, "parameters": {"C": 1.0, "gamma": 0.1}},
        "machine": {"processor": "one", "cores": 2, "versions": {"onkel": "0"}},
        **facts,
    }


def ledger_of(*records: dict[str, Any]) -> dict[str, Any]:
    return {f"{r['set']}/{r['method']}/{r['seed']}": r for r in records}


def sample() -> dict[str, Any]:
    step = {"rows": 50, "all_rows": 100, "exponent": 2.0, "steps": [[50, 9.0]]}
    return ledger_of(
        *(record("magic04", "onkel", seed, 0.10) for seed in (0, 1)),
        *(record("magic04", "svc", seed, 0.099, seconds=50.0) for seed in (0, 1)),
        record("magic04", "svc-grid", 0, 0.12),
        record("magic04", "nystroem", 0, 0.14),
        record("magic04", "lightgbm", 0, 0.05),
        *(record("ijcnn1", "onkel", seed, 0.03) for seed in (0, 1)),
        record("ijcnn1", "svc", 0, 0.02, seconds=36.0, fit_part=step, fit_seconds=36.0),
        record("casp", "onkel", 0, 0.6, rmse=2.0),
        record("casp", "svc", 0, 0.65, rmse=2.1, seconds=25.0),
    )


def test_differences_within_two_standard_errors_are_ties() -> None:
    assert Difference(0.5, 0.3).verdict == "tie"
    assert Difference(-0.7, 0.3).verdict == "better"
    assert Difference(0.7, 0.3).verdict == "worse"


def test_verdicts_compare_with_the_better_machine_on_the_same_seeds() -> None:
    found = results(sample())
    magic = standing(found["magic04"])
    assert magic.machine == "svc"
    assert magic.to_machine is not None
    assert magic.to_machine.points == pytest.approx(0.1)
    assert magic.to_machine.verdict == "tie"
    assert magic.speed == pytest.approx(50.0)
    assert magic.to_nystroem is not None
    assert magic.to_nystroem.verdict == "better"
    # One run on a published test part counts for all seeds.
    ijcnn1 = standing(found["ijcnn1"])
    assert ijcnn1.to_machine is not None
    assert ijcnn1.to_machine.points == pytest.approx(1.0)
    assert ijcnn1.is_extrapolated
    assert standing({"svc": found["casp"]["svc"]}).to_machine is None


def test_the_page_tells_what_was_missed(tmp_path: Path) -> None:
    records = sample()
    text = page(records)
    assert "**Missed**: held on 2 of 3 sets, missed on ijcnn1 (+1.00, worse)." in text
    assert "Held: on all 3 such sets." in text
    assert "2.00†" in text
    failed = page(
        records | {"dna/svc/0": {"set": "dna", "method": "svc", "failed": "no"}}
    )
    assert "**Failed**: dna/svc/0: no" in failed
    alone = record("dna", "svc", 0, 0.1)
    assert "not counted: dna." in page(ledger_of(alone) | records)
    rivals = {key: each for key, each in records.items() if each["method"] != "onkel"}
    assert "not measured yet" in page(rivals)
    paths = save(records, tmp_path / "docs")
    assert paths[2].stat().st_size > 10_000
    assert len(json.loads(paths[1].read_text())["cells"]) == len(records)

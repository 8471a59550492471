"""The comparison with SVC, Nystroem and LightGBM, on data made here."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import onkel
from onkel.measuring.records import RecordFile
from studies import (
    comparison,
    comparison_cells,
    comparison_falkon,
    comparison_methods,
    comparison_svm,
    comparison_timing,
    comparison_trees,
)
from studies.comparison import FEW, Cell
from studies.comparison_ledger import compact, gathered, stored
from studies.comparison_methods import METHODS, TABLE
from studies.comparison_page import page, save
from studies.comparison_sets import LARGE, NEW, SETS, case, prepared
from studies.comparison_targets import against_earlier, agreement, of_covtype, targets
from studies.comparison_timing import Rung, Timed
from studies.comparison_verdicts import Difference, Standing, results, standing

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

    last: "ReadyMade"

    def __init__(
        self,
        budget: int = 500,
        random_state: int = 0,
        device: str = "auto",
    ) -> None:
        super().__init__()
        self.budget, self.random_state = budget, random_state
        self.device = device

    def fit(self, X: Any, y: np.ndarray) -> "ReadyMade":
        self.C_, self.gamma_, self.held_out_score_ = 1.0, np.float32(0.5), 0.9
        self.model_size_ = self.budget
        ReadyMade.last = self
        super().fit(X, y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        right = self.predict(X) == self.classes_[1]
        return np.column_stack([0.8 - 0.6 * right, 0.2 + 0.6 * right])


def test_seed_0_of_all_sets_comes_first_and_large_sets_last() -> None:
    order = comparison.cells([*SETS, *NEW], METHODS, 5)
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
    # Ours has as many as are asked for, before what is tuned for as long as it takes.
    ours, tuned = (Cell("w8a", each, 4) for each in ("onkel-auto", "lightgbm-tuned"))
    assert order.index(ours) < order.index(tuned)
    assert [cell.seed for cell in order if cell.set in NEW] == [0] * 2 * len(METHODS)


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
    few = METHODS["nystroem"]._replace(size=30)
    monkeypatch.setitem(comparison_methods.METHODS, "nystroem", few)
    for method in ("svc-grid", "svc", "nystroem", "lightgbm", "lightgbm-30"):
        record = comparison_cells.measure(name, method, 0, {})
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
                again = comparison_cells.measure(name, method, 0, known)
                assert again["fit_of_seed"] == 0
                assert again["fit_seconds"] == record["fit_seconds"]


def test_ours_is_measured_with_its_choices_and_its_calibration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onkel, "KernelClassifier", ReadyMade, raising=False)
    record = comparison_cells.measure("german.numer_scale", "onkel", 0, {})
    assert ReadyMade.last.get_params()["device"] == "cpu"
    assert record["parameters"] == {"gamma": 0.5, "C": 1.0, "held_out_score": 0.9}
    gap = abs(0.8 - (1 - record["error"]))
    assert record["calibration_error"] == pytest.approx(gap)
    json.dumps(record, allow_nan=False)


def test_a_gpu_is_asked_for_where_the_method_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(onkel, "KernelClassifier", ReadyMade, raising=False)
    monkeypatch.setattr(comparison_cells, "_gpu", lambda: "one")
    method = "onkel-cuda-8000"
    record = comparison_cells.measure("german.numer_scale", method, 0, {})
    asked = ReadyMade.last
    assert (asked.budget, asked.device) == (8000, "cuda")
    assert record["gpu"] == "one"


@pytest.mark.parametrize("name", ["german.numer_scale", "space_ga", "dna"])
def test_trees_are_tuned_for_as_long_as_ours_took(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="not measured"):
        comparison_cells.measure(name, "lightgbm-tuned", 0, {})
    data = prepared(case(name, 0))
    default = comparison_trees.tuned(data, 0, limit=0.0)
    assert (default.facts["trials"], default.facts["parameters"]) == (0, {})
    clock = iter(np.arange(0.0, 100.0, 0.001))
    monkeypatch.setattr(comparison_trees, "cpu_seconds", lambda: float(next(clock)))
    # Each tree asks the clock, so that the first trial takes a tenth of a second.
    ours = {f"{name}/onkel/0": {"seconds": 0.25}}
    record = comparison_cells.measure(name, "lightgbm-tuned", 0, ours)
    assert record["trials"] >= 1
    assert record["limit"] <= record["search_seconds"] <= record["seconds"]
    assert record["parameters"].keys() == comparison_trees.RANGES.keys()
    json.dumps(record, allow_nan=False)


class Ridge:
    """Stand in for falkon's, which is not to be had: all rows are centres."""

    def __init__(self, kernel: float, penalty: float, M: int, **_: Any) -> None:
        self.sigma, self.penalty = kernel, penalty

    def _kernel(self, X: np.ndarray) -> Any:
        return rbf_kernel(X, self.X, 1 / (2 * self.sigma**2))

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X = X
        noise = self.penalty * len(X) * np.eye(len(X))
        self.coef = np.linalg.solve(self._kernel(X) + noise, y)

    def predict(self, X: np.ndarray) -> Any:
        return self._kernel(X) @ self.coef


@pytest.mark.parametrize("name", ["german.numer_scale", "space_ga", "dna"])
def test_falkon_is_given_numbers_and_its_scores_are_labels(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = SimpleNamespace(GaussianKernel=lambda sigma: sigma)
    stand_in = SimpleNamespace(Falkon=Ridge, kernels=kernels, FalkonOptions=dict)
    monkeypatch.setitem(sys.modules, "falkon", stand_in)
    torch = SimpleNamespace(from_numpy=lambda values: values)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(comparison_falkon, "PENALTY", 1e-3)
    record = comparison_cells.measure(name, "falkon", 0, {})
    assert record["error"] < (1.0 if name == "space_ga" else 0.45)


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
    record = comparison_cells.measure("german.numer_scale", "svc", 0, {})
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


def test_cells_of_one_process_end_with_the_minutes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "ledger.json"
    given = ["--sets", "german.numer_scale", "--methods", "lightgbm,lightgbm-tuned"]
    given += ["--seeds", "1", "--ledger", str(ledger), "--in-process"]
    comparison.main([*given, "--minutes", "0"])
    assert not ledger.exists()
    comparison.main([*given, "--minutes", "9"])
    assert "tuned/0: failed, ValueError: onkel's" in capsys.readouterr().out
    record = RecordFile(ledger).records["german.numer_scale/lightgbm/0"]
    assert record["error"] < 0.45
    assert "memory" not in record


def test_a_failed_cell_is_measured_again() -> None:
    cell = Cell("dna", "nystroem", 0)
    assert not comparison.is_done({}, cell)
    assert not comparison.is_done({cell.key: {"failed": "no"}}, cell)
    assert comparison.is_done({cell.key: {"error": 0.1}}, cell)


# ---- the page --------------------------------------------------------------------


def record(name: str, method: str, seed: int, error: float, **facts: Any) -> Any:
    return {
        **{"set": name, "method": method, "seed": seed},
        **{"error": error, "standard_error": 0.01, "test_rows": 10_000},
        **{"seconds": 1.0, "wall": 1.0, "train_rows": 100, "predict_seconds": 0.1},
        **{"model_size": 9, "memory": 2**20, "parameters": {"C": 1.0, "gamma": 0.1}},
        "machine": {"processor": "one", "cores": 2, "versions": {"onkel": "0"}},
        **facts,
    }


def ledger_of(*records: dict[str, Any]) -> dict[str, Any]:
    return {f"{r['set']}/{r['method']}/{r['seed']}": r for r in records}


def elsewhere() -> dict[str, Any]:
    return {"processor": "two", "cores": 9, "versions": {"onkel": "0"}}


def sample() -> dict[str, Any]:
    step = {"rows": 50, "all_rows": 100, "exponent": 2.0, "steps": [[50, 9.0]]}
    part = {"fit_part": step, "fit_seconds": 36.0, "seconds": 36.0}
    return ledger_of(
        *(record("magic04", "onkel", seed, 0.10 + seed / 1000) for seed in (0, 1)),
        *(record("magic04", "svc", seed, 0.099, seconds=50.0) for seed in (0, 1)),
        record("magic04", "svc-grid", 0, 0.12),
        record("magic04", "nystroem", 0, 0.14),
        record("magic04", "lightgbm", 0, 0.05),
        record("magic04", "lightgbm-tuned", 0, 0.04, trials=7),
        *(record("magic04", "onkel-cuda", seed, 0.1, gpu="big") for seed in (0, 1)),
        *(record("ijcnn1", "onkel", seed, 0.03) for seed in (0, 1)),
        record("ijcnn1", "onkel-125", 0, 0.05, seconds=0.5),
        record("ijcnn1", "svc", 0, 0.02, machine=elsewhere(), **part),
        record("casp", "onkel", 0, 0.6, rmse=2.0),
        record("casp", "svc", 0, 0.65, rmse=2.1, seconds=25.0),
        record("casp", "lightgbm", 0, 0.59, rmse=1.9),
        record("nycflights", "onkel", 0, 0.9, rmse=9.0),
        record("nycflights", "lightgbm", 0, 0.93, rmse=9.3),
    )


def test_ledgers_are_put_together_and_ours_of_another_version_is_not(
    tmp_path: Path,
) -> None:
    known, fresh = tmp_path / "comparison.json", tmp_path / "fresh.json"
    known.write_text(compact(sample()))
    assert stored(known) == sample()
    assert len(json.loads(known.read_text())["machines"]) == 2
    again = record("magic04", "lightgbm", 0, 0.06)
    for each in (again, record("casp", "onkel", 0, 0.5)):
        RecordFile(fresh).add(f"{each['set']}/{each['method']}/0", each)
    both = gathered([fresh], known)
    assert both["magic04/lightgbm/0"]["error"] == 0.06
    assert both["casp/svc/0"]["error"] == 0.65
    ours = {key for key, each in both.items() if "onkel" in each["method"]}
    assert ours == {"casp/onkel/0"}
    assert "magic04/lightgbm-tuned/0" not in both


def test_differences_within_two_standard_errors_are_ties() -> None:
    assert Difference(0.5, 0.3, 9.0).verdict == "tie"
    assert Difference(-0.7, 0.3, 9.0).verdict == "better"
    assert Difference(0.7, 0.3, 9.0).verdict == "worse"


def test_verdicts_compare_with_the_better_machine_on_the_same_seeds() -> None:
    found = results(sample())
    magic = standing(found["magic04"])
    assert magic.machine == "svc"
    assert magic.to_machine is not None
    assert magic.to_machine.points == pytest.approx(0.15)
    assert magic.to_machine.verdict == "tie"
    assert magic.speed == pytest.approx(50.0)
    assert not magic.is_elsewhere
    assert magic.to_nystroem is not None
    assert magic.to_nystroem.verdict == "better"
    # One run on a published test part counts for all seeds.
    ijcnn1 = standing(found["ijcnn1"])
    assert ijcnn1.to_machine is not None
    assert ijcnn1.to_machine.points == pytest.approx(1.0)
    assert ijcnn1.is_extrapolated
    assert ijcnn1.is_elsewhere
    assert standing({"svc": found["casp"]["svc"]}).to_machine is None


def to_trees(points: float, theirs: float) -> Standing:
    gap = Difference(points, 0.1, theirs)
    return Standing(None, None, False, False, None, None, gap, None)


def test_values_may_be_worse_by_a_part_and_classes_by_a_point() -> None:
    verdicts = {
        "magic04": to_trees(0.9, 12.0),
        "dna": to_trees(1.1, 4.0),
        "casp": to_trees(1.9, 67.0),
        "cadata": to_trees(1.9, 41.0),
    }
    said = targets(verdicts)
    assert "missed on dna (+1.10, worse), cadata (+1.90, worse)." in said[1]
    assert "14 of 16 sets. **Missed**: better on 0, tie on 0, worse on 4" in said[0]
    del verdicts["dna"], verdicts["cadata"]
    assert "14 of 16 sets. Held:" in targets(verdicts)[0]


def test_seconds_are_compared_with_an_earlier_version_on_the_same_processor() -> None:
    found = results(sample())
    before = [record("magic04", "onkel", 0, 0.1, seconds=4.0)]
    before += [record("casp", "onkel", 0, 0.6, seconds=1.0)]
    said = against_earlier(found, results(ledger_of(*before)))
    assert "Held: 0.50 times on 2 sets, from 0.25 (magic04) to 1.00 (casp)" in said
    before[0]["machine"] = elsewhere()
    assert "Not decided" in against_earlier(found, results(ledger_of(*before)))
    assert "Not measured" in against_earlier(found, {})


def test_covtype_has_limits_of_error_and_of_seconds_and_five_minutes() -> None:
    assert all("Not measured yet" in line for line in of_covtype({}))
    cells = ledger_of(
        record("covtype-7", "onkel", 0, 0.14, seconds=91.0),
        # The processor does not see what a GPU does.
        record("covtype-7", "onkel-cuda-4000", 0, 0.05, seconds=99.0, wall=20.0),
        record("covtype-7", "onkel-cuda-8000", 0, 0.04, wall=299.0),
        record("covtype-7", "onkel-auto-cuda", 0, 0.03, wall=301.0),
    )
    first, second, third = of_covtype(results(cells)["covtype-7"])
    assert "**Missed**: 14.00 % in 91.0 s" in first
    assert "Held: 5.00 % in 20.0 s" in second
    assert "4.00 % with 9 centres in 299 s" in third


def test_devices_agree_within_the_noise_of_seeds_or_of_the_test_rows() -> None:
    def of(method: str, *errors: float) -> Any:
        made = (record("dna", method, seed, e) for seed, e in enumerate(errors))
        return results(ledger_of(*made))["dna"][method]

    near = agreement(of("onkel", 0.10, 0.12), of("onkel-cuda", 0.11, 0.13))
    far = agreement(of("onkel", 0.10, 0.101), of("onkel-cuda", 0.11, 0.111))
    alone = agreement(of("onkel", 0.10), of("onkel-cuda", 0.11))
    assert near is not None and near.holds
    assert far is not None and not far.holds
    assert alone is not None and alone.noise == pytest.approx(2.0)


def test_the_page_tells_what_was_missed(tmp_path: Path) -> None:
    records = sample()
    text = page(records, {})
    assert "**Missed**: held on 2 of 3 sets, missed on ijcnn1 (+1.00, worse)." in text
    assert "2.00†" in text
    assert "36.0†‡" in text
    assert "falkon was not to be had" in text
    assert "One GPU (big)." in text
    assert "Two sets that nobody had looked at" in text
    assert "It did 7 to 7 trials." in text
    assert "- SVC: two, 9 cores; onkel 0." in text
    failed = page(
        records | {"dna/svc/0": {"set": "dna", "method": "svc", "failed": "no"}}, {}
    )
    assert "**Failed**: dna/svc/0: no" in failed
    rivals = {key: each for key, each in records.items() if each["method"] not in TABLE}
    alone = record("dna", "svc", 0, 0.1)
    assert "Not measured yet." in page(ledger_of(alone) | rivals, {})
    earlier = ledger_of(record("casp", "onkel", 0, 0.6, seconds=9.0))
    paths = save(records, earlier, tmp_path / "docs")
    assert {path.name for path in paths} == {
        *("comparison.md", "comparison.json", "comparison_earlier.json"),
        *("comparison.png", "comparison_time.png"),
    }
    assert all(path.stat().st_size > 10_000 for path in paths if path.suffix == ".png")
    assert stored(tmp_path / "docs" / "comparison.json") == records

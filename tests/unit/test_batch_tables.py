"""Tables of batch learning: their data, their systems, how they are run and judged."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from joblib import Parallel, delayed
from sklearn.svm import SVC

from onkel.data.catalogue import DataNotFoundError, load
from onkel.reproduce import (
    avm,
    batch_data,
    connections,
    dualsvrg,
    evidence,
    hands,
    own_judges,
    runner,
    store,
)
from onkel.reproduce.comparators import (
    CONTRADICTED,
    NOT_RUN,
    NOT_TESTED,
    SUPPORTED,
    Finding,
)
from onkel.reproduce.limited_fit import fit_within
from onkel.reproduce.online_data import OnlineData
from onkel.reproduce.protocol import (
    EXACT,
    LINEAR,
    Cell,
    EstimatorSetup,
    SearchProtocol,
    Table,
)


def small_task(name: str = "w8a") -> OnlineData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    return OnlineData(name, X, X[:, 0] * X[:, 1] > 0, False, 300)


def held_out_table(**changes: Any) -> Table:
    given: dict[str, Any] = {
        "paper": "dualsvrg",
        "name": "table1",
        "sentence": "Errors.",
        "metric": "error_pct",
        "digits": 2,
        "load": small_task,
        "data": {"w8a": "w8a"},
        "search": SearchProtocol("held-out", 2, "80 % and 20 %"),
        "permutations": 3,
        "readings": (),
        "held_out": True,
    }
    return Table(**{**given, **changes})


def cell(kind: str, **fixed: Any) -> Cell:
    setup = EstimatorSetup(kind, fixed, {"gamma": (0.1, 1.0)})
    if kind == LINEAR:
        setup = EstimatorSetup(kind, {"loss": "hinge"}, {"alpha": (0.01,)})
    return Cell("w8a", kind, "", None, setup, "")


# ---- the rows ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "label"),
    [
        ([(1, 2), (2, 4), (3, 6), (4, 8), (1, 10)], 0),
        ([(1, 2), (2, 2), (3, 6), (4, 8), (1, 10)], 1),
        ([(1, 2), (2, 2), (3, 6), (4, 6), (1, 10)], 2),
        ([(1, 2), (2, 2), (3, 2), (4, 8), (1, 10)], 3),
        ([(1, 5), (2, 2), (3, 4), (4, 1), (1, 3)], 4),
        ([(1, 1), (2, 13), (3, 10), (4, 12), (1, 11)], 4),
        ([(1, 2), (1, 13), (1, 10), (1, 12), (1, 11)], 5),
        ([(1, 2), (2, 2), (3, 2), (4, 8), (1, 8)], 6),
        ([(1, 2), (2, 2), (3, 2), (4, 2), (1, 8)], 7),
        ([(3, 5), (3, 2), (3, 4), (3, 1), (3, 3)], 8),
        ([(2, 1), (2, 13), (2, 10), (2, 12), (2, 11)], 9),
        # Around the corner is no straight.
        ([(1, 1), (2, 13), (3, 2), (4, 12), (1, 11)], 0),
    ],
)
def test_hands_are_named(cards: list[tuple[int, int]], label: int) -> None:
    assert hands.named(np.array([np.ravel(cards)])).tolist() == [label]


def test_hands_are_named_as_in_the_file() -> None:
    try:
        rows, labels = load("poker")
    except DataNotFoundError:
        pytest.skip("poker is not at hand")
    assert len(labels) == 25_010
    assert np.array_equal(hands.named(rows.toarray()), labels)


def test_hands_are_dealt_as_chance_has_them() -> None:
    dealt = hands.deal(50_000, seed=1)
    cards = dealt.reshape(-1, 5, 2)
    numbers = 13 * (cards[..., 0] - 1) + cards[..., 1]
    assert sorted(np.unique(numbers)) == list(range(1, 53))
    assert all(len(set(row)) == 5 for row in numbers[:2000])
    shares = np.bincount(hands.named(dealt), minlength=10) / len(dealt)
    # 1,302,540 hands of 2,598,960 are nothing, 1,098,240 a pair, 123,552 two pairs.
    assert shares[:3] == pytest.approx([0.5012, 0.4226, 0.0475], abs=0.007)


def test_poker_has_dealt_hands_as_its_test_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = scipy.sparse.csr_array(hands.deal(7, seed=2))
    monkeypatch.setattr(hands, "load", lambda name, dtype: (rows, np.zeros(7)))
    monkeypatch.setattr(hands, "DEALT", 30)
    work = hands.poker()
    assert work.X.shape == (37, 10) and work.n_train == 7
    assert work.y[7:].tolist() == hands.named(work.X[7:]).tolist()


def test_connections_have_numbers_for_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("0,tcp,4,b.\n2,icmp,5,a.\n1,udp,4,b.\n")
    file = type("File", (), {"header": False})()
    monkeypatch.setattr(connections, "find", lambda name, part: (path, file))
    work = connections.connections()
    assert work.X.tolist() == [[0.0, 0.5, 0.0], [1.0, 0.0, 1.0], [0.5, 1.0, 0.0]]
    assert work.y.tolist() == [1, 0, 1]


def test_a_tenth_is_held_out_where_there_is_no_test_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_test_part = small_task()
    monkeypatch.setattr(batch_data, "task", small_task)
    assert batch_data.batch("w8a").n_train == 300
    whole = with_test_part._replace(n_train=400)
    monkeypatch.setattr(batch_data, "task", lambda name: whole)
    work = batch_data.batch("cod-rna")
    assert work.n_train == 360
    assert sorted(work.X[:, 0]) == sorted(whole.X[:, 0])
    assert not np.array_equal(work.X, whole.X)


# ---- the systems ---------------------------------------------------------------------


def setups(table: Table) -> dict[tuple[str, str], EstimatorSetup]:
    return {(c.data, c.algorithm): c.setup for c in table.cells() if c.setup}


def test_systems_of_batch_learning_are_the_papers() -> None:
    known = setups(avm.TABLES[0])
    merging, removal = known["a9a", "BSGD-M"], known["covtype", "BSGD-R"]
    assert merging.kind == removal.kind == "BSGDClassifier"
    assert merging.fixed == {"budget": 1000, "maintenance": "merge"}
    assert removal.fixed == {"budget": 400, "maintenance": "removal"}
    assert known["KDDCup99", "FOGD"].fixed["n_components"] == 400
    assert known["poker", "AVM-Hinge"].fixed["coverage_radius"] == 6.0
    assert known["w8a", "LIBSVM"].kind == EXACT
    reasons = {(c.data, c.algorithm): c.why_not for c in avm.TABLES[0].cells()}
    assert "for each class" in reasons["poker", "LIBSVM"]
    assert "a dash" in reasons["covtype", "LLSVM"]
    # Budgets are those that are printed.
    for cell in avm.TABLES[0].cells():
        if cell.setup and cell.published and cell.size and "AVM" not in cell.algorithm:
            fixed = cell.setup.fixed
            assert int(cell.size) in (fixed.get("budget"), fixed.get("n_components"))


def test_papers_share_the_baselines_of_batch_learning() -> None:
    def prints(table: Table) -> dict[tuple[str, str], str]:
        return {
            (c.data, c.algorithm): store.fingerprint(table, c)
            for c in table.cells()
            if c.setup
        }

    one, two = prints(avm.TABLES[0]), prints(dualsvrg.TABLES[0])
    shared = set(one) & set(two)
    names = {name for data, name in shared if data == "w8a"}
    assert names == {"LIBSVM", "LLSVM", "BSGD-M", "BSGD-R", "FOGD", "NOGD", LINEAR}
    assert all(one[name] == two[name] for name in shared)


def test_an_outcome_is_shared_in_the_metric_of_the_table() -> None:
    kept = {"metric": "accuracy_pct", "values": [97.0], "constant": 90.0, "sizes": [3]}
    found = store.in_metric(kept, "error_pct")
    assert found["values"] == [3.0] and found["constant"] == 10.0
    assert found["sizes"] == [3] and found["metric"] == "error_pct"
    assert store.in_metric(found, "accuracy_pct")["values"] == [97.0]
    assert store.in_metric(kept, "accuracy_pct") == kept
    assert store.in_metric({"values": [2.0]}, "rmse") == {"values": [2.0]}


# ---- how they are run ----------------------------------------------------------------


class Sleeper:
    """A model that never ends, or ends without an answer."""

    def __init__(self, dies: bool) -> None:
        self.dies = dies

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        if self.dies:
            os._exit(3)
        while True:
            pass


def test_a_fit_is_stopped_at_its_limit() -> None:
    work = small_task()
    with pytest.raises(TimeoutError, match="needs more than 1 s"):
        fit_within(1.0, Sleeper(dies=False), work.X, work.y)
    with pytest.raises(RuntimeError, match="Sleeper ended with code 3"):
        fit_within(np.inf, Sleeper(dies=True), work.X, work.y)


def test_a_fit_with_a_limit_works_in_a_worker_of_joblib() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] > 0
    task = delayed(fit_within)(60.0, SVC(), X, y)
    for fitted in Parallel(n_jobs=2)([task, task]):
        assert fitted.model.score(X, y) > 0.8 and fitted.seconds >= 0


@pytest.mark.parametrize(
    "one", [cell(EXACT), cell("LLSVMClassifier", budget=20), cell(LINEAR)]
)
def test_systems_that_learn_at_once_are_tested_on_held_out_rows(one: Cell) -> None:
    outcome = runner.run(held_out_table(), one, wanted=2, limit=60.0)
    assert len(outcome["values"]) == 2
    assert outcome["progressive"] == []
    assert outcome["rows"] == 300 and outcome["metric"] == "error_pct"
    if one.setup and one.setup.kind != LINEAR:
        assert all(0 < value < 30 for value in outcome["values"])
        assert all(size > 10 for size in outcome["sizes"])
        assert len(outcome["seconds"]) == len(outcome["test_seconds"]) == 2


def test_a_fit_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(limit: float, *_: Any) -> None:
        raise TimeoutError(f"needs more than {limit:.0f} s")

    monkeypatch.setattr(runner, "fit_within", fit)
    outcome = runner.run(held_out_table(), cell(EXACT), wanted=2, limit=9.0)
    assert outcome["why_not"] == "needs more than 9 s" and outcome["needs"] > 9
    assert "values" not in outcome


def test_data_sets_may_have_loaders_of_their_own() -> None:
    other = held_out_table(
        loaders={"w8a": lambda name: small_task()._replace(n_train=200)}
    )
    assert other.loader("a9a") is small_task
    outcome = runner.run(other, cell("RBPClassifier", budget=20), 1, 60.0)
    assert outcome["rows"] == 200
    one = cell("RBPClassifier", budget=20)
    assert store.fingerprint(other, one) != store.fingerprint(held_out_table(), one)


# ---- how they are judged -------------------------------------------------------------


def test_a_gap_that_grows_with_the_features(tmp_path: Path) -> None:
    def write(gaps: dict[int, float]) -> Finding:
        cells = {}
        for features, gap in gaps.items():
            for name, seconds in (("AVM-Hinge", 1.0), ("FOGD", gap)):
                found = {"values": [1.0], "seconds": [seconds], "features": features}
                cells[f"{features}/{name}/9"] = found
        store.file_of("avm/table3", tmp_path).write({"cells": cells})
        asked = evidence.Question(
            "gap grows with the features",
            target="avm/table3",
            data=[str(features) for features in gaps],
            first="AVM-Hinge",
            second="FOGD",
        )
        return own_judges.gap_by_features(asked, evidence.Evidence(tmp_path))

    features = (5, 10, 20, 40, 80, 160)
    gaps = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    growing = write(dict(zip(features, gaps, strict=True)))
    assert growing.verdict == SUPPORTED and "20 (20 features) 3.0" in growing.shown
    shrinking = write(dict(zip(features, gaps[::-1], strict=True)))
    assert shrinking.verdict == CONTRADICTED
    assert write({5: 1.0, 10: 2.0, 20: 3.0}).verdict == NOT_TESTED  # too few
    assert write({}) == NOT_RUN

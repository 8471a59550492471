"""Real tables: missing cells, identifiers and decimal commas."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from onkel.data import BadFileError, Preparation, dataset
from onkel.data import survey as survey_module
from onkel.data.identifiers import Naming, Numbering
from onkel.data.medians import Medians

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 400


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Three columns; of the second there is nothing in the first batches."""
    monkeypatch.setattr(survey_module, "ROWS", 32)
    rng = np.random.default_rng(0)
    X = rng.normal(3, 5, (ROWS, 3)).round(3)
    X[rng.random((ROWS, 3)) < 0.2] = np.nan
    X[:100, 1] = np.nan
    X[:, 2] = np.where(np.isnan(X[:, 2]), 7.0, X[:, 2])
    return X


def as_csv(X: np.ndarray, missing: str = "", separator: str = ",") -> str:
    lines = [
        separator.join([missing if np.isnan(v) else str(v) for v in row] + [str(i % 2)])
        for i, row in enumerate(X)
    ]
    return separator.join(["a", "b", "c", "y"]) + "\n" + "\n".join(lines) + "\n"


def write(path: Path, X: np.ndarray, missing: str) -> Path:
    columns: dict[str, Any] = {name: X[:, i] for i, name in enumerate("abc")}
    columns["y"] = np.arange(len(X)) % 2
    if path.suffix == ".parquet":
        # Nulls, but for a column with NaN, as pandas writes them.
        made = pyarrow.table(columns)
        nulls = pyarrow.array(X[:, 0], from_pandas=True)
        parquet.write_table(made.set_column(0, "a", nulls), path)
    elif path.suffix == ".arff":
        head = "".join(f"@attribute {name} numeric\n" for name in "abc")
        body = as_csv(X, missing).split("\n", 1)[1]
        path.write_text(f"@relation r\n{head}@attribute y {{0,1}}\n@data\n{body}")
    else:
        path.write_text(as_csv(X, missing))
    return path


@pytest.mark.parametrize(
    "name, missing",
    [
        *(("a.csv", sign) for sign in ("", "NA", "NaN", "null", "?", " ?", "   ")),
        *(("a.arff", "?"), ("a.parquet", "")),
    ],
)
def test_numbers_get_the_median_and_an_indicator(
    rows: np.ndarray, tmp_path: Path, name: str, missing: str
) -> None:
    data = dataset(write(tmp_path / name, rows, missing), dtype=np.float64)
    gaps = np.isnan(rows[:, :2])
    assert data.missing == {"a": gaps[:, 0].sum(), "b": gaps[:, 1].sum()}
    assert data.preparation.features == [
        *("a", "b", "c", "a is missing", "b is missing"),
    ]
    X, y = data.load()
    filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    np.testing.assert_allclose(X[:, :3], filled.fit_transform(rows), atol=1e-12)
    np.testing.assert_array_equal(X[:, 3:], gaps)
    assert len(y) == ROWS
    (note,) = data.notes
    assert note.startswith(f"{gaps.sum()} missing cells filled")
    assert note.endswith(f": b {gaps[:, 1].sum()}, a {gaps[:, 0].sum()}.")
    assert json.loads(json.dumps(data.description))["missing"]["a"] > 0
    described, arrays = data.preparation.state()
    again = Preparation.from_state(json.loads(json.dumps(described)), arrays)
    same = dataset(tmp_path / name, preparation=again, dtype=np.float64)
    np.testing.assert_array_equal(same.load()[0], X)
    assert same.missing == data.missing


def test_what_was_never_missing_gets_the_median_later(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1.5,red,0\n2.5,blue,1\n9.5,red,0\n")
    made = dataset(path, scaling="none")
    assert made.preparation.features == ["a", "b=blue", "b=red"] and not made.notes
    path.write_text("a,b,y\n,red,0\n2.5,,1\n")
    later = dataset(path, preparation=made.preparation)
    assert later.load()[0].tolist() == [[2.5, 0, 1], [2.5, 0, 0]]
    assert later.missing == {"a": 1, "b": 1}


def test_flags_and_times_can_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["true,2001-01-01 10:00:00,1", ",,0", "true,2001-01-03 12:00:00,1"]
    path.write_text("a,b,y\n" + "\n".join(rows) + "\nfalse,2001-01-02 11:00:00,0\n")
    X, _ = dataset(path, scaling="none", dtype=np.float64).load()
    assert X[:, 0].tolist() == [1, 1, 1, 0]
    # hours are 10, 12 and 11; Monday, Wednesday and Tuesday
    assert X[1, 1:4].tolist() == [11, 1, 2]
    assert X[:, -2:].tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]


def test_a_target_is_never_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1.5,0\n2.5,\n")
    with pytest.raises(BadFileError, match=r"a.csv:3: the target y is missing: fill"):
        dataset(path)


def test_strict_users_are_told_the_first_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1.5,red,0\n2.5,?,1\n,red,1\n")
    with pytest.raises(BadFileError, match=r"a.csv:3: b is missing: fill"):
        dataset(path, missing="refuse")
    with pytest.raises(ValueError, match="missing='drop'; there are fill, refuse"):
        dataset(path, missing="drop")


def test_an_empty_column_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1.5,,0\n2.5,NA,1\n")
    data = dataset(path)
    assert data.preparation.features == ["a"] and data.left_out == {"b": "empty"}
    assert data.notes == ["Left out, empty: b."] and data.missing == {}
    path.write_text("a,b,y\n,,0\n,NA,1\n")
    with pytest.raises(BadFileError, match="columns besides the target are empty"):
        dataset(path)


def test_a_column_may_begin_with_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onkel.data.delimited.BLOCK", 1000)
    rows = [f"{i % 7}.5,,,0" for i in range(500)] + ["1.5,red,2.5,1"] * 10
    path = tmp_path / "a.csv"
    path.write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    assert dataset(path).preparation.features == [
        *("a", "c", "b=red", "b is missing", "c is missing"),
    ]


OLD_STATE = {
    "columns": [["a", "number", []], ["b", "text", ["blue", "red"]]],
    **{"width": 3, "sparse": False, "scaling": "standard", "dropped": []},
    "target": {
        **{"column": "y", "kind": "number", "labels": [0, 1]},
        **{"positive": None, "above": None},
    },
}


def test_a_preparation_of_the_version_before_does_as_it_did(tmp_path: Path) -> None:
    arrays = {"mean": np.array([2.0]), "scale": np.array([2.0])}
    old = Preparation.from_state(OLD_STATE, arrays)
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n4,red,0\n2,,1\n")
    data = dataset(path, preparation=old)
    assert data.load()[0].tolist() == [[1, 0, 1], [0, 0, 0]] and not data.notes
    path.write_text("a,b,y\n4,red,0\n,blue,1\n")
    with pytest.raises(BadFileError, match=r"a.csv:3: a is missing"):
        dataset(path, preparation=old)


@pytest.mark.parametrize("rows", [100, 200_000])
def test_medians_are_those_of_all_rows(rows: int) -> None:
    # the usual seed, with which keys of the sample must have nothing to do
    rng = np.random.default_rng(0)
    X = rng.random((rows, 1)) * [1.0, 9.0]
    X[rng.random(rows) < 0.9, 1] = np.nan
    found = []
    for cut in (7919, 1 << 14):
        medians = Medians(2)
        for start in range(0, rows, cut):
            medians.see(X[start : start + cut])
        found.append(medians.found())
    # however the rows are cut
    np.testing.assert_array_equal(*found)
    if rows == 100:
        np.testing.assert_array_equal(found[0], np.nanmedian(X, axis=0))
    ranks = (X < found[0]).sum(axis=0) / (~np.isnan(X)).sum(axis=0)
    np.testing.assert_allclose(ranks, 0.5, atol=0.01)


# ---- identifiers ---------------------------------------------------------------------


def held(name: str, numbers: Any) -> bool:
    column = Numbering(name)
    for part in np.array_split(np.asarray(numbers, float), 5):
        column.see(part)
    return column.holds


def test_numbers_that_number_rows() -> None:
    rng = np.random.default_rng(0)
    count = np.arange(1000)
    for numbers in (count, 5 + 3 * count, -count, rng.permutation(1000)):
        assert held("x", numbers)
    # the rows that were drawn for training
    assert held("x", rng.permutation(1500)[:1000])
    # far apart, in no order: the name decides
    large = rng.permutation(10**6)[:1000] * 997
    for name in ("id", "ID", "PassengerId", "customerID", "row_id", "user key", ""):
        assert held(name, large)
    for name in ("salary", "paid", "width", "monkey", "liquid"):
        assert not held(name, large)
    # measurements, counts, something missing, too few rows
    assert not held("id", rng.normal(size=1000))
    assert not held("id", count * 0.1)
    assert not held("id", rng.integers(0, 900, 1000))
    assert not held("id", np.where(count == 500, np.nan, count))
    assert not held("id", count[:10])


def test_identifiers_of_a_long_file_are_told_from_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("onkel.data.identifiers.MOST_KEPT", 256)
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(50_000)
    assert held("x", shuffled)
    assert not held("x", np.concatenate([shuffled, shuffled[:5000]]))
    names = Naming()
    for part in np.array_split(shuffled, 5):
        names.see([f"box {i}" for i in part], len(part))
    assert names.holds and len(names._kept) <= 256
    names.see([f"box {i}" for i in range(5000)], 5000)
    assert not names.holds


def test_identifiers_are_left_out_unless_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rng = np.random.default_rng(0)
    rows = [f"{i},Mr {i},{rng.normal():.5f},{i % 2}" for i in range(1500)]
    path.write_text("id,name,height,y\n" + "\n".join(rows) + "\n")
    data = dataset(path)
    assert data.preparation.features == ["height"]
    assert data.left_out == {"id": "identifier", "name": "identifier"}
    assert data.notes[0].startswith("Left out, identifier: id, name (--keep")
    # the same scaling as without them
    alone = dataset(path, drop=["id", "name"])
    np.testing.assert_array_equal(data.load()[0], alone.load()[0])
    assert dataset(path, preparation=data.preparation).n_features == 1
    assert dataset(path, keep=["id"]).preparation.features == ["id", "height"]
    with pytest.raises(BadFileError, match="column name has more than 1000"):
        dataset(path, keep=["name"])
    with pytest.raises(BadFileError, match="no column 'size'"):
        dataset(path, keep=["size"])
    with pytest.raises(ValueError, match="column id is to be kept and to be dropped"):
        dataset(path, keep=["id"], drop=["id"])
    # where there is nothing else
    assert dataset(path, drop=["name", "height"]).preparation.features == ["id"]


# ---- decimal commas ------------------------------------------------------------------


@pytest.mark.parametrize("separator, name", [(";", "a.csv"), ("\t", "a.tsv")])
@pytest.mark.parametrize("header", [True, False])
def test_decimal_commas_are_read(
    tmp_path: Path, separator: str, name: str, header: bool
) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3)).round(3)
    X[7, 1] = np.nan
    text = as_csv(X, separator=separator)
    path = tmp_path / name
    skipped = 0 if header else text.index("\n") + 1
    path.write_text(text.replace(".", ",")[skipped:])
    data = dataset(path)
    expected = tmp_path / f"points-{name}"
    expected.write_text(text[skipped:])
    np.testing.assert_array_equal(data.load()[0], dataset(expected).load()[0])
    names = "a, b, c" if header else "1, 2, 3"
    assert data.notes[0] == f"Numbers with decimal commas: {names}."
    path.write_text(text.replace(".", ",")[skipped:] + f"0,5{separator}x\n")
    with pytest.raises(BadFileError, match=r":5\d: 2 fields"):
        dataset(path)


def test_doubtful_points_and_commas_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b;y\n0,5;1.5;0\n1,5;2.5;1\n")
    with pytest.raises(BadFileError, match="a has decimal commas, b decimal points"):
        dataset(path)
    path.write_text("a;y\n" + "0,5;0\n1.5;1\n" * 20)
    with pytest.raises(BadFileError, match="a has decimal commas and decimal points"):
        dataset(path)
    path.write_text("a;y\n1.000,5;0\n12.345,75;1\n")
    with pytest.raises(BadFileError, match="a has points between thousands"):
        dataset(path)
    rows = "\n".join(f"{i},5;{i % 2}" for i in range(50))
    path.write_text(f"a;y\n{rows}\n7,x;1\n")
    with pytest.raises(BadFileError, match=r"a.csv:52: '7,x' in column a is not a num"):
        dataset(path)

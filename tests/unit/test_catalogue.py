"""The catalogue: what it reads, in which format, and what it says if it cannot."""

import bz2
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from onkel.data import BadFileError, dataset
from onkel.data.catalogue import (
    CACHE_VARIABLE,
    VARIABLE,
    DataNotFoundError,
    batches,
    cache,
    entries,
    entry,
    find,
    load,
    mirror,
)


def describe(folder: Path, features: int = 2, **files: Any) -> None:
    """Write a catalogue of data sets, of a file each or of several by part."""
    catalogue = {}
    for name, file in files.items():
        parts = file if isinstance(file, dict) else {"train": file}
        rows = {f"rows_{part}": 3 for part in parts}
        catalogue[name] = {"files": parts, "features": features, **rows}
    (folder / "catalog.json").write_text(json.dumps(catalogue))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def flights(folder: Path) -> Any:
    """A data set in Parquet, as a table, in row groups of four."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"delay": list(range(10)), "origin": list("ABCDEFGHIJ")})
    parquet.write_table(table, folder / "flights.parquet", row_group_size=4)
    describe(folder, flights="flights.parquet")
    return table


def test_csv_gives_dense_rows_and_the_last_column_as_target(folder: Path) -> None:
    text = b"height,width,delay\n1,2.5,16777217\n3,4,-1\n"
    (folder / "boxes.csv.bz2").write_bytes(bz2.compress(text))
    describe(folder, boxes="boxes.csv.bz2")
    X, y = load("boxes")
    assert isinstance(X, np.ndarray) and X.dtype == np.float32
    np.testing.assert_array_equal(X, [[1, 2.5], [3, 4]])
    # a number that single precision has not
    np.testing.assert_array_equal(y, [16777217, -1])


def test_csv_of_one_row_is_a_row(folder: Path) -> None:
    (folder / "boxes.csv").write_text("a,b,c\n1,2,3\n")
    describe(folder, boxes="boxes.csv")
    X, y = load("boxes", dtype=np.float64)
    assert X.shape == (1, 2) and X.dtype == np.float64 and y.tolist() == [3]


def test_libsvm_gives_csr(folder: Path) -> None:
    (folder / "points").write_text("1 1:0.5\n-1 2:2\n")
    describe(folder, features=3, points="points")
    X, y = load("points")
    assert isinstance(X, scipy.sparse.csr_array) and X.dtype == np.float32
    np.testing.assert_array_equal(X.toarray(), [[0.5, 0, 0], [0, 2, 0]])
    np.testing.assert_array_equal(y, [1, -1])


def test_csv_with_other_columns_than_the_catalogue_says_is_refused(
    folder: Path,
) -> None:
    (folder / "boxes.csv").write_text("a,b,c\n1,2,3\n")
    describe(folder, features=5, boxes="boxes.csv")
    with pytest.raises(ValueError, match=r"boxes\.csv has 3 columns.* says 5 features"):
        load("boxes")


def test_csv_with_text_names_the_file_and_the_line(folder: Path) -> None:
    (folder / "boxes.csv").write_text("a,b,c\n1,blue,3\n")
    describe(folder, boxes="boxes.csv")
    with pytest.raises(BadFileError, match=r"boxes\.csv:2: 'blue' in column b"):
        load("boxes")


def test_batches_keep_the_order_and_the_size(flights: Any) -> None:
    read = list(batches("flights", rows=3))
    assert [batch.num_rows for batch in read] == [3, 3, 3, 1]
    assert [row for batch in read for row in batch.to_pylist()] == flights.to_pylist()


def test_batches_have_the_columns_asked_for(flights: Any) -> None:
    (batch,) = batches("flights", columns=["origin"])
    assert batch.schema.names == ["origin"] and batch.num_rows == 10


@pytest.mark.parametrize(
    "given, said",
    [
        ({"columns": ["delay", "gate"]}, "no column 'gate'; there are delay, origin"),
        ({"rows": 0}, "rows must be at least 1, got 0"),
    ],
)
def test_batches_refuse_at_once(flights: Any, given: dict, said: str) -> None:
    # at the call, not when the first batch is asked for
    with pytest.raises(ValueError, match=said):
        batches("flights", **given)


def test_each_format_points_to_its_reader(flights: Any, folder: Path) -> None:
    with pytest.raises(ValueError, match=r"batches\('flights'\)"):
        load("flights")
    (folder / "points").write_text("1 1:0.5\n")
    describe(folder, points="points")
    with pytest.raises(ValueError, match=r"load\('points'\)"):
        batches("points")


def test_a_mirror_has_its_own_sets_beside_the_known(folder: Path) -> None:
    describe(folder, points="points", ijcnn1="few")
    assert entry("points").parts["train"].rows == 3
    assert entry("points").papers == ()
    # what onkel knows of a set stays, where the mirror does not say otherwise
    assert entry("ijcnn1").parts["train"].rows == 3
    assert entry("ijcnn1").parts["test"].rows == 91_701
    assert "AVM" in entry("ijcnn1").papers and entry("ijcnn1").features == 2
    assert {"points", "a9a", "year"} < set(entries())
    with pytest.raises(ValueError, match=r"unknown data set 'lines'; there are .*a9a"):
        entry("lines")


def test_parts_are_joined(folder: Path) -> None:
    (folder / "points").write_text("1 1:1\n2 2:3\n")
    (folder / "points.t").write_text("3 2:5\n")
    describe(folder, points={"train": "points", "test": "points.t"})
    data = dataset("points", part="all", scaling="none", task="classification")
    assert data.n_rows == 3 and data.classes.tolist() == [1, 2, 3]
    read = list(data.batches())
    assert [batch.first for batch in read] == [0, 2]
    X, y = data.load()
    np.testing.assert_array_equal(X, [[1, 0], [0, 3], [0, 5]])
    assert y.tolist() == [1, 2, 3]
    assert dataset("points", part="test").n_rows == 1


def test_the_mirror_comes_before_the_cache(folder: Path) -> None:
    (folder / "few").write_text("1 1:1\n-1 2:3\n")
    kept = cache() / "a9a" / "a9a"
    kept.parent.mkdir(parents=True)
    kept.write_text("1 1:1\n")
    describe(folder, a9a="few")
    assert find("a9a", "train")[0] == folder / "few"
    (folder / "few").unlink()
    assert find("a9a", "train")[0] == kept
    kept.unlink()
    with pytest.raises(
        DataNotFoundError,
        match=r"few is listed .* but not there; .*cache/a9a/a9a is not there; "
        r"`onkel data fetch a9a` gets it from https://www\.csie.*/binary/a9a$",
    ):
        find("a9a", "train")


def test_missing_files_parts_and_folders_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(folder, points="points")
    with pytest.raises(DataNotFoundError, match=r"points is listed .* but not there"):
        load("points")
    with pytest.raises(ValueError, match="no part 'test', only"):
        load("points", "test")
    with pytest.raises(DataNotFoundError, match=r"does not list it; .* not published"):
        find("nycflights", "train")
    (folder / "catalog.json").write_text("[1]")
    with pytest.raises(BadFileError, match=r"catalog\.json: no catalogue"):
        entries()
    (folder / "catalog.json").unlink()
    with pytest.raises(DataNotFoundError, match=rf"{VARIABLE}=.* has no catalog\.json"):
        mirror()
    with pytest.raises(DataNotFoundError, match=r"elsewhere has no catalog\.json"):
        mirror("elsewhere")
    monkeypatch.delenv(VARIABLE)
    assert mirror() is None
    with pytest.raises(DataNotFoundError, match=f"no mirror is named by {VARIABLE}"):
        load("ijcnn1")


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache() == Path("/somewhere/onkel")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache() == Path.home() / ".cache" / "onkel"

"""The catalogue: what it reads, in which format, and what it says if it cannot."""

import bz2
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from onkel.data.catalogue import (
    VARIABLE,
    DataNotFoundError,
    batches,
    entry,
    load,
    mirror,
)


def describe(folder: Path, features: int = 2, **files: str) -> None:
    """Write a catalogue of data sets that have one file each."""
    catalogue = {
        name: {"files": {"train": file}, "features": features, "rows_train": 3}
        for name, file in files.items()
    }
    (folder / "catalog.json").write_text(json.dumps(catalogue))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
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
    describe(folder, points="points")
    X, y = load("points")
    assert isinstance(X, scipy.sparse.csr_array)
    np.testing.assert_array_equal(X.toarray(), [[0.5, 0], [0, 2]])
    np.testing.assert_array_equal(y, [1, -1])


def test_csv_with_other_columns_than_the_catalogue_says_is_refused(
    folder: Path,
) -> None:
    (folder / "boxes.csv").write_text("a,b,c\n1,2,3\n")
    describe(folder, features=5, boxes="boxes.csv")
    with pytest.raises(ValueError, match=r"boxes\.csv has 3 columns.* says 5 features"):
        load("boxes")


def test_csv_with_text_names_the_file_and_the_place(folder: Path) -> None:
    (folder / "boxes.csv").write_text("a,b,c\n1,blue,3\n")
    describe(folder, boxes="boxes.csv")
    with pytest.raises(ValueError, match=r"boxes\.csv: .*'blue'.* row 0, column 2"):
        load("boxes")


def test_batches_keep_the_order_and_the_size(flights: Any) -> None:
    read = list(batches("flights", rows=3))
    assert all(0 < batch.num_rows <= 3 for batch in read)
    assert [row for batch in read for row in batch.to_pylist()] == flights.to_pylist()


def test_batches_have_the_columns_asked_for(flights: Any) -> None:
    (batch,) = batches("flights", columns=["origin"])
    assert batch.schema.names == ["origin"] and batch.num_rows == 10


@pytest.mark.parametrize(
    "given, said",
    [
        ({"columns": ["delay", "gate"]}, "no column 'gate', only delay, origin"),
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


def test_parquet_without_pyarrow_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "flights.parquet").touch()
    describe(folder, flights="flights.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pip install "onkel\[race\]"'):
        batches("flights")


def test_entry_tells_what_the_catalogue_has(folder: Path) -> None:
    describe(folder, points="points")
    assert entry("points")["rows_train"] == 3
    with pytest.raises(ValueError, match=r"unknown data set 'lines'.* has points"):
        entry("lines")


def test_missing_files_parts_and_folders_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(folder, points="points")
    with pytest.raises(DataNotFoundError, match=r"points is listed .* but not there"):
        load("points")
    with pytest.raises(ValueError, match="no part 'test', only"):
        load("points", "test")
    (folder / "catalog.json").unlink()
    with pytest.raises(DataNotFoundError, match=r"has no catalog\.json"):
        mirror()
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(DataNotFoundError, match=VARIABLE):
        mirror()

"""Readers: the same rows from every format, and where a bad file is bad."""

import bz2
import gzip
import lzma
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from onkel.data import BadFileError, DataNotFoundError, dataset

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 2000
COMPRESS: dict[str, Any] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def write(path: Path, text: str | bytes) -> Path:
    content = text.encode() if isinstance(text, str) else text
    path.write_bytes(COMPRESS.get(path.suffix, bytes)(content))
    return path


@pytest.fixture(scope="module")
def table() -> Any:
    """Rows with a column of each kind, and a label."""
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 10**6, ROWS)
    return pyarrow.table(
        {
            "height": np.round(rng.normal(size=ROWS), 3),
            "is_open": rng.random(ROWS) < 0.5,
            "colour": rng.choice(["red", "blue", "very green"], ROWS),
            "begun": np.datetime64("2001-03-01", "us") + minutes.astype("m8[m]"),
            "label": rng.integers(1, 4, ROWS),
        }
    )


def as_csv(table: Any, separator: str = ",", header: bool = True) -> str:
    rows = [
        separator.join(
            str(value).lower() if isinstance(value, bool) else str(value)
            for value in row.values()
        )
        for row in table.to_pylist()
    ]
    return "\n".join(([separator.join(table.column_names)] if header else []) + rows)


ARFF = """% a comment
@RELATION boxes
@attribute 'height' REAL
@attribute is_open {false, true}
@attribute colour {red,blue,'very green'}
@attribute begun date "yyyy-MM-dd HH:mm:ss"
@attribute label {1,2,3}

@DATA
% another, with a comma
"""


def test_every_format_gives_the_same_rows(table: Any, tmp_path: Path) -> None:
    write(tmp_path / "boxes.csv", as_csv(table))
    write(tmp_path / "semi.csv.bz2", as_csv(table, ";"))
    write(tmp_path / "boxes.tsv.gz", as_csv(table, "\t"))
    quoted = as_csv(table, header=False).replace("very green", "'very green'")
    write(tmp_path / "boxes.arff", ARFF.replace("{false, true}", "string") + quoted)
    parquet.write_table(table, tmp_path / "boxes.parquet", row_group_size=300)
    dictionary = table.set_column(2, "colour", table["colour"].dictionary_encode())
    with pyarrow.OSFile(str(tmp_path / "boxes.arrow"), "wb") as file:
        with pyarrow.ipc.new_file(file, dictionary.schema) as writer:
            writer.write_table(dictionary, max_chunksize=70)
    with pyarrow.OSFile(str(tmp_path / "stream.feather"), "wb") as file:
        with pyarrow.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=900)
    expected = dataset(tmp_path / "boxes.csv", dtype=np.float64)
    X, y = expected.load()
    assert X.shape == (ROWS, 9) and y.dtype == np.int64
    assert expected.preparation.features[-1] == "colour=very green"
    others = [path for path in tmp_path.iterdir() if path.name != "boxes.csv"]
    assert len(others) == 6
    for path in others:
        data = dataset(path, dtype=np.float64)
        assert data.n_rows == ROWS and data.classes.tolist() == [1, 2, 3]
        batches = list(data.batches(130))
        assert [batch.first for batch in batches] == list(range(0, ROWS, 130))
        if path.suffix == ".arff":  # flags are texts there
            features = data.preparation.features
            assert sorted(features)[-1] == "is_open=true"
            continue
        np.testing.assert_array_equal(np.concatenate([b.X for b in batches]), X)
        np.testing.assert_array_equal(np.concatenate([b.y for b in batches]), y)


def test_times_become_clock_and_calendar(tmp_path: Path) -> None:
    # a Thursday, and a Sunday that is the last of a leap year
    rows = "1970-01-01 06:00:00,1970-01-01,1", "2000-12-31 23:30:00,2000-12-31,0"
    text = "begun,day,y\n" + "\n".join(rows)
    data = dataset(write(tmp_path / "a.csv", text), scaling="none", dtype=np.float64)
    X, _ = data.load()
    days = 11322
    assert X[0].tolist() == [6, 3, 1, 0.25, 3, 1, 0]
    np.testing.assert_allclose(X[1], [23.5, 6, 366, days + 23.5 / 24, 6, 366, days])


def test_times_with_a_zone_are_read_in_that_of_greenwich(tmp_path: Path) -> None:
    text = "begun,y\n2001-01-01T01:30:00+01:00,1\n2001-01-01T02:00:00Z,0\n"
    data = dataset(write(tmp_path / "a.csv", text), scaling="none")
    assert data.load()[0][:, 0].tolist() == [0.5, 2]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_libsvm_plain_and_compressed(tmp_path: Path, suffix: str) -> None:
    text = "# a comment\n1 1:0.5 3:2\n\n-1 2:1 # another\n1\n"
    path = write(tmp_path / f"points{suffix}", text)
    data = dataset(path, scaling="none")
    X, y = data.load()
    np.testing.assert_array_equal(X, [[0.5, 0, 2], [0, 1, 0], [0, 0, 0]])
    assert y.tolist() == [1, -1, 1] and data.counts.tolist() == [1, 2]


def test_wide_libsvm_stays_sparse(tmp_path: Path) -> None:
    data = dataset(write(tmp_path / "wide", "1 1:2\n2 900:4\n1 900:8\n"))
    (batch,) = data.batches()
    assert isinstance(batch.X, scipy.sparse.csr_array) and batch.X.shape == (3, 900)
    assert batch.X.indices.dtype == np.int32 and batch.X.dtype == np.float32
    # the largest absolute value is 1
    np.testing.assert_array_equal(
        batch.X.toarray()[:, [0, 899]], [[1, 0], [0, 0.5], [0, 1]]
    )
    with pytest.raises(BadFileError, match="would make 900 sparse features dense"):
        dataset(tmp_path / "wide", scaling="minmax")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", ["points", "points.csv"])
def test_truncated_compression_is_told_with_the_line(
    tmp_path: Path, suffix: str, kind: str
) -> None:
    lines = np.random.default_rng(0).random(60_000)
    line = "1,{}\n" if kind.endswith("csv") else "1 1:{}\n"
    path = write(tmp_path / f"{kind}{suffix}", "".join(map(line.format, lines)))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(
        BadFileError, match=rf"{kind}{suffix}:\d+: damaged or cut"
    ) as at:
        dataset(path)
    assert at.value.path == path and at.value.line > 1000


@pytest.mark.parametrize(
    "line, said",
    [
        ("1 1:1 5:2 2:1", "index 2 follows index 5: indices must ascend"),
        ("1 1:1 1:2", "index 1 follows index 1"),
        ("1 0:1", "indices begin with 1"),
        ("1 1:x", "value in '1:x' is not a finite number"),
        ("1 1:nan", "value in '1:nan' is not a finite number"),
        ("1 2:inf", "value in '2:inf' is not a finite number"),
        ("1 1:1 7", "'7' is not index:value"),
        ("cat 1:1", "label 'cat' is not a finite number"),
        ("nan 1:1", "label 'nan' is not a finite number"),
        ("1 99999999999:1", "index 99999999999 is too large"),
    ],
)
def test_bad_line_of_libsvm(tmp_path: Path, line: str, said: str) -> None:
    path = write(tmp_path / "points.bz2", "1 1:2 2:1\n\n" * 10_000 + line + "\n")
    with pytest.raises(BadFileError, match=said) as error:
        dataset(path)
    assert error.value.line == 20_001
    assert str(error.value).startswith(f"{path}:20001: ")


def made_csv(path: Path, row: str, header: str = "a,b,c,y") -> Path:
    """A file whose row 16,500, of batch 17 if these have 1,000, is a bad one."""
    rows = [f"{i},{i % 7}.5,x{i % 3},{i % 2}" for i in range(20_000)]
    rows[16_499] = row
    return write(path, header + "\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize(
    "row, said",
    [
        ("abc,1,x1,1", "'abc' in column a is not a number"),
        ("1,2.5,x1", "3 fields where there are 4 columns"),
        ("1,2.5,x1,1,1", "5 fields where there are 4 columns"),
        ("1,,x1,1", "b is missing: fill it"),
        ("1,NaN,x1,1", "b is missing: fill it"),
        ("1,inf,x1,1", "b is inf: fill it"),
        ("1,1,x1,", "y is missing"),
        ("1,1,x1,late", "'late' in column y is not a number"),
        ("1_000,1,x1,1", "'1_000' in column a is not a number"),
    ],
)
@pytest.mark.parametrize("block", [1 << 20, 10_000])
def test_bad_row_of_csv(
    tmp_path: Path, row: str, said: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # in the first block that pyarrow reads, which tells the types, and in a later one
    monkeypatch.setattr("onkel.data.delimited.BLOCK", block)
    path = made_csv(tmp_path / "boxes.csv", row)
    with pytest.raises(BadFileError, match=said) as error:
        dataset(path, missing="refuse")
    assert error.value.line == 16_501
    assert str(error.value).startswith(f"{path}:16501: ")


def test_text_label_in_a_regression_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\n1,2.5\n2,high\n3,low\n")
    with pytest.raises(
        BadFileError, match=r"a.csv:3: 'high' in column y is not a number"
    ):
        dataset(path, task="regression")
    with pytest.raises(
        BadFileError, match=r"a.csv:3: 'high' in column y is not a number"
    ):
        dataset(path, above=1)
    parquet.write_table(
        pyarrow.table({"a": [1, 2], "y": ["1.5", "high"]}), tmp_path / "a.parquet"
    )
    with pytest.raises(BadFileError, match="row 2: 'high' in column y is not a number"):
        dataset(tmp_path / "a.parquet", task="regression")


def test_arff_rows_are_told_by_their_line(tmp_path: Path) -> None:
    head = "@relation r\n@attribute a numeric\n@attribute y {yes,no}\n@data\n"
    path = write(tmp_path / "r.arff", head + "1,yes\n% note, this\n2,no\nfour,no\n")
    with pytest.raises(BadFileError, match=r"r.arff:8: 'four' in column a"):
        dataset(path)
    path = write(tmp_path / "q.arff", head + "1,yes\n?,no\n")
    with pytest.raises(BadFileError, match=r"q.arff:6: a is missing"):
        dataset(path, missing="refuse")
    for text, said in (
        (head + "{0 1, 1 yes}\n", ":5: sparse ARFF"),
        (head, ":4: there are no rows"),
        ("@relation r\n", ":1: no @data"),
        ("@data\n1,2\n", "no @attribute"),
        ("@attribute a\n@data\n1\n", ":1: '@attribute a' declares no column"),
        (head.replace("y {", "a {") + "1,yes\n", ":3: two columns"),
        (head.replace("numeric", "relational") + "1,yes\n", "a holds relational"),
    ):
        with pytest.raises(BadFileError, match=said):
            dataset(write(tmp_path / "s.arff", text))


def test_bad_rows_of_parquet_and_arrow(tmp_path: Path) -> None:
    good = list(np.arange(1000.0))
    for bad, said in (
        (None, "b is missing"),
        (np.nan, "b is nan"),
        (np.inf, "b is inf"),
    ):
        values = [*good[:816], bad, *good[817:]]
        made = pyarrow.table({"b": values, "y": [0, 1] * 500})
        path = tmp_path / "boxes.parquet"
        parquet.write_table(made, path, row_group_size=100)
        with pytest.raises(BadFileError, match=rf"parquet, row 817: {said}") as error:
            dataset(path, missing="refuse")
        assert error.value.row == 817 and error.value.line is None
    listed = pyarrow.table({"b": [[1], [2]], "y": [0, 1]})
    parquet.write_table(listed, path)
    with pytest.raises(BadFileError, match=r"column b holds list<.*drop it"):
        dataset(path)


@pytest.mark.parametrize("name", ["a", "a.csv", "a.arff", "a.parquet", "a.arrow"])
def test_empty_and_senseless_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(BadFileError, match=f"{name}: the file is empty"):
        dataset(tmp_path / name)
    (tmp_path / name).write_bytes(b"\n")
    with pytest.raises(BadFileError, match=name):
        dataset(tmp_path / name)
    (tmp_path / name).write_bytes(b"\x00\xff\xfe\x80 3:\n" * 40)
    with pytest.raises(BadFileError, match=name):
        dataset(tmp_path / name)


def test_truncated_parquet(tmp_path: Path, table: Any) -> None:
    path = tmp_path / "boxes.parquet"
    parquet.write_table(table, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BadFileError, match="no parquet file, or damaged"):
        dataset(path)


def test_a_header_only_and_a_missing_target(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "height,width,label\n")
    with pytest.raises(BadFileError, match=r"a.csv:2: there are no rows"):
        dataset(path)
    write(path, "height,width,label\n1,2,0\n3,4,1\n")
    for target in ("price", 4, 0, -4):
        with pytest.raises(BadFileError, match="there are height, width, label"):
            dataset(path, target=target)
    for target in ("width", 2, "2", -2):
        assert dataset(path, target=target).preparation.target.column == "width"
    write(path, "a,a\n1,2\n")
    with pytest.raises(BadFileError, match="two columns are called 'a'"):
        dataset(path)
    with pytest.raises(DataNotFoundError, match="neither a file nor a data set"):
        dataset(tmp_path / "b.csv")


@pytest.mark.parametrize(
    "text, names",
    [
        ("0,udp,SF\n1,tcp,S0\n", ["1", "2", "3"]),
        ("x,2001,y\n1,2,3\n", ["x", "2001", "y"]),
        ("\ufeffx,y\n1,2\n", ["x", "y"]),
        ("a,b,c\nd,e,f\n", ["a", "b", "c"]),
        ("1,NA,3\n4,5,6\n", ["1", "2", "3"]),
        ('"x, y";z\n1;2\n', ["x, y", "z"]),
    ],
)
def test_headers_are_told_by_their_look(
    tmp_path: Path, text: str, names: list[str]
) -> None:
    from onkel.data.delimited import Delimited

    assert list(Delimited(write(tmp_path / "a.csv", text)).kinds) == names


def test_quotes_and_lines_within_texts(tmp_path: Path) -> None:
    text = 'a,b,y\n1,"red, or\nblue",0\n2,"say ""x""",1\n'
    path = write(tmp_path / "a.csv", text)
    features = dataset(path).preparation.features
    assert features == ["a", "b=red, or\nblue", 'b=say "x"']
    write(path, text + "z,q,1\n")
    with pytest.raises(BadFileError, match=r"a.csv:5: "):
        dataset(path, task="regression", target="a")


def test_what_is_not_utf_8(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"a,y\nx,1\n\xff,0\n")
    with pytest.raises(BadFileError, match=r"a.csv:3: not UTF-8"):
        dataset(path)


def test_empty_lines_before_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "\n\na,y\n1,2\n\n3,x\n")
    with pytest.raises(BadFileError, match=r"a.csv:6: 'x' in column y"):
        dataset(path, task="regression")


def test_a_format_can_be_forced(tmp_path: Path) -> None:
    path = write(tmp_path / "boxes.txt", "1,2,0\n3,4,1\n")
    with pytest.raises(BadFileError, match=r"boxes.txt:1: .*suffix or format="):
        dataset(path)
    assert dataset(path, format="csv").n_features == 2
    with pytest.raises(ValueError, match="unknown format 'xls'; there are arff, arrow"):
        dataset(path, format="xls")


@pytest.mark.parametrize("name", ["a.csv", "a.arff", "a.parquet", "a.arrow"])
def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / name, "a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "onkel\[cli\]"'):
        dataset(tmp_path / name)


# ---- what would fill the memory, or end in somebody else's error ---------------------


def test_too_large_a_number_is_told_with_line_column_and_value(tmp_path: Path) -> None:
    rows = [f"{i % 9}.5,{i % 7}.5,{i % 2}" for i in range(400)]
    rows[200] = "1e308,1,0"
    path = write(tmp_path / "a.csv", "a,b,y\n" + "\n".join(rows) + "\n")
    with pytest.raises(BadFileError, match=r"a.csv:202: a is 1e\+308, beyond 1e\+150"):
        dataset(path)
    rows[200] = "1,2,-1e200"
    write(path, "a,b,y\n" + "\n".join(rows) + "\n")
    with pytest.raises(BadFileError, match=r"a.csv:202: y is -1e\+200, beyond"):
        dataset(path, task="regression")
    for line, said in (
        ("1 2:-1e300", "value in '2:-1e300' is beyond"),
        ("1e300 2:1", "label 1e300 is beyond"),
    ):
        path = write(tmp_path / "points", "1 1:2\n" * 30 + line + "\n")
        with pytest.raises(BadFileError, match=f"points:31: the {said}"):
            dataset(path)


def test_too_large_for_the_precision_is_told_with_the_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\n1.5,0\n2.5,1\n")
    made = dataset(path)
    write(path, "a,y\n1.5,0\n1e60,1\n")
    with pytest.raises(BadFileError, match=r"a.csv:3: a is 2e\+60 after standard scal"):
        dataset(path, preparation=made.preparation)
    path = write(tmp_path / "points", "1 1:1\n\n2 3:1e39\n")
    with pytest.raises(BadFileError, match=r"points:3: 3 is 1e\+39, too large for flo"):
        dataset(path, scaling="none").load()


def test_parquet_without_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({}), path)
    with pytest.raises(BadFileError, match=r"a.parquet: no columns"):
        dataset(path)
    doubled = pyarrow.table([[1, 2], [0, 1]], names=["a", "a"])
    parquet.write_table(doubled, path)
    with pytest.raises(BadFileError, match=r"a.parquet: two columns have one name"):
        dataset(path)


def traced(act: Any) -> int:
    """Bytes that Python and numpy held at most."""
    import tracemalloc

    tracemalloc.start()
    try:
        with pytest.raises(BadFileError):
            act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_index_far_beyond_the_values_is_refused(tmp_path: Path) -> None:
    text = "1 1:2 3:1\n2 2:1\n" * 50 + "1 16777216:1\n" + "2 7:1\n"
    path = write(tmp_path / "points", text)
    said = r"points:101: index 16,777,216, but 152 values .* Number the features from 1"
    with pytest.raises(BadFileError, match=said):
        dataset(path)
    assert traced(lambda: dataset(path)) < 10 * 2**20
    # as many features as there are values, and a moderate number of them anyway
    wide = " ".join(f"{i}:1" for i in range(1, 140_001))
    path = write(tmp_path / "wide", f"1 {wide}\n2 3:1\n")
    (batch,) = dataset(path).batches()
    assert isinstance(batch.X, scipy.sparse.csr_array)
    assert batch.X.shape == (2, 140_000)
    path = write(tmp_path / "hashed", "1 1:1\n2 131072:1\n")
    assert dataset(path).n_features == 131_072


@pytest.mark.parametrize("name", ["a.csv.gz", "a.gz", "a.arff.gz"])
def test_a_bomb_is_refused_in_little_memory(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(b"0" * (1 << 20))
    with pytest.raises(BadFileError, match=rf"{name}:1: a line of more than [\d,]+ by"):
        dataset(path)
    assert traced(lambda: dataset(path)) < 200 * 2**20
    # lines of a moderate length, but too many of them
    monkeypatch.setattr("onkel.data.text.FREE", 1 << 20)
    body = "@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n"
    body = body * name.startswith("a.arff") + "1,0\n" * 400_000
    write(path, body.replace(",", " 1:") if name == "a.gz" else body)
    with pytest.raises(BadFileError, match="more than 200 times as large"):
        dataset(path)


def test_what_compresses_well_is_no_bomb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onkel.data.text.FREE", 1 << 10)
    rows = "\n".join(f"{i % 13}.5,{i % 7},{i % 2}" for i in range(20_000))
    assert dataset(write(tmp_path / "a.csv.gz", "a,b,y\n" + rows)).n_rows == 20_000


def test_long_lines_are_read_in_small_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onkel.data.libsvm.BLOCK_BYTES", 100)
    path = write(tmp_path / "points", "1 1:2 2:3\n2 2:0.5\n" * 40)
    data = dataset(path, scaling="none")
    assert data.n_rows == 80 and len(list(data.batches())) > 5
    assert data.load()[0][:, 1].sum() == 140


@pytest.mark.parametrize("name", ["a.csv", "a.arff"])
def test_a_binary_file_leaves_no_traces(
    tmp_path: Path, name: str, capfd: pytest.CaptureFixture
) -> None:
    head = b"@relation r\n@attribute a real\n@attribute y {0,1}\n@data\n1,0\n"
    noise = np.random.default_rng(0).bytes(200_000)
    path = write(tmp_path / name, head * name.endswith("arff") + b"1,2\n" + noise)
    with pytest.raises(BadFileError, match=rf"{name}:\d: not UTF-8"):
        dataset(path)
    assert capfd.readouterr() == ("", "")


def test_arff_has_only_declared_values(tmp_path: Path) -> None:
    head = (
        "@relation r\n@attribute a {red, 'very, green',\"blue\"}\n"
        "@attribute b {1,2,3}\n@attribute y {yes,no}\n@data\n"
    )
    good = "red,1,yes\n'very, green', 3, no\n? ,?,yes\n blue,2.0,no\n"
    path = write(tmp_path / "r.arff", head + good)
    assert dataset(path).preparation.features == [
        *("b", "a=blue", "a=red", "a=very, green", "a is missing", "b is missing"),
    ]
    for row, said in (
        ("pink,1,yes", "'pink' in column a"),
        ("red,4,yes", "4 in column b"),
        ("red,1,maybe", "'maybe' in column y"),
    ):
        write(path, head + good + "% a comment, that counts\n" + row + "\n")
        with pytest.raises(BadFileError, match=rf"r.arff:11: {said} is not among"):
            dataset(path)

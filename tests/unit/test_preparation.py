"""Preparation: learnt in one pass, the same again, and safe to read from a file."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from onkel.data import SCALINGS, BadFileError, Preparation, dataset
from onkel.data import survey as survey_module
from onkel.data.target import Target

pytest.importorskip("pyarrow")

SCALERS: dict[str, Any] = {
    "standard": StandardScaler(),
    "minmax": MinMaxScaler(),
    "symmetric": MinMaxScaler((-1, 1)),
    "maxabs": MaxAbsScaler(),
}


def as_libsvm(X: np.ndarray, y: np.ndarray) -> str:
    lines = []
    for row, label in zip(X, y, strict=True):
        pairs = " ".join(f"{i + 1}:{float(row[i])!r}" for i in np.flatnonzero(row))
        lines.append(f"{label} {pairs}")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    """A third of zeros, a constant column, and a last one that is zero for long."""
    rng = np.random.default_rng(0)
    X = rng.normal(3, 5, (700, 5)) * (rng.random((700, 5)) < 0.67)
    X[:, 2] = 4
    X[:600, 4] = 0
    return X, rng.integers(0, 3, 700)


@pytest.fixture
def points(rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(survey_module, "ROWS", 64)
    path = tmp_path / "points"
    path.write_text(as_libsvm(*rows))
    return path


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scaling_by_batches_is_that_of_the_whole(
    points: Path, rows: Any, scaling: str
) -> None:
    X, y = rows
    data = dataset(points, scaling=scaling, dtype=np.float64)
    expected = SCALERS[scaling].fit_transform(X) if scaling in SCALERS else X
    found, labels = data.load()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(labels, y)
    # single precision is made at the end
    single, _ = dataset(points, scaling=scaling).load()
    np.testing.assert_array_equal(single, found.astype(np.float32))


def test_auto_scaling_goes_by_the_layout(tmp_path: Path, points: Path) -> None:
    assert dataset(points).preparation.scaled == "standard"
    thin = tmp_path / "thin"
    thin.write_text("1 1:4 3:1 20:2\n2 1:-8 20:1\n1 7:3\n")
    data = dataset(thin)
    assert data.preparation.scaled == "maxabs" and data.preparation.sparse
    X, _ = data.load()
    assert X.toarray()[:, [0, 19]].tolist() == [[0.5, 1], [-1, 0.5], [0, 0]]
    standard, _ = dataset(thin, scaling="standard", dtype=np.float64).load()
    assert isinstance(standard, scipy.sparse.csr_array) and standard.nnz == 6
    expected = StandardScaler(with_mean=False).fit_transform(
        dataset(thin, scaling="none", dtype=np.float64).load()[0].toarray()
    )
    np.testing.assert_allclose(standard.toarray(), expected)


def test_constant_columns_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "1000000.1,0,1\n" * 50 + "1000000.1,0,2\n" * 50)
    for scaling in SCALINGS:
        X, _ = dataset(path, scaling=scaling).load()
        assert np.isfinite(X).all() and np.ptp(X, axis=0).max() == 0


def test_too_large_for_single_precision(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1 1:1e39\n2 1:2\n")
    with pytest.raises(ValueError, match="too large for float32: scale"):
        dataset(path, scaling="none").load()
    assert dataset(path, scaling="none", dtype=np.float64).load()[0].max() == 1e39


CSV = """height,is_open,colour,begun,price
1.5,true,red,2001-01-01 10:00:00,7
2.5,false,blue,2001-01-02 11:30:00,9
0.5,true,,2001-06-02 23:00:00,7
0.25,false,red,2002-01-01 00:00:00,9
"""


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    path = tmp_path / "boxes.csv"
    path.write_text(CSV)
    return path


def test_texts_become_one_column_each(boxes: Path) -> None:
    data = dataset(boxes, scaling="none", drop=["begun"])
    assert data.preparation.features == [
        *("height", "is_open", "colour=blue", "colour=red", "colour is missing"),
    ]
    X, y = data.load()
    # a missing text is a category of its own
    np.testing.assert_array_equal(
        X,
        [[1.5, 1, 0, 1, 0], [2.5, 0, 1, 0, 0], [0.5, 1, 0, 0, 1], [0.25, 0, 0, 1, 0]],
    )
    assert y.tolist() == [7, 9, 7, 9] and y.dtype == np.int64
    # what is dropped once is dropped again
    again = dataset(boxes, preparation=data.preparation)
    np.testing.assert_array_equal(again.load()[0], X)


def test_many_texts_are_laid_out_sparse(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"{i % 5},t{i % 300},{i % 2}" for i in range(900)]
    path.write_text("a,b,y\n" + "\n".join(lines))
    data = dataset(path, scaling="none")
    X, _ = data.load()
    assert isinstance(X, scipy.sparse.csr_array) and X.shape == (900, 301)
    assert X.indices.dtype == np.int32 and X.has_canonical_format
    assert X[[7]].toarray()[0].nonzero()[0].tolist() == [
        0,
        1 + sorted(f"t{i}" for i in range(300)).index("t7"),
    ]
    path.write_text("a,b,y\n" + "\n".join(f"{i},t{i},{i % 2}" for i in range(1001)))
    with pytest.raises(BadFileError, match=r"column b has more than 1000 .* drop it"):
        dataset(path)
    assert dataset(path, drop=["b"]).n_features == 1


@pytest.mark.parametrize(
    "targets, task, expected",
    [
        (["a", "b", "a", "b"], "auto", ["a", "b"]),
        (["true", "false", "true", "true"], "auto", [False, True]),
        ([1, 2, 1, 1], "auto", [1, 2]),
        ([1.0, 2.0, 1.0, 1.0], "auto", [1, 2]),
        ([1, 2, 3, 4], "auto", None),
        ([1, 2, 3, 4], "classification", [1, 2, 3, 4]),
        ([1.5, 2, 1, 1], "auto", None),
        ([1.5, 2, 1, 1], "classification", [1, 1.5, 2]),
        ([1, 2, 1, 1], "regression", None),
    ],
)
def test_the_task_is_told_by_the_target(
    tmp_path: Path, targets: list, task: str, expected: Any
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "\n".join(f"{i},{y}" for i, y in enumerate(targets)))
    data = dataset(path, task=task)
    assert data.is_regression == (expected is None)
    _, y = data.load()
    if expected is None:
        assert data.classes is None and y.dtype == np.float64
    else:
        assert data.classes.tolist() == expected and y.dtype == data.classes.dtype
        assert data.counts.sum() == 4


def test_too_many_values_are_no_classes(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("\n".join(f"{i % 101} 1:1" for i in range(1000)))
    assert dataset(path).is_regression
    path.write_text("\n".join(f"{i} 1:1" for i in range(3000)))
    with pytest.raises(ValueError, match="more than 1000 distinct values"):
        dataset(path, task="classification")


def test_one_class_against_the_rest_and_above(boxes: Path) -> None:
    for positive in (9, "9"):
        data = dataset(boxes, positive=positive)
        assert data.classes.tolist() == [False, True]
        assert data.counts.tolist() == [2, 2]
        assert data.load()[1].tolist() == [False, True, False, True]
    data = dataset(boxes, above=8.5)
    assert data.load()[1].tolist() == [False, True, False, True]
    assert data.counts.tolist() == [2, 2] and not data.is_regression
    with pytest.raises(ValueError, match="the target price is never 4, but 7, 9"):
        dataset(boxes, positive=4)
    with pytest.raises(ValueError, match="positive=9 is for classification"):
        dataset(boxes, positive=9, task="regression")
    for wrong in ({"above": 1, "positive": 9}, {"above": 1, "task": "regression"}):
        with pytest.raises(ValueError, match="above makes two classes"):
            dataset(boxes, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown scaling 'big'; there are auto, none"):
        dataset(boxes, scaling="big")
    with pytest.raises(TypeError, match="unexpected keyword argument 'tagret'"):
        dataset(boxes, tagret="height")
    with pytest.raises(ValueError, match="unknown task 'ranking'"):
        dataset(boxes, task="ranking")


def test_an_earlier_preparation_is_kept(boxes: Path, tmp_path: Path) -> None:
    made = dataset(boxes, dtype=np.float64)
    later = tmp_path / "later.csv"
    later.write_text(
        CSV.splitlines()[0] + "\n2,true,green,2001-01-01 10:00:00,9\n"
        "1.5,true,red,2001-01-01 10:00:00,7\n"
    )
    seen: list[int] = []
    data = dataset(
        later, preparation=made.preparation, dtype=np.float64, announce=seen.append
    )
    X, y = data.load()
    assert seen == [2] and data.n_rows == 2 and data.counts.tolist() == [1, 1]
    np.testing.assert_array_equal(X[1], made.load()[0][0])
    # green was not seen
    assert X[0, -2:].tolist() == [0, 0] and y.tolist() == [9, 7]


@pytest.mark.parametrize(
    "text, said",
    [
        (CSV.replace(",9\n", ",8\n"), r":3: the label 8\.0 is new.* are 7, 9"),
        (CSV.replace("height", "depth"), "no column 'height'; there are depth"),
        (CSV.replace("\n", ",1\n"), "column '1' is one too many|two columns"),
        (CSV.replace("0.25,", "tall,"), ":5: 'tall' in column height is not a number"),
        (CSV.replace("10:00:00", "soon"), ":2: '2001-01-01 soon' in column begun"),
    ],
)
def test_what_does_not_fit_a_preparation(
    boxes: Path, tmp_path: Path, text: str, said: str
) -> None:
    preparation = dataset(boxes).preparation
    later = tmp_path / "later.csv"
    later.write_text(text)
    with pytest.raises(BadFileError, match=said):
        dataset(later, preparation=preparation)


def test_libsvm_against_a_preparation(tmp_path: Path, boxes: Path) -> None:
    path = tmp_path / "points"
    path.write_text("1 1:1 2:5\n-1 2:3\n")
    preparation = dataset(path).preparation
    path.write_text("# nothing\n1 1:2\n\n-1 3:1\n")
    with pytest.raises(
        BadFileError, match=r"points:4: index 3 is too large: .* 1 to 2"
    ):
        dataset(path, preparation=preparation)
    path.write_text("# nothing\n1 1:2\n\n7 2:1\n")
    with pytest.raises(BadFileError, match=r"points:4: the label 7.0 is new"):
        dataset(path, preparation=preparation)
    path.write_text("2:1\n1:3\n0 1:4\n")
    data = dataset(path, preparation=preparation, labelled=False)
    X, y = data.load()
    assert X.shape == (3, 2) and y.shape == (0,) and data.classes is None
    with pytest.raises(BadFileError, match="the preparation was made from LIBSVM"):
        dataset(boxes, preparation=preparation)
    with pytest.raises(BadFileError, match="the preparation was made from a table"):
        dataset(path, preparation=dataset(boxes).preparation)


def test_rows_without_a_target(boxes: Path, tmp_path: Path) -> None:
    made = dataset(boxes)
    bare = tmp_path / "bare.csv"
    bare.write_text("\n".join(line.rpartition(",")[0] for line in CSV.splitlines()))
    for path in (bare, boxes):
        data = dataset(path, preparation=made.preparation, labelled=False)
        X, y = data.load()
        np.testing.assert_array_equal(X, made.load()[0])
        assert y.shape == (0,) and data.counts is None and not data.is_regression
    with pytest.raises(BadFileError, match="no column 'price'"):
        dataset(bare, preparation=made.preparation)


def test_the_description_is_json(boxes: Path) -> None:
    described = json.loads(json.dumps(dataset(boxes, positive=9).description))
    assert described["rows"] == 4 and described["target"] == "price"
    assert described["classes"] == [False, True] and len(described["sha256"][0]) == 64


@pytest.fixture
def stored(boxes: Path, points: Path) -> list[tuple[Any, Any, Path]]:
    """States that went through JSON, and the files they were made from."""
    full = boxes.with_name("full.csv")
    full.write_text(CSV.replace(",,", ",red,"))
    wanted: list[tuple[Path, dict[str, Any]]] = [
        *((boxes, {"scaling": scaling}) for scaling in SCALINGS),
        (boxes, {"positive": 9}),
        (boxes, {"above": 8}),
        (boxes, {"task": "regression"}),
        (full, {"target": "colour"}),
        (boxes, {"target": "is_open"}),
        (boxes, {"labelled": False}),
        (points, {"scaling": "maxabs"}),
        (points, {}),
    ]
    found = []
    for path, given in wanted:
        described, arrays = dataset(path, **given).preparation.state()
        found.append((json.loads(json.dumps(described)), arrays, path))
    return found


def test_a_preparation_survives_its_state(stored: Any) -> None:
    for described, arrays, path in stored:
        preparation = Preparation.from_state(described, arrays)
        again, same = preparation.state()
        assert json.loads(json.dumps(again)) == described
        assert same.keys() == arrays.keys()
        for name, array in arrays.items():
            assert array.dtype == np.float64
            np.testing.assert_array_equal(same[name], array)
        if described["target"] is not None:
            assert dataset(path, preparation=preparation).n_rows > 0


def test_nonsense_in_a_state_is_refused(stored: Any) -> None:
    nonsense = [
        None,
        -1,
        0,
        2.5,
        "x",
        [],
        {},
        [None],
        [["a"]],
        True,
        float("nan"),
        10**30,
    ]
    refused = 0
    for described, arrays, _ in stored:
        for key in described:
            for value in nonsense:
                refused += _tried({**described, key: value}, arrays)
        for key in described["target"] or {}:
            for value in nonsense:
                changed = copy.deepcopy(described)
                changed["target"][key] = value
                refused += _tried(changed, arrays)
        for name, array in arrays.items():
            for wrong in (
                *(array[:-1], array[None], array.astype(np.float32), array * np.nan),
                array.astype(object),
            ):
                with pytest.raises(ValueError):
                    Preparation.from_state(described, {**arrays, name: wrong})
            with pytest.raises(ValueError):
                Preparation.from_state(described, {})
    assert refused > 500
    for wrong in (None, [], "x", 3):
        with pytest.raises(ValueError):
            Preparation.from_state(wrong, {})  # type: ignore[arg-type]


def _tried(described: Any, arrays: Any) -> bool:
    """Whether a state is refused; anything but a ValueError fails the test."""
    try:
        Preparation.from_state(described, arrays)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "text", "above": 0.0, "labels": None},
        {"kind": "number", "above": 0.0, "labels": [1, 2]},
        {"kind": "text", "labels": None},
        {"kind": "text", "labels": [1, 2]},
        {"kind": "number", "labels": ["a", "b"]},
        {"kind": "flag", "labels": ["a", "b"]},
    ],
)
def test_a_target_of_one_kind_with_labels_of_another_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="a target of kind"):
        Target.from_state({"column": "y", **wrong})

"""The catalogue: data sets by name, read from a mirror folder.

The folder is named by the environment variable ONKEL_DATA_MIRROR; its catalog.json
lists what is there. What fits into memory is loaded, from LIBSVM's format or CSV; what
may not is streamed, from Parquet.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file

if TYPE_CHECKING:
    from pyarrow import RecordBatch

VARIABLE = "ONKEL_DATA_MIRROR"


class DataNotFoundError(FileNotFoundError):
    """A data set is not at hand; the message says where it was looked for."""


def mirror() -> Path:
    """Return the folder that holds the data sets.

    Raises
    ------
    DataNotFoundError
        If no folder is named, or the one named has no catalogue.
    """
    named = os.environ.get(VARIABLE, "")
    if not named:
        raise DataNotFoundError(
            f"no data folder: set the environment variable {VARIABLE} to a folder with "
            "a catalog.json"
        )
    if not (Path(named) / "catalog.json").is_file():
        raise DataNotFoundError(f"{VARIABLE}={named} has no catalog.json")
    return Path(named)


def entry(name: str) -> dict[str, Any]:
    """Return what the catalogue says of a data set: files, rows, features and so on."""
    catalogue = json.loads((mirror() / "catalog.json").read_text())
    if name not in catalogue:
        known = ", ".join(sorted(catalogue))
        raise ValueError(f"unknown data set {name!r}; the catalogue has {known}")
    return catalogue[name]


def _file(name: str, part: str) -> Path:
    files = entry(name)["files"]
    if part not in files:
        raise ValueError(f"{name} has no part {part!r}, only {sorted(files)}")
    path = mirror() / files[part]
    if not path.is_file():
        raise DataNotFoundError(f"{path} is listed in the catalogue but not there")
    return path


def load(
    name: str, part: str = "train", dtype: Any = np.float32
) -> tuple[Any, np.ndarray]:
    """Read a data set in LIBSVM format, or in CSV with a header and the target last.

    Parameters
    ----------
    name
        As in the catalogue, for example "ijcnn1".
    part
        "train" or "test".
    dtype
        Precision of the features.

    Returns
    -------
    X, y
        Rows, in CSR from LIBSVM format and dense from CSV, and their labels or targets.
    """
    path, features = _file(name, part), entry(name)["features"]
    if path.suffix == ".parquet":
        raise ValueError(
            f"{path.name} is for streaming: read it with batches({name!r})"
        )
    if ".csv" in path.suffixes:
        return _read_csv(path, features, dtype)
    X, y = load_svmlight_file(str(path), n_features=features, dtype=dtype)
    return scipy.sparse.csr_array(X), y


def _read_csv(path: Path, features: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        # Decompresses by itself. Targets keep their digits whatever dtype is.
        table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if table.shape[1] != features + 1:
        raise ValueError(
            f"{path} has {table.shape[1]} columns; the catalogue says {features} "
            "features, and the target comes after them"
        )
    # A view would keep the whole table alive.
    return table[:, :-1].astype(dtype), table[:, -1].copy()


def batches(
    name: str, rows: int = 65_536, columns: Sequence[str] | None = None
) -> Iterator["RecordBatch"]:
    """Stream a data set in Parquet, in its order and in bounded memory.

    Parameters
    ----------
    name
        As in the catalogue, for example "flights-3m".
    rows
        Of a batch, at most.
    columns
        Names of those to read; None for all.

    Returns
    -------
    batches
        One at a time. At most a row group of the file is in memory with it.
    """
    path = _file(name, "train")
    if path.suffix != ".parquet":
        raise ValueError(f"{path.name} is no Parquet: read it with load({name!r})")
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(
            "Parquet is read with pyarrow, which is not installed with onkel itself: "
            'pip install "onkel[race]"'
        ) from error
    source = ParquetFile(path)
    # pyarrow leaves out what it does not find.
    unknown = sorted(set(columns or ()) - set(source.schema_arrow.names))
    if unknown:
        known = ", ".join(source.schema_arrow.names)
        raise ValueError(f"{path} has no column {unknown[0]!r}, only {known}")
    return source.iter_batches(batch_size=rows, columns=columns)

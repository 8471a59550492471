"""The catalogue: data sets by name, read from a mirror folder.

The folder is named by the environment variable ONKEL_DATA_MIRROR; its catalog.json
lists what is there.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file

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


def load(
    name: str, part: str = "train", dtype: Any = np.float32
) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Read a data set in LIBSVM format.

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
        CSR rows and their labels or targets.
    """
    folder = mirror()
    catalogue = json.loads((folder / "catalog.json").read_text())
    if name not in catalogue:
        known = ", ".join(sorted(catalogue))
        raise ValueError(f"unknown data set {name!r}; the catalogue has {known}")
    entry = catalogue[name]
    if part not in entry["files"]:
        raise ValueError(f"{name} has no part {part!r}, only {sorted(entry['files'])}")
    path = folder / entry["files"][part]
    if not path.is_file():
        raise DataNotFoundError(f"{path} is listed in the catalogue but not there")
    X, y = load_svmlight_file(str(path), n_features=entry["features"], dtype=dtype)
    return scipy.sparse.csr_array(X), y

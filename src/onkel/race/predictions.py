"""Predictions on disk as they are made, in bounded memory."""

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy


def slug(name: str) -> str:
    """Return a name for files.

    Examples
    --------
    >>> slug("linear SGD"), slug("BOGD++")
    ('linear-SGD', 'BOGD++')
    """
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "data"


class PredictionFile(AbstractContextManager):
    """A npy file that grows: rows are appended, their number is put in at the end.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "y.npy"
    >>> with PredictionFile(path, np.dtype(int)) as file:
    ...     file.append(np.array([3, 1]))
    ...     file.append(np.array([4]))
    >>> np.load(path).tolist()
    [3, 1, 4]
    """

    def __init__(self, path: Path, dtype: np.dtype) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._dtype, self._rows = dtype, 0
        self._file: BinaryIO = path.open("wb")
        self._write_header()

    def _write_header(self) -> None:
        # numpy leaves room in it for any number of rows
        described = npy.dtype_to_descr(self._dtype)
        header = {"descr": described, "fortran_order": False, "shape": (self._rows,)}
        npy.write_array_header_1_0(self._file, header)

    def append(self, rows: np.ndarray) -> None:
        """Write rows after those that are there."""
        self._file.write(np.ascontiguousarray(rows, self._dtype).tobytes())
        self._rows += len(rows)

    def __exit__(self, *error: object) -> None:
        self._file.seek(0)
        self._write_header()
        self._file.close()

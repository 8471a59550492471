"""The preparation of rows: from what a file has to what a learner gets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from onkel.data import scaling
from onkel.data.bad_file import Complain
from onkel.data.columns import KINDS, MOST_CATEGORIES, Column
from onkel.data.libsvm import WIDEST
from onkel.data.target import Target

# Rows are kept sparse from this many features on, or below this density.
WIDE, THIN = 500, 0.15
# What is done about missing cells of a table.
MISSING = {
    "fill": "the median and an indicator for numbers, a category of its own for texts",
    "refuse": "the file is refused, and the first one named",
}


def is_sparse(width: int, density: float) -> bool:
    """Tell the layout of a matrix.

    Examples
    --------
    >>> is_sparse(300, 0.04), is_sparse(54, 0.22)
    (True, False)
    """
    return width > WIDE or density < THIN


class Preparation:
    """What was learnt from a data set to prepare its rows, and others like them.

    Parameters
    ----------
    columns
        Of a table, without the target; None for LIBSVM's format.
    width
        Number of features.
    sparse
        Whether rows are CSR.
    scaled
        Name of the scaling, one of `SCALINGS`. Features made from texts are 0 or 1 and
        not scaled.
    scaler
        Of scikit-learn, fitted; None for no scaling.
    target
        What the target is; None where rows have none.
    dropped
        Columns of a table that are not read, where they are there.
    missing
        One of `MISSING`; None for what models were fitted with before that was asked:
        missing numbers are refused, missing texts have no category.
    medians
        Of the features that are numbers, which fill what is missing.
    """

    def __init__(
        self,
        columns: Sequence[Column] | None,
        width: int,
        sparse: bool,
        scaled: str,
        scaler: Any,
        target: Target | None,
        dropped: Sequence[str] = (),
        missing: str | None = None,
        medians: np.ndarray | None = None,
    ) -> None:
        self.columns = None if columns is None else tuple(columns)
        self.width = width
        self.sparse = sparse
        self.scaled = scaled
        self.target = target
        self.dropped = tuple(dropped)
        self.missing = missing
        self._medians = medians
        self._scaler = scaler

    @property
    def features(self) -> list[str]:
        """Names of the features: numbers first, then categories and what is missing."""
        if self.columns is None:
            return [str(index) for index in range(1, self.width + 1)]
        named = [feature for column in self.columns for feature in column.numbers]
        return named + [mark for column in self.columns for mark in column.marks]

    def prepare(
        self, numbers: Any, places: np.ndarray | None, dtype: Any, complain: Complain
    ) -> Any:
        """Fill and scale rows and lay them out.

        Parameters
        ----------
        numbers
            Dense, or CSR as wide as the features, in double precision; may be changed.
            NaN is what is missing.
        places
            Numbers of the features that are 1 besides, of shape (rows, texts), -1 for
            none.
        dtype
            Precision of the result.
        complain
            Called where a value does not fit into that.

        Returns
        -------
        X
            An array, or CSR with 32-bit indices.
        """
        with np.errstate(over="ignore"):
            scaled = self._scale(self.filled(numbers))
        self._refuse_large(scaled, np.dtype(dtype), complain)
        return self._lay_out(scaled, places, dtype)

    def filled(self, numbers: Any) -> Any:
        """Put medians where numbers are missing."""
        if self._medians is None:
            return numbers
        return np.where(np.isnan(numbers), self._medians, numbers)

    def _refuse_large(self, scaled: Any, dtype: np.dtype, complain: Complain) -> None:
        sparse = scipy.sparse.issparse(scaled)
        found = scaled.data if sparse else scaled.ravel()
        large = np.flatnonzero(~(np.abs(found) <= np.finfo(dtype).max))
        if len(large):
            at = int(large[0])
            if sparse:
                row = int(np.searchsorted(scaled.indptr, at, side="right")) - 1
                feature = int(scaled.indices[at])
            else:
                row, feature = divmod(at, scaled.shape[1])
            name = self.features[feature]
            after = "" if self._scaler is None else f" after {self.scaled} scaling"
            what = f"{name} is {found[at]:g}{after}, too large for {dtype}: "
            complain(row, what + "scale, or use float64")

    def _scale(self, numbers: Any) -> Any:
        if scipy.sparse.issparse(numbers) and not self.sparse:
            numbers = numbers.toarray()
        if self._scaler is not None and numbers.shape[1]:
            numbers = self._scaler.transform(numbers)
        return numbers

    def _lay_out(self, numbers: Any, places: np.ndarray | None, dtype: Any) -> Any:
        if scipy.sparse.issparse(numbers):
            parts = numbers.data, numbers.indices, numbers.indptr
            return _csr(*parts, self.width, dtype)
        if places is None or not places.shape[1]:
            places = np.empty((len(numbers), 0), np.int32)
            if not self.sparse:
                return np.ascontiguousarray(numbers, dtype=dtype)
        if self.sparse:
            return _join(numbers, places, self.width, dtype)
        X = np.zeros((len(numbers), self.width), dtype)
        X[:, : numbers.shape[1]] = numbers
        rows, at = np.nonzero(places >= 0)
        X[rows, places[rows, at]] = 1
        return X

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return a description for JSON, and arrays of float64."""
        described = {
            "columns": None
            if self.columns is None
            else [
                [name, kind, list(texts), has_gaps]
                for name, kind, texts, has_gaps in self.columns
            ],
            "width": self.width,
            "sparse": self.sparse,
            "scaling": self.scaled,
            "target": None if self.target is None else self.target.state(),
            "dropped": list(self.dropped),
            "missing": self.missing,
        }
        arrays = scaling.state(self.scaled, self._scaler)
        if self._medians is not None:
            arrays["medians"] = self._medians
        return described, arrays

    @classmethod
    def from_state(
        cls, described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> "Preparation":
        """Return the preparation that `state` described.

        Raises
        ------
        ValueError
            If anything is not as `state` writes it.
        """
        if not isinstance(described, Mapping) or not isinstance(arrays, Mapping):
            raise ValueError("a preparation is described by a mapping and arrays")
        width, sparse = described.get("width"), described.get("sparse")
        if type(width) is not int or not 0 < width <= WIDEST:
            raise ValueError(f"a preparation of {width!r} features")
        if type(sparse) is not bool:
            raise ValueError(f"a preparation whose layout is sparse={sparse!r}")
        scaled = described.get("scaling")
        if not isinstance(scaled, str) or scaled not in scaling.SCALINGS:
            raise ValueError(f"a preparation with unknown scaling {scaled!r}")
        columns = _columns(described.get("columns"))
        numeric = width
        if columns is not None:
            numeric = sum(len(column.numbers) for column in columns)
            made = numeric + sum(len(column.marks) for column in columns)
            if made != width:
                raise ValueError(f"a preparation of {width} features, not {made}")
        centre = columns is not None or not sparse
        scaler = scaling.restore(scaled, arrays, numeric, centre)
        target = described.get("target")
        if not isinstance(target, Mapping | None):
            raise ValueError(f"a preparation with target {target!r}")
        restored = None if target is None else Target.from_state(target)
        dropped = described.get("dropped")
        if not isinstance(dropped, list) or not all(
            isinstance(name, str) for name in dropped
        ):
            raise ValueError(f"a preparation that drops {dropped!r}")
        # What was written before this was asked says nothing about it.
        missing = described.get("missing")
        if not isinstance(missing, str | None) or missing not in (None, *MISSING):
            raise ValueError(f"a preparation that does {missing!r} to missing cells")
        medians = None
        if missing == "fill":
            medians = arrays.get("medians")
            if columns is None or medians is None or medians.dtype != np.float64:
                raise ValueError("a preparation that fills cells without medians")
            if medians.shape != (numeric,) or not np.isfinite(medians).all():
                raise ValueError(f"a preparation without {numeric} finite medians")
        elif columns is not None and any(column.has_gaps for column in columns):
            raise ValueError("a preparation with features for cells that it refuses")
        return cls(
            *(columns, width, sparse, scaled, scaler, restored, dropped),
            *(missing, medians),
        )


def _columns(described: Any) -> list[Column] | None:
    if described is None:
        return None
    if not isinstance(described, list) or not described:
        raise ValueError("a preparation whose columns are no list")
    columns = []
    for parts in described:
        if not isinstance(parts, list) or len(parts) not in (3, 4):
            raise ValueError(f"a preparation with column {parts!r}")
        # Three parts were written before cells could be missing.
        name, kind, texts, has_gaps = parts if len(parts) == 4 else [*parts, False]
        if not isinstance(name, str) or kind not in KINDS or type(has_gaps) is not bool:
            raise ValueError(f"a preparation with column {parts!r}")
        if not isinstance(texts, list) or not all(
            isinstance(text, str) for text in texts
        ):
            raise ValueError(f"a preparation with categories {texts!r}")
        if len(set(texts)) < len(texts) or len(texts) > MOST_CATEGORIES:
            raise ValueError(f"a preparation with doubtful categories of {name}")
        if texts and kind != "text":
            raise ValueError(f"a preparation with categories of {name}, a {kind}")
        columns.append(Column(name, kind, tuple(texts), has_gaps))
    if len({column.name for column in columns}) < len(columns):
        raise ValueError("a preparation with two columns of one name")
    return columns


def _csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int, dtype: Any
) -> scipy.sparse.csr_array:
    parts = data.astype(dtype), indices.astype(np.int32), indptr.astype(np.int32)
    return scipy.sparse.csr_array(parts, shape=(len(indptr) - 1, width))


def _join(
    numbers: np.ndarray, places: np.ndarray, width: int, dtype: Any
) -> scipy.sparse.csr_array:
    """CSR of numbers in the first columns, and ones at places."""
    rows, first = numbers.shape
    indices = np.empty((rows, first + places.shape[1]), np.int32)
    indices[:, :first] = np.arange(first)
    indices[:, first:] = places
    data = np.ones(indices.shape, dtype)
    data[:, :first] = numbers
    there = indices >= 0
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return _csr(data[there], indices[there], indptr, width, dtype)

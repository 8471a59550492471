"""The preparation of rows: from what a file has to what a learner gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse

from onkel.data.bad_file import Complain
from onkel.data.columns import KINDS, MOST_CATEGORIES, Column
from onkel.data.libsvm import WIDEST
from onkel.data.scaling import Scaling
from onkel.data.state_checks import is_texts, require
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


@dataclass(frozen=True, eq=False)
class Preparation:
    """What was learnt from a data set to prepare its rows, and others like them.

    Attributes
    ----------
    columns
        Of a table, without the target; None for LIBSVM's format.
    width
        Number of features.
    sparse
        Whether rows are CSR.
    scaling
        Fitted. Features made from texts are 0 or 1 and not scaled.
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

    columns: Sequence[Column] | None
    width: int
    sparse: bool
    scaling: Scaling
    target: Target | None
    dropped: Sequence[str] = ()
    missing: str | None = None
    medians: np.ndarray | None = None

    def kinds(self, labelled: bool) -> dict[str, str]:
        """Return what is read of a table, and as what; `labelled` with the target."""
        kinds = {column.name: column.kind for column in self.columns or ()}
        if labelled and self.target is not None and self.target.column is not None:
            kinds[self.target.column] = self.target.kind
        return kinds

    @property
    def scaled(self) -> str:
        """Name of the scaling, one of `SCALINGS`."""
        return self.scaling.name

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
        """Fill and scale rows and lay them out: an array, or CSR with 32-bit indices.

        Parameters
        ----------
        numbers
            Dense, or CSR as wide as the features, in double precision; may be changed.
            NaN is what is missing.
        places
            Numbers of the features that are 1 besides, as `columns.places` has them.
        dtype, complain
            Precision of the result, and what is called if a value does not fit.
        """
        with np.errstate(over="ignore"):
            numbers = self.filled(numbers)
            if scipy.sparse.issparse(numbers) and not self.sparse:
                numbers = numbers.toarray()
            scaled = self.scaling.transform(numbers)
        self._refuse_large(scaled, np.dtype(dtype), complain)
        return self._lay_out(scaled, places, dtype)

    def filled(self, numbers: Any) -> Any:
        """Put medians where numbers are missing."""
        if self.medians is None:
            return numbers
        return np.where(np.isnan(numbers), self.medians, numbers)

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
            after = "" if self.scaled == "none" else f" after {self.scaled} scaling"
            what = f"{name} is {found[at]:g}{after}, too large for {dtype}: "
            complain(row, what + "scale, or use float64")

    def _lay_out(self, numbers: Any, places: np.ndarray | None, dtype: Any) -> Any:
        if scipy.sparse.issparse(numbers):
            parts = numbers.data, numbers.indices, numbers.indptr
            return _csr(*parts, self.width, dtype)
        if places is None or not (self.sparse or places.shape[1]):
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
            "columns": None if self.columns is None else list(map(list, self.columns)),
            "width": self.width,
            "sparse": self.sparse,
            "scaling": self.scaled,
            "target": None if self.target is None else self.target.state(),
            "dropped": list(self.dropped),
            "missing": self.missing,
        }
        arrays = self.scaling.state()
        if self.medians is not None:
            arrays["medians"] = self.medians
        return described, arrays

    @classmethod
    def from_state(
        cls, described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> Self:
        """Return the preparation that `state` described.

        Raises
        ------
        ValueError
            If anything is not as `state` writes it.
        """
        mapped = isinstance(described, Mapping) and isinstance(arrays, Mapping)
        require(mapped, "a preparation is described by a mapping and arrays")
        width, sparse = described.get("width"), described.get("sparse")
        if type(width) is not int or not 0 < width <= WIDEST:
            raise ValueError(f"a preparation of {width!r} features")
        if type(sparse) is not bool:
            raise ValueError(f"a preparation whose layout is sparse={sparse!r}")
        columns = _columns(described.get("columns"))
        numeric = width
        if columns is not None:
            numeric = sum(len(column.numbers) for column in columns)
            made = numeric + sum(len(column.marks) for column in columns)
            require(made == width, f"a preparation of {width} features, not {made}")
        centre = columns is not None or not sparse
        scaling = Scaling.from_state(described.get("scaling"), arrays, numeric, centre)
        target, dropped = described.get("target"), described.get("dropped")
        known = isinstance(target, Mapping | None)
        require(known, f"a preparation with target {target!r}")
        restored = None if target is None else Target.from_state(target)
        require(is_texts(dropped), f"a preparation that drops {dropped!r}")
        # What was written before this was asked says nothing about it.
        missing = described.get("missing")
        known = isinstance(missing, str | None) and missing in (None, *MISSING)
        require(known, f"a preparation that does {missing!r} to missing cells")
        medians = _medians(missing, arrays.get("medians"), columns, numeric)
        return cls(
            columns, width, sparse, scaling, restored, dropped or (), missing, medians
        )


def _medians(
    missing: str | None,
    medians: np.ndarray | None,
    columns: Sequence[Column] | None,
    numeric: int,
) -> np.ndarray | None:
    """Return what fills cells of a stored preparation; None if it refuses them."""
    if missing != "fill":
        gaps = columns is not None and any(column.has_gaps for column in columns)
        require(not gaps, "a preparation with features for cells that it refuses")
        return None
    if columns is None or medians is None or medians.dtype != np.float64:
        raise ValueError("a preparation that fills cells without medians")
    found = medians.shape == (numeric,) and bool(np.isfinite(medians).all())
    require(found, f"a preparation without {numeric} finite medians")
    return medians


def _columns(described: Any) -> list[Column] | None:
    if described is None:
        return None
    listed = isinstance(described, list) and bool(described)
    require(listed, "a preparation whose columns are no list")
    columns = [_column(parts) for parts in described]
    different = len({column.name for column in columns}) == len(columns)
    require(different, "a preparation with two columns of one name")
    return columns


def _column(parts: Any) -> Column:
    known = isinstance(parts, list) and len(parts) in (3, 4)
    require(known, f"a preparation with column {parts!r}")
    # Three parts were written before cells could be missing.
    name, kind, texts, has_gaps = parts if len(parts) == 4 else [*parts, False]
    known = isinstance(name, str) and kind in KINDS and type(has_gaps) is bool
    require(known, f"a preparation with column {parts!r}")
    require(is_texts(texts), f"a preparation with categories {texts!r}")
    sound = len(set(texts)) == len(texts) <= MOST_CATEGORIES
    require(sound, f"a preparation with doubtful categories of {name}")
    fits = kind == "text" or not texts
    require(fits, f"a preparation with categories of {name}, a {kind}")
    return Column(name, kind, tuple(texts), has_gaps)


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

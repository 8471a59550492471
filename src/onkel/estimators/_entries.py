"""What X and y hold before numbers are made of them, and where it is if they cannot.

scikit-learn checks what is left of X and y as an array; this looks at what came before:
times, which are numbers to numpy, text among numbers, the structure of sparse matrices,
which compiled code has to trust, and what is no number at all.
"""

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any, NoReturn

import numpy as np
import scipy.sparse

TEXT = "Encode text as numbers first, for example with OneHotEncoder."
MISSING = "Impute or drop missing values first."
TIME = "Make numbers of times first, such as seconds since a date."
# Kinds of arrays of labels and targets; complex numbers scikit-learn refuses itself.
KINDS = "biufcUO"
LARGEST = float(np.finfo(np.float64).max)


class EntryError(ValueError, TypeError):
    """An entry that is no number: a bad value, and to scikit-learn a bad type."""


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal to itself nor not
        return True
    except ValueError:  # several values in the place of one
        return False


def nature(value: Any) -> tuple[str, str] | None:
    """Say what a value is, and what to do about it; None for what can be a number."""
    if _is_missing(value):
        return f"a missing value, {value},", MISSING
    if hasattr(value, "isoformat"):
        return f"a time, {value},", TIME
    try:
        float(value)
    except OverflowError:
        return "an integer too large for a floating-point number", "Scale the features."
    except (TypeError, ValueError):
        if isinstance(value, str | bytes):
            return f"text, {str(value)!r},", TEXT
        return f"a {type(value).__name__}, which is no number,", "Leave it out."
    return None


def _kinds(X: Any) -> list[str]:
    """Kinds of the columns of a table, or the one kind of an array."""
    types = X.dtypes if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    return [getattr(dtype, "kind", "O") for dtype in types]


def column_name(X: Any, column: int) -> str:
    """Name of a column, in brackets; nothing if it has none."""
    names = getattr(X, "columns", None)
    return "" if names is None else f" ({names[column]})"


# ---- rows


def refuse_odd_columns(X: Any) -> None:
    """Refuse times, which would pass for numbers, and records."""
    for column, kind in enumerate(_kinds(X)):
        if kind in "mM":
            where = ""
            if hasattr(X, "columns"):
                where = f" in column {column}{column_name(X, column)}"
            raise ValueError(f"Input X holds times{where}. {TIME}")
        if kind == "V":
            raise ValueError("Input X holds records: give columns of numbers")


def refuse_broken(X: Any) -> None:
    """Refuse a sparse matrix with entries outside its shape.

    Compiled code, ours and scipy's, goes where the indices lead.
    """
    if X.ndim != 2:
        raise ValueError(
            f"Input X is a sparse array of {X.ndim} dimension: give rows and columns"
        )
    if X.format == "coo":
        _refuse_outside(X.coords[0], X.shape[0], "row", lambda entry: "")
        _refuse_outside(X.coords[1], X.shape[1], "column", lambda entry: "")
        return
    if X.format not in ("csr", "csc", "bsr"):
        return
    starts, indices = X.indptr, X.indices
    lines, others = ("column", "row") if X.format == "csc" else ("row", "column")
    heights = X.blocksize if X.format == "bsr" else (1, 1)
    size = X.shape[1 if X.format == "csc" else 0] // heights[0]
    limit = X.shape[0 if X.format == "csc" else 1] // heights[1]
    whole = starts.dtype.kind == indices.dtype.kind == "i"
    if not (
        whole
        and starts.shape == (size + 1,)
        and len(indices) == len(X.data)
        and starts[0] == 0
        and starts[-1] <= len(indices)
        and (starts[1:] >= starts[:-1]).all()
    ):
        raise ValueError(
            f"Input X is a broken sparse matrix: indptr must hold {size + 1} rising "
            f"integers from 0 to at most {len(indices)}, the number of indices, of "
            "which there must be as many as data"
        )
    _refuse_outside(
        indices[: starts[-1]],
        limit,
        others,
        lambda entry: f" of {lines} {np.searchsorted(starts, entry, 'right') - 1}",
    )


def _refuse_outside(indices: Any, limit: int, what: str, where: Any) -> None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < limit):
        entry = int(np.flatnonzero((indices < 0) | (indices >= limit))[0])
        raise ValueError(
            f"Input X is a broken sparse matrix: an entry{where(entry)} is in {what} "
            f"{indices[entry]}, but there are {limit} {what}s"
        )


def narrow(X: Any) -> Any:
    """Return a sparse matrix with 32-bit indices, if they are enough."""
    largest = max(*X.shape, X.nnz)
    if X.indices.dtype == np.int32 or largest > np.iinfo(np.int32).max:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)(parts, shape=X.shape)


def _entries(X: Any) -> Iterator[tuple[int, int, Any]]:
    table = np.asarray(X, object)
    if table.ndim == 2:
        for (row, column), value in np.ndenumerate(table):
            yield row, column, value


def refuse_culprit(error: Exception, X: Any) -> NoReturn:
    """Say where in X what cannot be a number is; if all can, what the error says."""
    if not scipy.sparse.issparse(X) and not set(_kinds(X)) <= set("biuf"):
        for row, column, value in _entries(X):
            # NaN is a number, and refused by those who know what comes of it.
            found = None if isinstance(value, float) else nature(value)
            if found is not None:
                where = f"row {row}, column {column}{column_name(X, column)}"
                raise EntryError(
                    f"Input X contains {found[0]} in {where}. {found[1]} ({error})"
                ) from error
    if isinstance(error, ValueError):
        raise error
    raise EntryError(str(error)) from error


# ---- targets


def plain_targets(y: Any) -> Any:
    """Return targets or labels of one kind.

    Text stays as it is, and objects that are numbers become numbers. Half precision
    becomes single, and what is more than double becomes double: files know no other.
    """
    given, y = y, np.asarray(y)
    if y.ndim != 1 and y.shape[1:] != (1,):
        return given
    if y.dtype.kind not in KINDS:
        raise ValueError(
            f"y must hold numbers or text, got {y.dtype}. Make text of other labels, "
            "for example with astype(str), and numbers of other targets"
        )
    if y.dtype.kind == "U" and isinstance(given, list | tuple):
        _refuse_mixture(np.array(given, object).ravel())
    elif y.dtype.kind == "O" and y.size:
        _refuse_mixture(y.ravel())
        if not isinstance(y.flat[0], str):
            numbers = np.array(y.tolist())
            return numbers.astype(float) if numbers.dtype == object else numbers
    elif y.dtype.kind == "f" and y.itemsize not in (4, 8):
        return y.astype(np.float32 if y.itemsize == 2 else np.float64)
    return given


def _refuse_mixture(y: np.ndarray) -> None:
    """Refuse objects that are neither all text nor all numbers."""
    text = isinstance(y[0], str)
    for row, value in enumerate(y):
        if _is_missing(value):
            problem = f"Input y contains a missing value, {value}"
        elif isinstance(value, str) != text:
            problem = f"y mixes text and other labels: {value!r} and {y[0]!r} in row 0"
        elif not text and not isinstance(value, Real | np.bool_):
            problem = f"y must hold numbers or text, got a {type(value).__name__}"
        elif not text and abs(value) > LARGEST:
            problem = "Input y contains an integer that no floating-point number holds"
        else:
            continue
        raise ValueError(f"{problem}. It is in row {row}.")


def located(message: str, y: Any) -> str:
    """Add to scikit-learn's message where in y the number that is not finite is."""
    row = int(np.flatnonzero(~np.isfinite(np.asarray(y, np.float64)))[0])
    return f"{message} It is in row {row}."


def refuse_large_targets(y: np.ndarray) -> None:
    """Refuse targets that are finite, but the sum of whose squares would not be."""
    limit = math.sqrt(LARGEST / max(len(y), 10_000)) / 4
    if len(y) and not max(-float(y.min()), float(y.max())) <= limit:
        row = int(np.flatnonzero(~(np.abs(y) <= limit))[0])
        raise ValueError(
            f"Input y contains {y[row]:g}: the target of row {row} is too large, its "
            "square overflows float64. Scale the targets, for example with "
            "TransformedTargetRegressor."
        )

"""Data sets: their rows, prepared for learning, in batches."""

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

from onkel.data.columns import count_gaps, numbers, places, values
from onkel.data.libsvm import LibsvmFile
from onkel.data.reading_options import ReadingOptions
from onkel.data.survey import ROWS, Survey
from onkel.data.tables import BATCH_ROWS, TableFile, listed

if TYPE_CHECKING:
    from pyarrow import RecordBatch

DataFile = TableFile | LibsvmFile
# Why columns are left out, and what to say to that.
LEFT_OUT = {
    "empty": "",
    "identifier": " (--keep, or keep=, learns from one all the same)",
}


class Batch(NamedTuple):
    """Consecutive rows, ready to learn."""

    X: Any  # array or CSR, shape (rows, features)
    y: np.ndarray  # shape (rows,); (0,) if there is no target
    first: int  # number of the first row in the data set, from 0


class Dataset:
    """Rows that are read in batches, as often as wanted.

    Made by `dataset`.

    Attributes
    ----------
    name
        In the catalogue, or of the file.
    n_rows, n_features
        Of the whole.
    classes
        Sorted labels; None for regression.
    counts
        Rows of each class; None for regression.
    is_regression
        Whether the target is a number to predict.
    in_order
        Whether the catalogue says that the order of the rows means something.
    preparation
        What makes features of raw rows.
    missing
        Cells that are missing and filled, by column.
    left_out
        Columns that are not learnt from though nobody dropped them, and why: "empty" or
        "identifier".
    """

    def __init__(
        self,
        name: str,
        files: Sequence[DataFile],
        survey: Survey,
        options: ReadingOptions,
        in_order: bool,
    ) -> None:
        self.name = name
        self.in_order = in_order
        self.preparation = survey.preparation
        self.n_rows, self.n_features = survey.n_rows, survey.preparation.width
        self.counts = survey.counts
        self.missing, self.left_out = survey.missing, survey.left_out
        self._files = files
        self._dtype = np.dtype(options.dtype)
        target = survey.preparation.target if options.labelled else None
        self._target = target
        self.is_regression = target is not None and target.is_regression
        self.classes = None if target is None else target.classes

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[Batch]:
        """Read the rows in their order, at most `rows` at a time.

        Memory is bounded by the batch: each is read, prepared and forgotten.

        Raises
        ------
        BadFileError
            At a row that cannot be read or prepared.
        """
        if rows < 1:
            raise ValueError(f"rows must be at least 1, got {rows}")
        return self._batches(rows, Counter())

    def _batches(self, rows: int, missing: Counter[str]) -> Iterator[Batch]:
        """Read the rows; cells that are missing are counted by column."""
        first = 0
        for file in self._files:
            if isinstance(file, TableFile):
                read = self._read_table(file, rows, missing)
            else:
                read = self._read_libsvm(file, rows)
            for X, y in read:
                yield Batch(X, y, first)
                first += X.shape[0]

    def _read_libsvm(
        self, file: LibsvmFile, rows: int
    ) -> Iterator[tuple[Any, np.ndarray]]:
        width, target = self.n_features, self._target
        for block, complain in file.blocks(rows, width, target is not None):
            y = np.empty(0) if target is None else target.read(block.y, complain)
            raw = block.widened(width)
            yield self.preparation.prepare(raw, None, self._dtype, complain), y

    def _read_table(
        self, table: TableFile, rows: int, missing: Counter[str]
    ) -> Iterator[tuple[Any, np.ndarray]]:
        target, columns = self._target, self.preparation.columns
        assert columns is not None
        kinds = self.preparation.kinds(target is not None)
        for batch, complain in table.checked_batches(rows, kinds):
            missing += count_gaps(batch, columns, self.preparation.missing, complain)
            found = numbers(batch, columns, complain)
            at = places(batch, columns, found.shape[1])
            y = np.empty(0)
            if target is not None and target.column is not None:
                column = batch.column(target.column)
                raw = values(column, target.column, target.kind, complain)
                y = target.read(raw, complain)
            yield self.preparation.prepare(found, at, self._dtype, complain), y

    def load(self) -> tuple[Any, np.ndarray]:
        """Read all rows into memory.

        Returns
        -------
        X, y
            As in a batch.
        """
        if not self.preparation.sparse:
            # Filled as it is read: twice the rows may not fit into memory.
            X, targets = np.empty((self.n_rows, self.n_features), self._dtype), []
            for batch in self.batches():
                X[batch.first : batch.first + len(batch.X)] = batch.X
                targets.append(batch.y)
            return X, np.concatenate(targets)
        read = list(self.batches())
        X = scipy.sparse.vstack([batch.X for batch in read], format="csr")
        return X, np.concatenate([batch.y for batch in read])

    @property
    def columns(self) -> list[str]:
        """Names of all columns of the file; none in LIBSVM's format."""
        return list(self._files[0].kinds)

    def raw(self, kinds: Mapping[str, str], rows: int) -> Iterator["RecordBatch"]:
        """Read columns of a table as they are in the file, in step with `batches`.

        Parameters
        ----------
        kinds
            What to read each as, one of `onkel.data.columns.KINDS`.
        rows
            As in `batches`.
        """
        for file in self._files:
            if isinstance(file, TableFile):
                yield from file.batches(rows, kinds)

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """What was read and how, for JSON."""
        target, paths = self._target, [file.path for file in self._files]
        task = None
        if target is not None:
            task = "regression" if target.is_regression else "classification"
        return {
            "name": self.name,
            # Names only: a report is for other machines, too.
            "source": [path.name for path in paths],
            "sha256": [sha256_of(path) for path in paths],
            "rows": self.n_rows,
            "features": self.n_features,
            "sparse": self.preparation.sparse,
            "scaling": self.preparation.scaled,
            "task": task,
            "target": None if target is None else target.column,
            "positive": None if target is None else target.positive,
            "above": None if target is None else target.above,
            "classes": None if self.classes is None else self.classes.tolist(),
            "counts": None if self.counts is None else self.counts.tolist(),
            "in_order": self.in_order,
            "missing": dict(self.missing),
            "left_out": dict(self.left_out),
            "notes": self.notes,
        }

    @property
    def notes(self) -> list[str]:
        """What a reader should know of how the rows were read, in sentences."""
        notes = [note for file in self._files for note in file.notes]
        for why, more in LEFT_OUT.items():
            columns = [name for name, said in self.left_out.items() if said == why]
            if columns:
                notes.append(f"left out, {why}: {listed(columns)}{more}")
        if self.missing:
            ranked = sorted(self.missing.items(), key=lambda item: -item[1])
            columns = [f"{name} {cells:,}" for name, cells in ranked]
            notes.append(
                f"{sum(self.missing.values()):,} missing cells filled (numbers: the "
                "median and an indicator; texts: a category of their own): "
                f"{listed(columns)}"
            )
        return [f"{note[0].upper()}{note[1:]}." for note in dict.fromkeys(notes)]

    def count(self, announce: Callable[[int], None] | None) -> None:
        """Read everything once, to know the rows and labels, and that all are sound."""
        counts = None
        if self.classes is not None:
            counts = np.zeros(len(self.classes), np.int64)
        missing: Counter[str] = Counter()
        for batch in self._batches(ROWS, missing):
            if counts is not None:
                at = np.searchsorted(self.classes, batch.y)  # type: ignore[arg-type]
                counts += np.bincount(at, minlength=len(counts))
            self.n_rows += batch.X.shape[0]
            if announce is not None:
                announce(self.n_rows)
        self.counts, self.missing = counts, dict(missing)


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

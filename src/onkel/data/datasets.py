"""Data sets: by name or file, prepared for learning, in batches."""

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

from onkel.data import libsvm
from onkel.data.arff import Arff
from onkel.data.bad_file import BadFileError, complain_of
from onkel.data.catalogue import DataNotFoundError, File, entry, find, is_known
from onkel.data.columnar import Columnar
from onkel.data.columns import gaps, numbers, places, refuse_gaps, values
from onkel.data.delimited import Delimited
from onkel.data.preparation import MISSING, Preparation
from onkel.data.scaling import SCALINGS
from onkel.data.survey import (
    ROWS,
    Found,
    Wanted,
    check_columns,
    survey_libsvm,
    survey_tables,
)
from onkel.data.tables import Table, listed
from onkel.data.target import TASKS
from onkel.data.text import stem_suffix

if TYPE_CHECKING:
    from pyarrow import RecordBatch

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".arff": "arff",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
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
        sources: Sequence["Path | Table"],
        preparation: Preparation,
        in_order: bool,
        labelled: bool,
        dtype: Any,
    ) -> None:
        self.name = name
        self.preparation = preparation
        self.in_order = in_order
        self.n_features = preparation.width
        self.n_rows = 0
        self.counts: np.ndarray | None = None
        self.missing: Mapping[str, int] = {}
        self.left_out: Mapping[str, str] = {}
        self._sources = sources
        self._dtype = np.dtype(dtype)
        self._target = preparation.target if labelled else None
        target = self._target
        self.is_regression = target is not None and target.is_regression
        self.classes = None if target is None else target.classes

    def batches(self, rows: int = 65_536) -> Iterator[Batch]:
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
        for source in self._sources:
            if isinstance(source, Table):
                read = self._read_table(source, rows, missing)
            else:
                read = self._read_libsvm(source, rows)
            for X, y in read:
                yield Batch(X, y, first)
                first += X.shape[0]

    def _read_libsvm(self, path: Path, rows: int) -> Iterator[tuple[Any, np.ndarray]]:
        done, width, labelled = 0, self.n_features, self._target is not None
        for block in libsvm.read_blocks(path, rows, width, labelled):
            y = np.empty(0)
            complain = complain_of(functools.partial(libsvm.fault, path), done)
            if self._target is not None:
                y = self._target.read(block.y, complain)
            raw = block.widened(width)
            yield self.preparation.prepare(raw, None, self._dtype, complain), y
            done += len(block.y)

    def _read_table(
        self, table: Table, rows: int, missing: Counter[str]
    ) -> Iterator[tuple[Any, np.ndarray]]:
        done, target, columns = 0, self._target, self.preparation.columns
        rule = self.preparation.missing
        assert columns is not None
        kinds = {column.name: column.kind for column in columns}
        if target is not None and target.column is not None:
            kinds[target.column] = target.kind
        for batch in table.batches(rows, kinds):
            complain = complain_of(table.fault, done)
            if rule != "fill":
                refuse_gaps(batch, columns, rule == "refuse", complain)
            for name, kind in kinds.items():
                missing[name] += int(gaps(batch.column(name), kind).sum())
            found = numbers(batch, columns, complain)
            at = places(batch, columns, found.shape[1])
            y = np.empty(0)
            if target is not None and target.column is not None:
                column = batch.column(target.column)
                raw = values(column, target.column, target.kind, complain)
                y = target.read(raw, complain)
            yield self.preparation.prepare(found, at, self._dtype, complain), y
            done += batch.num_rows

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
        indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X = scipy.sparse.csr_array((X.data, indices, indptr), shape=X.shape)
        return X, np.concatenate([batch.y for batch in read])

    @property
    def columns(self) -> list[str]:
        """Names of all columns of the file; none in LIBSVM's format."""
        source = self._sources[0]
        return list(source.kinds) if isinstance(source, Table) else []

    def raw(self, kinds: Mapping[str, str], rows: int) -> Iterator["RecordBatch"]:
        """Read columns of a table as they are in the file, in step with `batches`.

        Parameters
        ----------
        kinds
            What to read each as, one of `onkel.data.columns.KINDS`.
        rows
            As in `batches`.
        """
        for source in self._sources:
            if isinstance(source, Table):
                yield from source.batches(rows, kinds)

    @functools.cached_property
    def description(self) -> dict[str, Any]:
        """What was read and how, for JSON."""
        target, paths = self._target, [self._path(source) for source in self._sources]
        task = None
        if target is not None:
            task = "regression" if target.is_regression else "classification"
        return {
            "name": self.name,
            # Names only: a report is for other machines, too.
            "source": [path.name for path in paths],
            "sha256": [_sha256(path) for path in paths],
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
        tables = [source for source in self._sources if isinstance(source, Table)]
        notes = [note for table in tables for note in table.notes]
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

    @staticmethod
    def _path(source: "Path | Table") -> Path:
        return source.path if isinstance(source, Table) else source

    def _count(self, announce: Callable[[int], None] | None) -> None:
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
        self.counts = counts
        if self.preparation.missing == "fill":
            self.missing = {name: many for name, many in missing.items() if many}


def dataset(
    where: str | Path,
    *,
    part: str = "train",
    target: str | int | None = None,
    positive: Any = None,
    above: float | None = None,
    task: str = "auto",
    scaling: str = "auto",
    dtype: Any = np.float32,
    mirror: str | Path | None = None,
    preparation: Preparation | None = None,
    labelled: bool = True,
    announce: Callable[[int], None] | None = None,
    format: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    missing: str = "fill",
) -> Dataset:
    r"""Survey a data set, so that its rows can be read ready to learn.

    One pass in bounded memory finds the rows, the columns, their categories, the
    labels and what the scaling needs; it reads every row, so that a bad one shows
    before anything is learnt.

    Parameters
    ----------
    where
        A name of the catalogue, for example "ijcnn1", or the path of a file. Files
        are told by their suffix: .csv, .tsv, .arff, .parquet, .arrow and .feather;
        anything else is LIBSVM's text. Text may be compressed (.gz, .bz2, .xz).
    part
        Of a data set of the catalogue: "train", "test", or "all" for one after the
        other.
    target
        Column of a table, by name or by number from 1; by default what the catalogue
        says, or the last.
    positive
        The label that becomes True; all others become False.
    above
        The number beyond which a target becomes True, for example 15 minutes of delay.
    task
        "classification", "regression", or "auto" for what the catalogue says, or what
        the target looks like: texts, and integers of at most 20 values, are labels.
    scaling
        One of `SCALINGS`, or "auto" for what the catalogue says; for files, standard
        if dense and maxabs if sparse.
    dtype
        Precision of the features.
    mirror
        Folder to look for data sets in; by default that of ONKEL_DATA_MIRROR.
    preparation
        That of an earlier data set, with which a model was fitted: the rows are
        prepared the same way, and their target, labels and scaling are its own.
    labelled
        False if the target is not wanted or not there.
    announce
        Called with the number of rows read so far, after each batch of the survey.
    format
        One of csv, tsv, arff, parquet, arrow, libsvm, to overrule the suffix.
    drop
        Columns of a table not to read.
    keep
        Columns of a table to learn from though they look like identifiers: texts that
        are different in every row, and integers that number the rows or are called
        an id. Others of that look are left out, except in data sets of the catalogue
        and where there is nothing else.
    missing
        What to do about empty cells, NA, NaN, null and ? in a table: "fill" numbers
        with the median (of a sample, if there are more than 32,768 rows) and texts
        with a category of their own; columns that had missing cells here get a feature
        that says so. "refuse" names the first. A target must never be missing.

    Returns
    -------
    data
        Its rows are read by its `batches`.

    Raises
    ------
    DataNotFoundError
        If the data set or file is not at hand.
    BadFileError
        At the first row that cannot be read; the message has its file and line.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "boxes.csv"
    >>> _ = file.write_text("height,colour,price\n1,red,5\n3,blue,7.5\n")
    >>> data = dataset(file, scaling="minmax")
    >>> data.n_rows, data.preparation.features, data.is_regression
    (2, ['height', 'colour=blue', 'colour=red'], True)
    >>> next(data.batches()).X.tolist()
    [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    if scaling != "auto" and scaling not in SCALINGS:
        known = ", ".join(SCALINGS)
        raise ValueError(f"unknown scaling {scaling!r}; there are auto, {known}")
    if task not in ("auto", *TASKS):
        raise ValueError(f"unknown task {task!r}; there are auto, {', '.join(TASKS)}")
    if missing not in MISSING:
        raise ValueError(f"missing={missing!r}; there are {', '.join(MISSING)}")
    if above is not None and (positive is not None or task == "regression"):
        raise ValueError("above makes two classes: give no positive, and no regression")
    width, in_order, kept = 1, False, None
    found: list[tuple[Path, File]]
    if not Path(where).is_file() and is_known(str(where), mirror):
        name = str(where)
        known_as = entry(name, mirror)
        parts = tuple(known_as.parts) if part == "all" else (part,)
        found = [find(name, wanted, mirror) for wanted in parts]
        width, in_order = known_as.features or 1, known_as.in_order
        if task == "auto" and positive is None and above is None:
            task = known_as.kind
        scaling = known_as.scaling if scaling == "auto" else scaling
    else:
        path = Path(where)
        if not path.is_file():
            raise DataNotFoundError(
                f"{where} is neither a file nor a data set of the catalogue: "
                "`onkel data list` shows these"
            )
        name, found, kept = path.name, [(path, File(path.name))], keep
    sources = [_open(path, file, format) for path, file in found]
    if target is None:
        target = found[0][1].target
    if preparation is not None:
        _refuse_other_format(sources, preparation)
        made = Dataset(name, sources, preparation, in_order, labelled, dtype)
        for table in sources:
            if isinstance(table, Table):
                _check_against(table, preparation, labelled, drop)
        made._count(announce)
        return made
    wanted = Wanted(
        *(target, positive, above, task, scaling, labelled, drop, kept, missing)
    )
    tables = [source for source in sources if isinstance(source, Table)]
    if tables:
        seen = survey_tables(tables, wanted, announce)
    else:
        paths = [source for source in sources if isinstance(source, Path)]
        seen = survey_libsvm(paths, wanted, width, announce)
    made = Dataset(name, sources, seen.preparation, in_order, labelled, dtype)
    made.n_rows, made.counts = seen.n_rows, seen.counts
    made.missing, made.left_out = seen.missing, seen.left_out
    return made


def inspect(path: Path, file: File, task: str) -> Found:
    """Survey a single file of the catalogue, raw."""
    wanted = Wanted(file.target, None, None, task, "none", True, (), None, "fill")
    source = _open(path, file, None)
    if isinstance(source, Table):
        return survey_tables([source], wanted)
    return survey_libsvm([source], wanted)


def _open(path: Path, file: File, format: str | None) -> "Path | Table":
    """Open a file in the format asked for, or known, or told by the suffix."""
    name = format or file.format or FORMATS.get(stem_suffix(path), "libsvm")
    if path.stat().st_size == 0:
        raise BadFileError(path, "the file is empty")
    if name == "libsvm":
        return path
    if name in ("csv", "tsv"):
        return Delimited(path, "\t" if name == "tsv" else None, file.header)
    if name == "arff":
        return Arff(path)
    if name in ("parquet", "arrow"):
        return Columnar(path, name)
    known = ", ".join(sorted({*FORMATS.values(), "libsvm"}))
    raise ValueError(f"unknown format {name!r}; there are {known}")


def _refuse_other_format(
    sources: Sequence["Path | Table"], preparation: Preparation
) -> None:
    for source in sources:
        if isinstance(source, Table) == (preparation.columns is None):
            path = Dataset._path(source)
            made = "LIBSVM's format" if preparation.columns is None else "a table"
            raise BadFileError(path, f"the preparation was made from {made}, not this")


def _check_against(
    table: Table, preparation: Preparation, labelled: bool, drop: Sequence[str]
) -> None:
    assert preparation.columns is not None
    kinds = {column.name: column.kind for column in preparation.columns}
    dropped, target = {*drop, *preparation.dropped}, preparation.target
    if target is not None and target.column is not None:
        if labelled:
            kinds[target.column] = target.kind
        else:
            dropped.add(target.column)
    check_columns(table, kinds, dropped)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

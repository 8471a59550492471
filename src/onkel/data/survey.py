"""One pass over files to learn how to prepare their rows, in bounded memory."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse

from onkel.data import libsvm
from onkel.data.bad_file import BadFileError
from onkel.data.census import Census
from onkel.data.columns import KINDS, Column, numbers, values
from onkel.data.columns_seen import ColumnsSeen
from onkel.data.preparation import WIDE, Preparation, is_sparse
from onkel.data.reading_options import ReadingOptions
from onkel.data.scaling import DENSE_ONLY, Scaling
from onkel.data.tables import TableFile

# Rows in memory at a time.
ROWS = 16_384


class Survey(NamedTuple):
    """What was found of the rows of a data set."""

    preparation: Preparation
    n_rows: int
    counts: np.ndarray | None  # rows of each class
    missing: Mapping[str, int] = {}  # cells, by column
    left_out: Mapping[str, str] = {}  # why, by column


def survey_libsvm(
    files: Sequence[libsvm.LibsvmFile], options: ReadingOptions, width: int
) -> Survey:
    """Survey files in LIBSVM's format; `width` is the least number of features."""
    census = Census(options)
    # Which of the two "auto" will be is known at the end.
    names = ["standard", "maxabs"] if options.scaling == "auto" else [options.scaling]
    scalings = {name: Scaling.begun(name, centre=False) for name in names}
    entries = 0
    known = max(width, libsvm.ROOMY)  # features that need no more reason
    for file in files:
        for block, _ in file.blocks(ROWS, labelled=options.labelled):
            width = max(width, block.X.shape[1])
            if width > known:
                libsvm.refuse_roominess(files, ROWS, options.labelled)
                known = libsvm.WIDEST
            entries += int(np.count_nonzero(block.X.data))
            for scaling in scalings.values():
                _fit(file.path, scaling, block.widened(width))
            census.see(len(block.y), block.y if options.labelled else None)
    if not census.rows:
        raise BadFileError(files[0].path, "the file has no rows", line=1)
    sparse = is_sparse(width, entries / (census.rows * width))
    if options.scaling in DENSE_ONLY:
        sparse = False
    name = options.scaling
    if name == "auto":
        name = "maxabs" if sparse else "standard"
    if name == "standard":
        scalings[name].scaler.with_mean = not sparse
    target = census.target(None, "number")
    made = Preparation(None, width, sparse, scalings[name], target)
    return Survey(made, census.rows, census.counts(target))


def _fit(path: Path, scaling: Scaling, X: scipy.sparse.csr_array) -> None:
    if scaling.name in DENSE_ONLY:
        if X.shape[1] > WIDE:
            raise BadFileError(
                path,
                f"{scaling.name} scaling would make {X.shape[1]} sparse features "
                "dense: use maxabs or standard",
            )
        X = X.toarray()
    scaling.fit(X)


def survey_tables(tables: Sequence[TableFile], options: ReadingOptions) -> Survey:
    """Survey tables that have the same columns.

    Where cells are missing or columns are left out, the scaling takes a second pass.
    """
    path = tables[0].path
    options, kinds, target = _resolved(tables[0], options)
    columns = [Column(name, kind) for name, kind in kinds.items() if name != target]
    if not columns:
        raise BadFileError(path, "there is no column besides the target")
    census, seen = Census(options), ColumnsSeen(columns, options)
    wanted = "standard" if options.scaling == "auto" else options.scaling
    scaling = Scaling.begun(wanted)
    for table in tables:
        check_columns(table, kinds, options.drop)
        for batch, complain in table.checked_batches(ROWS, kinds):
            found = seen.see(table.path, batch, complain)
            if not seen.missing:
                scaling.fit(found)
            raw = None
            if target is not None:
                raw = values(batch.column(target), target, kinds[target], complain)
            census.see(batch.num_rows, raw)
    if not census.rows:
        raise BadFileError(path, "the file has no rows")
    left_out = seen.left_out(path)
    begin_again = bool(seen.missing or left_out)
    if begin_again:
        scaling = Scaling.begun(wanted)
    columns, medians = seen.kept(left_out)
    width, density = _shape(path, columns)
    preparation = Preparation(
        columns,
        width,
        is_sparse(width, density),
        # Categories are not scaled.
        scaling if len(medians) else Scaling("none"),
        None if target is None else census.target(target, kinds[target]),
        sorted({*options.drop, *left_out}),
        options.missing,
        medians if options.missing == "fill" else None,
    )
    if begin_again:
        _fit_filled(tables, preparation)
    filled = {name: n for name, n in seen.missing.items() if name not in left_out}
    counts = census.counts(preparation.target)
    return Survey(preparation, census.rows, counts, filled, left_out)


def _shape(path: Path, columns: Sequence[Column]) -> tuple[int, float]:
    """Return how many features columns make, and the part of them that is not 0."""
    numeric = sum(len(column.numbers) for column in columns)
    width = numeric + sum(len(column.marks) for column in columns)
    if not width:
        raise BadFileError(path, "all columns besides the target are empty")
    texts = sum(column.kind == "text" for column in columns)
    return width, (numeric + texts) / width


def _fit_filled(tables: Sequence[TableFile], preparation: Preparation) -> None:
    """Fit the scaling of a preparation to the rows as that fills them."""
    assert preparation.columns is not None
    if preparation.scaling.scaler is not None:
        kinds = {c.name: c.kind for c in preparation.columns if c.kind != "text"}
        for table in tables:
            for batch, complain in table.checked_batches(ROWS, kinds):
                found = numbers(batch, preparation.columns, complain)
                preparation.scaling.fit(preparation.filled(found))


def _resolved(
    first: TableFile, options: ReadingOptions
) -> tuple[ReadingOptions, dict[str, str], str | None]:
    """Return options with columns by name, what is read as what, and the target."""
    target = first.column(options.target) if options.labelled else None
    dropped = {first.column(name) for name in options.drop}
    if options.keep is not None:
        kept = {name: first.column(name) for name in options.keep}
        for name, column in kept.items():
            if column in dropped:
                raise ValueError(f"column {name} is to be kept and to be dropped")
        options = dataclasses.replace(options, keep=list(kept.values()))
    options = dataclasses.replace(options, drop=sorted(dropped))
    kinds = {name: kind for name, kind in first.kinds.items() if name not in dropped}
    for name, kind in kinds.items():
        if kind not in KINDS:
            what = f"column {name} holds {kind}, which is not learnt from: drop it"
            raise BadFileError(first.path, what)
    if target is not None:
        if target not in kinds:
            what = f"the target {target} is among the columns to drop"
            raise BadFileError(first.path, what)
        if kinds[target] in ("time", "day"):
            what = f"the target {target} is a date: choose another"
            raise BadFileError(first.path, what)
        if options.above is not None or options.task == "regression":
            # A text in its place is found, and its row named, by the reader.
            kinds[target] = "number"
    return options, kinds, target


def check_columns(
    table: TableFile, kinds: Mapping[str, str], dropped: Collection[str]
) -> None:
    """Refuse a table that lacks columns, or has more."""
    missing = [name for name in kinds if name not in table.kinds]
    if missing:
        known = ", ".join(table.kinds)
        raise BadFileError(table.path, f"no column {missing[0]!r}; there are {known}")
    more = [name for name in table.kinds if name not in kinds and name not in dropped]
    if more:
        wanted = ", ".join(kinds)
        raise BadFileError(
            table.path, f"column {more[0]!r} is one too many: expected {wanted}"
        )

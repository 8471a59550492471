"""One pass over files to learn how to prepare their rows, in bounded memory."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

from onkel.data import libsvm, scaling
from onkel.data.bad_file import BadFileError, Complain, complain_of
from onkel.data.columns import (
    KINDS,
    MOST_CATEGORIES,
    Column,
    encode,
    gaps,
    numbers,
    refuse_gaps,
    values,
)
from onkel.data.identifiers import Naming, Numbering
from onkel.data.medians import Medians
from onkel.data.preparation import WIDE, Preparation, is_sparse
from onkel.data.tables import Table
from onkel.data.target import Census, Target

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# Rows in memory at a time.
ROWS = 16_384


class Wanted(NamedTuple):
    """What the caller wants of the rows; see `onkel.data.dataset`."""

    target: str | int | None
    positive: Any
    above: float | None
    task: str
    scaling: str
    labelled: bool
    drop: Sequence[str]
    keep: Sequence[str] | None  # None for all columns
    missing: str


class Found(NamedTuple):
    """What a survey found."""

    preparation: Preparation
    n_rows: int
    counts: np.ndarray | None  # rows of each class
    missing: Mapping[str, int] = {}  # cells, by column
    left_out: Mapping[str, str] = {}  # why, by column


class _Sight:
    """What is seen of rows and targets, whatever the format."""

    def __init__(self, wanted: Wanted, announce: Callable[[int], None] | None) -> None:
        self.wanted = wanted
        self.census = Census()
        self.rows = 0
        self.above = 0
        self._announce = announce

    def see(self, rows: int, raw: np.ndarray | None) -> None:
        if raw is not None:
            if self.wanted.above is None:
                self.census.count(raw)
            else:
                self.above += int((raw > self.wanted.above).sum())
        self.rows += rows
        if self._announce is not None:
            self._announce(self.rows)

    def target(self, column: str | None, kind: str) -> Target | None:
        wanted = self.wanted
        if not wanted.labelled:
            return None
        if wanted.above is not None:
            return Target(column, kind, above=float(wanted.above))
        return self.census.target(column, kind, wanted.task, wanted.positive)

    def counts(self, target: Target | None) -> np.ndarray | None:
        if target is None or target.is_regression:
            return None
        if target.above is not None:
            return np.array([self.rows - self.above, self.above])
        return self.census.counts_of(target)


def survey_libsvm(
    paths: Sequence[Path],
    wanted: Wanted,
    width: int = 1,
    announce: Callable[[int], None] | None = None,
) -> Found:
    """Survey files in LIBSVM's format; `width` is the least number of features."""
    sight = _Sight(wanted, announce)
    # Which of the two "auto" will be is known at the end.
    names = ["standard", "maxabs"] if wanted.scaling == "auto" else [wanted.scaling]
    scalers = {name: scaling.make(name, centre=False) for name in names}
    entries = 0
    known = max(width, libsvm.ROOMY)  # features that need no more reason
    for path in paths:
        for block in libsvm.read_blocks(path, ROWS, labelled=wanted.labelled):
            width = max(width, block.X.shape[1])
            if width > known:
                libsvm.refuse_roominess(paths, ROWS, wanted.labelled)
                known = libsvm.WIDEST
            entries += int(np.count_nonzero(block.X.data))
            for name, scaler in scalers.items():
                _fit(path, name, scaler, block.widened(width))
            sight.see(len(block.y), block.y if wanted.labelled else None)
    if not sight.rows:
        raise BadFileError(paths[0], "the file has no rows", line=1)
    sparse = is_sparse(width, entries / (sight.rows * width))
    if wanted.scaling in scaling.DENSE_ONLY:
        sparse = False
    name = wanted.scaling
    if name == "auto":
        name = "maxabs" if sparse else "standard"
    scaler = scalers[name]
    if name == "standard":
        scaler.with_mean = not sparse
    target = sight.target(None, "number")
    made = Preparation(None, width, sparse, name, scaler, target)
    return Found(made, sight.rows, sight.counts(target))


def _fit(path: Path, name: str, scaler: Any, X: scipy.sparse.csr_array) -> None:
    if scaler is None:
        return
    if name in scaling.DENSE_ONLY:
        if X.shape[1] > WIDE:
            raise BadFileError(
                path,
                f"{name} scaling would make {X.shape[1]} sparse features dense: use "
                "maxabs or standard",
            )
        X = X.toarray()
    if getattr(scaler, "n_features_in_", X.shape[1]) < X.shape[1]:
        scaling.widen(scaler, X.shape[1])
    scaler.partial_fit(X)


class _Look:
    """What is seen of the columns of tables, the target apart."""

    def __init__(self, columns: Sequence[Column], wanted: Wanted) -> None:
        self._columns, self._fills = columns, wanted.missing == "fill"
        self._rows = 0
        self.missing: Counter[str] = Counter()
        self._medians = Medians(sum(len(column.numbers) for column in columns))
        self._categories: dict[str, set[str]] = {
            column.name: set() for column in columns if column.kind == "text"
        }
        doubtful = [
            column
            for column in columns
            if wanted.keep is not None and column.name not in wanted.keep
        ]
        self._numbered = {
            column.name: Numbering(column.name)
            for column in doubtful
            if column.kind == "number"
        }
        self._named = {c.name: Naming() for c in doubtful if c.kind == "text"}

    def see(self, path: Path, batch: "RecordBatch", complain: Complain) -> np.ndarray:
        """Take rows into account; return their numbers, NaN where one is missing."""
        self._rows += batch.num_rows
        if self._fills:
            for name, kind, *_ in self._columns:
                if missing := int(gaps(batch.column(name), kind).sum()):
                    self.missing[name] += missing
        else:
            refuse_gaps(batch, self._columns, True, complain)
        found = numbers(batch, self._columns, complain)
        self._medians.see(found)
        at = 0
        for column in self._columns:
            if column.kind == "text":
                self._see_texts(path, column.name, batch)
            elif column.name in self._numbered:
                self._numbered[column.name].see(found[:, at])
            at += len(column.numbers)
        return found

    def _see_texts(self, path: Path, name: str, batch: "RecordBatch") -> None:
        texts, _ = encode(batch.column(name))
        named, seen = self._named.get(name), self._categories[name]
        if named is not None:
            named.see(texts, batch.num_rows)
        if len(seen) <= MOST_CATEGORIES:
            seen.update(texts)
        if len(seen) > MOST_CATEGORIES and not (named is not None and named.holds):
            self._refuse_texts(path, name)

    def _refuse_texts(self, path: Path, name: str) -> None:
        raise BadFileError(
            path,
            f"column {name} has more than {MOST_CATEGORIES} different texts, too many "
            "for features: drop it",
        )

    def left_out(self, path: Path) -> dict[str, str]:
        """Return columns that say nothing about a row, and why."""
        empty = {
            name: "empty" for name, many in self.missing.items() if many == self._rows
        }
        doubtful = self._numbered | self._named
        identifiers = [name for name, column in doubtful.items() if column.holds]
        left_out = empty | dict.fromkeys(identifiers, "identifier")
        if len(left_out) < len(self._columns):
            return left_out
        # There is nothing else to learn from.
        for name, seen in self._categories.items():
            if len(seen) > MOST_CATEGORIES:
                self._refuse_texts(path, name)
        return empty

    def columns(self, left_out: Mapping[str, str]) -> list[Column]:
        """Return the others, with their categories."""
        return [
            column._replace(
                categories=tuple(sorted(self._categories.get(column.name, ()))),
                has_gaps=column.name in self.missing,
            )
            for column in self._columns
            if column.name not in left_out
        ]

    def medians(self, left_out: Mapping[str, str]) -> np.ndarray:
        """Return the medians of the features of the others."""
        kept = [
            column.name not in left_out
            for column in self._columns
            for _ in column.numbers
        ]
        return self._medians.found()[np.array(kept, bool)]


def survey_tables(
    tables: Sequence[Table],
    wanted: Wanted,
    announce: Callable[[int], None] | None = None,
) -> Found:
    """Survey tables that have the same columns.

    Where cells are missing or columns are left out, the scaling takes a second pass.
    """
    sight = _Sight(wanted, announce)
    first = tables[0]
    target = first.column(wanted.target) if wanted.labelled else None
    dropped = {first.column(name) for name in wanted.drop}
    for name in wanted.keep or ():
        if first.column(name) in dropped:
            raise ValueError(f"column {name} is to be kept and to be dropped")
    kinds = {name: kind for name, kind in first.kinds.items() if name not in dropped}
    _refuse_other_types(first.path, kinds)
    if target is not None:
        _settle_target(first.path, kinds, target, wanted)
    columns = [Column(name, kind) for name, kind in kinds.items() if name != target]
    if not columns:
        raise BadFileError(first.path, "there is no column besides the target")
    if wanted.keep is not None:
        wanted = wanted._replace(keep=[first.column(name) for name in wanted.keep])
    look = _Look(columns, wanted)
    name = "standard" if wanted.scaling == "auto" else wanted.scaling
    scaler = scaling.make(name)
    for table in tables:
        begun = sight.rows
        check_columns(table, kinds, dropped)
        for batch in table.batches(ROWS, kinds):
            complain = complain_of(table.fault, sight.rows - begun)
            found = look.see(table.path, batch, complain)
            if scaler is not None and found.shape[1] and not look.missing:
                scaler.partial_fit(found)
            raw = None
            if target is not None:
                raw = values(batch.column(target), target, kinds[target], complain)
            sight.see(batch.num_rows, raw)
    if not sight.rows:
        raise BadFileError(first.path, "the file has no rows")
    left_out = look.left_out(first.path)
    columns = look.columns(left_out)
    numeric = sum(len(column.numbers) for column in columns)
    width = numeric + sum(len(column.marks) for column in columns)
    if not width:
        raise BadFileError(first.path, "all columns besides the target are empty")
    texts = sum(column.kind == "text" for column in columns)
    meant = None
    if target is not None:
        meant = sight.target(target, kinds[target])
    begin_again = bool(look.missing or left_out)
    if not numeric:
        name, scaler = "none", None  # nothing but categories, which are not scaled
    elif begin_again:
        scaler = scaling.make(name)
    preparation = Preparation(
        *(columns, width, is_sparse(width, (numeric + texts) / width), name, scaler),
        *(meant, sorted(dropped | left_out.keys()), wanted.missing),
        look.medians(left_out) if wanted.missing == "fill" else None,
    )
    if scaler is not None and begin_again:
        _fit_again(tables, preparation, scaler)
    filled = {name: n for name, n in look.missing.items() if name not in left_out}
    return Found(preparation, sight.rows, sight.counts(meant), filled, left_out)


def _fit_again(tables: Sequence[Table], preparation: Preparation, scaler: Any) -> None:
    """Fit the scaler of a preparation to the rows as that fills them."""
    assert preparation.columns is not None
    kinds = {c.name: c.kind for c in preparation.columns if c.kind != "text"}
    for table in tables:
        done = 0
        for batch in table.batches(ROWS, kinds):
            complain = complain_of(table.fault, done)
            found = numbers(batch, preparation.columns, complain)
            scaler.partial_fit(preparation.filled(found))
            done += batch.num_rows


def _refuse_other_types(path: Path, kinds: dict[str, str]) -> None:
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise BadFileError(
                path, f"column {name} holds {kind}, which is not learnt from: drop it"
            )


def _settle_target(
    path: Path, kinds: dict[str, str], target: str, wanted: Wanted
) -> None:
    """Decide how the target is read, or refuse it."""
    if target not in kinds:
        raise BadFileError(path, f"the target {target} is among the columns to drop")
    if kinds[target] in ("time", "day"):
        raise BadFileError(path, f"the target {target} is a date: choose another")
    if wanted.above is not None or wanted.task == "regression":
        # A text in its place is found, and its row named, by the reader.
        kinds[target] = "number"


def check_columns(table: Table, kinds: dict[str, str], dropped: set[str]) -> None:
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

"""One pass over files to learn how to prepare their rows, in bounded memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from onkel.data import libsvm, scaling
from onkel.data.bad_file import BadFileError, complain_of
from onkel.data.columns import KINDS, MOST_CATEGORIES, Column, encode, numbers, values
from onkel.data.preparation import WIDE, Preparation, is_sparse
from onkel.data.tables import Table
from onkel.data.target import Census, Target

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


class Found(NamedTuple):
    """What a survey found."""

    preparation: Preparation
    n_rows: int
    counts: np.ndarray | None  # rows of each class


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
    for path in paths:
        for block in libsvm.read_blocks(path, ROWS, labelled=wanted.labelled):
            width = max(width, block.X.shape[1])
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


def survey_tables(
    tables: Sequence[Table],
    wanted: Wanted,
    announce: Callable[[int], None] | None = None,
) -> Found:
    """Survey tables that have the same columns."""
    sight = _Sight(wanted, announce)
    first = tables[0]
    target = first.column(wanted.target) if wanted.labelled else None
    dropped = {first.column(name) for name in wanted.drop}
    kinds = {name: kind for name, kind in first.kinds.items() if name not in dropped}
    _refuse_other_types(first.path, kinds)
    if target is not None:
        _settle_target(first.path, kinds, target, wanted)
    columns = [Column(name, kind) for name, kind in kinds.items() if name != target]
    if not columns:
        raise BadFileError(first.path, "there is no column besides the target")
    name = "standard" if wanted.scaling == "auto" else wanted.scaling
    scaler = scaling.make(name)
    categories: dict[str, set[str]] = {
        column.name: set() for column in columns if column.kind == "text"
    }
    for table in tables:
        begun = sight.rows
        check_columns(table, kinds, dropped)
        for batch in table.batches(ROWS, kinds):
            complain = complain_of(table.fault, sight.rows - begun)
            found = numbers(batch, columns, complain)
            if scaler is not None and found.shape[1]:
                scaler.partial_fit(found)
            for text, seen in categories.items():
                seen.update(encode(batch.column(text))[0])
                if len(seen) > MOST_CATEGORIES:
                    what = (
                        f"column {text} has more than {MOST_CATEGORIES} different "
                        "texts, too many for features: drop it"
                    )
                    raise BadFileError(table.path, what)
            raw = None
            if target is not None:
                raw = values(batch.column(target), target, kinds[target], complain)
            sight.see(batch.num_rows, raw)
    if not sight.rows:
        raise BadFileError(first.path, "the file has no rows")
    columns = [
        column._replace(categories=tuple(sorted(categories.get(column.name, ()))))
        for column in columns
    ]
    width = sum(len(column.features) for column in columns)
    if not width:
        raise BadFileError(first.path, "all columns besides the target are empty")
    made = sum(
        1 if column.kind == "text" else len(column.features) for column in columns
    )
    meant = None
    if target is not None:
        meant = sight.target(target, kinds[target])
    sparse = is_sparse(width, made / width)
    if all(column.kind == "text" for column in columns):
        name, scaler = "none", None  # nothing but categories, which are not scaled
    preparation = Preparation(
        columns, width, sparse, name, scaler, meant, sorted(dropped)
    )
    return Found(preparation, sight.rows, sight.counts(meant))


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

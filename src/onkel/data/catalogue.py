"""The catalogue: data sets of the papers by name, in a mirror or in the cache.

A mirror is a folder whose catalog.json lists what is there; it is named by an argument
or by the environment variable ONKEL_DATA_MIRROR. What was downloaded is in the cache:
the folder named by ONKEL_DATA_CACHE, or onkel in $XDG_CACHE_HOME or ~/.cache.
"""

import dataclasses
import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from onkel.data.bad_file import BadFileError
from onkel.data.columnar import Columnar
from onkel.data.columns import Column, numbers
from onkel.data.delimited import Delimited
from onkel.data.libsvm import LibsvmFile
from onkel.data.tables import BATCH_ROWS
from onkel.data.text import stem_suffix

if TYPE_CHECKING:
    from pyarrow import RecordBatch

VARIABLE = "ONKEL_DATA_MIRROR"
CACHE_VARIABLE = "ONKEL_DATA_CACHE"


class DataNotFoundError(FileNotFoundError):
    """A data set is not at hand; the message says where it was looked for."""


@dataclass(frozen=True)
class ListedFile:
    """A file, of a mirror or published."""

    name: str
    address: str | None = None  # where it is published; None if in mirrors only
    format: str | None = None  # "csv" and so on, where the suffix does not tell
    header: bool | None = None  # whether a CSV has one, where its look does not tell
    target: str | int | None = None  # column, where it is not the last
    counts: Mapping[str, int] | None = None  # rows by label, where there are and known
    bytes: int | None = None  # its size, where known
    sha256: str | None = None


@dataclass(frozen=True)
class CataloguePart:
    """The training or test part of a data set: rows, and the files that have them."""

    rows: int
    mirrored: ListedFile | None = None
    published: ListedFile | None = None


@dataclass(frozen=True)
class CatalogueEntry:
    """What the catalogue says of a data set."""

    name: str
    task: str  # "binary", "multiclass" or "regression"
    features: int  # in the file
    parts: Mapping[str, CataloguePart] = field(default_factory=dict)  # "train", "test"
    in_order: bool = False  # whether the rows are a stream in time
    scaling: str = "auto"  # what "auto" stands for
    protocol: str = ""  # split, seed and scaling of our experiments, in words
    papers: Sequence[str] = ()  # those that use it
    source: str = ""
    note: str = ""

    @property
    def kind(self) -> str:
        """The task as `onkel.data.dataset` has it."""
        labelled = self.task in ("binary", "multiclass")
        return "classification" if labelled else self.task

    def part(self, name: str) -> CataloguePart:
        """Return a part that there is."""
        if name not in self.parts:
            known = ", ".join(self.parts)
            raise ValueError(f"{self.name} has no part {name!r}, only {known}")
        return self.parts[name]

    @property
    def is_fetchable(self) -> bool:
        """Whether all its parts have a published address."""
        return all(part.published is not None for part in self.parts.values())


@functools.cache
def _packaged() -> dict[str, CatalogueEntry]:
    text = (files("onkel.data") / "catalogue.json").read_text(encoding="utf-8")
    return {name: _entry(name, said) for name, said in json.loads(text).items()}


def _entry(name: str, said: dict[str, Any]) -> CatalogueEntry:
    parts = {
        part: CataloguePart(
            **known
            | {at: ListedFile(**file) for at, file in known.items() if at != "rows"}
        )
        for part, known in said["parts"].items()
    }
    return CatalogueEntry(name, **{**said, "parts": parts})


def _mirrored(folder: str | Path | None) -> dict[str, CatalogueEntry]:
    """Entries of a mirror; those that onkel knows are completed from its own."""
    at = mirror(folder)
    if at is None:
        return {}
    try:
        listed = json.loads((at / "catalog.json").read_text(encoding="utf-8"))
        return {name: _listed(name, said) for name, said in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFileError(at / "catalog.json", f"no catalogue: {error!r}") from error


def _listed(name: str, said: dict[str, Any]) -> CatalogueEntry:
    known = _packaged().get(name)
    parts = dict(known.parts) if known is not None else {}
    for part, file in said["files"].items():
        rows = int(said[f"rows_{part}"])
        old = parts.get(part, CataloguePart(rows))
        same = old.mirrored is not None and old.mirrored.name == file
        parts[part] = CataloguePart(
            rows, old.mirrored if same else ListedFile(file), old.published
        )
    if known is None:
        told = {name: said[name] for name in ("source", "note") if name in said}
        known = CatalogueEntry(name, said.get("task", "auto"), said["features"], **told)
    return dataclasses.replace(known, parts=parts, features=said["features"])


def mirror(folder: str | Path | None = None) -> Path | None:
    """Return the folder to look for data sets in; None if there is none.

    `folder` is taken instead of that of the environment variable. DataNotFoundError if
    the folder named has no catalogue.
    """
    named = os.environ.get(VARIABLE, "") if folder is None else str(folder)
    if not named:
        return None
    if not (Path(named) / "catalog.json").is_file():
        said = f"{VARIABLE}={named}" if folder is None else named
        raise DataNotFoundError(f"{said} has no catalog.json")
    return Path(named)


def cache() -> Path:
    """Return the folder that downloads are kept in; it may not be there yet."""
    if named := os.environ.get(CACHE_VARIABLE, ""):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "onkel"


def entries(folder: str | Path | None = None) -> dict[str, CatalogueEntry]:
    """Return all data sets that onkel or the mirror knows, by name."""
    return dict(sorted({**_packaged(), **_mirrored(folder)}.items()))


def entry(name: str, folder: str | Path | None = None) -> CatalogueEntry:
    """Return what the catalogue says of a data set.

    Examples
    --------
    >>> entry("ijcnn1").features
    22
    """
    known = entries(folder)
    if name not in known:
        raise ValueError(f"unknown data set {name!r}; there are {', '.join(known)}")
    return known[name]


def find(
    name: str, part: str, folder: str | Path | None = None
) -> tuple[Path, ListedFile]:
    """Return the file of a part: the mirror's, or else the one downloaded.

    DataNotFoundError if neither is there; the message says how to get it.
    """
    listed = entry(name, folder)
    known, looked, at = listed.part(part), [], mirror(folder)
    if at is not None and name in _mirrored(folder) and known.mirrored is not None:
        path = at / known.mirrored.name
        if path.is_file():
            return path, known.mirrored
        looked.append(f"{path} is listed in the catalogue but not there")
    elif at is not None:
        looked.append(f"{at} does not list it")
    else:
        looked.append(f"no mirror is named by {VARIABLE}")
    if known.published is not None:
        path = cache_path(name, known.published)
        if path.is_file():
            return path, known.published
        looked.append(f"{path} is not there")
        advice = f"`onkel data fetch {name}` gets it from {known.published.address}"
    else:
        advice = f"it is not published in this form ({listed.source})"
    missing = "; ".join(looked)
    raise DataNotFoundError(f"{name} ({part}) is not at hand: {missing}; {advice}")


def cache_path(name: str, file: ListedFile) -> Path:
    """Return where a download is kept."""
    return cache() / name / file.name


def load(
    name: str, part: str = "train", dtype: Any = np.float32
) -> tuple[Any, np.ndarray]:
    """Read a data set whole and as it is: not scaled, not encoded.

    Rows are CSR from LIBSVM's format and dense from CSV; labels are numbers.
    """
    path, file = find(name, part)
    features = entry(name).features
    suffix = stem_suffix(path)
    if suffix == ".parquet":
        raise ValueError(
            f"{path.name} is for streaming: read it with batches({name!r})"
        )
    if suffix == ".csv":
        return _load_csv(Delimited(path, header=file.header), features, dtype)
    blocks = [block for block, _ in LibsvmFile(path).blocks(BATCH_ROWS, features)]
    y = np.concatenate([block.y for block in blocks])
    stacked = scipy.sparse.vstack([block.widened(features, dtype) for block in blocks])
    return stacked, y


def _load_csv(
    table: Delimited, features: int, dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    if len(table.kinds) != features + 1:
        raise ValueError(
            f"{table.path} has {len(table.kinds)} columns; the catalogue says "
            f"{features} features, and the target comes after them"
        )
    columns = [Column(name, "number") for name in table.kinds]
    read = table.checked_batches(BATCH_ROWS, dict.fromkeys(table.kinds, "number"))
    rows = np.concatenate([numbers(batch, columns, fault) for batch, fault in read])
    # A view would keep the whole table alive.
    return rows[:, :-1].astype(dtype), rows[:, -1].copy()


def batches(
    name: str, rows: int = BATCH_ROWS, columns: Sequence[str] | None = None
) -> Iterator["RecordBatch"]:
    """Stream columns of a data set in Parquet, or all, in its order.

    At most a row group of the file is in memory with a batch.
    """
    path, _ = find(name, "train")
    if path.suffix != ".parquet":
        raise ValueError(f"{path.name} is no Parquet: read it with load({name!r})")
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    table = Columnar(path, "parquet")
    wanted = [table.column(name) for name in columns or table.kinds]
    return table.batches(rows, {name: table.kinds[name] for name in wanted})

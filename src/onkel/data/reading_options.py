"""Reading options: what a caller may say of how a data set is to be read."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onkel.data.catalogue import CatalogueEntry, ListedFile
from onkel.data.preparation import MISSING, Preparation
from onkel.data.scaling import SCALINGS
from onkel.data.target import TASKS

# What an option can be, where that is known.
CHOICES = {
    "task": ("auto", *TASKS),
    "scaling": ("auto", *SCALINGS),
    "missing": tuple(MISSING),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The keywords of `onkel.data.dataset`, checked.

    Attributes
    ----------
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
        and where there is nothing else. None for all columns.
    missing
        What to do about empty cells, NA, NaN, null and ? in a table: "fill" numbers
        with the median (of a sample, if there are more than 32,768 rows) and texts
        with a category of their own; columns that had missing cells here get a feature
        that says so. "refuse" names the first. A target must never be missing.
    """

    part: str = "train"
    target: str | int | None = None
    positive: Any = None
    above: float | None = None
    task: str = "auto"
    scaling: str = "auto"
    dtype: Any = np.float32
    mirror: str | Path | None = None
    preparation: Preparation | None = None
    labelled: bool = True
    announce: Callable[[int], None] | None = None
    format: str | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] | None = ()
    missing: str = "fill"

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if (value := getattr(self, name)) not in known:
                # "Unknown missing" would be read as something else.
                said = f"unknown {name} {value!r}"
                said = f"{name}={value!r}" if name == "missing" else said
                raise ValueError(f"{said}; there are {', '.join(known)}")
        if self.above is not None and (
            self.positive is not None or self.task == "regression"
        ):
            raise ValueError(
                "above makes two classes: give no positive, and no regression"
            )

    def completed(self, known: CatalogueEntry, file: ListedFile) -> "ReadingOptions":
        """Return the options with what the catalogue says where nobody asked.

        Its columns are known to mean something: none is left out.
        """
        is_free = self.task == "auto" and self.positive is None and self.above is None
        return dataclasses.replace(
            self,
            target=file.target if self.target is None else self.target,
            task=known.kind if is_free else self.task,
            scaling=known.scaling if self.scaling == "auto" else self.scaling,
            keep=None,
        )

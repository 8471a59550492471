"""Opening of data sets: from a name or a path to rows that can be read."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from onkel.data.arff import Arff
from onkel.data.bad_file import BadFileError
from onkel.data.catalogue import (
    CatalogueEntry,
    DataNotFoundError,
    ListedFile,
    entries,
    find,
)
from onkel.data.columnar import Columnar
from onkel.data.datasets import DataFile, Dataset
from onkel.data.delimited import Delimited
from onkel.data.libsvm import LibsvmFile
from onkel.data.preparation import Preparation
from onkel.data.reading_options import ReadingOptions
from onkel.data.survey import Survey, check_columns, survey_libsvm, survey_tables
from onkel.data.tables import TableFile
from onkel.data.text import stem_suffix

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".arff": "arff",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
# How a file is opened, by its format; some ask what the catalogue says of a header.
READERS: dict[str, Callable[[Path, bool | None], DataFile]] = {
    "csv": lambda path, header: Delimited(path, header=header),
    "tsv": lambda path, header: Delimited(path, "\t", header),
    "arff": lambda path, header: Arff(path),
    "parquet": lambda path, header: Columnar(path, "parquet"),
    "arrow": lambda path, header: Columnar(path, "arrow"),
    "libsvm": lambda path, header: LibsvmFile(path),
}


def dataset(where: str | Path, **options: Any) -> Dataset:
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
    **options
        Those of `onkel.data.ReadingOptions`: part, target, positive, above, task,
        scaling, dtype, mirror, preparation, labelled, announce, format, drop, keep and
        missing.

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
    known, found, given = _located(where, ReadingOptions(**options))
    files = [_open(path, file, given.format) for path, file in found]
    if given.preparation is None:
        survey = _survey(files, given, known.features or 1)
        return Dataset(known.name, files, survey, given, known.in_order)
    _check_against(files, given.preparation, given)
    survey = Survey(given.preparation, 0, None)
    data = Dataset(known.name, files, survey, given, known.in_order)
    data.count(given.announce)
    return data


def _located(
    where: str | Path, options: ReadingOptions
) -> tuple[CatalogueEntry, list[tuple[Path, ListedFile]], ReadingOptions]:
    """Find files, and what is known of them; options where the catalogue has some."""
    path, name = Path(where), str(where)
    if path.is_file():
        unknown = CatalogueEntry(path.name, "auto", features=1)
        return unknown, [(path, ListedFile(path.name))], options
    known = entries(options.mirror).get(name)
    if known is None:
        raise DataNotFoundError(
            f"{where} is neither a file nor a data set of the catalogue: "
            "`onkel data list` shows these"
        )
    parts = known.parts if options.part == "all" else [options.part]
    found = [find(name, part, options.mirror) for part in parts]
    return known, found, options.completed(known, found[0][1])


def inspect(path: Path, file: ListedFile, task: str) -> Survey:
    """Survey a single file of the catalogue, raw."""
    raw = ReadingOptions(target=file.target, task=task, scaling="none", keep=None)
    return _survey([_open(path, file, None)], raw)


def _survey(
    files: Sequence[DataFile], options: ReadingOptions, width: int = 1
) -> Survey:
    tables = [file for file in files if isinstance(file, TableFile)]
    if tables:
        return survey_tables(tables, options)
    lines = [file for file in files if isinstance(file, LibsvmFile)]
    return survey_libsvm(lines, options, width)


def _open(path: Path, file: ListedFile, format: str | None) -> DataFile:
    """Open a file in the format asked for, or known, or told by the suffix."""
    name = format or file.format or SUFFIXES.get(stem_suffix(path), "libsvm")
    if path.stat().st_size == 0:
        raise BadFileError(path, "the file is empty")
    if name not in READERS:
        known = ", ".join(sorted(READERS))
        raise ValueError(f"unknown format {name!r}; there are {known}")
    return READERS[name](path, file.header)


def _check_against(
    files: Sequence[DataFile], preparation: Preparation, options: ReadingOptions
) -> None:
    """Refuse files of which a preparation cannot make rows."""
    columns = preparation.columns
    for file in files:
        if isinstance(file, TableFile) == (columns is None):
            made = "LIBSVM's format" if columns is None else "a table"
            what = f"the preparation was made from {made}, not this"
            raise BadFileError(file.path, what)
    kinds = preparation.kinds(options.labelled)
    dropped = {*options.drop, *preparation.dropped}
    if not options.labelled:
        dropped |= preparation.kinds(labelled=True).keys() - kinds.keys()
    for file in files:
        if isinstance(file, TableFile):
            check_columns(file, kinds, dropped)

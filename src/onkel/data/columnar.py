"""Parquet and Arrow's own formats: tables with types, read by record batches."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onkel.data.bad_file import BadFileError
from onkel.data.tables import TableFile, arrow_types, kinds_of, regroup, require_pyarrow

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch

# Bytes read at a time from a column of Parquet, whatever the size of a row group.
BUFFER = 1 << 20


class Columnar(TableFile):
    """A file in Parquet, or in Arrow's IPC format: a file (Feather too) or a stream."""

    def __init__(self, path: Path, format: str) -> None:
        require_pyarrow("Parquet" if format == "parquet" else "Arrow's format")
        self.path = path
        self._open = _open_parquet if format == "parquet" else _open_arrow
        try:
            with self._open(path) as (schema, _):
                self.kinds = kinds_of(schema)
                doubled = len(schema) > len(self.kinds)
        except (ValueError, LookupError, OSError) as error:
            what = f"no {format} file, or damaged: {error}"
            raise BadFileError(path, what) from error
        if doubled or not self.kinds:
            what = "two columns have one name: rename one" if doubled else "no columns"
            raise BadFileError(path, what)

    def batches(self, rows: int, kinds: Mapping[str, str]) -> Iterator["RecordBatch"]:
        """Read columns as they are said to be, `rows` rows at a time."""
        return regroup(self._typed(rows, kinds), rows)

    def _typed(self, rows: int, kinds: Mapping[str, str]) -> Iterator["RecordBatch"]:
        from pyarrow import record_batch

        done = 0
        try:
            with self._open(self.path) as (_, read):
                for batch in read(rows, list(kinds)):
                    # What is wrong within it would otherwise end the process.
                    batch.validate(full=True)
                    columns = {
                        name: self._cast(batch.column(name), name, kind, done)
                        for name, kind in kinds.items()
                    }
                    yield record_batch(columns)
                    done += batch.num_rows
        except BadFileError:
            raise
        except (ValueError, LookupError, OSError) as error:
            raise BadFileError(self.path, f"damaged: {error}", row=done + 1) from error

    def _cast(self, array: "Array", name: str, kind: str, done: int) -> "Array":
        import pyarrow

        wanted = arrow_types()[kind]
        if pyarrow.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        try:
            # Times finer than microseconds are cut.
            return array.cast(wanted, safe=False)
        except ValueError:
            for row in range(len(array)):
                try:
                    array.slice(row, 1).cast(wanted, safe=False)
                except ValueError:
                    what = f"{array[row].as_py()!r} in column {name} is not a {kind}"
                    raise self.fault(done + row, what) from None
            raise

    def fault(self, row: int, what: str) -> BadFileError:
        """Return the error for a row, counted from 0."""
        return BadFileError(self.path, what, row=row + 1)


@contextlib.contextmanager
def _open_parquet(path: Path) -> Iterator[Any]:
    """Give the schema, and a function that reads batches of some columns."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path, buffer_size=BUFFER) as file:

        def read(rows: int, names: Sequence[str]) -> Iterator["RecordBatch"]:
            return file.iter_batches(batch_size=rows, columns=names, use_threads=False)

        yield file.schema_arrow, read


@contextlib.contextmanager
def _open_arrow(path: Path) -> Iterator[Any]:
    """Give the schema, and a function that reads batches; those of the file's size."""
    import pyarrow

    with pyarrow.OSFile(str(path)) as file:
        # The magic letters of the file format; a stream has none.
        if file.read(6) == b"ARROW1":
            source = pyarrow.ipc.open_file(file)
        else:
            file.seek(0)
            source = pyarrow.ipc.open_stream(file)

        def read(rows: int, names: Sequence[str]) -> Iterator["RecordBatch"]:
            if hasattr(source, "get_batch"):
                for at in range(source.num_record_batches):
                    yield source.get_batch(at)
            else:
                yield from source

        yield source.schema, read

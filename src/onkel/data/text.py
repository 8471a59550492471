"""Text files, plain or compressed, that say where they break off."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onkel.data.bad_file import BadFileError

OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
# What the decompressors raise; gzip's BadGzipFile is an OSError.
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)


def stem_suffix(path: Path) -> str:
    """Return the suffix that tells the format, without that of the compression.

    Examples
    --------
    >>> stem_suffix(Path("flights.CSV.bz2")), stem_suffix(Path("a9a.bz2"))
    ('.csv', '')
    """
    name = path.with_suffix("") if path.suffix.lower() in OPENERS else path
    return name.suffix.lower()


class _Text(io.RawIOBase):
    """Decompressed bytes; damage is reported with the file and the line."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = OPENERS.get(path.suffix.lower(), open)(path, "rb")
        self._lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        try:
            # What there is, so that lines are counted up to the damage.
            found = self._file.read1(len(view))
        except _DAMAGE as error:
            raise BadFileError(
                self._path,
                f"damaged or cut short here or later ({error}): get the file again",
                line=self._lines + 1,
            ) from error
        view[: len(found)] = found
        self._lines += found.count(b"\n")
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def open_text(path: Path) -> io.BufferedReader:
    """Open a text file for reading bytes, decompressed as its suffix says.

    Raises
    ------
    BadFileError
        Of this or a later read, where the compressed data are damaged or cut short.
    """
    return io.BufferedReader(_Text(path), buffer_size=1 << 20)

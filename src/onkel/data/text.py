"""Text files, plain or compressed, that say where they break off, and stay small."""

import bz2
import codecs
import gzip
import io
import lzma
import math
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
# Bytes of a line: a longer one is no text, and would fill the memory.
LONGEST = 1 << 26
# A compressed file may become this many times as large, and this many bytes anyway.
EXPANSION, FREE = 200, 1 << 30
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

    def __init__(self, path: Path, longest: int, decode: bool) -> None:
        super().__init__()
        self._path = path
        self._file = OPENERS.get(path.suffix.lower(), open)(path, "rb")
        self._longest = longest
        self._decoder = codecs.getincrementaldecoder("utf-8")() if decode else None
        self._most = math.inf
        if path.suffix.lower() in OPENERS:
            self._most = max(FREE, EXPANSION * path.stat().st_size)
        self._bytes = self._lines = self._line = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        try:
            # What there is, so that lines are counted up to the damage.
            found = self._file.read1(len(view))
        except _DAMAGE as error:
            what = f"damaged or cut short here or later ({error}): get the file again"
            raise self._fault(what) from error
        view[: len(found)] = found
        self._check(found)
        return len(found)

    def _check(self, found: bytes) -> None:
        """Count bytes and lines; refuse too many, and what is not UTF-8."""
        if self._decoder is not None:
            try:
                self._decoder.decode(found, final=not found)
            except UnicodeDecodeError as error:
                self._lines += found.count(b"\n", 0, error.start)
                what = f"not UTF-8 ({error.reason}): no text, or save it as UTF-8"
                raise self._fault(what) from None
        self._bytes += len(found)
        if self._bytes > self._most:
            raise self._fault(
                f"unpacked it is more than {EXPANSION} times as large as the file, and "
                f"over {FREE >> 30} GiB: if it is meant so, unpack it first"
            )
        end = found.rfind(b"\n")
        # The part of a line that came before, and its end.
        whole = self._line + (len(found) if end < 0 else found.find(b"\n"))
        if whole > self._longest:
            raise self._fault(
                f"a line of more than {self._longest:,} bytes: is this a text whose "
                "lines end in line feeds?"
            )
        self._line = whole if end < 0 else len(found) - 1 - end
        self._lines += found.count(b"\n")

    def _fault(self, what: str) -> BadFileError:
        return BadFileError(self._path, what, line=self._lines + 1)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def open_text(
    path: Path, longest: int = LONGEST, decode: bool = False
) -> io.BufferedReader:
    """Open a text file for reading bytes, decompressed as its suffix says.

    This or a later read raises a BadFileError where the compressed data are damaged or
    cut short, a line has more than `longest` bytes, the file unpacks to what nobody
    would have written, or, with `decode`, is not UTF-8.
    """
    return io.BufferedReader(_Text(path, longest, decode), buffer_size=1 << 20)

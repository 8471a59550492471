"""Standard input as a file: it is read more than once, so it is kept for a while."""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from onkel.data.text import OPENERS

# How files begin whose suffix nobody told.
_COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz"}
_BINARY = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrow"}
_LIBSVM = re.compile(rb"[^\s,;]+([ \t]+(qid|\d+):\S+)+\s*(#.*)?", re.IGNORECASE)
_ARFF = re.compile(rb"\s*(%.*\s+)*@relation\b", re.IGNORECASE)


@contextmanager
def spooled() -> Iterator[Path]:
    """Copy the standard input to a file that is removed afterwards.

    Its suffix tells the format, which is guessed by the look of it.
    """
    source = sys.stdin.buffer
    if source.isatty():
        raise click.UsageError("- is the standard input, and nothing is piped into it")
    with tempfile.TemporaryDirectory(prefix="onkel-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as file:
            shutil.copyfileobj(source, file)
        yield path.rename(path.with_suffix(_suffix(path)))


def _suffix(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4096)
    for begin, suffix in _COMPRESSED.items():
        if head.startswith(begin):
            with OPENERS[suffix](path, "rb") as file:
                return look(file.read(4096)) + suffix
    return look(head)


def look(head: bytes) -> str:
    r"""Tell the suffix of a file by how it begins; CSV has no look of its own.

    Examples
    --------
    >>> look(b"1 1:0.5 3:2\n"), look(b"height,price\n"), look(b"% x\n@relation x")
    ('', '.csv', '.arff')
    """
    for begin, suffix in _BINARY.items():
        if head.startswith(begin):
            return suffix
    if _ARFF.match(head):
        return ".arff"
    lines = [line for line in head.splitlines() if not line.startswith(b"#")]
    return "" if lines and _LIBSVM.fullmatch(lines[0]) else ".csv"

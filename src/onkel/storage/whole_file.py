"""Whole files: they appear complete, in one step, or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write that is there only once it is complete, whatever dies.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole(folder / "a") as file:
    ...     _ = file.write(b"complete")
    ...     (folder / "a").exists()
    False
    >>> (folder / "a").read_text()
    'complete'
    """
    path = Path(os.path.realpath(path))  # a link stays a link
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    number, name = tempfile.mkstemp(prefix=".onkel-", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; this one has the rights of any other.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    if hasattr(os, "O_DIRECTORY"):  # the name is on the disk, too
        handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

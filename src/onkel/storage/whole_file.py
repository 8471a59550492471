"""Whole files: they appear complete, in one step, or not at all.

A file is written under a name of its own beside the one it shall have, `.onkel-` and
some letters, and then renamed. Whoever is killed on the way leaves it behind; the next
who writes to that folder takes it away. A lock on it says that its writer lives; where
there are no locks, as on Windows, its age has to tell.
"""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = ".onkel-"
# Seconds after which a file without a lock is nobody's.
ABANDONED = 3600.0


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write that is there only once it is complete, whatever dies.

    A file that is replaced hands on its rights, and its owner where that is allowed; a
    new one has the rights of any new file.

    Examples
    --------
    >>> import tempfile
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
    _clean_up(path.parent)
    number, name = _temporary(path)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # as long as the lock says that we live
                os.replace(name, path)
        if fcntl is None:  # Windows renames no open file
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


def _temporary(path: Path) -> tuple[int, Path]:
    """Create a file beside another, with the rights that one shall have; lock it."""
    try:
        status = path.stat()
    except FileNotFoundError:
        status = None
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    # The system takes the umask off; to ask for it would be to change it.
    mode = 0o666 if status is None else 0o600
    while True:
        name = path.parent / f"{PREFIX}{secrets.token_hex(8)}"
        number = os.open(name, flags, mode)
        _lock(number, wait=True)
        if name.exists():
            break
        # Somebody took it for abandoned, in the moment before it was locked.
        os.close(number)
    if status is not None and hasattr(os, "fchown"):
        with contextlib.suppress(OSError):
            os.fchown(number, status.st_uid, status.st_gid)
        # After the owner, whose change takes rights away.
        with contextlib.suppress(OSError):
            os.fchmod(number, status.st_mode & 0o777)
    return number, name


def _lock(number: int, wait: bool) -> bool:
    """Lock a file; whether that was possible."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _clean_up(folder: Path) -> None:
    """Take away what writers that were killed have left in a folder."""
    for left in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), left.open("rb+") as file:
            old = time.time() - left.stat().st_mtime > ABANDONED
            if _lock(file.fileno(), wait=False) or (fcntl is None and old):
                left.unlink()

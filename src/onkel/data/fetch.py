"""Downloads of published data sets into the cache: resumed, retried, and verified."""

import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from onkel._version import __version__
from onkel.data.bad_file import BadFileError
from onkel.data.catalogue import (
    CatalogueEntry,
    DataNotFoundError,
    ListedFile,
    cache_path,
    entry,
)
from onkel.data.datasets import sha256_of
from onkel.data.opening import inspect

# Connections in a row that bring nothing before a download is given up.
PATIENCE = 5
# Seconds to wait before the second of these; doubled before each further one.
PAUSE = 1.0
TIMEOUT = 60.0
CHUNK = 1 << 16

# Called with the bytes at hand and those of the whole, None if not known.
Announce = Callable[[int, int | None], None]


def fetch(name: str, part: str = "train", announce: Announce | None = None) -> Path:
    """Download a part of a data set into the cache, unless it is there.

    A download that broke off, in this process or an earlier one, is resumed where the
    server can. The file appears in the cache once its size and checksum, where the
    catalogue knows them, and its rows, features and labels were found right. A
    DataNotFoundError if it is not published in this form, or cannot be reached.
    """
    known = entry(name)
    file = known.part(part).published
    if file is None or file.address is None:
        raise DataNotFoundError(
            f"{name} ({part}) is not published in this form: {known.source}. "
            f"{known.note}"
        )
    path = cache_path(name, file)
    if path.is_file():
        return path
    # The name is kept, as readers go by its suffixes.
    partial = path.parent / "part" / path.name
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        _download(file.address, partial, file.bytes, announce)
    except (OSError, http.client.HTTPException) as error:
        raise DataNotFoundError(
            f"{name} ({part}) cannot be had from {file.address} ({error}): try again "
            f"later, or put the file at {path}"
        ) from error
    try:
        verify(partial, known, part, file)
    except BadFileError:
        # Nothing of it is worth going on with.
        partial.unlink()
        raise
    partial.replace(path)
    return path


def verify(path: Path, known: CatalogueEntry, part: str, file: ListedFile) -> None:
    """Refuse a file that is not what the catalogue says, with a BadFileError."""
    size = path.stat().st_size
    if file.bytes is not None and size != file.bytes:
        raise BadFileError(path, f"{size} bytes where {file.bytes} were expected")
    if file.sha256 is not None:
        digest = sha256_of(path)
        if digest != file.sha256:
            raise BadFileError(path, f"SHA-256 {digest} where {file.sha256} is right")
    found, rows = inspect(path, file, known.kind), known.parts[part].rows
    if found.n_rows != rows:
        raise BadFileError(path, f"{found.n_rows} rows where {rows} were expected")
    columns = found.preparation.columns
    # In LIBSVM's format a part may lack the last features.
    wide = len(columns) if columns is not None else found.preparation.width
    if wide > known.features or (columns is not None and wide < known.features):
        raise BadFileError(
            path, f"{wide} features where {known.features} were expected"
        )
    target = found.preparation.target
    if file.counts is not None and target is not None and target.labels is not None:
        assert found.counts is not None
        texts = map(str, target.labels.tolist())
        counts = dict(zip(texts, found.counts.tolist(), strict=True))
        if counts != dict(file.counts):
            what = f"label counts {counts} where {dict(file.counts)} were expected"
            raise BadFileError(path, what)


def _download(
    address: str, partial: Path, expected: int | None, announce: Announce | None
) -> None:
    """Add to a partial file until it is whole."""
    failures = 0
    while True:
        before = partial.stat().st_size if partial.exists() else 0
        if expected is not None and before == expected:
            return
        try:
            _continue(address, partial, before, announce)
            return
        except urllib.error.HTTPError as error:
            error.close()
            # Others will be no different the next time.
            if error.code < 500:
                raise
            failure: Exception = error
        except (OSError, http.client.HTTPException) as error:
            failure = error
        after = partial.stat().st_size if partial.exists() else 0
        failures = 0 if after > before else failures + 1
        if failures == PATIENCE:
            raise ConnectionError(f"{failure} ({after} bytes are kept)") from failure
        time.sleep(PAUSE * 2**failures)


def _continue(
    address: str, partial: Path, have: int, announce: Announce | None
) -> None:
    """Make one connection, and take what it brings; an OSError if it ends too early."""
    headers = {"User-Agent": f"onkel/{__version__}"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(address, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        # Nothing lies beyond what is here: it is whole, or of another file.
        if error.code != 416 or not have:
            raise
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{have}":
            return
        partial.unlink()
        raise ConnectionError(
            "the partial file was longer than the published one"
        ) from error
    with response:
        resumed = _start(response) == have and have > 0
        length = response.headers.get("Content-Length")
        done = have if resumed else 0
        whole = None if length is None else done + int(length)
        with partial.open("ab" if resumed else "wb") as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                done += len(chunk)
                if announce is not None:
                    announce(done, whole)
    if whole is not None and done < whole:
        raise ConnectionError(f"the connection broke after {done} of {whole} bytes")


def _start(response: http.client.HTTPResponse) -> int:
    """Byte of the file with which a response begins."""
    said = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(said[1]) if response.status == 206 and said else 0

"""Downloads from a server of this machine that breaks off, forgets, and changes."""

import bz2
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from onkel.data import BadFileError, DataNotFoundError, dataset
from onkel.data import catalogue as catalogue_module
from onkel.data import fetch as fetch_module
from onkel.data.catalogue import (
    CACHE_VARIABLE,
    VARIABLE,
    CatalogueEntry,
    CataloguePart,
    ListedFile,
    cache,
    entries,
)
from onkel.data.fetch import fetch

TEXT = "".join(f"{1 - 2 * (i % 3 == 0)} 1:{i}.25 2:{i * i}\n" for i in range(3000))
CONTENT = bz2.compress(TEXT.encode())
RIGHT: dict[str, Any] = {
    "bytes": len(CONTENT),
    "sha256": hashlib.sha256(CONTENT).hexdigest(),
    "counts": {"-1": 1000, "1": 2000},
}


@dataclass
class Server:
    """What the server does, and what it was asked for."""

    content: bytes = CONTENT
    ranges: bool = True
    # Bytes after which each of the next connections is cut.
    cuts: list[int] = field(default_factory=list)
    # Status of each of the next answers instead of the content.
    errors: list[int] = field(default_factory=list)
    says_length: bool = True
    asked: list[str | None] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            asked = self.headers["Range"]
            server.asked.append(asked)
            if server.errors:
                self.send_error(server.errors.pop(0))
                return
            first, whole = 0, len(server.content)
            if asked is not None and server.ranges:
                first = int(asked.removeprefix("bytes=").removesuffix("-"))
                if first >= whole:
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{whole}")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{whole - 1}/{whole}")
            else:
                self.send_response(200)
            if server.says_length:
                self.send_header("Content-Length", str(whole - first))
            self.end_headers()
            end = first + server.cuts.pop(0) if server.cuts else whole
            self.wfile.write(server.content[first:end])

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=[0.01], daemon=True).start()
        server.address = f"http://127.0.0.1:{running.server_port}/points.bz2"
        yield server
        running.shutdown()


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(fetch_module, "PAUSE", 0.0)


@pytest.fixture
def published(server: Server, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Publishes the points at the server, with what is known of them."""

    def publish(rows: int = 3000, features: int = 2, **known: Any) -> None:
        file = ListedFile("points.bz2", server.address, **(RIGHT | known))
        parts = {"train": CataloguePart(rows, None, file)}
        entry = CatalogueEntry("points", "binary", features, parts)
        monkeypatch.setattr(catalogue_module, "_packaged", lambda: {"points": entry})

    publish()
    return publish


def test_a_download_is_announced_kept_and_found(server: Server, published: Any) -> None:
    seen: list[tuple[int, int | None]] = []
    path = fetch("points", announce=lambda done, whole: seen.append((done, whole)))
    assert path == cache() / "points" / "points.bz2"
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert dataset("points").counts.tolist() == [1000, 2000]
    # once is enough
    assert fetch("points") == path and server.asked == [None]


def test_a_broken_connection_is_resumed(server: Server, published: Any) -> None:
    server.cuts = [1000, 2500]
    path = fetch("points")
    assert path.read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000-", "bytes=3500-"]


def test_a_server_without_ranges_starts_anew(server: Server, published: Any) -> None:
    server.ranges, server.cuts = False, [1000]
    assert fetch("points").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000-"]


def test_an_earlier_process_is_continued(server: Server, published: Any) -> None:
    partial = cache() / "points" / "part" / "points.bz2"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT[:2000])
    assert fetch("points").read_bytes() == CONTENT
    assert server.asked == ["bytes=2000-"] and not partial.exists()


@pytest.mark.parametrize("known", [len(CONTENT), None])
def test_what_is_whole_or_too_long_is_known(
    server: Server, published: Any, known: int | None
) -> None:
    published(bytes=known)
    partial = cache() / "points" / "part" / "points.bz2"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(CONTENT)
    path = fetch("points")
    assert len(server.asked) == (0 if known else 1)
    path.unlink()
    partial.write_bytes(CONTENT + b"more")
    assert fetch("points").read_bytes() == CONTENT


def test_busy_servers_are_asked_again_and_then_given_up(
    server: Server, published: Any
) -> None:
    server.errors = [503, 500]
    fetch("points").unlink()
    server.errors = [503] * 100
    with pytest.raises(DataNotFoundError, match=r"503.*put the file at .*points\.bz2"):
        fetch("points")
    server.errors = [404]
    with pytest.raises(DataNotFoundError, match=r"cannot be had from http.*404"):
        fetch("points")
    assert server.errors == []


def test_offline_it_says_what_to_do(published: Any, server: Server) -> None:
    server.address = "http://127.0.0.1:9/points.bz2"
    published()
    with pytest.raises(DataNotFoundError, match=r"try again later, or put the file at"):
        fetch("points")
    with pytest.raises(
        DataNotFoundError,
        match=r"no mirror .*onkel data fetch points` gets it from http",
    ):
        dataset("points")


@pytest.mark.parametrize(
    "known, said",
    [
        ({"bytes": 17}, "bytes where 17 were expected"),
        ({"sha256": "0" * 64}, "SHA-256 .* where 000.* is right"),
        ({"rows": 2999}, "3000 rows where 2999 were expected"),
        ({"features": 1}, "2 features where 1 were expected"),
        ({"counts": {"-1": 1, "1": 2999}}, "label counts .*'-1': 1000.* were expected"),
    ],
)
def test_what_is_not_as_described_is_refused(
    server: Server, published: Any, known: dict[str, Any], said: str
) -> None:
    published(**known)
    with pytest.raises(BadFileError, match=said):
        fetch("points")
    left = [path for path in cache().rglob("*") if path.is_file()]
    assert left == []


def test_a_cut_without_a_length_is_found_by_reading(
    server: Server, published: Any
) -> None:
    published(bytes=None, sha256=None)
    server.says_length, server.cuts = False, [4000]
    with pytest.raises(BadFileError, match="cut short"):
        fetch("points")
    assert fetch("points").read_bytes() == CONTENT


def test_what_is_not_published_is_told() -> None:
    with pytest.raises(
        DataNotFoundError, match=r"not published in this form: nycflights13"
    ):
        fetch("nycflights")
    with pytest.raises(ValueError, match="ijcnn1 has no part 'rest', only train, test"):
        fetch("ijcnn1", "rest")


def test_every_entry_is_complete() -> None:
    for entry in entries().values():
        assert entry.features > 0 and entry.source and entry.protocol, entry.name
        assert entry.task in ("binary", "multiclass", "regression")
        for part in entry.parts.values():
            assert part.rows > 0
            for file in filter(None, (part.mirrored, part.published)):
                if file.counts is not None:
                    assert sum(file.counts.values()) == part.rows, entry.name
            if part.published is not None:
                assert str(part.published.address).endswith(part.published.name)

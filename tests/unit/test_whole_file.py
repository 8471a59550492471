"""Whole files: their rights, and what is left of writers that were killed."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from onkel.storage import whole_file
from onkel.storage.whole_file import whole

posix = pytest.mark.skipif(os.name != "posix", reason="rights and locks of POSIX")
KILLED = """
import os, signal, sys
from pathlib import Path
from onkel.storage.whole_file import whole
with whole(Path(sys.argv[1])) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def write(path: Path, content: bytes = b"new") -> None:
    with whole(path) as file:
        file.write(content)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@posix
@pytest.mark.parametrize("rights", [0o600, 0o640, 0o666, 0o400])
def test_a_file_that_is_replaced_hands_on_its_rights(
    tmp_path: Path, rights: int
) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(rights)
    write(path)
    assert path.read_bytes() == b"new" and mode(path) == rights


@posix
def test_a_new_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write(tmp_path / "model")
    assert mode(tmp_path / "model") == mode(tmp_path / "other")


@posix
def test_the_umask_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def umask(mask: int) -> int:
        raise AssertionError("for a moment, other threads would create open files")

    monkeypatch.setattr(os, "umask", umask)
    write(tmp_path / "model")


@posix
def test_what_a_killed_writer_left_is_cleaned_up_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "model"
    died = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert died.returncode < 0 and not path.exists()
    assert len(list(tmp_path.iterdir())) == 1
    write(path)
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_what_somebody_is_writing_stays(tmp_path: Path) -> None:
    with whole(tmp_path / "slow") as slow:
        slow.write(b"slow")
        for number in range(3):
            write(tmp_path / f"quick{number}")
    assert (tmp_path / "slow").read_bytes() == b"slow"
    assert len(list(tmp_path.iterdir())) == 4


def test_many_writers_do_not_clean_up_after_each_other(tmp_path: Path) -> None:
    failures = []

    def work(name: int) -> None:
        try:
            for _ in range(50):
                write(tmp_path / str(name % 2), str(name).encode())
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0", "1"]


def test_without_locks_only_old_files_are_cleaned_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_file, "fcntl", None)
    old, young = tmp_path / ".onkel-old", tmp_path / ".onkel-young"
    old.touch(), young.touch()
    long_ago = time.time() - 2 * whole_file.ABANDONED
    os.utime(old, (long_ago, long_ago))
    write(tmp_path / "model")
    assert not old.exists() and young.exists()

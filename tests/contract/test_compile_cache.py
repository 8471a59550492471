"""Whatever is wrong with the compile cache, the library works, and says so once."""

import hashlib
import importlib.util
import os
import pickle
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

import onkel
from onkel.compiled import compile_cache

fcntl = pytest.importorskip("fcntl")

SMALL = """
from onkel.compiled.functions import jit, shared

@jit
def double(x):
    return 2 * x

@jit
def half(x):
    return x // 2

@jit
def third(x):
    return x[3]

@shared
def root(x):
    if x < 0:
        raise ValueError("negative")
    return x**0.5

@jit
def length(x, y):
    return root(x * x + y * y)

@jit
def sum_of_roots(x, y):
    return root(x) + root(y)
"""

Fresh = Callable[[], ModuleType]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compile_cache, "_told", set())
    return tmp_path / "cache"


@pytest.fixture
def fresh(tmp_path: Path, cache: Path) -> Fresh:
    """Import small functions that are not compiled yet, as a new process would."""
    path = tmp_path / "small.py"
    path.write_text(SMALL)

    def make() -> ModuleType:
        spec = importlib.util.spec_from_file_location("small", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def misses(function: Any) -> int:
    return sum(function.code.stats.cache_misses.values())


def test_damage_is_recognised_said_once_and_replaced(cache: Path, fresh: Fresh) -> None:
    assert fresh().double(3) == 6
    (entry,) = entries(cache)
    whole = entry.read_bytes()
    rng = random.Random(0)
    with pytest.warns(RuntimeWarning) as recorded:
        for trial in range(30):
            if trial % 2:
                entry.write_bytes(whole[: rng.randrange(len(whole))])
            else:
                damaged = bytearray(whole)
                damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
                entry.write_bytes(damaged)
            double = fresh().double
            assert (double(3), misses(double)) == (6, 1)
            again = fresh().double
            assert (again(3), misses(again)) == (6, 0)
    (warning,) = recorded
    assert f"{entry}: damaged" in str(warning.message)


def test_an_entry_under_the_name_of_another_function(cache: Path, fresh: Fresh) -> None:
    small = fresh()
    assert (small.double(3), small.half(3)) == (6, 1)
    double, half = entries(cache)
    half.replace(double)
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert fresh().double(3) == 6


class Missing:
    """Pickled, it names a module that no longer is."""

    def __reduce__(self) -> Any:
        return (importlib.import_module, ("onkel.moved_away",))


@pytest.mark.parametrize(
    "content",
    [5, ((numba.int64,), None), ((numba.int64,), (b"",) * 9), Missing()],
    ids=["number", "nothing", "empty", "missing"],
)
def test_entries_of_the_wrong_kind_are_replaced(
    cache: Path, fresh: Fresh, content: object
) -> None:
    fresh().double(3)
    (entry,) = entries(cache)
    code = pickle.dumps(content)
    digest = hashlib.sha256(entry.name.encode() + code).digest()
    entry.write_bytes(digest + code)
    with pytest.warns(RuntimeWarning, match="compiled again"):
        assert fresh().double(3) == 6
    again = fresh().double
    assert (again(3), misses(again)) == (6, 0)


def test_shared_code_is_compiled_once_for_all_who_call_it(
    cache: Path, fresh: Fresh
) -> None:
    small = fresh()
    assert small.length(3.0, 4.0) == 5.0
    assert small.sum_of_roots(4.0, 9.0) == 5.0
    assert small.root(4.0) == 2.0
    assert misses(small.root) == 1
    stems = [entry.name.split("-")[0] for entry in entries(cache)]
    assert stems == ["small.length", "small.root", "small.sum_of_roots"]
    again = fresh()
    assert again.sum_of_roots(4.0, 9.0) == 5.0
    assert misses(again.sum_of_roots) == misses(again.root) == 0


def test_shared_code_that_is_gone_is_compiled_for_those_who_call_it(
    cache: Path, fresh: Fresh
) -> None:
    fresh().length(3.0, 4.0)
    for damage in (Path.unlink, lambda path: path.write_bytes(b"damage")):
        (entry,) = [path for path in entries(cache) if "small.root" in path.name]
        damage(entry)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = fresh()
            assert again.length(6.0, 8.0) == 10.0
        assert (misses(again.length), misses(again.root)) == (0, 1)


def test_shared_code_raises_through_who_calls_it(cache: Path, fresh: Fresh) -> None:
    small = fresh()
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            small.sum_of_roots(4.0, -9.0)
        small = fresh()


def test_a_folder_in_the_place_of_an_entry_is_done_without(
    cache: Path, fresh: Fresh
) -> None:
    fresh().double(3)
    (entry,) = entries(cache)
    entry.unlink()
    entry.mkdir()
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        assert fresh().double(3) == 6
    assert list(cache.rglob("*")) == [entry.parent, entry]


def test_a_disk_that_is_full_in_the_middle_of_an_entry(
    cache: Path, fresh: Fresh
) -> None:
    small = fresh()
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        with pytest.warns(RuntimeWarning) as recorded:
            assert small.double(3) == 6
            assert small.double(1.5) == 3.0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(recorded) == 1
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_what_other_sources_left_is_not_opened_and_goes(
    cache: Path, fresh: Fresh
) -> None:
    fresh().double(3)
    (entry,) = entries(cache)
    stem = entry.name.split(".")[1]
    tag = f"py{sys.version_info[0]}{sys.version_info[1]}"
    old = entry.with_name(f"small.{stem}.{tag}.nbi")  # as numba would call it
    killed = entry.with_name(f"{entry.name}.0.tmp")
    later = entry.with_name(f"small.{stem}.{'0' * 16}.{'0' * 32}.nbc")
    other = entry.with_name("small.cpython.pyc")
    for path in (old, killed, later, other):
        path.write_bytes(b"nonsense")
    for path in (old, killed, other):
        os.utime(path, (0, 0))
    assert fresh().double(1.5) == 3.0
    left = {path for path in entry.parent.iterdir() if path not in entries(cache)}
    assert left == {other}
    assert {entry, later} < set(entries(cache))


def test_every_file_with_compiled_code_is_part_of_the_stamp() -> None:
    package = Path(onkel.__file__).parent
    covered = {path for kind in compile_cache.COMPILED for path in package.glob(kind)}
    rooms = [room for room in package.iterdir() if room.is_dir()]
    with_code = {
        path
        for room in rooms
        for path in room.rglob("*.py")
        if "onkel.compiled.functions import" in path.read_text()
    }
    assert with_code <= covered


def test_settings_that_change_the_code_have_entries_of_their_own(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.arange(8)[:2]
    assert fresh().third(x) == 3
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    with pytest.raises(IndexError):
        fresh().third(x)


def lock_of(function: Any, *types: Any) -> Path:
    cache, codegen = function.code._cache, function.code.targetctx.codegen()
    return Path(cache.cache_path) / f"{cache._name(types, codegen)}.lock"


def test_nobody_waits_for_ever(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_cache, "PATIENCE", 0.2)
    double = fresh().double
    path = lock_of(double, numba.int64)
    path.parent.mkdir(parents=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Another signature has another lock.
        assert double(1.5) == 3.0
        with pytest.warns(RuntimeWarning, match="another process"):
            assert double(3) == 6


def test_a_process_that_died_is_not_waited_for(fresh: Fresh) -> None:
    double = fresh().double
    path = lock_of(double, numba.int64)
    path.parent.mkdir(parents=True)
    code = (
        "import fcntl, sys, time; lock = open(sys.argv[1], 'w');"
        "fcntl.flock(lock, fcntl.LOCK_EX); print(flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        timer = threading.Timer(0.5, other.kill)
        timer.start()
        start = time.perf_counter()
        assert double(3) == 6
        assert 0.4 < time.perf_counter() - start < 60
        timer.join()


def test_code_that_cannot_be_compiled_leaves_no_lock(cache: Path, fresh: Fresh) -> None:
    with pytest.raises(numba.TypingError):
        fresh().double(None)
    assert [path for path in cache.rglob("*") if path.is_file()] == []


TOGETHER = """
import sys
sys.path.insert(0, sys.argv[1])
import small
print(flush=True)
sys.stdin.readline()
small.double(eval(sys.argv[2]))
print(sum(small.double.code.stats.cache_misses.values()))
"""


def test_processes_that_want_the_same_code_compile_it_once(
    tmp_path: Path, cache: Path, fresh: Fresh
) -> None:
    command = [sys.executable, "-c", TOGETHER, str(tmp_path)]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    workers = [
        subprocess.Popen(
            [*command, argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for argument in ("1", "2", "0.5")
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    compiled = [int(worker.communicate()[0]) for worker in workers]
    assert sorted(compiled[:2]) == [0, 1]
    assert compiled[2] == 1


INSTALLED = """
import sys, warnings
with warnings.catch_warnings(record=True) as recorded:
    warnings.simplefilter("always")
    import onkel
    assert not recorded, recorded[0].message
    from onkel.small import double
    assert double(3) == 6 and double(4) == 8
    wanted = len(recorded)
    assert double(1.5) == 3.0
    assert len(recorded) == 1, recorded
    assert "NUMBA_CACHE_DIR" in str(recorded[0].message)
assert wanted == int(sys.argv[1])  # warnings, and functions compiled, for integers
assert sum(double.code.stats.cache_misses.values()) == 1 + wanted
"""


def test_a_package_that_cannot_be_written(tmp_path: Path) -> None:
    """As in a container: first without a cache, then with one that its owner made."""
    package = Path(onkel.__file__).parent
    # Bytecode may come along; there would be nowhere to put it.
    ignored = shutil.ignore_patterns("*.nb*", "*.lock")
    shutil.copytree(package, tmp_path / "onkel", ignore=ignored)
    (tmp_path / "onkel" / "small.py").write_text(SMALL)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)}
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        environment.pop(name, None)
    # Root may write everywhere, unless it gives up being root.
    powerless = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    if powerless and not shutil.which("setpriv"):
        pytest.skip("root needs setpriv")

    def run(*command: str) -> None:
        subprocess.run(command, env=environment, check=True, cwd="/")

    def state() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    def run_powerless(expected: int) -> None:
        folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        before = state()
        run(*powerless, sys.executable, "-c", INSTALLED, str(expected))
        assert state() == before
        for folder in folders:
            folder.chmod(0o755)

    run_powerless(1)
    run(sys.executable, "-c", "from onkel.small import double; double(3)")
    assert entries(tmp_path)
    run_powerless(0)


OUTSIDE = '''
from typing import NamedTuple

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import absorb
from onkel.estimators._classifier import OnlineClassifier
from onkel.estimators._groups import AnyKernel, Budgeted, Mistakes, Passes
from onkel.estimators._parameters import system
from onkel.estimators._recipe import RecipeEstimator
from onkel.model.expansion import insert, replace


@strategy()
class Mine(NamedTuple):
    limit: int


@absorb.register(Mine)
def _absorb(budget, model, block, t, update, draws):
    if model.counters[0].count < budget.limit:
        insert(model, block, t, update)
    else:
        replace(model, block, t, SLOT, update)


@system()
class MineClassifier(
    Mistakes, Budgeted, AnyKernel, Passes, RecipeEstimator, OnlineClassifier
):
    """A system of another package."""

    def _budget(self, n_rows):
        return Mine(self.budget)
'''
USED = """
import numpy as np, onkel, mine
X = np.random.default_rng(0).normal(size=(200, 2))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
model = mine.MineClassifier(budget=5, gamma=0.5).partial_fit(X, y)
onkel.save(model, "mine.onkel")
same = onkel.load("mine.onkel")
assert (same.decision_function(X) == model.decision_function(X)).all()
print(model.support_vectors_.tolist())
"""


def test_code_of_other_packages_is_compiled_anew_when_it_changes(
    tmp_path: Path, cache: Path
) -> None:
    seen = []
    for slot in ("0", "1", "0"):
        (tmp_path / "mine.py").write_text(OUTSIDE.replace("SLOT", slot))
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        # Two versions within a second would share their bytecode.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["NUMBA_OPT"] = "0"  # any code is kept alike; this is sooner there
        run = subprocess.run(
            [sys.executable, "-c", USED],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        seen.append(run.stdout)
    assert seen[0] == seen[2] != seen[1]

"""The compile cache: what one process has compiled, others load from disk.

An entry is one file for one function, signature and machine; there is no index. Its
name says of which sources it is, so that what an upgrade leaves behind is never opened;
it appears as a whole or not at all; and it opens with a digest, because it is unpickled
and run. So reading needs no lock, and whatever is wrong with an entry, or with the
folder, costs time but nothing else: the code is compiled again, and kept in memory if
nowhere else.

numba's stamp covers the file in which a function stands. A function that calls into
other files would survive an edit, or an upgrade, of what it calls. Ours covers all
files that have compiled code: a change in any of them makes all of it stale, and
nothing else does.

Entries may come with the package (`shipped`): they are the same files, made for a level
of processors (`levels`) when the package was built.

Processes that want the same code wait for the one that came first. It holds a lock of
the operating system, which ends with it. Waiting cannot go round in circles: numba's
own lock, for threads, always comes before ours, and compiled functions do not call each
other in a circle. It ends after `PATIENCE` in any case.
"""

import contextlib
import hashlib
import inspect
import os
import pickle
import sys
import threading
import time
import uuid
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numba.types
from numba.core import caching, config
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from onkel.compiled.symbols import FUNCTIONS, OUTSIDE, SYMBOLS

try:
    import fcntl
except ImportError:  # Windows: every process compiles for itself
    fcntl = None  # type: ignore[assignment]

# Where compiled code is; the interface above it has none, nor has __init__.py.
COMPILED = [
    *("compiled/*.py", "problem/*.py", "model/*.py", "features/*.py", "budget/*.py"),
    *("engine/*.py", "refit/linear_dual.py"),
]

# Seconds to wait for another process, which may hang, and between two looks at it. A
# large function takes 30 seconds of an idle processor, minutes of a busy one.
PATIENCE = 300.0
TICK = 0.02

# Seconds of compiling after which somebody at a terminal is told.
SILENCE = 2.0

# Names another folder of shipped code; empty for none.
SHIPPED = "ONKEL_SHIPPED_CODE"

# Settings of numba that change the code, and that it does not put into its own key.
SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USING_SVML",
)


def _stamp() -> str:
    folder = Path(__file__).parents[1]
    sources = [path for kind in COMPILED for path in sorted(folder.glob(kind))]
    content = b"".join(path.read_bytes() for path in sources)
    return hashlib.sha256(content).hexdigest()[:16] if sources else ""


# Taken at once: later the files may no longer be those that were imported.
STAMP = _stamp()
STARTED = time.time()

_told: set[str] = set()


def _tell(trouble: str, why: object, consequence: str) -> None:
    """Warn, but of the same trouble once only."""
    if trouble not in _told:
        _told.add(trouble)
        text = f"onkel's compile cache: {trouble} ({why}). {consequence}"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


class CompileCache(caching.FunctionCache):
    """The entries of one function, in the form in which a dispatcher asks for them."""

    def __init__(self, function: Any) -> None:
        # Not the parent's, which fails if no folder can be written.
        self._py_func = function
        self._source = inspect.getfile(function)
        name = f"{Path(self._source).stem}.{function.__qualname__}"
        line = function.__code__.co_firstlineno
        # What stands in <> is no name of a file on Windows.
        self._stem = f"{name}-{line}".replace("<", "").replace(">", "")
        self.enable()

    @property
    def cache_path(self) -> str:
        """The folders that are tried, in this order."""
        return os.pathsep.join(map(str, self._folders()))

    def _folders(self) -> list[Path]:
        """Where entries may be: all are read, the first that can be is written."""
        if not STAMP:  # a package without sources, of which nobody knows the age
            return []
        function = self._py_func, self._source
        if config.CACHE_DIR:
            return [Path(caching.UserProvidedCacheLocator(*function).get_cache_path())]
        beside = caching.InTreeCacheLocator(*function).get_cache_path()
        users = caching.UserWideCacheLocator(*function).get_cache_path()
        # Who has no home would get a folder called ~, wherever they are.
        return [Path(path) for path in (beside, users) if not path.startswith("~")]

    def _name(self, sig: Any, codegen: Any) -> str:
        settings = [str(getattr(config, name, None)) for name in SETTINGS]
        versions = sys.implementation.cache_tag, numba.__version__
        own = *versions, *settings, *self._index_key(sig, codegen)
        key = repr((*own, *_outside(getattr(sig, "args", sig))))
        digest = hashlib.sha256(key.encode()).hexdigest()[:32]
        return f"{self._stem}.{STAMP}.{digest}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for a signature; None if there is none."""
        if not self._enabled:
            return None
        target_context.refresh()
        name = self._name(sig, target_context.codegen())
        for path in [folder / name for folder in (*shipped(), *self._folders())]:
            if not os.path.isfile(path):
                continue
            try:
                kept, needs, code = pickle.loads(_read(path))
                if kept == sig:  # the name is made of names of types
                    for function, types in needs:
                        FUNCTIONS[function].symbol(types)
                    return CompileResult._rebuild(target_context, *code)
            except FileNotFoundError:
                continue
            except Exception as error:  # a pickle may raise anything
                why = f"{path}: {error}"
                _tell("an entry cannot be read", why, "It is compiled again.")
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if there is a place for it."""
        # Dynamic globals are addresses in this process.
        if not self._enabled or data.library.has_dynamic_globals:
            return
        name = self._name(sig, data.codegen)
        content = zlib.compress(dumps((sig, _needs(data.library), data._reduce())))
        troubles = []
        for folder in self._folders():
            try:
                _write(folder / name, content)
            except OSError as error:
                troubles.append(f"{folder}: {error.strerror}")
            else:
                _sweep(folder)
                return
        _tell(
            "compiled code cannot be kept",
            "; ".join(troubles) or "its sources are not there",
            "Every process compiles anew, for ten seconds or more. Let the environment "
            "variable NUMBA_CACHE_DIR name a folder that can be written.",
        )

    def flush(self) -> None:
        """Remove the function's entries."""
        for folder in self._folders():
            for path in folder.glob(f"{self._stem}.*.nbc"):
                _remove(path)

    @contextlib.contextmanager
    def turn(self, sig: Any, codegen: Any) -> Iterator[None]:
        """Let one process compile, and others wait until it has."""
        name = self._name(sig, codegen)
        with contextlib.ExitStack() as held:
            if fcntl is not None and self._enabled and not self._has(name):
                self._queue(name, held)
            yield

    def _has(self, name: str) -> bool:
        folders = *shipped(), *self._folders()
        return any(os.path.isfile(folder / name) for folder in folders)

    def _queue(self, name: str, held: contextlib.ExitStack) -> None:
        """Take the lock of an entry, or wait until the one who has it is done."""
        for folder in self._folders():
            path = folder / f"{name}.lock"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                lock = held.enter_context(open(path, "w"))
            except OSError:
                continue
            if _locks(lock):
                # Closing is not enough: a process forked meanwhile has the file too.
                held.callback(fcntl.flock, lock, fcntl.LOCK_UN)
                held.callback(_remove, path)
                return
            deadline = time.monotonic() + PATIENCE
            while not self._has(name) and not _locks(lock):
                if time.monotonic() > deadline:
                    why = f"{path} is locked for more than {PATIENCE:g} seconds"
                    _tell("another process does not finish", why, "This one compiles.")
                    break
                time.sleep(TICK)
            # If it has kept nothing, nor shall we: nobody need wait for us as well.
            held.close()
            return


def _outside(kinds: Any) -> list[tuple[str, str]]:
    """Return what code of other packages depends on, if types are of such a package."""
    for kind in kinds:
        if isinstance(kind, numba.types.BaseNamedTuple):
            if kind.instance_class.__module__.split(".")[0] != "onkel":
                return sorted(OUTSIDE.items())
            if below := _outside(kind.types):
                return below
    return []


def _needs(library: Any) -> list[tuple[str, Any]]:
    """Return what code calls by name: the functions, and their types."""
    names = [function.name for function in library._final_module.functions]
    called = [SYMBOLS[name] for name in names if name in SYMBOLS]
    return [(function.name, types) for function, types in called]


def shipped() -> list[Path]:
    """Where entries are that came with the package, if any did."""
    folder = os.environ.get(SHIPPED)
    if folder is None:
        return [Path(__file__).parents[1] / "shipped_code"] if STAMP else []
    return [Path(folder)] if folder else []


def kept() -> list[Path]:
    """Where entries are that were compiled here."""
    caches = [CompileCache(function.function) for function in FUNCTIONS.values()]
    folders = [folder for cache in caches for folder in cache._folders()]
    return [folder for folder in dict.fromkeys(folders) if entries(folder)]


def entries(folder: Path) -> list[Path]:
    """Entries in a folder, of whatever version."""
    return sorted(folder.glob("*.nbc"))


def is_stale(entry: Path) -> bool:
    """Whether an entry was made of other sources."""
    return f".{STAMP}." not in entry.name


def is_empty() -> bool:
    """Whether nothing of these sources is there, shipped or compiled here."""
    folders = [*shipped(), *kept()]
    found = (entry for folder in folders for entry in entries(folder))
    return all(is_stale(entry) for entry in found)


def attach(dispatcher: Any) -> None:
    """Give a cache to a function that numba compiles."""
    cache = CompileCache(dispatcher.py_func)
    compile_ = dispatcher.compile

    def in_turn(sig: Any) -> Any:
        codegen = dispatcher.targetctx.codegen()
        with global_compiler_lock, _patience(), cache.turn(sig, codegen):
            return compile_(sig)

    dispatcher._cache = cache
    dispatcher.compile = in_turn


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    """Tell somebody who waits at a terminal what for, once."""
    if "waiting" in _told or not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(SILENCE, _tell_who_waits)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell_who_waits() -> None:
    _told.add("waiting")
    print(
        "onkel is compiling for your processor. That takes some seconds, once; the "
        "code is kept. `onkel cache fill` compiles everything ahead.",
        file=sys.stderr,
    )


def _digest(path: Path, code: bytes) -> bytes:
    """Of the name too, lest the code of another function takes its place."""
    return hashlib.sha256(path.name.encode() + code).digest()


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    digest, code = content[:32], content[32:]
    if digest != _digest(path, code):
        raise ValueError("damaged")
    return zlib.decompress(code)


def _write(path: Path, code: bytes) -> None:
    """Make a file that others see as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        # Not by tempfile, whose files only their owner can read.
        with open(draft, "xb") as file:
            file.write(_digest(path, code))
            file.write(code)
        os.replace(draft, path)
    except BaseException:
        _remove(draft)
        raise


def _sweep(folder: Path) -> None:
    """Remove what other sources and killed processes have left.

    What came after this process started may be of a newer one: it stays.
    """
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            ours = ".nbc" in file.name or ".nbi" in file.name
            stale = f".{STAMP}." not in file.name or file.name.endswith(".tmp")
            if ours and stale and file.stat().st_mtime < STARTED:
                _remove(file.path)


def _remove(path: Path | str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _locks(file: Any) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks on this disk: go on
    return True

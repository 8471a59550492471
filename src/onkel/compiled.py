"""How onkel compiles, and one rule for the cache.

numba caches a compiled function under a stamp of the file it stands in. A function
that calls into other files would therefore survive an edit, or an upgrade, of what it
calls. Our stamp covers the whole package: a change anywhere makes all of it stale, and
nothing else does.
"""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching
from numba.extending import overload, register_jitable

F = TypeVar("F", bound=Callable)

# Full fastmath would let the compiler assume finite numbers and delete our checks.
REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp"})


@functools.cache
def _package_stamp() -> bytes:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


class _PackageStamp:
    def get_source_stamp(self) -> bytes:
        return _package_stamp()


class _UserProvided(_PackageStamp, caching.UserProvidedCacheLocator): ...


class _InTree(_PackageStamp, caching.InTreeCacheLocator): ...


class _UserWide(_PackageStamp, caching.UserWideCacheLocator): ...


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_UserProvided, _InTree, _UserWide]


class _Cache(caching.FunctionCache):
    _impl_class = _CacheImpl


OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": set(REASSOCIATE)}
# Most of the time to compile a function goes into unpacking Python objects.
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def jit(function: F) -> F:
    """Compile a function that Python calls, and cache it on disk.

    It takes plain arrays, numbers and NamedTuples of them, and runs without the
    interpreter's lock.
    """
    compiled = numba.njit(**OPTIONS)(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT hands the function back
        compiled._cache = _Cache(function)
    return compiled


def inner(function: F | None = None, *, exact: bool = False) -> F:
    """Let compiled code call a function; called from Python it is plain Python.

    Parameters
    ----------
    function
        As in `jit`.
    exact
        Keep the order of floating-point operations as written.
    """
    if function is None:
        return functools.partial(inner, exact=exact)  # type: ignore[return-value]
    options = {**INNER, "fastmath": {"contract"}} if exact else INNER
    return register_jitable(**options)(function)


def choice(position: int) -> tuple[Callable, Callable[[type], Callable[[F], F]]]:
    """Make a function whose code is chosen by the type of one of its arguments.

    That argument is a NamedTuple. The choice is made when the caller is compiled, so
    only what is used is compiled, and the result can be cached; functions passed as
    arguments cannot.

    Returns
    -------
    function, case
        The function, and a decorator that registers the code for a type: a plain
        function, compiled where it is used.
    """
    table: dict[type, Callable] = {}

    def function(*arguments: Any) -> Any:
        return table[type(arguments[position])](*arguments)

    def case(kind: type) -> Callable[[F], F]:
        def register(code: F) -> F:
            table[kind] = code
            return code

        return register

    # Not strict: the codes name their arguments, this function does not.
    @overload(function, jit_options=INNER, strict=False)
    def _choose(*arguments: Any) -> Any:
        return table[arguments[position].instance_class]

    return function, case

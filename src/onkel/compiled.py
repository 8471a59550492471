"""How onkel compiles.

numba takes a quarter of a second to import, and nobody needs it before a model learns
or predicts. So what is to be compiled is only noted here, and numba is told when the
first compiled function is called.
"""

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable)

# Full fastmath would let the compiler assume finite numbers and delete our checks.
REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp"})

OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": set(REASSOCIATE)}
# Most of the time to compile a function goes into unpacking Python objects.
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
MERGED = {**INNER, "forceinline": True}

# What numba has to be told before it compiles; None once it has been.
_notes: list[Callable[[], Any]] | None = []
_lock = threading.RLock()
# All functions that Python calls, as far as their modules are imported.
FUNCTIONS: list[Callable] = []


def _note(tell: Callable[[], Any]) -> None:
    """Tell numba something, as soon as it is there."""
    with _lock:
        if _notes is not None:
            _notes.append(tell)
            return
    tell()


def _begin() -> None:
    """Tell numba all that was noted."""
    global _notes
    with _lock:
        notes, _notes = _notes, None
        for tell in notes or ():
            tell()


@functools.cache
def _target() -> str:
    """Return for which of numba's targets to compile."""
    try:
        from onkel.lean_target import TARGET
    except ImportError as error:  # a numba that nobody knew here
        warnings.warn(f"onkel compiles slowly: {error}", RuntimeWarning, stacklevel=2)
        return "cpu"
    return TARGET


class Compiled:
    """A function that Python calls, compiled when it first does."""

    def __init__(self, function: Callable) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        FUNCTIONS.append(function)

    @functools.cached_property
    def code(self) -> Any:
        """What numba has made of it; with NUMBA_DISABLE_JIT the function itself."""
        import numba

        from onkel.compile_cache import attach

        _begin()
        compiled = numba.jit(**OPTIONS, _target=_target())(self._function)
        if compiled is not self._function:
            attach(compiled)
        return compiled

    def __call__(self, *arguments: Any) -> Any:
        """Run the code."""
        return self.code(*arguments)


def jit(function: Callable) -> Compiled:
    """Compile a function that Python calls, and cache it on disk.

    It takes plain arrays, numbers and NamedTuples of them, and runs without the
    interpreter's lock.
    """
    return Compiled(function)


def written_for(
    function: Callable, options: dict[str, Any] | None = None, strict: bool = True
) -> Callable[[F], F]:
    """Register who says what compiled code runs in place of a function.

    The answer is a function, found from the types of the arguments.
    """

    def register(choose: F) -> F:
        def tell() -> None:
            from numba.extending import overload

            overload(function, jit_options=options or {}, strict=strict)(choose)

        _note(tell)
        return choose

    return register


def _inner(function: F, options: dict[str, Any]) -> F:
    written_for(function, options, strict=False)(lambda *arguments: function)
    return function


def inner(function: F) -> F:
    """Let compiled code call a function; called from Python it is plain Python."""
    return _inner(function, INNER)


def primitive(function: F) -> F:
    """As `inner`, merged into the caller: a call costs more than a small change."""
    return _inner(function, MERGED)


def exact(function: F) -> F:
    """As `inner`, but keep the order of floating-point operations as written."""
    return _inner(function, {**INNER, "fastmath": {"contract"}})


def without_nan(function: F) -> F:
    """As `inner`, for numbers that cannot be NaN: only so do minima become vectors."""
    return _inner(function, {**INNER, "fastmath": set(REASSOCIATE) | {"nnan"}})


def ordered(values: Any) -> Any:
    """View floating-point numbers that are not negative as integers of the same order.

    Loops for the largest or smallest of integers become vector instructions; those of
    floating-point numbers do not, whatever the compiler may assume.
    """
    return values.view(f"i{values.itemsize}")


# numba compares signatures to the letter, annotations included.
@written_for(ordered, INNER)
def _ordered(values):  # type: ignore[no-untyped-def]
    if values.dtype.bitwidth == 32:
        return lambda values: values.view(np.int32)
    return lambda values: values.view(np.int64)


def borrowed(arrays: Any) -> Any:
    """Return an array, or a NamedTuple with all its arrays, without counted references.

    Counting costs two locked instructions for every mention of an array. What compiled
    code was called with lives as long as the call, so it need not count.
    """
    return arrays


@written_for(borrowed, INNER)
def _borrowed(arrays):  # type: ignore[no-untyped-def]
    from numba import types

    if isinstance(arrays, types.Array):
        without_owner = _without_owner()
        return lambda arrays: without_owner(arrays)
    cls = arrays.instance_class
    owners = (types.Array, types.BaseNamedTuple)
    fields = ", ".join(
        f"borrowed(arrays.{name})" if isinstance(kind, owners) else f"arrays.{name}"
        for name, kind in zip(arrays.fields, arrays.types, strict=True)
    )
    scope: dict[str, Any] = {"borrowed": borrowed, "cls": cls}
    exec(f"def code(arrays):\n    return cls({fields})", scope)
    return scope["code"]


@functools.cache
def _without_owner() -> Any:
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def without_owner(typing_context: Any, array: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(array)(context, builder, value=arguments[0])
            view.meminfo = cgutils.get_null_value(view.meminfo.type)
            view.parent = cgutils.get_null_value(view.parent.type)
            return view._getvalue()

        return array(array), generate

    return without_owner


def choice(
    position: int, merged: bool = True
) -> tuple[Callable, Callable[[type], Callable[[F], F]]]:
    """Make a function whose code is chosen by the type of one of its arguments.

    That argument is a NamedTuple. The choice is made when the caller is compiled, so
    only what is used is compiled, and the result can be cached; functions passed as
    arguments cannot. `merged` code becomes part of the caller; leave that to small
    codes, because the larger a function, the longer it takes to compile.

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
    @written_for(function, MERGED if merged else INNER, strict=False)
    def _choose(*arguments: Any) -> Any:
        return table[arguments[position].instance_class]

    return function, case

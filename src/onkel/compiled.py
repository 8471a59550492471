"""How onkel compiles."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from onkel.compile_cache import attach

F = TypeVar("F", bound=Callable)

# Full fastmath would let the compiler assume finite numbers and delete our checks.
REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp"})

OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": set(REASSOCIATE)}
# Most of the time to compile a function goes into unpacking Python objects.
INNER = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
MERGED = {**INNER, "forceinline": True}


def jit(function: F) -> F:
    """Compile a function that Python calls, and cache it on disk.

    It takes plain arrays, numbers and NamedTuples of them, and runs without the
    interpreter's lock.
    """
    compiled = numba.njit(**OPTIONS)(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT hands the function back
        attach(compiled)
    return compiled


def inner(function: F) -> F:
    """Let compiled code call a function; called from Python it is plain Python."""
    return register_jitable(**INNER)(function)


def primitive(function: F) -> F:
    """As `inner`, merged into the caller: a call costs more than a small change."""
    return register_jitable(**MERGED)(function)


def exact(function: F) -> F:
    """As `inner`, but keep the order of floating-point operations as written."""
    return register_jitable(**{**INNER, "fastmath": {"contract"}})(function)


def without_nan(function: F) -> F:
    """As `inner`, for numbers that cannot be NaN: only so do minima become vectors."""
    return register_jitable(**{**INNER, "fastmath": set(REASSOCIATE) | {"nnan"}})(
        function
    )


def ordered(values: Any) -> Any:
    """View floating-point numbers that are not negative as integers of the same order.

    Loops for the largest or smallest of integers become vector instructions; those of
    floating-point numbers do not, whatever the compiler may assume.
    """
    return values.view(f"i{values.itemsize}")


@overload(ordered, jit_options=INNER)
def _ordered(values):  # type: ignore[no-untyped-def]
    if values.dtype == types.float32:
        return lambda values: values.view(np.int32)
    return lambda values: values.view(np.int64)


@intrinsic
def _without_owner(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, value=arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), generate


def borrowed(arrays: Any) -> Any:
    """Return an array, or a NamedTuple with all its arrays, without counted references.

    Counting costs two locked instructions for every mention of an array. What compiled
    code was called with lives as long as the call, so it need not count.
    """
    return arrays


@overload(borrowed, jit_options=INNER)
def _borrowed(arrays):  # type: ignore[no-untyped-def]
    if isinstance(arrays, types.Array):
        return lambda arrays: _without_owner(arrays)
    cls = arrays.instance_class
    owners = (types.Array, types.BaseNamedTuple)
    fields = ", ".join(
        f"borrowed(arrays.{name})" if isinstance(kind, owners) else f"arrays.{name}"
        for name, kind in zip(arrays.fields, arrays.types, strict=True)
    )
    scope: dict[str, Any] = {"borrowed": borrowed, "cls": cls}
    exec(f"def code(arrays):\n    return cls({fields})", scope)
    return scope["code"]


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
    @overload(function, jit_options=MERGED if merged else INNER, strict=False)
    def _choose(*arguments: Any) -> Any:
        return table[arguments[position].instance_class]

    return function, case

"""How onkel compiles.

numba takes a quarter of a second to import, and nobody needs it before a model learns
or predicts. So what is to be compiled is only noted here, and numba is told when the
first compiled function is called.
"""

import functools
import hashlib
import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from onkel.compiled.symbols import FUNCTIONS, NEVER_INLINED, SYMBOLS, note_source

F = TypeVar("F", bound=Callable)

# Full fastmath would let the compiler assume finite numbers and delete our checks.
REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp"})

OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": set(REASSOCIATE),
    "no_cfunc_wrapper": True,
}
# Unpacking Python objects takes long to compile.
INNER = {**OPTIONS, "no_cpython_wrapper": True}
MERGED = {**INNER, "forceinline": True}

# What numba has to be told before it compiles; None once it has been.
_notes: list[Callable[[], Any]] | None = []
_lock = threading.RLock()


def _note(tell: Callable[[], Any]) -> None:
    """Tell numba something, as soon as it is there."""
    with _lock:
        if _notes is not None:
            _notes.append(tell)
            return
    tell()


def begin() -> None:
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
        from onkel.compiled.lean_target import TARGET
    except ImportError as error:  # a numba that nobody knew here
        warnings.warn(f"onkel compiles slowly: {error}", RuntimeWarning, stacklevel=2)
        return "cpu"
    return TARGET


def _kind(value: Any) -> Any:
    """Return what the type of a value depends on; numba takes ten times as long."""
    if isinstance(value, tuple):
        return (type(value), *map(_kind, value))
    if isinstance(value, np.ndarray):
        return type(value), value.dtype, value.ndim, value.flags.num
    return type(value)


class Compiled:
    """A function that Python calls, compiled when it first does."""

    def __init__(self, function: Callable) -> None:
        functools.update_wrapper(self, function)
        note_source(function)
        self.function = function
        self.name = f"{function.__module__}.{function.__qualname__}"
        self._entries: dict[Any, Callable] = {}
        FUNCTIONS[self.name] = self

    @functools.cached_property
    def code(self) -> Any:
        """What numba has made of it; with NUMBA_DISABLE_JIT the function itself."""
        import numba

        from onkel.compiled.compile_cache import attach

        begin()
        compiled = numba.jit(**OPTIONS, _target=_target())(self.function)
        if compiled is not self.function:
            attach(compiled)
        return compiled

    def __call__(self, *arguments: Any) -> Any:
        """Run the code."""
        return self.code(*arguments)

    def entry(self, *arguments: Any) -> Callable:
        """Return the code for arguments of the types of these.

        A call begins with a look at the types of all arguments. Of a model and a block
        that takes longer than a row; who calls with the same types again and again, and
        sees to it that they are the same, need not have them looked at.
        """
        code = self.code
        if code is self.function:
            return self.function
        key = tuple(map(_kind, arguments))
        if key not in self._entries:
            types = tuple(map(code.typeof_pyval, arguments))
            code.compile(types)
            self._entries[key] = code.overloads[types].entry_point
        return self._entries[key]

    def symbol(self, arguments: Any) -> tuple[str, Any]:
        """Compile for those types; return the name of the code, and what it returns.

        Under that name other compiled code can call it, in this process.
        """
        import llvmlite.binding

        self.code.compile(arguments)
        result = self.code.overloads[arguments]
        digest = hashlib.sha256(repr(arguments).encode()).hexdigest()[:32]
        name = f"{self.name}.{digest}"
        address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
        llvmlite.binding.add_symbol(name, address)
        SYMBOLS[name] = self, arguments
        return name, result.signature.return_type

    @functools.cached_property
    def caller(self) -> Any:
        """A function that calls the code by its name, for compiled code."""
        from numba.core import cgutils

        def typed(*arguments: Any) -> Any:
            name, returned = self.symbol(arguments)

            def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                types, convention = signature.args, context.call_conv
                kind = convention.get_function_type(returned, types)
                code = cgutils.get_or_insert_function(builder.module, kind, name)
                status, value = convention.call_function(
                    builder, code, returned, types, values
                )
                with cgutils.if_unlikely(builder, status.is_error):
                    convention.return_status_propagate(builder, status)
                return value

            return returned(*arguments), lower

        return _calling(self.function, typed)


def _calling(function: Callable, typed: Callable) -> Callable:
    """Return a function of the same arguments, for compiled code, lowered by others."""
    from numba.extending import intrinsic

    names = ", ".join(inspect.signature(function).parameters)
    scope: dict[str, Any] = {"typed": typed}
    exec(f"def call(context, {names}):\n    return typed({names})", scope)
    scope["call"] = intrinsic(scope["call"])
    exec(f"def code({names}):\n    return call({names})", scope)
    return scope["code"]


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


def shared(function: F) -> F:
    """As `inner`, but compiled on its own, once for all who call it.

    They find it by a name, when their code is loaded. What many walks need is so
    neither compiled nor kept with each of them. From Python it runs compiled.
    """
    compiled = Compiled(function)
    written_for(compiled, INNER, strict=False)(lambda *arguments: compiled.caller)
    return compiled  # type: ignore[return-value]


def _inner(function: F, options: dict[str, Any]) -> F:
    note_source(function)
    written_for(function, options, strict=False)(lambda *arguments: function)
    return function


def inner(function: F) -> F:
    """Let compiled code call a function; called from Python it is plain Python."""
    return _inner(function, INNER)


def inlined(function: F) -> F:
    """As `inner`, merged into the caller: a call costs more than a small change."""
    return _inner(function, MERGED)


def never_inlined(function: F) -> F:
    """As `inner`, but never merged into a caller, however small.

    The constants of a loop, as of an exponential, do not stay in registers where it is
    only a part of a large function.
    """
    names = *function.__module__.split("."), function.__qualname__
    NEVER_INLINED.append("_ZN" + "".join(f"{len(name)}{name}" for name in names))
    return inner(function)


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


@functools.cache
def _by_reference(function: Callable) -> Callable:
    """Return what calls a function with addresses of tuples; see `references`."""
    import numba

    from onkel.compiled.references import through

    compiled = numba.jit(**INNER, _target=_target())(function)
    return _calling(function, through(compiled))


class Dispatched(Protocol):
    """A function whose code is chosen by the type of its first argument."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the code of that type."""

    def register(self, kind: type) -> Callable[[F], F]:
        """Register the code for a type: a plain function, compiled where it is used."""


def typedispatch(
    *, optional: bool = False, merged: bool = True, referring: bool = False
) -> Callable[[Callable], Dispatched]:
    """Choose code by the type of the first argument, as functools.singledispatch does.

    That argument is a NamedTuple. The choice is made when the caller is compiled, so
    only what is used is compiled, and the result can be cached; functions passed as
    arguments cannot.

    optional: a type without code of its own takes that of the function decorated, which
    otherwise only says what the arguments are. merged: the code becomes part of the
    caller; leave that to small codes, since large functions take long to compile.
    referring: the code, and all that it calls, gets tuples of arrays by their address.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Cat(NamedTuple):
    ...     name: str
    >>> legs = typedispatch(optional=True)(lambda animal: 2)
    >>> four = legs.register(Cat)(lambda animal: 4)
    >>> legs(Cat("Tom"))
    4
    """
    return functools.partial(
        _dispatched, optional=optional, merged=merged, referring=referring
    )


def _dispatched(
    question: Callable, optional: bool, merged: bool, referring: bool
) -> Dispatched:
    table: dict[type, Callable] = {}

    def code_of(kind: type) -> Callable:
        if kind in table:
            return table[kind]
        if optional:
            return question
        name = question.__name__
        raise TypeError(f"{kind.__name__} has no code for {name}: register some")

    def function(*arguments: Any) -> Any:
        return code_of(type(arguments[0]))(*arguments)

    def register(kind: type) -> Callable[[F], F]:
        def add(code: F) -> F:
            note_source(code)
            table[kind] = code
            return code

        return add

    # Not strict: the codes name their arguments, this function does not.
    @written_for(function, MERGED if merged else INNER, strict=False)
    def _choose(*arguments: Any) -> Any:
        code = code_of(arguments[0].instance_class)
        return _by_reference(code) if referring else code

    function.register = register  # type: ignore[attr-defined]
    function.__doc__, function.__module__ = question.__doc__, question.__module__
    return cast(Dispatched, function)

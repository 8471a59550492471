"""References: tuples of arrays that compiled code hands on by their address.

A NamedTuple is passed as all numbers it consists of, some hundred for a model and its
block. To unpack and pack those at every call, to no effect, was most of what had
to be compiled. So the walk, and all that it calls, gets the address of the tuple.

Two things must be said of such a tuple, or code would be slower than with numbers. It
never changes while the walk runs, whatever is stored into arrays: reading from it is
marked as such, and the call of the walk is a real one, behind which nobody sees how it
was made. And it does not own its arrays, so that nobody counts references to them.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, models, register_model

# An array begins with two owners, the memory's and the Python object.
OWNERS = 2


class Reference(types.Type):
    """The type of the address of a NamedTuple."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(f"Reference({kind})")

    @property
    def instance_class(self) -> type:
        """Which NamedTuple it is."""
        return self.kind.instance_class


def referred(kind: Any) -> Any:
    """Return how a value of a type is handed on: by its address, or as it is."""
    return Reference(kind) if _has_arrays(kind) else kind


def _has_arrays(kind: Any) -> bool:
    return isinstance(kind, types.BaseNamedTuple) and any(
        isinstance(part, types.Array) or _has_arrays(part) for part in kind.types
    )


@register_model(Reference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Reference) -> None:
        tuple_type = manager.lookup(kind.kind).get_value_type()
        super().__init__(manager, kind, tuple_type.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        kind = reference.kind
        if name in kind.fields:
            return referred(kind.types[kind.fields.index(name)])
        return None


@lower_getattr_generic(Reference)
def _get(context: Any, builder: Any, given: Reference, value: Any, name: str) -> Any:
    origin = _origin(builder.function, value)
    if origin is None:
        return _field(builder, given, value, name)
    known = _of(builder.function, "fields")
    if (origin, name) not in known:
        # Before all loops, whatever the optimiser will think of them.
        with builder.goto_entry_block():
            known[origin, name] = _field(builder, given, origin, name)
    return known[origin, name]


def _of(function: Any, what: str) -> dict[Any, Any]:
    """Return what is remembered of a function while it is lowered."""
    return function.__dict__.setdefault(f"_onkel_{what}", {})


def _origin(function: Any, value: Any) -> Any:
    """Return an address as the function got it or found it at first; else None.

    A variable is a place on the stack, to which numba stores once, and null when it
    has no further use of it.
    """
    if isinstance(value, ir.LoadInstr):
        variable, origins = value.operands[0], _of(function, "origins")
        if variable not in origins:
            stored = [
                instruction.operands[0]
                for block in function.blocks
                for instruction in block.instructions
                if isinstance(instruction, ir.StoreInstr)
                and instruction.operands[1] is variable
                and not isinstance(instruction.operands[0], ir.Constant)
            ]
            origins[variable] = stored[0] if len(stored) == 1 else None
        value = origins[variable]
    if isinstance(value, ir.Argument):
        return value
    first = isinstance(value, ir.Instruction) and value.parent is function.blocks[0]
    return value if first else None


def _field(builder: Any, given: Reference, value: Any, name: str) -> Any:
    index = given.kind.fields.index(name)
    kind = given.kind.types[index]
    place = cgutils.gep_inbounds(builder, value, 0, index)
    if _has_arrays(kind):
        return place
    if not isinstance(kind, types.Array):
        return _read(builder, place)
    array = ir.Constant(place.type.pointee, None)
    for number in range(OWNERS, len(place.type.pointee.elements)):
        part = _read(builder, cgutils.gep_inbounds(builder, place, 0, number))
        array = builder.insert_value(array, part, number)
    return array


def _read(builder: Any, place: Any) -> Any:
    """Load a value that does not change, number by number: only those can be marked."""
    kind = place.type.pointee
    if isinstance(kind, ir.ArrayType | ir.LiteralStructType):
        whole = ir.Constant(kind, ir.Undefined)
        count = kind.count if isinstance(kind, ir.ArrayType) else len(kind.elements)
        for i in range(count):
            part = _read(builder, cgutils.gep_inbounds(builder, place, 0, i))
            whole = builder.insert_value(whole, part, i)
        return whole
    value = builder.load(place)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def through(dispatcher: Any) -> Callable:
    """Return what types and lowers a call that hands tuples on by their addresses."""

    def typed(*arguments: Any) -> Any:
        kinds = tuple(map(referred, arguments))
        dispatcher.compile(kinds)
        result = dispatcher.overloads[kinds]
        returned = result.signature.return_type

        def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            handed = [
                cgutils.alloca_once_value(builder, value) if kind != given else value
                for value, kind, given in zip(values, kinds, arguments, strict=True)
            ]
            context.add_linking_libs([result.library])
            code = context.declare_function(builder.module, result.fndesc)
            status, value = context.call_conv.call_function(
                *(builder, code, returned, kinds, handed), attrs=("noinline",)
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return value

        return returned(*arguments), lower

    return typed

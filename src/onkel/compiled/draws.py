"""Random numbers for compiled code, drawn from NumPy's generator.

A generator stays Python's: compiled code gets the addresses of its state and of the
function that draws from it. numba can take a generator apart by itself, but that runs
Python's code between its own, and an interrupt there (Ctrl-C) ends in a crash.
"""

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from onkel.compiled.functions import INNER, written_for

_UNIFORM = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)


class Draws(NamedTuple):
    """Where the numbers come from; good for as long as their generator lives."""

    state: int
    next_double: int

    def random(self) -> float:
        """Draw a number, as the generator does; for Python."""
        return float(_UNIFORM(self.next_double)(self.state))


def draws_of(rng: np.random.Generator) -> Draws:
    """Return the numbers that a generator will draw.

    Examples
    --------
    >>> rng, twin = np.random.default_rng(0), np.random.default_rng(0)
    >>> uniform(draws_of(rng)) == twin.random()
    True
    """
    source = rng.bit_generator.ctypes
    function = ctypes.cast(source.next_double, ctypes.c_void_p).value
    assert function is not None
    return Draws(source.state_address, function)


def uniform(draws: Any) -> float:
    """Draw a number from [0, 1)."""
    return draws.random()


# numba compares signatures to the letter, annotations included.
@written_for(uniform, INNER)
def _uniform(draws):  # type: ignore[no-untyped-def]
    call = _calling()
    return lambda draws: call(draws.next_double, draws.state)


@functools.cache
def _calling() -> Any:
    from llvmlite import ir
    from numba import types
    from numba.core.cgutils import voidptr_t
    from numba.extending import intrinsic

    pointer = ir.FunctionType(ir.DoubleType(), [voidptr_t]).as_pointer()

    @intrinsic
    def call(typing_context: Any, function: Any, state: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, argument = arguments
            return builder.call(
                builder.inttoptr(address, pointer),
                [builder.inttoptr(argument, voidptr_t)],
            )

        return types.float64(function, state), generate

    return call

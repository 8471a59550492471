"""exp(v) for v <= 0, in a form the compiler turns into vector instructions.

A call to the C library inside a compiled loop keeps that loop scalar and costs about
10 ns a value. Range reduction to |r| <= ln(2)/2, a polynomial and a shift of the
exponent have no call and run at a fraction of a nanosecond in float32. The largest
relative errors are 2e-7 (float32) and 1e-15 (float64).

Where the power of two, 2^n, is no normal number its bits are all 0, and so is the
answer: from exp(-87.7) on in float32, exp(-708.8) in float64. What the library would
call denormal, down to exp(-103) and exp(-745), is therefore 0 but for a sliver that
begins with the smallest normal number, at -87.34 and -708.4. NaN stays NaN.
"""

import functools
from typing import Any

import numpy as np

from onkel.compiled.functions import exact, written_for

LOG2_E = 1.4426950408889634
# ln(2) in two parts: the first has so few digits that n * LN2_HIGH is exact.
LN2_HIGH = 0.693145751953125
LN2_LOW = 1.42860682030941723212e-6
# Here n has just reached the exponent whose bits are all 0.
LOWEST_SINGLE, LOWEST_DOUBLE = -88.0, -709.0


def _as_float32(bits: Any) -> Any:
    return np.int32(bits).view(np.float32)


def _as_float64(bits: Any) -> Any:
    return np.int64(bits).view(np.float64)


# numba compares signatures to the letter, annotations included.
@written_for(_as_float32)
def _as_float32_code(bits):  # type: ignore[no-untyped-def]
    read = _reading(32)
    return lambda bits: read(bits)


@written_for(_as_float64)
def _as_float64_code(bits):  # type: ignore[no-untyped-def]
    read = _reading(64)
    return lambda bits: read(bits)


@functools.cache
def _reading(width: int) -> Any:
    """Make compiled code that reads the bits of an integer as a number."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    kind, signature = {
        # Sums of integers are wider than these: the signature narrows them.
        32: (ir.FloatType(), types.float32(types.int32)),
        64: (ir.DoubleType(), types.float64(types.int64)),
    }[width]

    @intrinsic
    def read(typing_context: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], kind)

        return signature, generate

    return read


@exact
def _exp_float32(v: Any) -> Any:
    v = max(v, np.float32(LOWEST_SINGLE))
    n = np.floor(v * np.float32(LOG2_E) + np.float32(0.5))
    r = v - n * np.float32(LN2_HIGH) - n * np.float32(LN2_LOW)
    p = np.float32(1 / 720)
    p = p * r + np.float32(1 / 120)
    p = p * r + np.float32(1 / 24)
    p = p * r + np.float32(1 / 6)
    p = p * r + np.float32(0.5)
    p = p * r + np.float32(1)
    p = p * r + np.float32(1)
    return p * _as_float32((np.int32(n) + np.int32(127)) << np.int32(23))


@exact
def _exp_float64(v: Any) -> Any:
    v = max(v, LOWEST_DOUBLE)
    n = np.floor(v * LOG2_E + 0.5)
    r = v - n * LN2_HIGH - n * LN2_LOW
    p = 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # Through int32, because only that conversion has a vector instruction everywhere.
    return p * _as_float64((np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52))


def exp_nonpositive(v: Any) -> Any:
    """Exponential of a number that is not positive, in its own precision.

    Examples
    --------
    >>> float(exp_nonpositive(0.0))
    1.0
    """
    return np.exp(v)


@written_for(exp_nonpositive)
def _exp_nonpositive(v):  # type: ignore[no-untyped-def]
    if v.bitwidth == 32:
        return lambda v: _exp_float32(v)
    return lambda v: _exp_float64(v)

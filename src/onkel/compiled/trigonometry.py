"""Cosines and sines of a row of angles, in a form that becomes vector instructions.

As with the exponential, a call to the C library would keep the loop scalar. Angles are
reduced to |r| <= pi/4 and a quadrant; two polynomials and a choice between them do the
rest. A row of angles whose norm exceeds `FURTHEST_DOUBLE` (or `FURTHEST_SINGLE`) goes
to the library, because beyond that the reduction may lose digits. The largest errors
are 3e-16 (float64) and 2e-7 (float32), of the angle as it is given.
"""

import math
from typing import Any

import numpy as np

from onkel.compiled.functions import exact, shared, written_for

TWO_OVER_PI = 0.6366197723675814
# pi/2 in three parts: products of the first two with a whole number below 2^20, in
# single precision below 2^13, are exact.
DOUBLE_PARTS = (
    1.57079632673412561417,
    6.07710050630396597660e-11,
    2.0222662487959506e-21,
)
SINGLE_PARTS = (1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8)
FURTHEST_DOUBLE, FURTHEST_SINGLE = 1.0e6, 8192.0


@exact
def _reduce_float64(v: Any) -> Any:
    n = np.floor(v * TWO_OVER_PI + 0.5)
    r = v - n * DOUBLE_PARTS[0] - n * DOUBLE_PARTS[1] - n * DOUBLE_PARTS[2]
    return n, r


@exact
def _reduce_float32(v: Any) -> Any:
    n = np.floor(v * np.float32(TWO_OVER_PI) + np.float32(0.5))
    r = v - n * np.float32(SINGLE_PARTS[0])
    r = r - n * np.float32(SINGLE_PARTS[1]) - n * np.float32(SINGLE_PARTS[2])
    return n, r


@exact
def _polynomials_float64(r: Any) -> Any:
    z = r * r
    c = 1 / 20922789888000
    c = c * z - 1 / 87178291200
    c = c * z + 1 / 479001600
    c = c * z - 1 / 3628800
    c = c * z + 1 / 40320
    c = c * z - 1 / 720
    c = c * z + 1 / 24
    c = c * z - 0.5
    c = c * z + 1.0
    s = -1 / 1307674368000
    s = s * z + 1 / 6227020800
    s = s * z - 1 / 39916800
    s = s * z + 1 / 362880
    s = s * z - 1 / 5040
    s = s * z + 1 / 120
    s = s * z - 1 / 6
    s = s * z * r + r
    return c, s


@exact
def _polynomials_float32(r: Any) -> Any:
    z = r * r
    c = np.float32(1 / 40320)
    c = c * z - np.float32(1 / 720)
    c = c * z + np.float32(1 / 24)
    c = c * z - np.float32(0.5)
    c = c * z + np.float32(1)
    s = np.float32(1 / 362880)
    s = s * z - np.float32(1 / 5040)
    s = s * z + np.float32(1 / 120)
    s = s * z - np.float32(1 / 6)
    s = s * z * r + r
    return c, s


def _turn(v: Any) -> Any:
    """Cosine and sine of an angle that is not too large, in its own precision."""
    return np.cos(v), np.sin(v)


# numba compares signatures to the letter, annotations included.
@written_for(_turn)
def _turn_compiled(v):  # type: ignore[no-untyped-def]
    single = v.bitwidth == 32
    reduce = _reduce_float32 if single else _reduce_float64
    polynomials = _polynomials_float32 if single else _polynomials_float64

    def code(v):  # type: ignore[no-untyped-def]
        n, r = reduce(v)
        c, s = polynomials(r)
        quadrant = np.int32(n)
        crossed = quadrant & np.int32(1) != 0
        cosine = s if crossed else c
        sine = c if crossed else s
        cosine = -cosine if (quadrant + np.int32(1)) & np.int32(2) != 0 else cosine
        sine = -sine if quadrant & np.int32(2) != 0 else sine
        return cosine, sine

    return code


# Merged into a loop over rows, it would ask once for all of them whether cosines and
# sines overlap in memory: those of different rows do, and nothing would be vectors.
@shared
def circle(angles: Any, scale: Any, cosines: Any, sines: Any) -> None:
    """Write scale times the cosines and the sines of the angles."""
    furthest = FURTHEST_DOUBLE if angles.itemsize == 8 else FURTHEST_SINGLE
    # A sum of squares runs on vectors, the largest of them would not.
    squares = angles.dtype.type(0)
    for j in range(len(angles)):
        squares += angles[j] * angles[j]
    if squares < furthest * furthest:
        for j in range(len(angles)):
            cosine, sine = _turn(angles[j])
            cosines[j] = scale * cosine
            sines[j] = scale * sine
        return
    for j in range(len(angles)):
        cosines[j] = scale * math.cos(angles[j])
        sines[j] = scale * math.sin(angles[j])

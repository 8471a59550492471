"""Levels of processors: which instructions compiled code may use.

Code for a level runs on every processor that has it, so that it can come with the
package, or lie in a home that machines of several kinds share. For the best level that
a processor has it is as fast as code for the very processor (`python -m benchmarks
levels`). One that has none of the levels gets code of its own.
"""

import functools
import os
import platform

import llvmlite.binding
from numba.core import config

_V3 = tuple("avx avx2 bmi bmi2 f16c fma lzcnt movbe popcnt sse4.2 xsave".split())
_V4 = tuple("avx512f avx512bw avx512cd avx512dq avx512vl".split())

# As LLVM calls them, the best first, and what a processor must have.
LEVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "x86_64": {"x86-64-v4": _V3 + _V4, "x86-64-v3": _V3},
    "aarch64": {"generic": ("neon",)},
}
# Besides: LLVM takes half of the vectors of the best level for granted, which makes
# predicting an eighth slower.
FEATURES = {"x86-64-v4": "-prefer-256-bit"}
# What a processor with a level has as well; nothing is shipped for these.
OLDER = {"x86-64-v3": ("x86-64-v2", "x86-64")}
# Forces a level, for those who build or test; "native" for none.
VARIABLE = "ONKEL_LEVEL"


def available() -> list[str]:
    """Levels that this processor has, the best first."""
    machine = platform.machine().lower()
    names = {"amd64": "x86_64", "arm64": "aarch64"}
    known = LEVELS.get(names.get(machine, machine), {})
    has = llvmlite.binding.get_host_cpu_features()
    return [name for name, needs in known.items() if all(map(has.get, needs))]


@functools.cache
def level() -> str | None:
    """Return the level for which this process compiles; None for its own processor."""
    forced, names = os.environ.get(VARIABLE), available()
    if forced == "native":
        return None
    if forced:
        older = [other for name in names for other in OLDER.get(name, ())]
        if forced not in names + older:
            choices = ", ".join(["native", *names])
            raise ValueError(f"{VARIABLE} is {forced!r}; this processor has {choices}")
        return forced
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return None
    return names[0] if names else None

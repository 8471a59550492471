"""Which device tries a grid: the processor, or a GPU by numba-cuda."""

import importlib.util
import warnings
from collections.abc import Callable
from typing import TypeVar

from onkel.refit.devices import (
    AUTO,
    CPU,
    INSTEAD,
    NAMES,
    OF_GPUS,
    DeviceError,
    NoGpuError,
    has_driver,
)
from onkel.tune.pupils import RefusedError

__all__ = ["AUTO", "CPU", "NAMES", "carry_out", "on_gpu"]

T = TypeVar("T")

# Rows that models learn, in all, from which a GPU is worth its beginning: it compiles
# for some seconds, in which a processor learns about as many.
WORTHWHILE = 5_000_000


class NoNumbaCudaError(NoGpuError):
    """Nobody has installed what it takes."""


def carry_out(name: str, rows: int, work: Callable[[], T]) -> T | None:
    """Have a GPU do some work, or return None, where the processor is to do it.

    Under "auto" a GPU does it if models learn many rows, and what it refuses or fails
    at is left to the processor; what it fails at with a warning.

    Examples
    --------
    >>> carry_out("cpu", 10**9, lambda: "done")
    """
    if name not in NAMES:
        raise ValueError(f"no device {name!r}; there are {', '.join(NAMES)}")
    if name == CPU or (name == AUTO and (rows < WORTHWHILE or not has_driver())):
        return None
    try:
        return work()
    except (DeviceError, NoGpuError, RefusedError) as error:
        if name != AUTO:
            raise
        if not isinstance(error, NoNumbaCudaError | RefusedError):
            text = f"{error} The processor does the work instead."
            warnings.warn(text, RuntimeWarning, stacklevel=2)
    return None


def on_gpu(work: Callable[[], T]) -> T:
    """Do some work that numba-cuda has the GPU do, or say why it cannot."""
    _find_gpu()
    from numba.core.errors import NumbaError

    try:
        return work()
    except NumbaError:  # a mistake of ours
        raise
    except Exception as error:
        # Drivers and their bindings have errors of many types.
        said = f"{type(error).__name__}: {error}"
        if not any(word in said.lower() for word in OF_GPUS):
            raise
        first = said.splitlines()[0].rstrip(".")
        reason = DeviceError(
            f"The GPU failed: {first}. A smaller budget needs less of its memory, and "
            f"another program may hold some (see nvidia-smi), {INSTEAD}."
        )
    raise reason


def _find_gpu() -> None:
    """Raise NoGpuError if there is no GPU to be used."""
    from numba import config

    is_simulated = bool(config.ENABLE_CUDASIM)
    if not is_simulated and importlib.util.find_spec("numba_cuda") is None:
        raise NoNumbaCudaError(
            'device="cuda" needs numba-cuda, which is not installed: run '
            f'pip install "onkel[gpu]", {INSTEAD}.'
        )
    from numba import cuda

    if not cuda.is_available():
        raise NoGpuError(
            'device="cuda": numba-cuda finds no GPU that it can use. See what '
            f"nvidia-smi says of the driver, {INSTEAD}."
        )

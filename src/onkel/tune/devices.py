"""Which device tries a grid: the processor, or a GPU by numba-cuda where there is one."""

import importlib.util
from collections.abc import Callable
from typing import TypeVar

from onkel.refit.devices import INSTEAD, OF_GPUS, DeviceError, NoGpuError

T = TypeVar("T")

# Rows that models learn, in all, from which a GPU is worth its beginning: it compiles
# for some seconds, in which a processor learns about as many.
WORTHWHILE = 5_000_000


class NoNumbaCudaError(NoGpuError):
    """Nobody has installed what it takes."""


def on_gpu(work: Callable[[], T]) -> T:
    """Do some work that numba-cuda has the GPU do, or say why it cannot."""
    check_gpu()
    try:
        return work()
    except (RuntimeError, OSError) as error:
        said = str(error)
        if not any(word in said.lower() for word in OF_GPUS):
            raise
        first = said.splitlines()[0].rstrip(".")
        reason = DeviceError(
            f"The GPU failed: {first}. A smaller budget needs less of its memory, and "
            f"another program may hold some (see nvidia-smi), {INSTEAD}."
        )
    raise reason


def check_gpu() -> None:
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
            f'device="cuda": numba-cuda finds no GPU that it can use. See what '
            f"nvidia-smi says of the driver, {INSTEAD}."
        )

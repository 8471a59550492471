"""Which device does the work: the processor, or a GPU where there is one."""

import contextlib
import ctypes
import importlib.util
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from onkel.engine.threads import Team
from onkel.refit.passes import Device
from onkel.refit.processor import Processor

T = TypeVar("T")

AUTO, CPU, CUDA = "auto", "cpu", "cuda"
NAMES = (AUTO, CPU, CUDA)
DRIVER = {"win32": "nvcuda.dll"}.get(sys.platform, "libcuda.so.1")
# Words by which errors are told that are a GPU's, and no mistake of ours.
OF_GPUS = ("cuda", "cublas", "cusolver", "out of memory")
INSTEAD = 'or take device="cpu"'


class DeviceError(RuntimeError):
    """A GPU that could not do what was asked of it."""


def carry_out(
    name: str,
    is_much: bool,
    n_jobs: int,
    work: Callable[[Device], T],
    warn: Callable[[str], None] = warnings.warn,
) -> T:
    """Do some work on the device of that name.

    Under "auto" that is a GPU for much work only. If it refuses or fails, the work is
    done on the processor, from the beginning, after a warning. Nothing is left on it.

    Examples
    --------
    >>> carry_out("cpu", True, 1, lambda device: type(device).__name__)
    'Processor'
    """
    if name == CUDA or (name == AUTO and is_much and has_driver()):
        try:
            return _on_gpu(work)
        except (DeviceError, NoGpuError) as error:
            if name == CUDA:
                raise
            if not isinstance(error, NoTorchError):
                warn(f"{error} The processor does the work instead.")
    with Team(n_jobs) as team:
        return work(Processor(team))


class NoGpuError(ValueError):
    """There is no GPU to be used."""


class NoTorchError(NoGpuError):
    """Nobody has installed what it takes."""


def has_driver() -> bool:
    """Whether a driver is installed, which is known before PyTorch is loaded."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return False
    return True


def gpu() -> Any:
    """Return the GPU that PyTorch takes first."""
    if importlib.util.find_spec("torch") is None:
        raise NoTorchError(
            'device="cuda" needs PyTorch, which is not installed: run '
            f'pip install "onkel[gpu]", {INSTEAD}.'
        )
    try:
        import torch
    except (ImportError, OSError) as error:
        raise NoGpuError(
            f'device="cuda": PyTorch is installed, but cannot be loaded ({error}). '
            f"Install it anew, {INSTEAD}."
        ) from error
    if not torch.cuda.is_available():
        # A PyTorch without CUDA is none, to whoever has not asked for a GPU.
        kind = NoTorchError if torch.version.cuda is None else NoGpuError
        raise kind(
            f'device="cuda": PyTorch {torch.__version__} finds no GPU that it can use. '
            "See what nvidia-smi says of the driver, and whether this PyTorch was "
            f"built for CUDA (torch.version.cuda is {torch.version.cuda}), {INSTEAD}."
        )
    from onkel.refit.cuda import Cuda

    return Cuda()


def _on_gpu(work: Callable[[Device], T]) -> T:
    device = None
    try:
        device = gpu()
        return work(device)
    except RuntimeError as error:
        said = str(error)
        if not any(word in said.lower() for word in OF_GPUS):
            raise
        first = said.splitlines()[0].rstrip(".")
        # Without what it holds: tensors in the frames of the traceback.
        reason = DeviceError(
            f"The GPU failed: {first}. A smaller budget needs less of its memory, and "
            f"another program may hold some (see nvidia-smi), {INSTEAD}."
        )
    finally:
        if device is not None:
            # After some errors a GPU refuses even that.
            with contextlib.suppress(RuntimeError):
                device.close()
    raise reason

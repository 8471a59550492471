"""Devices that tests carry work out on, as far as there are any here.

"cpu" is the way of a GPU with tensors of the processor. CI has neither PyTorch nor a
GPU: what needs them skips there, and says so.
"""

import pytest

from onkel.engine.threads import Team
from onkel.refit.passes import Device
from onkel.refit.processor import Processor

NO_TORCH = "PyTorch is not installed"
NO_GPU = "PyTorch finds no GPU"
# Names of those whose passes go over tensors, and of all.
OF_TENSORS = ("cpu", "cuda")
EVERY = ("processor", *OF_TENSORS)


def tensors_lie_on(name: str) -> None:
    """Skip the test where there are no tensors, or no GPU."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    torch.set_num_threads(1)  # as BLAS has, for matrices this small
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip(NO_GPU)


def device(name: str, n_jobs: int = 1) -> Device:
    """Make a device; the processor of this machine is "processor"."""
    if name == "processor":
        return Processor(Team(n_jobs))
    tensors_lie_on(name)
    from onkel.refit.cuda import Cuda

    return Cuda(name)

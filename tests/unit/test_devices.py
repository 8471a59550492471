"""A GPU does the work where it is wanted, and else the processor does all of it."""

import contextlib
import gc
import importlib.machinery
import pickle
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import onkel
from onkel.engine.threads import Team
from onkel.estimators import _machine, _machine_stream, _recipe
from onkel.refit import devices, machine
from onkel.refit.devices import DeviceError, NoGpuError, NoTorchError, carry_out
from onkel.refit.passes import Device
from onkel.refit.processor import Processor
from tests.devices import EVERY, device

MESSAGE = "CUDA error: an illegal memory access was encountered\nCUDA kernel errors..."
# What a GPU's own errors say.
OF_GPUS = (
    MESSAGE,
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 1 GiB free.",
    "cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR",
    "CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
)


class Pretended(Processor):
    """A GPU of which it is known whether it was closed."""

    def __init__(self) -> None:
        super().__init__(Team(1))
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Gpus:
    """Hands out GPUs, and remembers them."""

    def __init__(self, make: Callable[[], Any] = Pretended) -> None:
        self.make, self.made = make, list[Any]()

    def __call__(self) -> Any:
        self.made.append(self.make())
        return self.made[-1]


def pretend(
    monkeypatch: pytest.MonkeyPatch, gpu: Callable[[], Any], driver: bool = True
) -> None:
    monkeypatch.setattr(devices, "has_driver", lambda: driver)
    monkeypatch.setattr(devices, "gpu", gpu)


def forbidden() -> Any:
    raise AssertionError("nobody should look for a GPU")


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Gpus:
    made = Gpus()
    pretend(monkeypatch, made)
    return made


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver is there, and PyTorch is not."""
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver is there, and a PyTorch that finds no GPU."""
    monkeypatch.setattr(devices, "has_driver", lambda: True)
    torch: Any = types.ModuleType("torch")
    torch.__spec__ = importlib.machinery.ModuleSpec("torch", None)
    torch.__version__ = "9.8.7"
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    torch.version = types.SimpleNamespace(cuda="13.5")
    monkeypatch.setitem(sys.modules, "torch", torch)


def broken_torch(monkeypatch: pytest.MonkeyPatch, folder: Path, error: str) -> None:
    (folder / "torch.py").write_text(f"raise {error}\n")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(devices, "has_driver", lambda: True)


# ---- who does the work ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_much"), [("cpu", False), ("cpu", True), ("auto", False)]
)
def test_nobody_looks_for_a_gpu_that_is_not_wanted(
    name: str, is_much: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, forbidden)
    monkeypatch.setattr(devices, "has_driver", forbidden)
    assert carry_out(name, is_much, 1, type) is Processor


def test_without_a_driver_pytorch_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, forbidden, driver=False)
    assert carry_out("auto", True, 1, type) is Processor


def test_a_driver_that_is_not_there_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "DRIVER", "libnobodyhasit.so.7")
    assert devices.has_driver() is False


@pytest.mark.usefixtures("no_torch")
def test_without_pytorch_the_processor_does_much_work_and_says_nothing() -> None:
    assert carry_out("auto", True, 1, type) is Processor


@pytest.mark.parametrize(
    ("name", "is_much"), [("cuda", False), ("cuda", True), ("auto", True)]
)
def test_a_gpu_does_the_work_and_is_closed(
    name: str, is_much: bool, gpus: Gpus
) -> None:
    assert carry_out(name, is_much, 1, lambda device: device) is gpus.made[0]
    assert [gpu.closed for gpu in gpus.made] == [1]


def test_the_processor_has_as_many_threads_as_are_wanted() -> None:
    assert carry_out("cpu", True, 3, lambda device: device.team.size) == 3


# ---- GPUs that there are not ---------------------------------------------------------


@pytest.mark.usefixtures("no_torch")
def test_without_pytorch_cuda_says_what_to_install() -> None:
    with pytest.raises(NoTorchError, match=r'pip install "onkel\[gpu\]", or take dev'):
        carry_out("cuda", True, 1, type)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_cuda_says_where_to_look() -> None:
    with pytest.raises(NoGpuError) as caught:
        carry_out("cuda", True, 1, type)
    for part in ("PyTorch 9.8.7", "nvidia-smi", "is 13.5", 'device="cpu"'):
        assert part in str(caught.value)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu_that_pytorch_can_use_the_processor_does_it_and_says_so() -> None:
    with pytest.warns(UserWarning, match="nvidia-smi.* The processor does") as told:
        assert carry_out("auto", True, 1, type) is Processor
    assert len(told) == 1


@pytest.mark.parametrize(
    "error", ["OSError('libcudart.so: no such file')", "ImportError('numpy is old')"]
)
def test_a_pytorch_that_cannot_be_loaded_stops_only_those_who_want_it(
    error: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken_torch(monkeypatch, tmp_path, error)
    said = r"cannot be loaded \((libcudart|numpy is old).*or take device"
    with pytest.raises(NoGpuError, match=said):
        carry_out("cuda", True, 1, type)
    with pytest.warns(UserWarning, match=said):
        assert carry_out("auto", True, 1, type) is Processor


# ---- GPUs that fail ------------------------------------------------------------------


class Failing:
    """Work that fails on a GPU, once it has begun."""

    def __init__(self, error: BaseException) -> None:
        self.error, self.seen = error, list[Device]()

    def __call__(self, device: Device) -> str:
        self.seen.append(device)
        if isinstance(device, Pretended):
            raise self.error
        return "done"


@pytest.mark.parametrize("message", OF_GPUS)
def test_work_that_fails_on_a_gpu_is_done_again_on_the_processor(
    message: str, gpus: Gpus
) -> None:
    work, told = Failing(RuntimeError(message)), list[str]()
    assert carry_out("auto", True, 1, work, told.append) == "done"
    assert [type(device) for device in work.seen] == [Pretended, Processor]
    assert [gpu.closed for gpu in gpus.made] == [1]
    (text,) = told
    assert message.splitlines()[0].rstrip(".") + ". A smaller budget" in text
    assert text.endswith("The processor does the work instead.")


@pytest.mark.parametrize("message", OF_GPUS)
def test_cuda_says_why_it_failed_and_what_to_do(message: str, gpus: Gpus) -> None:
    work = Failing(RuntimeError(message))
    with pytest.raises(DeviceError, match=r"budget.*nvidia-smi.*device=\"cpu\""):
        carry_out("cuda", True, 1, work, forbidden)
    assert [type(device) for device in work.seen] == [Pretended]
    assert [gpu.closed for gpu in gpus.made] == [1]


@pytest.mark.parametrize("name", ["auto", "cuda"])
@pytest.mark.parametrize(
    "error",
    [
        *(RuntimeError("the generator already runs"), ValueError("CUDA is a word")),
        *(MemoryError("out of memory"), KeyboardInterrupt(), StopIteration()),
    ],
    ids=repr,
)
def test_other_errors_are_nobody_elses(
    name: str, error: BaseException, gpus: Gpus
) -> None:
    work = Failing(error)
    with pytest.raises(type(error)) as caught:
        carry_out(name, True, 1, work, forbidden)
    assert caught.value is error
    assert len(work.seen) == 1
    assert [gpu.closed for gpu in gpus.made] == [1]


def test_a_gpu_that_cannot_even_be_closed_has_failed_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stuck(Pretended):
        def close(self) -> None:
            raise RuntimeError(MESSAGE)

    pretend(monkeypatch, Stuck)
    work, told = Failing(RuntimeError(MESSAGE)), list[str]()
    assert carry_out("auto", True, 1, work, told.append) == "done"
    assert len(told) == 1
    with pytest.raises(DeviceError, match="The GPU failed"):
        carry_out("cuda", True, 1, work)
    with pytest.raises(KeyboardInterrupt):
        carry_out("auto", True, 1, Failing(KeyboardInterrupt()))


@pytest.mark.usefixtures("gpus")
def test_an_error_holds_nothing_of_what_the_work_held() -> None:
    class Tensor:
        """Takes memory of the GPU."""

    held = list[weakref.ref[Tensor]]()

    def work(device: Device) -> None:
        tensor = Tensor()
        held.append(weakref.ref(tensor))
        raise RuntimeError(MESSAGE)

    try:
        carry_out("cuda", True, 1, work)
    except DeviceError as error:
        gc.collect()
        assert held[0]() is None
        assert error.__context__ is None


def test_errors_of_pytorch_are_a_gpus(gpus: Gpus) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for error in (torch.OutOfMemoryError, torch.AcceleratorError):
        told = list[str]()
        work = Failing(error("CUDA out of memory. Tried to allocate 2.00 GiB."))
        assert carry_out("auto", True, 1, work, told.append) == "done"
        assert len(told) == 1


def test_the_gpu_is_the_one_that_pytorch_takes_first() -> None:
    made = device("cuda")
    found = devices.gpu()
    assert type(found) is type(made)
    assert devices.has_driver()


# ---- systems -------------------------------------------------------------------------

ROWS = 400
NAMES = ("KernelClassifier", "KernelRegressor", "BSGDClassifier", "BSGDRegressor")
each = pytest.mark.parametrize("system", NAMES)
kernel_machines = pytest.mark.parametrize("system", NAMES[:2])
# Those who pretend to be the GPU, or are one.
instead = pytest.mark.parametrize("name", EVERY)
forms = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])


def data(system: str, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    hidden = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=rows)
    if system.endswith("Regressor"):
        return X, hidden
    return X, np.digitize(hidden, [-0.7, 0.7])


def make(system: str, **parameters: Any) -> Any:
    given = {"budget": 25, "gamma": 0.3, "random_state": 0, **parameters}
    own = {"C": 3.0} if system.startswith("Kernel") else {"refit": True, "alpha": 1e-3}
    return getattr(onkel, system)(**{**own, **given})


def answers(model: Any, X: Any) -> np.ndarray:
    score = getattr(model, "decision_function", model.predict)
    return np.asarray(score(X))


@each
@pytest.mark.parametrize("entry", ["fit", "partial_fit"])
@pytest.mark.parametrize("value", ["tpu", None, 0])
def test_another_device_is_refused_by_name(system: str, entry: str, value: Any) -> None:
    X, y = data(system)
    with pytest.raises(ValueError, match="'device' parameter"):
        getattr(make(system, device=value), entry)(X, y)


@each
@pytest.mark.parametrize("lacking", ["no_torch", "no_gpu"])
def test_cuda_without_a_gpu_is_refused_and_changes_nothing(
    system: str, lacking: str, request: pytest.FixtureRequest
) -> None:
    X, y = data(system)
    model = make(system, device="cpu").fit(X[:300], y[:300])
    before = pickle.dumps(model)
    request.getfixturevalue(lacking)
    model.set_params(device="cuda")
    said = {"no_torch": r"pip install .*onkel\[gpu\]", "no_gpu": "nvidia-smi"}[lacking]
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    # What a GPU has fitted predicts anywhere; a driver without a GPU is worth a word.
    is_told = lacking == "no_gpu" and system.startswith("Kernel")
    with pytest.warns(match="nvidia-smi") if is_told else contextlib.nullcontext():
        answers = model.predict(X)
    model.set_params(device="cpu")
    np.testing.assert_array_equal(model.predict(X), answers)
    assert pickle.dumps(model) == before


@each
def test_few_rows_never_look_for_a_gpu(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, forbidden)
    monkeypatch.setattr(devices, "has_driver", forbidden)
    X, y = data(system)
    make(system).fit(X, y).predict(X)
    make(system, device="cpu").fit(X, y).predict(X)


@each
def test_many_rows_and_many_kernel_values_are_a_gpus(
    system: str, gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "MANY_ROWS", ROWS)
    monkeypatch.setattr(_recipe, "MANY_ROWS", ROWS)
    X, y = data(system)
    make(system).fit(X[:-1], y[:-1])
    assert len(gpus.made) == 0
    model = make(system).fit(X, y)
    assert len(gpus.made) == 1
    monkeypatch.setattr(_machine, "MUCH", ROWS * model.model_size_)
    model.predict(X[:-1])
    assert len(gpus.made) == 1
    model.predict(X)
    assert len(gpus.made) == (2 if system.startswith("Kernel") else 1)
    assert all(gpu.closed == 1 for gpu in gpus.made)


@each
@pytest.mark.parametrize("time_limit", [None, 1000.0])
def test_a_gpu_that_fails_is_warned_of_once_where_fit_was_called(
    system: str, time_limit: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = data(system)
    found: Any = {"gamma": "auto", "C": "auto", "time_limit": time_limit}
    own = found if system.startswith("Kernel") else {}
    wanted = answers(make(system, device="cpu", **own).fit(X, y), X)
    monkeypatch.setattr(machine, "MANY_ROWS", ROWS)
    monkeypatch.setattr(_recipe, "MANY_ROWS", ROWS)

    def fails(*arguments: Any, **more: Any) -> Any:
        raise RuntimeError(MESSAGE)

    class Short(Pretended):
        """Fails at the second passes, when something has been drawn."""

        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def passes(self, *arguments: Any, **more: Any) -> Any:
            self.count += 1
            return (fails if self.count > 1 else super().passes)(*arguments, **more)

    made = Gpus(Short if system.startswith("Kernel") else Pretended)
    if not system.startswith("Kernel"):
        monkeypatch.setattr(Pretended, "passes", fails)
    pretend(monkeypatch, made)
    model = make(system, device="auto", **own)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    told = [each for each in told if "The GPU failed" in str(each.message)]
    assert [each.filename for each in told] == [__file__]
    assert made.made
    assert all(gpu.closed == 1 for gpu in made.made)
    if time_limit is None:  # else the clock decides
        np.testing.assert_array_equal(answers(model, X), wanted)
    with pytest.raises(DeviceError, match="nvidia-smi"):
        make(system, device="cuda", **own).fit(X, y)


@each
def test_a_stream_goes_on_on_another_device(system: str) -> None:
    X, y = data(system)
    model, same = (make(system, device="auto") for _ in range(2))
    for part in (slice(0, 300), slice(300, 400)):
        same.partial_fit(X[part], y[part])
    model.partial_fit(X[:300], y[:300])
    model.set_params(device="cpu").partial_fit(X[300:], y[300:])
    np.testing.assert_array_equal(answers(model, X), answers(same, X))


@kernel_machines
def test_a_stream_is_fitted_anew_on_the_device(
    system: str, gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_machine_stream, "FIRST_ORDER", 256)
    monkeypatch.setattr(_machine_stream, "PATIENCE", 0.01)
    monkeypatch.setattr(_machine_stream, "REFITS", 1e6)
    X, y = data(system)
    model, same = make(system, device="cuda"), make(system, device="cpu")
    for twin in (model, same):
        twin.partial_fit(X, y)
    assert [gpu.closed for gpu in gpus.made] == [1]
    np.testing.assert_array_equal(answers(same, X), answers(model, X))
    assert [gpu.closed for gpu in gpus.made] == [1, 1]


@each
def test_the_device_survives_copies(system: str, gpus: Gpus, tmp_path: Path) -> None:
    X, y = data(system)
    model = make(system, device="cuda").fit(X, y)
    onkel.save(model, tmp_path / "model.onkel")
    loaded = onkel.load(tmp_path / "model.onkel")
    for same in (loaded, pickle.loads(pickle.dumps(model)), clone(model)):
        assert same.device == "cuda"
    np.testing.assert_array_equal(answers(loaded, X), answers(model, X))


@each
@instead
@forms
def test_a_model_of_a_gpu_is_used_without_one(
    system: str, name: str, form: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Gpus(lambda: device(name))
    pretend(monkeypatch, made)
    X, y = data(system)
    model, again = (make(system, device="cuda").fit(form(X), y) for _ in range(2))
    found = answers(model, form(X))
    assert len(made.made) == (3 if system.startswith("Kernel") else 2)
    assert found.dtype == answers(again, form(X)).dtype
    np.testing.assert_array_equal(found, answers(again, form(X)))
    onkel.save(model, tmp_path / "model.onkel")
    pretend(monkeypatch, forbidden)
    loaded = onkel.load(tmp_path / "model.onkel").set_params(device="cpu")
    largest = np.abs(found).max()
    np.testing.assert_allclose(
        answers(loaded, form(X)), found, rtol=0, atol=1e-5 * largest
    )
    # What was learnt is what the processor would have learnt, up to rounding.
    plain = make(system, device="cpu").fit(form(X), y)
    assert abs(plain.score(form(X), y) - loaded.score(form(X), y)) < 0.02


@kernel_machines
@instead
def test_centres_move_on_a_gpu_too(
    system: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, Gpus(lambda: device(name)))
    rows = 7000
    X, y = data(system, rows)
    model, again = (
        make(system, budget=20, device="cuda").fit(X[:6200], y[:6200]) for _ in range(2)
    )
    np.testing.assert_array_equal(answers(model, X), answers(again, X))
    assert (model.relevance_ != 1.0).any()
    plain = make(system, budget=20, device="cpu").fit(X[:6200], y[:6200])
    new = X[6200:], y[6200:]
    assert model.score(*new) > plain.score(*new) - 0.03

"""Grids on a GPU, row by row beside the processor; `test_grids.py` runs this.

In a process of its own, because whether numba simulates a GPU is settled when it is
imported: NUMBA_ENABLE_CUDASIM=1 python -m tests.exact.grids
"""

import sys
from typing import Any

import numpy as np
from numba.cuda.simulator import kernelapi

import onkel
from onkel.tune import side_by_side
from onkel.tune.cuda import grid
from onkel.tune.sample import Sample
from onkel.tune.tune import Tuning

ROWS, BUDGET = 40, 6
# A thread with several centres, and more threads than there are centres.
THREADS = {"Classifier": 3, "classes": 20, "Regressor": 3}
COMMON = {"gamma": 0.7, "budget": BUDGET, "random_state": 3}
STEPS = {"eta0": 0.3, "alpha": 0.1}
# Parameters by system and how it keeps its budget.
SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "RBP": ("RBP", {}),
    "Forgetron": ("Forgetron", {}),
    "BOGD": ("BOGD", {**STEPS, "max_coef": 1.5}),
    "BOGD++": ("BOGD", {**STEPS, "sampling": "weighted"}),
    "BOGD++ as printed": ("BOGD", {**STEPS, "sampling": "as_printed"}),
    "BSGD, removal": ("BSGD", {"alpha": 0.05, "maintenance": "removal"}),
    "BSGD, merging": ("BSGD", {"alpha": 0.05}),
    "FOGD": ("FOGD", {**STEPS, "n_components": 12, "budget": None}),
}


def shared_array(own: Any, shape: int, dtype: Any) -> np.ndarray:
    """Return the memory of the line that asks: the same for all threads.

    The simulator's own may make it twice if two of its threads ask at once.
    """
    frame, kind = sys._getframe(1), np.dtype(str(dtype))
    if shape == 0:
        return np.frombuffer(own._dynshared.data, kind)
    line = frame.f_code.co_filename, frame.f_lineno
    return own._allocations.setdefault(line, np.empty(shape, kind))


def stream(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and targets of two classes, three, or numbers."""
    X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype(np.float32)
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2
    if task == "Classifier":
        return X, np.where(y > 0.7, "yes", "no")
    return X, np.digitize(y, [0.2, 1.2]) if task == "classes" else y


def model(system: str, task: str, **other: Any) -> Any:
    """Return an estimator."""
    name, own = SYSTEMS[system]
    ending = "Classifier" if task == "classes" else task
    given = {**COMMON, **own, **other}
    kept = {name: value for name, value in given.items() if value is not None}
    return getattr(onkel, name + ending)(**kept)


def check_rows(models: list[Any], X: np.ndarray, y: np.ndarray, is_label: bool) -> None:
    """Compare the scores of all rows."""
    found = side_by_side.progressive(models, X, y)
    for one, own in zip(models, found, strict=True):
        expected = onkel.progressive(one, X, y, np.unique(y) if is_label else None)
        assert one.n_updates_ > 0
        np.testing.assert_allclose(
            own, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max()
        )


def check_held_out() -> None:
    """Compare errors on rows held out, of models that overflow, too."""
    X, y = stream("Regressor")
    several = [{"eta0": 0.3, "gamma": 0.7}, {"eta0": 1e38, "gamma": 0.2}]
    sample, given = Sample(X, y, True), {"budget": BUDGET, "max_coef": 1e6}
    beside, alone = (
        list(Tuning(sample, "bogd", 0, given, device).all_tried(several))
        for device in ("cuda", "cpu")
    )
    assert [one.parameters for one in beside] == several
    assert beside[1] == alone[1]  # both have overflowed
    np.testing.assert_allclose(beside[0][1:], alone[0][1:], rtol=1e-4)


def main(asked: list[str]) -> None:
    """Check the systems that are asked for, or all."""
    # The simulator looks again and again whether all wait at a barrier, and would hold
    # the interpreter for as long as it may.
    sys.setswitchinterval(1e-5)
    kernelapi.FakeCUDAShared.array = shared_array
    for system in asked or SYSTEMS:
        for task, threads in THREADS.items():
            grid.learn.__defaults__ = (threads,)
            X, y = stream(task)
            check_rows([model(system, task)], X, y, task != "Regressor")
            print(f"{system}, {task}: all rows agree")
    if not asked:
        X, y = stream("Classifier")
        other = [{"kernel": name, "gamma": 0.4} for name in ("poly", "laplacian")]
        other.append({"kernel": "linear", "budget": 3})
        for given in other:
            check_rows([model("RBP", "Classifier", **given)], X, y, True)
        check_held_out()


if __name__ == "__main__":
    main(sys.argv[1:])

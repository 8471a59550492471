"""A contestant in a process of its own, which fits and predicts when it is asked."""

import math
import resource
import signal
import warnings
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

from benchmarks.peers.contestants import IN_PYTHON
from benchmarks.peers.launch import limit_told
from benchmarks.peers.tasks import ROWS, Rows, Task
from onkel.measuring.memory import Growth, peak, resident
from studies.comparison_timing import cpu_seconds, timed

# Code is compiled before the clock runs: so few rows and centres visit all of it.
WARM_UP_ROWS, WARM_UP_BUDGET = 2000, 50


def _warm_up(name: str, task: Task, rows: Rows) -> None:
    few = min(WARM_UP_ROWS, task.rows)
    small = task._replace(rows=few, budget=min(WARM_UP_BUDGET, task.budget))
    model = IN_PYTHON[name].make(small).fit(rows.X[:few], rows.y[:few])
    model.predict(rows.X_test[:few])


class _Memory:
    """The peak of this process; the system's own begins with that of who started it."""

    def __init__(self) -> None:
        self._before, self._growth = resident(), Growth()

    @property
    def peak(self) -> int:
        grown = self._growth.bytes
        return peak() if self._before is None or grown is None else self._before + grown


def _measured(name: str, task: Task, rows: Rows, memory: _Memory) -> dict[str, Any]:
    model = IN_PYTHON[name].make(task)
    fitted = timed(lambda: model.fit(rows.X, rows.y))
    answer = timed(lambda: model.predict(rows.X_test))
    mistakes = getattr(model, "n_mistakes_", 0)  # also 0 where none were counted
    return {
        "error": float((answer.value != rows.y_test).mean()),
        "seconds": fitted.cpu,
        "predict_seconds": answer.cpu,
        "memory": memory.peak,
        **({"mistakes": mistakes / task.rows} if mistakes else {}),
    }


def _serve(pipe: Connection, name: str, task: Task) -> None:
    warnings.simplefilter("ignore")
    memory = _Memory()
    rows: Rows = joblib.load(task.folder / ROWS)
    is_warm = False
    with threadpool_limits(1):
        while (limit := pipe.recv()) is not None:
            try:
                if not is_warm:
                    _warm_up(name, task, rows)
                    is_warm = True
                # No Python runs while LIBSVM works: the kernel stops it.
                soft, hard = math.ceil(cpu_seconds() + limit), resource.RLIM_INFINITY
                resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
                pipe.send(_measured(name, task, rows, memory))
            except Exception as error:  # of a package that is not ours
                told = " ".join(f"{error}".split())[:120]
                pipe.send({"failed": f"{type(error).__name__}: {told}"})


class Worker:
    """The process of a contestant; `with` ends it."""

    def __init__(self, name: str, task: Task) -> None:
        # A fork would begin with the memory of this process.
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, name, task), daemon=True
        )
        self._process.start()
        theirs.close()

    def measure(self, limit: float) -> dict[str, Any]:
        """Fit and predict once, for so many seconds of processor time at most."""
        try:
            self._pipe.send(limit)
            return dict(self._pipe.recv())
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode or 0
            if code == -signal.SIGXCPU:
                return {"failed": limit_told(limit)}
            return {"failed": f"its process ended with {code}"}

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._pipe.close()

"""Progress of fit: scikit-learn's callbacks where it has them, lines otherwise."""

import math
import time
from typing import Any

from onkel.engine.threads import CHUNK

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for what this scikit-learn does not have."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Progress", "Stages", "with_callbacks"]


class Progress:
    """Tells callbacks, and with `verbose` the screen, how far fit has come."""

    def __init__(self, estimator: Any, learner: Any, passes: int, rows: int) -> None:
        self.estimator, self.learner = estimator, learner
        self.passes, self.rows = passes, rows
        self.done = 0
        self.watched = bool(getattr(estimator, "_skl_callbacks", ()))
        self.started = time.perf_counter()

    def __enter__(self) -> None:
        if self.watched:
            self.root = self.estimator._init_callback_context(max_subtasks=self.passes)
            self.root.call_on_fit_task_begin(estimator=self.estimator)

    def __exit__(self, *error: object) -> None:
        if self.watched and error[0] is None:
            self.root.call_on_fit_task_end(estimator=self.estimator)

    def begin_pass(self, rows: int) -> None:
        """Announce a pass over so many rows."""
        self.waiting, self.left = 0, rows
        if self.watched:
            parts = math.ceil(rows / CHUNK)
            self.current = self.root.subcontext(task_name="pass", max_subtasks=parts)
            self.current.call_on_fit_task_begin(estimator=self.estimator)

    def advance(self, rows: int) -> None:
        """Count rows that are learnt, and announce every so many, and the last."""
        self.waiting, self.left = self.waiting + rows, self.left - rows
        while self.waiting >= CHUNK or (self.waiting and not self.left):
            self.waiting = max(self.waiting - CHUNK, 0)
            if self.watched:
                chunk = self.current.subcontext(task_name="rows")
                chunk.call_on_fit_task_begin(estimator=self.estimator)
                chunk.call_on_fit_task_end(estimator=self.estimator)

    def end_pass(self) -> bool:
        """Announce that a pass is over; returns whether a callback wants to stop."""
        self.done += 1
        if self.estimator.verbose:
            counters = self.learner.counters
            seconds = time.perf_counter() - self.started
            print(
                f"{type(self.estimator).__name__}: pass {self.done}/{self.passes}, "
                f"{counters.t:,} rows, {counters.count:,} centres, "
                f"{counters.updates:,} updates, "
                f"{seconds:.1f} s"
            )
        if not self.watched:
            return False
        return self.current.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=lambda: {
                "_learner": self.learner,
                "n_iter_": self.done,
            },
        )


class Stages:
    """Tells of stages of fit whose number nobody knows before."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.watched = bool(getattr(estimator, "_skl_callbacks", ()))
        self.started = time.perf_counter()

    def __enter__(self) -> "Stages":
        if self.watched:
            self.root = self.estimator._init_callback_context(max_subtasks=None)
            self.root.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def __exit__(self, *error: object) -> None:
        if self.watched and error[0] is None:
            self.root.call_on_fit_task_end(estimator=self.estimator)

    def tell(self, text: str) -> None:
        """Announce that a stage is over, and what it found."""
        if self.watched:
            stage = self.root.subcontext(task_name="stage")
            stage.call_on_fit_task_begin(estimator=self.estimator)
            stage.call_on_fit_task_end(estimator=self.estimator)
        if self.estimator.verbose:
            seconds = time.perf_counter() - self.started
            print(f"{type(self.estimator).__name__}: {text}, {seconds:.1f} s")

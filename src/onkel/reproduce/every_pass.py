"""What is noted after every pass of a fit."""

import math
import time
from collections.abc import Callable
from typing import Any

from onkel.reproduce.runner import TooLongError


class EveryPass:
    """A callback that looks at the learner after every pass; gives up if it is slow.

    Parameters
    ----------
    note
        Called with the learner.
    passes
        That there will be.
    limit
        Seconds for all of them; the first compiles, too.
    """

    def __init__(
        self, note: Callable[[Any], None], passes: int, limit: float = math.inf
    ) -> None:
        self.note, self.passes, self.limit = note, passes, limit
        self.done, self.started = 0, time.perf_counter()

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing: part of scikit-learn's protocol."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing: part of scikit-learn's protocol."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing: part of scikit-learn's protocol."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any
    ) -> None:
        """Note the model so far.

        Raises
        ------
        TooLongError
            If all passes will take longer than the limit.
        """
        if context.task_name != "pass":
            return
        self.note(fitted_estimator._learner)
        self.done += 1
        forecast = (time.perf_counter() - self.started) * self.passes / self.done
        if forecast > self.limit:
            raise TooLongError(forecast)

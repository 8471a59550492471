"""What KernelClassifier and KernelRegressor share when they learn from all rows."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils._param_validation import Interval

from onkel.engine.fitted_expansion import FittedExpansion, expansion_of
from onkel.engine.threads import CHUNK
from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._distances import SOME_ROWS, squared_distances
from onkel.estimators._expansion import ExpansionEstimator
from onkel.estimators._groups import Blockwise, OnDevice
from onkel.estimators._parameters import (
    AUTO,
    BOOLEAN,
    FROM_ONE,
    POSITIVE,
    UP_TO_A_MILLION,
    group,
    parameter,
)
from onkel.estimators._progress import Stages
from onkel.problem import kernels
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.refit import devices, machine
from onkel.refit.centers import merged_centers
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.fitter import Solution
from onkel.refit.held_out import Targets
from onkel.refit.machine import Request
from onkel.refit.soft_scaler import SoftScaler

# Beyond this nothing is left of the regulariser.
LARGEST_C = 1e10
# Rows that are fitted before time is taken.
SOME_TO_COMPILE = 64
# Kernel values of a prediction from which on a GPU is worthwhile.
MUCH = 2**28


@group
class KernelMachine(OnDevice, Blockwise, ExpansionEstimator):
    """A kernel machine that finds its parameters itself."""

    budget: int | str = parameter(
        AUTO,
        FROM_ONE,
        default=500,
        text='Centres of the model. "auto": doubled until the error on rows held out '
        "stops falling, there are 4,000, or time_limit comes near.",
    )
    gamma: float | str = parameter(
        AUTO,
        POSITIVE,
        default="auto",
        text='Kernel coefficient, for scaled features. "auto": found.',
    )
    C: float | str = parameter(
        AUTO,
        Interval(Real, 0, LARGEST_C, closed="right"),
        default="auto",
        text='Weight of the losses against the regulariser. "auto": found.',
    )
    scale: bool = parameter(
        BOOLEAN,
        default=True,
        text="Whether to scale the features: dense ones to mean 0 and a spread of 1, "
        "by logarithms far from it, sparse ones by their maximum.",
    )
    adapt: bool = parameter(
        BOOLEAN,
        default=True,
        text="Whether centres move and features get weights (relevance_) where that "
        "helps on rows held out, of 6,000 rows or more; with fewer than twenty rows "
        "for each centre (ten of values) only the weights, found with fewer centres.",
    )
    memory_size: int = parameter(
        UP_TO_A_MILLION,
        default=10_000,
        text="Rows of the recent past to which a stream is fitted anew.",
    )
    time_limit: float | None = parameter(
        POSITIVE,
        None,
        default=None,
        text="Seconds that fit may take, after its code is compiled; a warning says "
        "what was left out for that. None for no limit; with one the model depends on "
        "the clock. A limit too short for any model is exceeded.",
    )
    scoring: str | None = parameter(
        default=None,
        text="Name of the scoring, one of scikit-learn's, by which rows held out judge "
        "gamma, C, the centres and the budget, and which `held_out_score_` is. None: "
        "mistakes, or squared errors, by the weights of the rows.",
    )
    verbose: int = parameter(
        default=0, text="Whether to print what was found on the way."
    )

    is_regression = False

    @property
    def held_out_score_(self) -> float:
        """Score on rows that were held out: the model's own estimate.

        By `scoring`; without it accuracy, or R^2, as `score` finds them on rows of the
        same kind. Rows count by their sample_weight there, never by class_weight.
        """
        scoring = self._started_with.get("scoring")
        return self._score_of(self.held_out_error_, scoring)

    @abstractmethod
    def _score_of(self, error: float, scoring: str | None) -> float:
        """Score that an error on rows held out amounts to."""

    @abstractmethod
    def _smooth_loss(self) -> Loss:
        """Loss of the convex problem."""

    # ---- scale

    def _learn_scale(self, X: Any) -> None:
        self.scaler_, self.relevance_ = None, np.ones(X.shape[1])
        if self.scale:
            scaler = MaxAbsScaler() if scipy.sparse.issparse(X) else SoftScaler()
            self.scaler_ = scaler.set_output(transform="default").fit(X)

    def _scaled(self, X: Any) -> Any:
        return self._scaled_by(self.scaler_, X)

    def _scaled_by(self, scaler: Any, X: Any) -> Any:
        if scaler is None:
            return X
        if not isinstance(scaler, MaxAbsScaler) and scipy.sparse.issparse(X):
            X = X.toarray()
        return scaler.transform(X).astype(X.dtype, copy=False)

    def _scaled_to_single(self, X: Any) -> Any:
        """Scaled rows, in single precision if they are: they need no more then.

        Some at a time, so that there is no second copy in double precision.
        """
        if self.scaler_ is None:
            return X
        if scipy.sparse.issparse(X):
            return self._scaled(X).astype(np.float32)
        out = np.empty(X.shape, np.float32)
        for first in range(0, len(X), CHUNK):
            part = slice(first, first + CHUNK)
            out[part] = self._scaled(X[part])
        return out

    # ---- prediction

    def _machine_scores(self, expansion: FittedExpansion, rows: Any) -> np.ndarray:
        """Scores of rows, scaled; on a GPU where that is wanted, and there is one.

        A model that a GPU has fitted predicts anywhere.
        """
        is_much = rows.shape[0] * expansion.size >= MUCH or self.device == devices.CUDA
        if self.device == devices.CPU or not is_much:
            return expansion.score(rows, self._n_jobs())
        return devices.carry_out(
            *(devices.AUTO, is_much, self._n_jobs()),
            lambda device: device.score(expansion, rows),
            self._warn_of_device,
        )

    # ---- learning from all rows

    def _solved(
        self, X: Any, y: np.ndarray, weight: Any, outputs: int, rng: np.random.Generator
    ) -> FittedExpansion:
        """Find everything, within the limit of time."""
        weight = np.ones(len(y)) if weight is None else weight
        if self.time_limit is not None:
            self._compile(X, y, weight, outputs)
        deadline = Deadline(self.time_limit)
        self._learn_scale(X)
        self._guess(X)
        self._scale_targets(y)
        budget = None if self.budget == "auto" else int(self.budget)
        with Stages(self) as stages:
            found = self._found(
                *(X, y, weight, outputs, rng, budget, stages.tell, deadline)
            )
        solved = self._expansion(X, found.points, found.coef)
        self._warn_of_overlooked(found)
        self._say_what_was_left_out(deadline)
        return solved

    def _expansion(
        self, X: Any, points: np.ndarray, coef: np.ndarray
    ) -> FittedExpansion:
        """What was found, in the precision of the rows."""
        found = expansion_of(self._kernel(X), points.astype(X.dtype), coef)
        self._refuse_overflow(not found.is_bounded)
        return found

    def _kernel(self, X: Any) -> Kernel:
        return kernels.make("rbf", self.gamma_, 1, 0.0)

    def _compile(self, X: Any, y: np.ndarray, weight: np.ndarray, outputs: int) -> None:
        """Fit some rows, so that the limit is not spent on compiling."""
        few = slice(SOME_TO_COMPILE)
        self._learn_scale(X[few])
        self._scale_targets(y[few])
        rows, targets = (
            self._scaled_to_single(X[few]),
            self._targets(y[few], weight[few], outputs),
        )
        request = Request(
            *(SOME_TO_COMPILE // 4, 1.0, 1.0),
            device=self.device,
            is_much=len(y) >= machine.MANY_ROWS,
        )
        machine.fit(
            *(self._find_centers, rows, targets, request, 1.0),
            np.random.default_rng(0),
            warn=lambda text: None,  # fit itself will say it
        )

    def _say_what_was_left_out(self, deadline: Deadline) -> None:
        if not deadline.left_out:
            return
        over = "" if deadline.left >= 0.0 else f", and took {-deadline.left:.1f} s more"
        warnings.warn(
            f"time_limit={self.time_limit:g} made {type(self).__name__} leave out: "
            f"{'; '.join(deadline.left_out)}{over}. The model works, and may be less "
            "accurate than it could be: give it more time, or a smaller budget.",
            stacklevel=levels_to_the_caller(),
        )

    def _scale_targets(self, y: np.ndarray) -> None:
        """Learn the scale of targets; labels have none."""

    def _guess(self, X: Any) -> None:
        """Make a first guess at everything, from some rows."""
        median = self._median(X, self.scaler_)
        self._start = 1.0 / median if median > 0.0 else 1.0
        self.gamma_ = self._start if self.gamma == "auto" else float(self.gamma)
        self.C_ = 1.0 if self.C == "auto" else float(self.C)
        self.held_out_error_ = math.nan

    def _median(self, X: Any, scaler: Any) -> float:
        """Median of the squared distances of some rows, scaled; 0 without any."""
        return self._median_of(self._scaled_by(scaler, X[:SOME_ROWS]))

    def _median_of(self, rows: Any) -> float:
        distances = squared_distances(rows[:SOME_ROWS])
        return float(np.median(distances)) if len(distances) else 0.0

    def _targets(self, y: np.ndarray, weight: np.ndarray, outputs: int) -> Targets:
        return Targets(y, weight, outputs, self._smooth_loss(), self.is_regression)

    def _judged(self, targets: Targets) -> Targets:
        """Say how models are judged."""
        return targets

    def _warn_of_overlooked(self, found: Solution) -> None:
        """Say so if there are classes that are never predicted."""

    def _found(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        outputs: int,
        rng: np.random.Generator,
        budget: int | None,
        tell: Callable[[str], None] = lambda text: None,
        deadline: Deadline = ENDLESS,
    ) -> Solution:
        """Fit a machine to the rows, and take note of what it says of itself."""
        targets = self._targets(y, weight / max(float(weight.mean()), 1e-300), outputs)
        targets = self._judged(targets)
        request = Request(
            budget,
            None if self.gamma == "auto" else float(self.gamma),
            None if self.C == "auto" else float(self.C),
            self._n_jobs(),
            self.adapt,
            self.device,
            is_much=len(y) >= machine.MANY_ROWS,
        )
        found = machine.fit(
            *(self._find_centers, self._scaled_to_single(X), targets, request),
            *(self._start, rng, tell, deadline),
            warn=self._warn_of_device,
        )
        self.gamma_, self.C_, self.held_out_error_ = found.gamma, found.C, found.stated
        self.relevance_ = found.relevance
        self._take_slopes(found.slopes)
        return found

    def _find_centers(
        self, X: Any, targets: Targets, gamma: float, budget: int
    ) -> np.ndarray:
        return merged_centers(X, targets, gamma, budget, self._n_jobs())

    def _take_slopes(self, slopes: np.ndarray | None) -> None:
        """Keep what makes probabilities of scores."""

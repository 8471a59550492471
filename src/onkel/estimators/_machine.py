"""What KernelClassifier and KernelRegressor share: all but what they predict."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, cast

import numpy as np
import scipy.sparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from onkel.budget.bernoulli import Bernoulli
from onkel.budget.declaration import UNLIMITED
from onkel.budget.project_all import ProjectAll
from onkel.budget.remove import Remove
from onkel.engine.learner import Learner, Shape
from onkel.engine.mixture import mix
from onkel.engine.threads import CHUNK
from onkel.estimators._base import KernelEstimator, Recipe
from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._distances import SOME_ROWS, squared_distances
from onkel.estimators._groups import Blockwise
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
from onkel.problem import kernels, rates, steps
from onkel.problem.kernels import Kernel
from onkel.refit import machine
from onkel.refit.centers import merged_centers
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.extent import Extent
from onkel.refit.fitter import Solution
from onkel.refit.held_out import Targets
from onkel.refit.machine import Request
from onkel.refit.reservoir import Reservoir
from onkel.refit.values import weighed

# Rows of a stream before the first re-fit, and the growth from one to the next.
FIRST_REFIT, GROWTH = 256, 1.3
COUNTERS = ("t", "updates", "maintenance", "mistakes")
# Share of the budget that is the quick learner's.
QUICK = 0.8
# Its longest step: passive-aggressive steps are rarely as long, so it just repairs.
LONGEST_STEP = 8.0
# Rate at which the weights of the mixture learn, and the largest margin they see.
MIXING, LIMIT = 0.01, 3.0
# Most centres in a stream, if nobody says how many.
AUTO_IN_A_STREAM = 500
# To learn from.
NOTHING = np.zeros(0)
# Beyond this nothing is left of the regulariser.
LARGEST_C = 1e10
# Rows that are fitted before time is taken.
SOME_TO_COMPILE = 64


@group
class KernelMachine(Blockwise, KernelEstimator):
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
        text="Whether to scale the features: dense ones to mean 0 and variance 1, "
        "sparse ones by their maximum.",
    )
    adapt: bool = parameter(
        BOOLEAN,
        default=True,
        text="Whether centres move and features get weights (relevance_) where that "
        "helps on rows held out, of 6,000 rows or more; with fewer than twenty rows "
        "for each centre only the weights, found with fewer centres.",
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
    _quick = cast(Learner | None, None)

    # ---- what was learnt

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

    @property
    def support_vectors_(self) -> np.ndarray:
        """Centres: those of the fitted learner, in features scaled, times relevance_.

        In a stream those of the quick learner follow, in features scaled.
        """
        self._fitted()
        return np.concatenate([learner.points for learner in self._learners()])

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the centres; in a stream times the learners' weights."""
        coefs = [learner.coef for learner in (self._fitted(), *self._learners()[1:])]
        if len(coefs) == 1:
            return coefs[0]
        weights = self.mixture_.astype(self._dtype)
        return np.concatenate([w * c for w, c in zip(weights, coefs, strict=True)], 1)

    @property
    def model_size_(self) -> int:
        """Number of centres, in a stream of both learners."""
        self._fitted()
        return sum(learner.size for learner in self._learners())

    def _learners(self) -> list[Learner]:
        return super()._learners() + ([] if self._quick is None else [self._quick])

    def _fork(self) -> None:
        super()._fork()
        if self._quick is not None:
            self._quick = self._quick.fork()

    # The re-fit takes its statistics anew, from rows of its own.
    _longest_beginning = FIRST_REFIT // 2

    def _depends_on_rows(self) -> bool:
        return True

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._scaled(self._checked_rows(X))
        scores = self._learner.score(weighed(rows, self.relevance_), self._n_jobs())
        if self._quick is not None:
            quick = self._quick.score(rows, self._n_jobs())
            both = np.stack([scores, quick], axis=1).astype(np.float64)
            scores = self._mixed(both, self.mixture_).astype(self._dtype)
        return self._answers(scores)

    def _answers(self, scores: np.ndarray) -> np.ndarray:
        """What scores stand for: in regression, targets were scaled."""
        return scores

    # ---- scale

    def _learn_scale(self, X: Any) -> None:
        self.scaler_, self.relevance_ = None, np.ones(X.shape[1])
        if self.scale:
            scaler = MaxAbsScaler() if scipy.sparse.issparse(X) else StandardScaler()
            self.scaler_ = scaler.set_output(transform="default").fit(X)

    def _scaled(self, X: Any) -> Any:
        if self.scaler_ is None:
            return X
        if isinstance(self.scaler_, StandardScaler) and scipy.sparse.issparse(X):
            X = X.toarray()
        return self.scaler_.transform(X).astype(X.dtype, copy=False)

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

    # ---- learning from all rows

    def _fit(self, X: Any, y: np.ndarray, weight: Any, outputs: int) -> None:
        weight = np.ones(len(y)) if weight is None else weight
        order, draws, _ = self._seeds()
        if self.time_limit is not None:
            self._compile(X, y, weight, outputs)
        deadline = Deadline(self.time_limit)
        self._learn_scale(X)
        self._guess(X)
        self._scale_targets(y)
        budget = None if self.budget == "auto" else int(self.budget)
        with Stages(self) as stages:
            found = self._found(
                *(X, y, weight, outputs, order, budget, stages.tell, deadline)
            )
        self._learner = self._fixed(found, X, outputs, draws)
        self._learner.counters.t = len(y)
        self._warn_of_overlooked(found)
        # Not before there are as many recent rows as these, or as can be kept.
        enough = min(len(y), self.memory_size)
        first = max(math.ceil(GROWTH * len(y)), len(y) + enough)
        self._begin_stream(X, first, self._first_weights())
        self._started_with = self._learning_parameters()
        self.n_iter_ = 1
        self._say_what_was_left_out(deadline)

    def _compile(self, X: Any, y: np.ndarray, weight: np.ndarray, outputs: int) -> None:
        """Fit some rows, so that the limit is not spent on compiling."""
        few = slice(SOME_TO_COMPILE)
        self._learn_scale(X[few])
        self._scale_targets(y[few])
        rows, targets = (
            self._scaled_to_single(X[few]),
            self._targets(y[few], weight[few], outputs),
        )
        request, rng = Request(SOME_TO_COMPILE // 4, 1.0, 1.0), np.random.default_rng(0)
        machine.fit(self._find_centers, rows, targets, request, 1.0, rng)

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
        distances = squared_distances(self._scaled(X[:SOME_ROWS]))
        median = float(np.median(distances)) if len(distances) else 0.0
        self._start = 1.0 / median if median > 0.0 else 1.0
        self.gamma_ = self._start if self.gamma == "auto" else float(self.gamma)
        self.C_ = 1.0 if self.C == "auto" else float(self.C)
        self.held_out_error_ = math.nan

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
        )
        found = machine.fit(
            *(self._find_centers, self._scaled_to_single(X), targets, request),
            *(self._start, rng, tell, deadline),
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

    # ---- learning from a stream

    def _kernel(self, X: Any) -> Kernel:
        return kernels.make("rbf", self.gamma_, 1, 0.0)

    def _recipe(self, n_rows: int | None) -> Recipe:
        """How the quick learner learns a row; the other one never changes."""
        return Recipe(
            self._online_loss(),
            rates.constant(),
            steps.passive_aggressive(LONGEST_STEP),
            ProjectAll(self._quick_size()),
        )

    def _in_a_stream(self) -> int:
        """Budget of a stream."""
        return AUTO_IN_A_STREAM if self.budget == "auto" else int(self.budget)

    def _quick_size(self) -> int:
        """Part of the budget that is the quick learner's."""
        return max(round(QUICK * self._in_a_stream()), 1)

    def _fixed(
        self, found: Solution | None, X: Any, outputs: int, draws: np.random.Generator
    ) -> Learner:
        """Make a learner that has what was found, or nothing."""
        size = 1 if found is None else len(found.points)
        plan = self._plan(self._kernel(X), self._recipe(None))
        budget = Bernoulli(size, math.inf, UNLIMITED, Remove())
        learner = Learner(plan, budget, Shape(outputs, X.shape[1], X.dtype), draws)
        if found is not None:
            learner.adopt(found.points, found.coef)
            self._refuse_infinity(learner)
        return learner

    def _blank(self, outputs: int, features: int, dtype: Any, like: Any) -> Learner:
        """Make either of its learners, empty; what it has learnt on is its own."""
        self._take_statistics(like)
        self._check_parameters()
        self.gamma_ = self._start = float(self.gamma)
        X = np.zeros((1, features), dtype)
        if isinstance(like.budget, ProjectAll):
            return self._quick_learner(1.0, X, outputs)
        learner = self._fixed(None, X, outputs, np.random.default_rng(0))
        # It never learns: it may have what was found, and no more.
        size = max(int(like.counters.count), 1)
        learner.budget = learner.budget._replace(limit=size)
        return learner

    def _take_statistics(self, like: Any) -> None:
        self.gamma = like.plan.kernel.gamma

    def _quick_learner(self, gamma: float, X: Any, outputs: int) -> Learner:
        kernel = kernels.make("rbf", gamma * self._start, 1, 0.0)
        recipe = self._recipe(None)
        plan, rng = self._plan(kernel, recipe), np.random.default_rng(0)
        return Learner(plan, recipe.budget, Shape(outputs, X.shape[1], X.dtype), rng)

    def _new_learner(
        self, X: Any, outputs: int, n_rows: int | None
    ) -> tuple[Learner, np.random.Generator]:
        order, draws, _ = self._seeds()
        self._learn_scale(X)
        self._guess(X)
        self._begin_stream(X, FIRST_REFIT, np.ones(2))
        return self._fixed(None, X, outputs, draws), order

    def _begin_stream(self, X: Any, first: int, weights: np.ndarray) -> None:
        self._recent = Reservoir(self.memory_size)
        self._next_refit = first
        self._extent = Extent.empty(X)
        self._quick = None
        self._quick_gamma = 1.0  # of it, in units of the first guess
        self.mixture_ = weights

    def _learn(
        self,
        learner: Learner,
        X: Any,
        y: Any,
        weight: Any,
        order: Any = None,
        first: int = 0,
    ) -> Iterator[np.ndarray]:
        weight = np.ones(len(y)) if weight is None else weight
        if self._learner.counters.t == 0:
            self._scale_targets(y)
        for start, stop in self._until_refits(len(y)):
            part = slice(start, stop)
            yield self._learn_part(X[part], y[part], weight[part], first + start)

    def _pass_over(self, X: Any, weight: np.ndarray | None) -> None:
        weight = np.ones(X.shape[0]) if weight is None else weight
        for start, stop in self._until_refits(X.shape[0]):
            part = slice(start, stop)
            self._take(X[part], np.zeros(stop - start), weight[part])

    def _until_refits(self, rows: int) -> Iterator[tuple[int, int]]:
        """Cut rows where a re-fit is due, and make it."""
        start = 0
        while start < rows:
            due = max(self._next_refit - int(self._learner.counters.t), 1)
            stop = min(rows, start + due)
            yield start, stop
            if self._learner.counters.t >= self._next_refit:
                self._refit_recent()
                self._next_refit = math.ceil(GROWTH * self._learner.counters.t)
            start = stop

    @abstractmethod
    def _first_weights(self) -> np.ndarray:
        """Weights of the fixed and the quick learner, before any were learnt."""

    def _learn_part(
        self, X: Any, y: np.ndarray, weight: np.ndarray, first: int
    ) -> np.ndarray:
        """Learn some rows; returns their answers before each was learnt."""
        model, rows = self._learner.model, self._scaled(X)
        outputs = len(model.coef)
        targets = self._targets(y, weight, outputs)
        if self._quick is None:
            self._quick = self._quick_learner(self._quick_gamma, X, outputs)
        scores = np.zeros((len(y), 2, outputs))
        known = weighed(rows, self.relevance_)
        scores[:, 0] = self._learner.score(known, self._n_jobs())
        done = 0
        for some in super()._learn(self._quick, rows, targets.y, weight, None, first):
            scores[done : done + len(some), 1] = some
            done += len(some)
        self.mixture_ = self.mixture_.copy()
        mixed = self._mixed(scores, self.mixture_, targets.y)
        wrong = self._count_mistakes(mixed, targets.y)
        counters, quick = self._learner.counters, self._quick.counters
        counters.mistakes += wrong
        counters.updates, counters.maintenance = quick.updates, quick.maintenance
        self._take(X, self._index(y), weight)
        return self._answers(mixed.astype(self._dtype))

    def _take(self, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        """Count rows, and keep them for the next re-fit."""
        self._extent = self._extent.grown(X)
        self._learner.skip(len(y))
        self._recent = self._recent.copy()
        self._recent.add(X, y, weight)

    def _mixed(
        self, scores: np.ndarray, weights: np.ndarray, y: np.ndarray = NOTHING
    ) -> np.ndarray:
        """Mix the scores of both learners; the weights change, if they learn from y."""
        out = np.empty((len(scores), scores.shape[2]))
        limit = self._largest_score()
        mix(self._mixture_loss(), scores, y, weights, MIXING, limit, out)
        return out

    def _largest_score(self) -> float:
        """Return the largest score that the weights of the mixture see."""
        return LIMIT

    def _refit_recent(self) -> None:
        """Fit a machine to the recent rows.

        While these are all rows so far, the quick learner sees them again, with the
        gamma that makes the fewest mistakes; later it goes on as it is.
        """
        X, y, weight = self._recent.rows()
        learner, outputs = self._learner, len(self._learner.model.coef)
        if not self._is_enough(y, weight):
            return
        signed = y if self.is_regression or outputs > 1 else 2.0 * y - 1.0
        rng = np.random.default_rng(learner.rng.integers(2**32))
        before = self.scaler_
        if before is not None:
            self.scaler_ = self._extent.scaler(before)
        self._guess(X)
        if learner.counters.t <= self.memory_size:
            self._scale_targets(y)
        fixed = self._in_a_stream() - self._quick_size()
        found = self._found(X, signed, weight, outputs, rng, max(fixed, 1))
        if learner.size == 0 and self.is_regression:
            # Both predict the whole target, so that they must not be added up.
            self.mixture_ = self._first_weights()
        self._learner = self._fixed(found, X, outputs, learner.rng)
        for name in COUNTERS:
            setattr(self._learner.counters, name, getattr(learner.counters, name))
        if learner.counters.t <= self.memory_size:
            self._replay(X, signed, weight)
        else:
            self._carry_over(before, X)

    def _carry_over(self, before: Any, X: Any) -> None:
        """Let the quick learner go on in another scale: move its centres there."""
        quick = self._quick
        if quick is None or before is None:
            return
        points = self._scaled(before.inverse_transform(quick.points)).astype(X.dtype)
        shape = Shape(len(quick.model.coef), points.shape[1], X.dtype)
        moved = Learner(quick.plan, quick.budget, shape, quick.rng)
        moved.adopt(points, quick.coef)
        for name in COUNTERS:
            setattr(moved.counters, name, getattr(quick.counters, name))
        self._quick = moved

    def _replay(self, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        outputs, rows = len(self._learner.model.coef), self._scaled(X)
        targets = self._targets(y, weight, outputs)
        tried = []
        for factor in (0.5, 1.0, 2.0):
            gamma = self._quick_gamma * factor
            quick = self._quick_learner(gamma, X, outputs)
            scores = list(super()._learn(quick, rows, targets.y, weight))
            error = targets.error(np.concatenate(scores), np.arange(len(y)))
            tried.append((error, gamma, quick))
        _, self._quick_gamma, self._quick = min(tried, key=lambda entry: entry[:2])

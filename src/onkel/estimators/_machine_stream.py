"""What KernelClassifier and KernelRegressor share in a stream: three models.

A fixed one was fitted to the last rows, and is fitted anew now and then. Two quick ones
learn each row at once, on the same centres and from the same kernel values: recursive
least squares, and steps that repair (`onkel.engine.recursive`). They answer together,
by `onkel.engine.mixture`.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from onkel.engine import posterior
from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner, Shape, same_generator
from onkel.engine.mixture import mix
from onkel.engine.recipe import Recipe
from onkel.engine.recursive import RecursivePlan, Repair
from onkel.estimators._machine import KernelMachine
from onkel.estimators._stream import StreamEstimator
from onkel.problem import kernels, losses, rates, steps
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.refit.extent import Extent
from onkel.refit.reservoir import Reservoir
from onkel.refit.soft_scaler import SoftScaler
from onkel.refit.values import weighed

# Rows of a stream before the first re-fit, and the growth from one to the next, or
# after a label that the fixed model does not know.
FIRST_REFIT, GROWTH, SOON = 256, 1.6, 1.2
# Share of the budget that is the quick learners', unless the fixed one would have fewer
# centres for each output; and how many they are. With fewer centres than these the norm
# of the function says better who leaves, with more it is dearer.
QUICK, FOR_EACH, LEARNERS, FEW_CENTRES = 0.8, 3, 2, 100
# Their longest step: passive-aggressive steps are rarely as long, so it just repairs.
LONGEST_STEP = 8.0
# Noise of the targets to begin with, and what must be new in a row that is kept.
NOISE, THRESHOLD = 0.1, 1e-3
# What is tried in place of gamma and noise, in units of what is there, and of what a
# row leaves of those before it. Classes tell little of noise.
GAMMAS, NOISES, FORGETTINGS = (1.0, 0.5, 2.0), (0.25, 4.0), (1.0, 0.998)
# How many rows may have come by then, and have to before they say what to forget; few
# would often have something else, so that it must be better by so much.
YOUNG, TELLING, CLEAR = 5000, 1000, 0.05
# Rate at which the weights of the mixture learn, and the largest margin they see.
MIXING, LIMIT = 0.02, 3.0
# Most centres in a stream, if nobody says how many.
AUTO_IN_A_STREAM = 500
# To learn from.
NOTHING = np.zeros(0)


class Given(NamedTuple):
    """What is chosen for the quick learners by trial."""

    gamma: float
    noise: float
    forgetting: float


@dataclass
class Tally:
    """What all models have seen and done, whichever of them are there."""

    t: int = 0
    updates: int = 0
    maintenance: int = 0
    mistakes: int = 0


class StreamingMachine(KernelMachine, StreamEstimator):
    """A kernel machine that goes on learning."""

    _fixed: FittedExpansion
    _quick: Learner | None = None
    _tally: Tally
    _draws: np.random.Generator  # of the seeds of its re-fits

    # The re-fit takes its statistics anew, from rows of its own.
    _longest_beginning = FIRST_REFIT // 2

    # ---- what was learnt

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fixed")

    def _answer(self) -> FittedExpansion:
        """Return the fixed model."""
        # AttributeError, so that hasattr is False before fit
        if not hasattr(self, "_fixed"):
            raise AttributeError(
                f"This {type(self).__name__} is not fitted yet: call fit or partial_fit"
            )
        return self._fixed

    @property
    def _counters(self) -> Tally:
        self._answer()
        return self._tally

    @property
    def _dtype(self) -> Any:
        return self._fixed.coef.dtype

    @property
    def _outputs(self) -> int:
        return len(self._fixed.coef)

    @property
    def support_vectors_(self) -> np.ndarray:
        """Centres: those of the fitted learner, in features scaled, times relevance_.

        In a stream those of the quick learners follow, in features scaled for them.
        """
        others = [learner.points for learner in self._learners()]
        return np.concatenate([self._answer().centers, *others])

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of the centres; in a stream times the learners' weights."""
        coef = self._answer().center_coef
        if self._quick is None:
            return coef
        fixed, *weights = self.mixture_.astype(self._dtype)
        quick = np.tensordot(weights, self._apart(self._quick.coef.T), (0, 1))
        return np.concatenate([fixed * coef, quick.T], axis=1)

    @property
    def model_size_(self) -> int:
        """Number of centres, in a stream of both learners."""
        return self._answer().size + sum(learner.size for learner in self._learners())

    def _learners(self) -> list[Learner]:
        return [] if self._quick is None else [self._quick]

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._scaled(self._checked_rows(X))
        weighted = weighed(rows, self.relevance_)
        scores = self._machine_scores(self._fixed, weighted)
        if self._quick is not None:
            rows = self._scaled_for_quick(self._checked_rows(X), rows)
            quick = self._apart(self._quick.score(rows, self._n_jobs()))
            all_of_them = np.concatenate([scores[:, np.newaxis], quick], axis=1)
            mixed = self._mixed(all_of_them.astype(np.float64), self.mixture_)
            scores = mixed.astype(self._dtype)
        return self._meant(scores)

    def _apart(self, scores: np.ndarray) -> np.ndarray:
        """Scores of the quick learners, of shape (rows, learners, outputs)."""
        return scores.reshape(len(scores), LEARNERS, -1)

    def _scaled_for_quick(self, X: Any, scaled: Any) -> Any:
        """Rows as the quick learners know them; `scaled` are those of the fixed one."""
        same = self._quick_scaler is self.scaler_
        return scaled if same else self._scaled_by(self._quick_scaler, X)

    def _meant(self, scores: np.ndarray) -> np.ndarray:
        """What scores stand for: in regression, targets were scaled."""
        return scores

    # ---- beginning

    def _fit(self, X: Any, y: np.ndarray, weight: Any, outputs: int) -> None:
        order, self._draws, _ = self._seeds()
        self._fixed = self._solved(X, y, weight, outputs, order)
        self._tally = Tally(t=len(y))
        # Not before there are as many recent rows as these, or as can be kept.
        enough = min(len(y), self.memory_size)
        first = max(math.ceil(GROWTH * len(y)), len(y) + enough)
        self._go_on_from(X, first, self._first_weights())
        self._started_with = self._learning_parameters()
        self.n_iter_ = 1

    def _depends_on_rows(self) -> bool:
        return True

    def _begin(self, X: Any, outputs: int) -> None:
        _, self._draws, _ = self._seeds()
        self._learn_scale(X)
        self._guess(X)
        none = np.zeros((0, X.shape[1]))
        self._fixed = self._expansion(X, none, np.zeros((outputs, 0)))
        self._tally = Tally()
        self._go_on_from(X, FIRST_REFIT, self._weights_of_none())

    def _go_on_from(self, X: Any, first: int, weights: np.ndarray) -> None:
        """Be ready for a stream, with the first re-fit after so many rows in all."""
        self._recent = Reservoir(self.memory_size)
        self._next_refit = first
        self._extent = Extent.empty(X)
        self._quick, self._quick_scaler = None, self.scaler_
        self._quick_gamma, self._quick_noise = self._start, NOISE
        self._quick_forgetting = FORGETTINGS[0]
        self.mixture_ = weights

    def _fork(self) -> None:
        self._tally, self._draws = replace(self._tally), same_generator(self._draws)
        if self._quick is not None:
            self._quick = self._quick.fork()

    def _refuse_endless(self) -> None:
        """Refuse nothing: all parameters are for streams, too."""

    # ---- the quick learner

    @abstractmethod
    def _online_loss(self) -> Loss:
        """Loss of the quick learner that repairs."""

    def _in_a_stream(self) -> int:
        """Budget of a stream."""
        return AUTO_IN_A_STREAM if self.budget == "auto" else int(self.budget)

    def _quick_size(self, outputs: int) -> int:
        """Part of the budget that is the quick learners'."""
        budget = self._in_a_stream()
        fixed = max(budget - round(QUICK * budget), FOR_EACH * max(outputs, 2))
        return max(budget - min(fixed, budget // 2), 1)

    def _quick_learner(
        self, given: Given, X: Any, outputs: int, size: int | None = None
    ) -> Learner:
        """Make them, as one who has learnt nothing; of that size, if it is settled."""
        step = steps.passive_aggressive(LONGEST_STEP)
        size = self._quick_size(outputs) if size is None else size
        plan = RecursivePlan(
            kernels.make("rbf", given.gamma, 1, 0.0),
            losses.make("squared_error"),
            rates.constant(),
            False,
            given.noise,
            given.forgetting,
            THRESHOLD,
            labels=not self.is_regression,
            by_norm=size < FEW_CENTRES,
            repair=Repair(self._online_loss(), step, True),
        )
        recipe = Recipe(plan, posterior.make(size))
        shape = Shape(LEARNERS * outputs, X.shape[1], X.dtype)
        return Learner(recipe, shape, np.random.default_rng(0))

    def _blank(self, outputs: int, features: int, dtype: Any, like: Any) -> Learner:
        """Make them for a model file to fill, with what is given to those there."""
        kinds = RecursivePlan, posterior.Posterior
        if (type(like.plan), type(like.budget)) != kinds:
            raise ValueError("its quick learners are none")
        self._settle_gamma(like.plan.kernel)
        self._check_parameters()
        X, plan = np.zeros((1, features), dtype), like.plan
        given = Given(self.gamma_, float(plan.noise), float(plan.forgetting))
        # It was settled by the labels that there were.
        size = int(like.budget.limit)
        if not 1 <= size <= self._in_a_stream():
            raise ValueError(f"its quick learners have a budget of {size}")
        return self._quick_learner(given, X, outputs, size)

    def _settle_gamma(self, kernel: Kernel) -> None:
        self.gamma = self.gamma_ = float(kernel.gamma)

    # ---- going on

    def _learn(self, X: Any, y: Any, weight: Any, first: int) -> Iterator[np.ndarray]:
        weight = np.ones(len(y)) if weight is None else weight
        if self._tally.t == 0:
            self._scale_targets(y)
        for part in self._until_refits(len(y)):
            yield self._learn_part(X[part], y[part], weight[part], first + part.start)

    def _pass_over(self, X: Any, weight: np.ndarray | None) -> None:
        weight = np.ones(X.shape[0]) if weight is None else weight
        for part in self._until_refits(X.shape[0]):
            self._take(X[part], np.zeros(part.stop - part.start), weight[part])

    def _until_refits(self, rows: int) -> Iterator[slice]:
        """Cut rows where a re-fit is due, and make it."""
        start = 0
        while start < rows:
            due = max(self._next_refit - self._tally.t, 1)
            stop = min(rows, start + due)
            yield slice(start, stop)
            if self._tally.t >= self._next_refit:
                self._refit_recent()
                self._next_refit = math.ceil(GROWTH * self._tally.t)
            start = stop

    @abstractmethod
    def _first_weights(self) -> np.ndarray:
        """Weights of the fixed and the quick learners, before any were learnt."""

    @abstractmethod
    def _weights_of_none(self) -> np.ndarray:
        """Weights where the fixed one is empty yet."""

    def _learn_part(
        self, X: Any, y: np.ndarray, weight: np.ndarray, first: int
    ) -> np.ndarray:
        """Learn some rows; returns their answers before each was learnt."""
        outputs, rows = self._outputs, self._scaled(X)
        targets = self._targets(y, weight, outputs)
        if self._quick is None:
            self._quick = self._quick_learner(self._given(), X, outputs)
        scores = np.zeros((len(y), 1 + LEARNERS, outputs))
        known = weighed(rows, self.relevance_)
        scores[:, 0] = self._fixed.score(known, self._n_jobs())
        rows = self._scaled_for_quick(X, rows)
        learning = self._learn_with(self._quick, rows, targets.y, weight, None, first)
        scores[:, 1:] = self._apart(np.concatenate(list(learning)))
        self.mixture_ = self.mixture_.copy()
        mixed = self._mixed(scores, self.mixture_, targets.y)
        quick = self._quick.counters
        self._tally.mistakes += self._count_mistakes(mixed, targets.y)
        self._tally.updates = int(quick.updates)
        self._tally.maintenance = int(quick.maintenance)
        self._take(X, self._index(y), weight)
        return self._meant(mixed.astype(self._dtype))

    @abstractmethod
    def _count_mistakes(self, scores: np.ndarray, y: np.ndarray) -> int:
        """Count rows whose class was not predicted; there are none in regression."""

    @abstractmethod
    def _index(self, y: np.ndarray) -> np.ndarray:
        """Targets as they are kept: class numbers, or the targets themselves."""

    def _take(self, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        """Count rows, and keep them for the next re-fit."""
        self._extent = self._extent.grown(X)
        self._tally.t += len(y)
        self._recent = self._recent.copy()
        self._recent.add(X, y, weight)

    @abstractmethod
    def _mixture_loss(self) -> Loss:
        """Loss by which the weights of the models are learnt."""

    def _mixed(
        self, scores: np.ndarray, weights: np.ndarray, y: np.ndarray = NOTHING
    ) -> np.ndarray:
        """Mix the scores of all models; the weights change, if they learn from y."""
        out = np.empty((len(scores), scores.shape[2]))
        limit = self._largest_score()
        mix(self._mixture_loss(), scores, y, weights, MIXING, limit, out)
        return out

    def _largest_score(self) -> float:
        """Return the largest score that the weights of the mixture see."""
        return LIMIT

    # ---- fitting anew

    @abstractmethod
    def _is_enough(self, y: np.ndarray, weight: np.ndarray) -> bool:
        """Whether rows are enough to hold some out."""

    def _refit_recent(self) -> None:
        """Fit a machine to the recent rows.

        While the stream is young, the quick learners see all rows again, with the gamma
        and so on that make the fewest mistakes; later they go on as they are.
        """
        X, y, weight = self._recent.rows()
        outputs = self._outputs
        is_young = self._tally.t <= min(self.memory_size, YOUNG)
        if not self._is_enough(y, weight):
            return
        signed = y if self.is_regression or outputs > 1 else 2.0 * y - 1.0
        rng = np.random.default_rng(self._draws.integers(2**32))
        if self.scaler_ is not None:
            self.scaler_ = self._extent.scaler(self.scaler_, X)
        self._guess(X)
        if is_young:
            self._scale_targets(y)
        fixed = self._in_a_stream() - self._quick_size(outputs)
        found = self._found(X, signed, weight, outputs, rng, max(fixed, 1))
        if self._fixed.size == 0 and self.is_regression:
            # All predict the whole target, so that they must not be added up.
            self.mixture_ = self._first_weights()
        self._fixed = self._expansion(X, found.points, found.coef)
        if is_young:
            self._replay(X, signed, weight)

    def _replay(self, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        """Let the quick learners see the rows again, and choose what suits them."""
        outputs = self._outputs
        targets, every = self._targets(y, weight, outputs), np.arange(len(y))
        tried = []
        for scaler, given in self._choices(X):
            quick = self._quick_learner(given, X, outputs)
            rows = self._scaled_by(scaler, X)
            learning = self._learn_with(quick, rows, targets.y, weight)
            scores = self._apart(np.concatenate(list(learning)))
            errors = [targets.error(scores[:, i], every) for i in range(LEARNERS)]
            error = float(np.mean(errors))
            tried.append((error, quick, scaler, given))
        now, best = tried[0], min(tried, key=lambda entry: entry[0])
        _, self._quick, self._quick_scaler, given = (
            best if best[0] < (1.0 - CLEAR) * now[0] else now
        )
        self._quick_gamma, self._quick_noise, self._quick_forgetting = given

    def _given(self) -> Given:
        """What was chosen for the quick learners."""
        return Given(self._quick_gamma, self._quick_noise, self._quick_forgetting)

    def _choices(self, X: Any) -> list[tuple[Any, Given]]:
        """Scales, and the rest, that the quick learners might have; first as it is.

        A feature that is rarely anything but 0 is worth little in units of its range,
        and much in units of its spread; which is right only rows can say.
        """
        now = self._given()
        if not isinstance(self.scaler_, SoftScaler):
            scales = [self.scaler_]
        else:
            dense = X.toarray() if scipy.sparse.issparse(X) else X
            ranges = MinMaxScaler().set_output(transform="default").fit(dense)
            scales = [self.scaler_, ranges]
            if isinstance(self._quick_scaler, MinMaxScaler):
                scales.reverse()
        given = [now._replace(gamma=factor * now.gamma) for factor in GAMMAS]
        if self.is_regression:
            given += [now._replace(noise=factor * now.noise) for factor in NOISES]
        if X.shape[0] >= TELLING:
            others = [each for each in FORGETTINGS if each != now.forgetting]
            given += [now._replace(forgetting=forgetting) for forgetting in others]
        found = [(scales[0], each) for each in given]
        for other in scales[1:]:
            wide, here = (self._median(X, scaler) for scaler in (other, scales[0]))
            if wide > 0.0 and here > 0.0:
                found.append((other, now._replace(gamma=now.gamma * here / wide)))
        return found

"""The quick learners of a kernel machine in a stream, and what suits them.

They learn each row at once, on the same centres and from the same kernel values
(`onkel.engine.recursive`): recursive least squares, once with a memory that forgets
slowly or nothing and once with one that forgets faster, and steps that repair.

Which gamma, scale of the features and so on they have is tried on rows that were seen:
when there are `FIRST_CHOICE` of them by learning these anew with each that is possible,
and going on with the best; later by learners with fewer centres, in the background. If
they find something clearly better, a successor learns the recent rows with it, some
with each row that comes, and takes over when it has caught up.
"""

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.preprocessing import MinMaxScaler

from onkel.engine import posterior
from onkel.engine.learner import Learner, Shape
from onkel.engine.recipe import Recipe
from onkel.engine.recursive_plan import RecursivePlan, Repair
from onkel.estimators._machine import KernelMachine
from onkel.estimators._stream import StreamEstimator
from onkel.problem import kernels, losses, rates, steps
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.refit.held_out import Targets
from onkel.refit.reservoir import Reservoir
from onkel.refit.soft_scaler import SoftScaler
from onkel.refit.values import weighed

# Most centres in a stream, if nobody says how many.
AUTO_IN_A_STREAM = 500
# Share of the budget that is the quick learners', unless the fixed one would have fewer
# centres for each output: who has too few does not know what has been long ago. How
# many quick learners there are. With fewer centres than these the norm of the function
# says better who leaves, with more it is dearer.
QUICK, FOR_EACH, LEARNERS, FEW_CENTRES = 0.75, 3, 3, 100
# Their longest step: passive-aggressive steps are rarely as long, so it just repairs.
LONGEST_STEP = 8.0
# What must be new in a row that is kept.
THRESHOLD = 1e-3
# Rows after which it is tried what suits, how many of the last are tried later on, and
# with which share of the centres. Share of the errors by which something else must be
# better: few rows would often have something else.
FIRST_CHOICE, TRIED, TRIED_WITH, FEWEST_TRIED, CLEAR = 256, 4096, 0.25, 20, 0.05
# What is tried in place of gamma and noise, in units of what is there, and of what a
# row leaves of those before it in the two memories. Classes tell little of noise, and
# need no faster memories: there are the steps that repair.
GAMMAS, NOISES, PACES = (0.5, 2.0), (0.25, 4.0), ((1.0, 0.9995), (0.998, 0.99))
# And scales: the present one, three others, and that of the fixed machine.
SCALES = 5
# Rows that a successor learns with every two that come.
PACE = 3


class Given(NamedTuple):
    """What is chosen for the quick learners by trial."""

    gamma: float
    noise: float = 0.1
    slow: float = PACES[0][0]
    fast: float = PACES[0][1]


class Choice(NamedTuple):
    """A scale of the features, and what goes with it."""

    scaler: Any  # None for none
    given: Given
    relevance: Any = None  # shape (features,): weights of scaled features, None for 1


class Successor(NamedTuple):
    """Quick learners that learn rows of the past, until they have caught up."""

    learner: Learner
    choice: Choice
    begun: int  # rows of the stream when it began
    start: int  # the first that it learns

    def learnt(self, t: int) -> int:
        """Return up to which row it has learnt after `t` rows of the stream."""
        return min(self.start + PACE * (t - self.begun) // 2, t)

    @property
    def due(self) -> int:
        """After how many rows of the stream it has caught up."""
        return self.begun + 2 * (self.begun - self.start) // (PACE - 2)


class QuickMachine(KernelMachine, StreamEstimator):
    """A kernel machine with learners that learn each row at once."""

    _quick: Learner | None = None
    _choice: Choice  # what they have
    _successor: Successor | None = None
    _recent: Reservoir

    @abstractmethod
    def _online_loss(self) -> Loss:
        """Loss of the learner that repairs."""

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
            given.slow,
            THRESHOLD,
            labels=not self.is_regression,
            by_norm=size < FEW_CENTRES,
            repair=Repair(self._online_loss(), step, True),
            faster=given.fast,
        )
        recipe = Recipe(plan, posterior.make(size, memories=LEARNERS - 1))
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
        # It was settled by the labels that there were.
        size = int(like.budget.limit)
        if not 1 <= size <= self._in_a_stream():
            raise ValueError(f"its quick learners have a budget of {size}")
        chosen = plan.noise, plan.forgetting, plan.faster
        given = Given(self.gamma_, *map(float, chosen))
        return self._quick_learner(given, X, outputs, size)

    def _settle_gamma(self, kernel: Kernel) -> None:
        self.gamma = self.gamma_ = float(kernel.gamma)

    @abstractmethod
    def _mixed_anew(self, scores: np.ndarray, targets: Targets) -> np.ndarray:
        """Mix the scores of the quick learners, with weights learnt from these rows."""

    # ---- rows and scores as they have them

    def _apart(self, scores: np.ndarray) -> np.ndarray:
        """Scores of the quick learners, of shape (rows, learners, outputs)."""
        return scores.reshape(len(scores), LEARNERS, -1)

    def _as_chosen(self, choice: Choice, X: Any) -> Any:
        """Rows as quick learners with that choice know them."""
        return weighed(self._scaled_by(choice.scaler, X), choice.relevance)

    # ---- what suits them

    def _choose(self, X: Any, y: np.ndarray, weight: np.ndarray, outputs: int) -> None:
        """Let them see the first rows again, and go on with what suits these."""
        self._learn_scale(X)
        self._guess(X)
        self._scale_targets(y)
        self._choice = Choice(self.scaler_, Given(self._start))
        rows, size = (X, y, weight, outputs), self._quick_size(outputs)
        self._choice = self._best_choice(rows, size) or self._choice
        self._quick = self._quick_learner(self._choice.given, X, outputs)
        self._learn_again(self._quick, self._choice, X, y, weight)

    def _better_choice(
        self, X: Any, y: np.ndarray, weight: np.ndarray, outputs: int
    ) -> Choice | None:
        """Try on recent rows, with few centres, whether there is something better."""
        rows = X[-TRIED:], y[-TRIED:], weight[-TRIED:], outputs
        return self._best_choice(rows, self._tried_size(outputs))

    def _tried_size(self, outputs: int) -> int:
        """Centres of those who try."""
        return max(round(TRIED_WITH * self._quick_size(outputs)), FEWEST_TRIED)

    @property
    def _choices(self) -> int:
        """How many choices are tried, at the most."""
        of_values = len(NOISES) + len(PACES) if self.is_regression else 0
        return len(GAMMAS) + of_values + SCALES

    def _best_choice(
        self, rows: tuple[Any, np.ndarray, np.ndarray, int], size: int
    ) -> Choice | None:
        """Return what suits some rows clearly better than what is there, if anything.

        A scale has to be good for rows that come after those that it was made of, so it
        is tried as the first half of the rows makes it.
        """
        X, y, weight, outputs = rows
        targets, every = self._targets(y, weight, outputs), np.arange(len(y))

        def error(choice: Choice) -> float:
            quick = self._quick_learner(choice.given, X, outputs, size)
            try:
                scores = self._learn_again(quick, choice, *rows[:3])
            except ValueError:  # an overflow, as with features that are large unscaled
                return math.inf
            return targets.error(self._mixed_anew(scores, targets), every)

        # Of values, it is squared errors that count.
        clear = (1.0 - CLEAR) ** (0.5 if self.is_regression else 1.0)
        best, least = None, clear * error(self._choice)
        tried, made = (self._others(X, some) for some in (X[: len(y) // 2], X))
        for choice, one in zip(tried, made, strict=True):
            found = error(choice)
            if found < least:
                best, least = one, found
        return best

    def _learn_again(
        self, quick: Learner, choice: Choice, X: Any, y: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Let quick learners learn rows that were seen before; returns their scores."""
        targets = self._targets(y, weight, self._outputs)
        known = self._as_chosen(choice, X)
        learning = self._learn_with(quick, known, targets.y, weight)
        return self._apart(np.concatenate(list(learning)))

    def _scales(self, X: Any) -> list[Any]:
        """Scales by some rows: one as at first, one in units of ranges, and none.

        A feature that is rarely anything but 0 is worth little in units of its range,
        and much in units of its spread; one that hardly changes at first, and much
        later on, is best left as it is. Which is right only rows can say.
        """
        if self.scaler_ is None:
            return []
        scales: list[Any] = [clone(self.scaler_)]
        if isinstance(self.scaler_, SoftScaler):
            X = X.toarray() if scipy.sparse.issparse(X) else X
            scales.append(MinMaxScaler())
        made = [each.set_output(transform="default").fit(X) for each in scales]
        return [*made, None]

    def _others(self, X: Any, some: Any) -> list[Choice]:
        """What might suit better than what is there; scales are made of some rows.

        Also what the fixed machine has found, which knows what features are worth.
        """
        scaler, now, relevance = self._choice
        given = [now._replace(gamma=factor * now.gamma) for factor in GAMMAS]
        if self.is_regression:
            given += [now._replace(noise=factor * now.noise) for factor in NOISES]
            paces = [pace for pace in PACES if pace != (now.slow, now.fast)]
            given += [now._replace(slow=slow, fast=fast) for slow, fast in paces]
        found = [Choice(scaler, each, relevance) for each in given]
        if (self.relevance_ != 1.0).any():
            fixed = now._replace(gamma=self.gamma_)
            found.append(Choice(self.scaler_, fixed, self.relevance_))
        here = self._median_of(self._as_chosen(self._choice, X)) or 1.0
        for other in self._scales(some):
            with np.errstate(over="ignore"):
                gamma = now.gamma * here / (self._median(X, other) or here)
            # Features that are large unscaled may have no distances.
            fits = gamma if 0.0 < gamma < math.inf else now.gamma
            found.append(Choice(other, now._replace(gamma=fits)))
        return found

    # ---- a successor

    def _found_successor(self, choice: Choice, t: int) -> None:
        """Let one begin with the rows that are kept, after `t` rows of the stream.

        Unless there is nothing to be learnt from these.
        """
        # Rows come in while others leave, and what it is to learn must still be there.
        start = t - min(len(self._recent) // PACE, TRIED)
        X, y, weight = self._recent.part(start - t, 0)
        if self._is_enough(y, weight):
            learner = self._quick_learner(choice.given, X, self._outputs)
            self._successor = Successor(learner, choice, t, start)

    def _let_catch_up(self, before: int, t: int) -> None:
        """Let the successor learn what is its due as the stream comes to row t."""
        if self._successor is None:
            return
        learner, choice, *_ = successor = self._successor
        some = slice(successor.learnt(before), successor.learnt(t))
        X, y, weight = self._recent.part(some.start - t, some.stop - t)
        try:
            self._learn_again(learner, choice, X, self._signed(y), weight)
        except ValueError:  # its scores overflowed: those of the present ones have not
            self._successor = None
            return
        if some.stop == t:
            self._quick, self._choice, self._successor = learner, choice, None

    @abstractmethod
    def _is_enough(self, y: np.ndarray, weight: np.ndarray) -> bool:
        """Whether rows are enough to hold some out."""

    @abstractmethod
    def _signed(self, index: np.ndarray) -> np.ndarray:
        """Targets as they are learnt, from what is kept of them."""

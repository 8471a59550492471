"""What KernelClassifier and KernelRegressor share in a stream: several models.

A fixed one was fitted to the last rows, and is fitted anew now and then, in the
background. Quick ones learn each row at once (`_machine_quick`). They answer together,
by `onkel.engine.mixture`.
"""

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onkel.engine import mixture
from onkel.engine.fitted_expansion import FittedExpansion
from onkel.engine.learner import Learner, same_generator
from onkel.engine.mixture import Mixture, mix
from onkel.estimators._background import Background
from onkel.estimators._checks import levels_to_the_caller
from onkel.estimators._machine_quick import (
    FIRST_CHOICE,
    LEARNERS,
    TRIED,
    Choice,
    Given,
    QuickMachine,
)
from onkel.problem.losses import Loss
from onkel.refit.held_out import Targets
from onkel.refit.reservoir import Reservoir
from onkel.refit.values import weighed

# Rows of a stream before the first re-fit and the first trial, and the growth from one
# to the next, of both; after `fit`, and after a label that the fixed model does not
# know.
FIRST_ORDER, FIRST_TRIAL, REFITS, TRIALS = 512, 2048, 1.25, 2.5
AFTER_FIT, SOON = 1.6, 1.2
# What is ordered is to be over in the background when it is due, on one core in three
# quarters of that. A row that quick learners learn with n centres takes the polynomial
# `OF_A_ROW` in n, of which no more than `SURELY` is left if it cannot become a centre;
# a trial takes `OF_A_TRIAL` of that for each row and choice, a re-fit `PATIENCE` (rows
# + `ROWS`) (centres + `CENTRES`); and each output but one takes a share more.
OF_A_ROW, SURELY, OF_A_TRIAL, OF_OUTPUTS = (1, 150, 5000), 0.6, 0.8, 0.25
PATIENCE, ROWS, CENTRES = 600, 2000, 50
# Fewer centres than these do not move in a stream: it would take longer than the rest.
FEWEST_MOVED = 40
# To learn from.
NOTHING = np.zeros(0)
# What a re-fit leaves.
OF_A_REFIT = (
    *("_fixed", "scaler_", "relevance_", "gamma_", "C_", "held_out_error_", "_start"),
    "calibration_",
)


@dataclass
class Tally:
    """What all models have seen and done, whichever of them are there."""

    t: int = 0
    updates: int = 0
    maintenance: int = 0
    mistakes: int = 0


class Order(NamedTuple):
    """What is under way: all that it depends on, and when it is due."""

    is_trial: bool  # of what suits the quick learners, or else a re-fit
    recent: Reservoir
    seed: int
    due: int  # after so many rows of the stream


class StreamingMachine(QuickMachine):
    """A kernel machine that goes on learning."""

    _fixed: FittedExpansion
    _mixture: Mixture
    _tally: Tally
    _draws: np.random.Generator  # of the seeds of its re-fits
    _next_order: int  # after how many rows there is one, and again a trial
    _next_trial: int
    _order: Order | None = None
    _background: Background | None = None  # of the order; made anew when it is missing

    # The first choice takes statistics anew, from rows of its own.
    _longest_beginning = FIRST_CHOICE // 2

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
        """Number of centres, in a stream of all learners."""
        return self._answer().size + sum(learner.size for learner in self._learners())

    @property
    def mixture_(self) -> np.ndarray:
        """Weights of the fixed model, and in a stream of each quick learner."""
        self._answer()
        return self._mixture.weights

    def _learners(self) -> list[Learner]:
        return [] if self._quick is None else [self._quick]

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = self._scaled(self._checked_rows(X))
        weighted = weighed(rows, self.relevance_)
        scores = self._machine_scores(self._fixed, weighted)
        if self._quick is not None:
            rows = self._as_chosen(self._choice, self._checked_rows(X))
            quick = self._apart(self._quick.score(rows, self._n_jobs()))
            all_of_them = np.concatenate([scores[:, np.newaxis], quick], axis=1)
            mixed = self._mixed(all_of_them.astype(np.float64), self._mixture)
            scores = mixed.astype(self._dtype)
        return self._meant(scores)

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
        first = max(math.ceil(AFTER_FIT * len(y)), len(y) + enough)
        self._go_on_from(first, self._first_weights())
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
        self._go_on_from(FIRST_ORDER, self._weights_of_none())

    def _go_on_from(self, first: int, weights: np.ndarray) -> None:
        """Be ready for a stream, with the first order after so many rows in all."""
        self._recent = Reservoir(self.memory_size)
        self._next_order, self._next_trial = first, max(first, FIRST_TRIAL)
        self._order = None
        self._quick, self._successor = None, None
        self._choice = Choice(self.scaler_, Given(self._start))
        self._mixture = mixture.begin(weights, self._largest_score())

    def _fork(self) -> None:
        self._tally, self._draws = replace(self._tally), same_generator(self._draws)
        self._mixture = self._mixture.copy()
        if self._quick is not None:
            self._quick = self._quick.fork()
        if self._successor is not None:
            learner = self._successor.learner.fork()
            self._successor = self._successor._replace(learner=learner)

    def _refuse_endless(self) -> None:
        """Refuse nothing: all parameters are for streams, too."""

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        # A thread belongs to a process; another begins the work again.
        return {k: part for k, part in state.items() if k != "_background"}

    # ---- going on

    def _learn(self, X: Any, y: Any, weight: Any, first: int) -> Iterator[np.ndarray]:
        weight = np.ones(len(y)) if weight is None else weight
        if self._tally.t == 0:
            self._scale_targets(y)
        for part in self._until_due(len(y)):
            yield self._learn_part(X[part], y[part], weight[part], first + part.start)

    def _pass_over(self, X: Any, weight: np.ndarray | None) -> None:
        weight = np.ones(X.shape[0]) if weight is None else weight
        for part in self._until_due(X.shape[0]):
            self._take(X[part], np.zeros(part.stop - part.start), weight[part])

    def _until_due(self, rows: int) -> Iterator[slice]:
        """Cut rows where something is due, and do it."""
        start = 0
        while start < rows:
            due = min(row for row in self._moments() if row > self._tally.t)
            stop = min(rows, start + due - self._tally.t)
            yield slice(start, stop)
            start = stop
            self._do_what_is_due()

    def _moments(self) -> list[int]:
        """Rows after which something is due; those still to come count."""
        if self._successor is not None:
            return [FIRST_CHOICE, self._successor.due]
        next_one = self._next_order if self._order is None else self._order.due
        return [FIRST_CHOICE, max(next_one, self._tally.t + 1)]

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
            self._quick = self._quick_learner(self._choice.given, X, outputs)
        scores = np.zeros((len(y), 1 + LEARNERS, outputs))
        known = weighed(rows, self.relevance_)
        scores[:, 0] = self._fixed.score(known, self._n_jobs())
        rows, before = self._as_chosen(self._choice, X), self._quick.counters.copy()
        learning = self._learn_with(self._quick, rows, targets.y, weight, None, first)
        scores[:, 1:] = self._apart(np.concatenate(list(learning)))
        mixed = self._mixed(scores, self._mixture, targets.y, weight)
        quick = self._quick.counters
        self._tally.mistakes += self._count_mistakes(mixed, targets.y)
        self._tally.updates += int(quick.updates - before.updates)
        self._tally.maintenance += int(quick.maintenance - before.maintenance)
        self._take(X, self._index(y), weight)
        self._let_catch_up(self._tally.t - len(y), self._tally.t)
        return self._meant(mixed.astype(self._dtype))

    @abstractmethod
    def _count_mistakes(self, scores: np.ndarray, y: np.ndarray) -> int:
        """Count rows whose class was not predicted; there are none in regression."""

    @abstractmethod
    def _index(self, y: np.ndarray) -> np.ndarray:
        """Targets as they are kept: class numbers, or the targets themselves."""

    def _take(self, X: Any, y: np.ndarray, weight: np.ndarray) -> None:
        """Count rows, and keep them for the next re-fit."""
        self._tally.t += len(y)
        self._recent = self._recent.copy()
        self._recent.add(X, y, weight)

    @abstractmethod
    def _mixture_loss(self) -> Loss:
        """Loss by which the weights of the models are learnt."""

    def _mixed(
        self,
        scores: np.ndarray,
        models: Mixture,
        y: np.ndarray = NOTHING,
        weight: np.ndarray = NOTHING,
    ) -> np.ndarray:
        """Mix the scores of all models; their weights change, if they learn from y."""
        out = np.empty((len(scores), scores.shape[2]))
        loss, is_regression = self._mixture_loss(), self.is_regression
        mix(loss, is_regression, scores, y, weight, models, out)
        return out

    def _mixed_anew(self, scores: np.ndarray, targets: Targets) -> np.ndarray:
        weights = self._weights_of_none()[1:]
        models = mixture.begin(weights, self._largest_score())
        return self._mixed(scores, models, targets.y, targets.weight)

    def _largest_score(self) -> float:
        """Return the largest score that the weights of the mixture see."""
        return mixture.LIMIT

    # ---- what suits the quick ones, and fitting anew

    def _do_what_is_due(self) -> None:
        """Choose, order, or take what was ordered: one thing after the other."""
        now, order = self._tally.t, self._order
        if now == FIRST_CHOICE:
            X, y, weight = self._recent.rows()
            if len(y) == now and self._is_enough(y, weight):
                self._choose(X, self._signed(y), weight, self._outputs)
        if order is not None and now >= order.due:
            self._take_order(order)
        is_idle = self._order is None and self._successor is None
        if is_idle and now >= self._next_order:
            self._place_order()

    def _place_order(self) -> None:
        """Begin a trial on the recent rows, or after that a re-fit to them."""
        _, y, weight = self._recent.rows()
        now, outputs = self._tally.t, self._outputs
        # A budget of 1 is the quick learners'.
        if not (self._fixed_size() and self._is_enough(y, weight)):
            self._next_order = math.ceil(REFITS * now)
            return
        is_trial = now >= self._next_trial
        if is_trial:
            of_a_row = float(np.polyval(OF_A_ROW, self._tried_size(outputs)))
            work = OF_A_TRIAL * min(len(y), TRIED) * self._choices * of_a_row
        else:
            work = PATIENCE * (len(y) + ROWS) * float(self._fixed_size() + CENTRES)
        wait = self._rows_meanwhile(work * (1.0 + OF_OUTPUTS * (outputs - 1)))
        if is_trial:
            # A re-fit comes before another one, also if there is a successor.
            self._next_order, self._next_trial = now, math.ceil(TRIALS * (now + wait))
        else:
            self._next_order = math.ceil(REFITS * now)
        seed = int(self._draws.integers(2**32))
        self._order = Order(is_trial, self._recent, seed, now + wait)
        self._background = self._under_way(self._order)

    def _rows_meanwhile(self, work: float) -> int:
        """Rows that the quick learners learn while some work is done."""
        size, share = 0, 1.0
        if self._quick is not None:
            size, counters = self._quick.size, self._quick.counters
            # Of rows that could become centres; while there is room, they did.
            share = (size + int(counters.maintenance)) / max(int(counters.updates), 1)
        soon = min(self._quick_size(self._outputs), size + share * TRIED)
        of_a_row = float(np.polyval(OF_A_ROW, soon))
        return math.ceil(work / of_a_row / (SURELY + (1.0 - SURELY) * min(share, 1.0)))

    def _fixed_size(self) -> int:
        """Part of the budget of a stream that is the fixed model's."""
        return self._in_a_stream() - self._quick_size(self._outputs)

    def _under_way(self, order: Order) -> Background:
        """Begin an order, which changes nothing here."""
        twin = self._still()
        work = twin._tried if order.is_trial else twin._refitted
        return Background(lambda: work(order))

    def _tried(self, order: Order) -> Choice | None:
        """Return what would suit the quick learners better."""
        X, y, weight = order.recent.rows()
        return self._better_choice(X, self._signed(y), weight, self._outputs)

    def _refitted(self, order: Order) -> dict[str, Any]:
        """Fit a machine to the rows of an order, and return what it leaves.

        That is a twin's work, which is thrown away.
        """
        X, y, weight = order.recent.rows()
        rng = np.random.default_rng(order.seed)
        self._learn_scale(X)
        self._guess(X)
        self.adapt &= self._fixed_size() >= FEWEST_MOVED
        some = self._signed(y), weight, self._outputs, rng
        found = self._found(X, *some, self._fixed_size())
        self._fixed = self._expansion(X, found.points, found.coef)
        return {name: vars(self)[name] for name in OF_A_REFIT if name in vars(self)}

    def _take_order(self, order: Order) -> None:
        """Go on with what was ordered."""
        background = self._background or self._under_way(order)
        self._order = self._background = None
        try:
            found = background.result()
        except ValueError as error:
            warnings.warn(
                f"{type(self).__name__} could not learn more from the recent rows, "
                f"and goes on with what it has: {error}",
                stacklevel=levels_to_the_caller(),
            )
            return
        if not order.is_trial:
            self.__dict__.update(found)
        elif found is not None:
            self._found_successor(found, self._tally.t)

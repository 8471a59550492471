"""Learner: the state of a system, and the calls into the two phases.

Everything that continues a run is here: coefficients, centres, counters, the
strategy's own arrays and the generator of its draws. Memory to work in is made on
demand and never saved.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Literal, NamedTuple

import numpy as np

from onkel.budget import dispatch
from onkel.budget.declaration import UNLIMITED, declaration, largest_size
from onkel.compiled.draws import draws_of
from onkel.engine import (  # noqa: F401
    dual,
    evaluation,
    online,
    passes,
    recursive,
    svrg,
    threads,
)
from onkel.engine.evaluation import Workspace, gram_of, norms_of
from onkel.engine.fitted_expansion import TILE, FittedExpansion
from onkel.engine.passes import Batch, Limits, part_of
from onkel.engine.plan import cache_of, slots_for, table_of
from onkel.engine.recipe import Recipe
from onkel.engine.switch import Switched, after_landmarks
from onkel.engine.threads import CHUNK, Team, blas_in_one_thread
from onkel.features.absent import Absent
from onkel.features.dispatch import room, width
from onkel.features.nystrom import Nystrom
from onkel.model import rows_ahead
from onkel.model.averages import Mean, Whole, has_room
from onkel.model.center_cache import Gram
from onkel.model.inverse import Inverse, repair
from onkel.model.rows import Rows, order_for, part, rows_of
from onkel.model.rows_ahead import Ahead, Alone
from onkel.model.state import allocate, facing, relabelled, resized, widened
from onkel.problem import kernels
from onkel.problem.rates import base

# dual, online, recursive and svrg are imported for their walks, which register
# themselves.
SMALLEST_CAPACITY = 64
# Rows after which is asked again how large blocks are to be, and how many threads are
# worth it: at first, and as long as one is enough.
SOON = 2048
# Rows of a block. Products of a matrix of centres with few rows at a time take longer,
# and beyond these hardly less; with blocks twice as large everything is slower.
FEWEST, MOST = 32, 256
# Kernel values that a block may have, so that they stay in a cache.
CACHED_VALUES = 512 * 1024
# Of a block: rows times the root of updates a row over centres. An update has to be
# compared with all rows to come, and products with few rows cost more a row.
BALANCE = 4.0
# Updates a row: below the first there might as well be none; the second is a guess,
# before there is a row.
SMALLEST_RATE, UNKNOWN_RATE = 1e-3, 0.25
# Updates of a block below which scores from before it are worth having.
FEW_UPDATES = 2.5


class ScoreOverflowError(ArithmeticError):
    """A score or an update is close to infinite; `row` could not be learnt."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class Shape(NamedTuple):
    """Of a model: scores of a row, features of a row, and in which precision."""

    outputs: int
    features: int
    dtype: Any


class Learner:
    """One model that learns.

    Parameters
    ----------
    recipe
        The system.
    shape
        Of the model.
    rng
        Generator of the strategy's draws.
    frequencies
        Of Fourier features, if the recipe has them.
    """

    def __init__(
        self,
        recipe: Recipe,
        shape: Shape,
        rng: np.random.Generator,
        frequencies: np.ndarray | None = None,
    ) -> None:
        plan, budget, window, mapping = recipe
        self.plan, self.budget, self.rng = plan, budget, rng
        wide = width(mapping)
        largest = int(min(wide + largest_size(budget), UNLIMITED))
        capacity = slots_for(wide, SMALLEST_CAPACITY, largest)
        cache = cache_of(budget, plan.ball)
        outputs, features, dtype = shape
        self.model = allocate(
            outputs, capacity, features, np.dtype(dtype), cache, window, mapping
        )
        if frequencies is not None:
            self.model.points[: len(frequencies)] = frequencies
        self._resize_budget()
        self._work: Workspace | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_work": None}

    @property
    def counters(self) -> Any:
        """Counters and scale of the model."""
        return self.model.counters[0]

    @property
    def dtype(self) -> np.dtype:
        """Precision in which the model works."""
        return self.model.coef.dtype

    @property
    def scale(self) -> float:
        """Factor between raw and true coefficients."""
        return float(self.counters.factor * base(self.plan.rate, self.counters.t))

    @property
    def largest_size(self) -> int:
        """Slots that the model may come to use."""
        slots = width(self.model.mapping) + largest_size(self.budget)
        return int(min(slots, UNLIMITED))

    def answer(self) -> FittedExpansion:
        """Return what predicts now; it is valid until the learner learns."""
        model, coef = self.model, self._answer
        points, norms, mapping = model.points, model.norms, model.mapping
        if isinstance(mapping, Nystrom):
            # As an expansion over the landmarks, which needs no features.
            coef = (coef @ mapping.matrix.T).astype(self.dtype)
            mapping = Absent()
        if isinstance(model.average, Whole):
            size, gone = self.counters.count, model.average.counters[0].retired
            points = np.concatenate([points[:size], model.average.points[:gone]])
            norms = np.concatenate([norms[:size], model.average.norms[:gone]])
        return FittedExpansion(self.plan.kernel, mapping, points, norms, coef)

    @property
    def coef(self) -> np.ndarray:
        """True coefficients of the answer's centres, shape (outputs, its size)."""
        return self.answer().center_coef

    @property
    def weights(self) -> np.ndarray:
        """True coefficients of the answer's features, shape (outputs, features)."""
        return self._answer[:, : width(self.model.mapping)]

    @property
    def _answer(self) -> np.ndarray:
        """True coefficients of the answer, for all slots."""
        coef = self.model.coef[:, : self.counters.count]
        return self.model.average.of(coef, self.scale)

    @property
    def is_bounded(self) -> bool:
        """Whether scores are finite wherever kernel values are 1 or less."""
        return self.answer()._replace(coef=self._answer).is_bounded

    @property
    def last_coef(self) -> np.ndarray:
        """True coefficients of the last iterate, shape (outputs, size)."""
        return self.model.coef[:, : self.counters.count] * self.dtype.type(self.scale)

    @property
    def points(self) -> np.ndarray:
        """Centres of the answer, shape (its size, features)."""
        return self.answer().centers

    @property
    def size(self) -> int:
        """Number of centres of the answer."""
        return self.answer().size

    def fork(self) -> "Learner":
        """Return a twin to learn on, which leaves this one as it is.

        It takes over the memory to work in: of the two only one learns.
        """
        twin = object.__new__(Learner)
        twin.__dict__.update(self.__dict__)
        twin.model, twin.budget = _copied(self.model), _copied(self.budget)
        twin.rng = same_generator(self.rng)
        return twin

    def adopt(self, points: np.ndarray, coef: np.ndarray) -> None:
        """Make an expansion that somebody else has found the model."""
        self._make_room(len(points))
        size = self.counters.count = len(points)
        points = np.ascontiguousarray(points, self.dtype)
        self.model.points[:size] = points
        self.model.norms[:size] = norms_of(self.plan.kernel, points)
        self.model.diag[:size] = kernels.diagonal(
            self.plan.kernel, self.model.norms[:size]
        )
        self.model.birth[:size] = np.arange(size)
        self.model.label[:size] = coef.argmax(axis=0)
        self.model.coef[:, :size] = coef
        if isinstance(self.model.cache, Inverse):
            gram = gram_of(self.plan.kernel, points.astype(np.float64))
            self.model.cache.values[:size, :size] = gram
            repair(self.model.cache, size)

    def replace(self, coef: np.ndarray) -> None:
        """Give all centres other coefficients; an average begins anew from these."""
        model, size = self.model, int(self.counters.count)
        model.coef[:, :size] = coef / self.scale
        if isinstance(model.average, Mean):
            model.average.restart()
        if isinstance(model.cache, Gram):
            known = model.coef[:, :size] @ model.cache.values[:size, :size]
            model.cache.scores[:, :size] = known
            self.counters.norm2 = float((model.coef[:, :size] * known).sum())

    def take_back(self) -> None:
        """Let centres that left, and count in the mean, be centres of coefficient 0."""
        average, first = self.model.average, int(self.counters.count)
        if not isinstance(average, Whole):
            return
        gone = int(average.counters[0].retired)
        self.model = self.model._replace(average=average.within)
        self._make_room(gone)
        model, back = self.model, slice(first, first + gone)
        self.counters.count, average.counters[0].retired = first + gone, 0
        norms = average.norms[:gone]
        model.points[back], model.norms[back] = average.points[:gone], norms
        model.diag[back] = kernels.diagonal(self.plan.kernel, norms)
        model.birth[back], model.label[back] = self.counters.t, -1
        model.coef[:, back] = model.average.lag[:, back] = 0.0
        model.average.mass[:, back] = average.masses[:, :gone]

    def skip(self, rows: int) -> None:
        """Count rows that cannot be learnt from."""
        self.counters.t += rows
        self.model.average.skip(rows)

    def relabel(self, matrix: Any, labels: Any) -> None:
        """Map the outputs by a matrix (new x old); see `state.relabelled`."""
        self.model = relabelled(self.model, matrix, labels)
        self.budget = dispatch.relabelled(self.budget, matrix)
        self._work = None

    def learn(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray,
        order: np.ndarray | None = None,
        block_size: int | None = None,
        n_jobs: int = 1,
    ) -> Iterator[np.ndarray]:
        """Learn the rows in the given order, some thousand at a time.

        Yields
        ------
        scores of shape (rows, outputs)
            The scores of the rows just learnt, each before its own update.

        Raises
        ------
        ScoreOverflowError
            Names the row of X; the model is as it was before it.
        """
        count = len(y) if order is None else len(order)
        seen = int(self.counters.t)
        rate = int(self.counters.updates) / seen if seen else UNKNOWN_RATE
        with ExitStack() as stack:
            learn: Callable[..., int] = passes.learn
            first = 0
            while first < count:
                if n_jobs > 1 and learn is passes.learn and self._worth_threads():
                    learn = stack.enter_context(Team(n_jobs)).learn
                is_alone = n_jobs > 1 and learn is passes.learn
                soon = first == 0 or is_alone
                last = min(first + (SOON if soon else CHUNK), count)
                taken: Any = slice(first, last) if order is None else order[first:last]
                self._turn_points(order_for(X))
                rows = rows_of(X[taken], self.dtype)
                scores = np.empty((last - first, len(self.model.coef)), self.dtype)
                batch = Batch(rows, y[taken], sample_weight[taken], scores)
                size = block_size or self._block_size(learn is not passes.learn, rate)
                foresee = rate * size < FEW_UPDATES
                before = int(self.counters.updates)
                with blas_in_one_thread:
                    done = self._learn(learn, batch, size, foresee)
                if done < len(scores):
                    place = first + done
                    raise ScoreOverflowError(place if order is None else order[place])
                rate = (int(self.counters.updates) - before) / (last - first)
                first = last
                yield scores

    def score(
        self, X: Any, n_jobs: int = 1, coef: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores of the rows, shape (rows, outputs).

        With `coef`, the scores under other coefficients than the model's.
        """
        answer = self.answer()
        return (answer if coef is None else answer._replace(coef=coef)).score(X, n_jobs)

    def _worth_threads(self) -> bool:
        """Whether a row's kernel values cost enough to share them out."""
        features = self.model.points.shape[1]
        # An exponential costs about as much as 32 features.
        return int(self.counters.count) * (features + 32) >= threads.WORTHWHILE

    def _block_size(self, threaded: bool, rate: float) -> int:
        """Small blocks waste few kernel values, large ones fill the cores.

        Features change for no row, so that nothing of them is wasted.
        """
        if width(self.model.mapping) > 0 and not threaded:
            return TILE
        slots = min(self.largest_size, max(2 * int(self.counters.count), 64))
        most = min(MOST, CACHED_VALUES // slots)
        balanced = BALANCE * math.sqrt(slots / max(rate, SMALLEST_RATE))
        return MOST if threaded else int(max(FEWEST, min(most, balanced)))

    def _learn(
        self, learn: Callable[..., int], batch: Batch, block_size: int, foresee: bool
    ) -> int:
        """Learn one chunk; return how many rows were learnt."""
        rows = len(batch.y)
        block_size = min(block_size, rows)
        done = 0
        while done < rows:
            self._make_room(min(block_size, rows - done))
            done += learn(
                self.plan,
                self.budget,
                facing(self.model, batch.rows),
                part_of(batch, done, rows),
                Limits(block_size, self.largest_size, foresee),
                draws_of(self.rng),
                self._workspace(block_size),
                False,
            )
            if self.counters.halted:
                if not self._switch(part(batch.rows, done - 1, done)):
                    return done - 1
            elif self._has_room(min(block_size, rows - done)):
                break
        return done

    def _switch(self, row: Rows) -> bool:
        """Go on with explicit features, beginning with a row; False if it cannot."""
        switched = after_landmarks(self.plan.kernel, self.budget, self.model, row)
        if switched is None:
            return False
        self.go_on_with(switched)
        return True

    def go_on_with(self, switched: Switched) -> None:
        """Let another model and another strategy take over."""
        self.model, self.budget = switched
        self._work = None

    def resize(self, capacity: int) -> None:
        """Let the model, and what the strategy keeps of it, have so many slots."""
        self.model = resized(self.model, capacity)
        self._resize_budget()
        self._work = None

    def widen(self, features: int, frequencies: np.ndarray | None = None) -> None:
        """Let rows have further features, which were 0 in all rows so far.

        `frequencies` are those of the new features, shape (frequencies, new features).
        """
        known = self.model.points.shape[1]
        self.model = widened(self.model, features)
        if frequencies is not None:
            self.model.points[: len(frequencies), known:] = frequencies
        self.budget = dispatch.widened(self.budget, self.model, features - known)
        self._work = None

    def _slots(self, rows: int) -> int:
        return slots_for(int(self.counters.count), rows, self.largest_size)

    def _has_room(self, rows: int) -> bool:
        enough = self._slots(rows) <= len(self.model.diag)
        return enough and has_room(self.model.average, rows)

    def _make_room(self, rows: int) -> None:
        """Let the arrays grow, if a block of rows might need more than they have."""
        if not has_room(self.model.average, rows):
            average = self.model.average.with_room(rows)
            self.model = self.model._replace(average=average)
        capacity, slots = len(self.model.diag), self._slots(rows)
        if slots <= capacity:
            return
        # Landmarks are points beyond the slots in use; their number is final.
        assert not isinstance(self.model.mapping, Nystrom)
        self.resize(max(slots, self._slots(capacity)))

    def _resize_budget(self) -> None:
        """Let a strategy that keeps something of every centre have room for it."""
        self.budget = dispatch.resized(self.budget, self.model)

    def _workspace(self, block_size: int) -> Workspace:
        """Memory for a block, made anew only when it must be larger."""
        capacity, features = self.model.points.shape
        outputs = len(self.model.coef)
        places = room(self.model.mapping, capacity)
        work = self._work
        if work is None or len(work.norms) < block_size:
            self._work = work = Workspace(
                kernel=np.zeros(block_size * capacity, self.dtype),
                room=np.zeros(block_size * places, self.dtype),
                norms=np.zeros(block_size, self.dtype),
                diag=np.zeros(block_size, self.dtype),
                foreseen=np.zeros((block_size, outputs), self.dtype),
                ahead=self._rows_ahead(),
                pending=np.full(1, -1),
                point=np.zeros(features, self.dtype),
                other=np.zeros(features, self.dtype),
                later=np.zeros(block_size, self.dtype),
                raw=np.zeros(outputs),
                f=np.zeros(outputs),
                scratch=np.zeros(max(capacity, outputs), self.dtype),
                second=np.zeros(capacity, self.dtype),
                table=table_of(self.budget),
            )
        return work

    def _rows_ahead(self) -> Ahead | Alone:
        """Memory to project rows in, for a strategy that does."""
        if not declaration(self.budget).looks_ahead:
            return Alone()
        return rows_ahead.empty(len(self.model.coef), *self.model.points.shape)

    def _turn_points(self, order: Literal["C", "F"]) -> None:
        """Let the centres lie as they must beside rows to learn."""
        points = np.asarray(self.model.points, order=order)
        self.model = self.model._replace(points=points)


def _copied(state: Any) -> Any:
    """Copy the arrays of a NamedTuple, and of those in it; copy.deepcopy is slower."""
    if isinstance(state, tuple):
        return type(state)(*map(_copied, state))
    return state.copy(order="K") if isinstance(state, np.ndarray) else state


def same_generator(rng: np.random.Generator) -> np.random.Generator:
    """Return one that will draw the same."""
    bits = type(rng.bit_generator)(0)
    bits.state = rng.bit_generator.state
    return np.random.Generator(bits)

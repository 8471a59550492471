"""Makes machines of a given budget: centres, C, moves, calibration, coefficients."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onkel.refit.calibration import UNCALIBRATED, calibrate
from onkel.refit.center_descent import CenterDescent, Place
from onkel.refit.deadline import Deadline
from onkel.refit.held_out import Targets
from onkel.refit.search import Choice, Trial
from onkel.refit.stochastic_descent import StochasticDescent, rows_of_a_step
from onkel.refit.stopwatch import Work, left
from onkel.refit.tools import Sample, Tools

# Step from one C to the next, once the centres are final, and how many.
RISE, RISES = 4.0, 2
# How exactly the coefficients are found.
FINE = 1e-3
# Rows with which centres move: so many for each, but not fewer in all; the most kernel
# values; rows for one held out.
ROWS, ROWS_IN_ALL, MOST_VALUES, HELD_OF_MOVED = 50, 5000, 2**26, 4
# And without which it is no use; a value says more than a label.
FEWEST_ROWS, FEWEST_ROWS_OF_VALUES = 20, 10
MOVES = 40
# Centres with which features are weighed, where those wanted are too many to be moved:
# the most, and the fewest that say something of so many.
WEIGHING, FEWEST_WEIGHING = 500, 100
# Coordinates of all centres that may be moved: L-BFGS keeps 25 numbers for each. And
# the largest feature: single precision could not square much more, if it is weighed.
MOST_COORDINATES, LARGEST = 2**20, 1e15
# Rows for each centre from which on a step needs some of them only; for values, whose
# best coefficients are harder to follow. Adam keeps 3 numbers for each coordinate.
PLENTY, PLENTY_OF_VALUES, MOST_FOLLOWED = 30, 200, 2**23
# Rows for each centre, and in all, with which such a descent begins. Visits: the most
# for a centre, and for a row so many where centres are `USUAL`, more by a power of
# their number where they are more; the fewest kernel values in all. Share of the time.
BEGINNING, BEGINNING_IN_ALL = 8, 10_000
VISITS, EPOCHS, USUAL, POWER, FEWEST_VALUES = 3600, 5, 500, 0.7, 2**25
FOLLOWED = 0.6
NOBODY = np.zeros(0, np.int64)
# Share of the time left in which the first coefficients are to be found, and that in
# which features are weighed with fewer centres.
FIRST, WEIGHED = 0.4, 0.4


class Solution(NamedTuple):
    """What was found."""

    points: np.ndarray  # shape (centres, features), of features weighed
    relevance: np.ndarray  # shape (features,): the weights
    coef: np.ndarray  # shape (outputs, centres)
    gamma: float
    C: float
    slopes: np.ndarray | None  # of the calibration, for classes
    error: float  # of the rows held out
    stated: float  # likewise, as `score` would find it
    overlooked: np.ndarray  # numbers of classes that no row held out is taken for


class _Solved(NamedTuple):
    """What the rows held out have seen, part by part."""

    trials: list[Trial]
    coefs: list[np.ndarray | None]
    scores: list[np.ndarray]  # of the rows held out
    C: float
    validation_loss: float
    took: float  # seconds


class Fitter(NamedTuple):
    """Makes machines, all from the same rows."""

    tools: Tools
    sample: Sample
    held_out: list[np.ndarray]  # rows to hold out, part by part, or none
    choice: Choice  # gamma, and the least C
    rises: int  # how many Cs are tried
    adapt: bool  # whether centres move and features are weighed
    seed: int  # of everything random

    @property
    def targets(self) -> Targets:
        """Those of the rows."""
        return self.sample.targets

    @property
    def adapts(self) -> bool:
        """Whether rows are held out that may say how centres move."""
        return self.adapt and len(self.held_out) == 1

    def first_of(self, budgets: Sequence[int]) -> int:
        """Return the first whose centres can be moved, or else the very first."""
        movable = (each for each in budgets if self.adapts and self._can_move(each))
        return next(movable, budgets[0])

    def weigh(self, budget: int) -> np.ndarray:
        """Weights of features to begin with: ones, unless centres are too many to move.

        Then fewer of them move, and leave the weights that they have found.
        """
        relevance = np.ones(self.sample.X.shape[1])
        if not self.adapts or self._can_move(budget):
            return relevance
        few = min(WEIGHING, budget // 2)
        while few >= FEWEST_WEIGHING and not self._can_move(few):
            few //= 2
        if few >= FEWEST_WEIGHING:
            rng = np.random.default_rng(self.seed)
            deadline = self.tools.deadline.share(WEIGHED)
            hurried = self._replace(tools=self.tools._replace(deadline=deadline))
            _, relevance = hurried._best(few, relevance, rng)
        return relevance

    def make(self, budget: int, relevance: np.ndarray) -> Solution:
        """Make a machine; `relevance` is where the weights of features begin."""
        rng = np.random.default_rng(self.seed)
        best, relevance = self._best(budget, relevance, rng)
        trials = best.trials
        error, slopes = np.nan, None if self.targets.is_regression else UNCALIBRATED
        stated, overlooked = error, NOBODY
        if trials:
            held, scores = np.concatenate(self.held_out), np.concatenate(best.scores)
            error = self.targets.error(scores, held)
            stated = self.targets.stated(scores, held)
            if not self.targets.is_regression:
                overlooked = self.targets.overlooked(scores, held)
                slopes = calibrate(self.targets.part(held), scores)
        if len(trials) == 1:
            # The rows held out join; their kernel values are there already.
            final, start = trials[0], best.coefs[0]
        else:
            final, start = self._trial(relevance, NOBODY, budget, rng), None
        final.solver.weight = self.targets.weight
        found = final.solver.solve(best.C, start, FINE, deadline=self.tools.deadline)
        return Solution(
            *(final.points, relevance, found.coef, self.choice.gamma, best.C, slopes),
            *(error, stated, overlooked),
        )

    def _best(
        self, budget: int, relevance: np.ndarray, rng: np.random.Generator
    ) -> tuple[_Solved, np.ndarray]:
        """Find centres, and all that the rows held out decide; also the weights."""
        if self._are_plenty(budget):
            followed = self._followed(budget, relevance, rng)
            if followed is not None:
                return followed
        trials = [self._trial(relevance, held, budget, rng) for held in self.held_out]
        if not trials:
            return _Solved([], [], [], self.choice.C, np.inf, 0.0), relevance
        best = self._rising(trials)
        (first, *_), (held, *_) = best.scores, self.held_out
        if self.adapts and self.targets.can_gain(first, held):
            return self._improved(best, relevance, rng)
        return best, relevance

    def _trial(
        self,
        relevance: np.ndarray,
        held: np.ndarray,
        budget: int,
        rng: np.random.Generator,
        points: np.ndarray | None = None,
    ) -> Trial:
        return Trial(
            *(self.tools, self.sample, held, self.choice.gamma, budget, rng),
            *(relevance, points),
        )

    def _solved(self, trials: list[Trial], C: float, deadline: Deadline) -> _Solved:
        begun = deadline.clock()
        scores = [
            trial.solve(C, FINE, deadline.share(1.0 / (len(trials) - place)))
            for place, trial in enumerate(trials)
        ]
        judged = zip(scores, self.held_out, strict=True)
        validation_loss = float(
            np.mean([self.targets.validation_loss(*each) for each in judged])
        )
        coefs, took = [trial.coef for trial in trials], deadline.clock() - begun
        return _Solved(trials, coefs, scores, C, validation_loss, took)

    def _rising(self, trials: list[Trial]) -> _Solved:
        """Solve for larger and larger Cs, as long as that is better."""
        best = self._solved(trials, self.choice.C, self.tools.deadline.share(FIRST))
        before_the_last = self.tools.deadline.earlier(best.took)
        larger = range(self.rises - 1)
        for _ in before_the_last.each(larger, "larger values of C", best.took):
            found = self._solved(trials, RISE * best.C, before_the_last)
            if found.validation_loss >= best.validation_loss:
                break
            best = found
        return best

    # ---- moves, where rows are plenty

    def _are_plenty(self, centres: int) -> bool:
        """Whether some of the rows say where to go as well as all of them."""
        if not self.adapts:
            return False
        X, targets = self.sample
        plenty = PLENTY_OF_VALUES if targets.is_regression else PLENTY
        return (
            self._learnt >= plenty * centres
            and centres * X.shape[1] <= MOST_FOLLOWED
            and max(X.max(), -X.min()) <= LARGEST
        )

    @property
    def _learnt(self) -> int:
        """Rows that are not held out."""
        return len(self.targets.y) - len(self.held_out[0])

    def _followed(
        self, budget: int, relevance: np.ndarray, rng: np.random.Generator
    ) -> tuple[_Solved, np.ndarray] | None:
        """Move centres, weights and coefficients together, some rows a step.

        None if the rows held out make too few mistakes to tell where to.
        """
        (X, targets), (held,), C = self.sample, self.held_out, self.choice.C
        tools, gamma = self.tools, self.choice.gamma
        learnt = np.flatnonzero(targets.without(held))
        count = min(max(BEGINNING * budget, BEGINNING_IN_ALL), len(learnt))
        some = self.sample.part(np.sort(rng.choice(learnt, count, replace=False)))
        weight = some.targets.weight * (len(learnt) / count)
        some = some._replace(targets=some.targets._replace(weight=weight))
        trial = Trial(tools, some, NOBODY, gamma, budget, rng, relevance)
        begun = trial.reach(C, deadline=tools.deadline.share(FIRST))
        place = Place(trial.points / relevance, relevance, begun.coef)
        descent = StochasticDescent(
            *(X, targets, held, gamma, C, tools.device, rng),
            tools.deadline.share(FOLLOWED),
        )
        if not targets.can_gain(descent.scores(place, held), held):
            return None
        started = tools.deadline.clock()

        def tell(visits: int, of: int, validation_loss: float) -> None:
            took = tools.deadline.clock() - started
            tools.announce(
                f"{visits:,} of {of:,} rows visited, "
                f"validation loss {validation_loss:.4g}{left(visits, of, took)}"
            )

        visits = _visits(len(learnt), len(place.points))
        with tools.stopwatch.of(Work.MOVES):
            place, _ = descent.run(place, trial.solver, begun, visits, tell)
        scores = descent.scores(place, held)
        del trial, descent  # or there would be kernel values of both places
        points, relevance = place.points * place.relevance, place.relevance
        final = self._trial(relevance, held, len(points), rng, points)
        loss = targets.validation_loss(scores, held)
        return _Solved([final], [place.coef], [scores], C, loss, 0.0), relevance

    # ---- moves, where they are not

    def _can_move(self, centres: int) -> bool:
        return self._are_plenty(centres) or self._rows_to_move(centres) > 0

    def _rows_to_move(self, centres: int) -> int:
        """Rows to move centres with; 0 if they cannot be moved."""
        wanted = max(ROWS * centres, ROWS_IN_ALL)
        count = min(wanted, MOST_VALUES // centres, self._learnt)
        is_small = centres * self.sample.X.shape[1] <= MOST_COORDINATES
        of_values = self.targets.is_regression
        fewest = FEWEST_ROWS_OF_VALUES if of_values else FEWEST_ROWS
        return count if count >= fewest * centres and is_small else 0

    def _improved(
        self, best: _Solved, relevance: np.ndarray, rng: np.random.Generator
    ) -> tuple[_Solved, np.ndarray]:
        """Move centres and weigh features, if that is better."""
        (trial,), (coef,), held = best.trials, best.coefs, self.held_out[0]
        assert coef is not None
        place = Place(trial.points / relevance, relevance, coef)
        # To be solved anew takes as long as the first time, and so may the last time.
        moved = self._moved(
            place, best.C, rng, self.tools.deadline.earlier(2.0 * best.took)
        )
        if moved is None:
            return best, relevance
        trial.solver.passes.forget()  # or there would be those of both places
        points = moved.points * moved.relevance
        again = self._trial(moved.relevance, held, len(points), rng, points)
        again.coef = moved.coef
        found = self._solved([again], best.C, self.tools.deadline.earlier(best.took))
        if found.validation_loss < best.validation_loss:
            return found, moved.relevance
        return best, relevance

    def _moved(
        self, place: Place, C: float, rng: np.random.Generator, deadline: Deadline
    ) -> Place | None:
        """Move centres with a sample of the rows; None if that does not help."""
        (X, targets), held = self.sample, self.held_out[0]
        count = self._rows_to_move(len(place.points))
        if not count or max(X.max(), -X.min()) > LARGEST:
            return None
        if not deadline.allows(0.0, "moves of the centres"):
            return None
        learnt = np.flatnonzero(targets.without(held))
        some = rng.choice(learnt, count, replace=False)
        watched = min(max(count // HELD_OF_MOVED, 1), len(held))
        out = rng.choice(held, watched, replace=False)
        rows = np.sort(np.concatenate([some, out]))
        part = targets.part(rows)
        descent = CenterDescent(
            X[rows],
            part._replace(weight=part.weight * (len(learnt) / count)),
            *(np.searchsorted(rows, np.sort(out)), self.choice.gamma, C),
            *(self.tools.device, rng, deadline),
        )

        started = deadline.clock()

        def tell(step: int, validation_loss: float) -> None:
            took = deadline.clock() - started
            self.tools.announce(
                f"centres moved {step} times, validation loss "
                f"{validation_loss:.4g}{left(step, MOVES, took)}"
            )

        with self.tools.stopwatch.of(Work.MOVES):
            found, path = descent.run(place, MOVES, tell)
        return found if int(np.argmin(path)) else None


def _visits(rows: int, centres: int) -> int:
    """How often rows are visited in all."""
    epochs = EPOCHS * (centres / USUAL) ** POWER
    visits = int(max(min(epochs * rows, VISITS * centres), FEWEST_VALUES / centres))
    return visits * rows_of_a_step(centres) // rows_of_a_step(1)

"""A kernel machine from rows and targets alone: gamma, C, centres, coefficients.

1. gamma and C: trials with few centres on a sample of the rows (see `search`). More
   rows bear a narrower kernel: gamma grows with the power `NARROWER` of their number.
2. Centres for all rows but those held out, and coefficients for C and, as long as that
   is better on the rows held out, larger ones.
3. Of many rows: centres move, and features get weights (see `moves`), on a sample.
4. The score and the calibration, from the rows held out.
5. The coefficients once more, now for all rows.

Of few rows every one is held out once, so that steps 1 and 4 are cross-validation.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onkel.refit.calibration import UNCALIBRATED, calibrate
from onkel.refit.held_out import Task, parts
from onkel.refit.moves import Mover, Place, weighed
from onkel.refit.search import CS, Choice, Finder, Search, Trial

# Rows and centres of a trial.
SAMPLED = 15_000
# Share of them that is held out: scores are cheap, and few say little.
HELD_OUT = 2.0 / 3.0
FEWEST, MOST_TRIED, ROWS_FOR_EACH = 50, 250, 20
NARROWER = 0.5
# With fewer rows nothing can be held out.
TOO_FEW = 10
# Step from one C to the next, once the centres are final, and how many.
RISE, RISES = 4.0, 2
# How exactly the coefficients are found.
FINE = 1e-3
# Rows with which centres move, for each of them: the most, and what it takes at least;
# the most kernel values; how many rows for one that is held out; steps.
MOST_ROWS, FEWEST_ROWS, MOST_VALUES, HELD_OF_MOVED = 50, 12, 2**26, 4
MOVES = 40
# Mistakes of the rows held out that it takes to see that there are fewer.
COUNTABLE = 10
# budget="auto": the first, the last, and the share of the error that doubling it twice
# has to gain. Once may gain little where centres begin to be too many to be moved.
SMALLEST_BUDGET, LARGEST_BUDGET, WORTHWHILE = 125, 4000, 0.02


class Machine(NamedTuple):
    """What was found."""

    points: np.ndarray  # shape (centres, features), of features weighed
    relevance: np.ndarray  # shape (features,): the weights
    coef: np.ndarray  # shape (outputs, centres)
    gamma: float
    C: float
    slopes: np.ndarray | None  # of the calibration, for classes
    error: float  # of the rows held out


class Wish(NamedTuple):
    """What is given; None for what is to be found."""

    budget: int | None
    gamma: float | None = None
    C: float | None = None
    time_limit: float | None = None
    n_jobs: int = 1
    adapt: bool = True  # whether centres move and features are weighed


def choose(
    find: Finder,
    X: Any,
    task: Task,
    wish: Wish,
    start: float,
    rng: np.random.Generator,
    announce: Callable[[str], None],
) -> Choice:
    """Find gamma and C, whichever is not given, on a sample."""
    n = len(task.y)
    if n < TOO_FEW or (wish.gamma is not None and wish.C is not None):
        return Choice(wish.gamma or start, wish.C or 1.0, np.nan)
    if n > SAMPLED:
        sample = np.sort(rng.choice(n, SAMPLED, replace=False))
        X, task = X[sample], task.part(sample)
    tried = min(max(len(task.y) // ROWS_FOR_EACH, FEWEST), MOST_TRIED)
    search = Search(
        find,
        X,
        task,
        parts(task, rng, HELD_OUT),
        min(tried, wish.budget or tried),
        CS if wish.C is None else (wish.C,),
        wish.n_jobs,
        int(rng.integers(2**32)),
        announce,
    )
    if wish.gamma is not None:
        search.judge(wish.gamma)
        return search.tried[wish.gamma]
    found = search.run(start)
    learnt = len(task.y) - len(search.held_out[0])
    more = max(n - len(task.y), 0) / learnt + 1.0
    return found._replace(gamma=found.gamma * more**NARROWER)


def fit(
    find: Finder,
    X: Any,
    task: Task,
    wish: Wish,
    start: float,
    rng: np.random.Generator,
    announce: Callable[[str], None] = lambda text: None,
) -> Machine:
    """Fit a machine.

    Parameters
    ----------
    find
        Finds centres.
    X, task
        All rows, scaled.
    wish
        What is given.
    start
        A first guess at gamma.
    rng
        Of everything random.
    announce
        Is told what was done.
    """
    begun = time.perf_counter()
    choice = choose(find, X, task, wish, start, rng, announce)
    announce(f"gamma {choice.gamma:.3g}, C {choice.C:.3g} from a sample")
    held_out = parts(task, rng) if len(task.y) >= TOO_FEW else []
    seed = int(rng.integers(2**32))

    def with_budget(budget: int, relevance: np.ndarray) -> Machine:
        again = np.random.default_rng(seed)
        machine = _with_budget(
            *(find, X, task, wish, choice, budget),
            *(relevance, held_out, again, announce),
        )
        announce(f"{len(machine.points):,} centres, error {machine.error:.4g} held out")
        return machine

    relevance = np.ones(X.shape[1])
    if wish.budget is not None:
        return with_budget(wish.budget, relevance)
    best, budget, before = None, SMALLEST_BUDGET, 0.0
    errors: list[float] = []
    while True:
        now = time.perf_counter()
        machine = with_budget(budget, relevance)
        took = time.perf_counter() - now
        best = machine if best is None or machine.error < best.error else best
        relevance = best.relevance
        errors.append(best.error)
        budget *= 2
        # Twice the centres take two to four times as long.
        growth = min(max(took / before, 2.0), 4.0) if before else 3.0
        ends = time.perf_counter() - begun + growth * took
        before = took
        if (
            (len(errors) > 2 and errors[-1] > (1.0 - WORTHWHILE) * errors[-3])
            or budget > min(LARGEST_BUDGET, len(task.y) // 2)
            or (wish.time_limit is not None and ends > wish.time_limit)
        ):
            return best


def _with_budget(
    find: Finder,
    X: Any,
    task: Task,
    wish: Wish,
    choice: Choice,
    budget: int,
    relevance: np.ndarray,
    held_out: list[np.ndarray],
    rng: np.random.Generator,
    announce: Callable[[str], None],
) -> Machine:
    gamma, C = choice.gamma, choice.C
    rows = weighed(X, relevance)
    trials = [
        Trial(find, rows, task, held, gamma, budget, wish.n_jobs, rng)
        for held in held_out
    ]
    best = np.inf
    scores: list[np.ndarray] = []
    for _ in range(1 if wish.C is not None or not trials else RISES):
        found = [trial.solve(C, FINE) for trial in trials]
        judged = zip(found, held_out, strict=True)
        judgements = [task.badness(f, held) for f, held in judged]
        badness = float(np.mean(judgements)) if judgements else 0.0
        if badness >= best:
            C /= RISE
            break
        best, scores = badness, found
        coef = [trial.coef for trial in trials]
        C *= RISE
    else:
        C /= RISE
    if len(trials) == 1 and wish.adapt and _can_gain(task, scores[0], held_out[0]):
        place = Place(trials[0].points / relevance, relevance, coef[0])
        moved = _moved(X, task, held_out[0], place, gamma, C, wish, rng, announce)
        if moved is not None:
            points = moved.points * moved.relevance
            rows = weighed(X, moved.relevance)
            trial = Trial(
                *(lambda *given: points, rows, task, held_out[0], gamma, budget),
                *(wish.n_jobs, rng),
            )
            trial.coef = moved.coef
            found = [trial.solve(C, FINE)]
            if task.badness(found[0], held_out[0]) < best:
                trials, scores, coef = [trial], found, [trial.coef]
                relevance = moved.relevance
    error, slopes = np.nan, None if task.is_regression else UNCALIBRATED
    if trials:
        held, known = np.concatenate(held_out), np.concatenate(scores)
        error = task.error(known, held)
        if not task.is_regression:
            slopes = calibrate(task.part(held), known)
    if len(trials) == 1:
        # The rows held out join; their kernel values are there already.
        final, start = trials[0], coef[0]
    else:
        nobody = np.zeros(0, np.int64)
        final = Trial(find, rows, task, nobody, gamma, budget, wish.n_jobs, rng)
        start = None
    final.solver.weight = task.weight
    solution = final.solver.solve(C, start, FINE)
    return Machine(final.points, relevance, solution.coef, gamma, C, slopes, error)


def _can_gain(task: Task, scores: np.ndarray, held: np.ndarray) -> bool:
    return task.is_regression or task.error(scores, held) * len(held) >= COUNTABLE


def _moved(
    X: Any,
    task: Task,
    held: np.ndarray,
    place: Place,
    gamma: float,
    C: float,
    wish: Wish,
    rng: np.random.Generator,
    announce: Callable[[str], None],
) -> Place | None:
    """Move centres with a sample of the rows; None if that does not help."""
    centres = len(place.points)
    learnt = np.ones(len(task.y), bool)
    learnt[held] = False
    there = int(learnt.sum())
    count = min(MOST_ROWS * centres, MOST_VALUES // centres, there)
    if count < FEWEST_ROWS * centres:
        return None
    some = rng.choice(np.flatnonzero(learnt), count, replace=False)
    watched = min(max(count // HELD_OF_MOVED, 1), len(held))
    out = rng.choice(held, watched, replace=False)
    rows = np.sort(np.concatenate([some, out]))
    part = task.part(rows)
    mover = Mover(
        X[rows],
        part._replace(weight=part.weight * (there / count)),
        *(np.searchsorted(rows, np.sort(out)), gamma, C, wish.n_jobs, rng),
    )

    def tell(step: int, badness: float) -> None:
        announce(f"centres moved {step} times, badness {badness:.4g}")

    found, path = mover.run(place, MOVES, tell)
    return found if int(np.argmin(path)) else None

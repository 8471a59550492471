"""A kernel machine from rows and targets alone: gamma, C, centres, coefficients.

1. gamma and C: trials with few centres on a sample of the rows (see `search`). More
   rows bear a narrower kernel: gamma grows with the power `NARROWER` of their number.
2. Centres for all rows but those held out, and coefficients for C and, as long as that
   is better on the rows held out, larger ones.
3. Of many rows: centres move, and features get weights (see `moves`), on a sample.
   Where centres are too many for that, features are weighed with fewer of them first.
4. The score and the calibration, from the rows held out.
5. The coefficients once more, now for all rows.

Of few rows every one is held out once, so that steps 1 and 4 are cross-validation.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onkel.refit.held_out import Task, parts
from onkel.refit.maker import RISES, Machine, Maker
from onkel.refit.search import CS, Choice, Finder, Search

# Rows and centres of a trial.
SAMPLED = 15_000
# Share of them that is held out: scores are cheap, and few say little.
HELD_OUT = 2.0 / 3.0
FEWEST, MOST_TRIED, ROWS_FOR_EACH = 50, 250, 20
NARROWER = 0.5
# With fewer rows nothing can be held out.
TOO_FEW = 10
# budget="auto": the first, the last, and the share of the error that doubling it twice
# has to gain. Once may gain little where centres begin to be too many to be moved.
SMALLEST_BUDGET, LARGEST_BUDGET, WORTHWHILE = 125, 4000, 0.02


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
    maker = Maker(
        *(find, X, task, held_out, choice, 1 if wish.C is not None else RISES),
        *(wish.adapt, wish.n_jobs, int(rng.integers(2**32)), announce),
    )

    def with_budget(budget: int, relevance: np.ndarray) -> Machine:
        machine = maker.make(budget, relevance)
        announce(f"{len(machine.points):,} centres, error {machine.error:.4g} held out")
        return machine

    if wish.budget is not None:
        return with_budget(wish.budget, maker.weigh(wish.budget))
    relevance = np.ones(X.shape[1])
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

"""A kernel machine from rows and targets alone: gamma, C, centres, coefficients.

1. gamma and C: trials with few centres on a sample of the rows (see `search`). More
   rows bear a narrower kernel: gamma grows with the power `NARROWER` of their number.
2. Centres for all rows but those held out, and coefficients for C and, as long as that
   is better on the rows held out, larger ones.
3. Of many rows: centres move, and features get weights, with all coefficients found
   anew before each step (see `center_descent`), or where rows are plenty for each
   centre, together with these (see `stochastic_descent`, which takes the place of 2).
   Where centres are too many to be moved, features are weighed with fewer first.
4. The score and the calibration, from the rows held out.
5. The coefficients once more, now for all rows.

Of few rows every one is held out once, so that steps 1 and 4 are cross-validation.

A deadline is kept by doing less of each: fewer rows and centres if it has to be (see
`affordable`), fewer gammas, no larger C, fewer moves, no larger budget, fewer steps to
the coefficients, in whatever order the time runs out.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onkel.engine.threads import blas_in_one_thread
from onkel.refit import devices
from onkel.refit.deadline import ENDLESS, Deadline
from onkel.refit.fitter import FINE, NOBODY, RISES, Fitter, Solution
from onkel.refit.held_out import FEW, Targets, parts
from onkel.refit.passes import Device
from onkel.refit.search import CS, Choice, Search, Trial
from onkel.refit.stopwatch import Stopwatch, Work
from onkel.refit.tools import Finder, Sample, Tools

# Rows and centres of a trial.
SAMPLED = 15_000
# Share of them that is held out: scores are cheap, and few say little.
HELD_OUT = 2.0 / 3.0
FEWEST, MOST_TRIED, ROWS_FOR_EACH = 50, 250, 20
LEARNT = round(SAMPLED * (1.0 - HELD_OUT))
NARROWER = 0.5
# Rows from which on a GPU is worthwhile: fewer are learnt before it has started.
MANY_ROWS = 10_000
# Parts of the rows that are held out in turn, at most: more would find the same.
TURNS = 2
# With fewer rows nothing can be held out.
TOO_FEW = 10
# budget="auto": the first, which is the default of who does not ask for "auto", or
# fewer where only so many centres can be moved; where time is limited it is the last.
# And the share of the error that doubling it twice has to gain: once may gain little
# where centres begin to be too many to be moved.
FIRST_BUDGETS, WORTHWHILE = (500, 250, 125), 0.02
SMALLEST_BUDGET = FIRST_BUDGETS[-1]

# With a deadline: rows of trials, the more the better, how many of these have to fit
# into which share of the time.
SAMPLES, TRIALS, SEARCH = (FEW, SAMPLED), 6, 0.3
# And of the whole: rows for each centre, with which it is tried what they cost, and how
# much longer everything takes than such a trial, or than to find its coefficients.
FEWEST_FOR_EACH, WHOLE, SOLVED = 5, 5.0, 10.0
# And share of the time in which centres have to be found.
FINDING = 0.2


class Request(NamedTuple):
    """What is given; None for what is to be found."""

    budget: int | None
    gamma: float | None = None
    C: float | None = None
    n_jobs: int = 1
    adapt: bool = True  # whether centres move and features are weighed
    device: str = devices.CPU
    is_much: bool = False  # so that a GPU is worthwhile


def enough(n: int, budget: int) -> int:
    """Rows, of n, that say how long something takes."""
    return min(n, max(FEW, FEWEST_FOR_EACH * budget))


def in_time(find: Finder, deadline: Deadline) -> Finder:
    """Find centres with as many rows as there is time for."""

    def found(X: Any, targets: Targets, gamma: float, budget: int) -> np.ndarray:
        sample, begun = Sample(X, targets), deadline.clock()
        n = sample.rows
        order = np.random.default_rng(0).permutation(n)

        def of(rows: int) -> np.ndarray:
            return find(*sample.part(np.sort(order[:rows])), gamma, budget)

        few = enough(n, budget)
        points = of(few)
        took = max(deadline.clock() - begun, 1e-9)
        rows = int(min(n, max(few, few * FINDING * deadline.left / took)))
        if rows == n:
            return points if few == n else find(X, targets, gamma, budget)
        deadline.leave_out("some of the rows when centres were looked for")
        return of(rows) if rows > 2 * few else points

    return found


def choose(
    tools: Tools,
    sample: Sample,
    request: Request,
    start: float,
    rng: np.random.Generator,
) -> Choice:
    """Find gamma and C, whichever is not given, with some of the rows."""
    n, deadline = sample.rows, tools.deadline
    guessed = Choice(request.gamma or start, request.C or 1.0, np.nan)
    if n < TOO_FEW or (request.gamma is not None and request.C is not None):
        return guessed

    def search_of(rows: int) -> Search:
        some = sample.drawn(rows, rng) if n > rows else sample
        tried = min(max(some.rows // ROWS_FOR_EACH, FEWEST), MOST_TRIED)
        return Search(
            *(tools, some, parts(some.targets, rng, HELD_OUT)[:TURNS]),
            min(tried, request.budget or tried),
            CS if request.C is None else (request.C,),
            int(rng.integers(2**32)),
        )

    first, *others = SAMPLES if deadline.is_set else (SAMPLED,)
    search = search_of(first)
    for rows in others:
        if search.sample.rows == n:
            break
        search.judge(guessed.gamma)
        larger = search_of(rows)
        takes = TRIALS * search.longest * larger.work / search.work
        if not deadline.allows(takes, "trials with more rows"):
            break
        search = larger
    if request.gamma is not None:
        search.judge(request.gamma)
        return search.tried.get(request.gamma, guessed)
    found = search.run(guessed)
    # Of fewer rows, a gamma says too little to be made that much narrower.
    searched = search.sample.rows
    learnt = max(searched - len(search.held_out[0]), LEARNT)
    more = max(n - searched, 0) / learnt + 1.0
    return found._replace(gamma=found.gamma * more**NARROWER)


def affordable(
    tools: Tools, sample: Sample, request: Request, start: float
) -> tuple[int, int | None]:
    """Rows and budget for which there is time.

    Trials say what they cost: first of few centres and few rows, then of more, as long
    as everything else for them would be done in time.
    """
    n, wanted = sample.rows, request.budget or SMALLEST_BUDGET
    deadline = tools.deadline
    rng = np.random.default_rng(0)
    # Of a narrow kernel centres are found more slowly.
    gamma = request.gamma or start * max(n / SAMPLED, 1.0) ** NARROWER

    def seconds(budget: int) -> tuple[float, float]:
        """How long it takes in all, and without finding centres."""
        begun = deadline.clock()
        some = sample.drawn(enough(n, budget), rng)
        held = parts(some.targets, rng) if some.rows >= TOO_FEW else [NOBODY]
        trial = Trial(tools, some, held[0], gamma, budget, rng)
        found = deadline.clock()
        trial.solve(request.C or 1.0, FINE, deadline.aside())
        took = np.array([deadline.clock() - begun, deadline.clock() - found])
        return tuple(np.maximum(took * len(held), 1e-9))

    budget = min(wanted, SMALLEST_BUDGET)
    took, solved = seconds(budget) if deadline.left > 0.0 else (math.inf, math.inf)
    while budget < wanted:
        more = min(2 * budget, wanted)
        larger = more / budget * enough(n, more) / enough(n, budget)
        if deadline.left < WHOLE * larger * took:
            break
        budget, (took, solved) = more, seconds(more)
    few = enough(n, budget)
    rows = max(few, int(few * deadline.left / (SOLVED * solved)))
    if rows > n // 2:
        rows = n  # a copy of most of them would save little
    else:
        deadline.leave_out(f"all but {rows:,} of {n:,} rows")
    if request.budget is None:
        return rows, None
    if budget < wanted:
        deadline.leave_out(f"all but {budget:,} of {wanted:,} centres")
    return rows, budget


def fit(
    find: Finder,
    X: Any,
    targets: Targets,
    request: Request,
    start: float,
    rng: np.random.Generator,
    announce: Callable[[str], None] = lambda text: None,
    deadline: Deadline = ENDLESS,
    warn: Callable[[str], None] = warnings.warn,
) -> Solution:
    """Fit a machine to all rows, scaled; `start` is a first guess at gamma."""
    drawn = rng.bit_generator.state

    def work(device: Device) -> Solution:
        # Should it be done twice.
        rng.bit_generator.state = drawn
        deadline.left_out.clear()
        tools = Tools(find, device, announce, deadline, Stopwatch())
        found = _fit(tools, Sample(X, targets), request, start, rng)
        announce(f"of that {tools.stopwatch}")
        return found

    with blas_in_one_thread:
        return devices.carry_out(
            *(request.device, request.is_much, request.n_jobs, work, warn)
        )


def _fit(
    tools: Tools,
    sample: Sample,
    request: Request,
    start: float,
    rng: np.random.Generator,
) -> Solution:
    deadline, announce = tools.deadline, tools.announce
    if deadline.is_set:
        rows, budget = affordable(tools, sample, request, start)
        request = request._replace(budget=budget)
        if rows < sample.rows:
            sample = sample.drawn(rows, rng)
    hurried = tools._replace(deadline=deadline.share(SEARCH))
    with tools.stopwatch.of(Work.SEARCH):
        choice = choose(hurried, sample, request, start, rng)
    announce(f"gamma {choice.gamma:.3g}, C {choice.C:.3g} from a sample")
    held_out = parts(sample.targets, rng) if sample.rows >= TOO_FEW else []
    if deadline.is_set:
        tools = tools._replace(find=in_time(tools.find, deadline))
    fitter = Fitter(
        *(tools, sample, held_out, choice),
        *(1 if request.C is not None else RISES, request.adapt),
        int(rng.integers(2**32)),
    )

    def with_budget(budget: int, relevance: np.ndarray) -> Solution:
        with tools.stopwatch.of(Work.SOLVING):
            machine = fitter.make(budget, relevance)
        announce(f"{len(machine.points):,} centres, error {machine.error:.4g} held out")
        return machine

    budget = request.budget or fitter.first_of(
        FIRST_BUDGETS[-1:] if deadline.is_set else FIRST_BUDGETS
    )
    with tools.stopwatch.of(Work.SOLVING):
        relevance = fitter.weigh(budget)
    if request.budget is not None:
        return with_budget(budget, relevance)
    best, before = None, 0.0
    errors: list[float] = []
    while True:
        now = deadline.clock()
        machine = with_budget(budget, relevance)
        took = deadline.clock() - now
        best = machine if best is None or machine.error < best.error else best
        relevance = best.relevance
        errors.append(best.error)
        budget *= 2
        # Twice the centres take two to four times as long.
        growth = min(max(took / before, 2.0), 4.0) if before else 3.0
        before = took
        if (
            (len(errors) > 2 and errors[-1] > (1.0 - WORTHWHILE) * errors[-3])
            or budget > min(tools.device.most_centres, sample.rows // 2)
            or not deadline.allows(growth * took, f"budgets beyond {budget // 2:,}")
        ):
            return best

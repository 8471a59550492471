"""Walk: a block of threads takes one model through all rows, each scored, then learnt.

As `onkel.engine.online` does; only that kernel values are not known a block of rows
ahead, but computed by all threads when their row comes.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import config, cuda, float32, float64, int64

from onkel.engine.evaluation import HEADROOM, LARGEST_SINGLE
from onkel.engine.online import LARGEST_FACTOR, SMALLEST_FACTOR
from onkel.model.state import Update
from onkel.problem.kernels import diagonal
from onkel.problem.rates import base, decay, gain
from onkel.problem.steps import propose
from onkel.problem.tasks import Verdict, judge
from onkel.tune.cuda.model import (
    Arrival,
    Model,
    Models,
    Setting,
    State,
    fold,
    model_of,
    setting_of,
)
from onkel.tune.cuda.reductions import FEW, THREADS, Board, total
from onkel.tune.pupils import MOST_OUTPUTS

# With as many registers a thread, four blocks of 256 threads share a multiprocessor and
# work while others wait; with the 170 to 250 that compilers like, one. The simulator
# does not know of registers.
OPTIONS = {} if config.ENABLE_CUDASIM else {"max_registers": 64}
LIMIT = HEADROOM * LARGEST_SINGLE


class Stream(NamedTuple):
    """The rows, and in which orders they come."""

    X: Any  # shape (rows, features)
    norms: Any  # shape (rows,): squared
    y: Any  # shape (rows,)
    order: Any  # shape (orders, steps)
    draws: Any  # shape (generators, learnt)
    learnt: int  # steps after which rows are scored only
    first: int  # step whose scores are the first that are kept


class Reports(NamedTuple):
    """What is told of each model."""

    scores: Any  # shape (models, steps - first, outputs)
    mistakes: Any  # shape (models,): of rows learnt, before that
    squared: Any  # shape (models,): their squared errors, likewise
    done: Any  # shape (models,): steps before scores overflowed


class Tally(NamedTuple):
    """Of the rows so far."""

    t: int
    mistakes: int
    squared: float


@cuda.jit(device=True)
def _weigh(model: Model, count: int, scale: float, f: Any) -> bool:
    """Scores of the row; whether all are far from infinite."""
    small = True
    for o in range(model.coef.shape[0]):
        part = np.float32(0.0)
        for j in range(cuda.threadIdx.x, count, cuda.blockDim.x):
            part += model.coef[o, j] * model.values[j]
        f[o] = scale * total(model.board, np.float64(part))
        small = small and abs(f[o]) < LIMIT
    return small


@cuda.jit(device=True)
def _keep(f: Any, scores: Any) -> None:
    if cuda.threadIdx.x == 0:
        for o in range(len(scores)):
            scores[o] = f[o]


@cuda.jit(device=True)
def _weight(
    setting: Setting, verdict: Verdict, t: int, factor: float, kxx: float
) -> float:
    """Raw weight of an update at row t; not a number if it is close to infinite."""
    step = gain(setting.rate, t)
    weight = propose(setting.step, setting.loss, verdict, step, kxx, 1.0)
    raw = weight / factor
    true = abs(weight) * base(setting.rate, t)
    return raw if true < LIMIT and abs(raw) < LIMIT and kxx < LIMIT else np.nan


@cuda.jit(device=True)
def _counted(tally: Tally, verdict: Verdict) -> Tally:
    apart = verdict.score - verdict.target
    mistakes = tally.mistakes + (1 if verdict.mistake else 0)
    return Tally(tally.t + 1, mistakes, tally.squared + apart * apart)


@cuda.jit(device=True)
def _report(reports: Reports, m: int, tally: Tally, done: int) -> None:
    if cuda.threadIdx.x == 0:
        reports.mistakes[m] = tally.mistakes
        reports.squared[m] = tally.squared
        reports.done[m] = done


@functools.cache
def walk_with(evaluate: Any, absorb: Any) -> Any:
    """Make the kernel for a way to find values of a row, and a strategy."""

    @cuda.jit(**OPTIONS)
    def walk(stream: Stream, models: Models, reports: Reports) -> None:
        m, i, threads = cuda.blockIdx.x, cuda.threadIdx.x, cuda.blockDim.x
        setting = setting_of(models.settings[m])
        board = Board(
            cuda.shared.array(THREADS, float64),
            cuda.shared.array(THREADS, int64),
            cuda.shared.array(THREADS, int64),
            cuda.shared.array(FEW, float64),
        )
        model = model_of(models, setting.place, m, board)
        outputs, features = model.coef.shape[0], model.points.shape[0]
        x = cuda.shared.array(0, float32)  # as large as the launch says
        f = cuda.local.array(MOST_OUTPUTS, float64)
        order, draws = stream.order[setting.order], stream.draws[setting.draws]
        state = State(setting.width, 1.0, 0, 0, 0.0, 0)
        tally = Tally(0, 0, 0.0)
        done = 0
        while done < len(order):
            row = order[done]
            for k in range(i, features, threads):
                x[k] = stream.X[row, k]
            cuda.syncthreads()
            evaluate(setting, model, state.size, x)
            scale = state.factor * base(setting.rate, tally.t)
            if not _weigh(model, state.size, scale, f):
                break
            if done >= stream.first:
                _keep(f, reports.scores[m, done - stream.first])
            done += 1
            if done > stream.learnt:
                continue
            verdict = judge(setting.loss, f[:outputs], stream.y[row])
            kxx = np.float32(diagonal(setting.kernel, stream.norms[row]))
            factor = state.factor * decay(setting.rate, tally.t + 1)
            weight = _weight(setting, verdict, tally.t + 1, factor, kxx)
            if np.isnan(weight):
                done -= 1
                break
            tally = _counted(tally, verdict)
            acts = 1 if weight != 0.0 else 0
            state = State(
                state.size,
                factor,
                state.updates + acts,
                state.drawn,
                state.damage,
                state.oldest,
            )
            if acts:
                draw = draws[min(state.drawn, len(draws) - 1)]
                arrival = Arrival(x, kxx, tally.t, draw)
                update = Update(verdict.up, verdict.down, weight)
                state = absorb(setting, model, state, arrival, update)
                cuda.syncthreads()
            if not SMALLEST_FACTOR < state.factor < LARGEST_FACTOR:
                state = fold(model, state)
        _report(reports, m, tally, done)

    return walk

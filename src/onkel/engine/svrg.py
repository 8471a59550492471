"""Phase 2 of DualSVRG: steps whose variance a memory of rows reduces.

    v = (g(w) - g(u)) z(x_t) + mean over the memory of g_i(u) z(x_i)
    w <- (w - eta v) / (1 + eta alpha)

w is the model, u the mean of the `period` models before the last checkpoint, g the
slope of the loss, and z(x) stands for a centre's own coefficient if x is a core, else
for the features of x. The oracle says which.

The sum over the memory changes by the row that enters and the row that leaves, so a
step costs the same whatever the memory holds; only at a checkpoint, where all slopes
are taken anew at the new u, is every row of it visited. Models of the past are not
kept, only their sum.

Cores never leave nor move, so the values of a row in memory stay true; those with cores
that came after it are computed when a checkpoint asks for them.
"""

from typing import Any, NamedTuple

import numpy as np

from onkel.budget.declaration import strategy
from onkel.budget.dispatch import refuse_nonsense, relabelled, resized
from onkel.compiled.draws import Draws
from onkel.compiled.functions import inlined, inner
from onkel.engine import passes
from onkel.engine.evaluation import largest_score
from onkel.engine.passes import Batch
from onkel.features.dispatch import width
from onkel.model.distances import load_row, nearest
from onkel.model.expansion import fill_later_rows, insert
from onkel.model.ranges import WORK, finite, not_negative, within
from onkel.model.rows import between_center, copy_row
from onkel.model.state import Block, Model, Update
from onkel.problem.kernels import Kernel
from onkel.problem.losses import Loss
from onkel.problem.rates import Rate
from onkel.problem.tasks import judge

NO_SLOT = -1
# Rows of the memory that a checkpoint visits at a time: their values stay in the first
# cache until the gradient has been summed.
TILE = 4
ENTRY = np.dtype(
    [
        ("y", np.float64),
        ("weight", np.float64),
        ("slope", np.float64),  # at the checkpoint, times the weight
        ("up", np.int64),  # the output that moves against the slope ...
        ("down", np.int64),  # ... and the runner-up there, -1 for a single output
        ("slot", np.int64),  # of the row, if it is a core
        ("known", np.int64),  # slots that there were when the values were written
    ],
    align=True,
)
COUNTERS = np.dtype(
    [
        ("place", np.int64),  # where the next row goes
        ("length", np.int64),  # rows in memory
        ("steps", np.int64),  # since the checkpoint
    ],
    align=True,
)


class ReducedPlan(NamedTuple):
    """What phase 2 needs to know besides the memory."""

    kernel: Kernel
    loss: Loss
    rate: Rate  # constant; nothing shrinks by itself
    ball: bool  # never; the learner asks every plan
    period: int
    reset: bool = True  # whether the model goes back to the mean at a checkpoint


class Change(NamedTuple):
    """What a step changes in one output: slopes of the row, and of the one it ousts."""

    enter: float  # at the checkpoint
    leave: float  # of the old row, at the checkpoint
    own: float  # at the model


@strategy(
    ranges={
        "checkpoint": finite,
        "total": finite,
        "gradient": finite,
        "scores": WORK,
        "some": WORK,
        "mark": WORK,
        "values": finite,
        "points": finite,
        "entries.y": finite,
        "entries.weight": not_negative,
        "entries.slope": finite,
        "entries.up": lambda s: (0, s.outputs - 1),
        "entries.down": lambda s: (-1, s.outputs - 1),
        "entries.slot": lambda s: (-1, s.used - 1),
        "entries.known": lambda s: (0, s.used),
        "counters.place": lambda s: (0, s.memory - 1),
        "counters.length": lambda s: (0, s.memory),
        "counters.steps": lambda s: (0, s.period - 1),
    },
)
class Memory(NamedTuple):
    """Who becomes a core, the checkpoint, and the last rows; `make` constructs it."""

    limit: int  # of cores
    radius: float  # within which a core covers a row; 0 if none ever does
    lazy: bool  # whether only rows with a slope may become cores
    checkpoint: Any  # u, shape (outputs, capacity)
    total: Any  # sum of the models since the checkpoint, likewise
    gradient: Any  # sum over the memory, likewise
    scores: Any  # shape (outputs,), float64: of the present row under u
    some: Any  # shape (outputs, TILE): room for scores, and for slopes, of several rows
    mark: Any  # shape (capacity,): 0 for cores, as `nearest` wants it
    values: Any  # shape (size or a few more, capacity): features and kernel values
    points: Any  # shape (size, features): the rows
    entries: Any  # shape (size,), of ENTRY
    counters: Any  # shape (1,), of COUNTERS


@resized.register
def _resized(budget: Memory, model: Model) -> Memory:
    outputs, capacity = model.coef.shape
    size, dtype = len(budget.entries), model.coef.dtype
    new = [np.zeros((outputs, capacity), dtype) for _ in range(3)]
    olds = budget.checkpoint, budget.total, budget.gradient
    for array, old in zip(new, olds, strict=True):
        array[: len(old), : old.shape[1]] = old
    mark = np.zeros(capacity, np.int32)
    mark[: width(model.mapping)] = NO_SLOT
    # Whole tiles: what is beyond the memory is 0.
    values = np.zeros((-(-size // TILE) * TILE, capacity), dtype)
    values[: len(budget.values), : budget.values.shape[1]] = budget.values
    points = np.zeros((size, model.points.shape[1]), dtype)
    points[:, : budget.points.shape[1]] = budget.points
    return budget._replace(
        checkpoint=new[0],
        total=new[1],
        gradient=new[2],
        scores=np.zeros(outputs),
        some=np.zeros((outputs, TILE), dtype),
        mark=mark,
        values=values,
        points=points,
    )


@relabelled.register
def _relabelled(budget: Memory, matrix: np.ndarray) -> Memory:
    """Map the outputs by a matrix (new x old); see `state.relabelled`.

    Two classes share an output, as its negative and itself, each half: of the
    gradient with respect to them each has the whole.
    """
    matrix = matrix.astype(budget.total.dtype)
    entries, old = budget.entries.copy().view(np.recarray), budget.entries
    if matrix.shape[1] == 1:
        lower, upper = matrix[:, 0].argmin(), matrix[:, 0].argmax()
        entries.up = np.where(old.y > 0, upper, lower)
        entries.down = np.where(old.y > 0, lower, upper)
        entries.slope = old.slope * old.y
    else:
        place = matrix.argmax(axis=0)
        entries.up, entries.down = place[old.up], place[old.down]
    entries.y = entries.up
    return budget._replace(
        checkpoint=np.ascontiguousarray(matrix @ budget.checkpoint),
        total=np.ascontiguousarray(matrix @ budget.total),
        gradient=np.ascontiguousarray(np.sign(matrix) @ budget.gradient),
        scores=np.zeros(len(matrix)),
        some=np.zeros((len(matrix), TILE), matrix.dtype),
        entries=entries,
    )


@refuse_nonsense.register
def _refuse_nonsense(budget: Memory, model: Model) -> None:
    # Those after the last in use are as they were made.
    entries = budget.entries[: int(budget.counters[0].length)]
    outputs, count = len(model.coef), model.counters[0].count
    if outputs > 1:
        within("Memory.entries.y", entries.y, 0, outputs - 1)
        if (entries.y != np.rint(entries.y)).any():
            raise ValueError("Memory.entries.y is no class")
    slots = entries.slot[entries.slot != NO_SLOT]
    within("Memory.entries.slot", slots, width(model.mapping), count - 1)


def make(limit: int, radius: float, lazy: bool, size: int) -> Memory:
    """Make an empty memory of that size.

    Examples
    --------
    >>> make(limit=10, radius=0.0, lazy=False, size=100).counters[0].length.item()
    0
    """
    nothing = np.zeros((0, 0))
    return Memory(
        limit,
        radius,
        lazy,
        *(nothing, nothing, nothing, np.zeros(0), nothing, np.zeros(0, np.int32)),
        *(np.zeros((size, 0)), np.zeros((size, 0))),
        np.zeros(size, ENTRY).view(np.recarray),
        np.zeros(1, COUNTERS).view(np.recarray),
    )


@inner
def _two_scores(w: Any, u: Any, values: Any) -> Any:
    """<w, values> and <u, values>."""
    one = other = values.dtype.type(0)
    for j in range(len(values)):
        one += w[j] * values[j]
        other += u[j] * values[j]
    return one, other


@inner
def _advance(
    w: Any, total: Any, gradient: Any, values: Any, old: Any, factors: Any
) -> None:
    """Step in the features of one output: the gradient, the model, the sum of models.

    One pass over all five arrays, because reading them is what it costs.
    """
    enter, leave, shrink, own, mean = factors
    for j in range(len(values)):
        g = gradient[j] + enter * values[j] - leave * old[j]
        v = shrink * w[j] + own * values[j] + mean * g
        gradient[j] = g
        w[j] = v
        total[j] += v


@inner
def _advance_cores(w: Any, total: Any, gradient: Any, shrink: Any, mean: Any) -> None:
    """Step in the cores of one output; what is the row's own is there already."""
    for j in range(len(w)):
        w[j] = shrink * w[j] + mean * gradient[j]
        total[j] += w[j]


@inlined
def _part(slope: float, pair: Any, output: int) -> float:
    """Part of a slope that concerns an output; `pair` has the outputs that move."""
    if output == pair.up:
        return slope
    return -slope if output == pair.down else 0.0


@inlined
def _becomes_core(
    memory: Memory, model: Model, block: Block, t: int, slope: float
) -> bool:
    """Ask the oracle."""
    size = model.counters[0].count - width(model.mapping)
    if size >= memory.limit or (memory.lazy and slope == 0.0):
        return False
    if memory.radius == 0.0 or size == 0:
        return True
    load_row(block, t)
    limit = memory.radius * memory.radius
    found = nearest(model, block, t, memory.mark, False, limit)
    # The square of a very small radius is 0, but a point covers its duplicates.
    return not (found.squared < limit or found.squared == 0.0)


@inlined
def _complete(plan: ReducedPlan, memory: Memory, model: Model, i: int) -> None:
    """Compare row i of the memory with the cores that came after it."""
    size, entry = model.counters[0].count, memory.entries[i]
    for j in range(entry.known, size):
        memory.values[i, j] = between_center(
            plan.kernel, model.points, j, memory.points[i]
        )
    entry.known = size


@inner
def _score_some(values: Any, u: Any, out: Any) -> None:
    """Scores of TILE rows at once: each number of u is read once for all."""
    first, second, third, fourth = values[0], values[1], values[2], values[3]
    a = b = c = d = out.dtype.type(0)
    for j in range(len(u)):
        a += u[j] * first[j]
        b += u[j] * second[j]
        c += u[j] * third[j]
        d += u[j] * fourth[j]
    out[0], out[1], out[2], out[3] = a, b, c, d


@inner
def _add_some(values: Any, slopes: Any, gradient: Any) -> None:
    """Add the features of TILE rows, times their slopes, to the gradient."""
    first, second, third, fourth = values[0], values[1], values[2], values[3]
    a, b, c, d = slopes[0], slopes[1], slopes[2], slopes[3]
    for j in range(len(gradient)):
        gradient[j] += a * first[j] + b * second[j] + c * third[j] + d * fourth[j]


@inner
def _refresh(plan: ReducedPlan, memory: Memory, model: Model, f: Any) -> None:
    """Take the slopes of all rows in memory at the new checkpoint."""
    size, start = model.counters[0].count, width(model.mapping)
    length, outputs, some = memory.counters[0].length, len(f), memory.some
    memory.gradient[:] = 0
    for first in range(0, length, TILE):
        values = memory.values[first : first + TILE]
        count = min(TILE, length - first)
        for i in range(count):
            _complete(plan, memory, model, first + i)
        for o in range(outputs):
            _score_some(values, memory.checkpoint[o, :size], some[o])
        for i in range(count):
            entry = memory.entries[first + i]
            for o in range(outputs):
                f[o] = some[o, i]
            verdict = judge(plan.loss, f, entry.y)
            entry.slope = verdict.slope * entry.weight
            entry.up, entry.down = verdict.up, verdict.down
            for o in range(outputs):
                change = _part(entry.slope, entry, o)
                some[o, i] = change
                if entry.slot != NO_SLOT:
                    memory.gradient[o, entry.slot] += change
                    some[o, i] = 0
        some[:, count:] = 0
        for o in range(outputs):
            _add_some(values, some[o], memory.gradient[o, :start])


@inner
def _take_checkpoint(plan: ReducedPlan, memory: Memory, model: Model, f: Any) -> None:
    size = model.counters[0].count
    for o in range(model.coef.shape[0]):
        for j in range(size):
            mean = memory.total[o, j] / plan.period
            memory.checkpoint[o, j] = mean
            memory.total[o, j] = 0
            if plan.reset:
                model.coef[o, j] = mean
    memory.counters[0].steps = 0
    _refresh(plan, memory, model, f)


@inlined
def _step(
    plan: ReducedPlan,
    memory: Memory,
    model: Model,
    block: Block,
    t: int,
    o: int,
    slot: int,
    change: Change,
) -> None:
    """Move one output's coefficients; the memory's place for row t has its old row."""
    size, start = model.counters[0].count, width(model.mapping)
    kept, number = memory.counters[0], model.coef.dtype.type
    shrink = 1.0 / (1.0 + plan.rate.eta0 * plan.rate.alpha)
    reach = shrink * plan.rate.eta0
    enter, leave = change.enter, change.leave
    own = reach * (enter - change.own)
    w, total, gradient = model.coef[o], memory.total[o], memory.gradient[o]
    old = memory.entries[kept.place].slot
    if leave != 0.0 and old != NO_SLOT:
        gradient[old] -= number(leave)
        leave = 0.0
    if slot != NO_SLOT:
        gradient[slot] += number(enter)
        w[slot] += number(own / shrink)
        enter = own = 0.0
    mean = number(-reach / kept.length)
    _advance(
        w[:start],
        total[:start],
        gradient[:start],
        block.kernel[t, :start],
        memory.values[kept.place, :start],
        (number(enter), number(leave), number(shrink), number(own), mean),
    )
    cores = slice(start, size)
    _advance_cores(w[cores], total[cores], gradient[cores], number(shrink), mean)


@inlined
def _remember(memory: Memory, model: Model, block: Block, t: int) -> None:
    """Put the values of row t in the memory, and the row if cores may yet come."""
    size, own = model.counters[0].count, memory.counters[0]
    place = own.place
    memory.entries[place].known = size
    values, kept = block.kernel[t, :size], memory.values[place, :size]
    for j in range(size):
        kept[j] = values[j]
    if size - width(model.mapping) < memory.limit:
        copy_row(block.rows, t, memory.points[place])
    own.place = place + 1 if place + 1 < len(memory.entries) else 0


@passes.walk.register(ReducedPlan)
def walk(
    plan: ReducedPlan,
    memory: Memory,
    model: Model,
    block: Block,
    batch: Batch,
    draws: Draws,
) -> int:
    """Learn the rows of a block; return how many could be learnt.

    It stops before a row whose score or slope is close to infinite.
    """
    y, sample_weight = batch.y, batch.sample_weight
    f, scores = block.f, batch.scores
    counters, own = model.counters[0], memory.counters[0]
    outputs, then = model.coef.shape[0], memory.scores
    limit = largest_score(model.coef)
    longest = limit / max(plan.rate.eta0, 1.0)
    for t in range(len(y)):
        small = block.diag[t] < limit
        for o in range(outputs):
            values = block.kernel[t, : counters.count]
            f[o], then[o] = _two_scores(model.coef[o], memory.checkpoint[o], values)
            scores[t, o] = f[o]
            small &= abs(f[o]) < limit and abs(then[o]) < limit
        at_w, at_u = judge(plan.loss, f, y[t]), judge(plan.loss, then, y[t])
        slope_w = at_w.slope * sample_weight[t]
        slope_u = at_u.slope * sample_weight[t]
        if not (small and abs(slope_w) < longest and abs(slope_u) < longest):
            return t
        counters.t += 1
        counters.mistakes += at_w.mistake
        counters.updates += slope_w != 0.0
        slot = NO_SLOT
        if _becomes_core(memory, model, block, t, slope_w):
            slot = counters.count
            insert(model, block, t, Update(0, -1, 0.0))
            fill_later_rows(model, block, t)
        entry = memory.entries[own.place]
        full = own.length == len(memory.entries)
        own.length += not full
        for o in range(outputs):
            change = Change(
                _part(slope_u, at_u, o),
                _part(entry.slope, entry, o) if full else 0.0,
                _part(slope_w, at_w, o),
            )
            _step(plan, memory, model, block, t, o, slot, change)
        entry.y, entry.weight, entry.slope = y[t], sample_weight[t], slope_u
        entry.up, entry.down, entry.slot = at_u.up, at_u.down, slot
        _remember(memory, model, block, t)
        own.steps += 1
        if own.steps == plan.period:
            _take_checkpoint(plan, memory, model, f)
    return len(y)

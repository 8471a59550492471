"""A pass: block after block, first the kernel values, then the walk."""

from typing import Any, NamedTuple

from onkel.compiled.draws import Draws
from onkel.compiled.functions import inner, jit, typedispatch
from onkel.engine.evaluation import Task, Workspace, block_of, fill
from onkel.engine.plan import slots_for
from onkel.model.averages import has_room
from onkel.model.rows import part
from onkel.model.rows_ahead import forget, start
from onkel.model.state import Block, Model


class Batch(NamedTuple):
    """Rows to learn, and where their scores go."""

    rows: Any  # one of onkel.model.rows
    y: Any  # shape (rows,)
    sample_weight: Any  # shape (rows,)
    scores: Any  # shape (rows, outputs): the scores before each update


class Limits(NamedTuple):
    """How much at a time, and in all."""

    block_size: int
    largest_size: int  # slots that the model may come to use
    foresee: bool  # whether scores are worth knowing before the block


@inner
def part_of(batch: Batch, first: int, last: int) -> Batch:
    """Return the rows first..last only."""
    return Batch(
        part(batch.rows, first, last),
        batch.y[first:last],
        batch.sample_weight[first:last],
        batch.scores[first:last],
    )


@typedispatch(merged=False, referring=True)
def walk(
    plan: Any,
    budget: Any,
    model: Model,
    block: Block,
    batch: Batch,  # the rows of the block
    draws: Draws,
) -> Any:
    """Learn the rows of a block, one after another; return how many could be learnt.

    The type of the plan says how.
    """


@jit
def learn(
    plan: Any,
    budget: Any,
    model: Model,
    batch: Batch,
    limits: Limits,
    draws: Draws,
    work: Workspace,
    filled: bool,  # whether the kernel values of the first block are in `work`
) -> int:
    """Learn rows block by block; return how many were learnt.

    Stops before a block for which the arrays have no room, before a row that cannot be
    learnt, and where the strategy has halted; the caller tells them apart by the room,
    and by the mark of the halt.
    """
    done, count = 0, len(batch.y)
    start(work.ahead)
    while done < count:
        last = min(done + limits.block_size, count)
        rows = last - done
        slots = slots_for(model.counters[0].count, rows, limits.largest_size)
        if slots > len(model.diag) or not has_room(model.average, rows):
            return done
        some, task = part_of(batch, done, last), Task(slots, limits.foresee)
        if not filled:
            fill(plan.kernel, some.rows, (0, rows), model, task, work)
        filled = False
        work.pending[0] = -1
        forget(work.ahead)
        block = block_of(plan.kernel, some.rows, rows, task, work)
        done += walk(plan, budget, model, block, some, draws)
        if done < last or model.counters[0].halted:
            return done
    return done

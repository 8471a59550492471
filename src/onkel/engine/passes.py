"""A pass: block after block, first the kernel values, then the walk."""

from typing import Any

from onkel.compiled.draws import Draws
from onkel.compiled.functions import jit, typedispatch
from onkel.engine.evaluation import Workspace, block_of, fill
from onkel.engine.plan import slots_for
from onkel.model.averages import has_room
from onkel.model.expansion import Block, Model
from onkel.model.rows import Rows


@typedispatch(merged=False, referring=True)
def walk(
    plan: Any,
    budget: Any,
    model: Model,
    block: Block,
    f: Any,
    y: Any,
    sample_weight: Any,
    scores: Any,
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
    rows: Rows,
    y: Any,
    sample_weight: Any,
    scores: Any,
    block_size: int,
    largest_size: int,
    draws: Draws,
    work: Workspace,
    filled: bool,  # whether the kernel values of the first block are in `work`
) -> int:
    """Learn rows block by block; return how many were learnt.

    Stops before a block for which the arrays have no room, before a row that cannot be
    learnt, and where the strategy has halted; the caller tells them apart by the room,
    and by the mark of the halt.
    """
    done = 0
    while done < len(y):
        last = min(done + block_size, len(y))
        slots = slots_for(model.counters[0].count, last - done, largest_size)
        if slots > len(model.diag) or not has_room(model.average, last - done):
            return done
        if not filled:
            fill(plan.kernel, rows, done, (0, last - done), model, slots, work)
        filled = False
        work.pending[0] = -1
        block = block_of(plan.kernel, rows, done, last, slots, work)
        done += walk(
            plan,
            budget,
            model,
            block,
            work.f,
            y[done:last],
            sample_weight[done:last],
            scores[done:last],
            draws,
        )
        if done < last or model.counters[0].halted:
            return done
    return done

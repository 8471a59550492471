"""A pass: block after block, first the kernel values, then the walk."""

from typing import Any

from onkel.compiled import borrowed, choice, inner, jit
from onkel.engine.block import Workspace, fill, look_ahead
from onkel.engine.plan import slots_for
from onkel.expansion import Model

# Learn the rows of a block, one after another; the type of the plan says how. Returns
# how many could be learnt.
walk, walks = choice(position=0)


@inner
def walk_through(
    plan: Any,
    budget: Any,
    model: Model,
    rows: Any,
    first: int,
    last: int,
    slots: int,
    y: Any,
    sample_weight: Any,
    scores: Any,
    rng: Any,
    work: Workspace,
) -> int:
    """Learn the block whose kernel values `fill` has computed."""
    work = borrowed(work)
    work.pending[0] = -1
    return walk(
        plan,
        budget,
        borrowed(model),
        look_ahead(plan.kernel, borrowed(rows), first, last, slots, work),
        work.f,
        borrowed(y)[first:last],
        borrowed(sample_weight)[first:last],
        borrowed(scores)[first:last],
        rng,
    )


@jit
def learn(
    plan: Any,
    budget: Any,
    model: Model,
    rows: Any,
    y: Any,
    sample_weight: Any,
    scores: Any,
    block_size: int,
    largest_size: int,
    rng: Any,
    work: Workspace,
) -> int:
    """Learn rows block by block; return how many were learnt.

    Stops before a block for which the arrays have no room, and before a row that
    cannot be learnt; the caller tells the two apart by the room.
    """
    done = 0
    while done < len(y):
        last = min(done + block_size, len(y))
        slots = slots_for(model.head[0].count, last - done, largest_size)
        if slots > len(model.diag):
            return done
        fill(plan.kernel, rows, done, (0, last - done), model, slots, work)
        learnt = walk_through(
            plan,
            budget,
            model,
            rows,
            done,
            last,
            slots,
            y,
            sample_weight,
            scores,
            rng,
            work,
        )
        done += learnt
        if done < last:
            return done
    return done

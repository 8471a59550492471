"""A grid: models of one kind that learn the same rows at once, a block of threads each.

The models are those of learners (`onkel.engine.learner`), which say all that there is
to know: plan, budget, generator of the draws, frequencies. They learn in single
precision, and nothing is written back to them.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from onkel.budget.discard import Discard
from onkel.budget.forget import Forget
from onkel.budget.linear import Linear
from onkel.budget.merge import Merge
from onkel.budget.remove import Remove
from onkel.budget.sample import AsPrinted, Uniform, Weighted
from onkel.compiled import functions
from onkel.engine.learner import Learner
from onkel.tune.cuda import merging, sampling, strategies, values
from onkel.tune.cuda.model import Models
from onkel.tune.cuda.reductions import THREADS
from onkel.tune.cuda.walk import Reports, Stream, walk_with
from onkel.tune.pupils import Lesson, Outcome, Pupil, kind_of

WARP = 32
# Share of the GPU's free memory that the models of a launch may take.
SHARE = 0.7


class Code(NamedTuple):
    """How a strategy runs on the GPU, and which room it needs."""

    absorb: Any
    evaluate: Any = values.compare
    other: bool = False
    bound: bool = False
    later: bool = False


CODES: dict[type, Code] = {
    Discard: Code(strategies.discard),
    Forget: Code(strategies.forget, later=True),
    Uniform: Code(sampling.uniform),
    Weighted: Code(sampling.weighted, other=True),
    AsPrinted: Code(sampling.as_printed, other=True),
    Remove: Code(strategies.remove),
    Merge: Code(merging.merge, other=True, bound=True),
    Linear: Code(strategies.spread, values.express),
}


class Room(NamedTuple):
    """How large the arrays of the models are."""

    outputs: int
    features: int
    slots: int
    frequencies: int  # in place of centres


def learn(pupils: Sequence[Pupil], lesson: Lesson, threads: int = THREADS) -> Outcome:
    """Let models learn, as many at once as the GPU has memory for."""
    functions.begin()  # numba must know what to compile for functions of ours
    code, room = CODES[kind_of(pupils[0].learner)], _room(pupils, lesson)
    free, _ = cuda.current_context().get_memory_info()
    at_once = max(int(min(SHARE * free / _bytes(room, code, lesson), len(pupils))), 1)
    parts = [
        _launch(pupils[first : first + at_once], lesson, code, room, threads)
        for first in range(0, len(pupils), at_once)
    ]
    return Outcome(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _room(pupils: Sequence[Pupil], lesson: Lesson) -> Room:
    """Room for the largest of the models."""
    learners = [pupil.learner for pupil in pupils]
    slots = max(learner.largest_size for learner in learners)
    slots = -(-slots // WARP) * WARP
    wide = max(int(learner.counters.count) for learner in learners)
    return Room(len(learners[0].model.coef), lesson.X.shape[1], slots, wide // 2)


def _bytes(room: Room, code: Code, lesson: Lesson) -> int:
    """Memory of a model, with what is its own of rows and results."""
    numbers = room.outputs * (1 + code.later) + 6 + code.other + code.bound
    kept = (lesson.steps - lesson.first) * room.outputs
    numbers += room.features
    return 4 * (numbers * room.slots + kept) + 12 * lesson.steps


def _launch(
    pupils: Sequence[Pupil], lesson: Lesson, code: Code, room: Room, threads: int
) -> Outcome:
    """Let some models learn at once."""
    learners = [pupil.learner for pupil in pupils]
    orders, order = _distinct([pupil.order.astype(np.int32) for pupil in pupils])
    draws, drawn = _distinct([pupil.draws(lesson.learnt) for pupil in pupils])
    sets, place = _points(learners, room)
    settings = np.array(
        [
            _numbers(learner, place[m], order[m], drawn[m])
            for m, learner in enumerate(learners)
        ]
    )
    X = np.ascontiguousarray(lesson.X, np.float32)
    stream = Stream(
        cuda.to_device(X),
        cuda.to_device((X * X).sum(axis=1)),
        cuda.to_device(lesson.y.astype(np.float64)),
        cuda.to_device(orders),
        cuda.to_device(draws),
        lesson.learnt,
        lesson.first,
    )
    models, count = _models(settings, sets, code, room), len(pupils)
    reports = Reports(
        _zeros((count, lesson.steps - lesson.first, room.outputs)),
        _zeros(count, np.int64),
        _zeros(count, np.float64),
        _zeros(count, np.int64),
    )
    walk = walk_with(code.evaluate, code.absorb)
    # The last number is the memory that threads share of a row.
    with warnings.catch_warnings():
        # A few models leave most of a GPU idle: whoever asks for it knows.
        warnings.filterwarnings("ignore", ".*under-utilization")
        walk[count, threads, 0, 4 * room.features](stream, models, reports)
    return Outcome(*(array.copy_to_host() for array in reports))


def _zeros(shape: Any, dtype: Any = np.float32) -> Any:
    return cuda.to_device(np.zeros(shape, dtype))


def _distinct(arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, list[int]]:
    """Return the arrays that differ, stacked, and the place of each among them."""
    places: dict[bytes, int] = {}
    index = [places.setdefault(array.tobytes(), len(places)) for array in arrays]
    firsts = [index.index(place) for place in range(len(places))]
    return np.stack([arrays[first] for first in firsts]), index


def _points(learners: Sequence[Learner], room: Room) -> tuple[Any, Sequence[int]]:
    """Room for the centres of each model, or the frequencies that models share."""
    if room.frequencies == 0:
        shape = len(learners), room.features, room.slots
        return cuda.device_array(shape, np.float32), range(len(learners))
    frequencies = []
    for learner in learners:
        own = np.zeros((room.features, room.frequencies), np.float32)
        half = int(learner.counters.count) // 2
        own[:, :half] = learner.model.points[:half].T
        frequencies.append(own)
    sets, place = _distinct(frequencies)
    return cuda.to_device(sets), place


def _numbers(learner: Learner, place: int, order: int, draws: int) -> list[float]:
    """Return the numbers of a model, in the order of `model.Setting`."""
    plan, budget = learner.plan, learner.budget
    return [
        *(*plan.kernel, *plan.loss, *plan.rate, *plan.step),
        budget.limit,
        getattr(budget, "cap", 0.0),
        getattr(budget, "unsigned", False),
        int(learner.counters.count),
        *(place, order, draws),
    ]


def _models(settings: np.ndarray, points: Any, code: Code, room: Room) -> Models:
    """Empty models; only coefficients are read before they are written."""
    count, slots = len(settings), room.slots

    def array(is_needed: bool, dtype: Any = np.float32, *outputs: int) -> Any:
        shape = (count, *outputs, slots if is_needed else 1)
        return cuda.device_array(shape, dtype)

    return Models(
        settings=cuda.to_device(settings),
        coef=_zeros((count, room.outputs, slots)),
        points=points,
        diag=array(True),
        values=array(True),
        other=array(code.other),
        bound=array(code.bound),
        later=array(code.later, np.float32, room.outputs),
        birth=array(True, np.int64),
        label=array(True, np.int64),
    )

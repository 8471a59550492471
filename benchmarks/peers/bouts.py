"""Bouts: one of ours and those that stand against it take turns at a task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from statistics import mean
from typing import Any, NamedTuple

from benchmarks.peers.contestants import INSTALLED, OURS
from benchmarks.peers.programs import Built
from benchmarks.peers.tasks import SETS, Task
from benchmarks.peers.worker import Worker

Measure = Callable[[float], dict[str, Any]]  # within a limit of seconds
SLOW = 5.0  # seconds, of a fit that is not repeated


class Entrant(NamedTuple):
    """Who takes part in a bout, and how."""

    name: str
    against: str  # which of ours; none for ours
    open: Callable[[ExitStack], Measure]


def _in_python(name: str, against: str, task: Task, why_not: str | None) -> Entrant:
    def open_(stack: ExitStack) -> Measure:
        if why_not is not None:
            return lambda limit: {"failed": why_not}
        return stack.enter_context(Worker(name, task)).measure

    return Entrant(name, against, open_)


def _program(peer: Built, algorithm: str, task: Task) -> Entrant:
    def open_(stack: ExitStack) -> Measure:
        return lambda limit: peer.measure(algorithm, task, limit)

    against = peer.program.algorithms[algorithm].against
    return Entrant(f"{peer.program.title} {algorithm}", against, open_)


def bouts(task: Task, peers: Sequence[Built]) -> Iterator[list[Entrant]]:
    """Who meets whom: one of ours first, then those that stand against it."""
    is_main = task.budget == SETS[task.name].budgets[0]
    for name, ours in OURS.items():
        if not (is_main or ours.at_every_budget):
            continue
        met = [_in_python(name, "", task, ours.why_not)]
        met += [
            _in_python(other, name, task, peer.why_not)
            for other, peer in INSTALLED.items()
            if peer.against == name and (is_main or peer.at_every_budget)
        ]
        met += [
            _program(peer, algorithm, task)
            for peer in peers
            for algorithm, known in peer.program.algorithms.items()
            if known.against == name and (is_main or known.at_every_budget)
        ]
        yield met


def fight(
    bout: Sequence[Entrant],
    rounds: int,
    limit: float,
    announce: Callable[[str], None] = lambda text: None,
) -> dict[str, dict[str, Any]]:
    """Let all of a bout learn and predict in turn; return the record of each."""
    found: dict[str, list[dict[str, Any]]] = {entrant.name: [] for entrant in bout}
    with ExitStack() as stack:
        measures: Mapping[str, Measure] = {
            entrant.name: entrant.open(stack) for entrant in bout
        }
        for _ in range(rounds):
            for name, measure in measures.items():
                runs = found[name]
                if not runs or _is_worth_another(runs[-1]):
                    announce(name)
                    runs.append(measure(limit))
    return {
        entrant.name: {"against": entrant.against, **summary(found[entrant.name])}
        for entrant in bout
    }


def _is_worth_another(run: Mapping[str, Any]) -> bool:
    return "failed" not in run and run["seconds"] < SLOW


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Least seconds, mean error, most memory of several runs."""
    for run in runs:
        if "failed" in run:
            return dict(run)
    choose: dict[str, Any] = {"error": mean, "mistakes": mean, "memory": max}
    return {
        key: choose.get(key, min)([run[key] for run in runs if key in run])
        for key in runs[0]
    } | {"runs": len(runs)}

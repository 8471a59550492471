"""Updates of O(budget^2): what they reach of the bandwidth that one thread has.

Such an update reads a root of the inverse Gram matrix (`onkel.model.inverse`), once or
several times. Bytes of those passes over its time is a rate, and beside it stand those
of a dot product of as many numbers, in the cache if they fit there, and of numbers in
memory. Time is that of learning less that of predicting the same rows.
"""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

import onkel
from benchmarks.tables import table
from onkel.model.rows_ahead import AT_ONCE

BUDGETS, FEATURES, PASSES = (500, 2000), 22, 3
ROWS = {500: 2000, 2000: 200}
IN_MEMORY = 2**25  # numbers of double precision, a quarter of a gigabyte
HEADS = (
    *("system", "budget", "updates", "us/update", "MB/update", "GB/s"),
    *("dot product, GB/s", "share of it", "in memory, GB/s", "share of it"),
)


class System(NamedTuple):
    """A system, and passes over the root: of a row it looks at, and of an update."""

    make: Any
    look: float
    update: float


# A triangular root is half a matrix, read for several rows at once, and again for who
# is represented. Else one pass projects a row, represents it and has the diagonal; an
# update takes a column, and reflects, which reads and writes.
SYSTEMS = {
    "Projectron": System(
        lambda **given: onkel.ProjectronClassifier(**given), 0.5 / AT_ONCE, 0.5
    ),
    "Projectron++": System(
        lambda **given: onkel.ProjectronClassifier(**given, aggressive=True),
        0.5 / AT_ONCE,
        0.5,
    ),
    "BPA-P": System(lambda **given: onkel.BPAClassifier(**given, variant="p"), 1, 3),
    "BSGD, projection": System(
        lambda **given: onkel.BSGDClassifier(**given, maintenance="projection"), 1, 3
    ),
}


def bandwidth(size: int) -> float:
    """Bytes a second of dot products of so many numbers."""
    values, seconds = np.ones(size), []
    times = max(IN_MEMORY // size, 1)
    for _ in range(PASSES):
        start = time.process_time()
        for _ in range(times):
            np.dot(values, values)
        seconds.append(time.process_time() - start)
    return times * values.nbytes / min(seconds)


def measured(name: str, budget: int) -> dict[str, Any]:
    """Seconds and bytes of the updates of some rows, with all centres in use."""
    system, rng, rows = SYSTEMS[name], np.random.default_rng(0), ROWS[budget]
    model = system.make(budget=budget, gamma=1.0, n_jobs=1, random_state=0)

    def some(count: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows far from each other, with labels that nobody can learn."""
        return rng.normal(size=(count, FEATURES)), rng.choice([-1, 1], count)

    def learn(X: np.ndarray, y: np.ndarray) -> tuple[float, int, int]:
        before, start = model.n_updates_, time.process_time()
        scores = onkel.progressive(model, X, y)
        seconds = time.process_time() - start
        least = 0.0 if name == "Projectron" else 1.0
        looked = int(np.count_nonzero(y * np.ravel(scores) <= least))
        return seconds, model.n_updates_ - before, looked

    model.partial_fit(*some(200), classes=[-1, 1])
    while model.model_size_ < budget:
        model.partial_fit(*some(budget))
    learn(*some(20))  # compile
    model.decision_function(some(20)[0])
    runs = []
    for _ in range(PASSES):
        X, y = some(rows)
        seconds, updates, looked = learn(X, y)
        start = time.process_time()
        model.decision_function(X)
        spent = seconds - (time.process_time() - start)
        passes = system.look * looked + system.update * updates
        read = passes * budget**2 * _itemsize(model)
        runs.append((spent / max(updates, 1), updates, read / max(updates, 1)))
    seconds, updates, read = min(runs)
    return {
        **{"system": name, "budget": budget, "updates": updates},
        **{"seconds": seconds, "bytes": read, "dot": bandwidth(budget**2)},
    }


def _itemsize(model: Any) -> int:
    return int(model._learner.model.cache.root.itemsize)


def results() -> list[dict[str, Any]]:
    """Measure all systems and budgets."""
    with threadpool_limits(1):
        memory = bandwidth(IN_MEMORY)
        return [
            {**measured(name, budget), "memory": memory}
            for budget in BUDGETS
            for name in SYSTEMS
        ]


def cells(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Write what was measured, a row for each."""
    lines = []
    for of in found:
        rate = of["bytes"] / of["seconds"]
        lines.append(
            [
                *(of["system"], f"{of['budget']}", f"{of['updates']}"),
                *(f"{1e6 * of['seconds']:.1f}", f"{of['bytes'] / 1e6:.1f}"),
                *(f"{rate / 1e9:.1f}", f"{of['dot'] / 1e9:.1f}"),
                f"{rate / of['dot']:.0%}",
                *(f"{of['memory'] / 1e9:.1f}", f"{rate / of['memory']:.0%}"),
            ]
        )
    return lines


def main(console: Console) -> None:
    shown = table("updates of O(budget^2), one thread", HEADS)
    for line in cells(results()):
        shown.add_row(*line)
    console.print(shown)

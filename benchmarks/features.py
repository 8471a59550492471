"""Systems with explicit features: learning against predicting, and what a memory costs.

FOGD against its own prediction, DualSVRG against FOGD with as many features, and
DualSVRG with memories of different sizes against the smallest.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import onkel
from benchmarks.learn_vs_predict import seconds
from benchmarks.tables import table
from benchmarks.workloads import Workload, a9a, cod_rna, covtype, ijcnn1

# Passes of some hundredths of a second: other load hits some runs and spares others.
RUNS = 15
MOST_ROWS = 50_000
COMPONENTS = 400
MEMORIES, PERIOD = (10, 100, 1000), 1000


def fastest(tasks: Sequence[Callable[[], Any]]) -> list[float]:
    """Seconds of the fastest run of each task, all in turn."""
    for task in tasks:  # compile
        task()
    times = [[seconds(task) for task in tasks] for _ in range(RUNS)]
    return [min(taken) for taken in zip(*times, strict=True)]


def learning(work: Workload, cls: Any, **parameters: Any) -> Callable[[], Any]:
    """Return a task: one pass of a new model over the rows."""
    classes = np.unique(work.y)
    common = {"gamma": work.gamma, "random_state": 0}

    def task() -> Any:
        model = cls(**common, **parameters)
        return model.partial_fit(work.X, work.y, classes=classes)

    return task


def against_prediction(work: Workload, table: Table) -> None:
    """Add FOGD's passes, with its default number of features, to the table."""
    for loss in ("hinge", "log_loss"):
        learn = learning(work, onkel.FOGDClassifier, loss=loss)
        model = learn()

        def predict(model: Any = model) -> None:
            model.decision_function(work.X)

        learnt, predicted = fastest((learn, predict))
        table.add_row(
            *(work.name, f"FOGD {loss}", f"{learnt:.3f}"),
            *("own prediction", f"{predicted:.3f}", f"{learnt / predicted:.2f}", "1.5"),
        )


def against_fogd(work: Workload, table: Table) -> None:
    """Add DualSVRG's passes to the table."""
    fogd = learning(work, onkel.FOGDClassifier, n_components=COMPONENTS)
    for oracle in ("always_move", "budget"):
        given = {"n_components": COMPONENTS, "oracle": oracle}
        reduced = learning(work, onkel.DualSVRGClassifier, **given)
        learnt, other = fastest((reduced, fogd))
        table.add_row(
            *(work.name, f"DualSVRG {oracle}", f"{learnt:.3f}"),
            *("FOGD", f"{other:.3f}", f"{learnt / other:.2f}", "2.5"),
        )


def against_small_memory(work: Workload, table: Table) -> None:
    """Add DualSVRG with larger memories to the table."""
    for oracle in ("always_move", "budget"):
        given = {"n_components": COMPONENTS, "oracle": oracle}
        given |= {"snapshot_period": PERIOD}
        tasks = [
            learning(work, onkel.DualSVRGClassifier, **given, memory_size=size)
            for size in MEMORIES
        ]
        smallest, *larger = fastest(tasks)
        for size, learnt in zip(MEMORIES[1:], larger, strict=True):
            table.add_row(
                *(work.name, f"DualSVRG {oracle}, m = {size}", f"{learnt:.3f}"),
                *(f"m = {MEMORIES[0]}", f"{smallest:.3f}"),
                *(f"{learnt / smallest:.2f}", "1.1"),
            )


def main(console: Console) -> None:
    shown = table(
        f"one thread, fastest of {RUNS} runs, in turn",
        ["data", "system", "seconds", "against", "seconds ", "ratio", "aim"],
        texts=("data", "system", "against"),
    )
    for load in (ijcnn1, cod_rna, covtype, a9a):
        work = load()
        work = work._replace(X=work.X[:MOST_ROWS], y=work.y[:MOST_ROWS])
        against_prediction(work, shown)
        against_fogd(work, shown)
        against_small_memory(work, shown)
    console.print(shown)

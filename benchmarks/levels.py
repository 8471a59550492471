"""Code for a level of processors against code for this very one."""

import os
import subprocess
import sys
from collections import defaultdict

from rich.console import Console
from rich.table import Table

from onkel.compiled.levels import VARIABLE, available, level

ROUNDS = 3
# Microseconds a row to learn and to predict, the least of seven passes.
MEASURE = """
import time, warnings, numpy as np
from benchmarks.workloads import ijcnn1, systems
warnings.simplefilter("ignore")
work = ijcnn1()
classes = np.unique(work.y)
for name, make in systems(work).items():
    make().partial_fit(work.X[:500], work.y[:500], classes=classes)
    learning, predicting = [], []
    for _ in range(7):
        model, start = make(), time.process_time()
        model.partial_fit(work.X, work.y, classes=classes)
        middle = time.process_time()
        model.decision_function(work.X)
        learning.append(middle - start)
        predicting.append(time.process_time() - middle)
    scale = 1e6 / len(work.y)
    print(name, scale * min(learning), scale * min(predicting), sep=";")
"""


def measure(name: str) -> dict[str, tuple[float, float]]:
    environment = {**os.environ, VARIABLE: name}
    command = [sys.executable, "-c", MEASURE]
    run = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    lines = (line.split(";") for line in run.stdout.splitlines())
    return {system: (float(learn), float(say)) for system, learn, say in lines}


def main(console: Console) -> None:
    runs_here = level()
    levels = list(available())
    levels = levels[levels.index(runs_here) :] if runs_here in levels else []
    found: defaultdict[tuple[str, str], list] = defaultdict(list)
    for _ in range(ROUNDS):  # in turn, because the machine may be busy by turns
        for name in ("native", *levels):
            for system, pair in measure(name).items():
                found[system, name].append(pair)
    table = Table(title="ijcnn1: microseconds a row, learn / predict, least of all")
    table.add_column("system")
    for name in ("native", *levels):
        table.add_column(name, justify="right")
    for system in dict.fromkeys(system for system, _ in found):
        cells = []
        own = [min(times) for times in zip(*found[system, "native"], strict=True)]
        for name in ("native", *levels):
            pairs = zip(*found[system, name], strict=True)
            learn, say = (min(times) for times in pairs)
            ratios = f" (x{learn / own[0]:.2f} / x{say / own[1]:.2f})"
            text = f"{learn:.2f} / {say:.2f}"
            cells.append(text + (ratios if name != "native" else ""))
        table.add_row(system, *cells)
    console.print(table)

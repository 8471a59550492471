"""Another checkout against this one: microseconds a row of every system.

    git worktree add ../before COMMIT
    python -m benchmarks.versions ../before               all systems
    python -m benchmarks.versions ../before FOGD RBP      these

Ratios of learning to predicting hide what makes both slower: this compares the
microseconds themselves. The two take turns, in processes of their own, and the least of
all passes counts.
"""

import os
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import onkel
from benchmarks.tables import table
from benchmarks.workloads import Workload, ijcnn1, systems

ROUNDS, PASSES = 5, 5
# What either is slower by chance.
NOISE = 1.03
HERE = Path(__file__).parents[1]


def further(work: Workload) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return constructors of the other systems, and how many rows are enough."""
    common = {"gamma": work.gamma, "n_jobs": 1, "random_state": 0}
    bounded = {**common, "budget": work.budget}
    pegasos = {**bounded, "alpha": 1 / (32 * len(work.y))}
    steps = {**common, "eta0": 0.5, "alpha": 0.0}
    rows, some, few = len(work.y), 20_000, 5_000
    return {
        "Kernel Perceptron": (lambda: onkel.KernelPerceptronClassifier(**common), some),
        "OGD": (lambda: onkel.OGDClassifier(**steps), few),
        "kernel SGD": (
            lambda: onkel.KernelSGDClassifier(**common, alpha=1 / (32 * rows)),
            few,
        ),
        "BSGD merge": (lambda: onkel.BSGDClassifier(**pegasos), rows),
        "BSGD projection": (
            lambda: onkel.BSGDClassifier(**pegasos, maintenance="projection"),
            few,
        ),
        "BSGD neighbours": (
            lambda: onkel.BSGDClassifier(**pegasos, maintenance="projection_knn"),
            some,
        ),
        "BSGD averaged": (
            lambda: onkel.BSGDClassifier(**pegasos, average="full"),
            rows,
        ),
        "BPA-NN": (lambda: onkel.BPAClassifier(**bounded, variant="nn"), some),
        "BPA-P": (lambda: onkel.BPAClassifier(**bounded, variant="p"), few),
        "Projectron": (lambda: onkel.ProjectronClassifier(**bounded), some),
        "Projectron++": (
            lambda: onkel.ProjectronClassifier(**bounded, aggressive=True),
            some,
        ),
        "AVM": (
            lambda: onkel.AVMClassifier(
                **common, alpha=1 / rows, coverage_radius=0.5, max_core=500
            ),
            rows,
        ),
        "FOGD": (lambda: onkel.FOGDClassifier(**steps, n_components=200), rows),
        "NOGD": (lambda: onkel.NOGDClassifier(**bounded, eta0=0.5, alpha=0.0), some),
        "DualSGD": (
            lambda: onkel.DualSGDClassifier(**pegasos, n_components=200),
            rows,
        ),
        "DualSVRG": (
            lambda: onkel.DualSVRGClassifier(**bounded, n_components=200),
            some,
        ),
        "KRLS": (lambda: onkel.KRLSClassifier(**bounded), some),
        "BSCA": (
            lambda: onkel.BSCAClassifier(**bounded, C=32.0, max_iter=1),
            some,
        ),
        "LLSVM": (lambda: onkel.LLSVMClassifier(**bounded), few),
        "KernelClassifier": (
            lambda: onkel.KernelClassifier(budget=100, n_jobs=1, random_state=0),
            few,
        ),
    }


def measure(names: list[str]) -> None:
    """Print the microseconds a row of systems, as the library at hand has them."""
    warnings.simplefilter("ignore")
    work = ijcnn1()
    rows = len(work.y)
    every = {name: (make, rows) for name, make in systems(work).items()}
    classes = np.unique(work.y)
    every |= further(work)
    for name, (make, count) in every.items():
        if names and name not in names:
            continue
        X, y = work.X[:count], work.y[:count]

        def learn(X: np.ndarray = X, y: np.ndarray = y, make: Any = make) -> Any:
            model = make()
            if hasattr(model, "time_limit") or not hasattr(model, "partial_fit"):
                return model.fit(X, y)
            return model.partial_fit(X, y, classes=classes)

        learn(X[:1000], y[:1000]).decision_function(X[:1000])  # compile
        learning, predicting = [], []
        for _ in range(PASSES):
            start = time.process_time()
            model = learn()
            middle = time.process_time()
            model.decision_function(X)
            learning.append(middle - start)
            predicting.append(time.process_time() - middle)
        scale = 1e6 / count
        print(name, scale * min(learning), scale * min(predicting), sep=";")


def measured(
    checkout: Path, names: list[str], **environment: str
) -> dict[str, tuple[float, float]]:
    """Let a new process measure a checkout."""
    # The benchmarks are this checkout's, the library is the other's.
    path = os.pathsep.join([str(checkout / "src"), str(HERE)])
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.versions", "measure", *names],
        env={**os.environ, **environment, "PYTHONPATH": path},
        cwd=HERE,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = (line.split(";") for line in run.stdout.splitlines())
    return {system: (float(learn), float(say)) for system, learn, say in lines}


def main(console: Console, before: Path, names: list[str]) -> None:
    found: dict[Path, defaultdict[str, list]] = {}
    for _ in range(ROUNDS):
        for checkout in (before, HERE):
            for system, pair in measured(checkout, names).items():
                found.setdefault(checkout, defaultdict(list))[system].append(pair)
    shown = table(
        "ijcnn1: microseconds a row, before, after and their ratio",
        ["system", "learn", "", "", "predict", "", ""],
    )
    slower = 0
    for system, pairs in found[HERE].items():
        cells = []
        for old, new in zip(
            zip(*found[before][system], strict=True),
            zip(*pairs, strict=True),
            strict=True,
        ):
            ratio = min(new) / min(old)
            slower += ratio > NOISE
            mark = "[bold]" if ratio > NOISE else ""
            cells += [f"{min(old):.3f}", f"{min(new):.3f}", f"{mark}x{ratio:.3f}"]
        shown.add_row(system, *cells)
    console.print(shown)
    console.print(f"{slower} of {2 * len(found[HERE])} slower by more than 3 %")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m benchmarks.versions CHECKOUT [SYSTEM ...]")
    where, *wanted = sys.argv[1:]
    if where == "measure":
        measure(wanted)
    else:
        main(Console(width=100), Path(where).resolve(), wanted)

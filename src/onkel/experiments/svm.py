"""Support vector machines on a budget: BSCA and BSGD against the exact solution.

    python -m onkel.experiments.svm --output results/svm

learns the five problems of the BSCA paper with several seeds, and writes the test error
after every epoch (svm.json), a table of it (svm.md), and a picture (svm.png). SVC is
scikit-learn's, given a time limit; the budgeted systems do without its bias.

The errors of BSCA are those of its answer, the mean of its last iterates, and of
the very last, which is the paper's answer; both come from the same runs.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from sklearn.svm import SVC

import onkel
from onkel.experiments.problems import SETTINGS, Problem, problem
from onkel.experiments.report import progress

SYSTEMS = ("BSCA", "BSCA, last iterate", "BSGD")
# Epochs over which the unrest of a run is measured.
LATE = 10


class Exact(NamedTuple):
    """What SVC reached."""

    error: float
    seconds: float
    size: int


class EveryPass:
    """A callback that tests the model after every pass."""

    def __init__(self, task: Problem) -> None:
        self.task = task
        self.errors: list[float] = []
        self.errors_of_last: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing: part of scikit-learn's protocol."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing: part of scikit-learn's protocol."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing: part of scikit-learn's protocol."""

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any
    ) -> None:
        """Note the test error of the model so far."""
        if context.task_name != "pass":
            return
        learner, positive = fitted_estimator._learner, self.task.y_test > 0
        for errors, coef in (
            (self.errors, learner.coef),
            (self.errors_of_last, learner.last_coef),
        ):
            scores = learner.score(self.task.X_test, coef=coef)[:, 0]
            errors.append(float(np.mean((scores > 0) != positive)))


def curves(task: Problem, budget: int, epochs: int, seed: int) -> dict[str, Any]:
    """Test errors after every epoch, by system, for one seed."""
    common: dict[str, Any] = {
        "budget": budget,
        "gamma": task.gamma,
        "random_state": seed,
    }
    dual = EveryPass(task)
    onkel.BSCAClassifier(**common, C=task.C, max_iter=epochs, tol=0.0).set_callbacks(
        dual
    ).fit(task.X, task.y)
    gradient = EveryPass(task)
    alpha = 1.0 / (task.C * len(task.y))
    onkel.BSGDClassifier(**common, alpha=alpha, max_iter=epochs).set_callbacks(
        gradient
    ).fit(task.X, task.y)
    runs = dual.errors, dual.errors_of_last, gradient.errors
    return dict(zip(SYSTEMS, runs, strict=True))


def _fit_svc(task: Problem, queue: Any) -> None:
    start = time.perf_counter()
    model = SVC(C=task.C, gamma=task.gamma, cache_size=2000).fit(task.X, task.y)
    seconds = time.perf_counter() - start
    error = 1.0 - model.score(task.X_test, task.y_test)
    queue.put((error, seconds, len(model.support_)))


def exact(task: Problem, limit: float) -> Exact | None:
    """Fit SVC in a process of its own; None if it takes longer than the limit."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_fit_svc, args=(task, queue))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.terminate()
        process.join()
        return None
    return Exact(*queue.get())


def unrest(errors: np.ndarray) -> float:
    """Spread of a run's error over its late epochs, mean over the seeds."""
    return float(errors[:, -LATE:].std(axis=1, ddof=1).mean())


def _row(name: str, outcome: dict[str, Any]) -> list[str]:
    found = outcome["svc"]
    cells = [name, "-" if found is None else f"{100 * found[0]:.2f}"]
    for system in ("BSGD", "BSCA", "BSCA, last iterate"):
        errors = 100 * np.array(outcome["errors"][system])
        for epoch in (1, 5, errors.shape[1]):
            values = errors[:, min(epoch, errors.shape[1]) - 1]
            spread = values.std(ddof=1) if len(values) > 1 else 0.0
            cells.append(f"{values.mean():.2f} ± {spread:.2f}")
        cells.append(f"{unrest(errors):.2f}")
    return cells


def table(outcomes: dict[str, Any], epochs: int) -> str:
    """Lay the results out as a table in Markdown."""
    heads = ["problem", "SVC"]
    for system in ("BSGD", "BSCA", "BSCA last"):
        heads += [f"{system} 1", "5", f"{epochs}", "unrest"]
    rows = [_row(name, outcome) for name, outcome in outcomes.items()]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def picture(outcomes: dict[str, Any]) -> Figure:
    """Draw the errors by epoch, the range over the seeds as a band."""
    figure = Figure(figsize=(3.4 * len(outcomes), 3.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(outcomes)))
    colours = ("#117733", "#88CCEE", "#CC6677")
    for panel, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        for system, colour in zip(SYSTEMS, colours, strict=True):
            errors = 100 * np.array(outcome["errors"][system])
            epochs = np.arange(1, errors.shape[1] + 1)
            panel.plot(epochs, errors.mean(axis=0), color=colour, label=system)
            low, high = errors.min(axis=0), errors.max(axis=0)
            panel.fill_between(epochs, low, high, color=colour, alpha=0.2, lw=0)
        if outcome["svc"] is not None:
            svc = 100 * outcome["svc"][0]
            panel.axhline(svc, color="black", lw=1, ls=":", label="SVC")
        panel.set(title=name, xlabel="epoch", yscale="log")
        panel.grid(alpha=0.3, which="both")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("{x:g}")
        panel.tick_params(which="both", labelsize=8)
    panels[0].set_ylabel("test error, %")
    panels[0].legend(frameon=False, fontsize=8)
    return figure


def save(outcomes: dict[str, Any], folder: Path, budget: int, epochs: int) -> None:
    """Write the numbers, the table and the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"budget": budget, "epochs": epochs}
    numbers = {"settings": settings, "problems": outcomes}
    (folder / "svm.json").write_text(json.dumps(numbers, indent=1))
    (folder / "svm.md").write_text(table(outcomes, epochs))
    picture(outcomes).savefig(folder / "svm.png", dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the comparison from the command line.

    Parameters
    ----------
    argv
        Arguments; None for those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m onkel.experiments.svm")
    parser.add_argument("--output", type=Path, default=Path("results/svm"))
    parser.add_argument(
        "--problems", nargs="+", choices=list(SETTINGS), default=list(SETTINGS)
    )
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--limit", type=float, default=600.0, help="seconds for SVC; 0 to leave it out"
    )
    options = parser.parse_args(argv)
    outcomes: dict[str, Any] = {}
    with progress(len(options.problems) * (options.seeds + 1)) as announce:
        for name in options.problems:
            task = problem(name)
            runs = []
            for seed in range(options.seeds):
                announce(f"{name}: seed {seed}")
                runs.append(curves(task, options.budget, options.epochs, seed))
            announce(f"{name}: SVC")
            errors = {system: [run[system] for run in runs] for system in SYSTEMS}
            svc = exact(task, options.limit) if options.limit > 0 else None
            outcomes[name] = {"errors": errors, "svc": svc}
            # After every problem: the last ones take long.
            save(outcomes, options.output, options.budget, options.epochs)
    print((options.output / "svm.md").read_text())


if __name__ == "__main__":
    main()

"""How far exported models are from the models: ONNX in onnxruntime, and C.

    python -m studies.export

Every system of the registry with its defaults, for two classes, three classes or
values; then the kernels, and machines in the midst of a stream. The page is
docs/export.md.
"""

import argparse
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onkel import KernelClassifier, KernelRegressor, OGDClassifier
from onkel.estimators._registry import systems
from onkel.export.models import formula_of
from onkel.measuring.markdown import markdown
from studies.export_runs import (
    apart,
    by_c,
    by_onnx,
    by_the_model,
    chances_apart,
    other_labels,
)

LEARNT, ASKED = 1000, 1000


class Case(NamedTuple):
    """A fitted model, and what it is called on the page."""

    name: str
    task: str
    model: Any


def rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unlike features, and a noisy function of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4)) + np.array([0.0, 0.0, 0.0, 5.0])
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=count)
    return X, f


def targets(f: np.ndarray, task: str) -> np.ndarray:
    """Return targets of a task."""
    if task == "values":
        return f
    names = np.array(["low", "high"] if task == "2 classes" else ["a", "b", "c"])
    edges = [0.0] if task == "2 classes" else [-0.5, 0.5]
    return names[np.digitize(f, edges)]


def tasks_of(name: str) -> tuple[str, ...]:
    """Return the tasks of a system."""
    return ("2 classes", "3 classes") if name.endswith("Classifier") else ("values",)


def cases() -> Iterator[Case]:
    """Fit all models."""
    X, f = rows(LEARNT, 0)
    for name, cls in systems().items():
        for task in tasks_of(name):
            model = cls(random_state=0).fit(X, targets(f, task))
            yield Case(name, task, model)
    for kernel in ("laplacian", "poly", "linear"):
        model = OGDClassifier(kernel=kernel, random_state=0)
        model.fit(X, targets(f, "3 classes"))
        yield Case(f"OGDClassifier, {kernel}", "3 classes", model)
    for machine in (KernelClassifier, KernelRegressor):
        for task in tasks_of(machine.__name__):
            model = machine(random_state=0)
            model.partial_fit(X, targets(f, task))
            yield Case(f"{machine.__name__}, of a stream", task, model)


def measured(case: Case) -> list[str]:
    """Export a model in all ways; a line of the table."""
    X = rows(ASKED, 1)[0].astype(np.float32)
    formula, wanted = formula_of(case.model), by_the_model(case.model, X)
    cells, others = [], []
    for precision in ("auto", "single"):
        with tempfile.TemporaryDirectory() as folder:
            in_c = by_c(formula, X, Path(folder), precision)
        for found in (by_onnx(formula, X, precision), in_c):
            largest = max(apart(found, wanted), chances_apart(found, wanted))
            cells.append(f"{largest:.1e}")
            others.append(str(other_labels(found, wanted)))
    told = ", ".join(others) if "label" in wanted else ""
    return [case.name, case.task, *cells, told]


def page(lines: Sequence[Sequence[str]]) -> str:
    """Write the table."""
    said = [
        "# How far exported models are from the models",
        "",
        f"{ASKED:,} rows that the models have not seen, of single precision; models of",
        f"{LEARNT:,} rows, in double precision, with their defaults. The largest",
        "difference of scores, predictions or features as a share of the largest of",
        "them, or of probabilities, if that is more; and in each of the four how many",
        "labels are others.",
        'ONNX in onnxruntime, C compiled by `cc -std=c99`; `precision="auto"` and',
        '`"single"`. Regenerate: `python -m studies.export`.',
        "",
    ]
    heads = ["model", "task", "ONNX", "C", "ONNX, single", "C, single", "other labels"]
    return "\n".join([*said, *markdown(heads, lines)])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    given = parser.parse_args(argv)
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows make bad models
        for case in cases():
            lines.append(measured(case))
            print(*lines[-1], flush=True)
    (given.docs / "export.md").write_text(page(lines))


if __name__ == "__main__":
    main()

"""Error against budget and time: KernelClassifier on covtype, class 2 against the rest.

    python -m studies.budgets --budgets 500,1000,2000,3000 --threads 2

Every budget runs in a process of its own, which tells its peak memory; 90 % of the rows
are learnt, 10 % are the test. Results go to docs/budgets.md, .json and .png.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onkel.measuring.markdown import markdown
from onkel.measuring.memory import peak
from studies.comparison_sets import case
from studies.fresh_process import in_fresh_process

SET = "covtype-2"


def measure(budget: int, threads: int, seed: int) -> dict[str, Any]:
    """Fit with a budget; error, seconds and memory."""
    from onkel import KernelClassifier

    data = case(SET, seed)
    # Compiled code is ready before the clock runs.
    warm = np.random.default_rng(0).choice(len(data.y), 2000, replace=False)
    model = KernelClassifier(budget=50, n_jobs=threads, random_state=seed)
    model.fit(data.X[warm], data.y[warm])
    model = KernelClassifier(budget=budget, n_jobs=threads, random_state=seed)
    begun = time.perf_counter()
    model.fit(data.X, data.y)
    fitted = time.perf_counter()
    wrong = model.predict(data.X_test) != data.y_test
    return {
        "budget": budget,
        "seconds": fitted - begun,
        "predicts": time.perf_counter() - fitted,
        "error": float(wrong.mean()),
        "held_out": float(model.held_out_error_),
        "gamma": float(model.gamma_),
        "C": float(model.C_),
        "memory": peak() / 2**30,
        "threads": threads,
        "rows": len(data.y),
    }


def page(results: Sequence[dict[str, Any]]) -> str:
    """Write the table."""
    lines = [
        "# Error against budget and time",
        "",
        "covtype, class 2 against the rest, 90 % of the rows learnt, 10 % the test;",
        f"KernelClassifier with its defaults but the budget, {results[0]['threads']}",
        "threads. Regenerate: `python -m studies.budgets`.",
        "",
    ]
    heads = ["budget", "test error %", "held out %", "seconds", "GiB at most"]
    rows = [
        [
            f"{r['budget']:,}",
            *(f"{100 * r[error]:.2f}" for error in ("error", "held_out")),
            *(f"{r['seconds']:.0f}", f"{r['memory']:.1f}"),
            *(f"{r[chosen]:.3g}" for chosen in ("gamma", "C")),
        ]
        for r in results
    ]
    lines += markdown([*heads, "gamma", "C"], rows)
    return "\n".join([*lines, "![Error against seconds](budgets.png)", ""])


def picture(results: Sequence[dict[str, Any]]) -> Any:
    """Error against seconds, a point for each budget."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    seconds = [r["seconds"] for r in results]
    errors = [100.0 * r["error"] for r in results]
    axes.plot(seconds, errors, "o-")
    for r, x, y in zip(results, seconds, errors, strict=True):
        axes.annotate(
            f"{r['budget']:,}", (x, y), (6, 6), textcoords="offset points", fontsize=9
        )
    axes.set_xscale("log")
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("seconds to fit, search included")
    axes.set_ylabel("test error in %")
    axes.set_title("covtype, class 2: a label for each budget")
    axes.grid(alpha=0.3)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Run all budgets, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budgets", default="500,1000,2000,3000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    given = parser.parse_args(argv)
    results = []
    for budget in map(int, given.budgets.split(",")):
        measured = in_fresh_process(measure, budget, given.threads, given.seed)
        results.append(measured)
        print(results[-1], flush=True)
    (given.docs / "budgets.json").write_text(json.dumps(results, indent=1) + "\n")
    (given.docs / "budgets.md").write_text(page(results))
    picture(results).savefig(given.docs / "budgets.png", dpi=150)


if __name__ == "__main__":
    main()

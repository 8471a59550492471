"""How often do SGD and coordinate ascent change the model? Lemma 2 of the BSCA paper.

    python -m studies.lemma --output results/lemma

Without a budget the share of steps that change the model tends to mean(a*) / C for SGD
and to the share of free support vectors, 0 < a* < C, for coordinate ascent. This runs
both for many epochs, without a budget and with several, and draws the shares beside the
two limits (lemma.png, lemma.json). The limits come from a long run of coordinate ascent
without a budget, which is exact; its duality gap is printed.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import onkel
from onkel.reproduce.problems import SETTINGS, Problem, problem
from studies.progress import progress

BUDGETS = (None, 200, 500, 1000)
# Within this share of C of a bound, a dual variable is at it.
AT_BOUND = 1e-6


def limits(task: Problem, epochs: int) -> dict[str, float]:
    """Find both limits, and the relative duality gap of the solution they come from."""
    model = onkel.BSCAClassifier(
        C=task.C,
        gamma=task.gamma,
        budget=None,
        max_iter=epochs,
        tol=0.0,
        average=None,
        monitor=True,
        random_state=0,
    ).fit(task.X, task.y)
    share = model.dual_variables_[0] / task.C
    primal, dual = model.history_["primal"][-1], model.history_["dual"][-1]
    return {
        "gradient": float(share.mean()),
        "dual": float(np.mean((share > AT_BOUND) & (share < 1 - AT_BOUND))),
        "gap": (primal - dual) / primal,
    }


def shares(task: Problem, system: str, budget: int | None, epochs: int) -> list[float]:
    """Share of rows that changed the model, epoch by epoch."""
    common: dict[str, Any] = {
        "gamma": task.gamma,
        "max_iter": epochs,
        "random_state": 1,
    }
    if system == "dual":
        model: Any = onkel.BSCAClassifier(
            **common, C=task.C, budget=budget, tol=0.0, average=None, monitor=True
        )
    else:
        # A budget of all rows' updates is none, and BSGD keeps a history.
        room = epochs * len(task.y) if budget is None else budget
        alpha = 1.0 / (task.C * len(task.y))
        model = onkel.BSGDClassifier(**common, alpha=alpha, budget=room, monitor=True)
    return model.fit(task.X, task.y).history_["updates"]


def picture(outcomes: dict[str, Any]) -> Figure:
    """Draw the shares by epoch, a panel for each problem and system."""
    figure = Figure(figsize=(9.5, 3.6 * len(outcomes)), layout="constrained")
    panels = figure.subplots(len(outcomes), 2, squeeze=False)
    titles = {
        "dual": "coordinate ascent, limit: share of free support vectors",
        "gradient": "SGD, limit: mean(a*) / C",
    }
    colours = ("#000000", "#CC6677", "#88CCEE", "#117733")
    for row, (name, outcome) in zip(panels, outcomes.items(), strict=True):
        for panel, (system, title) in zip(row, titles.items(), strict=True):
            for (budget, values), colour in zip(
                outcome["shares"][system].items(), colours, strict=True
            ):
                epochs = np.arange(1, len(values) + 1)
                label = "no budget" if budget == "None" else f"budget {budget}"
                panel.plot(epochs, values, color=colour, label=label)
            limit = outcome["limits"][system]
            panel.axhline(limit, color="#777777", ls="--", label=f"limit {limit:.3f}")
            panel.set(
                title=f"{name}: {title}", xlabel="epoch", xscale="log", ylim=(0, None)
            )
            panel.title.set_fontsize(9)
            panel.legend(frameon=False, fontsize=8)
            panel.grid(alpha=0.3)
        row[0].set_ylabel("share of rows that change the model")
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Run the measurement from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.lemma")
    parser.add_argument("--output", type=Path, default=Path("results/lemma"))
    parser.add_argument(
        "--problems", nargs="+", choices=list(SETTINGS), default=["ijcnn1", "cod-rna"]
    )
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--epochs", type=int, default=60, help="of SGD")
    # Coordinate ascent takes longer to settle, and its model does not grow.
    parser.add_argument("--dual-epochs", type=int, default=400)
    parser.add_argument("--exact-epochs", type=int, default=1000)
    options = parser.parse_args(argv)
    outcomes: dict[str, Any] = {}
    runs = 1 + 2 * len(BUDGETS)
    with progress(len(options.problems) * runs) as announce:
        for name in options.problems:
            task = problem(name).head(options.rows)
            announce(f"{name}: the limits")
            found = limits(task, options.exact_epochs)
            measured: dict[str, dict[str, list[float]]] = {"dual": {}, "gradient": {}}
            for system, of_budget in measured.items():
                for budget in BUDGETS:
                    announce(f"{name}: {system}, budget {budget}")
                    epochs = {"dual": options.dual_epochs}.get(system, options.epochs)
                    of_budget[str(budget)] = shares(task, system, budget, epochs)
            outcomes[name] = {"limits": found, "shares": measured}
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "lemma.json").write_text(json.dumps(outcomes, indent=1))
    picture(outcomes).savefig(options.output / "lemma.png", dpi=110)
    for name, outcome in outcomes.items():
        print(f"{name}: limits {outcome['limits']}")
        for system, of_budget in outcome["shares"].items():
            late = {b: round(float(np.mean(v[-10:])), 4) for b, v in of_budget.items()}
            print(f"  {system}: mean share over the last ten epochs {late}")


if __name__ == "__main__":
    main()

"""Cost of a row along a stream of three million: it must not grow.

Systems learn flights-3m in one pass, in the order of the flights. Stretches end at
10,000, 30,000, 100,000 rows and so on; processor time over rows is the cost of a row of
a stretch. From the second stretch on the budget is full, and the dearest should be at
most 15 % above the cheapest.

A row that updates costs more than one that does not, and some weeks have more delays
to learn from than others. So beside the cost itself stands what it would be if all
stretches had the same share of updates, by a line through the costs of all batches. The
pass is made three times, with the same result, and of each batch the least time counts.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import onkel
from benchmarks.tables import table
from onkel.data.catalogue import entry
from studies.flights import BATCH, DATA, flights

ENDS = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000)
BUDGET, AIM, CLASSES, PASSES = 500, 0.15, (0, 1), 3


def systems() -> dict[str, Any]:
    common = {"budget": BUDGET, "gamma": 1.0, "n_jobs": 1, "random_state": 0}
    return {
        "BSGD": onkel.BSGDClassifier(**common, alpha=1e-5),
        "RBP": onkel.RBPClassifier(**common),
        "BOGD": onkel.BOGDClassifier(**common),
    }


def measured(rows: int, quiet: bool = False) -> dict[str, np.ndarray]:
    """Rows, updates and least seconds of each batch, for systems that take turns."""
    # Compiled before, by other models.
    few = next(flights(BATCH))
    for model in systems().values():
        model.partial_fit(few.X, few.y, classes=CLASSES)
    found = [_one_pass(rows, f"pass {k + 1}", quiet) for k in range(PASSES)]
    # Rows and updates are the same in all of them.
    return {name: np.min([each[name] for each in found], axis=0) for name in found[0]}


def _one_pass(rows: int, title: str, quiet: bool) -> dict[str, np.ndarray]:
    models = systems()
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in models}
    known = dict.fromkeys(models, 0)
    total = -(-rows // BATCH)
    for batch in track(flights(rows), title, total=total, disable=quiet):
        for name, model in models.items():
            start = time.process_time()
            model.partial_fit(batch.X, batch.y, classes=CLASSES)
            seconds = time.process_time() - start
            found[name].append((len(batch.y), model.n_updates_ - known[name], seconds))
            known[name] = model.n_updates_
    return {name: np.array(batches) for name, batches in found.items()}


def stretches(batches: np.ndarray, ends: Sequence[int] = ENDS) -> np.ndarray:
    """Rows, updates, seconds and seconds at equal updates of each stretch.

    A batch belongs to the stretch in which it ends; the first batch is no part of the
    line, since its model is still growing.
    """
    rows, updates, seconds = batches.T
    # Most batches have the same rows, so that weights would change nothing.
    slope = np.polyfit(updates[1:] / rows[1:], seconds[1:] / rows[1:], 1)[0]
    share = updates[1:].sum() / rows[1:].sum()
    equal = seconds - slope * (updates - share * rows)
    at = np.minimum(np.searchsorted(ends, np.cumsum(rows)), len(ends) - 1)
    sums = [np.bincount(at, of, len(ends)) for of in (rows, updates, seconds, equal)]
    return np.array(sums).T


def ratio(costs: np.ndarray) -> float:
    """Dearest stretch over the cheapest, without the first."""
    return float(costs[1:].max() / costs[1:].min())


def main(console: Console) -> None:
    shown = table(
        f"{DATA}, budget {BUDGET}: stretches of one pass",
        ["system", "", *(f"to {end:,}" for end in ENDS), "dearest over cheapest"],
        texts=("system", ""),
    )
    for name, batches in measured(entry(DATA).parts["train"].rows).items():
        rows, updates, seconds, equal = stretches(batches).T
        told = [f"{share:.0%}" for share in updates / rows]
        shown.add_row(name, "updates", *told, "")
        for text, of in (("us/row", seconds), ("at equal updates", equal)):
            costs = 1e6 * of / rows
            aim = f" (aim {1 + AIM:.2f})" if of is equal else ""
            told = [f"{cost:.2f}" for cost in costs]
            shown.add_row("", text, *told, f"{ratio(costs):.2f}{aim}")
    console.print(shown)

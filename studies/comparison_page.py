"""The page of the comparison: tables and targets, out of its records."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onkel.measuring.machine import versions_in
from onkel.measuring.markdown import markdown, spread_of
from onkel.measuring.records import a_line_each, rounded
from studies.comparison_cells import (
    BINS,
    METHODS,
    OURS,
    RESAMPLES,
    WARM_UP_ROWS,
)
from studies.comparison_picture import NAMES, picture
from studies.comparison_sets import REGRESSION
from studies.comparison_svm import COSTS, FACTORS
from studies.comparison_verdicts import (
    MACHINES,
    Difference,
    Result,
    Results,
    Standing,
    results,
    standing,
    targets,
)

PART = "†"
DIGITS = 6  # of a number in the JSON that count


# ---- tables ----------------------------------------------------------------------


def short(seconds: float) -> str:
    """Write seconds with two or three figures.

    Examples
    --------
    >>> short(0.034), short(2.345), short(45678.0)
    ('0.03', '2.3', '45,678')
    """
    digits = 2 if seconds < 1 else 1 if seconds < 100 else 0
    return f"{seconds:,.{digits}f}"


def _error(result: Result) -> str:
    values = list(result.errors.values())
    text = spread_of(values, 2) if len(values) > 1 else f"{values[0]:.2f}"
    return text + (PART if result.is_part else "")


def _seconds(result: Result) -> str:
    return short(result.seconds) + (PART if result.is_extrapolated else "")


def _bold(cells: list[str], values: Sequence[float | None]) -> list[str]:
    there = [value for value in values if value is not None]
    return [
        f"**{cell}**" if there and value == min(there) else cell
        for cell, value in zip(cells, values, strict=True)
    ]


def _per_method(
    found: Results, write: Callable[[Result], str], value: Callable[[Result], float]
) -> Iterable[list[str]]:
    for name, of_set in found.items():
        there = [of_set.get(method) for method in METHODS]
        cells = ["-" if result is None else write(result) for result in there]
        values = [None if result is None else value(result) for result in there]
        yield [name, *_bold(cells, values)]


def error_table(found: Results) -> list[str]:
    """Rows, features, and test error of each method."""
    rows = []
    for cells in _per_method(found, _error, lambda result: result.error):
        record = next(iter(found[cells[0]].values())).records[0]
        sizes = [f"{record['train_rows']:,}", f"{record['test_rows']:,}"]
        rows.append([cells[0], *sizes, *cells[1:]])
    heads = ["data", "rows", "test rows", *(NAMES[method] for method in METHODS)]
    return markdown(heads, rows)


def seconds_table(found: Results) -> list[str]:
    """Seconds to fit, and to predict the test rows."""
    rows = []
    for cells in _per_method(found, _seconds, lambda result: result.seconds):
        ours = found[cells[0]].get("onkel")
        rows.append([*cells, "-" if ours is None else short(ours.mean("wall"))])
    heads = ["data", *(NAMES[method] for method in METHODS), "onkel, wall"]
    return markdown(heads, rows)


def _signed(gap: Difference | None) -> str:
    if gap is None:
        return "-"
    return f"{gap.points:+.2f} ± {2 * gap.standard_error:.2f}, {gap.verdict}"


def verdict_table(verdicts: Mapping[str, Standing]) -> list[str]:
    """Write ours less theirs, in points, and how many times faster."""
    rows = []
    for name, found in verdicts.items():
        mark = PART if found.is_extrapolated else ""
        speed = "-" if found.speed is None else f"{found.speed:,.1f}{mark}"
        rival = "-" if found.machine is None else NAMES[found.machine]
        gaps = (found.to_machine, found.to_nystroem, found.to_lightgbm)
        first, *others = map(_signed, gaps)
        rows.append([name, rival, first, speed, *others])
    heads = ["data", "better SVC", "ours less its error", "times faster"]
    return markdown([*heads, "ours less Nystroem's", "ours less LightGBM's"], rows)


def details_table(found: Results) -> list[str]:
    """What was chosen, sizes, memory, time to predict, calibration; first seed."""
    rows = []
    for name, of_set in found.items():
        for method in ("svc-grid", *OURS):
            if method not in of_set:
                continue
            result = of_set[method]
            chosen = result.records[0]["parameters"]
            calibration = [
                record["calibration_error"]
                for record in result.records
                if record.get("calibration_error") is not None
            ]
            rows.append(
                [
                    *(name, NAMES[method]),
                    *(_chosen(chosen.get(key)) for key in ("C", "gamma")),
                    f"{result.mean('model_size'):,.0f}",
                    short(result.mean("predict_seconds")),
                    f"{result.mean('memory') / 2**20:,.0f}",
                    f"{np.mean(calibration):.3f}" if calibration else "-",
                ]
            )
    heads = ["data", "method", "C", "gamma", "centres", "s to predict", "MB"]
    return markdown([*heads, "calibration error"], rows)


def _chosen(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def part_table(found: Results) -> list[str]:
    """What was extrapolated, and from what."""
    rows = []
    for name, of_set in found.items():
        for method in MACHINES:
            record = of_set[method].records[0] if method in of_set else {}
            for what in ("search", "fit"):
                if part := record.get(f"{what}_part"):
                    steps = ", ".join(f"{n:,}: {short(s)}" for n, s in part["steps"])
                    rows.append(
                        [
                            *(name, NAMES[method], what, f"{part['rows']:,}"),
                            *(f"{part['all_rows']:,}", f"{part['exponent']:.2f}"),
                            *(short(record[f"{what}_seconds"]), steps),
                        ]
                    )
    heads = ["data", "method", "work", "largest finished", "all rows", "exponent"]
    return markdown([*heads, "seconds for all", "rows: seconds"], rows) if rows else []


# ---- the page --------------------------------------------------------------------

INTRODUCTION = """\
# Ready-made kernel learning against SVC, Nystroem and LightGBM

    python -m studies.comparison
    python -m studies.comparison --page

`KernelClassifier()` and `KernelRegressor()` with their defaults, on rows as they come
from the file, beside what one would otherwise take. Nobody is tuned by hand.
"""

METHOD = """\
## How it was measured

- Test part: the published one of ijcnn1, a9a, w8a and dna, for all seeds; otherwise
  20 % of the rows are held out (covtype: 10 %), classes in proportion, another split
  for each seed. covtype-2 is class 2 against the rest, covtype-7 all seven classes.
- Rivals get features standardised by the training rows (a9a, w8a, dna: sparse, divided
  by the largest value) and standardised targets, and that is not in their seconds. Ours
  gets the raw rows, and its own scaling is in its seconds.
- SVC, searched: C of {costs} and gamma of {factors} times
  1 / (features * variance), by 5-fold cross-validation on a tenth of the training rows
  (at least 100), then a fit on all of them. SVC: C = 1, gamma = "scale". For values,
  SVR in the same way with epsilon 0.1. Both with a cache of 1,000 MB.
- onkel, auto: `budget="auto"`, the rest by default.
- Nystroem: as many features as our budget ({budget}), its defaults, and LinearSVC or
  Ridge with theirs. LightGBM: defaults.
- Every cell is a process of its own with one thread. Seconds are those of the
  processor, all in, search included, which a busy machine hardly changes. Ours are
  measured after a fit of {warm_up} rows, so that nothing is compiled: what a cold start
  costs, `make bench` says.
- Errors: mean and standard deviation over the seeds, of mistakes in percent. For values
  ({values}): 100 times the root mean squared error over the
  standard deviation of the test targets.
- Verdicts compare the same splits, so only seeds that both have. The better SVC is the
  one with the lower mean test error, which favours it. A tie is a difference within two
  standard errors of one test set, which stand behind ±: sqrt(p(1-p)/n), p the mean of
  both errors; for values from {resamples} bootstrap samples of the test rows.
- Calibration error: {bins} bins of equal width over the probability of the predicted
  class.
"""


def _seeds_told(found: Results) -> list[str]:
    """Say which methods ran with how many seeds, where not with all."""
    most = max(len(result.errors) for of in found.values() for result in of.values())
    fewer = [
        f"{name} {NAMES[method]} ({len(result.errors)})"
        for name, of_set in found.items()
        for method, result in of_set.items()
        if len(result.errors) < most and not result.counts_for_all
    ]
    once = "SVC and LightGBM have no randomness, so on a fixed test part they ran once"
    lines = [f"- Seeds: {most}. {once}."]
    if fewer:
        lines.append(f"- Fewer seeds, since it takes too long: {', '.join(fewer)}.")
    return lines


def page(records: Mapping[str, dict[str, Any]]) -> str:
    """Write the page in Markdown."""
    found = results(records)
    verdicts = {name: standing(of_set) for name, of_set in found.items()}
    grown = {name: standing(of_set, "onkel-auto") for name, of_set in found.items()}
    last = [record for record in records.values() if "failed" not in record][-1]
    machine = last["machine"]
    failed = [
        f"- **Failed**: {key}: {record['failed']}"
        for key, record in records.items()
        if "failed" in record
    ]
    extrapolated = part_table(found)
    said = METHOD.format(
        costs=", ".join(f"{cost:g}" for cost in COSTS),
        factors=", ".join(f"{factor:.2g}" for factor in FACTORS),
        budget=last["budget"],
        values=", ".join(REGRESSION),
        resamples=f"{RESAMPLES:,}",
        warm_up=WARM_UP_ROWS,
        bins=BINS,
    )
    lines = [
        INTRODUCTION,
        *("## Targets", "", *targets(verdicts), *failed),
        *('With `budget="auto"`, which grows where that helps:', ""),
        *targets(grown, is_of_a_size=False),
        *("![error against seconds](comparison.png)", ""),
        *("## Verdicts", "", *verdict_table(verdicts)),
        *('With `budget="auto"`:', "", *verdict_table(grown)),
        *("## Test error", "", *error_table(found)),
        *("## Seconds to fit, one thread", "", *seconds_table(found)),
    ]
    if extrapolated:
        lines += [
            f"{PART}: SVC may search, and fit, for ten minutes each. Where it would "
            "take longer, the error is that of the largest subsample that finished, "
            "and the seconds for all rows are extrapolated by the power law through "
            "the last three subsamples:",
            *("", *extrapolated),
        ]
    lines += ["## Chosen parameters, size, memory", ""]
    lines += ["Parameters of the first seed; all else are means.", ""]
    lines += details_table(found)
    lines += [said.rstrip(), *_seeds_told(found), ""]
    where = f"{machine['processor']}, {machine['cores']} cores; {versions_in(machine)}."
    return "\n".join([*lines, where]) + "\n"


# ---- files -----------------------------------------------------------------------


def compact(records: Mapping[str, dict[str, Any]]) -> str:
    """Write the records, a line each; the machine once, if it is always the same."""
    machines = {json.dumps(each.get("machine")): None for each in records.values()}
    is_one = len(machines) == 1
    told_once = ["machine"] if is_one else []
    short = {
        key: {k: rounded(v, DIGITS) for k, v in record.items() if k not in told_once}
        for key, record in records.items()
    }
    head = f'"machine": {next(iter(machines))},\n' if is_one else ""
    return "{\n" + head + f'"cells": {a_line_each(short)}}}\n'


def save(records: Mapping[str, dict[str, Any]], folder: Path) -> list[Path]:
    """Write the page, the numbers and the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"comparison.{suffix}" for suffix in ("md", "json", "png")]
    paths[0].write_text(page(records), encoding="utf-8")
    paths[1].write_text(compact(records), encoding="utf-8")
    picture(results(records)).savefig(paths[2], dpi=110)
    return paths

"""The page of the comparison: tables and targets, out of its records."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onkel.measuring.machine import versions_in
from onkel.measuring.markdown import markdown, spread_of
from studies.comparison_cells import BINS, RESAMPLES, WARM_UP_ROWS
from studies.comparison_ledger import compact
from studies.comparison_methods import BUDGET, MACHINES, METHODS, OURS, TABLE
from studies.comparison_picture import picture
from studies.comparison_sets import NEW, REGRESSION
from studies.comparison_svm import COSTS, FACTORS
from studies.comparison_targets import (
    against_earlier,
    agreement,
    counted,
    of_covtype,
    targets,
)
from studies.comparison_time_picture import picture as picture_of_time
from studies.comparison_trees import RANGES
from studies.comparison_verdicts import (
    Difference,
    Result,
    Results,
    Standing,
    difference,
    results,
    standing,
)

PART, ELSEWHERE = "†", "‡"


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


def _label(method: str) -> str:
    return METHODS[method].label


def _columns(found: Results) -> list[str]:
    there = {method for of_set in found.values() for method in of_set}
    return [method for method in TABLE if method in there]


def _per_method(
    found: Results, write: Callable[[Result], str], value: Callable[[Result], float]
) -> Iterable[list[str]]:
    for name, of_set in found.items():
        there = [of_set.get(method) for method in _columns(found)]
        cells = ["-" if result is None else write(result) for result in there]
        values = [None if result is None else value(result) for result in there]
        yield [name, *_bold(cells, values)]


def _sizes(of_set: Mapping[str, Result]) -> list[str]:
    record = next(iter(of_set.values())).records[0]
    return [f"{record['train_rows']:,}", f"{record['test_rows']:,}"]


def error_table(found: Results) -> list[str]:
    """Rows, and test error of each method."""
    rows = [
        [cells[0], *_sizes(found[cells[0]]), *cells[1:]]
        for cells in _per_method(found, _error, lambda result: result.error)
    ]
    return markdown(["data", "rows", "test rows", *map(_label, _columns(found))], rows)


def seconds_table(found: Results, earlier: Results) -> list[str]:
    """Seconds to fit, those of the earlier version, and ours by the clock."""
    rows = []
    for cells in _per_method(found, _seconds, lambda result: result.seconds):
        ours = found[cells[0]].get("onkel")
        before = earlier.get(cells[0], {}).get("onkel")
        cells.append("-" if before is None else short(before.seconds))
        rows.append([*cells, "-" if ours is None else short(ours.mean("wall"))])
    heads = ["data", *map(_label, _columns(found)), "onkel, earlier", "onkel, wall"]
    return markdown(heads, rows)


def _signed(gap: Difference | None) -> str:
    if gap is None:
        return "-"
    return f"{gap.points:+.2f} ± {2 * gap.standard_error:.2f}, {gap.verdict}"


def verdict_table(verdicts: Mapping[str, Standing]) -> list[str]:
    """Write ours less theirs, in points, and how many times faster."""
    rows = []
    for name, found in verdicts.items():
        marks = PART * found.is_extrapolated + ELSEWHERE * found.is_elsewhere
        speed = "-" if found.speed is None else f"{found.speed:,.1f}{marks}"
        rival = "-" if found.machine is None else _label(found.machine)
        gaps = (found.to_machine, found.to_nystroem, found.to_trees, found.to_tuned)
        first, *others = map(_signed, gaps)
        rows.append([name, rival, first, speed, *others])
    heads = ["data", "better SVC", "ours less its error", "times faster"]
    rivals = ("Nystroem", "LightGBM", "tuned LightGBM")
    return markdown([*heads, *(f"ours less {rival}'s" for rival in rivals)], rows)


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
                    *(name, _label(method)),
                    *(_chosen(chosen.get(key)) for key in ("C", "gamma")),
                    f"{result.mean('model_size'):,.0f}",
                    short(result.mean("predict_seconds")),
                    _megabytes(result),
                    f"{np.mean(calibration):.3f}" if calibration else "-",
                ]
            )
    heads = ["data", "method", "C", "gamma", "centres", "s to predict", "MB"]
    return markdown([*heads, "calibration error"], rows)


def _megabytes(result: Result) -> str:
    # Cells that shared a process have no memory of their own.
    if any("memory" not in record for record in result.records):
        return "-"
    return f"{result.mean('memory') / 2**20:,.0f}"


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
                            *(name, _label(method), what, f"{part['rows']:,}"),
                            *(f"{part['all_rows']:,}", f"{part['exponent']:.2f}"),
                            *(short(record[f"{what}_seconds"]), steps),
                        ]
                    )
    heads = ["data", "method", "work", "largest finished", "all rows", "exponent"]
    return markdown([*heads, "seconds for all", "rows: seconds"], rows) if rows else []


def gpu_table(found: Results) -> list[str]:
    """Ours on both devices at 500 centres, and "auto" on the GPU."""
    rows = []
    for name, of_set in found.items():
        cpu, gpu = of_set.get("onkel"), of_set.get("onkel-cuda")
        auto = of_set.get("onkel-auto-cuda")
        both = agreement(cpu, gpu) if cpu and gpu else None
        if gpu is None and auto is None:
            continue
        rows.append(
            [
                *(name, *(_error(each) if each else "-" for each in (cpu, gpu))),
                f"{both.points:+.2f} ± {both.noise:.2f}" if both else "-",
                *(_seconds(each) if each else "-" for each in (cpu, gpu)),
                *((_error(auto), _seconds(auto)) if auto else ("-", "-")),
                f"{auto.mean('model_size'):,.0f}" if auto else "-",
            ]
        )
    heads = ["data", "error, CPU", "error, GPU", "GPU less CPU", "s, CPU", "s, GPU"]
    return markdown([*heads, "auto: error", "s", "centres"], rows) if rows else []


def covtype_table(of_set: Mapping[str, Result]) -> list[str]:
    """Ours of every size on covtype-7, on both devices."""
    rows = [
        [
            *(_label(method), f"{result.mean('model_size'):,.0f}", _error(result)),
            *(_seconds(result), f"{len(result.errors)}"),
        ]
        for method, result in of_set.items()
        if METHODS[method].family == "onkel"
    ]
    return markdown(["covtype-7", "centres", "error", "s", "seeds"], rows)


def new_table(found: Results) -> list[str]:
    """Errors and seconds on the sets that nobody had looked at."""
    rows = []
    for name, of_set in found.items():
        for method, result in of_set.items():
            gap = None
            if METHODS[method].family == "onkel" and "lightgbm" in of_set:
                gap = difference(result, of_set["lightgbm"])
            size = f"{result.mean('model_size'):,.0f}"
            cells = [_error(result), _signed(gap), _seconds(result), size]
            rows.append([name, *_sizes(of_set), _label(method), *cells])
    heads = ["data", "rows", "test rows", "method", "error", "less LightGBM's", "s"]
    return markdown([*heads, "centres or leaves"], rows) if rows else []


# ---- the page --------------------------------------------------------------------

INTRODUCTION = """\
# Ready-made kernel learning against SVC, Nystroem and LightGBM

    python -m studies.comparison
    python -m studies.comparison --page

`KernelClassifier()` and `KernelRegressor()` with their defaults, on rows as they come
from the file, beside what one would otherwise take. Nobody is tuned by hand.
"""

NO_FALKON = """\
- falkon was not to be had: it is built with a C++ and CUDA compiler, from no package
  that can be installed here. The study runs it where it is there.
"""

ON_GPU = """\
One GPU ({gpus}). Seconds of the GPU are those of the clock, and of the CPU those of the
processor, one thread. Behind ± stands what chance explains: two standard errors of the
difference by the spread over seeds, or of the test rows where there is one seed.

The same errors on CPU and GPU, within chance. {agree}
"""

OF_TIME = """\
Numbers are centres, or trees; stars are `budget="auto"`.
Hollow: seconds extrapolated. Seconds are those of the machines named below.
"""

ON_NEW = """\
## Two sets that nobody had looked at

Chosen before anything was run on them, and run once, seed 0; counted nowhere above.
poker-lsn has ten classes (10 % of the rows held out), nycflights are minutes of delay.
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
- LightGBM, tuned: optuna's TPE on a fifth of the training rows held out, from the
  defaults on, until the seconds of onkel on the same rows are used up; then a fit on
  all rows with the best, which comes on top. A trial that does not end in time counts
  for nothing. It did {trials} trials. {ranges}.
- Every cell is a process of its own with one thread; those on a GPU share one. Seconds
  are those of the processor, all in, search included, which a busy machine hardly
  changes. Ours are measured after a fit of {warm_up} rows, so that nothing is compiled:
  what a cold start costs, `make bench` says.
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


def _method_told(found: Results) -> str:
    counts = [
        record["trials"]
        for of_set in found.values()
        if "lightgbm-tuned" in of_set
        for record in of_set["lightgbm-tuned"].records
    ]
    ranges = [f"{name} {least:g} to {most:g}" for name, (least, most) in RANGES.items()]
    return METHOD.format(
        costs=", ".join(f"{cost:g}" for cost in COSTS),
        factors=", ".join(f"{factor:.2g}" for factor in FACTORS),
        budget=BUDGET,
        trials=f"{min(counts)} to {max(counts)}" if counts else "no",
        ranges="Searched: " + ", ".join(ranges),
        values=", ".join(REGRESSION),
        resamples=f"{RESAMPLES:,}",
        warm_up=WARM_UP_ROWS,
        bins=BINS,
    ).rstrip()


def _seeds_told(found: Results) -> list[str]:
    """Say which methods ran with how many seeds, where not with all."""
    most = max(len(result.errors) for of in found.values() for result in of.values())
    once = "SVC and LightGBM have no randomness, so on a fixed test part they ran once"
    lines = [f"- Seeds: {most}. {once}. Fewer, since it takes too long:"]
    for method in METHODS:
        fewer = [
            f"{name} ({len(of_set[method].errors)})"
            for name, of_set in found.items()
            if method in of_set and not of_set[method].counts_for_all
            if len(of_set[method].errors) < most
        ]
        if fewer:
            lines.append(f"  - {_label(method)}: {', '.join(fewer)}.")
    return lines if len(lines) > 1 else [f"- Seeds: {most}. {once}."]


def _machines_told(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say whose seconds are from which machine."""
    methods: dict[str, set[str]] = {}
    for record in records:
        if "failed" not in record:
            machine, gpu = record["machine"], record.get("gpu")
            where = f"{machine['processor']}, {machine['cores']} cores"
            where += f", {gpu}" if gpu else ""
            told = f"{where}; {versions_in(machine)}"
            methods.setdefault(told, set()).add(record["method"])
    return [
        f"- {'; '.join(_label(each) for each in METHODS if each in used)}: {told}."
        for told, used in methods.items()
    ]


def _on_gpu(found: Results) -> list[str]:
    table = gpu_table(found)
    if not table:
        return []
    gpus = {
        record["gpu"]
        for of_set in found.values()
        for result in of_set.values()
        for record in result.records
        if record.get("gpu")
    }
    pairs = {
        name: agreement(of_set["onkel"], of_set["onkel-cuda"])
        for name, of_set in found.items()
        if {"onkel", "onkel-cuda"} <= set(of_set)
    }
    told = {name: pair for name, pair in pairs.items() if pair}
    apart = [f"{n} ({pair.points:+.2f})" for n, pair in told.items() if not pair.holds]
    agree = counted(len(told), apart) if told else "Not measured yet."
    said = ON_GPU.format(gpus=", ".join(sorted(gpus)), agree=agree)
    return [
        *("## On a GPU", "", said, *table),
        *(covtype_table(found["covtype-7"]) if "covtype-7" in found else ()),
    ]


def page(
    records: Mapping[str, dict[str, Any]], earlier: Mapping[str, dict[str, Any]]
) -> str:
    """Write the page in Markdown."""
    found, every = results(records, methods=TABLE), results(records)
    before = results(earlier)
    verdicts = {name: standing(of_set) for name, of_set in found.items()}
    grown = {name: standing(of_set, "onkel-auto") for name, of_set in found.items()}
    failed = [
        f"- **Failed**: {key}: {record['failed']}"
        for key, record in records.items()
        if "failed" in record
    ]
    has_falkon = "falkon" in _columns(found)
    lines = [
        INTRODUCTION,
        *("## Targets", "", f"With {BUDGET} centres, the default:", ""),
        *(
            *targets(verdicts),
            'With `budget="auto"`, which grows where that helps:',
            "",
        ),
        *(*targets(grown), "Time:", "", against_earlier(found, before)),
        *(*of_covtype(every.get("covtype-7", {})), *failed, ""),
        *("![error against seconds](comparison.png)", ""),
        *("## Verdicts", "", *verdict_table(verdicts)),
        *('With `budget="auto"`:', "", *verdict_table(grown)),
    ]
    if any(each.is_elsewhere for each in (*verdicts.values(), *grown.values())):
        lines += [
            f"{ELSEWHERE}: seconds of ours and of SVC are of different machines, so "
            "the ratio is one of machines too.",
            "",
        ]
    lines += ["## Test error", "", *error_table(found)]
    lines += ["## Seconds to fit, one thread", "", *seconds_table(found, before)]
    if extrapolated := part_table(found):
        lines += [
            f"{PART}: SVC may search, and fit, for ten minutes each. Where it would "
            "take longer, the error is that of the largest subsample that finished, "
            "and the seconds for all rows are extrapolated by the power law through "
            "the last three subsamples:",
            *("", *extrapolated),
        ]
    lines += _on_gpu(every)
    if picture_of_time(every) is not None:
        lines += ["## Error against seconds, of larger and larger models", ""]
        lines += ["![error against seconds](comparison_time.png)", "", OF_TIME]
    if new := new_table(results(records, NEW)):
        lines += [ON_NEW, *new]
    lines += ["## Chosen parameters, size, memory", ""]
    lines += ["Parameters of the first seed; all else are means.", ""]
    lines += details_table(found)
    lines += [_method_told(found), *([] if has_falkon else [NO_FALKON.rstrip()])]
    lines += [*_seeds_told(found), "", "Machines:", ""]
    lines += _machines_told(records.values())
    lines += ["", "The earlier version's seconds:", ""]
    lines += _machines_told(earlier.values())
    return "\n".join(lines) + "\n"


# ---- files -----------------------------------------------------------------------


def save(
    records: Mapping[str, dict[str, Any]],
    earlier: Mapping[str, dict[str, Any]],
    folder: Path,
) -> list[Path]:
    """Write the page, the numbers and the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "comparison.md": page(records, earlier),
        "comparison.json": compact(records),
        "comparison_earlier.json": compact(earlier),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    drawn = {
        "comparison.png": picture(results(records, methods=TABLE)),
        "comparison_time.png": picture_of_time(results(records)),
    }
    pictures = {name: figure for name, figure in drawn.items() if figure is not None}
    for name, figure in pictures.items():
        figure.savefig(folder / name, dpi=110)
    return [folder / name for name in (*texts, *pictures)]

"""The page: tables of error, time, memory and ratio, and how to repeat them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import roofline, second_order
from benchmarks.peers.bouts import SLOW
from benchmarks.peers.launch import limit_told
from benchmarks.peers.picture import FAR, picture
from benchmarks.peers.programs import PROGRAMS
from benchmarks.peers.tasks import SETS
from benchmarks.peers.worker import WARM_UP_ROWS
from onkel.measuring.machine import versions_in
from onkel.measuring.markdown import literal, markdown
from onkel.measuring.records import a_line_each, rounded

DIGITS = 5  # of a number in the JSON that count
Content = Mapping[str, Any]  # the machine, the limits, the sets, and a cell each
INTRODUCTION = """\
# Beside others: time, error, memory

    python -m benchmarks.peers --output docs

runs our systems and every peer that one can install, in about a quarter of an hour, and
writes this page; `pip install "onkel[rivals]"` brings LightGBM and River. A program
that one has built takes part if its folder is named, as often as there are programs:

    python -m benchmarks.peers --output docs --limit 600 --peer kol=../KOL

A second build of the same program, say with other flags, is called after its folder.

Nobody is tuned here: all have the same kernel, C and budget, and linear models and
trees their defaults. What tuning brings is in [comparison.md](comparison.md).
"""
EDGE = f"""\
At the first budget of every data set; the number beside a name is its error. Who errs
more than {FAR:g} times as often as a constant answer is drawn at the upper edge.
"""
SUMMARY = """\
## Each peer beside ours

How many times as long as ours its `fit` took, by data set and budget; in brackets its
error less ours, in points: below 0 it errs less. It stands against the one of ours that
learns in the same way, or else the nearest to it.
"""
METHOD = """\
## How it is measured

- Seconds are processor time of one thread: of `fit` on all rows, and of `predict` on
  the test rows. Everybody has a process of their own; its memory is the peak of all of
  it, Python and the rows among it. Code is compiled before, on {warm_up:,} rows.
- One of ours and those that stand against it take turns (rounds: at most {rounds});
  the least time counts, and the mean error. A fit of more than {slow:g} s is not
  repeated. After {limit:g} s of processor time it is stopped, and the table says so.
- "times ours" are the seconds of `fit` over those of the one of ours that it stands
  against, "times our fastest" over those of our fastest on this task.
- The error is that on the test rows, of the last iterate of those that learn online
  (KOL's FOGD and NOGD: of their mean), which for the perceptrons depends much on the
  last few rows. "mistakes" are the rows that were predicted wrong before they were
  learnt.
- Rows are shuffled and in single precision; sparse where the table says so. ijcnn1 and
  a9a have published test parts, of which {tests} rows are drawn; cod-rna is
  standardised, covtype (class 2 or not) has features in [0, 1]; of these two, rows are
  held out. gamma and C are those of the BSCA paper but for covtype, whose kernel is
  narrow on purpose.
- Ours: one pass each, BSCA one epoch and its last iterate, LLSVM until it has
  converged, KernelClassifier with all that it finds by itself. FOGD has as many
  frequencies as the others have centres, RBFSampler as many features, NOGD a fifth.
- Falkon needs PyTorch and a compiler, and learns by squares, not by the hinge.

## Programs

| `--peer` | program, built from | stands against |
|---|---|---|
{programs}

A folder is searched for its programs, also in `bin`, `build` and the like; one that is
not there is an error that says what is missing, one that fails a row that says why.
Programs read files in LIBSVM's format, and where they tell the seconds of learning
without those of reading, these count; "whole program" is the processor time of all.
KOL reads while it learns, and tells seconds by the clock: its processor time counts, in
the proportion of its seconds of learning and testing. Its FOGD takes a root of numbers
that rounding makes negative, in predicting only: such a row has no score and counts as
of class -1, so that not its error, but its mistakes tell how it learns. Its NOGD needs
as many updates as centres.
The authors' BSCA ends an epoch with objectives over all rows, which are left out.
It searches partners by golden sections unless it is built for its look-up table, which
lies in its folder as `wd_param.txt` then. Shark is a library: `shark-bsgd C GAMMA
BUDGET EPOCHS TRAIN TEST` is a small program that one writes around its
`KernelBudgetedSGDTrainer` (merging, hinge, no offset), and that prints `train
seconds:`, `test seconds:` and `test error:`, the last one a share. How their parameters
follow from ours: `benchmarks/peers/programs.py`.
"""
ROOFLINE = """\
## Roofline

What a row costs at {budget:,} centres, dense, in microseconds of one thread. The
roofline is the time of the matrix product and of the exponentials alone, each at its
best; the shares are it over what was measured. `python -m benchmarks roofline` prints
this table alone.
"""
BANDWIDTH = """\
## Bandwidth

What updates of O(budget^2) read and write of a root of the inverse Gram matrix, a
second, beside what a dot product of as many numbers reads, which the caches hold if
they are few, and one of numbers in memory. Writing goes beside reading, so that a share
may be more than all. `python -m benchmarks second_order` prints this table alone, and
`python -m benchmarks flat_cost` the cost of a row along three million.
"""


def cells_of(content: Content, task: str) -> dict[str, Any]:
    """Records of a task, `set/budget`, by contestant, in the order of the bouts."""
    return {
        key.removeprefix(f"{task}/"): record
        for key, record in content["cells"].items()
        if key.startswith(f"{task}/")
    }


def tasks_in(content: Content) -> Iterator[str]:
    """All tasks that have records."""
    for name in content["sets"]:
        for budget in SETS[name].budgets:
            if cells_of(content, f"{name}/{budget}"):
                yield f"{name}/{budget}"


def _is_late(record: Mapping[str, Any], content: Content) -> bool:
    return record.get("failed") == limit_told(content["limit"])


def times(record: Mapping[str, Any], over: float | None, content: Content) -> str:
    """Write how many times as long it took, at least so many if it was stopped."""
    if over is None:
        return "-"
    if _is_late(record, content):
        return f"> {content['limit'] / over:,.0f}"
    return "-" if "failed" in record else f"{record['seconds'] / over:,.1f}"


def _figure(record: Mapping[str, Any], key: str, unit: float, digits: int) -> str:
    return f"{unit * record[key]:.{digits}f}" if key in record else "-"


def _fastest(found: Mapping[str, Any]) -> float | None:
    ours = [
        of["seconds"] for of in found.values() if not of["against"] if "error" in of
    ]
    return min(ours, default=None)


def table_of(content: Content, task: str) -> list[str]:
    """Everybody at a task."""
    found = cells_of(content, task)
    fastest = _fastest(found)
    with_programs = any("program_seconds" in record for record in found.values())
    heads = ["contestant", "error, %", "mistakes, %", "fit, s", "predict, s", "MB"]
    heads += [
        "times ours",
        "times our fastest",
        *(["whole program, s"] if with_programs else []),
    ]
    lines = []
    for name, record in found.items():
        ours = found.get(record["against"], {}).get("seconds")
        ratios = [
            times(record, ours, content) if record["against"] else "",
            times(record, fastest, content),
        ]
        shown = f"- {literal(name)}" if record["against"] else f"**{literal(name)}**"
        if "failed" in record:
            why = literal(record["failed"])
            line = [f"{shown}: {why}", *"-----", *ratios]
        else:
            line = [
                shown,
                f"{100 * record['error']:.2f}",
                _figure(record, "mistakes", 100, 2),
                f"{record['seconds']:.3f}",
                _figure(record, "predict_seconds", 1, 3),
                f"{record['memory'] / 2**20:,.0f}",
                *ratios,
            ]
        if with_programs:
            line.append(_figure(record, "program_seconds", 1, 2))
        lines.append(line)
    return markdown(heads, lines)


def summary_of(content: Content) -> list[str]:
    """Every peer beside the one of ours that it stands against, on all tasks."""
    tasks = list(tasks_in(content))
    found = {task: cells_of(content, task) for task in tasks}
    peers = {
        name: record["against"]
        for records in found.values()
        for name, record in records.items()
        if record["against"]
    }
    heads = [task.replace("/", ", budget ") for task in tasks]
    lines = []
    for name, against in peers.items():
        line = [literal(name), literal(against)]
        for records in found.values():
            record, ours = records.get(name), records.get(against, {})
            if record is None or "seconds" not in ours:
                line.append("")
                continue
            told = times(record, ours["seconds"], content)
            if "error" in record:
                told += f" ({100 * (record['error'] - ours['error']):+.1f})"
            line.append(told)
        lines.append(line)
    return markdown(["peer", "against ours", *heads], lines)


def _set_told(content: Content, task: str) -> str:
    name, budget = task.split("/")
    of = content["sets"][name]
    return (
        f"{of['rows']:,} rows, {of['test_rows']:,} test rows, {of['features']} "
        f"features{', sparse' if of['is_sparse'] else ''}; gamma {of['gamma']:g}, "
        f"C {of['C']:g}, budget {budget}. A constant answer errs on "
        f"{100 * of['constant']:.2f} %."
    )


def _programs_told() -> str:
    lines = []
    for name, program in PROGRAMS.items():
        made = ", ".join(f"`{executable}`" for executable in program.executables)
        against = dict.fromkeys(of.against for of in program.algorithms.values())
        lines.append(
            f"| `{name}` | {made}, [{program.title}]({program.source}) | "
            f"{'; '.join(against)} |"
        )
    return "\n".join(lines)


def page(content: Content) -> str:
    """Write the page in Markdown."""
    machine = content["machine"]
    lines = [INTRODUCTION, "![error against seconds](peers.png)", "", EDGE]
    lines += [SUMMARY, *summary_of(content)]
    for task in tasks_in(content):
        name, budget = task.split("/")
        lines += [f"## {name}, budget {budget}", "", _set_told(content, task), ""]
        lines += table_of(content, task)
    if "roofline" in content:
        lines += [ROOFLINE.format(budget=roofline.BUDGET)]
        lines += markdown(roofline.HEADS, roofline.cells(content["roofline"]))
    if "second_order" in content:
        lines += [BANDWIDTH]
        lines += markdown(
            second_order.HEADS, second_order.cells(content["second_order"])
        )
    tests = {f"{of['test_rows']:,}" for of in content["sets"].values()}
    lines += [
        METHOD.format(
            warm_up=WARM_UP_ROWS,
            rounds=content["rounds"],
            slow=SLOW,
            limit=content["limit"],
            tests=" or ".join(sorted(tests)),
            programs=_programs_told(),
        )
    ]
    where = f"{machine['processor']}, {machine['cores']} cores; {versions_in(machine)}."
    return "\n".join([*lines, where]) + "\n"


def save(content: Content, folder: Path) -> list[Path]:
    """Write the page, the numbers and the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"peers.{suffix}" for suffix in ("md", "json", "png")]
    paths[0].write_text(page(content), encoding="utf-8")
    short_ = rounded(dict(content), DIGITS)
    heads = [f'"{k}": {json.dumps(v)},\n' for k, v in short_.items() if k != "cells"]
    told = "{\n" + "".join(heads) + f'"cells": {a_line_each(short_["cells"])}}}\n'
    paths[1].write_text(told, encoding="utf-8")
    picture(content).savefig(paths[2], dpi=110)
    return paths

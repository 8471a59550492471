"""The page of `studies.streaming`, out of its records."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onkel.measuring.machine import versions_in
from onkel.measuring.markdown import markdown
from onkel.measuring.records import Record, Records, a_line_each, rounded
from onkel.race import bandwidth
from studies.streaming_picture import picture
from studies.streaming_results import Result, drawn, results
from studies.streaming_run import CHOSEN, CHUNK, DEFAULTS, RACE, TENTHS
from studies.streaming_systems import BUDGET, NEW, SEARCHED, SEED, STREAMS

RARE = 0.001  # share of rows with another label than the last: sorted, if it is less
DIGITS = 5  # of a number in the JSON that count
SORTED = "The label of the row before is all but always right: this compares nothing."
INTRODUCTION = """\
# Streams in the order of the file

Every row is predicted, then learnt; chunks of {chunk} rows go to `partial_fit`, and
`onkel.progressive` gives the score of each row before its own update. All have a budget
of {budget} centres and features, shared out as in the races, and the seed {seed}: one
run each, so small differences mean nothing. The order is that of the file; as the file
of cod-rna is all but sorted by label, its rows are shuffled once more (seed {seed}).

`{new}(budget={budget}, random_state={seed})` sees the rows as they are in the file, and
is told nothing else. It has an advantage of its own, too: beside its centres it keeps
its last `memory_size` rows, and fits itself to them anew now and then. None of the
others keeps rows; time and memory below show what that costs. And NBSGD keeps less and
less to the budget, as its paper has it: its *size* at the end is up to three times that
of the others.

All other systems with a budget and `partial_fit` have advantages that nobody has who
reads a stream: their features are standardised with mean and standard deviation of the
whole stream, and each runs through the stream three times:

- *searched*: with the parameters that have the smallest progressive error on the first
  {searched:,} rows, out of the race's gamma times 1/4, 1 and 4 and the papers' values
  of alpha, C, eta0 and max_coef, as far as a system has them; perceptrons have none;
- *race's*: with parameters as in the races: gamma chosen on the first {gamma_rows:,}
  rows, alpha 1 over the rows of the whole stream;
- *defaults*: with those of its class.

*mistakes* is the smallest of the three, picked when all is over. It is what counts
here, not *searched*: what suits the first rows need not suit the rest. On ijcnn1 they
ask for a kernel so narrow that most systems do better with their defaults.

Time is that of the processor, one thread, after a warm-up that loads what is compiled;
other work ran on the machine. Every run has a process of its own. *growth*: the peak of
its resident memory after the first tenth of the stream, less what was resident then.
*pickled*: the estimator, at each tenth of the stream.

    python -m studies.streaming
    python -m studies.streaming --page

{machine}. All numbers: [streaming.json](streaming.json).

![Mistakes so far against rows](streaming.png)

"""


def _percent(record: Record) -> str:
    if "failed" in record:
        return record["failed"]
    return f"{100 * record['error']:.2f}" if "error" in record else ""


def _bold(cells: list[str], is_new: bool) -> list[str]:
    return [f"**{cell}**" if is_new and cell else cell for cell in cells]


def _error_row(result: Result) -> list[str]:
    given = result.searched.get("parameters", {})
    cells = [
        result.system,
        _percent(result.best),
        *(_percent(result.by_kind.get(kind, {})) for kind in (CHOSEN, RACE, DEFAULTS)),
        ", ".join(f"{name}={value:.4g}" for name, value in given.items()),
    ]
    return _bold(cells, result.system == NEW)


def _cost_row(result: Result) -> list[str]:
    best = result.best
    growth, size = best["growth"], best["size"]
    first, last = best["pickled"][0] / 1024, best["pickled"][-1] / 1024
    cells = [
        result.system,
        f"{1e6 * best['seconds_per_row']:.0f}",
        f"{1e3 * best['slowest_chunk']:.0f}",
        "" if size is None else f"{size:,}",
        f"{first:,.0f}",
        f"{last:,.0f}",
        f"{max(best['pickled']) / 1024:,.0f}",
        "" if growth is None else f"{growth / 2**20:.1f}",
    ]
    return _bold(cells, result.system == NEW)


def _tenths_row(result: Result) -> list[str]:
    tenths = [f"{100 * tenth:.2f}" for tenth in result.best["tenths"]]
    return _bold([result.system, *tenths], result.system == NEW)


def summary(found: Sequence[Result]) -> str:
    """Say in words how the newcomer compares with the best of the others."""
    new = next((r for r in found if r.system == NEW), None)
    others = [r for r in found if r.system != NEW and np.isfinite(r.error)]
    if not others:
        return ""
    best = others[0]
    said = f"Best of the others: {best.system}, {100 * best.error:.2f} %"
    found_first = [r for r in others if "error" in r.by_kind.get(CHOSEN, {})]
    if found_first:
        first = min(found_first, key=lambda r: float(r.by_kind[CHOSEN]["error"]))
        error = 100 * first.by_kind[CHOSEN]["error"]
        said += f"; with the parameters searched for, {first.system}, {error:.2f} %"
    if new is None or not np.isfinite(new.error):
        return said + "."
    gap = 100 * (new.error - best.error)
    word = "more" if gap > 0 else "fewer"
    return (
        f"{NEW}: {100 * new.error:.2f} %, place {found.index(new) + 1} of "
        f"{len(others) + 1}. {said}. So {NEW} makes {abs(gap):.2f} mistakes {word} "
        "in a hundred rows than the best of the others."
    )


def _section(name: str, records: Records) -> list[str]:
    about, found = records[name], results(records, name)
    ran = [result for result in found if "error" in result.best]
    error_heads = ["system", "mistakes, %", *("searched", "race's", "defaults")]
    cost_heads = ["system", "µs a row", "slowest chunk, ms", "size"]
    cost_heads += ["pickled at 10 %, KiB", "at the end", "at most", "growth, MiB"]
    shown = sorted(drawn(found), key=lambda result: result.error)
    return [
        f"## {name}: {about['rows']:,} rows, {about['features']} features",
        "",
        f"Always the more frequent label: {100 * about['majority']:.2f} % mistakes. "
        f"The label of the row before again: {100 * about['last label']:.2f} %. "
        f"gamma of the race: {about['gamma']:.4g}.",
        "",
        summary(found),
        *(["", SORTED] if about["last label"] < RARE else []),
        "",
        *markdown([*error_heads, "parameters found"], map(_error_row, found)),
        "Mistakes in each tenth of the stream, %:",
        "",
        *markdown(["system", *map(str, range(1, TENTHS + 1))], map(_tenths_row, shown)),
        "Time and memory of the best run:",
        "",
        *markdown(cost_heads, map(_cost_row, ran)),
    ]


def page(records: Records) -> str:
    """Write the page."""
    there = [name for name in STREAMS if name in records]
    host = records[there[0]]["machine"]
    said = INTRODUCTION.format(
        chunk=CHUNK,
        budget=BUDGET,
        seed=SEED,
        new=NEW,
        gamma_rows=bandwidth.ROWS,
        searched=SEARCHED,
        machine=f"{host['processor']}; {versions_in(host)}",
    )
    return said + "\n".join(text for name in there for text in _section(name, records))


def compact(records: Records) -> str:
    """All records but the curves, a line each."""
    short = {
        name: {k: rounded(v, DIGITS) for k, v in record.items() if k != "mistakes"}
        for name, record in records.items()
    }
    return a_line_each(short) + "\n"


def save(records: Records, folder: Path) -> list[Path]:
    """Write the page, its numbers and its picture; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"streaming.{suffix}" for suffix in ("md", "json", "png")]
    paths[0].write_text(page(records))
    paths[1].write_text(compact(records))
    picture(records).savefig(paths[2], dpi=110)
    return paths

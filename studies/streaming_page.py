"""The page of `studies.streaming`, out of its records."""

from pathlib import Path

from onkel.measuring.machine import versions_in
from onkel.measuring.markdown import markdown
from onkel.measuring.records import Record, Records, a_line_each, rounded
from onkel.race import bandwidth
from studies import drift_page
from studies.streaming_picture import picture
from studies.streaming_references import RATE
from studies.streaming_results import Result, drawn, error_of, results
from studies.streaming_run import CHUNK, CHUNK_OF_FEW, TENTHS
from studies.streaming_streams import STREAMS
from studies.streaming_summary import (
    measure_of,
    percent,
    sentence,
    table,
    verdict,
    with_spread,
)
from studies.streaming_systems import CHOSEN, DEFAULTS, RACE, SEARCHED

CURVES = ("curve", "mistakes")  # of runs, and of those on what drifts
PRECISION = 5  # figures of a number in the JSON that count
INTRODUCTION = """\
# Streams

{verdict}

{table}
Every row is predicted, then learnt; chunks of {chunk} rows ({few_chunk} of digits) go
to `partial_fit`, and `onkel.progressive` gives the score of each row before its own
update. All numbers are percent: mistakes, and for regression the root of the mean
squared error over the deviation of the targets, so that the mean would have 100. Where
the order of a file means nothing its rows run in five random orders, whose numbers are
the seeds of the systems, too: mean ± standard deviation over orders. *gap* is by how
much more the system without knobs errs than the best of the others, in points. elec2,
ijcnn1, nycflights and covtype (its first 100,000 rows) run once, in the order of their
files: small differences mean nothing there.

`KernelClassifier(budget=..., random_state=...)` and `KernelRegressor` see the rows as
they are in the file, and are told nothing else. They have an advantage of their own,
too: beside their centres they keep their last `memory_size` rows, and fit themselves to
them anew now and then. None of the others keeps rows; time and memory below show what
that costs. And NBSGD keeps less and less to the budget, as its paper has it: its *size*
at the end is up to three times that of the others.

*The others* are all other systems of the library with a budget and `partial_fit`. They
have advantages that nobody has who reads a stream: features, and targets of regression,
are standardised with mean and standard deviation of the whole stream, and each runs
through the stream three times:

- *searched*: with the parameters that have the smallest progressive error on the first
  {searched:,} rows (of digits on all), out of the race's gamma times 1/4, 1 and 4 and
  the papers' values of alpha, C, eta0 and max_coef, as far as a system has them;
  perceptrons have none;
- *race's*: with parameters as in the races: gamma chosen on the first {gamma_rows:,}
  rows, alpha 1 over the rows of the whole stream;
- *defaults*: with those of its class.

The best of the three counts, picked when all is over: in the first order, as only that
one runs in the other four. gamma and parameters are searched for in the first order.

ARF, HAT and LR+RBF are references, and none of ours. They are River's adaptive random
forest and Hoeffding adaptive tree with their defaults, and its logistic, softmax or
linear regression on its `RBFSampler`. They see the rows standardised, as the others do;
they are slow, and run in the first order only. RBFSampler draws features of columns,
not of rows, so they know nothing of how columns act together; there are as many of them
as the others have centres, or one a column. For random features of rows see FOGD.
The rate of the linear regression is {rate} over the number of features, as with River's
own it leaves all bounds.

Time is that of the processor, one thread, after a warm-up that loads what is compiled;
other work ran on the machine. Every run has a process of its own. *growth*: the peak of
its resident memory after the first tenth of the stream, less what was resident then.
*pickled*: the model, at each tenth of the stream.

    python -m studies.streaming
    python -m studies.drift
    python -m studies.streaming --page

{machine}. All numbers: [streaming.json](streaming.json).

![Error so far against rows](streaming.png)

"""


def _marked(cells: list[str], result: Result) -> list[str]:
    """Our newcomer is bold, references are italic."""
    mark = "**" if result.is_newcomer else "*" if result.is_reference else ""
    return [f"{mark}{cell}{mark}" if cell else cell for cell in cells]


def _told(run: Record) -> str:
    return run.get("failed", percent(error_of(run)))


def _error_row(result: Result) -> list[str]:
    given = result.searched.get("parameters", {})
    cells = [
        result.system,
        with_spread(result.errors),
        *(_told(result.first.get(kind, {})) for kind in (CHOSEN, RACE, DEFAULTS)),
        ", ".join(f"{name}={value:.4g}" for name, value in given.items()),
    ]
    return _marked(cells, result)


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
    return _marked(cells, result)


def _tenths_row(result: Result) -> list[str]:
    cells = [result.system, *map(percent, result.best["tenths"])]
    return _marked(cells, result)


def _without_learning(about: Record) -> str:
    if not about["classes"]:
        return f"The target of the row before again: {percent(about['last'])} %."
    return (
        f"Always the more frequent label: {percent(about['constant'])} % mistakes. "
        f"The label of the row before again: {percent(about['last'])} %."
    )


def _section(name: str, records: Records) -> list[str]:
    about, found = records[name], results(records, name)
    source, ran = STREAMS[name], [result for result in found if result.best]
    order = f"{source.orders} random orders" if source.is_shuffled else "its own order"
    error_heads = ["system", f"{measure_of(about)}, %", "searched", "race's"]
    cost_heads = ["system", "µs a row", "slowest chunk, ms", "size"]
    cost_heads += ["pickled at 10 %, KiB", "at the end", "at most", "growth, MiB"]
    shown = sorted(drawn(found), key=lambda result: result.error)
    return [
        f"## {name}: {about['rows']:,} rows, {about['features']} features",
        "",
        f"{order.capitalize()}, a budget of {source.budget}. "
        f"{_without_learning(about)} gamma of the race: {about['gamma']:.4g}.",
        "",
        sentence(found, about),
        "",
        *markdown(
            [*error_heads, "defaults", "parameters found"], map(_error_row, found)
        ),
        f"{measure_of(about).capitalize()} in each tenth of the first order, %:",
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
        few_chunk=CHUNK_OF_FEW,
        verdict=verdict(records),
        table="\n".join(table(records)),
        gamma_rows=bandwidth.ROWS,
        searched=SEARCHED,
        rate=RATE,
        machine=f"{host['processor']}; {versions_in(host)}",
    )
    sections = [drift_page.section(records), *(_section(k, records) for k in there)]
    return said + "\n".join(text for lines in sections for text in lines)


def compact(records: Records) -> str:
    """All records but their curves, a line each."""
    short = {
        name: {k: rounded(v, PRECISION) for k, v in record.items() if k not in CURVES}
        for name, record in records.items()
    }
    return a_line_each(short) + "\n"


def save(records: Records, folder: Path) -> list[Path]:
    """Write the page, its numbers and its pictures; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"streaming.{suffix}" for suffix in ("md", "json", "png")]
    paths[0].write_text(page(records))
    paths[1].write_text(compact(records))
    picture(records).savefig(paths[2], dpi=110)
    return [*paths, *drift_page.save_picture(records, folder)]

"""Streams in the order of the file: KernelClassifier beside all systems of the library.

    python -m studies.streaming --streams elec2
    python -m studies.streaming --systems KernelClassifier --again
    python -m studies.streaming --page

Rows come in chunks; `onkel.progressive` scores each before it is learnt.
KernelClassifier gets them as they are and is told nothing but its budget. The others
get what nobody has who reads a stream: features standardised with mean and deviation
of the whole stream, and the best of three runs: with parameters searched for on the
first rows, with those of the race, and with their defaults.

Every run is a process of its own, as memory can be measured in no other way, and is put
into a ledger when it is done; what is there is not run again. `--page` writes
docs/streaming.md, with its numbers and its picture, from the ledger.
"""

import argparse
import fcntl
import inspect
import itertools
import json
import pickle
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import onkel
from onkel.data.catalogue import load
from onkel.race import bandwidth
from onkel.race.contestants import WARM_UP_BUDGET, Problem, System, library
from onkel.race.pictures import COLOURS, FAINT, INK
from onkel.race.race import machine
from onkel.race.tables import markdown
from onkel.reproduce import store
from onkel.reproduce.choosing import Split, choose, constant_error, pass_of
from onkel.reproduce.online_data import OnlineData
from onkel.tune import grids

# The file of cod-rna is sorted by label but for five places, and whoever repeats the
# last label is right: so its rows are run in a random order, too.
SHUFFLED = "-shuffled"
STREAMS = ("elec2", "ijcnn1", "cod-rna", "cod-rna" + SHUFFLED)
BUDGET, CHUNK, SEED = 500, 500, 0
SEARCHED = 10_000  # first rows, on which parameters are chosen
TENTHS = 10
WARM_UP_CHUNKS = 4
NEW = "KernelClassifier"
SHOWN = 5  # others in the picture, and by tenths
RARE = 0.001  # share of rows with another label than the last: sorted, if it is less
SKIPPED = 1  # chunks at the start, whose errors would set the scale of the picture
# Parameters of the classes themselves, those of the race, and those searched for.
DEFAULTS, RACE, CHOSEN = "defaults", "race", "chosen"
# What the race sets so that all cost the same, or that makes a variant.
SIZES = ("budget", "max_core", "n_components", "merge_size", "maintenance_rate")
VARIANTS = ("sampling", "variant", "aggressive")

Record = dict[str, Any]
Records = dict[str, Record]


class Stream(NamedTuple):
    """A stream: rows as they are, and as the rivals see them."""

    raw: OnlineData
    scaled: OnlineData

    @property
    def problem(self) -> Problem:
        """What is learnt, as the race describes it."""
        rows, features = self.raw.X.shape
        return Problem(rows, features, classes=2)


def stream(name: str) -> Stream:
    """Load a stream in the order of its file, or shuffled; labels become 0 and 1."""
    X, y = load(name.removesuffix(SHUFFLED))
    X = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
    _, codes = np.unique(y, return_inverse=True)
    if name.endswith(SHUFFLED):
        order = np.random.default_rng(SEED).permutation(len(codes))
        X, codes = X[order], codes[order]
    raw = OnlineData(name, X, codes, False, len(codes))
    scaled = StandardScaler().fit_transform(X.astype(np.float64)).astype(np.float32)
    return Stream(raw, raw._replace(X=scaled))


# ---- who runs, and with what -----------------------------------------------------


def rivals(problem: Problem) -> list[str]:
    """Names of the race's contestants, with a budget and with partial_fit."""
    entries = library(problem, BUDGET, gamma=1.0).entries
    # The race may know the newcomer, too, under a name of its own.
    return [entry.name for entry in entries if not entry.model.startswith(NEW + "(")]


def raced(system: str, problem: Problem, gamma: float, **own: Any) -> Any:
    """Return a system as the race would enter it with that gamma, unfitted.

    Parameters
    ----------
    system
        Name in the race.
    problem
        What it will learn.
    gamma
        On which the radius of cells depends, too.
    **own
        Parameters that replace the race's.
    """
    for entry in library(problem, BUDGET, gamma).entries:
        if entry.name == system:
            model: Any = entry.make(SEED)
            return model.model.set_params(**own)
    raise ValueError(f"no system {system!r}; there are {', '.join(rivals(problem))}")


def plain(system: str, problem: Problem) -> Any:
    """Return a system with nothing set but its size, unfitted."""
    if system == NEW:
        return getattr(onkel, NEW)(budget=BUDGET, random_state=SEED)
    model = raced(system, problem, gamma=1.0)
    kept = {k: v for k, v in model.get_params().items() if k in SIZES + VARIANTS}
    return type(model)(random_state=SEED, **kept)


def grid_of(system: str, problem: Problem, gamma: float) -> dict[str, list[float]]:
    """Values to try: gamma and the step, whatever the system calls it.

    The race's own values come first, so that they win ties.
    """
    model = raced(system, problem, gamma)
    known = inspect.signature(type(model)).parameters
    values: dict[str, Iterable[float]] = {
        "gamma": (gamma, gamma / bandwidth.STEP, gamma * bandwidth.STEP)
    }
    if "eta0" in known:
        # Two papers, whose values lie between each other's.
        values["eta0"] = (*grids.BOGD_ETAS, *grids.ETAS)
    elif "alpha" in known:
        values["alpha"] = [alpha / problem.rows for alpha in grids.ALPHAS]
    if "C" in known:
        values["C"] = grids.CS
    if "max_coef" in known:
        values["max_coef"] = grids.BOGD_MAX_COEFS
    return {
        name: list(dict.fromkeys([getattr(model, name), *tried]))
        for name, tried in values.items()
    }


def search(data: Stream, system: str, gamma: float) -> Record:
    """Choose parameters by the progressive error on the first rows of the stream."""
    problem, rows = data.problem, np.arange(min(SEARCHED, data.problem.rows))
    grid = grid_of(system, problem, gamma)
    start = time.process_time()
    with threadpool_limits(1):
        best = choose(
            data.scaled,
            lambda **given: raced(system, problem, **given),
            grid,
            lambda *given: pass_of(*given)[0],
            [Split(rows, rows[:0])],
        )
    return {
        "parameters": best.parameters,
        "error": best.error,
        "tried": int(np.prod([len(values) for values in grid.values()])),
        "seconds": time.process_time() - start,
    }


def surroundings(data: Stream) -> Record:
    """The race's gamma, and what it takes no learning to reach."""
    X, y = data.scaled.X[: bandwidth.ROWS], data.scaled.y
    problem = data.problem
    with threadpool_limits(1):
        trials = bandwidth.tried(X, y[: bandwidth.ROWS], problem, BUDGET)
    return {
        "rows": problem.rows,
        "features": problem.features,
        "gamma": bandwidth.best(trials).gamma,
        "majority": constant_error(data.raw),
        # The first row has no row before it: a mistake.
        "last label": float((1 + np.count_nonzero(y[1:] != y[:-1])) / len(y)),
        "machine": machine(),
    }


# ---- one run ---------------------------------------------------------------------


class Scales:
    """Weighs what is pickled into it, without keeping it.

    Examples
    --------
    >>> weigh(b"x" * 1000) > 1000
    True
    """

    def __init__(self) -> None:
        self.bytes = 0

    def write(self, data: Any) -> int:
        """Count some bytes."""
        self.bytes += memoryview(data).nbytes
        return memoryview(data).nbytes


def weigh(model: Any) -> int:
    """Bytes of a pickled model, found without holding them all."""
    scales = Scales()
    pickle.Pickler(scales, pickle.HIGHEST_PROTOCOL).dump(model)
    return scales.bytes


def resident(field: str) -> int | None:
    """Bytes of this process in memory, now (VmRSS) or at most (VmHWM)."""
    try:
        found = re.search(
            rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text()
        )
    except OSError:
        return None  # not Linux
    return None if found is None else 1024 * int(found[1])


def _forget_peak() -> int | None:
    """Begin to look for a new peak; return what is in memory now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None  # not Linux, or not allowed
    return resident("VmRSS")


def _warm_up(model: Any, work: OnlineData) -> None:
    """Load, or compile, what a run needs; a full budget too."""
    given = model.get_params(deep=False)
    small = {
        name: min(given[name], WARM_UP_BUDGET)
        for name in ("budget", "max_core", "merge_size")
        if given.get(name) is not None
    }
    warmed = System(clone(model).set_params(**small), classes=2)
    try:
        # Whoever fits itself anew does so after some chunks only.
        for first in range(0, min(WARM_UP_CHUNKS * CHUNK, len(work.y)), CHUNK):
            part = slice(first, first + CHUNK)
            warmed.predict_then_learn(work.X[part], work.y[part])
    except ValueError:
        pass  # an overflow; the run will tell


def run(model: Any, work: OnlineData) -> Record:
    """Walk through a stream with an unfitted model, and measure everything.

    Parameters
    ----------
    model
        Classifier with partial_fit.
    work
        The stream, with labels 0 and 1.
    """
    rows = len(work.y)
    contestant = System(model, classes=2)
    wrong = np.zeros(rows, dtype=bool)
    seconds: list[float] = []
    pickled: list[int] = []
    before = None
    ends = np.linspace(0, rows, TENTHS + 1).round().astype(int)
    with threadpool_limits(1), np.errstate(all="ignore"):
        _warm_up(model, work)
        for first in range(0, rows, CHUNK):
            part = slice(first, min(first + CHUNK, rows))
            X, y = work.X[part], work.y[part]
            start = time.process_time()
            try:
                said = contestant.predict_then_learn(X, y)
            except ValueError as fault:
                if "overflow" not in str(fault):
                    raise
                return {"model": _text(model), "failed": f"overflow by row {first:,}"}
            seconds.append(time.process_time() - start)
            wrong[part] = said != y
            # A chunk of a short stream may reach the end of several tenths.
            for tenth in range(len(pickled), np.count_nonzero(ends[1:] <= part.stop)):
                pickled.append(weigh(model))
                if tenth == 0:
                    before = _forget_peak()
    after = None if before is None else resident("VmHWM")
    return {
        "model": _text(model),
        "error": float(wrong.mean()),
        "tenths": [float(wrong[a:b].mean()) for a, b in itertools.pairwise(ends)],
        "mistakes": [int(wrong[k : k + CHUNK].sum()) for k in range(0, rows, CHUNK)],
        "seconds_per_row": sum(seconds) / rows,
        "slowest_chunk": max(seconds),
        "slowest_at": CHUNK * int(np.argmax(seconds)),
        "size": _size(model),
        "pickled": pickled,
        "growth": None if after is None or before is None else max(after - before, 0),
    }


def _text(model: Any) -> str:
    return " ".join(repr(model).split())


def _size(model: Any) -> int | None:
    if not hasattr(model, "model_size_"):
        return None
    return int(model.model_size_ + getattr(model, "n_components", 0))


def measure(name: str, system: str, kind: str, gamma: float, own: Record) -> Record:
    """Load a stream and run a system on it."""
    data = stream(name)
    if kind == DEFAULTS:
        work = data.raw if system == NEW else data.scaled
        return run(plain(system, data.problem), work)
    given = {"gamma": gamma} | own
    return run(raced(system, data.problem, **given), data.scaled)


def apart(*given: Any) -> Record:
    """Return `measure` of a fresh process."""
    # A fork would begin with the free memory of this process, and hide growth.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, *given).result()


# ---- all runs --------------------------------------------------------------------


class Ledger:
    """Records in a file, which is written after each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def records(self) -> Records:
        """All that are there now, by name."""
        return dict(store.read(self._path)["cells"])

    def found(
        self, name: str, make: Callable[..., Record], *given: Any, again: bool = False
    ) -> Record:
        """Return a record, made of `given` if it is not there."""
        if name in (known := self.records) and not again:
            return known[name]
        record = make(*given)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Another run may add its own at the same time.
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            store.write(self._path, {"cells": self.records | {name: record}})
        print(line(name, record), flush=True)
        return record


def starters(problem: Problem, systems: Sequence[str] | None) -> list[str]:
    """Names of all, or of those wanted, which must be there."""
    everyone = [*([NEW] if hasattr(onkel, NEW) else []), *rivals(problem)]
    if systems is None:
        return everyone
    if unknown := [name for name in systems if name not in everyone]:
        raise ValueError(
            f"no system is called {', '.join(unknown)}; there are: "
            + ", ".join(everyone)
        )
    return list(systems)


def work_through(
    names: Iterable[str],
    systems: Sequence[str] | None,
    ledger: Ledger,
    again: bool = False,
    measured: Callable[..., Record] = apart,
) -> None:
    """Run what is not in the ledger.

    Parameters
    ----------
    names
        Of streams.
    systems
        Names; None for all.
    ledger
        Of the records.
    again
        Whether to run also what is there; gamma and searches are kept.
    measured
        `measure`, or the same in another process.
    """
    for name in names:
        data = stream(name)
        chosen = starters(data.problem, systems)
        gamma = ledger.found(name, surroundings, data)["gamma"]
        for system in chosen:
            own: dict[str, Record] = {DEFAULTS: {}}
            if system != NEW:
                at = f"{name}/{system}/search"
                best = ledger.found(at, search, data, system, gamma)
                own |= {RACE: {}, CHOSEN: best["parameters"]}
            for kind, given in own.items():
                what = (name, system, kind)
                ledger.found("/".join(what), measured, *what, gamma, given, again=again)


def line(name: str, record: Record) -> str:
    """Tell in one line what came out."""
    if "failed" in record:
        return f"{name}: {record['failed']}"
    if "error" in record:
        return f"{name}: {100 * record['error']:.2f} % {record.get('parameters', '')}"
    return f"{name}: gamma {record['gamma']:.4g}"


# ---- the page --------------------------------------------------------------------


class Result(NamedTuple):
    """What a system did on a stream, by kind of parameters."""

    system: str
    by_kind: dict[str, Record]
    searched: Record  # empty for the newcomer

    @property
    def best(self) -> Record:
        """The run with the smallest error on the whole stream; empty if none is over.

        In hindsight, which is for the others: parameters that suit the first rows may
        be far worse than the defaults later, as on ijcnn1.
        """
        over = [run for run in self.by_kind.values() if "error" in run]
        return min(over, key=lambda run: run["error"], default={})

    @property
    def error(self) -> float:
        """Of the best run; infinite without one."""
        return float(self.best.get("error", np.inf))


def results(records: Records, name: str) -> list[Result]:
    """All systems on a stream, from the smallest error on."""
    by_system: dict[str, dict[str, Record]] = {}
    for place, record in records.items():
        if place.startswith(f"{name}/"):
            _, system, kind = place.split("/")
            by_system.setdefault(system, {})[kind] = record
    found = [
        Result(
            system,
            {k: v for k, v in kinds.items() if k != "search"},
            kinds.get("search", {}),
        )
        for system, kinds in by_system.items()
    ]
    return sorted(found, key=lambda result: result.error)


def _drawn(found: Sequence[Result]) -> list[Result]:
    """The newcomer, and the best of the others."""
    others = [r for r in found if r.system != NEW and np.isfinite(r.error)]
    return [r for r in found if r.system == NEW] + others[:SHOWN]


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


def verdict(found: Sequence[Result]) -> str:
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
    shown = sorted(_drawn(found), key=lambda result: result.error)
    return [
        f"## {name}: {about['rows']:,} rows, {about['features']} features",
        "",
        f"Always the more frequent label: {100 * about['majority']:.2f} % mistakes. "
        f"The label of the row before again: {100 * about['last label']:.2f} %. "
        f"gamma of the race: {about['gamma']:.4g}.",
        "",
        verdict(found),
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


def page(records: Records) -> str:
    """Write the page."""
    there = [name for name in STREAMS if name in records]
    host = records[there[0]]["machine"]
    versions = ", ".join(
        f"{name} {number}" for name, number in host["versions"].items()
    )
    said = INTRODUCTION.format(
        chunk=CHUNK,
        budget=BUDGET,
        seed=SEED,
        new=NEW,
        gamma_rows=bandwidth.ROWS,
        searched=SEARCHED,
        machine=f"{host['processor']}; {versions}",
    )
    return said + "\n".join(text for name in there for text in _section(name, records))


class Look(NamedTuple):
    """How a system is drawn."""

    colour: str
    style: str
    width: float


def _panel(axes: Axes, name: str, records: Records, looks: dict[str, Look]) -> None:
    for result in reversed(_drawn(results(records, name))):
        mistakes = np.cumsum(result.best["mistakes"])
        rows = np.minimum(
            CHUNK * np.arange(1, len(mistakes) + 1), records[name]["rows"]
        )
        look = looks[result.system]
        axes.plot(
            rows[SKIPPED:],
            (100 * mistakes / rows)[SKIPPED:],
            color=look.colour,
            ls=look.style,
            lw=look.width,
            label=f"{result.system}, {100 * result.error:.2f} %",
        )
    axes.set_title(name, loc="left")
    axes.set_xlabel("rows")
    axes.set_xlim(0, records[name]["rows"])
    axes.set_ylim(bottom=0)
    axes.grid(color=FAINT, lw=0.6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k"))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], frameon=False, fontsize=8)


def picture(records: Records) -> Figure:
    """Draw the mistakes so far against the rows, a panel a stream."""
    there = [name for name in STREAMS if name in records]
    columns = min(2, len(there))
    lines = -(-len(there) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.0 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    shown = (r.system for name in there for r in _drawn(results(records, name)))
    names = [system for system in dict.fromkeys(shown) if system != NEW]
    # The same look in all panels; dashed when the colours are used up.
    styles = itertools.product(("-", "--", ":"), COLOURS)
    looks = {NEW: Look(INK, "-", 3.0)}
    looks |= {
        k: Look(colour, style, 1.4)
        for k, (style, colour) in zip(names, styles, strict=False)
    }
    for axes, name in itertools.zip_longest(panels, there):
        if name is None:
            axes.set_visible(False)
        else:
            _panel(axes, name, records, looks)
            axes.set_ylabel("mistakes so far, %")
    return figure


def compact(records: Records) -> str:
    """All records but the curves, a line each."""

    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: rounded(v) for k, v in value.items() if k != "mistakes"}
        if isinstance(value, list):
            return [rounded(item) for item in value]
        return float(f"{value:.5g}") if isinstance(value, float) else value

    lines = (f"{json.dumps(k)}: {json.dumps(rounded(v))}" for k, v in records.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(records: Records, folder: Path) -> list[Path]:
    """Write the page, its numbers and its picture; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"streaming.{suffix}" for suffix in ("md", "json", "png")]
    paths[0].write_text(page(records))
    paths[1].write_text(compact(records))
    picture(records).savefig(paths[2], dpi=110)
    return paths


def main(argv: Sequence[str] | None = None) -> None:
    """Run streams from the command line.

    Parameters
    ----------
    argv
        Arguments; None for those of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m studies.streaming")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--systems", nargs="+", help="names; all without it")
    parser.add_argument("--ledger", type=Path, default=Path("results/streaming.json"))
    parser.add_argument("--again", action="store_true", help="also what is there")
    parser.add_argument("--page", action="store_true", help="write the page and stop")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="of the page")
    given = parser.parse_args(argv)
    ledger = Ledger(given.ledger)
    if given.page:
        for path in save(ledger.records, given.docs):
            print(f"Wrote {path}")
        return
    work_through(given.streams, given.systems, ledger, given.again)


if __name__ == "__main__":
    main()

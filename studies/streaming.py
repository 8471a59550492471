"""Streams: KernelClassifier and KernelRegressor beside all systems of the library.

    python -m studies.streaming --streams elec2
    python -m studies.streaming --systems KernelClassifier KernelRegressor --again
    python -m studies.streaming --page

Rows come in chunks; `onkel.progressive` scores each before it is learnt.
KernelClassifier gets them as they are and is told nothing but its budget. The others
get what nobody has who reads a stream: features standardised with mean and deviation
of the whole stream, and the best of three runs: with parameters searched for on the
first rows, with those of the race, and with their defaults. In the second order and
those after it only the best of the three runs again. River's models are references.

Every run is a process of its own, as memory can be measured in no other way, and is put
into a ledger when it is done; what is there is not run again. `--page` writes
docs/streaming.md, with its numbers and its pictures, from one ledger or several, those
of `studies.drift` among them.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onkel.measuring.records import Record, RecordFile, Records
from studies.fresh_process import in_fresh_process
from studies.streaming_page import save
from studies.streaming_references import REFERENCES
from studies.streaming_results import best_kind
from studies.streaming_run import Run, measure
from studies.streaming_setup import Setup
from studies.streaming_streams import STREAMS, Stream, stream
from studies.streaming_systems import (
    CHOSEN,
    DEFAULTS,
    NEWCOMERS,
    RACE,
    search,
    starters,
    surroundings,
)

LEDGER = Path("results/streaming.json")


def found(
    ledger: RecordFile,
    name: str,
    make: Callable[..., Record],
    *given: Any,
    again: bool = False,
) -> Record:
    """Return a record, made of `given` if it is not there."""
    if name in (known := ledger.records) and not again:
        return known[name]
    record = make(*given)
    ledger.add(name, record)
    print(line(name, record), flush=True)
    return record


def apart(*given: Any) -> Record:
    """Return `measure` of a fresh process."""
    return dict(in_fresh_process(measure, *given))


def kinds_of(
    ledger: RecordFile, data: Stream, system: str, setup: Setup
) -> dict[str, Record]:
    """Parameters that a system runs with, by kind."""
    if system in NEWCOMERS or system in REFERENCES:
        return {DEFAULTS: {}}
    at = f"{data.raw.name}/{system}/search"
    best = found(ledger, at, search, data, system, setup)
    return {CHOSEN: best["parameters"], RACE: {}, DEFAULTS: {}}


def work_through(
    names: Iterable[str],
    systems: Sequence[str] | None,
    ledger: RecordFile,
    orders: Sequence[int] | None = None,
    again: bool = False,
    measured: Callable[..., Record] = apart,
) -> None:
    """Run systems on streams in orders, None for all; what is there only if `again`.

    gamma and searches are kept. `measured` is `measure`, or the same elsewhere.
    """
    for name in names:
        data, source = stream(name), STREAMS[name]
        gamma = found(ledger, name, surroundings, data, source.budget)["gamma"]
        setup = Setup(data.problem, source.budget, gamma)
        for system in starters(setup, systems):
            kinds = kinds_of(ledger, data, system, setup)
            # River's models take too long for more than one.
            for order in range(1 if system in REFERENCES else source.orders):
                if orders is not None and order not in orders:
                    continue
                for kind in kinds if order == 0 else _best(ledger, name, system, kinds):
                    what = Run(name, system, kind, order)
                    given = (what, gamma, kinds[kind])
                    found(ledger, what.name, measured, *given, again=again)


def _best(
    ledger: RecordFile, name: str, system: str, kinds: Mapping[str, Any]
) -> list[str]:
    """Return the kind that was best in the first order, if one was."""
    records = ledger.records
    first = {kind: records.get(Run(name, system, kind, 0).name, {}) for kind in kinds}
    return [best] if (best := best_kind(first)) else []


def line(name: str, record: Record) -> str:
    """Tell in one line what came out."""
    if "failed" in record:
        return f"{name}: {record['failed']}"
    if "error" in record:
        return f"{name}: {100 * record['error']:.2f} % {record.get('parameters', '')}"
    return f"{name}: gamma {record['gamma']:.4g}"


def joined(ledgers: Iterable[Path]) -> Records:
    """All records of several files; of the same name, the last."""
    return {k: v for path in ledgers for k, v in RecordFile(path).records.items()}


def main(argv: Sequence[str] | None = None) -> None:
    """Run streams from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.streaming")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--systems", nargs="+", help="names; all without it")
    parser.add_argument("--orders", nargs="+", type=int, help="numbers; all without it")
    parser.add_argument(
        "--ledger",
        nargs="+",
        type=Path,
        default=[LEDGER],
        help="several of them for a page",
    )
    parser.add_argument("--again", action="store_true", help="also what is there")
    parser.add_argument("--page", action="store_true", help="write the page and stop")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="of the page")
    given = parser.parse_args(argv)
    if given.page:
        for path in save(joined(given.ledger), given.docs):
            print(f"Wrote {path}")
        return
    if len(given.ledger) > 1:
        parser.error("runs go into one ledger")
    ledger = RecordFile(given.ledger[0])
    work_through(given.streams, given.systems, ledger, given.orders, given.again)


if __name__ == "__main__":
    main()

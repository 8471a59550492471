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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from onkel.measuring.records import Record, RecordFile
from studies.fresh_process import in_fresh_process
from studies.streaming_page import save
from studies.streaming_run import CHOSEN, DEFAULTS, RACE, measure
from studies.streaming_systems import (
    NEW,
    STREAMS,
    search,
    starters,
    stream,
    surroundings,
)


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


def work_through(
    names: Iterable[str],
    systems: Sequence[str] | None,
    ledger: RecordFile,
    again: bool = False,
    measured: Callable[..., Record] = apart,
) -> None:
    """Run systems, None for all, on streams: what is not in the ledger, or all again.

    gamma and searches are kept. `measured` is `measure`, or the same elsewhere.
    """
    for name in names:
        data = stream(name)
        chosen = starters(data.problem, systems)
        gamma = found(ledger, name, surroundings, data)["gamma"]
        for system in chosen:
            own: dict[str, Record] = {DEFAULTS: {}}
            if system != NEW:
                at = f"{name}/{system}/search"
                best = found(ledger, at, search, data, system, gamma)
                own |= {RACE: {}, CHOSEN: best["parameters"]}
            for kind, given in own.items():
                what = (name, system, kind)
                at = "/".join(what)
                found(ledger, at, measured, *what, gamma, given, again=again)


def line(name: str, record: Record) -> str:
    """Tell in one line what came out."""
    if "failed" in record:
        return f"{name}: {record['failed']}"
    if "error" in record:
        return f"{name}: {100 * record['error']:.2f} % {record.get('parameters', '')}"
    return f"{name}: gamma {record['gamma']:.4g}"


def main(argv: Sequence[str] | None = None) -> None:
    """Run streams from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.streaming")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--systems", nargs="+", help="names; all without it")
    parser.add_argument("--ledger", type=Path, default=Path("results/streaming.json"))
    parser.add_argument("--again", action="store_true", help="also what is there")
    parser.add_argument("--page", action="store_true", help="write the page and stop")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="of the page")
    given = parser.parse_args(argv)
    ledger = RecordFile(given.ledger)
    if given.page:
        for path in save(ledger.records, given.docs):
            print(f"Wrote {path}")
        return
    work_through(given.streams, given.systems, ledger, given.again)


if __name__ == "__main__":
    main()

"""Ledgers of the comparison: as they are measured, and as docs/ has them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from onkel.measuring.records import Record, RecordFile, Records, a_line_each, rounded
from studies.comparison_methods import METHODS

DIGITS = 6  # of a number in docs/ that count


def stored(path: Path) -> Records:
    """Return the records of either form, each with its machine."""
    content = RecordFile(path).read()

    def whole(record: Record) -> Record:
        at = record.get("machine")
        return (
            record | {"machine": content["machines"][at]} if type(at) is int else record
        )

    return {key: whole(record) for key, record in content["cells"].items()}


def gathered(ledgers: Iterable[Path], known: Path) -> Records:
    """Put ledgers together, the later over the earlier.

    Rivals that are in none of them are those known. What ours does, and what is tuned
    for as long as ours takes, is of another version there.
    """
    found = {
        key: record
        for key, record in stored(known).items()
        if METHODS[record["method"]].family not in ("onkel", "lightgbm-tuned")
    }
    for path in ledgers:
        found |= stored(path)
    return found


def compact(records: Mapping[str, Record]) -> str:
    """Write the records, a line each; each machine once.

    Examples
    --------
    >>> print(compact({"dna/svc/0": {"error": 1 / 3, "machine": {"cores": 2}}}))
    {
    "machines": [{"cores": 2}],
    "cells": {
    "dna/svc/0": {"error": 0.333333, "machine": 0}
    }}
    <BLANKLINE>
    """
    machines: list[str] = []
    short = {}
    for key, record in records.items():
        short[key] = rounded(record, DIGITS)
        if "machine" in record:
            machine = json.dumps(record["machine"])
            if machine not in machines:
                machines.append(machine)
            short[key]["machine"] = machines.index(machine)
    head = f'"machines": [{", ".join(machines)}],\n'
    return "{\n" + head + f'"cells": {a_line_each(short)}}}\n'

"""onkel data: which data sets there are, what is known of them, and how to get them."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from onkel.cli import options
from onkel.cli.screen import as_json, bar, note, show, show_json
from onkel.data import DataNotFoundError
from onkel.data.catalogue import CatalogueEntry, entries, entry, find
from onkel.data.fetch import fetch


@click.group()
def data() -> None:
    """List, describe and fetch the data sets of the papers."""


def _place(name: str, part: str, folder: Path | None) -> str | None:
    """Path of a part, if it is at hand."""
    try:
        return str(find(name, part, folder)[0])
    except DataNotFoundError:
        return None


def _state(known: CatalogueEntry, folder: Path | None) -> str:
    parts = [_place(known.name, part, folder) is not None for part in known.parts]
    if all(parts):
        return "here"
    if any(parts):
        return "in part"
    return "to fetch" if known.is_fetchable else "not published"


@data.command("list")
@options.mirror
@as_json
def list_all(mirror: Path | None, as_json: bool) -> None:
    """List the data sets."""
    found: list[dict[str, Any]] = [
        {
            "name": known.name,
            "task": known.task,
            "rows": sum(part.rows for part in known.parts.values()),
            "features": known.features,
            "papers": list(known.papers),
            "state": _state(known, mirror),
        }
        for known in entries(mirror).values()
    ]
    if as_json:
        show_json(found)
        return
    table = Table(box=SIMPLE_HEAD)
    for heading in ("name", "task", "rows", "features", "papers", "state"):
        is_number = heading in ("rows", "features")
        side: Literal["left", "right"] = "right" if is_number else "left"
        table.add_column(heading, justify=side, no_wrap=heading != "papers")
    for row in found:
        table.add_row(
            *(row["name"], row["task"], f"{row['rows']:,}", f"{row['features']:,}"),
            *(", ".join(row["papers"]), row["state"]),
            style="" if row["state"] == "here" else "dim",
        )
    Console().print(table)


@data.command()
@click.argument("name")
@options.mirror
@as_json
def info(name: str, mirror: Path | None, as_json: bool) -> None:
    """Say what is known of the data set NAME."""
    known = entry(name, mirror)
    described: dict[str, Any] = dataclasses.asdict(known)
    for part, said in described["parts"].items():
        said["path"] = _place(name, part, mirror)
    if as_json:
        show_json(described)
        return
    parts = described.pop("parts")
    for part, said in parts.items():
        file = said["published"] or said["mirrored"] or {}
        described |= {
            f"{part}: rows": said["rows"],
            f"{part}: labels": file.get("counts"),
            f"{part}: file": said["path"] or "not at hand",
            f"{part}: address": file.get("address") or "not published in this form",
            f"{part}: sha256": file.get("sha256"),
        }
    show(described, name)


@data.command("fetch")
@click.argument("names", nargs=-1, required=True)
def fetch_all(names: tuple[str, ...]) -> None:
    """Download data sets into the cache, and check them.

    A download that broke off goes on where it was.
    """
    for name in names:
        for part in entry(name).parts:
            with bar(f"Fetching {name}, {part}") as advance:
                path = fetch(name, part, announce=lambda done, total: advance(done))
            note(f"{name}, {part}: {path}")

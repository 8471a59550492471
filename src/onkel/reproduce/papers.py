"""Papers: the page that a researcher reads first, from papers.toml and the outcomes."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from onkel.measuring.markdown import markdown
from onkel.reproduce import claims, store
from onkel.reproduce.comparators import CONTRADICTED, MIXED, SUPPORTED, Finding
from onkel.reproduce.evidence import Evidence
from onkel.reproduce.page import counts
from onkel.reproduce.protocol import Figure, Table

HEADING = """\
# The papers

What each paper is about, which of our classes are its systems, what of it was run
again, and what holds. Every number is on the pages of [claims](claims.md) and
[reproductions](reproduce); how a system deviates is said at the top of its file in
`src/onkel/estimators`. Written by

    onkel reproduce papers --output {folder}
"""


@cache
def _papers() -> dict[str, Any]:
    source = files("onkel.reproduce").joinpath("papers.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def status(table: Table, folder: Path) -> str:
    """Say how much of a table or figure was run, and what came of it."""
    content = store.file_of(table.target, folder).read()
    is_figure = isinstance(table, Figure)
    wanted = [cell for cell in table.cells() if is_figure or not table.is_extra(cell)]
    run = [cell for cell in wanted if "values" in content["cells"].get(cell.key, {})]
    if not run:
        return "not run"
    word = "reproduced" if len(run) == len(wanted) else "partly"
    if is_figure:
        return f"{word}, {len(run)} of {len(wanted)} parts, on data of ours"
    return f"{word}, {len(run)} of {len(wanted)} numbers: {counts(table, content)}"


def _of(verdict: str, found: Mapping[str, Finding], letter: str) -> list[str]:
    """Return the claims of a paper with a verdict, as a list."""
    return [
        f"- {claim.name}: {claim.says}"
        for claim in claims.claims()
        if claim.name.startswith(letter) and found[claim.name].verdict == verdict
    ]


def write(tables: Mapping[str, Table], folder: Path) -> Path:
    """Write papers.md into the folder above that of the outcomes."""
    found = claims.verdicts(Evidence(folder))
    letters = {paper: letter for letter, paper in claims.papers().items()}
    lines = [HEADING.format(folder=folder)]
    for paper, told in _papers().items():
        exhibits = []
        for one in told["exhibits"]:
            table = tables.get(one.get("target", ""))
            state = (
                one.get("why", "not run") if table is None else status(table, folder)
            )
            command = "" if table is None else f"`onkel reproduce {table.target}`"
            exhibits.append([one["name"], one["shows"], state, command])
        lines += [
            f"## {told['name']}",
            "",
            f"{told['title']}.",
            "",
            told["problem"],
            "",
        ]
        lines += markdown(("in the paper", "here"), told["systems"])
        lines += markdown(("", "shows", "what was run", "command"), exhibits)
        for head, verdict in (
            ("Holds here", SUPPORTED),
            ("Holds in part", MIXED),
            ("Does not hold here", CONTRADICTED),
        ):
            listed = _of(verdict, found, letters[told["name"]])
            lines += [f"{head}:", "", *listed, ""] if listed else []
        lines += ["Misprints, and how we read them:", ""]
        lines += [f"- {text}" for text in told["misprints"]]
        lines += ["", f"All of it: [{told['name']}](reproduce/{paper}.md).", ""]
    path = folder.parent / "papers.md"
    path.write_text("\n".join(lines))
    return path

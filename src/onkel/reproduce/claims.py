"""The papers' claims, one by one, with what our runs say.

The claims are rows of claims.toml. They are judged from the outcomes whenever the page
is written, none by hand; those that nobody has tested say why.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from onkel.measuring.markdown import markdown
from onkel.reproduce import avm_judges, bsca_judges, own_judges, theory_judges
from onkel.reproduce.comparators import (
    NO_DATA,
    NOT_TESTED,
    VERDICTS,
    Finding,
    alike,
    better,
    faster,
    joined,
)
from onkel.reproduce.evidence import Evidence, Question

Judge = Callable[[Question, Evidence], Finding]


class Claim(NamedTuple):
    """What a paper says, in our words, and what is asked of the outcomes."""

    name: str  # of the list in the papers' set-ups
    says: str
    command: str  # "-" where nothing was run
    parts: tuple[Question, ...]

    def judged(self, evidence: Evidence) -> Finding:
        """Return what the outcomes say."""
        return joined([JUDGES[asked.by](asked, evidence) for asked in self.parts])


def _is_better(
    asked: Question, evidence: Evidence, larger: bool = False, or_equal: bool = False
) -> Finding:
    pairs, words = asked.pairs(evidence), (asked.digits, asked.title)
    return better(pairs, larger, *words, or_equal, asked.mostly)


def _is_faster(asked: Question, evidence: Evidence, or_equal: bool = False) -> Finding:
    of = "seconds" if asked.of == "values" else asked.of
    pairs = replace(asked, of=of).pairs(evidence)
    return faster(pairs, asked.digits, asked.title, or_equal, asked.mostly)


def _is_within(asked: Question, evidence: Evidence) -> Finding:
    words = (asked.digits, asked.title, asked.mostly)
    return alike(asked.pairs(evidence), asked.room, *words)


def _is_untested(asked: Question, evidence: Evidence) -> Finding:
    return Finding(NOT_TESTED, asked.shown)


def _has_no_data(asked: Question, evidence: Evidence) -> Finding:
    return Finding(NO_DATA, asked.shown)


JUDGES: dict[str, Judge] = {
    "lower": _is_better,
    "higher": partial(_is_better, larger=True),
    "faster": _is_faster,
    "within": _is_within,
    "no higher": partial(_is_better, or_equal=True),
    "no lower": partial(_is_better, larger=True, or_equal=True),
    "no slower": partial(_is_faster, or_equal=True),
    "untested": _is_untested,
    "no data": _has_no_data,
    "smaller and worse by beta": own_judges.by_beta,
    "dual monotone, primal not": own_judges.monotone_dual,
    "poor when stopped": own_judges.poor_when_stopped,
    "dual negative on two": own_judges.negative_dual,
    "objectives rise late": own_judges.late_rise,
    "time of a row by budget": own_judges.cost_of_a_row,
    "sizes over the orders": own_judges.sizes_of_cover,
    "as near to the best as published": own_judges.as_near_as_published,
    "larger gains": own_judges.larger_gains,
    "gap grows with the features": own_judges.gap_by_features,
    **avm_judges.JUDGES,
    **bsca_judges.JUDGES,
    **theory_judges.JUDGES,
}


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(
        files("onkel.reproduce").joinpath("claims.toml").read_text(encoding="utf-8")
    )


def claims() -> list[Claim]:
    """Return all claims.

    Examples
    --------
    >>> from onkel.reproduce.claims import claims
    >>> claims()[1].says
    'larger beta: smaller model, lower accuracy'
    """
    return [_claim(name, **row) for name, row in _table()["claims"].items()]


def _claim(
    name: str,
    says: str,
    command: str = "",
    untested: str = "",
    no_data: str = "",
    parts: tuple[dict[str, Any], ...] = ({},),
    **common: Any,
) -> Claim:
    """Make a claim of its row; what is common holds for all parts."""
    if untested or no_data:
        by = "untested" if untested else "no data"
        common, parts = {"by": by, "shown": untested or no_data}, ({},)
    if not command:
        target = common.get("target")
        command = f"onkel reproduce {target}" if target else "-"
    asked = tuple(_question({**common, **part}) for part in parts)
    return Claim(name, says, command, asked)


def _question(row: dict[str, Any]) -> Question:
    """Make a question of its keys, with the members of groups for their names."""
    groups = _table()["groups"]
    for key in ("data", "first", "second"):
        if isinstance(row.get(key), list):
            members = (groups.get(name, [name]) for name in row[key])
            row[key] = [member for group in members for member in group]
    return Question(**row)


HEADING = """\
# Claims of the papers

Numbered as in our notes on the papers, in our words. *supported*, *contradicted*,
*mixed*: by our runs on the data at hand, with parameters chosen by the papers'
protocols, and by a rule, never by hand. *not tested* says why not; *no data*: nobody
here has them. Where cells are compared, "<" and ">" are differences by a t-test at 1 %,
"≈" is none that the test shows, "?" what cannot be told: of single runs, and of times
below 0.05 s. A claim that something is better is supported if it is so in more than
half of the cells and the contrary in none, contradicted the other way round, and else
mixed, also where no difference shows at all. Times are of one thread on a busy machine:
"≈" if they differ by less than half.
Tables and pictures: [NBSGD](reproduce/nbsgd.md), [BOGD](reproduce/bogd.md),
[BSCA](reproduce/bsca.md), [AVM](reproduce/avm.md), [DualSVRG](reproduce/dualsvrg.md).
Written from their outcomes by

    onkel reproduce claims --output {folder}
"""
EARLIER = "verdicts.json"  # of the page at an earlier commit, in the folder of outcomes


def papers() -> dict[str, str]:
    """Return the papers by the letters that their claims begin with."""
    return dict(_table()["papers"])


def verdicts(evidence: Evidence) -> dict[str, Finding]:
    """Return what is found of every claim, by its name."""
    return {claim.name: claim.judged(evidence) for claim in claims()}


def write(folder: Path) -> Path:
    """Judge all claims by the outcomes in a folder, and write a page beside it.

    Parameters
    ----------
    folder
        Where `reproduce` keeps outcomes.

    Returns
    -------
    page
        claims.md in the folder above.
    """
    found = verdicts(Evidence(folder))
    lines = [HEADING.format(folder=folder), *_counts(found, folder / EARLIER)]
    heads = ("", "claim", "verdict", "what shows it", "command")
    for letter, paper in _table()["papers"].items():
        rows = (
            [claim.name, claim.says, *found[claim.name], f"`{claim.command}`"]
            for claim in claims()
            if claim.name.startswith(letter)
        )
        lines += [f"## {paper}", "", *markdown(heads, rows)]
    path = folder.parent / "claims.md"
    path.write_text("\n".join(lines).replace("`-`", "-"))
    return path


def _counts(found: dict[str, Finding], earlier: Path) -> list[str]:
    """Count verdicts by paper, with those of an earlier page where they are kept."""
    now = {name: finding.verdict for name, finding in found.items()}
    before: dict[str, str] = {}
    lines: list[str] = []
    if earlier.exists():
        kept = json.loads(earlier.read_text())
        before = kept["verdicts"]
        lines = [f"Verdicts, those of commit {kept['commit']} in brackets:", ""]
    names = [*VERDICTS, *sorted(set(before.values()) - set(VERDICTS))]
    letters = {paper: letter for letter, paper in _table()["papers"].items()}
    rows = []
    for paper in [*letters, "all"]:
        letter = letters.get(paper, "")
        own, old = (
            Counter(v for name, v in said.items() if name.startswith(letter))
            for said in (now, before)
        )
        shown = (f"{own[v]} ({old[v]})" if before else f"{own[v]}" for v in names)
        rows.append([paper, *shown])
    return [*lines, *markdown(("", *names), rows)]

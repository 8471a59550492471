"""The papers' claims, one by one, with what our runs say.

The claims are rows of claims.toml. One that compares cells is judged from the outcomes,
whenever the page is written; one that other measurements answer says which; the others
say why they are not tested.
"""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from onkel.measuring.markdown import markdown
from onkel.reproduce import own_judges, theory_judges
from onkel.reproduce.comparators import (
    UNTESTABLE,
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


def _is_better(asked: Question, evidence: Evidence, larger: bool = False) -> Finding:
    return better(asked.pairs(evidence), larger, asked.digits, asked.title)


def _is_faster(asked: Question, evidence: Evidence) -> Finding:
    pairs = replace(asked, of="seconds").pairs(evidence)
    return faster(pairs, asked.digits, asked.title)


def _is_within(asked: Question, evidence: Evidence) -> Finding:
    return alike(asked.pairs(evidence), asked.room, asked.digits, asked.title)


def _is_measured_apart(asked: Question, evidence: Evidence) -> Finding:
    return Finding(asked.verdict, f"measured apart: {asked.shown}")


def _is_untested(asked: Question, evidence: Evidence) -> Finding:
    return Finding(UNTESTABLE, asked.shown)


JUDGES: dict[str, Judge] = {
    "lower": _is_better,
    "higher": partial(_is_better, larger=True),
    "faster": _is_faster,
    "within": _is_within,
    "measured apart": _is_measured_apart,
    "untested": _is_untested,
    "smaller and worse by beta": own_judges.by_beta,
    "dual monotone, primal not": own_judges.monotone_dual,
    "poor when stopped": own_judges.poor_when_stopped,
    "dual negative on two": own_judges.negative_dual,
    "primal rises late": own_judges.late_rise,
    "time of a row by budget": own_judges.cost_of_a_row,
    "wins only on a9a": own_judges.wins_on_a9a,
    "sizes over the orders": own_judges.sizes_of_cover,
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
    parts: tuple[dict[str, Any], ...] = ({},),
    **common: Any,
) -> Claim:
    """Make a claim of its row; what is common holds for all parts."""
    if untested:
        common = {"by": "untested", "shown": untested}
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
protocols; *untestable here* says why. Where cells are compared, "<" and ">" are
differences by a t-test at 1 %, "≈" is none; a claim that holds in some cells only is
mixed. "≈" is also said of single runs, and of times that differ by less than half:
they are of one thread on a busy machine. Tables and pictures:
[NBSGD](reproduce/nbsgd.md), [BOGD](reproduce/bogd.md), [BSCA](reproduce/bsca.md),
[AVM](reproduce/avm.md), [DualSVRG](reproduce/dualsvrg.md). Written from their
outcomes by

    onkel reproduce claims --output {folder}
"""


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
    evidence = Evidence(folder)
    lines = [HEADING.format(folder=folder)]
    heads = ("", "claim", "verdict", "what shows it", "command")
    for letter, paper in _table()["papers"].items():
        rows = (
            [claim.name, claim.says, *claim.judged(evidence), f"`{claim.command}`"]
            for claim in claims()
            if claim.name.startswith(letter)
        )
        lines += [f"## {paper}", "", *markdown(heads, rows)]
    path = folder.parent / "claims.md"
    path.write_text("\n".join(lines).replace("`-`", "-"))
    return path

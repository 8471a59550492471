"""Streams that change, and how fast systems recover."""

from pathlib import Path

import numpy as np
import pytest

from onkel.measuring.records import RecordFile
from studies import drift
from studies.drift_page import save_picture, section
from studies.drift_results import STEP, Course, courses
from studies.drift_streams import CHANGE, DRIFTS, FLIPPED, ROWS, TURNING, drifting


def course(*levels: tuple[int, float]) -> Course:
    """Errors from given rows on."""
    errors = np.zeros(ROWS // STEP)
    for first, error in levels:
        errors[first // STEP :] = error
    return Course("RBP", errors)


def test_labels_change_when_they_should() -> None:
    rotation, swap, noise = (drifting(name, 1) for name in DRIFTS)
    same = [(one.X[:, 0] * one.X[:, 1] > 0) == one.truth for one in (rotation, swap)]
    for right in same:
        assert right[:CHANGE].all()
        assert not right[CHANGE + TURNING :].any()
    assert not same[1][CHANGE:].any()
    halfway = same[0][CHANGE : CHANGE + TURNING].mean()
    assert 0.4 < halfway < 0.6
    for one in (rotation, swap):
        assert (one.y != one.truth).mean() == pytest.approx(FLIPPED, abs=0.005)
    assert (noise.y == noise.truth)[:CHANGE].all()


def test_recovery_is_counted_past_the_peak() -> None:
    # The window of 500 rows is clean when its error is within two points.
    hit = course((0, 0.1), (CHANGE, 0.6), (CHANGE + 1000, 0.1))
    assert (hit.before, hit.after, hit.end) == pytest.approx((0.1, 0.6, 0.1))
    assert hit.recovery == 1500
    assert not hit.relapsed
    again = course((0, 0.1), (CHANGE, 0.6), (CHANGE + 1000, 0.1), (ROWS - 2000, 0.2))
    assert (again.recovery, again.relapsed) == (1500, True)
    slow = course((0, 0.1), (CHANGE + 1000, 0.6), (CHANGE + 2000, 0.11))
    assert slow.recovery == 2500
    assert course((0, 0.1), (CHANGE, 0.115)).recovery == 0
    assert course((0, 0.1), (CHANGE, 0.2)).recovery == np.inf


def test_systems_run_and_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "SEEDS", 2)
    ledger = RecordFile(tmp_path / "drift.json")
    drift.work_through(["RBP", "BPA-S"], ledger)
    found = courses(ledger.records, "drift-swap")
    assert {one.system for one in found} == {"RBP", "BPA-S"}
    assert found[0].error <= found[1].error < found[1].after
    page = "\n".join(section(ledger.records))
    assert "### drift-noise" in page and "| BPA-S |" in page
    assert [path.name for path in save_picture(ledger.records, tmp_path)] == [
        "drift.png"
    ]
    assert section({}) == [] == save_picture({}, tmp_path)

"""The comparison with SVC: what it writes of what it measures."""

from pathlib import Path

import numpy as np

from onkel.experiments import lemma, svm


def outcome(seeds: int = 3, epochs: int = 12) -> dict:
    rng = np.random.default_rng(0)
    errors = {
        system: (0.02 + 0.01 * rng.random((seeds, epochs))).tolist()
        for system in svm.SYSTEMS
    }
    return {"errors": errors, "svc": (0.013, 12.0, 3000)}


def test_the_table_has_a_row_for_each_problem() -> None:
    lines = svm.table({"a": outcome(), "b": {**outcome(), "svc": None}}, 12).split("\n")
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert lines[2].startswith("| a | 1.30 |")
    assert lines[3].startswith("| b | - |")


def test_unrest_is_the_spread_over_late_epochs() -> None:
    errors = np.zeros((2, 14))
    errors[:, :4] = 1.0
    assert svm.unrest(errors) == 0.0


def test_numbers_table_and_picture_are_written(tmp_path: Path) -> None:
    svm.save({"a": outcome()}, tmp_path, budget=500, epochs=12)
    assert {p.name for p in tmp_path.iterdir()} == {"svm.json", "svm.md", "svm.png"}


def test_the_lemma_is_drawn() -> None:
    shares = {str(budget): [0.5, 0.3, 0.2] for budget in lemma.BUDGETS}
    measured = {"limits": {"dual": 0.1, "gradient": 0.2, "gap": 0.0}}
    figure = lemma.picture(
        {"a": {**measured, "shares": {"dual": shares, "gradient": shares}}}
    )
    assert len(figure.axes) == 2

"""The trade-off of AVM and its differences from the paper, on data made here."""

import json
from pathlib import Path

import numpy as np
import pytest

from onkel.reproduce import avm, choosing
from onkel.reproduce.online_data import OnlineData
from studies import avm_differences, tradeoff


def small_task() -> OnlineData:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    return OnlineData("cod-rna", X, X[:, 0] * X[:, 1] > 0, False, 300)


def test_a_pass_and_the_trade_off(tmp_path: Path) -> None:
    task = small_task()
    chosen = {"gamma": 1.0, "alpha": 1.0}
    coarse = tradeoff.in_orders(task, 2, coverage_radius=1.0, **chosen)
    fine = tradeoff.in_orders(task, 2, coverage_radius=0.1, **chosen)
    assert np.mean(coarse[1]) < np.mean(fine[1])
    surface = [[coarse for _ in tradeoff.RHOS] for _ in tradeoff.BETAS]
    measured = {
        "parameters": chosen,
        "diameters": [0.2, 2.0],
        "by_diameter": [fine, coarse],
        "surface": surface,
    }
    tradeoff.save({"cod-rna": measured}, tmp_path)
    assert (tmp_path / "tradeoff.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "tradeoff.json").read_text())["cod-rna"]


def test_mistakes_by_fifths_are_those_of_the_pass() -> None:
    task = small_task()
    given = {"coverage_radius": 0.5, "gamma": 1.0, "alpha": 1.0}
    order = avm_differences.shuffled(task)
    fifths = avm_differences.by_fifths(
        task, avm.estimator_for(task, "hinge", **given), order
    )
    error, _ = choosing.pass_of(task, avm.estimator_for(task, "hinge", **given), order)
    assert len(fifths) == 5
    assert np.mean(fifths) == pytest.approx(100 * error)

"""Streams that change: KernelClassifier beside all systems, on rows made here.

    python -m studies.drift
    python -m studies.drift --systems KernelClassifier --again
    python -m studies.streaming --page

Nothing is picked in hindsight: the others run with the parameters of the race, whose
gamma is found on the first rows, before the change. Records go into the ledger of
`studies.streaming`, whose page has a section of them.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from onkel.measuring.records import Record, RecordFile
from onkel.race import bandwidth
from onkel.race.contestants import StreamedEstimator
from onkel.race.problem import Problem
from studies.drift_results import STEP
from studies.drift_streams import (
    BUDGET,
    DRIFTS,
    FEATURES,
    ROWS,
    SEEDS,
    Drifting,
    drifting,
)
from studies.streaming import LEDGER, found
from studies.streaming_references import REFERENCES
from studies.streaming_setup import Setup
from studies.streaming_systems import NEWCOMERS, plain, raced, starters

PROBLEM = Problem(ROWS, FEATURES, classes=2)


def setup_of(data: Drifting, seed: int) -> Setup:
    """What all are given; gamma is that of a race."""
    X, y = data.X[: bandwidth.ROWS], data.y[: bandwidth.ROWS]
    trials = bandwidth.tried(X, y, PROBLEM, BUDGET)
    return Setup(PROBLEM, BUDGET, bandwidth.best(trials).gamma, seed)


def run(system: str, setup: Setup, data: Drifting) -> Record:
    """Count the mistakes of a system, against labels without noise."""
    if system in REFERENCES:
        said = REFERENCES[system](setup).predict_then_learn(data.X, data.y)
    else:
        make = plain if system in NEWCOMERS else raced
        contestant = StreamedEstimator(make(system, setup), PROBLEM.classes)
        said = contestant.predict_then_learn(data.X, data.y)
    wrong = said != data.truth
    mistakes = wrong.reshape(-1, STEP).sum(axis=1).tolist()
    return {"error": float(wrong.mean()), "mistakes": mistakes}


def work_through(
    systems: Sequence[str] | None, ledger: RecordFile, again: bool = False
) -> None:
    """Run systems, None for all, on all streams: what is not there, or all again."""
    with threadpool_limits(1), np.errstate(all="ignore"):
        for name in DRIFTS:
            for seed in range(SEEDS):
                data = drifting(name, seed)
                setup = setup_of(data, seed)
                for system in starters(setup, systems):
                    at = f"{name}/{system}/{seed}"
                    found(ledger, at, run, system, setup, data, again=again)


def main(argv: Sequence[str] | None = None) -> None:
    """Run what drifts from the command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.drift")
    parser.add_argument("--systems", nargs="+", help="names; all without it")
    parser.add_argument("--ledger", type=Path, default=LEDGER)
    parser.add_argument("--again", action="store_true", help="also what is there")
    given = parser.parse_args(argv)
    work_through(given.systems, RecordFile(given.ledger), given.again)


if __name__ == "__main__":
    main()

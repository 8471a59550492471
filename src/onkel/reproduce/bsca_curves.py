"""Curves by epoch: BSCA and BSGD learn a problem of the paper with several seeds."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import onkel
from onkel.reproduce.every_pass import EveryPass
from onkel.reproduce.problems import Problem, problem
from onkel.reproduce.protocol import Cell, EstimatorSetup
from onkel.reproduce.runner import PERCENT, TooLongError

EPOCHS = 15


def _errors_into(
    case: Problem, of_answer: list[float], of_last: list[float]
) -> Callable[[Any], None]:
    """Return what notes the test errors of a learner: of its answer, of its last."""

    def note(learner: Any) -> None:
        for errors, coef in ((of_answer, learner.coef), (of_last, learner.last_coef)):
            scores = learner.score(case.X_test, coef=coef)[:, 0]
            wrong = (scores > 0) != (case.y_test > 0)
            errors.append(PERCENT * float(np.mean(wrong)))

    return note


def facts(case: Problem, is_accuracy: bool = False) -> dict[str, Any]:
    """Return what an outcome says of its data, the better constant included."""
    error = float(min(np.mean(case.y_test > 0), np.mean(case.y_test < 0)))
    return {
        "rows": len(case.y),
        "features": case.X.shape[1],
        "constant": PERCENT * (1 - error if is_accuracy else error),
    }


def estimator_for(case: Problem, setup: EstimatorSetup, seed: int) -> Any:
    """Return BSCA or BSGD for a problem, with the paper's C and gamma."""
    given: dict[str, Any] = {
        "max_iter": EPOCHS,
        **setup.fixed,
        "gamma": case.gamma,
        "random_state": seed,
        "monitor": True,
    }
    if setup.kind == "BSCAClassifier":
        return onkel.BSCAClassifier(**given, C=case.C, tol=0.0)
    return onkel.BSGDClassifier(**given, alpha=1.0 / (case.C * len(case.y)))


def curves(
    name: str,
    cell: Cell,
    wanted: int,
    limit: float,
    load: Callable[[str], Problem] = problem,
) -> dict[str, Any]:
    """Learn with several seeds, and note every epoch."""
    case, setup = load(name), cell.setup
    assert setup is not None
    outcome = facts(case)
    names = ("error", "error_of_last", "primal", "dual", "maintenance", "seconds")
    found: dict[str, list[Any]] = {key: [] for key in names}
    # Once, so that compiling is not in the time.
    few = case.head(500)
    estimator_for(case, setup, 0).set_params(max_iter=1).fit(few.X, few.y)
    seconds: list[float] = []
    for seed in range(wanted):
        spent = sum(seconds)
        if seed > 0 and spent + spent / seed > limit:
            break
        model = estimator_for(case, setup, seed)
        errors: tuple[list[float], list[float]] = ([], [])
        watch = EveryPass(_errors_into(case, *errors), model.max_iter, limit)
        try:
            model.set_callbacks(watch).fit(case.X, case.y)
        except TooLongError as reason:
            return outcome | {"why_not": str(reason), "needs": reason.seconds}
        seconds.append(round(time.perf_counter() - watch.started, 2))
        found["error"].append(errors[0])
        found["error_of_last"].append(errors[1])
        for key in names[2:]:
            found[key].append(model.history_[key])
    values = [run[-1] for run in found["error"]]
    return outcome | {"values": values, "seconds": seconds, "curves": found}

"""Numbers: everything that a race measured, as JSON has it."""

import math
from typing import Any

from onkel.race.outcome import Outcome, Result, Run
from onkel.race.report.words import measure, warnings


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _of_run(run: Run) -> dict[str, Any]:
    return {
        "rows": run.rows,
        "error": _finite(run.error),
        "seconds": run.seconds,
        "model_size": run.size,
        "updates": run.updates,
        "memory_bytes": run.memory,
        "stopped": run.stopped,
        "summed_errors": run.curve.tolist(),
    }


def _of_result(place: int | None, result: Result) -> dict[str, Any]:
    return {
        "place": place,
        "system": result.name,
        "is_reference": result.is_reference,
        "model": result.model,
        "budget": result.budget,
        "error": _finite(result.error),
        "spread": _finite(result.spread),
        "rows_per_second": result.rows_per_second,
        "model_size": result.size,
        "memory_bytes": result.memory,
        "updates": result.updates,
        "stopped": result.stopped,
        "runs": [_of_run(run) for run in result.runs],
    }


def numbers(outcome: Outcome) -> dict[str, Any]:
    """Everything that was measured, and where and with what.

    `summed_errors` are mistakes, or squared errors, up to each of `marks`.
    """
    rows, features, classes = outcome.problem
    return {
        "data": {
            "name": outcome.name,
            "rows": rows,
            "features": features,
            "classes": classes or None,
            "in_order": outcome.in_order,
            "order": outcome.order,
            "description": outcome.description,
        },
        "measure": measure(outcome),
        "settings": outcome.settings,
        "baseline": {
            "always": outcome.baselines.constant,
            "error": outcome.baselines.constant_error,
            "error_of_the_last": outcome.baselines.last_error,
        },
        "warnings": warnings(outcome),
        "gamma": outcome.gamma,
        "gamma_trials": [
            {"gamma": trial.gamma}
            | {name: _finite(error) for name, error in trial.errors.items()}
            for trial in outcome.trials
        ],
        "machine": outcome.machine,
        "seconds": outcome.seconds,
        "marks": outcome.marks.tolist(),
        "results": [_of_result(place, result) for place, result in outcome.places],
        "left_out": outcome.left_out,
    }

"""scikit-learn's own checks, for every estimator."""

import inspect
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import onkel

ESTIMATORS = [value for value in vars(onkel).values() if inspect.isclass(value)]

ONE_PASS = (
    "a learner that takes rows one after another does not treat a row of weight 2 like "
    "the same row twice"
)


def expected_failures(estimator: Any) -> dict[str, str]:
    if "sample_weight" not in inspect.signature(estimator.fit).parameters:
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": ONE_PASS,
        "check_sample_weight_equivalence_on_sparse_data": ONE_PASS,
    }


# The answer of these is a mean of iterates.
AVERAGED = [
    onkel.AVMClassifier(average="full"),
    onkel.AVMRegressor(average="poly", coverage="grid"),
]


# AVM's heuristic radius is too large for some of these data, and it says so.
@pytest.mark.filterwarnings('ignore:coverage_radius="auto" chose:UserWarning')
@parametrize_with_checks(
    [estimator() for estimator in ESTIMATORS] + AVERAGED,
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)

"""scikit-learn's own checks, for every estimator."""

import inspect
from typing import Any

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


@parametrize_with_checks(
    [estimator() for estimator in ESTIMATORS],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)

"""scikit-learn's own checks, for every estimator."""

import inspect
from typing import Any

import pytest
from sklearn.base import is_classifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import onkel
from onkel.estimators._registry import systems
from tests import EVERYTHING

ESTIMATORS = systems().values()

ONE_PASS = (
    "a learner that takes rows one after another does not treat a row of weight 2 like "
    "the same row twice"
)
BY_ROWS = (
    "landmarks are chosen among rows whatever their weight: a row twice is likelier "
    "to be near one than a row of weight 2"
)
ODD = (
    "the check asks for one component, and Fourier features come in pairs; see "
    "test_features.py for what it is about"
)
# The checks that set n_components to 1, where an estimator has it.
ONE_COMPONENT = (
    *("check_fit2d_1feature", "check_fit2d_predict1d"),
    *("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
    "check_dont_overwrite_parameters",
)


def expected_failures(estimator: Any) -> dict[str, str]:
    expected = {}
    if hasattr(estimator, "n_components"):
        expected |= dict.fromkeys(ONE_COMPONENT, ODD)
        if not is_classifier(estimator):  # which refuse a single class first
            expected["check_fit2d_1sample"] = ODD
    if "sample_weight" in inspect.signature(estimator.fit).parameters:
        reason = BY_ROWS if hasattr(estimator, "landmarks") else ONE_PASS
        expected["check_sample_weight_equivalence_on_dense_data"] = reason
        expected["check_sample_weight_equivalence_on_sparse_data"] = reason
    return expected


VARIANTS = [
    # The answer of these is a mean of iterates.
    onkel.AVMClassifier(average="full"),
    onkel.AVMRegressor(average="poly", coverage="grid"),
    # On so few rows this one comes to its second phase.
    onkel.NOGDClassifier(budget=20, rank=20),
]


# These take ten to a hundred times as long as others. What a class's weight is, is said
# in one place for all systems; tests/exact has what each makes of weights of rows.
LONG = (
    "check_class_weight_classifiers",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
# Of streams, of all rows, with features, for values; and the machine.
WEIGHED = (
    *("BSGDClassifier()", "BSCAClassifier()", "FOGDClassifier()"),
    *("BOGDRegressor()", "KernelClassifier()", "LLSVMClassifier()"),
)


def quick(checks: Any) -> Any:
    """Let the long checks be done for some systems."""
    names, cases = checks.args

    def wanted(estimator: Any, check: Any) -> bool:
        return check.func.__name__ not in LONG or str(estimator) in WEIGHED

    if EVERYTHING:
        return checks
    few = [case for case in cases if wanted(*getattr(case, "values", case))]
    return pytest.mark.parametrize(names, few, **checks.kwargs)


# NOGD says that it needs more rows than these checks have.
@pytest.mark.filterwarnings("ignore:NOGD.* stayed in its first phase:UserWarning")
# AVM's heuristic radius is too large for some of these data, and it says so.
@pytest.mark.filterwarnings('ignore:coverage_radius="auto" chose:UserWarning')
@quick(
    parametrize_with_checks(
        [estimator() for estimator in ESTIMATORS] + VARIANTS,
        expected_failed_checks=expected_failures,
        xfail_strict=True,
    )
)
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)

"""What every system promises; whoever writes one is in these tests by writing it."""

import re
from typing import Any

import pytest
from sklearn.svm import SVC

import onkel
from onkel import checks
from onkel.estimators._registry import systems, variants

CASES = [
    pytest.param(
        checks.small(cls(**parameters)),
        check,
        id=f"{cls.__name__}-{name}-{checks.name_of(check)}",
    )
    for cls in (systems("Classifier") | systems("Regressor")).values()
    for name, parameters in variants(cls).items()
    for check in checks.checks_for(cls(**parameters))
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator, check", CASES)
def test_a_system_keeps_its_promises(estimator: Any, check: checks.Check) -> None:
    check(estimator)


def test_what_is_exported_is_registered() -> None:
    public = {name for name in onkel.__all__ if hasattr(getattr(onkel, name), "fit")}
    ours = {name for name, cls in systems().items() if hasattr(onkel, name)}
    assert public == ours


class Restless(onkel.RBPClassifier):
    """It is another model whenever it has answered."""

    def decision_function(self, X: Any) -> Any:
        self._learner.counters.t += 1
        return super().decision_function(X)


def test_a_broken_promise_is_found() -> None:
    with pytest.raises(AssertionError, match="predicting has changed"):
        checks.check_predicting_changes_nothing(checks.small(Restless()))


@pytest.mark.parametrize("other", [onkel.RBPClassifier, SVC(), None, "rbp"])
def test_what_is_no_system_is_named(other: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{other!r} is no system")):
        checks.check_system(other)


def test_parameters_that_were_chosen_stay() -> None:
    made = checks.small(onkel.RBPClassifier(budget=77))
    assert (made.budget, made.gamma) == (77, 0.5)

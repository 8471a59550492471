"""What every system promises; whoever writes one is in these tests by writing it."""

from typing import Any

import pytest

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

"""River's own checks, for every system."""

import gc
from typing import Any

import pytest
from river import checks

import onkel.river
from tests import EVERYTHING
from tests.river.streams import streams_for


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """All systems together would take minutes on the rows that River takes."""
    if not EVERYTHING:
        monkeypatch.setattr(checks, "_yield_datasets", streams_for)


@pytest.fixture(autouse=True)
def frozen() -> None:
    """One check looks for rubbish, among all that numba keeps of what it compiled."""
    gc.freeze()


def models(name: str) -> list[Any]:
    cls = getattr(onkel.river, name)
    return [cls(**parameters) for parameters in cls._unit_test_params()]


@pytest.mark.filterwarnings("ignore")  # few rows make bad models
@pytest.mark.parametrize("name", onkel.river.__all__)
def test_a_system_passes_the_checks_of_river(name: str) -> None:
    for model in models(name):
        for check in checks.yield_checks(model):
            if check.__name__ not in model._unit_test_skips():
                check(model.clone())

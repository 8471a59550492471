"""The faults can still be planted; `python -m tests.planted_faults` plants them."""

import ast

import pytest

from tests.planted_faults import FAULTS, ROOT, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_its_place(fault: Fault) -> None:
    text = (ROOT / "src" / "onkel" / fault.file).read_text()
    assert text.count(fault.right) == 1
    ast.parse(text.replace(fault.right, fault.wrong))  # still a program

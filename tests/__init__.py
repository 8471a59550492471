"""Tests: `make test` runs the quick whole, `make test-all` every combination.

What is left out of the quick whole are combinations of things that do not know of each
other, each of which is there with others. `tests.planted_faults` says whether faults
are still found.
"""

import os

EVERYTHING = os.environ.get("ONKEL_TEST_EVERYTHING") == "1"

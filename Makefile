# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# The data sets lie beside the checkout here and in CI; elsewhere set the variable,
# or leave it: what needs a data set that is not there skips and says so.
export ONKEL_DATA_MIRROR ?= $(wildcard $(CURDIR)/../shared/data)

.PHONY: help demo test test-all lint bench setup clean

help:
	@echo "make demo      race all systems on two streams: tables, and a page for the browser"
	@echo "make test      lint, types, import rules and tests"
	@echo "make test-all  the same with every combination, before a release"
	@echo "make bench     the benchmarks, as tables"
	@echo "make setup     the development environment in $(VENV)"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Bytecode is made afterwards, on all cores and without the tests of others: pip's own
# way takes eight seconds longer.
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile
BYTECODE := $(RUN) -m compileall -qq -j 0 -x /tests/ $(VENV)/lib || true

# A stamp per set of extras, so that the demo does not wait for the test tools.
$(VENV)/.cli: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) -e ".[cli]"
	@$(BYTECODE)
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) -e ".[test]"
	@$(BYTECODE)
	@touch $@ $(VENV)/.cli

setup: $(VENV)/.test

demo: $(VENV)/.cli
	$(RUN) -m onkel.cli race --output results/demo

test: lint
	$(RUN) -m pytest -n 2 --dist worksteal

test-all: lint
	ONKEL_TEST_EVERYTHING=1 $(RUN) -m pytest -n 2 --dist worksteal

lint: $(VENV)/.test
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

bench: $(VENV)/.cli
	$(RUN) -m benchmarks

clean:
	rm -rf $(VENV) results .pytest_cache .mypy_cache .ruff_cache .hypothesis

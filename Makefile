# Two commands on a fresh machine: `make run` and `make test`. Both create .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

.PHONY: run test test-long bench docs lint format clean help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/'

run: $(VENV)/.run  ## the quick study: tables, verdicts and runs/quick/report.html
	$(BIN)/airbayes run quick --out runs/quick --force

test: $(VENV)/.test lint  ## lint, type check and the tests
	$(BIN)/python -m pytest -n 2 -m "not long"

test-long: $(VENV)/.test  ## the tests that take long; laws, samplers and models once more, compiled as for users
	XLA_FLAGS= $(BIN)/python -m pytest -n 2 -m long
	XLA_FLAGS= $(BIN)/python -m pytest -n 2 tests/oracles tests/models tests/samplers

bench: $(VENV)/.run  ## speed: tables and bench.json in runs/bench
	$(BIN)/airbayes bench --out runs/bench

docs: $(VENV)/.docs  ## this documentation as a web site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # else its theme advertises its successor

lint: $(VENV)/.test  ## ruff and basedpyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

format: $(VENV)/.test  ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "airbayes needs Python 3.11 or newer; found $$($(PYTHON) --version). Try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing airbayes into $(VENV) (once, a minute or two) ..."
	$(PIP) -e .
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing airbayes and its test tools into $(VENV) (once, a minute or two) ..."
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.docs: $(VENV)/.run
	$(PIP) -e '.[docs]'
	@touch $@

clean:  ## remove everything that was built
	rm -rf $(VENV) runs site .pytest_cache .ruff_cache .hypothesis

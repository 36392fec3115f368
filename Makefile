# Each target makes what it needs: a virtual environment in .venv, and the package in it.
# PYTHON=/path/to/python3.12 picks the interpreter; pip is configured by your environment only.

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check
# Empty it (make test WORKERS=) to run the tests in one process.
WORKERS ?= -n auto --maxprocesses 8
# Which tests: make test TESTS="-m 'data and not stress' tests" runs those that need the real streams.
TESTS ?= tests
SUITE ?= all
PAPER ?= all

.DEFAULT_GOAL := help
.PHONY: help demo test check docs stress bench rivals reproduce java clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed java ## install Crestline and watch the top k of a stream change
	$(BIN)/crestline demo

test: $(VENV)/.installed-dev java ## run the tests (not the stress tests)
	$(BIN)/crestline warm
	$(BIN)/python -m pytest -q $(WORKERS) $(TESTS)

check: $(VENV)/.installed-dev ## ruff, strict mypy, the layers, the examples in docstrings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --doctest-modules src

stress: $(VENV)/.installed-dev java ## run the long and heavy tests
	HYPOTHESIS_PROFILE=stress $(BIN)/python -m pytest -v -m stress tests

bench: $(VENV)/.installed-dev java ## run all benchmarks, or one of them: make bench SUITE=steps
	$(BIN)/crestline bench $(SUITE)

rivals: $(VENV)/.installed-dev java ## run what users would pick instead, side by side, each in an environment of its own
	$(BIN)/python -m benchmarks.rivals

reproduce: $(VENV)/.installed-dev ## run what the papers claim and write a report: make reproduce PAPER=jin2008
	$(BIN)/crestline reproduce $(PAPER)

docs: $(VENV)/.installed-dev ## build the documentation into the folder site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

java: # install Java where it is missing and may be installed; Spark needs it
	@scripts/ensure_java.sh

clean: ## remove the virtual environment and the caches of the tools
	rm -rf $(VENV) .rivals site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# The stamps make an install happen once, and again only when pyproject.toml changes.
$(BIN)/python:
	@scripts/make_venv.sh $(VENV)

$(VENV)/.installed: pyproject.toml $(BIN)/python
	@echo "Installing Crestline and what it needs into $(VENV) (once, a minute or two) ..."
	$(PIP_INSTALL) --editable '.[all]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(BIN)/python
	@echo "Installing Crestline and its development tools into $(VENV) (once, a minute or two) ..."
	$(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

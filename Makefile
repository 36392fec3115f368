# Each target installs what it needs into the virtual environment .venv, the package included.
# PYTHON=/path/to/python3.12 picks the interpreter. Only your own environment configures pip.

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check
# Empty it (make test WORKERS=) to run the tests in one process.
WORKERS ?= -n auto --maxprocesses 8
# make test FAMILY=uncertain runs the tests of one family or package, FAMILY=tests/cli those of a path.
FAMILY ?=
FAMILY_TESTS = $(if $(findstring /,$(FAMILY)),$(wildcard $(FAMILY)),\
	$(wildcard tests/$(FAMILY) tests/*/$(FAMILY) tests/*/test_$(FAMILY)*.py tests/test_$(FAMILY)*.py))
# make test TESTS="-m 'data and not stress' tests" runs those that need the real streams.
TESTS ?= $(if $(FAMILY),$(or $(strip $(FAMILY_TESTS)),$(error no tests for FAMILY=$(FAMILY))),tests)
# make quick: some 105 s of CPU, without Spark and without what takes long and seldom breaks.
QUICK := tests/core tests/planner tests/sharing tests/testing tests/operators tests/test_public.py \
	tests/language/test_language_golden.py tests/certain/test_operators.py tests/uncertain/test_golden.py \
	tests/local/test_session.py $(addprefix tests/runtime/test_,$(addsuffix .py,changes encoders order \
	partitions results select turns universal watermark windows))
SUITE ?= all
PAPER ?= all

.DEFAULT_GOAL := help
.PHONY: help demo test quick check format wheel compat docs stress bench rivals reproduce java clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed java ## install Crestline and watch the top k of a stream change
	$(BIN)/crestline demo

test: $(VENV)/.installed-dev java ## run the tests (not the stress tests), or some: make test FAMILY=uncertain
	$(BIN)/crestline warm
	$(BIN)/python -m pytest -q $(WORKERS) $(TESTS)

quick: $(VENV)/.installed-dev ## run the tests that take no Spark, with few random examples: under two minutes
	HYPOTHESIS_PROFILE=quick CRESTLINE_KERNELS=plain $(BIN)/python -m pytest -q $(WORKERS) $(QUICK)

check: $(VENV)/.installed-dev ## ruff, strict mypy, the layers, the examples in docstrings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --doctest-modules src

format: $(VENV)/.installed-dev ## format the code and repair what ruff can repair
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

wheel: $(BIN)/python ## build the wheel, check it, and run it in an empty environment
	$(BIN)/python scripts/check_wheel.py

compat: $(VENV)/.installed-dev java ## run tests of DataFrames with the oldest and the newest PySpark that is supported
	$(BIN)/python scripts/check_compat.py

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
	rm -rf $(VENV) .rivals .compat site dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

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

# `make figures` and `make test` work in a fresh clone: what they need is installed first, into .venv,
# or taken from the active conda environment when that one holds every dependency.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help figures test soak bench lint environment conda hooks clean
unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE

PYTHONS := 3.14 3.13 3.12 3.11

# Ends 0 in an environment where every dependency is installed in an allowed version.
SATISFIED := import sys, tomllib; \
  from importlib.metadata import version; \
  from packaging.requirements import Requirement; \
  project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  wanted = map(Requirement, project["dependencies"] + project["optional-dependencies"]["dev"]); \
  sys.exit(any(version(wish.name) not in wish.specifier for wish in wanted))

# Ends 0 where `mlptsym` is installed from this very checkout.
INSTALLED := import importlib.metadata, pathlib, mlptsym; \
  importlib.metadata.version("mlptsym"); \
  assert pathlib.Path(mlptsym.__file__).parent.samefile("mlptsym")

ifdef CONDA_PREFIX
CONDA := $(shell "$(CONDA_PREFIX)/bin/python" -E -c '$(SATISFIED)' 2>/dev/null && echo active)
endif

ifeq ($(CONDA),active)
BIN := $(CONDA_PREFIX)/bin
environment: conda
else
BIN := .venv/bin
environment: .venv/installed
# A .venv that was moved, or whose Python is gone, is made again.
ifneq ($(shell .venv/bin/python -c '' 2>/dev/null && cat .venv/locked 2>/dev/null),$(CURDIR))
.PHONY: .venv/locked
endif
endif

INSTALL := -m pip install --disable-pip-version-check --no-input --progress-bar off

help:
	@echo 'make figures   every figure of the paper and the table of its claims, into figures/'
	@echo 'make test      lint, then every test'
	@echo 'make soak      batches killed many times over, every formula altered in every place, many bad values, random changes to the code (hours)'
	@echo 'make bench     speed beside C and other simulators, into tests/benchmarks/ (needs gcc; six minutes)'
	@echo 'make lint      ruff (code, notebooks, format) and mypy'
	@echo 'make hooks     run `make lint` before each commit (pre-commit)'
	@echo 'make clean     remove .venv, caches and build outputs'
	@echo 'What is needed is installed on first use, into .venv or an active conda environment (environment.yml).'

figures: environment
	@"$(BIN)/mlptsym" figures --out figures
	@"$(BIN)/mlptsym" verify claims --table figures/claims.csv

test: lint
	@"$(BIN)/python" -m pytest -n 3 --dist loadscope --no-loadscope-reorder

soak: environment
	@MLPTSYM_KILLS=24 MLPTSYM_ALL_MUTANTS=1 MLPTSYM_BAD_VALUES=10 "$(BIN)/python" -m pytest -n 2 --dist load \
	  tests/batch/test_faults.py tests/ledger/test_ledger_mutations.py tests/test_bad_calls.py tests/test_bad_figures.py tests/cli/test_bad_options.py
	@"$(BIN)/python" tests/mutation_run.py --changes 600 --workers 2

bench: environment .bench/installed
	@"$(BIN)/python" tests/benchmarks/run.py --peers .bench/bin/python

# The other simulators have an environment of their own.
.bench/installed: tests/benchmarks/peers.txt | environment
	@"$(BIN)/python" -m venv --clear .bench
	@.bench/bin/python $(INSTALL) --quiet -r tests/benchmarks/peers.txt
	@touch $@

lint: environment
	@"$(BIN)/python" -m ruff check .
	@"$(BIN)/python" -m ruff format --check .
	@"$(BIN)/python" -m mypy

hooks: environment
	@"$(BIN)/python" -m pre_commit install

# The stamps are written last and removed with the rest of .venv, so an interrupted install leaves none.
.venv/locked: requirements.lock
	@set -e; python=; incomplete=; \
	for name in python3 $(PYTHONS:%=python%); do \
	  $$name -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] not in "$(PYTHONS)".split())' 2>/dev/null || continue; \
	  $$name -c 'import ensurepip, venv' 2>/dev/null || { incomplete=$$name; continue; }; \
	  python=$$name; break; \
	done; \
	if [ -z "$$python" ]; then \
	  if [ -n "$$incomplete" ]; then \
	    echo "$$incomplete cannot create virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)."; \
	  else \
	    echo 'No Python $(lastword $(PYTHONS)) to $(firstword $(PYTHONS)) was found (tried: python3 $(PYTHONS:%=python%)).'; \
	  fi >&2; \
	  exit 1; \
	fi; \
	if [ -n "$$CONDA_PREFIX" ]; then \
	  echo 'The active conda environment does not hold every dependency in an allowed version (see environment.yml): using .venv.'; \
	fi; \
	echo "Installing the pinned dependencies into .venv with $$($$python --version) (a minute or two, once)"; \
	$$python -m venv --clear .venv; \
	.venv/bin/python $(INSTALL) -r requirements.lock >.venv/install.log 2>&1 || { \
	  tail -n 20 .venv/install.log; \
	  echo 'The installation failed; all of its output is in .venv/install.log.'; \
	  exit 1; \
	} >&2; \
	pwd -P > $@

.venv/installed: .venv/locked pyproject.toml mlptsym/version.py
	@.venv/bin/python $(INSTALL) --quiet --no-build-isolation --no-deps -e .
	@touch $@

conda:
	@"$(BIN)/python" -P -c '$(INSTALLED)' 2>/dev/null || { \
	  echo 'Installing mlptsym into the active conda environment'; \
	  "$(BIN)/python" $(INSTALL) --quiet --no-build-isolation --no-deps -e .; }

clean:
	rm -rf .venv .bench .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist figures/*.ipynb
	find mlptsym tests notebooks derivations -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

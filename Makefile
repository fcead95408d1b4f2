# Needs python3 (3.11 or newer) and a package index, nothing else. `make help` lists the targets.
# All paths are relative: the path of the checkout may hold spaces, which make cannot quote.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed

.DEFAULT_GOAL := help
.PHONY: help up demo test conformance check wheel-test chaos bench bench-scale bench-latency bench-summaries \
  bench-audit bench-jobs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

up: $(INSTALLED) ## run foldlog with embedded servers until Ctrl-C
	@$(BIN)/foldlog up

demo: $(INSTALLED) ## load a sample conversation, recall from it, audit it
	@$(BIN)/foldlog demo

test: $(INSTALLED) ## run the tests on two cores
	$(BIN)/pytest -n 2 --dist loadgroup -m "not chaos and not wheel"

conformance: $(INSTALLED) ## run the tests of the contract, and say how much of it is covered
	$(BIN)/pytest -n 2 --dist loadgroup -m "not chaos and not wheel" --conformance

check: $(INSTALLED) ## format, lint, types, import directions, sizes
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tests/limits.py

wheel-test: $(INSTALLED) ## build the wheel and test it in a clean environment
	@sh .ci/wheel-test

chaos: $(INSTALLED) ## run the long tests that kill processes and cut connections
	$(BIN)/pytest -m chaos

bench: $(INSTALLED) ## measure how well recall finds what it should
	@$(BIN)/python tests/bench/recall_quality.py

bench-scale: $(INSTALLED) ## measure folding and recall at 100,000 memories
	@$(BIN)/python tests/bench/scale.py

bench-latency: $(INSTALLED) ## measure how soon an append is found by another process
	@$(BIN)/python tests/bench/latency.py

bench-summaries: $(INSTALLED) ## measure how much of a written summary an extractive one holds
	@$(BIN)/python tests/bench/summary_quality.py

bench-jobs: $(INSTALLED) ## measure what the jobs cost among a million facts and a thousand threads
	@$(BIN)/python tests/bench/jobs.py

bench-audit: $(INSTALLED) ## measure history, as-of and blame in a log of a million events
	@$(BIN)/python tests/bench/audit.py

clean: ## remove what the targets above made
	rm -rf .venv build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The umask is the usual one whoever installs: as root, servers run as a user that must read .venv.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "foldlog needs Python 3.11 or newer; name one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "installing into .venv"
	@umask 022 && $(PYTHON) -m venv .venv && \
	  $(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip && \
	  $(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable '.[embedded]' && \
	  touch $@

# `make` alone prints every command. A sentence after ## is what it prints.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.ONESHELL:
.SILENT:
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
# Checks and tests start hundreds of processes: each would compile the whole product anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
INSTALL := scripts/install.sh

##@ Use it
.PHONY: run
run: ## Install what is missing and serve the product on http://127.0.0.1:8000 (PORT, GANGLINE_DATA_DIR).
	$(INSTALL) server examples
	exec $(BIN)/gangline-manage run

.PHONY: tensorflow
tensorflow: ## Install the runtime of TensorFlow's example, local://tensorflow (1.5 GB).
	$(INSTALL) server tensorflow

.PHONY: horovod
horovod: ## Build the runtime of Horovod's example for the system's PyTorch, local://horovod (ten minutes).
	$(INSTALL) server horovod

.PHONY: stack
stack: ## Start production mode on this machine: PostgreSQL, Redis, two web processes, worker, watcher.
	$(INSTALL) server examples
	exec $(BIN)/python -m scripts.stack

.PHONY: bed
bed: ## Start a real Kubernetes with simulated nodes on this machine (WITH="native-gang").
	$(INSTALL) server dev
	exec $(BIN)/python -m tests.beds.kubernetes up

.PHONY: bed-down
bed-down: ## Stop it.
	exec $(BIN)/python -m tests.beds.kubernetes down

.PHONY: bed-build
bed-build: ## Build its programs into the cache, unless they are there (ten minutes on two cores).
	$(INSTALL) server dev
	exec $(BIN)/python -m tests.beds.kubernetes build

.PHONY: bed-slurm
bed-slurm: ## Start a real Slurm with four emulated nodes on this machine (WITH=slurmdbd).
	$(INSTALL) server dev
	exec $(BIN)/python -m tests.beds.slurm up

.PHONY: bed-slurm-down
bed-slurm-down: ## Stop it.
	exec $(BIN)/python -m tests.beds.slurm down

##@ Work on it
.PHONY: setup
setup: ## Install everything for development: server, tests, runtime of the examples.
	$(INSTALL) server dev examples

.PHONY: test
test: setup ## Install what the tests need and run them; says what it had to leave out.
	exec $(BIN)/python -m scripts.run_tests $(ARGS)

.PHONY: test-all
test-all: setup ## The same with the thorough ones, which take long and break seldom.
	exec $(BIN)/python -m scripts.run_tests --all $(ARGS)

.PHONY: unit
unit: setup ## Run the tests that need no browser, on SQLite (ARGS="tests/spec -k name" narrows them).
	exec $(BIN)/python -m scripts.run_tests --only=sqlite $(ARGS)

.PHONY: test-kubernetes
test-kubernetes: setup ## Run the tests on a real Kubernetes, which is built first (see docs/how-to/test-on-kubernetes.md).
	exec $(BIN)/python -m scripts.run_tests --only=kubernetes $(ARGS)

.PHONY: e2e
e2e: setup ## Run the tests that drive the product in a browser.
	exec $(BIN)/python -m scripts.run_tests --only=browser $(ARGS)

.PHONY: lint
lint: setup ## Check style, types, layers, templates and migrations.
	exec $(BIN)/python -m scripts.lint $(ARGS)

.PHONY: format
format: setup ## Write code and templates in the agreed form.
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .
	find templates -name '*.html' -print0 | xargs -0 -r $(BIN)/djade --target-version 5.2

.PHONY: screenshots
screenshots: setup ## Drive the product in Chromium and write every screen to docs/screens/.
	exec $(BIN)/python -m scripts.screenshots $(ARGS)

.PHONY: openapi
openapi: setup ## Write docs/reference/openapi.yaml, and from it what the command line and the SDK know.
	$(BIN)/gangline-manage spectacular --validate --fail-on-warn --file docs/reference/openapi.yaml
	exec $(BIN)/python -m scripts.client_files

.PHONY: lock
lock: setup ## Write the lock files from pyproject.toml (ARGS=--upgrade moves every version).
	exec scripts/lock.sh $(ARGS)

##@ Measure it
.PHONY: bench
bench: setup ## Run every benchmark and print the table (twenty minutes); make bench-list runs one.
	exec $(BIN)/python -m bench $(ARGS)

bench-%: setup
	exec $(BIN)/python -m bench $* $(ARGS)

##@ Tidy up
.PHONY: clean
clean: ## Remove caches and builds; keeps .venv and the data folder.
	rm -rf build dist staticfiles htmlcov .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -not -path './var/*' -prune -exec rm -rf {} +

.PHONY: help
help:
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

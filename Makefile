# `make help` is the door. Everything here needs only Python 3.11+ and make.
# Paths stay relative, because make splits absolute ones at the spaces they may contain.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
PORT ?= $(or $(PARLEY_PORT),8000)
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python requirements/install.py
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --extra embedded

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/run.stamp ## Run everything on this machine (PORT=8000, PARLEY_DATA_DIR=.parley)
	@PARLEY_PORT="$(PORT)" exec $(BIN)/python -m app.cli dev

test: $(VENV)/dev.stamp ## Run the tests (ARGS='-k name' to choose, WORKERS=3 at a time)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(VENV)/dev.stamp ## Check format, rules, types, imports, migrations and the exported schema
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports
	$(BIN)/python -m app.cli schema export --check
	$(BIN)/python -m pytest -q tests/architecture

format: $(VENV)/dev.stamp ## Format the code and mend what ruff can mend
	$(BIN)/python -m ruff check --fix-only --quiet .
	$(BIN)/python -m ruff format .

schema: $(VENV)/run.stamp ## Export schema.graphql and docs/settings.md from the code
	$(BIN)/python -m app.cli schema export
	$(BIN)/python -m app.cli settings --markdown > docs/settings.md

screenshots: $(VENV)/dev.stamp ## Take pictures of every page of the dashboard, into docs/screenshots
	$(BIN)/python -m tests.dashboard.screenshots $(ARGS)

bench: $(VENV)/dev.stamp ## Run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

soak: $(VENV)/dev.stamp ## Run the long form of the fault and property tests
	PARLEY_SOAK=1 $(BIN)/python -m pytest -n 1 --timeout 1800 tests/e2e tests/graphql_schema/streams tests/graphql_schema/planner tests/graphql_schema/messages/test_inbox_events.py tests/graphql_schema/exports/test_streaming.py tests/security/test_fuzz.py $(ARGS)
	PARLEY_SOAK=1 $(BIN)/python -m pytest -n 1 --timeout 1800 -m hypothesis tests/app tests/graphql_schema/transport $(ARGS)

lock: ## Resolve the lock files anew (needs uv)
	$(COMPILE) --group build --output-file requirements/run.txt pyproject.toml
	$(COMPILE) --group dev --constraints requirements/run.txt --output-file requirements/dev.txt pyproject.toml

clean: ## Delete the virtual environment and all caches; the data in .parley stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(VENV)/made.stamp:
	@command -v "$(PYTHON)" >/dev/null || { echo "'$(PYTHON)' not found. Install Python 3.11 or newer, or name it: make PYTHON=python3.12 …" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1). Name another: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo "Making the virtual environment in $(VENV) …"
	@"$(PYTHON)" -m venv $(VENV) || { echo "Could not make it. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@touch $@

$(VENV)/run.stamp: requirements/run.txt pyproject.toml | $(VENV)/made.stamp
	@echo "Installing the locked packages (once; a minute or two) …"
	@$(INSTALL) --require-hashes -r requirements/run.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/run.stamp
	@echo "Installing the tools for tests and checks …"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

.PHONY: help run test check format screenshots bench soak schema lock clean

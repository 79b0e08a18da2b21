# `make help` is the door. Everything below needs only Python 3.11+ and make.
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --extra embedded

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lock: ## Resolve the lock files anew (needs uv)
	$(COMPILE) --group build --output-file requirements/run.txt pyproject.toml
	$(COMPILE) --group dev --constraints requirements/run.txt --output-file requirements/dev.txt pyproject.toml

.PHONY: help lock

# Everything a person or CI does here. `make run` and `make test` need Python 3.11 or newer only.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test slow lint bench clean

run: $(VENV)/run
	$(BIN)/dialeval quickstart

test: $(VENV)/dev
	$(BIN)/pytest -n 2 -m "not slow"

# Crashes by the dozen and large crowds: minutes each. CI runs them after the others.
slow: $(VENV)/dev
	$(BIN)/pytest -n 2 -m slow

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

bench: $(VENV)/dev
	$(BIN)/python benchmarks/evaluate.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/score.py
	$(BIN)/python benchmarks/annotation.py
	$(BIN)/python benchmarks/server.py
	$(BIN)/python benchmarks/retrieve.py
	$(BIN)/python benchmarks/mine.py
	$(BIN)/python benchmarks/scale.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dialeval needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

# The stamps are younger than pyproject.toml when what it asks for is installed.
$(VENV)/run: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[report,models]'
	touch $@

$(VENV)/dev: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

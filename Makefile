# Everything happens in .venv; only Python 3.10+ and make are needed to begin with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := src integrations tests examples

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench clean

help:
	@echo "make demo    catch a hallucinated sentence, with a simulated provider (light install)"
	@echo "make test    run the whole test suite"
	@echo "make lint    ruff and the strict type checker"
	@echo "make bench   published benchmarks and speed, where the data is (RESAY_DATA=DIR)"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/resay demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

lint: $(VENV)/.dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/basedpyright

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

RESAY_DATA ?= ../shared/data
bench: $(VENV)/.dev
	@if [ -d "$(RESAY_DATA)" ]; then \
		$(BIN)/resay bench wikibio --data "$(RESAY_DATA)" --methods ngram,prompt,snowballing \
			--judge recorded:gemma4-31b && \
		$(BIN)/resay bench ensemble --data "$(RESAY_DATA)" --judge recorded:gemma4-31b && \
		$(BIN)/resay bench adaptive --data "$(RESAY_DATA)" --judge recorded:gemma4-31b && \
		$(BIN)/resay bench cascade --data "$(RESAY_DATA)" --judge recorded:gemma4-31b; \
	else echo "wikibio skipped: no data in '$(RESAY_DATA)'; set RESAY_DATA"; fi
	@if [ -f "$(RESAY_DATA)/phd_recorded.jsonl" ]; then \
		$(BIN)/resay bench phd --data "$(RESAY_DATA)" --methods all --match exact && \
		$(BIN)/resay bench phd --data "$(RESAY_DATA)" --methods reverse_validation; \
	else echo "phd skipped: no recordings in '$(RESAY_DATA)'; set RESAY_DATA"; fi
	$(BIN)/resay bench speed --data "$(RESAY_DATA)"
	$(BIN)/resay bench inference --data "$(RESAY_DATA)"
	$(BIN)/resay bench latency
	$(BIN)/resay bench chaos

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis

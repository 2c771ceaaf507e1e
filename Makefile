# Everything happens in .venv; only Python 3.10+ and make are needed to begin with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
SOURCES := src integrations tests examples

.DEFAULT_GOAL := help
.PHONY: help demo test test-benches test-extras test-matrix test-frameworks test-mutants test-proxy lint format bench bench-attacks bench-handbook bench-performance bench-peers compare-performance clean

help:
	@echo "make demo    catch a hallucinated sentence, with a simulated provider (light install)"
	@echo "make test    run the whole test suite"
	@echo "make test-benches  the tests of the benches, and those on benchmark data (RESAY_DATA=DIR)"
	@echo "make test-extras  each extra in a clean environment, and the pages with what they install"
	@echo "make test-matrix  the adapters' tests on the oldest and the newest frameworks"
	@echo "make test-frameworks  the programs of docs/frameworks.md (needs npm)"
	@echo "make test-proxy  the guardrail in LiteLLM's own proxy (a large install)"
	@echo "make test-mutants  what the core's tests notice of small faults put into it"
	@echo "make lint    ruff and the strict type checker"
	@echo "make bench   published benchmarks, where the data is (RESAY_DATA=DIR)"
	@echo "make bench-attacks  what texts that speak to a judge change"
	@echo "make bench-handbook  what repairs by a handbook make of flawed answers"
	@echo "make bench-performance  speed, growth, and what holds while much goes wrong"
	@echo "make bench-peers  Resay beside other libraries for the same purpose (large installs)"
	@echo "make compare-performance  the ratios of the fast programs beside the stored ones"

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

# Two processes, of which one imports the frameworks and SDKs and the other torch: each worker of
# pytest-xdist would import all that any test does.
TESTED_APART := $(wildcard tests/test_*.py) \
	$(addprefix tests/,_internal adapters gateway integrations providers testing)
.PHONY: test-apart test-others

test: $(VENV)/.dev
	@.ci/servers
	@$(MAKE) --no-print-directory --jobs 2 --keep-going test-apart test-others

test-apart:
	$(BIN)/python -m pytest $(TESTED_APART)

test-others:
	$(BIN)/python -m pytest $(TESTED_APART:%=--ignore=%)

RESAY_DATA ?= ../shared/data

# What takes long, or wants the benchmark data.
test-benches: $(VENV)/.dev
	RESAY_TEST_BENCHES=1 $(if $(wildcard $(RESAY_DATA)),RESAY_DATA="$(abspath $(RESAY_DATA))") \
		$(BIN)/python -m pytest --numprocesses 2 --dist loadfile tests/batch tests/benchmarks tests/performance \
		$$(grep -rl --include='test_*.py' data_dir tests --exclude-dir benchmarks)

# The newest row has no constraints: it is there to learn what came out since.
MATRIX := .venv-matrix
MATRIX_ROWS := $(addprefix $(MATRIX)/,oldest newest openai3)
MATRIX_TESTED = tests/integrations
# litellm's responses and tool calls import mcp, which it does not ask for itself.
MATRIX_TOOLS := hypothesis jsonschema mcp opentelemetry-sdk pytest pytest-asyncio pytest-timeout pytest-xdist
MATRIX_NEEDS = --editable '.[anthropic,demo,langchain,litellm,llamaindex]' \
	'langchain>=1.2.10,<2' 'langchain-openai>=1.1,<2' 'langchain-tests>=1.0,<2' \
	llama-index-llms-openai-like

.PHONY: $(MATRIX_ROWS)
$(MATRIX)/oldest: MATRIX_PINS := --constraint constraints-oldest.txt
# litellm and LlamaIndex still want version 2.
$(MATRIX)/openai3: MATRIX_NEEDS := --editable '.[anthropic,openai,server]' 'openai>=3,<4'
$(MATRIX)/openai3: MATRIX_TESTED := tests/integrations/resay_anthropic tests/integrations/resay_openai
$(MATRIX_ROWS):
	@$(PYTHON) -m venv $@
	@$@/bin/python -m pip install --quiet --disable-pip-version-check \
		--upgrade --upgrade-strategy eager $(MATRIX_PINS) $(MATRIX_NEEDS) $(MATRIX_TOOLS)
	@echo "$(@F):"
	@$@/bin/python -m pip list --disable-pip-version-check --format freeze | \
		grep -E '^(anthropic|langchain|langchain-core|langgraph|langchain-openai|llama-index-core|litellm|openai)='
	$@/bin/python -m pytest --numprocesses 2 --dist loadfile $(MATRIX_TESTED)

test-matrix: $(MATRIX_ROWS)

# The proxy wants older versions of two packages than everything else has.
PROXY := .venv-proxy
PROXY_NEEDS := --editable '.[anthropic,litellm,openai,server]' 'litellm[proxy]' \
	hypothesis pytest pytest-asyncio pytest-timeout

test-proxy:
	@$(PYTHON) -m venv $(PROXY)
	@grep -vE '^(rich|websockets)=' constraints.txt > $(PROXY)/constraints.txt
	@$(PROXY)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(PROXY)/constraints.txt $(PROXY_NEEDS)
	RESAY_TEST_PROXY=1 $(PROXY)/bin/python -m pytest tests/proxy

test-mutants: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m mutants

# Each framework for itself: they want different versions of the same packages.
FRAMEWORKS := .venv-frameworks
FRAMEWORK_NAMES := $(basename $(notdir $(wildcard tests/frameworks/*.txt)))

$(FRAMEWORKS)/node/.installed: tests/frameworks/package.json
	@mkdir -p $(@D)
	@cp $< $(@D)
	@npm install --silent --no-audit --no-fund --prefix $(@D)
	@touch $@

$(FRAMEWORKS)/%/.installed: tests/frameworks/%.txt pyproject.toml
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[openai]' --requirement $<
	@touch $@

test-frameworks: $(VENV)/.dev $(patsubst %,$(FRAMEWORKS)/%/.installed,$(FRAMEWORK_NAMES) node)
	RESAY_TEST_FRAMEWORKS=$(FRAMEWORKS) $(BIN)/python -m pytest tests/frameworks

# Each extra alone, in environments made from the wheel.
CLEAN := .venv-extras

test-extras: $(VENV)/.dev
	@rm -rf $(CLEAN)
	RESAY_TEST_EXTRAS=$(abspath $(CLEAN)) $(BIN)/python -m pytest tests/extras

lint: $(VENV)/.dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/basedpyright

format: $(VENV)/.dev
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

bench: $(VENV)/.dev
	@if [ -d "$(RESAY_DATA)" ]; then \
		$(BIN)/resay bench wikibio --data "$(RESAY_DATA)" --methods ngram,prompt,snowballing \
			--judge recorded:gemma4-31b && \
		$(BIN)/resay bench ensemble --data "$(RESAY_DATA)" --judge recorded:gemma4-31b && \
		$(BIN)/resay bench adaptive --data "$(RESAY_DATA)" --judge recorded:gemma4-31b && \
		$(BIN)/resay bench cascade --data "$(RESAY_DATA)" --judge recorded:gemma4-31b && \
		$(BIN)/resay bench retrieval --data "$(RESAY_DATA)"; \
	else echo "wikibio skipped: no data in '$(RESAY_DATA)'; set RESAY_DATA"; fi
	@if [ -f "$(RESAY_DATA)/phd_recorded.jsonl" ]; then \
		$(BIN)/resay bench phd --data "$(RESAY_DATA)" --methods all --match exact && \
		$(BIN)/resay bench phd --data "$(RESAY_DATA)" --methods reverse_validation; \
	else echo "phd skipped: no recordings in '$(RESAY_DATA)'; set RESAY_DATA"; fi

# From the tests, which are no part of the package.
bench-attacks: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m attacks

# READER=DIR: with a judge from elsewhere, the module `reader` in that folder.
bench-handbook: $(VENV)/.dev
	$(PERFORMANCE) handbook $(if $(READER),--reader "$(READER)")

PERFORMANCE = PYTHONPATH=tests $(BIN)/python -m performance
bench-performance: $(VENV)/.dev
	$(PERFORMANCE) speed --data "$(RESAY_DATA)"
	$(PERFORMANCE) batch
	$(PERFORMANCE) disk
	$(PERFORMANCE) growth
	$(PERFORMANCE) inference --data "$(RESAY_DATA)"
	$(PERFORMANCE) latency
	$(PERFORMANCE) clients
	$(PERFORMANCE) clients-at-once
	$(PERFORMANCE) gateway-cpu
	$(PERFORMANCE) regenerate
	$(PERFORMANCE) folder
	$(PERFORMANCE) chaos

# Each in its own environment; who does not install is skipped, and so is a torch for GPUs.
PEERS := .venv-peers
bench-peers: $(VENV)/.dev
	$(PERFORMANCE) peers --data "$(RESAY_DATA)" --environments $(PEERS)

# Fails where a ratio is worse than in tests/performance/ratios.json.
compare-performance: $(VENV)/.dev
	$(PERFORMANCE) ratios --data "$(RESAY_DATA)"

clean:
	rm -rf $(VENV) $(CLEAN) $(MATRIX) $(FRAMEWORKS) $(PROXY) $(PEERS) build dist .pytest_cache .ruff_cache .hypothesis

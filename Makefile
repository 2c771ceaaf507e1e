# Everything happens in .venv; only Python 3.10+ and make are needed to begin with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The versions of all packages. Each other file in requirements/ lists those of one environment, with what they
# require: nothing is resolved. `make lock` writes them.
PINS := --constraint requirements/all.txt
# The three distributions of this repository.
EDITABLE := --editable . --editable server --editable lab
PROJECTS := pyproject.toml server/pyproject.toml lab/pyproject.toml
# What is not imported is never compiled.
PIP := python -m pip install --quiet --disable-pip-version-check --no-compile
# $(call install,VENV,FILE). uv unpacks the same packages in an eighth of pip's time; where it fails, pip does it.
# It copies, because nltk refuses to read files with several hard links.
define install
	@$(1)/bin/$(PIP) $(PINS) uv && $(1)/bin/uv pip install --quiet --no-deps --link-mode copy --python $(1)/bin/python --requirement $(2) $(EDITABLE) || \
		$(1)/bin/$(PIP) --no-deps --requirement $(2) $(EDITABLE)
endef
SOURCES := src integrations server lab tests examples hatch_build.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-kernel test-benches test-extras test-matrix test-frameworks test-ecosystem test-mutants test-proxy docs reference pictures dist sbom licences lint format bench bench-grounded bench-research bench-attacks bench-handbook bench-performance bench-peers compare-performance lock clean

help:
	@echo "make demo                 catch a hallucinated sentence, with a simulated provider (light install)"
	@echo "make test                 run the test suite"
	@echo "make test-kernel          run the guard's own tests, without any extra (three minutes)"
	@echo "make lint                 run ruff and the strict type checker"
	@echo "make format               format the code"
	@echo "make docs                 build the documentation in build/site, run its notebooks, and check its links"
	@echo "make dist                 build the wheels and sdists of the three distributions twice, and compare them"
	@echo "make bench                run the published benchmarks (needs data: RESAY_DATA=DIR)"
	@echo "make compare-performance  compare performance ratios with the stored ones"
	@echo "make lock                 write requirements/*.txt (UPGRADE=--upgrade: with the newest versions)"
	@echo "make clean                delete all environments and build outputs"
	@echo
	@echo "Special test runs (see CONTRIBUTING.md): make test-benches, test-extras, test-matrix, test-frameworks,"
	@echo "test-ecosystem, test-proxy, test-mutants. Measurements: make bench-grounded, bench-research, bench-attacks, bench-handbook,"
	@echo "bench-performance, bench-peers. For releases: make pictures, sbom, licences."

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: requirements/demo.txt $(PROJECTS) | $(BIN)/python
	$(call install,$(VENV),$<)
	@touch $@

# The builds of torch for one version require different packages, which pip finds out.
$(VENV)/.dev: requirements/dev.txt $(PROJECTS) | $(BIN)/python
	$(call install,$(VENV),$<)
	@$(BIN)/$(PIP) $(PINS) torch
	@touch $@ $(VENV)/.demo

$(VENV)/.benches: requirements/benches.in $(VENV)/.dev
	@$(BIN)/$(PIP) $(PINS) --requirement $<
	@touch $@

# Needs uv, which is among the development tools. Versions change only where they must.
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --no-annotate \
	--no-emit-package resay --no-emit-package resay-lab --no-emit-package resay-server \
	--custom-compile-command 'make lock' pyproject.toml
.PHONY: lock
lock: $(VENV)/.dev
	$(LOCK) $(UPGRADE) --all-extras requirements/benches.in requirements/docs.in --output-file requirements/all.txt
	$(LOCK) $(PINS) --extra dev --no-emit-package torch --output-file requirements/dev.txt
	$(LOCK) $(PINS) --extra demo --output-file requirements/demo.txt
	$(LOCK) $(PINS) --extra calibrate --extra mcp --extra server requirements/docs.in --output-file requirements/docs.txt
	$(LOCK) $(UPGRADE) --extra anthropic --extra litellm --extra openai --extra server requirements/proxy.in \
		--output-file requirements/proxy.txt

demo: $(VENV)/.demo
	$(BIN)/resay demo

# Two processes: one imports the frameworks and SDKs, the other torch. With pytest-xdist every worker
# would import all of them.
TESTED_APART := $(wildcard tests/test_*.py) \
	$(addprefix tests/,_internal adapters attacks server integrations policy providers simulation testing)
.PHONY: test-apart test-others

# Tests start many Python processes: without bytecode, each would compile the sources again.
test: export PYTHONDONTWRITEBYTECODE :=
test:
	@$(MAKE) --no-print-directory $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs 2 --keep-going test-apart test-others

# The guard's own tests, where nothing is installed but `resay` and what runs tests: first and fast.
KERNEL := .venv-kernel
KERNEL_TESTED := tests/test_*.py $(addprefix tests/,_internal cli core engine lang models policy providers reporting retrieval scorers)
test-kernel:
	@$(PYTHON) -m venv $(KERNEL)
	@$(KERNEL)/bin/$(PIP) $(PINS) --editable . hypothesis pytest pytest-timeout pytest-xdist
	$(KERNEL)/bin/python -m pytest --numprocesses 2 --dist loadfile $(KERNEL_TESTED)

test-apart:
	$(BIN)/python -m pytest $(TESTED_APART)

test-others:
	$(BIN)/python -m pytest $(TESTED_APART:%=--ignore=%)

RESAY_DATA ?= ../shared/data

# Tests that take long, or need the benchmark data.
test-benches: $(VENV)/.benches
	RESAY_TEST_BENCHES=1 $(if $(wildcard $(RESAY_DATA)),RESAY_DATA="$(abspath $(RESAY_DATA))") \
		$(BIN)/python -m pytest --numprocesses 2 --dist loadfile tests/lab/batch tests/lab/benchmarks tests/research tests/performance \
		$$(grep -rl --include='test_*.py' data_dir tests --exclude-dir benchmarks)

# The newest row has no constraints: it shows whether newer releases break something.
MATRIX := .venv-matrix
MATRIX_ROWS := $(addprefix $(MATRIX)/,oldest newest openai3)
MATRIX_TESTED = tests/server/gateway tests/integrations tests/providers
# litellm's responses and tool calls import mcp, which it does not require itself.
MATRIX_TOOLS := fakeredis hypothesis jsonschema mcp openapi-spec-validator opentelemetry-sdk \
	pytest pytest-timeout pytest-xdist
# `resay` comes first: pip 23 does not look for it again once another project requires it.
MATRIX_NEEDS = --editable '.[anthropic,demo,langchain,litellm,llamaindex,redis]' --editable server --editable lab \
	'langchain>=1.2.10,<2' 'langchain-openai>=1.1,<2' 'langchain-tests>=1.0,<2' \
	llama-index-llms-openai-like

.PHONY: $(MATRIX_ROWS)
$(MATRIX)/oldest: MATRIX_PINS := --constraint requirements/oldest.txt
# LangChain's and LlamaIndex's packages for OpenAI still require version 2.
$(MATRIX)/openai3: MATRIX_NEEDS := --editable '.[anthropic,litellm,openai,redis,server]' --editable server --editable lab 'openai>=3,<4'
$(MATRIX)/openai3: MATRIX_TESTED := tests/server/gateway tests/providers \
	$(addprefix tests/integrations/resay_,anthropic litellm openai)
$(MATRIX_ROWS):
	@$(PYTHON) -m venv $@
	@$@/bin/python -m pip install --quiet --disable-pip-version-check \
		--upgrade --upgrade-strategy eager $(MATRIX_PINS) $(MATRIX_NEEDS) $(MATRIX_TOOLS)
	@echo "$(@F):"
	@$@/bin/python -m pip list --disable-pip-version-check --format freeze | \
		grep -E '^(anthropic|langchain|langchain-core|langgraph|langchain-openai|llama-index-core|litellm|openai)='
	RESAY_CASES=all $@/bin/python -m pytest --numprocesses 2 --dist loadfile $(MATRIX_TESTED)

test-matrix: $(MATRIX_ROWS)

# The proxy requires older versions of two packages than everything else.
PROXY := .venv-proxy

test-proxy:
	@$(PYTHON) -m venv $(PROXY)
	$(call install,$(PROXY),requirements/proxy.txt)
	RESAY_TEST_PROXY=1 $(PROXY)/bin/python -m pytest tests/proxy

test-mutants: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m mutants

# An environment for each framework: they require different versions of the same packages.
FRAMEWORKS := .venv-frameworks
FRAMEWORK_NAMES := $(basename $(notdir $(wildcard tests/frameworks/*.txt)))

$(FRAMEWORKS)/node/.installed: tests/frameworks/package.json
	@mkdir -p $(@D)
	@cp $< $(@D)
	@npm install --silent --no-audit --no-fund --prefix $(@D)
	@touch $@

$(FRAMEWORKS)/%/.installed: tests/frameworks/%.txt $(PROJECTS)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[openai]' --editable server --editable lab --requirement $<
	@touch $@

test-frameworks: $(VENV)/.dev $(patsubst %,$(FRAMEWORKS)/%/.installed,$(FRAMEWORK_NAMES) node)
	@rm -f $(FRAMEWORKS)/versions
	RESAY_TEST_FRAMEWORKS=$(FRAMEWORKS) $(BIN)/python -m pytest tests/frameworks
	@PYTHONPATH=tests $(BIN)/python -m support.versions frameworks $(FRAMEWORKS)/versions

# The site, the notebooks that are part of it, and its links. Nothing is loaded from a network but the packages.
DOCS := .venv-docs

$(DOCS)/.installed: requirements/docs.txt $(PROJECTS)
	@$(PYTHON) -m venv $(DOCS)
	$(call install,$(DOCS),$<)
	@touch $@

# The pages of docs/reference, after a change to a setting or to the description of a method.
reference: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m website.reference

docs: $(DOCS)/.installed
	PYTHONPATH=tests $(DOCS)/bin/python -m website.pages

# The same commit gives the same files: built here, and from a copy in another folder with other times and permissions.
AGAIN := build/again
BUILD = SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(abspath $(BIN))/python -m build --no-isolation
dist: $(VENV)/.dev
	@rm -rf dist $(AGAIN)
	@mkdir -p $(AGAIN)
	@umask 077; git archive HEAD | tar --extract --touch --directory $(AGAIN)
	@for project in . server lab; do \
		$(BUILD) --outdir dist $$project >/dev/null && \
		$(BUILD) --outdir $(AGAIN)/dist $(AGAIN)/$$project >/dev/null || exit 1; done
	@cd dist && sha256sum *.whl *.tar.gz > ../build/SHA256SUMS
	@cd $(AGAIN)/dist && sha256sum --check ../../SHA256SUMS
	@cat build/SHA256SUMS

# What installing the wheels installs, as CycloneDX.
SBOM := .venv-sbom
sbom: dist
	@$(BIN)/uv venv --quiet --clear $(SBOM)
	@$(BIN)/uv pip install --quiet --python $(SBOM)/bin/python dist/*.whl
	$(BIN)/uv tool run --quiet --from 'cyclonedx-bom>=7.2,<8' cyclonedx-py environment --pyproject pyproject.toml \
		--mc-type library --output-reproducible --validate --output-file build/resay.cdx.json $(SBOM)/bin/python

# Each file has a licence and a copyright notice, by REUSE.toml.
licences: $(VENV)/.dev
	$(BIN)/uv tool run --quiet --from 'reuse>=6,<7' reuse lint

# Needs Chromium.
pictures: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m website.pictures

# An environment for each version of an observer's client and of an evaluation tool, with the wheel.
ECOSYSTEM := .venv-ecosystem
ECOSYSTEM_NAMES := $(basename $(notdir $(wildcard tests/ecosystem/*.txt)))
ECOSYSTEM_INSTALLED := $(ECOSYSTEM_NAMES:%=$(ECOSYSTEM)/%/.installed)

$(ECOSYSTEM)/%/.installed: tests/ecosystem/%.txt $(PROJECTS)
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $< . ./server ./lab
	@touch $@

$(ECOSYSTEM)/node/.installed: tests/ecosystem/package.json
	@mkdir -p $(@D)
	@cp $< $(@D)
	@npm install --silent --no-audit --no-fund --prefix $(@D)
	@touch $@

test-ecosystem: $(VENV)/.dev $(ECOSYSTEM_INSTALLED) $(ECOSYSTEM)/node/.installed
	@rm -rf $(ECOSYSTEM)/dist $(ECOSYSTEM)/versions
	@for project in . server lab; do \
		$(BIN)/python -m build --wheel --no-isolation --outdir $(ECOSYSTEM)/dist $$project > $(ECOSYSTEM)/build.log || exit 1; done
	@for name in $(ECOSYSTEM_NAMES); do $(ECOSYSTEM)/$$name/bin/python -m pip install --quiet \
		--disable-pip-version-check --no-deps --force-reinstall $(ECOSYSTEM)/dist/*.whl || exit 1; done
	RESAY_TEST_ECOSYSTEM=$(abspath $(ECOSYSTEM)) $(BIN)/python -m pytest tests/ecosystem
	@PYTHONPATH=tests $(BIN)/python -m support.versions ecosystem $(ECOSYSTEM)/versions

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
		$(BIN)/resay bench ensemble --data "$(RESAY_DATA)" --judge recorded:gemma4-31b; \
	else echo "wikibio skipped: no data in '$(RESAY_DATA)'; set RESAY_DATA"; fi
	@if [ -f "$(RESAY_DATA)/phd_recorded.jsonl" ]; then \
		$(BIN)/resay bench phd --data "$(RESAY_DATA)" --methods all --match exact && \
		$(BIN)/resay bench phd --data "$(RESAY_DATA)" --methods reverse_validation; \
	else echo "phd skipped: no recordings in '$(RESAY_DATA)'; set RESAY_DATA"; fi

# Downloads data sets and models: answers and claims beside their documents. Scores that were recorded are not
# computed again; LLM-AggreFact needs HF_TOKEN.
GROUNDED := build/grounded
LIMIT := 100
bench-grounded: $(VENV)/.dev
	$(BIN)/resay bench fetch ragtruth shroom $(if $(HF_TOKEN),aggrefact) --data $(GROUNDED)
	$(BIN)/resay bench grounded --data $(GROUNDED) --limit $(LIMIT) --record --markdown > $(GROUNDED)/table.md
	@cat $(GROUNDED)/table.md

# What the defaults rest on; the data must be there.
RESEARCH = PYTHONPATH=tests $(BIN)/python -m research
bench-research: $(VENV)/.dev
	$(RESEARCH) defaults --data "$(RESAY_DATA)"
	$(RESEARCH) thresholds --data "$(RESAY_DATA)"
	$(RESEARCH) frontier --data "$(RESAY_DATA)"
	$(RESEARCH) adaptive --data "$(RESAY_DATA)" --judge recorded:gemma4-31b
	$(RESEARCH) cascade --data "$(RESAY_DATA)" --judge recorded:gemma4-31b
	$(RESEARCH) retrieval --data "$(RESAY_DATA)"

# From the tests, which are not part of the package.
bench-attacks: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m attacks

# READER=DIR: with your own judge, the module `reader` in that folder.
bench-handbook: $(VENV)/.dev
	$(PERFORMANCE) handbook $(if $(READER),--reader "$(READER)")

PERFORMANCE = PYTHONPATH=tests $(BIN)/python -m performance
bench-performance: $(VENV)/.benches
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

# Each in its own environment; a library that cannot be installed is skipped, and so is torch for GPUs.
PEERS := .venv-peers
bench-peers: $(VENV)/.dev
	$(PERFORMANCE) peers --data "$(RESAY_DATA)" --environments $(PEERS)

# Fails if a ratio is worse than in tests/performance/ratios.json.
compare-performance: $(VENV)/.benches
	$(PERFORMANCE) ratios --data "$(RESAY_DATA)"

clean:
	rm -rf $(VENV) $(KERNEL) $(CLEAN) $(DOCS) $(SBOM) $(MATRIX) $(FRAMEWORKS) $(ECOSYSTEM) $(PROXY) $(PEERS) build dist .pytest_cache .ruff_cache .hypothesis

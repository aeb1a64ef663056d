# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0

VENV ?= .venv
BIN := $(VENV)/bin
READY_TO_RUN := $(VENV)/.ready-train
READY_TO_TEST := $(VENV)/.ready-dev
INSTALL_INPUTS := $(wildcard */pyproject.toml) constraints.txt scripts/setup \
	$(shell find host/native/src -name "*.[ch]pp" -o -name "*.inl") host/native/CMakeLists.txt host/native/pyproject.toml

# Options of `make run`; empty ones are left to the command line's own defaults.
TOPOLOGY ?=
SWITCH ?=
WORKERS ?=
CODEC ?=
EPOCHS ?=
QUORUM ?=
FAULTS ?=
SEED ?=
OUT ?=
RUN_OPTIONS = $(if $(TOPOLOGY),--topology $(TOPOLOGY)) $(if $(SWITCH),--switch $(SWITCH)) $(if $(WORKERS),--workers $(WORKERS)) \
	$(if $(CODEC),--codec $(CODEC)) $(if $(EPOCHS),--epochs $(EPOCHS)) \
	$(if $(QUORUM),--quorum $(QUORUM)) $(if $(FAULTS),--faults $(FAULTS)) $(if $(SEED),--seed $(SEED)) $(if $(OUT),--out $(OUT))

# A million schedules, or as many as SOAK_SECONDS allow where it is set.
SOAK_SCHEDULES ?= 1000000
SOAK_SECONDS ?=
SOAK_SEED ?= 0

# Pipes of the chip that make tofino packs binaries for: 2 or 4.
PIPES ?= 4

# Profile of one's own for make tofino-try; slots that are left empty are 16,384, shared out to the passes.
CHIP ?= tofino1
WORDS ?= 24
SLOTS ?=
PASSES ?= 1

# Processes that share the tests (pytest-xdist); 0: one after another in one. auto is 0 without root.
TEST_PROCESSES ?= auto

# Of each program under the sanitizers, and of all fuzzers together.
SANITIZE_SECONDS ?= 30
FUZZ_SECONDS ?= 600
FUZZ_SEED ?= 1

.PHONY: help run test test-quick test-code lint setup p4 tofino tofino-try generate soak bench native-sanitize fuzz model clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 17

run: $(READY_TO_RUN) ## train 4 workers through the P4 program (TOPOLOGY= SWITCH= WORKERS= CODEC= EPOCHS= QUORUM= FAULTS= SEED= OUT=)
	@$(BIN)/lanesum run $(RUN_OPTIONS)

test: $(READY_TO_TEST) lint test-code ## everything: lint, types, all tests (TEST_PROCESSES=)

test-quick: $(READY_TO_TEST) lint ## the same in a third of the time: no trainings, measurements, sanitizers, soaks and random searches
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) -m "not long"

test-code: $(READY_TO_TEST)
	$(BIN)/python -m pytest -n $(TEST_PROCESSES)

lint: $(READY_TO_TEST) ## ruff and mypy
	$(BIN)/ruff check --quiet --output-format concise .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports
	$(BIN)/mypy

setup: $(READY_TO_TEST) ## only make the virtual environment and install

p4: $(READY_TO_TEST) ## compile p4src (needs p4c-bm2-ss on PATH) and rewrite p4src/build
	$(BIN)/python -m lanesum_control.p4build

tofino: $(READY_TO_TEST) ## compile p4src for Tofino (needs p4c-barefoot and bfas on PATH), rewrite p4src/build/tofino; binaries for PIPES= pipes go to out/tofino
	$(BIN)/python -m lanesum_control.tofino.build --binaries out/tofino --pipes $(PIPES)

tofino-try: $(READY_TO_TEST) ## try a profile of your own for Tofino and print what it takes (CHIP=tofino1|tofino2 WORDS= SLOTS= PASSES=)
	@$(BIN)/python -m lanesum_control.tofino.build --chip $(CHIP) --words $(WORDS) $(if $(SLOTS),--slots $(SLOTS)) --passes $(PASSES)

generate: $(READY_TO_TEST) ## rewrite what is generated: P4 headers, tables in the docs, the topology schema
	$(BIN)/python -m lanesum_lab.generate
	$(BIN)/lanesum topology schema > topologies/schema.json
	$(BIN)/lanesum faults schema > faults/schema.json

soak: $(READY_TO_TEST) ## random schedules of the simulator (SOAK_SCHEDULES= SOAK_SECONDS= SOAK_SEED=)
	$(BIN)/python -m lanesum_lab.simulator --schedules $(SOAK_SCHEDULES) --seed $(SOAK_SEED) \
		$(if $(SOAK_SECONDS),--seconds $(SOAK_SECONDS)) --save out/failing-schedule.json

bench: $(READY_TO_RUN) ## switch benchmark, beside BMv2 where it is on PATH
	$(BIN)/lanesum bench switch

native-sanitize: $(READY_TO_TEST) ## the compiled part and its tests under the sanitizers (SANITIZE_SECONDS= for each program)
	scripts/native $(VENV) check $(SANITIZE_SECONDS)
	scripts/native $(VENV) threads $(SANITIZE_SECONDS)
	scripts/native $(VENV) python

fuzz: $(READY_TO_TEST) ## random datagrams to the compiled server and worker (FUZZ_SECONDS= FUZZ_SEED=)
	FUZZ_SEED=$(FUZZ_SEED) scripts/native $(VENV) fuzz $(FUZZ_SECONDS)

model: $(READY_TO_RUN) ## check the model of the slot protocol (needs spin and gcc on PATH)
	@$(BIN)/python models/check.py

clean: ## remove what make made, but not p4src/build
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY_TO_RUN): $(INSTALL_INPUTS)
	@scripts/setup $(VENV)
	@touch $@

$(READY_TO_TEST): $(INSTALL_INPUTS)
	@scripts/setup $(VENV) dev
	@touch $@ $(READY_TO_RUN)

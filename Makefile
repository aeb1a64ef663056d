# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0

VENV ?= .venv
BIN := $(VENV)/bin
READY_TO_RUN := $(VENV)/.ready-train
READY_TO_TEST := $(VENV)/.ready-dev
CPP_SOURCES := $(shell find host/native -name "*.[ch]pp" -o -name "*.inl")
INSTALL_INPUTS := $(wildcard */pyproject.toml) constraints.txt scripts/setup scripts/p4runtime-shell.txt \
	$(filter host/native/src/%,$(CPP_SOURCES)) host/native/CMakeLists.txt host/native/pyproject.toml

# Options of `make run`; `lanesum run` has the defaults of empty ones.
TOPOLOGY ?=
SWITCH ?=
WORKERS ?=
CODEC ?=
EPOCHS ?=
QUORUM ?=
CERTIFIED ?=
FAULTS ?=
SEED ?=
RATE ?=
OUT ?=
RUN_OPTIONS = $(if $(TOPOLOGY),--topology $(TOPOLOGY)) $(if $(SWITCH),--switch $(SWITCH)) $(if $(WORKERS),--workers $(WORKERS)) \
	$(if $(CODEC),--codec $(CODEC)) $(if $(EPOCHS),--epochs $(EPOCHS)) \
	$(if $(QUORUM),--quorum $(QUORUM)) $(if $(CERTIFIED),--certified) $(if $(FAULTS),--faults $(FAULTS)) $(if $(SEED),--seed $(SEED)) $(if $(RATE),--rate $(RATE)) $(if $(OUT),--out $(OUT))

# Schedules of `make soak`; SOAK_SECONDS, if set, ends the run earlier. SOAK_OPTIONS=--certified flips bits.
SOAK_SCHEDULES ?= 1000000
SOAK_SECONDS ?=
SOAK_SEED ?= 0
SOAK_OPTIONS ?=

# Flips of `make flips`, at all places and targets together.
FLIPS ?= 100000

# Pipes of the chip for which `make tofino` packs binaries: 2 or 4.
PIPES ?= 4

# Custom profile of `make tofino-try`. Without SLOTS, 16,384 are divided by the number of passes.
CHIP ?= tofino1
WORDS ?= 24
SLOTS ?=
PASSES ?= 1

# Profile, frames and first seed of `make tofino-model`.
MODEL_PROFILE ?= tofino1-w32
MODEL_FRAMES ?= 20000
MODEL_SEED ?= 0

# Services of `make install-service`, and the root below which it installs; empty: this machine.
SERVICES ?= server controller switch
DESTDIR ?=
PYTHON ?= python3

# Processes that run tests in parallel (pytest-xdist). 0 runs all tests in one process; auto is 0 without root.
TEST_PROCESSES ?= auto

# Seconds of each program under the sanitizers, and of each target that fuzzes.
SANITIZE_SECONDS ?= 30
FUZZ_SECONDS ?= 600
FUZZ_SEED ?= 1

# Seconds of each flood.
FLOOD_SECONDS ?= 60

# Jobs of `make operator-day`.
DAY_JOBS ?= 60

# Folder of p4c's samples for `make p4c-samples` and `make bmv2-compare`: testdata/p4_16_samples.
P4C_SAMPLES ?=

# Random programs of `make bmv2-compare`, programs of p4smith, and the first seed.
RANDOM_PROGRAMS ?= 0
SMITH_PROGRAMS ?= 0
COMPARE_SEED ?= 0

.PHONY: help run test test-all test-rest lint format setup docs p4 tofino tofino-try tofino-model generate soak flips operator-day bench native-sanitize audit \
	install-service fuzz hold p4c-samples bmv2-compare fuzz-programs fuzz-files fuzz-grpc fuzz-udp model clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 17

run: $(READY_TO_RUN) ## train 4 workers through the P4 program (TOPOLOGY= SWITCH= WORKERS= CODEC= EPOCHS= QUORUM= CERTIFIED= FAULTS= SEED= RATE= OUT=)
	@$(BIN)/lanesum run $(RUN_OPTIONS)

test: $(READY_TO_TEST) lint ## run lint, types and the tests that guard the product (TEST_PROCESSES=)
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) -m "not long"

test-all: test test-rest ## also run soaks, random searches, trainings, other profiles, sanitizers and tests of benchmarks

test-rest: $(READY_TO_TEST)
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) -m long

lint: $(READY_TO_TEST) ## check lint rules, format, style of text and names, import directions and types
	$(BIN)/ruff check --quiet --output-format concise .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP_SOURCES)
	$(BIN)/python -m tests.style_check
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports
	$(BIN)/mypy

format: $(READY_TO_TEST) ## format Python and C++
	$(BIN)/ruff format --quiet .
	$(BIN)/clang-format -i $(CPP_SOURCES)

setup: $(READY_TO_TEST) ## make the virtual environment and install everything into it

p4: $(READY_TO_TEST) ## compile p4src for BMv2 into p4src/build (needs p4c-bm2-ss on PATH)
	$(BIN)/python -m lanesum_lab.builds.bmv2

tofino: $(READY_TO_TEST) ## compile p4src for Tofino into p4src/build/tofino and out/tofino (needs p4c-barefoot and bfas on PATH; PIPES=)
	$(BIN)/python -m lanesum_lab.builds.tofino --binaries out/tofino --pipes $(PIPES)

tofino-try: $(READY_TO_TEST) ## print the resources of a custom Tofino profile (CHIP=tofino1|tofino2 WORDS= SLOTS= PASSES=)
	@$(BIN)/python -m lanesum_lab.builds.tofino --chip $(CHIP) --words $(WORDS) $(if $(SLOTS),--slots $(SLOTS)) --passes $(PASSES)

tofino-model: $(READY_TO_TEST) ## compare random frames on the chip's model (needs the model's harness on PATH; MODEL_PROFILE= MODEL_FRAMES= MODEL_SEED=)
	LANESUM_TOFINO_BINARIES=out/tofino $(BIN)/python -m bmv2_tests.chip_frames --profile $(MODEL_PROFILE) --frames $(MODEL_FRAMES) --seed $(MODEL_SEED)

generate: $(READY_TO_TEST) ## rewrite generated files: P4 and C++ constants, tables of the documents, page of commands, JSON schemas
	$(BIN)/python -m lanesum_lab.generate
	$(BIN)/lanesum topology schema > topologies/schema.json
	$(BIN)/lanesum faults schema > faults/schema.json

docs: $(READY_TO_TEST) ## build the documentation site into out/site; a dead link is an error
	[ -x $(BIN)/mkdocs ] || $(BIN)/pip install --quiet -c constraints.txt -e "lab[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

soak: $(READY_TO_TEST) ## run random schedules in the simulator (SOAK_SCHEDULES= SOAK_SECONDS= SOAK_SEED= SOAK_OPTIONS=)
	$(BIN)/python -m tests.simulator --schedules $(SOAK_SCHEDULES) --seed $(SOAK_SEED) \
		$(if $(SOAK_SECONDS),--seconds $(SOAK_SECONDS)) $(SOAK_OPTIONS) --save out/failing-schedule.json

flips: $(READY_TO_TEST) ## flip single bits of registers, packets and server memory in certified rounds (FLIPS= SEED=)
	$(BIN)/python -m tests.flips --flips $(FLIPS) $(if $(SEED),--seed $(SEED)) --out out/flips.json

operator-day: $(READY_TO_TEST) ## work an operator's day while jobs sum, and print what each step cost (DAY_JOBS=)
	$(BIN)/python -m tests.operator_day --jobs $(DAY_JOBS) --json out/operator-day.json

bench: $(READY_TO_RUN) ## measure the embedded switch, and BMv2 if it is on PATH
	$(BIN)/lanesum bench switch

native-sanitize: $(READY_TO_TEST) ## run the native extension under sanitizers (SANITIZE_SECONDS= per program)
	scripts/native $(VENV) check $(SANITIZE_SECONDS)
	scripts/native $(VENV) threads $(SANITIZE_SECONDS)
	scripts/native $(VENV) python

fuzz: $(READY_TO_TEST) ## fuzz the native server and worker (FUZZ_SECONDS= FUZZ_SEED=)
	FUZZ_SEED=$(FUZZ_SEED) scripts/native $(VENV) fuzz $(FUZZ_SECONDS)

hold: $(READY_TO_TEST) ## hold 10,000 idle and 1,000 slow connections to a controller while a job lives
	$(BIN)/python -m tests.attack.held --seconds 60

floods: $(READY_TO_TEST) ## flood a controller by callers without identity, and print what members notice (FLOOD_SECONDS=)
	$(BIN)/python -m tests.attack.floods --seconds $(FLOOD_SECONDS)

fuzz-programs: $(READY_TO_TEST) ## fuzz the loaders of switch programs (FUZZ_SECONDS= FUZZ_SEED=)
	$(BIN)/python -m tests.softswitch.bmv2.mutants --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

p4c-samples: $(READY_TO_TEST) ## run p4c's samples with packet tests on the embedded switch (needs p4c-bm2-ss on PATH; P4C_SAMPLES=)
	$(BIN)/python -m tests.p4c_samples $(or $(P4C_SAMPLES),$(error P4C_SAMPLES= names p4c's testdata/p4_16_samples))

bmv2-compare: $(READY_TO_TEST) ## compare the embedded switch with BMv2 by random packets (needs BMv2 on PATH, samples p4c-bm2-ss; P4C_SAMPLES= RANDOM_PROGRAMS= SMITH_PROGRAMS= COMPARE_SEED=)
	$(BIN)/python -m tests.p4c_samples.compare $(P4C_SAMPLES) --random $(RANDOM_PROGRAMS) --smith $(SMITH_PROGRAMS) --seed $(COMPARE_SEED)

fuzz-files: $(READY_TO_TEST) ## fuzz the readers of all other files: tickets, topologies, state, P4Info ... (FUZZ_SECONDS= FUZZ_SEED=)
	$(BIN)/python -m tests.fuzz.files --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

fuzz-grpc: $(READY_TO_TEST) ## fuzz bodies to controller, server, P4Runtime and BF Runtime (FUZZ_SECONDS= FUZZ_SEED=)
	$(BIN)/python -m tests.fuzz.bodies --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

fuzz-udp: $(READY_TO_TEST) ## fuzz packets to server, workers and switch while a job sums (FUZZ_SECONDS= FUZZ_SEED=)
	$(BIN)/python -m tests.fuzz.datagrams --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

audit: $(READY_TO_TEST) ## compare pinned and installed packages with the review in dependencies.toml, without a network
	@$(BIN)/python -m tests.dependencies

model: $(READY_TO_RUN) ## check the Promela models exhaustively (needs spin and gcc on PATH)
	@$(BIN)/python models/check.py

install-service: ## install the services of systemd as root (SERVICES= DESTDIR=)
	[ -x $(DESTDIR)/opt/lanesum/bin/lanesum ] || { $(PYTHON) -m venv $(DESTDIR)/opt/lanesum && \
		$(DESTDIR)/opt/lanesum/bin/pip install --quiet -c constraints.txt ./host ./fabric ./control_plane ./softswitch; }
	[ -z "$(DESTDIR)" ] || grep -rIl --exclude-dir=lib "$(abspath $(DESTDIR))/opt/lanesum" $(DESTDIR)/opt/lanesum | \
		xargs -r sed -i "s|$(abspath $(DESTDIR))/opt/lanesum|/opt/lanesum|g"
	install -D -m 644 -t $(DESTDIR)/etc/systemd/system $(SERVICES:%=deploy/systemd/lanesum-%.service)
	for file in deploy/lanesum.toml topologies/star4.yaml; do \
		to=$(DESTDIR)/etc/lanesum/$$(basename $$file | sed s/star4/topology/); \
		[ -e $$to ] || install -D -m 644 $$file $$to; done
	[ -n "$(DESTDIR)" ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload

clean: ## remove the virtual environment, caches and out/
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY_TO_RUN): $(INSTALL_INPUTS)
	@scripts/setup $(VENV)
	@touch $@

$(READY_TO_TEST): $(INSTALL_INPUTS)
	@scripts/setup $(VENV) dev
	@touch $@ $(READY_TO_RUN)

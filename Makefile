# Everything a developer types. `make` alone explains.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build run demo kafka test newest contract chaos lint format fuzz bench clean

# More flags for every call of swift, as: make test SWIFT_FLAGS="--scratch-path /fast/disk"
SWIFT_FLAGS ?=
export SWIFT_FLAGS

CHECKS := --explicit-target-dependency-import-check error
# Small types cross modules in the hot loop: without it their calls cost twenty times as much.
RELEASE := -c release -Xswiftc -cross-module-optimization $(CHECKS)
# Where the program is: a scratch path among the flags moves it.
BIN = $(if $(SWIFT_FLAGS),$(shell swift build $(SWIFT_FLAGS) -c release --show-bin-path),.build/release)
SOURCES := Package.swift Sources Tests Benchmarks Fuzz
# Passed on to the program: make run ARGS="--listen 127.0.0.1:9000"
ARGS ?=

help: ## this text
	@echo 'AdBrake: the brake for mobile ads. Begin with one of these:'
	@echo
	@echo '  make demo      see a fleet in trouble and the brake at work, on http://127.0.0.1:8080'
	@echo '  make run       all stages in one process, with a log of its own in adbrake.db'
	@echo '  make test      build and run the tests'
	@echo
	@echo 'All targets; those that need packages install what is missing:'
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sort \
		| awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'
	@echo
	@echo 'One suite: make test ARGS="--filter RuntimeTests". Options of the program:'
	@echo '  .build/release/adbrake --help'

setup: ## install the Debian packages that are missing
	@ops/setup.sh

build: setup ## the program, optimised: .build/release/adbrake
	swift build $(SWIFT_FLAGS) $(RELEASE) --product adbrake

run: build ## all stages in one process; ARGS are passed on
	$(BIN)/adbrake run $(ARGS)

demo: build ## as run, with a fleet in trouble played into it
	@ADBRAKE=$(BIN)/adbrake ops/demo.sh

kafka: ## a Kafka for development and tests: finds one or fetches one, says where
	@ops/kafka/find.sh --fetch
	@echo 'Start a broker with: ops/kafka/broker.sh start FOLDER'

test: setup ## the tests, with a summary at the end; ARGS go to swift test
	@ops/test.sh $(ARGS)

newest: setup ## the tests on Kafka with the newest librdkafka
	@ops/kafka/test-newest.sh

contract: build ## what the OpenAPI document says, tried on a running server with Schemathesis
	@ops/schemathesis.sh $(BIN)/adbrake

chaos: setup ## faults of every kind on three real Kafka brokers, a quarter of an hour; ARGS="--seed N"
	@ops/kafka/chaos.sh $(ARGS)

lint: ## format and scripts; the repository's own rules are among the tests
	swift format lint --strict --parallel -r $(wildcard $(SOURCES))
	@for script in ops/*.sh ops/*/*.sh .ci/run; do bash -n "$$script"; done
	@if command -v shellcheck >/dev/null; then shellcheck ops/*.sh ops/*/*.sh .ci/run; fi

format: ## bring the sources into the format that lint wants
	swift format -i --parallel -r $(wildcard $(SOURCES))

fuzz: setup ## libFuzzer on all that the outside sends, a minute each; FUZZ_SECONDS=600 for longer
	@ops/fuzz.sh $(ARGS)

bench: setup ## measure the parts on this machine
	swift build $(SWIFT_FLAGS) $(RELEASE)
	$(BIN)/adbrake bench engine
	$(BIN)/LogBench

clean: ## remove what was built
	rm -rf .build

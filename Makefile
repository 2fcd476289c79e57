# Everything here works in a fresh clone with Go alone; what needs more fetches
# it into .tools/ or says that it is skipped.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
GOFLAGS     ?=
MAKEFLAGS   += --no-builtin-rules --warn-undefined-variables

GO      ?= go

# Without C code, a build is static, needs no compiler, and takes half of the
# time: the compression library of Pebble has a version in Go. The stamp of the
# version control would fail in a clone that belongs to another user (the linker
# writes the version in), the paths are those of a release, and what a debugger needs,
# a fifth of the compiler's work, is left out. Builds, tests and lint share the
# compiled packages, because all have these flags.
export CGO_ENABLED := 0
export GOFLAGS     := $(strip $(GOFLAGS) -buildvcs=false -trimpath -gcflags=all=-dwarf=false)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LINK    := -ldflags "-s -w -X main.version=$(VERSION)"

TEST_TIMEOUT ?= 30m
TEST_P       ?= 4
FUZZ_SECONDS ?= 15
CHAOS_TIME   ?= 20m
CHAOS_ARGS   ?=
ATTACK_TIME  ?= 20s
BENCH        ?= .
BENCH_PKGS   ?= ./...

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## a space to look at, with a scene; ARGS has further options
	@mkdir -p bin
	@if [[ ! -x bin/meup-gateway ]]; then echo "The first build downloads 100 MB of modules and takes a few minutes."; fi
	@$(GO) build $(LINK) -o bin/meup-gateway ./cmd/meup-gateway
	@if [[ -t 1 ]]; then set -m; fi; bin/meup-gateway demo $(ARGS) || exit $$? # at a terminal a job of its own: Ctrl-C reaches the demo, and not make

# Options of the program, such as ARGS='--model ollama:qwen3'.
ARGS ?=
# The NATS server of the queue; without it the worker starts one.
REASONING_NATS_URL ?=

.PHONY: reasoner
reasoner: ## the Reasoning API on 127.0.0.1:9000; ARGS has further options
	$(GO) run ./cmd/meup-reasoner serve $(ARGS)

.PHONY: reasoner-worker
reasoner-worker: ## a worker of its queue, on REASONING_NATS_URL or a NATS server of its own; ARGS has further options
	$(GO) run ./cmd/meup-reasoner worker $(if $(REASONING_NATS_URL),,--data meup-data/reasoner-queue) $(ARGS)

.PHONY: build
build: ## all programs, into bin/
	mkdir -p bin
	$(GO) build $(LINK) -o bin/ ./cmd/...

# Platforms of a release; all six by default.
PLATFORMS ?=

.PHONY: release
release: ## archives for six platforms, an OCI image, bills of materials and checksums, into dist/: VERSION=v1.2.3 PLATFORMS=linux/amd64,…
	$(GO) run ./scripts/release -version $(VERSION) -out dist $(if $(PLATFORMS),-platforms $(PLATFORMS)) $(if $(CERTS),-certs $(CERTS))

# PEM file with the certificate authorities of the image; none by default.
CERTS ?=

# A program with the race detector waits a second before it exits, but for this.
export GORACE = atexit_sleep_ms=20

# Where there is room in memory, the temporary files of tests are there: a sync to
# disk costs milliseconds. Programs may be forbidden there.
MEMORY     := $(shell [[ -w /dev/shm ]] && ! grep -q ' /dev/shm .*noexec' /proc/mounts && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 4000000 {print "/dev/shm"}')
TEST_FLAGS := -vet=off -ldflags=-w -timeout=$(TEST_TIMEOUT) -p=$(TEST_P)
GOTEST     := $(GO) run ./scripts/gotest
# Packages that take long start first.
TEST_PKGS  ?= ./internal/testing/webtest ./e2e ./cmd/meup ./internal/gateway ./sdk/conformance ./internal/journal/natsjournal ./...

# Packages that own concurrency.
RACE_PKGS ?= ./...

# Random order of tests in make race; their results are not cached then. Empty: as written.
SHUFFLE ?= on

# The race detector needs C code. What else could be C code, the resolver, the list of
# users and the compression of Pebble, is Go code as in every other build.
RACE := -race -tags=netgo,osusergo,pebblegozstd

# A compiler with this setting takes a sixth less of the processor, and up to a gigabyte more
# of memory. Tests run without it.
COMPILER := GOGC=400
# Compiles packages and their tests into the build cache, without linking them.
COMPILE  := $(GO) list -export -test -deps

# What tests need: packages of the network arrive while those of Go are compiled.
.PHONY: prepare
prepare:
	@$(MAKE) --no-print-directory --jobs=4 --output-sync compile install-npm install-web install-system

# One after the other, because of the lock of the system's packages.
.PHONY: install-system
install-system:
	@$(MAKE) --no-print-directory --jobs=1 install-python install-chromium

.PHONY: programs
programs: ## all programs, for tests, as testkit.Programs builds them
	$(GO) build -ldflags "-s -w" -o .tools/programs/ ./cmd/...

.PHONY: test
test: prepare test-web ## all tests that a change must pass
	$(if $(MEMORY),TMPDIR=$(MEMORY)) $(GOTEST) $(TEST_FLAGS) $(TEST_PKGS)

.PHONY: race
race: prepare programs ## the same tests with the race detector, in random order: RACE_PKGS=packages
	@CGO_ENABLED=1 $(COMPILER) $(COMPILE) $(RACE) $(RACE_PKGS) >/dev/null
	CGO_ENABLED=1 $(if $(MEMORY),TMPDIR=$(MEMORY)) $(GOTEST) $(TEST_FLAGS) $(RACE) $(if $(SHUFFLE),-shuffle=$(SHUFFLE)) $(RACE_PKGS)

.PHONY: slow
slow: race ## the race detector everywhere; faults, floods and attacks at full size, on a disk, with new random seeds; every fuzz target for FUZZ_SECONDS (15)
	mkdir -p .tools/tmp
	TMPDIR=$(CURDIR)/.tools/tmp MEUP_TEST_SLOW=1 MEUP_TEST_SEED=$(SEED) $(GOTEST) -each $(TEST_FLAGS) -count=1 -shuffle=on -timeout=4h $(TEST_PKGS)
	scripts/fuzz.sh $(FUZZ_SECONDS)

# The seed of random tests in make slow.
SEED ?= $(shell echo $$RANDOM)

.PHONY: test-web
test-web: programs ## types and tests of the web page, and whether its bundle is current
	scripts/test-web.sh all

.PHONY: check-web
check-web: ## whether the bundle of the web page is what its sources give
	scripts/test-web.sh

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZ_SECONDS (15), two at a time
	scripts/fuzz.sh $(FUZZ_SECONDS)

.PHONY: chaos
chaos: ## the programs under faults for CHAOS_TIME (20m) each scenario of docs/reliability.md; CHAOS_ARGS has further options
	MEUP_TEST_SLOW=1 MEUP_TEST_SEED=$(SEED) $(GO) test -count 1 -timeout 0 -run 'TestChaos' -v ./e2e -args -chaos $(CHAOS_TIME) $(CHAOS_ARGS)

.PHONY: attack
attack: ## attacks on a gateway, each for ATTACK_TIME (20s), with the bound on the acknowledgements of others
	MEUP_TEST_SLOW=1 $(GO) test -count 1 -timeout 0 -v ./e2e/attack -args -attack $(ATTACK_TIME) -attack.ack 5ms

.PHONY: conformance
conformance: ## the MCP conformance suite, and MCP clients of others, through a space
	scripts/install-npm.sh mcpclients
	$(GO) test -count 1 -timeout $(TEST_TIMEOUT) -v ./e2e/mcpclients

.PHONY: bench
bench: ## the benchmarks: BENCH=pattern BENCH_PKGS=packages
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(BENCH_PKGS)

.PHONY: bench-load
bench-load: ## load a real gateway beside JetStream that syncs each message; writes the table of docs/benchmarks.md (11 minutes, Linux)
	$(GO) run ./bench -write docs/benchmarks.md

.PHONY: bench-mcp
bench-mcp: ## a tool call through /mcp beside the same call directly (90 s)
	$(GO) run ./bench/mcp

.PHONY: bench-redaction
bench-redaction: ## the leak detector beside gitleaks, in a module of its own; writes bench/redaction/README.md (3 minutes)
	cd bench/redaction && $(GO) mod tidy && $(GO) vet ./... && $(GO) test ./... && $(GO) run . -write README.md

.PHONY: bench-page
bench-page: install-chromium ## measure the web page in a browser; writes bench/page/README.md (5 minutes)
	$(GO) test -run '^$$' -bench . -benchtime 3x -timeout $(TEST_TIMEOUT) ./bench/page -args -write README.md

.PHONY: screenshots
screenshots: install-chromium ## the pictures of the documentation, made anew in a browser, into docs/images
	$(GO) test -count 1 -run '^TestScreenshots$$|^TestRecording$$' -v ./internal/testing/webtest -args -screenshots

.PHONY: fmt
fmt: ## format the Go sources
	scripts/gofiles.sh | xargs -0 gofmt -s -w

.PHONY: compile
compile: ## all packages and their tests, for the build cache, without linking programs
	@$(COMPILER) $(COMPILE) ./... >/dev/null

.PHONY: lint
lint: ## golangci-lint, as .golangci.yml says
	linter=$$(scripts/golangci-lint.sh) && $(COMPILER) "$$linter" run ./...

.PHONY: generate
generate: install-web ## what is generated from other sources, the web page's bundle among it
	$(GO) generate ./...
	for p in meup meup-agent meup-gateway meup-reasoner; do $(GO) run ./cmd/$$p man --markdown >docs/reference/$$p.md; done

.PHONY: install-npm
install-npm: ## the programs of others that tests run against, into .tools/node and .tools/mcpclients
	scripts/install-npm.sh
	scripts/install-npm.sh mcpclients

.PHONY: sdk-typescript
sdk-typescript: install-web ## the TypeScript SDK, into sdk/typescript/dist
	node sdk/typescript/build.mjs

.PHONY: install-python
install-python: ## a Python with websockets for the tests of sdk/python, if there is none yet
	scripts/install-python.sh

.PHONY: install-web
install-web: ## what the web page is built from, into web/node_modules
	scripts/install-web.sh

.PHONY: install-chromium
install-chromium: ## the browser that the web page is tested in, if there is none yet
	scripts/install-chromium.sh

.PHONY: ci
ci: ## what is checked of every change
	.ci/run

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist

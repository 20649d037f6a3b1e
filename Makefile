# What a person types. .ci/run calls the same targets.

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
BIN ?= $(TARGET)/debug/boathook
PREFIX ?= $(HOME)/.local
APISERVER ?= $(TARGET)/apiserver/boathook-apiserver
DURATION ?= 1h
OUT ?= $(TARGET)/release-out
TABLE ?= $(TARGET)/charts.tsv

.PHONY: help demo test test-it test-guests test-go test-js check e2e node attack charts mutants bench build install release release-test release-twice guests interpreters scripts console apiserver fmt clean

help: ## this list
	@grep -E '^[a-z0-9%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-13s %s\n", $$1, $$2 }'

# One guest, and of the binary what it needs. It has a place of its own, so that target/debug/boathook stays the whole one.
demo: guest-registry-secret ## a hook copies a secret into a namespace that was created a moment ago (KEEP=1: play on)
	$(CARGO) build --locked --quiet --profile demo --package boathook --no-default-features --features cluster
	$(TARGET)/demo/boathook demo $(if $(KEEP),--keep)

test: guests interpreters scripts ## unit and integration tests, on the local cluster
	$(CARGO) test --locked --no-run
	CARGO_TARGET_DIR=$(abspath $(TARGET)) tools/build-go-guests
	$(CARGO) test --locked
	$(MAKE) test-guests test-go test-js

# What a crate's own tests need is that crate. Those of the whole, tests/it, are the package boathook.
test-%: ## the tests of one crate: test-core, test-kube, test-cluster, …; FILTER='queue::' runs some of them
	$(CARGO) test --locked --package boathook-$* $(FILTER)

test-it: guests interpreters scripts ## the tests of all crates together (tests/it); FILTER='sandbox::' runs some of them
	$(CARGO) test --locked --test it --no-run
	CARGO_TARGET_DIR=$(abspath $(TARGET)) tools/build-go-guests
	$(CARGO) test --locked --test it $(FILTER)

test-guests: ## the example hooks' own tests
	cd hooks-wasm && CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),hooks-wasm/target))/native $(CARGO) test --locked
	cd interpreters/jq && CARGO_TARGET_DIR=$(abspath $(or $(CARGO_TARGET_DIR),interpreters/jq/target))/native $(CARGO) test --locked

test-go: ## the tests of what is in Go: the SDK, its hooks, the shell interpreter, the chart engine
	@if command -v go >/dev/null; then for folder in sdk/go interpreters/shell interpreters/helm/differential hooks-wasm/go; do (cd $$folder && go test ./...) || exit; done; \
	else echo "sdk/go, interpreters and hooks-wasm/go are not tested: there is no Go"; fi

test-js: scripts ## the tests of the SDK for TypeScript
	cd sdk/js && npm test --silent

# What is in the table already is not compared again.
charts: ## renders the charts in DIR with the chart engine and with Helm's library, and adds the results to TABLE
	cd interpreters/helm/differential && go run . $(abspath $(DIR)) $(abspath $(TABLE))

check: ## formatting, lints, documentation, generated files
	tools/check

# The binary that the tests of `make test` run, for a release build takes longer than all of them; BIN names another.
e2e: guests interpreters scripts apiserver ## the real binary against a real kube-apiserver and the local cluster
	$(CARGO) test --locked --no-run
	CARGO=$(CARGO) tools/test-e2e $(TARGET) $(BIN) $(APISERVER)

node: guests apiserver ## deploy/ on a real node: kubelet, containerd, runc (root on Linux; else it is skipped)
	$(CARGO) test --locked --no-run
	CARGO=$(CARGO) tools/test-node $(TARGET)/node $(BIN) $(APISERVER) node::tests

# As it is shipped: latencies of a debug build are others.
attack: guests apiserver build ## four parties attack the operator on a real node, for an hour (DURATION=10m: for so long)
	BOATHOOK_ATTACK_DURATION=$(DURATION) BOATHOOK_ATTACK_QUIET=1 \
		CARGO=$(CARGO) tools/test-node $(TARGET)/node $(TARGET)/release/boathook $(APISERVER) --show-output attack::tests

mutants: guests apiserver ## takes each defence of the threat model out and expects its test to fail (ONLY='words': some of them; ONLY=--together: a first look)
	tools/mutants $(ONLY)

bench: build guests ## figures next to a bare kube-rs loop; see bench/RESULTS.md (tools/bench operators: next to other frameworks)
	tools/bench

build: ## target/release/boathook
	$(CARGO) build --locked --release

# The interpreters are where the program looks for them, compiled, so that no hook waits for that.
install: build interpreters ## boathook and its interpreters, in PREFIX (~/.local)
	install -d $(PREFIX)/bin $(PREFIX)/share/boathook/interpreters
	install $(TARGET)/release/boathook $(PREFIX)/bin/boathook
	install -m 644 interpreters/dist/*.wasm $(PREFIX)/share/boathook/interpreters
	$(PREFIX)/bin/boathook interpreters compile
	@command -v boathook >/dev/null || echo 'boathook is in $(PREFIX)/bin, which is not in PATH yet'

release: ## what each registry takes, of the commit, in OUT (target/release-out): binaries, image, chart, SDKs, checksums, provenance
	tools/release $(OUT)

release-test: ## installs each part of OUT and uses it (some minutes, and packages from their registries)
	tools/release-test $(OUT)

release-twice: ## two cold releases, and which files differ (an hour on two cores)
	tools/release-twice $(OUT)

guests: ## hooks-wasm/dist/NAME.wasm
	tools/build-guests

guest-%: ## hooks-wasm/dist/NAME.wasm alone: guest-registry-secret
	tools/build-guests $*

interpreters: ## interpreters/dist/NAME-VERSION.wasm, which script hooks share
	tools/build-interpreters

console: ## builds the page of the console, which is committed
	tools/build-console

scripts: ## packages and tools of hooks in TypeScript
	tools/build-scripts

apiserver: ## the real control plane for e2e (9 minutes the first time)
	tools/build-apiserver $(APISERVER)

fmt:
	$(CARGO) fmt --all
	cd hooks-wasm && $(CARGO) fmt

clean:
	$(CARGO) clean
	rm -rf hooks-wasm/target hooks-wasm/dist

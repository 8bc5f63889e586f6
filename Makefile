.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
RUNS := data/mini/runs
SECONDS ?= 300

.PHONY: help
help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pfgen_rs needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv .venv

# What running and compiling the package needs, a tenth of the development tools; both pin the same versions.
PINNED = $(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement
.venv/runtime: requirements.lock | .venv/bin/python
	$(PINNED) $<
	touch $@

.venv/installed: requirements-dev.lock | .venv/bin/python
	$(PINNED) $<
	touch $@

INSTALL = PATH="$(CURDIR)/$(BIN):$$PATH" MATURIN_PEP517_ARGS=--locked $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .

.PHONY: build
build: .venv/installed ## Make .venv, compile, and install the package into it
	$(INSTALL)

.PHONY: demo
demo: .venv/runtime ## Score the three bundled sample runs and print the leaderboard, without the development tools
	$(INSTALL)
	$(BIN)/pfgen-rs score $(RUNS)/faithful $(RUNS)/careless $(RUNS)/babbling --benchmark mini

.PHONY: test
test: build ## Run the tests but the slow ones (those of public data need PFGEN_DATA_DIR)
	cargo test --package pfgen-core --package pfgen-jpeval --package pfgen-lines --locked --quiet
	$(BIN)/pytest --numprocesses auto --dist worksteal -m 'not slow'

.PHONY: test-slow
test-slow: build ## Run the slow tests, which CI runs, too
	$(BIN)/pytest --numprocesses auto --dist worksteal -m slow

.PHONY: test-llm
test-llm: build .venv-llm/installed ## Generate, judge and run llm-jp-eval with a real, small model behind a real server, killed and resumed
	$(BIN)/python tests/support/llm_check.py .venv-llm

# Compiles llama.cpp, which takes about ten minutes on two cores, for instructions that every x86-64 processor of the last
# ten years has: built for those of the machine itself, it crashed on one with AMX. Nothing is taken from pip's cache,
# which may have been built so.
LLAMA_INSTRUCTIONS = -DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON
.venv-llm/installed: tests/llm-requirements.lock
	$(PYTHON) -m venv .venv-llm
	CMAKE_ARGS="$(LLAMA_INSTRUCTIONS)" .venv-llm/bin/python -m pip install --quiet --no-cache-dir --no-deps \
		--requirement tests/llm-requirements.lock
	touch $@

.PHONY: test-torch
test-torch: build .venv-torch/installed .venv-llm/installed ## Run the tests that need torch, transformers, Lightning and TRL (several GB; in CI weekly)
	PFGEN_LLM_ENV=.venv-llm .venv-torch/bin/python -m pytest tests/ask/test_engine_transformers.py \
		tests/ask/test_engine_probabilities.py tests/training \
		tests/integrations/test_lightning.py tests/integrations/test_transformers.py tests/test_examples.py

.venv-torch/installed: requirements-dev.lock
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet --no-deps --require-hashes --requirement requirements-dev.lock
	MATURIN_PEP517_ARGS=--locked PATH="$(CURDIR)/.venv-torch/bin:$$PATH" .venv-torch/bin/python -m pip install --quiet \
		--no-build-isolation --editable '.[lightning,transformers]' accelerate deepspeed gguf ninja trl
	touch $@

.PHONY: test-distributed
test-distributed: build .venv-distributed/installed ## Run the tests that need Ray, Spark (Java 17) and Dask (one GB; in CI weekly)
	PYSPARK_PYTHON=$(CURDIR)/.venv-distributed/bin/python .venv-distributed/bin/python -m pytest -rP \
		tests/distributed tests/integrations/test_arrow.py

.venv-distributed/installed: tests/distributed/requirements.txt
	$(PYTHON) -m venv .venv-distributed
	MATURIN_PEP517_ARGS=--locked PATH="$(CURDIR)/.venv/bin:$$PATH" .venv-distributed/bin/python -m pip install --quiet \
		--requirement $< --editable .
	touch $@

HARNESSES := datatrove flexeval nemo_curator
.PHONY: test-harnesses $(HARNESSES:%=test-%)
test-harnesses: $(HARNESSES:%=test-%) ## Test with harnesses and pipelines that want environments of their own (some gigabytes; in CI weekly)

$(HARNESSES:%=test-%): test-%: target/harnesses/%/installed
	target/harnesses/$*/bin/python -m pytest tests/integrations/harnesses/test_$*.py

target/harnesses/%/installed: tests/integrations/harnesses/%.txt
	$(PYTHON) -m venv target/harnesses/$*
	MATURIN_PEP517_ARGS=--locked target/harnesses/$*/bin/python -m pip install --quiet --constraint $< \
		--editable ".[$*]" hypothesis pytest
	touch $@

.PHONY: lint
lint: build ## Run every linter that CI runs
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked --quiet -- --deny warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest pfgen_rs._native
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/zizmor --offline --quiet --no-progress .github examples/gate
	$(BIN)/check-jsonschema --builtin-schema github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema github-actions examples/gate/action.yml
	$(BIN)/check-jsonschema --builtin-schema gitlab-ci examples/gate/gitlab-ci.yml

# The variable silences a notice about the generator's successor.
.PHONY: docs
docs: build ## Build the documentation site into target/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

.PHONY: bench
bench: build ## Measure speed and memory: a table, and target/bench.json (real responses with PFGEN_DATA_DIR)
	$(BIN)/python benches/run.py --json target/bench.json

FUZZED := index lines scorer store
DAMAGED := csv json questions
.PHONY: fuzz $(FUZZED:%=fuzz-%) $(DAMAGED:%=fuzz-%)
fuzz: $(FUZZED:%=fuzz-%) $(DAMAGED:%=fuzz-%) ## Fuzz native code and damaged files, SECONDS for each target (needs a nightly toolchain; no part of CI)

$(FUZZED:%=fuzz-%): fuzz-%: .fuzz-tools
	mkdir -p rust/fuzz/corpus/$*
	cd rust/fuzz && cargo +nightly fuzz run --fuzz-dir . $* corpus/$* seeds/$* -- -max_total_time=$(SECONDS) -max_len=2048

$(DAMAGED:%=fuzz-%): fuzz-%: build
	$(BIN)/python tests/support/mutations.py $* $(SECONDS)

.PHONY: .fuzz-tools
.fuzz-tools:
	@cargo +nightly --version >/dev/null 2>&1 || { \
		echo "fuzzing needs a nightly toolchain: install one with \`rustup toolchain install nightly\`"; exit 1; }
	@command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz

.PHONY: audit-licences
audit-licences: ## Check licences, sources and versions of the crates (cargo-deny, which it installs if absent)
	command -v cargo-deny >/dev/null || cargo install --locked cargo-deny
	cargo deny check licenses bans sources
	cargo deny --manifest-path rust/fuzz/Cargo.toml --config deny.toml check bans sources

# pip-audit only warns of what it cannot look up: --strict makes that an error, so that nothing passes unseen.
.PHONY: audit
audit: audit-licences target/audit/bin/pip-audit ## Look up known vulnerabilities of all dependencies, too (needs the network; no part of CI)
	cargo deny check advisories
	cargo deny --manifest-path rust/fuzz/Cargo.toml --config deny.toml check advisories
	target/audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements-dev.lock

target/audit/bin/pip-audit:
	$(PYTHON) -m venv target/audit
	target/audit/bin/python -m pip install --quiet pip-audit

.PHONY: sanitize
sanitize: ## Run the tests of native code that is unsafe under AddressSanitizer (needs a nightly toolchain; no part of CI)
	RUSTFLAGS=-Zsanitizer=address cargo +nightly test --package pfgen-core --package pfgen-lines --locked --lib --tests \
		--target x86_64-unknown-linux-gnu --target-dir target/sanitize

# Only the last crate is compiled and linked for the old glibc: maturin's --zig would compile all the others again,
# and what the linker finds in glibc depends on none of them.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
OLD_GLIBC = --compatibility manylinux_2_17 -- -C "linker=$(CURDIR)/rust/py/link-for-old-glibc"

.PHONY: wheel
wheel: .venv/installed ## Build a wheel into dist/ (on Linux for glibc 2.17 and newer)
	rm -f dist/*.whl
	. $(BIN)/activate && maturin build --release --locked --strip --out dist \
		$(if $(filter x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu,$(HOST)),$(OLD_GLIBC))

.PHONY: sdist
sdist: .venv/installed ## Build the sdist into dist/
	rm -f dist/*.tar.gz
	. $(BIN)/activate && maturin sdist --out dist

.PHONY: lock
lock: .venv/installed ## Pin the newest versions of everything anew (in CI weekly, followed by the tests)
	.ci/refresh-locks

.PHONY: clean
clean: ## Remove everything that was built
	rm -rf .venv .venv-distributed .venv-llm .venv-torch target rust/fuzz/target dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find python tests benches data -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/pfgen_rs/_native*.so

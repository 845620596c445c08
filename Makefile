# A thin face: everything here is `pip install -e '.[local,dev,docs]'` and `evolve`, with pinned versions.
VENV ?= .venv
BIN := $(VENV)/bin
BRANCH ?= evolve/weekly
COMPUTING := tests/gate tests/stats tests/simulate tests/compare tests/propose/search
WEIGHTS := qwen2.5-coder-0.5b-instruct

.PHONY: generation test lint tests model-tests docs install weights lock clean
.DELETE_ON_ERROR:

generation: weights  ## Set everything up, then run one whole generation on the shipped workspace.
	$(BIN)/evolve generation --apply --branch $(BRANCH)

test: lint tests model-tests  ## Set everything up, then run all checks and tests.
	$(BIN)/coverage report

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Tracing more than doubles the time of what only computes: those tests run untraced, so that coverage is at least what is told.
tests: install
	rm -f .coverage .coverage.*
	$(BIN)/pytest -q -n auto --dist worksteal -m "not model" $(COMPUTING)
	$(BIN)/pytest -q -n auto --dist worksteal -m "not model" $(COMPUTING:%=--ignore=%) --cov --cov-report=

model-tests: tests weights
	rm -f .coverage.*
	$(BIN)/pytest -q -m model --cov --cov-append --cov-report=

docs: install  ## Build the documentation; a warning is an error, and no page loads anything from elsewhere.
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml scripts/install.sh
	sh scripts/install.sh $(VENV)
	@touch $@

weights: install
	$(BIN)/evolve models install $(WEIGHTS)

lock:  ## Pin the newest versions that pyproject.toml allows (needs uv).
	uv pip compile --quiet --universal --python-version 3.11 --extra dev --extra docs --extra local --generate-hashes \
	  --no-header --upgrade pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis docs/_build

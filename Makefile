# make demo   creates the environment, installs, and shows what lookalike does
# make test   creates it with the development tools, then formatting, linting, types, documentation and tests
# make docs   builds the documentation as a site in site/
#
# All need Python 3.11 or newer, pip and make, nothing else.

PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test docs lint format types unit kernels browser redis java bench clean

help:
	@sed -n '1,5p' Makefile | sed 's/^# \{0,1\}//'

demo: $(VENV)/installed
	$(BIN)/lookalike demo

test: lint types unit

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# With --strict a link, an anchor or a page that leads nowhere is an error; the tests build the site, too.
docs: $(VENV)/installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "open site/index.html; to search it, too: python3 -m http.server -d site, then open http://localhost:8000"

types: $(VENV)/installed-dev
	$(BIN)/mypy

# Tests are handed out one by one, in order, and a worker that has none left takes half of another's: by file, the last one
# to begin is often one of few long tests, and the other workers wait for it.
# The tests of Spark come after all others, file by file by two workers: one waits for Spark as often as it works.
unit: $(VENV)/installed-dev kernels browser redis java
	$(BIN)/python -m pytest -m "not spark" --numprocesses auto --dist worksteal --cov --cov-report=
	$(BIN)/python -m pytest -m spark --numprocesses 2 --dist loadfile --cov --cov-append --cov-report=term --cov-fail-under=90

kernels: $(VENV)/installed-dev
	$(BIN)/python -m tools.compile_kernels

# The tests of the report need a browser. Where it cannot be installed they are skipped, and say so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { \
	  command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && echo "installing Chromium for the tests of the report" \
	  && apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends chromium >/dev/null; } \
	  || echo "no Chromium and no way to install it: the tests of the report in a browser will be skipped"

# The tests of an index in Redis start one of their own. Where there is none to start they are skipped, and say so.
redis:
	@command -v redis-server >/dev/null || command -v valkey-server >/dev/null || { \
	  command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && echo "installing Redis for the tests of an index in it" \
	  && apt-get update --quiet=2 && apt-get install --yes --quiet=2 --no-install-recommends redis-server >/dev/null; } \
	  || echo "no Redis and no way to install it: the tests of an index in Redis will be skipped"

# The tests of Spark need Java. Where it cannot be installed they are skipped, and say so.
java:
	@command -v java >/dev/null || { \
	  command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && echo "installing Java for the tests of Spark" \
	  && apt-get update --quiet=2 && { apt-get install --yes --quiet=2 --no-install-recommends openjdk-17-jre-headless \
	  || apt-get install --yes --quiet=2 --no-install-recommends default-jre-headless; } >/dev/null; } \
	  || echo "no Java and no way to install it: the tests of Spark will be skipped"

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(BENCH)/installed
	$(BENCH)/bin/python -m benchmarks.sketch

clean:
	rm -rf $(VENV) $(BENCH) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Debian's python3 comes without the module that makes environments; there it is a package of its own.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "lookalike needs Python 3.11 or newer; say which with: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null \
	  || { rm -rf $(VENV); $(PYTHON) -m virtualenv --quiet $(VENV) 2>/dev/null; } \
	  || { rm -rf $(VENV); apt-get update --quiet && apt-get install --yes --quiet python3-venv && $(PYTHON) -m venv $(VENV); } \
	  || { rm -rf $(VENV); echo "cannot create a virtual environment: install python3-venv or virtualenv" >&2; exit 1; }

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable '.[dev]'
	@touch $@

# The peers need older versions of some packages, so they have an environment of their own.
$(BENCH)/installed: $(BIN)/python benchmarks/requirements.txt
	$(BIN)/python -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --requirement benchmarks/requirements.txt
	@touch $@

# Everything from nothing but the package index: `make demo` runs the product, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
REQUEST := pull failed payments from Stripe, file a support ticket in Linear, and notify the on-call channel in Slack

.PHONY: help demo test lint clean

help:
	@echo "make demo   set up, build catalogs/demo, answer a request of three steps and say why"
	@echo "make test   set up and run the tests"
	@echo "make lint   ruff and mypy"
	@echo "make clean  remove the environment (never .quartermaster: its ledger holds paid answers)"

# torch first and by its exact version: asked for in a range, an installer may take a build with gigabytes of CUDA.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11"; exit 2; }
	@test -x $(BIN)/python || { echo "Creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing (about three minutes the first time: torch is large)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt torch==2.13.0
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[build,test]'
	@touch $(STAMP)

demo: $(STAMP)
	@$(BIN)/quartermaster build catalogs/demo
	@echo
	@echo '$$ quartermaster explain "$(REQUEST)"'
	@$(BIN)/quartermaster explain "$(REQUEST)" --catalog demo
	@echo
	@echo "Next:  $(BIN)/quartermaster search \"who is on call tonight\" --catalog demo"
	@echo "       $(BIN)/quartermaster evaluate --bench catalogs/demo"
	@echo "       $(BIN)/quartermaster --help"

test: $(STAMP)
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV)

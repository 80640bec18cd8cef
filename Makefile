# Everything from nothing but the package index: `make demo` runs the product, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
REQUEST := pull failed payments from Stripe, file a support ticket in Linear, and notify the on-call channel in Slack

.PHONY: help demo test lint clean

help:
	@echo "make demo   set up, build catalogs/demo, answer a request of three steps and say why"
	@echo "make test   set up and run the tests"
	@echo "make lint   ruff and mypy"
	@echo "make clean  remove the environment (never .quartermaster: its ledger holds paid answers)"

# pip is silent for minutes; where somebody watches, its log tells what it is at. $(1) is its name, $(2) pip's.
define install
	@echo "Installing $(1)"; begun=$$(date +%s); \
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --log $(VENV)/install.log $(2) & pid=$$!; \
	trap "kill $$pid; exit 130" INT TERM; \
	while kill -0 $$pid 2>/dev/null; do \
	  if [ -t 1 ]; then \
	    at=$$(sed -nE 's/.*(Collecting|Downloading|Installing collected packages:) ([^ ]+).*/\1 \2/p' $(VENV)/install.log 2>/dev/null | tail -1); \
	    printf '\r\033[K  %4s s  %.60s' $$(($$(date +%s) - begun)) "$$at"; \
	  fi; sleep 1; \
	done; \
	if [ -t 1 ]; then printf '\r\033[K'; fi; \
	wait $$pid || { echo "pip failed: $(VENV)/install.log says why"; exit 1; }; \
	echo "  done in $$(($$(date +%s) - begun)) s"
endef

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11"; exit 2; }
	@test -x $(BIN)/python || { echo "Creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@touch $@

# torch first and by its exact version: asked for in a range, an installer may take a build with gigabytes of CUDA.
$(VENV)/.build: $(VENV)/.created pyproject.toml constraints.txt
	$(call install,torch (large),torch==2.13.0)
	$(call install,quartermaster[build],-e '.[build]')
	@touch $@

$(VENV)/.test: $(VENV)/.build
	$(call install,Prefect and the test tools,-e '.[build$(,)flows$(,)catalogs$(,)test]')
	@touch $@

, := ,

demo: $(VENV)/.build
	@$(BIN)/quartermaster build catalogs/demo
	@echo
	@echo '$$ quartermaster explain "$(REQUEST)"'
	@$(BIN)/quartermaster explain "$(REQUEST)" --catalog demo
	@echo
	@echo 'Next:  $(BIN)/quartermaster search "who is on call tonight"'
	@echo '       $(BIN)/quartermaster inspect slack/post_message    what is known of one tool'
	@echo '       $(BIN)/quartermaster evaluate --bench catalogs/demo'
	@echo '       $(BIN)/quartermaster build FILE                    your own: OpenAPI, function schemas, MCP, JSONL'
	@echo '       README.md                                         from Python, models, nightly builds'

test: $(VENV)/.test
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV)

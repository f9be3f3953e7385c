# Run `make` alone for the list of tasks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.ready-demo
STANDBY_READY := $(VENV)/.ready-standby
NODE := $(VENV)/node
CLIENTS := $(VENV)/clients
NODE_CLIENTS := $(VENV)/node-clients
SAM := $(VENV)/sam
RAY := $(VENV)/ray
CONSOLE := $(VENV)/console
# Plugins are named, because one that is found by itself has its whole package compiled anew by each process of pytest:
# the product, whose plugin is named in pyproject.toml.
PLUGINS := --disable-plugin-autoload -p xdist -p pytest_cov -p _hypothesis_pytestplugin
PYTEST := NODE_PATH="$(abspath $(NODE))/node_modules:$(NODE_PATH)" $(BIN)/python -m pytest $(PLUGINS)
# Compiling the tests takes each process ten seconds: what was compiled is kept, also where the environment forbids it.
unexport PYTHONDONTWRITEBYTECODE
# With COVERAGE=yes the tests measure which lines they reach; the last of them applies the gate.
MEASURE := $(if $(COVERAGE),--cov --cov-report=,)

.DEFAULT_GOAL := help
.PHONY: help setup tables console console-vendor console-pictures demo demo-crash demo-standby demo-cluster storm soak fuzz test test-slow test-cells test-all test-python unit check conformance lint format bench lock clean

help: ## List the tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

# Makes an environment, and installs a lock file and the package itself into it. Needs Python 3.11 or newer.
define INSTALL
{ $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || { echo "Statewright needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }; } \
  && echo "Setting up $(VENV) with $(2) (once) ..." \
  && $(PYTHON) -m venv $(VENV) \
  && $(BIN)/python .ci/install.py $(1) \
  && $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . \
  && touch $@
endef

$(READY): requirements.lock pyproject.toml
	@$(call INSTALL,requirements.lock,everything that the tests need: 900 MB)

# Where everything is installed, the demonstrations have what they need.
$(DEMO_READY): requirements-demo.lock pyproject.toml
	@if [ $(READY) -nt requirements.lock ] && [ $(READY) -nt pyproject.toml ]; then touch $@; \
	else $(call INSTALL,requirements-demo.lock,what the examples need: 140 MB); fi

$(STANDBY_READY): requirements-standby.lock pyproject.toml
	@if [ $(READY) -nt requirements.lock ] && [ $(READY) -nt pyproject.toml ]; then touch $@; \
	else $(call INSTALL,requirements-standby.lock,what the examples and PostgreSQL need: 240 MB) && touch $(DEMO_READY); fi

setup: $(READY) ## Create .venv with everything the project needs

demo: $(DEMO_READY) ## Run the example systems and print what happened
	@$(BIN)/python examples/demo.py

console: $(DEMO_READY) ## Serve a shop whose orders keep coming, and print the address of its console
	@$(BIN)/python examples/console.py $(OPTIONS)

demo-crash: $(DEMO_READY) ## Kill a server in the middle of its work, and compare with an undisturbed run
	@$(BIN)/python examples/crash_demo.py

demo-standby: $(STANDBY_READY) ## Kill the one of two servers that is at work, twice, and compare with an undisturbed run
	@PYTHONPATH=. $(BIN)/python examples/standby_demo.py

demo-cluster: $(STANDBY_READY) ## Kill one of three nodes under load, freeze one, add one, and compare with an undisturbed run
	@PYTHONPATH=. $(BIN)/python examples/cluster_demo.py $(OPTIONS)

# Fetches the packages of a lock file for Node.js into a folder; without npm the tests that need them are skipped.
define NPM
@mkdir -p $(1) && cp $^ $(1)
@if command -v npm >/dev/null; then \
  echo "Setting up $(1) (once) ..."; \
  npm ci --prefix $(1) --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund --loglevel=error \
    >/dev/null && touch $@ || echo "npm could not set up $(1): tests of $(2) are skipped"; \
else echo "There is no npm: tests of $(2) are skipped"; fi
endef

# What functions of tests import when they are written for Node.js.
$(NODE)/.ready: tests/node/package.json tests/node/package-lock.json | $(READY)
	$(call NPM,$(NODE),functions for Node.js)

# Real clients of the server, for tests/clients; where they cannot be installed, those tests are skipped.
define APART
@echo "Setting up $(1) with $(2) (once) ..."
@rm -rf $(1) && $(BIN)/python -m venv $(1)
@$(1)/bin/python .ci/install.py $< && touch $@ || echo "Tests of these clients are skipped."
endef

$(CLIENTS)/.ready: tests/clients/requirements.lock | $(READY)
	$(call APART,$(CLIENTS),clients of AWS services: 1 GB)

$(SAM)/.ready: tests/clients/sam/requirements.lock | $(READY)
	$(call APART,$(SAM),the SAM CLI: 300 MB)

$(RAY)/.ready: tests/e2e/ray/requirements.lock | $(READY)
	$(call APART,$(RAY),Ray: 290 MB)

# What bundles, checks and drives the console's page.
$(CONSOLE)/.ready: tests/console/package.json tests/console/package-lock.json | $(READY)
	$(call NPM,$(CONSOLE),the console's page)

console-vendor: $(CONSOLE)/.ready ## Bundle the libraries of the console's page anew
	@cp tests/console/vendor_entry.js tests/console/vendor_editor_entry.js $(CONSOLE)
	@for name in vendor vendor_editor; do $(CONSOLE)/node_modules/.bin/esbuild $(CONSOLE)/$${name}_entry.js --bundle \
	  --format=esm --minify --legal-comments=none --outfile=src/statewright/console/static/$$name.js || exit 1; done

console-pictures: $(CONSOLE)/.ready ## Take the pictures of docs/images/console anew (needs chromium; Pillow makes them smaller)
	@$(BIN)/python -m tests.console.pictures $(OPTIONS)

$(NODE_CLIENTS)/.ready: tests/clients/node/package.json tests/clients/node/package-lock.json | $(READY)
	$(call NPM,$(NODE_CLIENTS),clients for Node.js)

test: $(READY) $(NODE)/.ready $(CONSOLE)/.ready lint ## Run ruff, mypy and the quick tests, of every kind
	@$(if $(COVERAGE),rm -f .coverage,true)
	@$(PYTEST) -n auto --maxprocesses=8 -m "not slow" $(MEASURE)

test-slow: $(READY) $(NODE)/.ready $(CLIENTS)/.ready $(SAM)/.ready $(RAY)/.ready $(NODE_CLIENTS)/.ready $(CONSOLE)/.ready ## Run what `test` leaves out: kill storms, real clients, reference systems in real time, thousands of seeds
	@STATEWRIGHT_TEST_THOROUGH=1 $(PYTEST) -n auto --maxprocesses=8 -m "slow or scaled" $(MEASURE) $(if $(COVERAGE),--cov-append)
	@$(if $(COVERAGE),$(BIN)/python -m coverage json -q -o coverage.json && $(BIN)/python -m tests.coverage_gate coverage.json,true)

test-cells: $(READY) $(NODE)/.ready ## Run the tests of executions on engines of four cells
	@STATEWRIGHT_TEST_CELLS=4 $(PYTEST) -n auto --maxprocesses=8 -m "not slow" tests/unit/engine tests/unit/api \
	  tests/unit/integrations tests/unit/virtual tests/simulation tests/conformance

test-all: ## Run every check and test, and hold the coverage gate
	@$(MAKE) --no-print-directory test COVERAGE=yes
	@$(MAKE) --no-print-directory test-slow COVERAGE=yes
	@$(MAKE) --no-print-directory test-cells

check: $(READY) $(NODE)/.ready ## Run ruff, mypy and the quick tests of one package: make check PKG=queues
	@$(if $(PKG),true,echo "Which package? make check PKG=queues"; exit 2)
	@$(MAKE) --no-print-directory lint
	@$(PYTEST) -n auto --maxprocesses=8 -m "not slow" $$($(BIN)/python -m tests.belonging $(PKG))

test-python: ## Run the quick unit tests, and those of isolation, on another Python: make test-python PYTHON=python3.13
	@found=$$(.ci/find-python $(PYTHON)) && \
	  $(MAKE) --no-print-directory VENV=$(VENV)/$(notdir $(PYTHON)) PYTHON="$$found" unit

unit: $(READY) $(NODE)/.ready
	@$(PYTEST) -n auto --maxprocesses=8 -m "not slow" tests/unit tests/property tests/attack/test_isolation.py

conformance: $(READY) ## Run recordings of the service against a server, or a cluster: make conformance NODES=3 (needs STATEWRIGHT_CASES)
	@$(BIN)/python -m tests.conformance.over_http $(if $(NODES),--nodes $(NODES)) $(OPTIONS)

fuzz: $(READY) ## Fuzz every reader of text and bytes from outside for an hour: make fuzz FUZZ_SECONDS=600 TARGET=jsonpath
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check 'atheris==3.0.0'
	@$(BIN)/python -m tests.fuzz.run $(or $(FUZZ_SECONDS),3600) $(TARGET)

lint: $(READY) ## Run ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY) ## Reformat the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

tables: $(READY) ## Write the documents that are made from the code: docs/services.md, docs/phases.md, docs/row-formats.md
	@$(BIN)/python -m tests.services_table
	@$(BIN)/python -m tests.phases_drawing
	@$(BIN)/python -m tests.row_formats

# OPTIONS: --seed N --kills N --store postgres --pair --nodes N --network --replica --minutes N; see tests/storm/__main__.py.
storm: $(READY) ## Kill servers under mixed load, and check what they promised: make storm OPTIONS="--kills 500 --pair"
	@$(BIN)/python -m tests.storm $(OPTIONS)

soak: $(READY) ## Run 200,000 executions on one server, and fail if its memory, descriptors or threads grow: half an hour
	@$(BIN)/python bench/soak.py $(OPTIONS)

bench: $(READY) ## Measure the interpreter, the expressions and the compiler
	@$(BIN)/python bench/measure.py

LOCK := uv pip compile --quiet --python-version 3.11 --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header

lock: ## Resolve the lock files anew: requirements.lock, requirements-demo.lock, those of tests/clients and of Ray (needs uv)
	@$(LOCK) pyproject.toml $(addprefix --extra ,postgres aws jwt parquet test dev) -o requirements.lock
	@$(LOCK) pyproject.toml --group demo --constraint requirements.lock -o requirements-demo.lock
	@$(LOCK) pyproject.toml --extra postgres --group demo --group standby --constraint requirements.lock -o requirements-standby.lock
	@$(LOCK) pyproject.toml --extra postgres --extra jwt --constraint requirements.lock -o requirements-image.lock
	@$(LOCK) tests/clients/requirements.in -o tests/clients/requirements.lock
	@$(LOCK) tests/clients/sam/requirements.in -o tests/clients/sam/requirements.lock
	@$(LOCK) tests/e2e/ray/requirements.in -o tests/e2e/ray/requirements.lock

clean: ## Remove what the tasks made
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .coverage coverage.json .fuzz

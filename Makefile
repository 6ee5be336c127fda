# Everything a developer or CI does. `make` alone lists it. Works with GNU make 3.81 and newer.

VENV := .venv
STAMP := $(VENV)/.installed
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest -q
DOCTESTS := --doctest-modules src

# A worker for each core, and one more where tests start Spark, but no more than fit into memory with a session each.
# tests/conftest.py says how many these are, and what runs on one worker.
WORKERS := -n auto --maxprocesses=4 --dist loadscope --no-loadscope-reorder
# Tests write many small files, and wait for the disk: into memory, where there is room.
IN_MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR > 1 && $$4 > 4000000 { print "PYTEST_DEBUG_TEMPROOT=/dev/shm" }')
PARALLEL := $(IN_MEMORY) $(PYTEST) $(WORKERS) -o tmp_path_retention_policy=failed
QUICKTEST := $(PARALLEL) -x --hypothesis-profile=quick -m 'not slow and not large'

# The kernel is rebuilt when a source of it changed. Without it everything works, slowly, on the reference engine.
KERNEL := $(VENV)/.kernel
KERNEL_SOURCES := $(shell find kernel connector tools/build-connector -name target -prune -o -type f ! -name Cargo.lock -print)
export CARGO_TERM_COLOR := never

# What tests compile is kept for the next run.
unexport PYTHONDONTWRITEBYTECODE

# Java starts in half the time from classes of Spark that are kept. Without them tests take longer, and no more.
CLASSES := $(VENV)/.spark-classes.jsa

# Spark starts its Python workers with this interpreter, and not with the one that runs the driver.
export PYSPARK_PYTHON := $(CURDIR)/$(PY)
WITH_JAVA := JAVA_HOME="$$(tools/find-java)" && export JAVA_HOME &&

.DEFAULT_GOAL := help
.PHONY: help venv kernel java demo demo-rebalance docs fix check check-reference check-kernel check-memory check-crates test test-large test-spark test-spark-versions test-fault release-check bench

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F '|' '{printf "%-20s %s\n", $$1, $$2}'

venv: $(STAMP) $(KERNEL) ## create .venv with everything that developing needs

$(STAMP): pyproject.toml constraints.txt
	@python=$$(tools/find-python) && { test -x $(PY) || "$$python" -m venv --clear $(VENV); }
	@echo "Installing into $(VENV)"
	@tools/requirements $(PY) dev >$(VENV)/requirements.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check -r $(VENV)/requirements.txt -c constraints.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(KERNEL): $(STAMP) $(KERNEL_SOURCES)
	@tools/build-kernel $(VENV) && touch $@ || { rm -f $@; echo "The kernel was not built: the slow reference engine is used. 'make kernel' says more"; }
	@test ! -f $@ || tools/build-connector $(VENV) || echo "The connector was not built: Python reads for Spark. 'make kernel' says more"

kernel: $(STAMP) ## build the native engine and the connector for Spark, or say why it cannot be built
	@tools/build-kernel --verbose $(VENV) && touch $(KERNEL)
	@tools/build-connector --verbose $(VENV)

java: ## find Java 17 or newer, or install it
	@home=$$(tools/find-java) && echo "Java: $$home"

$(CLASSES): $(STAMP) tests/java.py
	@echo "Keeping the classes of Spark for tests"
	@$(WITH_JAVA) $(PY) -W ignore -m tests.java 2>/dev/null || echo "They were not kept: Java starts slowly"

demo: venv java demo-data/python-sources.csv ## ingest a large messy CSV with Spark and check the number of rows
	@$(WITH_JAVA) $(PY) demo/run_demo.py

demo-rebalance: venv java ## run a skewed job with and without rebalancing, and draw both
	@$(WITH_JAVA) $(PY) demo/rebalance_demo.py

demo-data/python-sources.csv: demo/make_input.py | venv
	@$(PY) demo/make_input.py $@

docs: venv ## build the documentation into site/; a broken link or a page outside the navigation is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --clean --strict

fix: venv ## format the code and mend what ruff can mend
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

check: venv ## lint, types, imports, and the quick tests that need no Spark
	@tools/all-of \
		"$(PY) -m ruff check --quiet ." \
		"$(PY) -m ruff format --check --quiet . || { echo 'run: make fix'; exit 1; }" \
		"$(VENV)/bin/lint-imports --no-logo --no-cache" \
		"$(PY) -m mypy" \
		"$(QUICKTEST) tests/unit tests/property tests/conformance tests/kernel $(DOCTESTS)"

check-reference: venv ## the laws, and all decoding, without the native engine
	@SPLITSCAN_ENGINE=reference $(QUICKTEST) tests/property tests/conformance tests/unit/formats/decoding tests/unit/formats/framing tests/unit/formats

check-kernel: $(STAMP) ## format, lints and tests of the native engine; needs cargo
	cd kernel && cargo fmt --all --check
	cd kernel && cargo clippy --quiet --workspace --all-targets -- -D warnings
	cd kernel && cargo test --quiet --workspace

check-memory: ## tests of the native engine with Miri or AddressSanitizer, where a nightly toolchain has one
	@tools/check-memory

check-crates: ## licences and origins of the crates of the kernel; needs cargo-deny
	cd kernel && cargo deny check licenses bans sources

test: venv java $(CLASSES) ## every test but the large ones: unit, property, conformance, kernel, spark, fault
	@$(WITH_JAVA) $(PARALLEL) -m 'not large' tests $(DOCTESTS)

test-large: venv java $(CLASSES) ## the tests of gigabytes, of very many runs, and of every fault on a cluster
	@$(WITH_JAVA) $(PYTEST) -m large tests
	@tools/check-memory

test-spark: venv java $(CLASSES) ## only the tests that start Spark
	@$(WITH_JAVA) $(PARALLEL) -m 'spark and not large' tests

# Each with the PyArrow that its tests use; pyproject.toml has the bounds.
SPARK_VERSIONS := 4.0:23 4.1:24 4.2:25 4.3:26

test-spark-versions: java ## a short list of tests with every version of Spark that is supported
	@$(WITH_JAVA) for pair in $(SPARK_VERSIONS); do tools/test-spark-version $${pair%:*} $${pair#*:} || exit 1; done

test-fault: venv java $(CLASSES) ## only the tests that kill, truncate or change things
	@$(WITH_JAVA) $(PARALLEL) -m 'fault and not large' tests

release-check: $(STAMP) java ## build wheels and sources, install them where no compiler is, and run the demo there
	@$(WITH_JAVA) tools/release-check $(VENV)

bench: venv java ## measure against the baselines; results go to bench/results
	@$(WITH_JAVA) $(PY) -m bench

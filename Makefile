# gonode: `make demo` runs a whole network on this machine, `make test` runs every test. `make help` lists the rest.
# The first call makes its own .venv; stamps in it make a second call do nothing that is already done.

PYTHON ?= python3
CC ?= cc
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
SECONDS ?= 60
WORKERS ?= 4

C_SOURCES := CMakeLists.txt $(wildcard native/include/*.h native/src/*.c native/src/*.h)
C_TESTS := $(wildcard native/tests/*.c native/tests/*.h)
PACKAGES := node protocol native trainer verification

.PHONY: demo test check docs bench fuzz soak help clean prerequisites pytest ctest tsan portable arm arm-soak
.DELETE_ON_ERROR:
.NOTPARALLEL:

help:
	@echo "make demo                run a whole network on this machine for eight minutes, or up to twelve until two releases passed their gates; then audit it"
	@echo "make test                build and run all tests (Python, C under the sanitizers, tsan, portable, arm)"
	@echo "make tsan                run the C tests of search and pool under ThreadSanitizer"
	@echo "make portable            compare the engine's results between compilers and flags"
	@echo "make arm                 build the C tests for 64-bit ARM and run them under qemu"
	@echo "make check               format, lint, types, import rules, links of the documentation"
	@echo "make docs                make the documentation's site in build/site; a broken link fails"
	@echo "make bench               run each benchmark in its quick form, and compare with the targets"
	@echo "make fuzz SECONDS=60     feed mutated bytes to every parser, each for that long"
	@echo "make soak                the long tests: the wheel in a clean environment, ten minutes of each fuzzer"
	@echo "make clean               remove what was built (.venv and build); the demo's folder is kept"

demo: $(VENV)/.built
	$(VENV)/bin/gonode local --run runs/demo.toml --dir demo --at-least-minutes 8

test: pytest ctest tsan portable arm

# Four at a time for two cores: many tests wait more than they compute. Hundreds of processes start, so modules stay compiled.
pytest: $(VENV)/.dev $(VENV)/.built
	PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=40

ctest: build/asan/.built
	$(VENV)/bin/ctest --test-dir build/asan --output-on-failure -j 2

# The parts that threads share.
tsan: build/tsan/.built
	$(VENV)/bin/ctest --test-dir build/tsan --output-on-failure -j 2 -R '^(search|seat|pool|outside)$$'

# The same bits from each compiler here: test_exact compares with digests that it knows. One of them takes all inputs.
PORTABLE := $(foreach name,gcc-native gcc-O0 clang-O2,$(if $(shell command -v $(firstword $(subst -, ,$(name)))),$(name)))

portable: $(PORTABLE:%=build/portable/%/.built)
	@printf '%s\n' $(PORTABLE) | xargs -P 2 -I '{}' sh -c 'echo "test_exact of {}"; \
	  build/portable/{}/test_exact $$([ {} = gcc-native ] && echo full || echo short)'

# The C tests on two emulated CPUs, with and without dot products; those that evaluate nothing on one.
ARM_TOOLS := $(and $(shell command -v qemu-aarch64-static),$(shell command -v aarch64-linux-gnu-gcc),$(wildcard /usr/aarch64-linux-gnu/include/stdlib.h))

ifneq ($(ARM_TOOLS),)
arm: build/arm/.built
	QEMU_CPU=max GO_TEST_BEST=neon-dot $(VENV)/bin/ctest --test-dir build/arm --output-on-failure -j 2
	QEMU_CPU=cortex-a53 GO_TEST_BEST=neon $(VENV)/bin/ctest --test-dir build/arm --output-on-failure -j 2 -E '^(bits|board)$$'

arm-soak: build/arm/.built
	QEMU_CPU=max GO_TEST_BEST=neon-dot qemu-aarch64-static -L /usr/aarch64-linux-gnu build/arm/test_exact full
	QEMU_CPU=cortex-a53 GO_TEST_BEST=neon qemu-aarch64-static -L /usr/aarch64-linux-gnu build/arm/test_exact full
else
arm arm-soak:
	@echo "SKIPPED: the tests on 64-bit ARM need qemu-user-static, gcc-aarch64-linux-gnu and libc6-dev-arm64-cross."
endif

check: $(VENV)/.dev $(VENV)/.built
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) -m tests.check_docs

# The site of docs/, which needs no network to be read. --fail-on-warning: a link that leads nowhere is an error.
docs: $(VENV)/.docs
	@$(VENV)/bin/sphinx-build --fail-on-warning --keep-going --quiet --doctree-dir build/doctrees docs build/site
	@echo "The site is at build/site/index.html."

bench: $(VENV)/.built
	$(PY) -m benchmarks.all --quick

# Each fuzzer runs for SECONDS, two at a time. One that fails names its input, and the others still run.
FUZZERS := $(basename $(notdir $(wildcard tests/fuzz/fuzz_*.py)))

fuzz: $(VENV)/.dev $(VENV)/.built build/fuzz/.built
	@{ for name in $(FUZZERS); do echo "$(PY) -m tests.fuzz.$$name $(SECONDS)"; done; \
	  for target in $$(cd build/fuzz && ls fuzz_*); do echo "cd build/fuzz && ./$$target $(SECONDS)"; done; } | \
	  xargs -P 2 -I '{}' sh -c '{}'

soak: $(VENV)/.dev $(VENV)/.built
	$(PY) -m pytest -m soak --timeout 3600
	@command -v clang >/dev/null || echo "SKIPPED: the C tests under clang's sanitizers need clang and libclang-rt-dev."
	@if command -v clang >/dev/null; then $(MAKE) CC=clang build/asan-clang/.built && \
	  $(VENV)/bin/ctest --test-dir build/asan-clang --output-on-failure; fi
	$(PY) -m tests.native.random_games 100000
	$(MAKE) arm-soak
	$(MAKE) fuzz SECONDS=600

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache

# One sentence for each thing that is missing, then status 2 if anything was.
prerequisites:
	@ok=0; \
	say() { echo "gonode: $$1" >&2; ok=2; }; \
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	  say "Python 3.11 or later is needed: install python3 (or set PYTHON=/path/to/python3)."; \
	else \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || say "Python's venv module is missing: install python3-venv."; \
	  include=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
	  [ -f "$$include/Python.h" ] || say "Python's headers (Python.h) are missing: install python3-dev."; \
	fi; \
	if ! command -v $(CC) >/dev/null; then \
	  say "A C compiler is missing: install gcc."; \
	else \
	  echo '#include <stdlib.h>' | $(CC) -E -x c - >/dev/null 2>&1 || say "The C library's headers are missing: install libc6-dev."; \
	  echo '#include <gmp.h>' | $(CC) -E -x c - >/dev/null 2>&1 || say "The headers of GMP (gmp.h) are missing: install libgmp-dev."; \
	fi; \
	exit $$ok

# --- The environment: .base has pip and the build tools, .train what the network runs with, .dev what tests need.

$(VENV)/.base: constraints.txt
	@$(MAKE) --no-print-directory prerequisites
	@echo "Making $(VENV)"
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --constraint constraints.txt cffi cmake ninja scikit-build-core
	@touch $@

# Prints the project's requirements with those of the extras given as arguments.
REQUIREMENTS := import sys, tomllib; \
  project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  print(*project["dependencies"], *(r for x in sys.argv[1:] for r in project["optional-dependencies"][x]), sep="\n")

$(VENV)/.train: $(VENV)/.base pyproject.toml
	@echo "Installing what gonode runs with (torch is large)"
	@$(PY) -c '$(REQUIREMENTS)' train report web > $(VENV)/requirements.txt
	@$(PIP) install --constraint constraints.txt --requirement $(VENV)/requirements.txt
	@touch $@

# libp2p brings stub packages that shadow the types of trio itself; mypy must not see them.
$(VENV)/.dev: $(VENV)/.train
	@echo "Installing what the tests need"
	@$(PY) -c '$(REQUIREMENTS)' train report web dev > $(VENV)/requirements.txt
	@$(PIP) install --constraint constraints.txt --requirement $(VENV)/requirements.txt
	@rm -rf $(VENV)/lib/python3*/site-packages/trio-stubs $(VENV)/lib/python3*/site-packages/outcome-stubs \
	  $(VENV)/lib/python3*/site-packages/async_generator-stubs
	@touch $@

$(VENV)/.docs: $(VENV)/.base pyproject.toml
	@echo "Installing what makes the documentation's site"
	@$(PY) -c '$(REQUIREMENTS)' docs > $(VENV)/requirements.txt
	@$(PIP) install --constraint constraints.txt --requirement $(VENV)/requirements.txt
	@touch $@

# The list of modules, renewed when one comes, moves or goes: an editable install maps each module to its file.
$(VENV)/.modules: FORCE
	@mkdir -p $(VENV); find $(PACKAGES) -name '*.py' | LC_ALL=C sort | cmp -s - $@ || \
	  find $(PACKAGES) -name '*.py' | LC_ALL=C sort > $@
FORCE:

# An editable install: Python files are used as they lie here, the engine is built again when its sources change.
$(VENV)/.built: $(VENV)/.train $(VENV)/.modules $(C_SOURCES)
	@echo "Building the engine"
	@CC="$(CC)" $(PIP) install --no-build-isolation --no-deps --editable .
	@touch $@

# --- Builds of the C parts alone, with AddressSanitizer and UndefinedBehaviorSanitizer, or ThreadSanitizer.

build/%/.built: $(VENV)/.base $(C_SOURCES) $(C_TESTS) $(wildcard native/fuzz/*)
	@echo "Building build/$*"
	@$(VENV)/bin/cmake -S . -B build/$* -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja \
	  -DCMAKE_C_COMPILER="$(CC)" -DCMAKE_BUILD_TYPE=Debug -DGO_SANITIZE=$(if $(filter tsan,$*),thread,ON) -DGO_FUZZ=$(if $(filter fuzz,$*),ON,OFF) >build/$*.log \
	  || { cat build/$*.log; exit 1; }
	@$(VENV)/bin/ninja -C build/$* --quiet
	@touch $@

# --- Builds of the C parts for other compilers, flags and machines.

CMAKE_OTHER = $(VENV)/bin/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja -DCMAKE_BUILD_TYPE=None
FLAGS_gcc-native := -O3 -march=native
FLAGS_gcc-O0 := -O0
FLAGS_clang-O2 := -O2

$(PORTABLE:%=build/portable/%/.built): build/portable/%/.built: $(VENV)/.base $(C_SOURCES) $(C_TESTS)
	@echo "Building build/portable/$*"
	@mkdir -p build/portable
	@$(CMAKE_OTHER) -B build/portable/$* -DCMAKE_C_COMPILER=$(firstword $(subst -, ,$*)) \
	  -DCMAKE_C_FLAGS="$(FLAGS_$*)" >build/portable/$*.log || { cat build/portable/$*.log; exit 1; }
	@$(VENV)/bin/ninja -C build/portable/$* --quiet test_exact
	@touch $@

build/arm/.built: $(VENV)/.base $(C_SOURCES) $(C_TESTS) cmake/aarch64.cmake
	@echo "Building build/arm"
	@mkdir -p build
	@$(CMAKE_OTHER) -B build/arm -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DCMAKE_C_FLAGS=-O2 >build/arm.log 2>&1 \
	  || { cat build/arm.log; exit 1; }
	@$(VENV)/bin/ninja -C build/arm --quiet
	@touch $@

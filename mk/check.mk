# SPDX-License-Identifier: GPL-2.0-or-later
# make check: what tests/run.sh runs. With SAN=1 all of it is built with the sanitizers; without, the unit, golden and
# name tests are, of the objects that the fuzz targets are made of (fuzz.mk).
CHECK_DEPS = $(O)/waitscope words $(CHECK_UNITS) $(GOLDEN_BIN) $(LOAD_BINS) $(ARMS_BINS) $(KERNEL_TEST_BINS) \
	$(COMPARE_BIN) $(KNAMES_BINS) $(KNAMES_TOOLS) $(NAMES_ASK) $(NAMES_WALLS) $(INSN_TOOL) \
	$(O)/core-reloc/corecheck $(PROBES) $(FUZZ_BINS) bench-bins
ifdef SAN
CHECK_UNITS = $(UNIT_BINS)
else
CHECK_DEPS += $(SAN_BINS) $(SAN_TOOL)
CHECK_SAN_O = $(O)/fuzz
# Of the unit tests those that run.sh runs without the sanitizers.
CHECK_UNITS = $(filter %/test_export %/test_tui_cost %/test_insn_x86,$(UNIT_BINS))
endif

# vm.mk, which comes after this file, says what some of these are.
.SECONDEXPANSION:
check: $$(CHECK_DEPS) $$(if $(TESTS),$$(SHAPES_BINS)) ## tests (as root) [TESTS='unit kernel/lock': suites by words in their names] [ONE='a test'] [JOBS=1]
	$(Q)O=$(O) SAN_O=$(CHECK_SAN_O) tests/run.sh $(if $(JOBS),-j $(JOBS)) $(TESTS)

# Before an issue is closed that touches BPF programs or formats, and for a release.
check-all: $$(CHECK_DEPS) $$(UNIT_BINS) $$(SHAPES_BINS) ## ... and the long ones, all kernels, the package: up to an hour (as root; Debian)
	$(Q)O=$(O) SAN_O=$(CHECK_SAN_O) tests/all.sh

# No kernel, no root: what to run after each change.
check-unit: $(UNIT_BINS) $(GOLDEN_BIN) $(O)/waitscope ## unit and golden tests: no root, under 30 s [TESTS=unit/opts]
	$(Q)O=$(O) tests/run.sh $(if $(JOBS),-j $(JOBS)) $(or $(TESTS),unit golden)

.PHONY: check check-all check-unit

# The kernel suites beside a load that never lets the machine rest, ROUNDS times: about half an hour each.
ROUNDS ?= 1
check-busy: $(O)/waitscope $(LOAD_BINS) $(KERNEL_TEST_BINS) ## kernel suites beside stress-ng (as root) [ROUNDS=5] [TESTS=kernel/drain]
	$(Q)for round in $$(seq $(ROUNDS)); do \
		echo "round $$round of $(ROUNDS), beside stress-ng"; \
		O=$(O) SAN_O= tests/busy.sh tests/run.sh $(or $(TESTS),kernel/) || exit 1; done
.PHONY: check-busy

# The waits of `make check` are a million, for time: EVENTS=10000000 takes minutes.
EVENTS ?= 10000000
check-locks: $(O)/waitscope $(LOAD_BINS) ## lock waits by the million: no slot stuck (EVENTS=10000000)
	$(Q)O=$(O) EVENTS=$(EVENTS) python3 tests/kernel/test_lock.py "many contended waits"
	$(Q)O=$(O) EVENTS=$(EVENTS) python3 tests/kernel/test_holders.py "waits by the hundred thousand"
.PHONY: check-locks

# Damaged records are a few thousand, the first ones of these.
MUTANTS ?= 50000
check-mutants: $(O)/fuzz/tests/compare/mutants ## damaged records through report and diff, with the sanitizers (MUTANTS=50000)
	$(Q)$(O)/fuzz/tests/compare/mutants $(MUTANTS) $$(find tests/golden/expected -name '*.json' -size -60k | sort)
.PHONY: check-mutants

# Programs of this machine, by turns: nothing that has to be the same each time.
RUNS ?= 6
check-compare: $(O)/waitscope ## tbench beside itself and beside stress-ng, compared (as root) [RUNS=6]
	$(Q)O=$(O) RUNS=$(RUNS) tests/compare/real.py
.PHONY: check-compare

# So are the generations of processes: SECONDS=600 is long enough for all bounds to be met.
SECONDS ?= 600
check-soak: $(O)/waitscope $(LOAD_BINS) ## days of processes that come and go: nothing grows (SECONDS=600)
	$(Q)O=$(O) SOAK_SECONDS=$(SECONDS) python3 tests/kernel/test_soak.py
.PHONY: check-soak

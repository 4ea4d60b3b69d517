# SPDX-License-Identifier: GPL-2.0-or-later
# Test targets. Unit tests: tests/unit/test_NAME.c, one cmocka program each, linked with core, sinks
# and opts (no libbpf).
UNIT_SRCS := $(filter-out $(if $(filter 1,$(ZYDIS)),,tests/unit/test_insn_x86.c tests/unit/test_insn_ways.c),$(wildcard tests/unit/test_*.c))
UNIT_BINS := $(UNIT_SRCS:%.c=$(O)/%)
UNIT_OBJS = $(CORE_OBJS) $(SINK_OBJS) $(filter $(O)/src/opts%.o,$(MAIN_OBJS))

$(UNIT_BINS): $(O)/tests/unit/%: $(O)/tests/unit/%.o $(UNIT_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

# Exact integer arithmetic elsewhere says which bucket each value belongs to.
$(O)/gen/boundaries.inc: tests/unit/gen_boundaries.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)python3 $< > $@
$(O)/tests/unit/test_bucket.o: | $(O)/gen/boundaries.inc
# And Python's tables, which characters a reader does not see.
$(O)/gen/unseen.inc: tests/unit/gen_unseen.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)python3 $< > $@
$(O)/tests/unit/test_text.o: | $(O)/gen/unseen.inc

# The synth source needs no kernel: its test takes it, not the list that names all sources.
$(O)/tests/unit/test_synth: $(addprefix $(O)/src/source/,synth/synth.o synth/synth_files.o synth/synth_locks.o series.o)
# It reads maps of its own making.
$(O)/tests/unit/test_line_table: $(addprefix $(O)/src/source/,line/line_table.o line/line_means.o)
$(O)/tests/unit/test_pmu: $(O)/src/source/line/pmu.o
$(O)/tests/unit/test_pmu_plan: $(addprefix $(O)/src/source/,line/pmu_plan.o line/pmu.o)
$(O)/tests/unit/test_line_shared: $(O)/src/source/line/line_shared.o
$(O)/tests/unit/test_line_device: $(O)/src/source/line/line_device.o
$(O)/tests/unit/test_numa: $(addprefix $(O)/src/source/,line/numa.o line/pmu_plan.o line/pmu.o)
$(O)/tests/unit/test_insn_x86 $(O)/tests/unit/test_insn_arm64 $(O)/tests/unit/test_insn_ways: $(INSN_OBJS)
$(O)/tests/unit/test_keyed: $(addprefix $(O)/src/source/,keyed.o keyed_cold.o counts.o mapped.o groups.o cgroup.o mountinfo.o)
$(O)/tests/unit/test_banks: $(addprefix $(O)/src/source/,sched/sched_banks.o whole.o counts.o series.o mapped.o cpus.o)

# Nor do these: files of the source floor that stand alone.
$(O)/tests/unit/test_mountinfo: $(O)/src/source/mountinfo.o

$(O)/tests/unit/test_btf_check: $(NAMES_OBJS) $(INSN_OBJS) $(SOURCE_OBJS)
$(O)/tests/unit/test_user_maps: $(NAMES_OBJS)
$(O)/tests/unit/test_futex_place: $(O)/src/source/contend/futex_place.o

unit: $(UNIT_BINS) ## build the unit tests
.PHONY: unit
-include $(UNIT_BINS:=.d)

# What belongs to one kind of test stands beside it.
-include $(wildcard tests/*/*.mk)

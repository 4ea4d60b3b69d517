# SPDX-License-Identifier: GPL-2.0-or-later
# Test targets. Unit tests: tests/unit/test_NAME.c, one cmocka program each, linked with core, sinks
# and opts (no libbpf).
UNIT_SRCS := $(wildcard tests/unit/test_*.c)
UNIT_BINS := $(UNIT_SRCS:%.c=$(O)/%)
UNIT_OBJS = $(CORE_OBJS) $(SINK_OBJS) $(filter-out $(O)/src/main.o $(O)/src/loop.o $(O)/src/run.o,$(MAIN_OBJS))

$(UNIT_BINS): $(O)/tests/unit/%: $(O)/tests/unit/%.o $(UNIT_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

unit: $(UNIT_BINS) ## build the unit tests
.PHONY: unit
-include $(UNIT_BINS:=.d)

# Load programs for tests: plain C, no library of ours.
LOAD_SRCS := $(wildcard tests/load/*.c)
LOAD_BINS := $(LOAD_SRCS:%.c=$(O)/%)

$(LOAD_BINS): $(O)/tests/load/%: $(O)/tests/load/%.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -pthread

load: $(LOAD_BINS) ## build the load programs for tests
.PHONY: load
-include $(LOAD_BINS:=.d)

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
-include tests/golden/*.mk

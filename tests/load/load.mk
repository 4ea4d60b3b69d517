# SPDX-License-Identifier: GPL-2.0-or-later
# Load programs for tests: plain C, nothing of ours in them.
LOAD_SRCS := $(wildcard tests/load/*.c)
LOAD_BINS := $(LOAD_SRCS:%.c=$(O)/%)

$(LOAD_BINS): $(O)/tests/load/%: $(O)/tests/load/%.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -pthread

load: $(LOAD_BINS) ## build the load programs for tests
.PHONY: load
-include $(LOAD_BINS:=.d)

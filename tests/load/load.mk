# SPDX-License-Identifier: GPL-2.0-or-later
# Load programs for tests: plain C, nothing of ours in them.
LOAD_SRCS := $(wildcard tests/load/*.c)
LOAD_BINS := $(LOAD_SRCS:%.c=$(O)/%)

$(LOAD_BINS): $(O)/tests/load/%: $(O)/tests/load/%.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -pthread

# Merged arms lie as each compiler puts them: tests/load/arms-COMPILER-LEVEL.
ARMS_CCS := $(foreach cc,gcc clang,$(if $(shell command -v $(cc)),$(cc)))
ARMS_BINS := $(foreach cc,$(ARMS_CCS),$(foreach o,O1 O2 O3,$(O)/tests/load/arms-$(cc)-$(o)))
$(ARMS_BINS): $(O)/tests/load/arms-%: tests/load/arms.c tests/load/load.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(word 1,$(subst -, ,$*)) $(CPPFLAGS) -std=gnu11 -g -$(word 2,$(subst -, ,$*)) -o $@ $< -pthread

load: $(LOAD_BINS) $(ARMS_BINS) ## build the load programs for tests
.PHONY: load
-include $(LOAD_BINS:=.d)

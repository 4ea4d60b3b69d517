# SPDX-License-Identifier: GPL-2.0-or-later
# Test targets. Unit tests: tests/unit/test_NAME.c, one cmocka program each; what it needs of waitscope the
# linker takes from $(LIB).
UNIT_SRCS := $(filter-out $(if $(filter 1,$(ZYDIS)),,tests/unit/test_insn_x86.c tests/unit/test_insn_ways.c),$(wildcard tests/unit/test_*.c))
UNIT_BINS := $(UNIT_SRCS:%.c=$(O)/%)

# A test program, whatever it is of: its own objects, then the archive.
define link-test
$(call say,LINK,$@)
$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS) -lcmocka
endef

$(UNIT_BINS): $(O)/tests/unit/%: $(O)/tests/unit/%.o $(LIB)
	$(link-test)

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

unit: $(UNIT_BINS) ## build the unit tests
.PHONY: unit
-include $(UNIT_BINS:=.d)

# What belongs to one kind of test stands beside it.
-include $(wildcard tests/*/*.mk)

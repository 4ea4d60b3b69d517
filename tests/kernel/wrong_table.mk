# SPDX-License-Identifier: GPL-2.0-or-later
# wrong_table.so, preloaded by test_buckets.py: as if a compiler had changed the tables of thresholds.
KERNEL_TEST_BINS += $(O)/tests/kernel/wrong_table.so

$(O)/tests/kernel/wrong_table.so: tests/kernel/wrong_table.c include/abi.h include/bucket.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 $(WARN) $(CFLAGS) -shared -fPIC -o $@ $< -ldl

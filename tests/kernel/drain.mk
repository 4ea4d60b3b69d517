# SPDX-License-Identifier: GPL-2.0-or-later
# drain_often: the tool, with long intervals read in many parts; for test_drain.py.
KERNEL_TEST_BINS += $(O)/tests/kernel/drain_often

$(O)/tests/kernel/drain_often: $(O)/tests/kernel/drain_often.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -Wl,--wrap=run_drain_banks -o $@ $^ $(LDLIBS)

-include $(O)/tests/kernel/drain_often.d

# SPDX-License-Identifier: GPL-2.0-or-later
# fold_often: the tool, with long intervals read in many parts; for test_fold.py.
KERNEL_TEST_BINS += $(O)/tests/kernel/fold_often

$(O)/tests/kernel/fold_often: $(O)/tests/kernel/fold_often.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -Wl,--wrap=run_fold -o $@ $^ $(LDLIBS)

-include $(O)/tests/kernel/fold_often.d

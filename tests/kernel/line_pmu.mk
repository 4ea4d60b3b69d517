# SPDX-License-Identifier: GPL-2.0-or-later
# test_line_pmu: the PMU's program on a hardware breakpoint. Needs root; exit 77 = skipped.
KERNEL_TEST_BINS += $(O)/tests/kernel/test_line_pmu

$(O)/tests/kernel/test_line_pmu.o: | $(O)/gen/line.skel.h

$(O)/tests/kernel/test_line_pmu: $(O)/tests/kernel/test_line_pmu.o $(LIB)
	$(link-test)

-include $(O)/tests/kernel/test_line_pmu.d

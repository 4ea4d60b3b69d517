# SPDX-License-Identifier: GPL-2.0-or-later
# test_walk: entries as a program of the kernel tells of them. Needs root; exit 77 = skipped.
KERNEL_TEST_BINS += $(O)/tests/kernel/test_walk

$(O)/tests/kernel/test_walk.o: CPPFLAGS += -Itests/unit
$(O)/tests/kernel/test_walk: $(O)/tests/kernel/test_walk.o $(LIB)
	$(link-test)

-include $(O)/tests/kernel/test_walk.d

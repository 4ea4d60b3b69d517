# SPDX-License-Identifier: GPL-2.0-or-later
# test_line_feed: made-up samples of a PMU, from the program to the rows. Needs root; exit 77 = skipped.
KERNEL_TEST_BINS += $(O)/tests/kernel/test_line_feed

$(O)/bpf/line_feed.bpf.o: tests/kernel/line_feed.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $(@:.bpf.o=.tmp.o) $<
	$(Q)$(BPFTOOL) gen object $@ $(@:.bpf.o=.tmp.o)

LINE_FEED_OBJS := $(O)/tests/kernel/test_line_feed.o $(O)/tests/kernel/line_feed.o
$(LINE_FEED_OBJS): | $(O)/gen/line.skel.h $(O)/gen/line_feed.skel.h

$(O)/tests/kernel/test_line_feed: $(LINE_FEED_OBJS) $(LIB)
	$(link-test)

-include $(LINE_FEED_OBJS:.o=.d) $(O)/bpf/line_feed.bpf.d

# SPDX-License-Identifier: GPL-2.0-or-later
# test_shared_bpf: what all sources share, in the kernel. Needs root; exit 77 = skipped.
KERNEL_TEST_BINS += $(O)/tests/kernel/test_shared_bpf

$(O)/tests/kernel/test_shared_bpf.o: CPPFLAGS += -Itests/unit

$(O)/bpf/shared_test.bpf.o: tests/kernel/shared_bpf.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $(@:.bpf.o=.tmp.o) $<
	$(Q)$(BPFTOOL) gen object $@ $(@:.bpf.o=.tmp.o)

$(O)/tests/kernel/test_shared_bpf.o: | $(O)/gen/shared_test.skel.h

$(O)/tests/kernel/test_shared_bpf: $(O)/tests/kernel/test_shared_bpf.o $(LIB)
	$(link-test)

-include $(O)/tests/kernel/test_shared_bpf.d $(O)/bpf/shared_test.bpf.d

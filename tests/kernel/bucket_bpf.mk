# SPDX-License-Identifier: GPL-2.0-or-later
# test_bucket_bpf: does the kernel find the same buckets? Needs root; exit 77 = skipped.
KERNEL_TEST_BINS += $(O)/tests/kernel/test_bucket_bpf

$(O)/bpf/bucket_test.bpf.o: tests/unit/bucket_bpf.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $(@:.bpf.o=.tmp.o) $<
	$(Q)$(BPFTOOL) gen object $@ $(@:.bpf.o=.tmp.o)

$(O)/tests/kernel/test_bucket_bpf.o: | $(O)/gen/bucket_test.skel.h $(O)/gen/boundaries.inc

$(O)/tests/kernel/test_bucket_bpf: $(O)/tests/kernel/test_bucket_bpf.o $(LIB)
	$(link-test)

bucket-bpf: $(O)/tests/kernel/test_bucket_bpf ## build the test of bucket math in the kernel
.PHONY: bucket-bpf
-include $(O)/tests/kernel/test_bucket_bpf.d $(O)/bpf/bucket_test.bpf.d

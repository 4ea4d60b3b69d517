# SPDX-License-Identifier: GPL-2.0-or-later
# Names of kernel addresses, against addresses whose names are known otherwise.
KNAMES_BPF := $(O)/tests/names/kernel_truth
KNAMES_SRCS := $(wildcard tests/names/test_kernel_*.c)
KNAMES_BINS := $(KNAMES_SRCS:%.c=$(O)/%)
KNAMES_TOOLS := $(O)/tests/names/kernel_walk

$(KNAMES_BPF).bpf.o: tests/names/kernel_truth.bpf.c tests/names/kernel_truth.h vmlinux/vmlinux.h
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -Itests/names -c -o $@ $<

$(O)/gen/kernel_truth.skel.h: $(KNAMES_BPF).bpf.o
	@mkdir -p $(@D)
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name kernel_truth_bpf > $@

$(KNAMES_BINS:%=%.o): CPPFLAGS += -Itests/names -Itests/unit
$(KNAMES_BINS:%=%.o): | $(O)/gen/kernel_truth.skel.h

$(KNAMES_TOOLS): $(O)/tests/names/%: $(O)/tests/names/%.o $(LIB)
	$(link-test)

$(KNAMES_BINS): $(O)/tests/names/%: $(O)/tests/names/%.o $(LIB)
	$(link-test)

-include $(KNAMES_BINS:=.d) $(KNAMES_TOOLS:=.d)

# SPDX-License-Identifier: GPL-2.0-or-later
# Other kernels: relocations against their types, and booting them (tests/vm).

HOSTCC ?= cc
TOOL_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE $(WARN)
FIXTURES := $(sort $(wildcard tests/btf/*.btf))
PROBES := $(patsubst tests/core-reloc/probe/%.bpf.c,$(O)/core-reloc/%.bpf.o,$(wildcard tests/core-reloc/probe/*.bpf.c))

$(O)/core-reloc/corecheck: tests/core-reloc/corecheck.c
$(O)/core-reloc/minbtf: scripts/minbtf.c
$(O)/core-reloc/corecheck $(O)/core-reloc/minbtf: tests/core-reloc/hook.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(HOSTCC) $(TOOL_CFLAGS) -Itests/core-reloc -o $@ $(filter %.c,$^) $(shell $(PKG_CONFIG) --libs libbpf libelf)

$(O)/core-reloc/%.bpf.o: tests/core-reloc/probe/%.bpf.c tests/core-reloc/probe/probe.h
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

check-core: $(O)/core-reloc/corecheck $(BPF_OBJS) $(PROBES) ## relocate all BPF objects against many kernels' types
	$(Q)tests/core-reloc/selftest.sh $< $(O)/core-reloc $(FIXTURES)
	$(Q)$< tests/core-reloc/absent.list $(FIXTURES) -- $(BPF_OBJS)

btf-fixtures: $(O)/core-reloc/minbtf $(BPF_OBJS) ## make tests/btf anew from the distribution's kernels
	$(Q)tests/btf/make-fixtures.sh $< tests/btf $(BPF_OBJS)

.PHONY: check-core btf-fixtures

# ---- guests ----

VM_BINS = $(STATIC_O)/vm
GUEST_SRCS := $(wildcard tests/vm/guest/*.c)
VM_LOADS := hog holders sleeper cachedread fswrite futex locks lines mmapread preempted shapes $(if $(filter amd64,$(ARCH)),accesses)

# The programs a guest runs, static, of its architecture.
vm-bins: static
	@mkdir -p $(VM_BINS)
	$(Q)cp $(STATIC_BIN) $(VM_BINS)/waitscope
	$(Q)$(STATIC_SHELL) $(STATIC_CC) $(TOOL_CFLAGS) -static -Itests/vm/guest $(GUEST_SRCS) -o $(VM_BINS)/guest \
		$$($(PKG_CONFIG) --static --cflags --libs json-c libbpf)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $(VM_BINS)/scx.bpf.o tests/vm/scx.bpf.c
	$(Q)for l in $(VM_LOADS); do \
		$(STATIC_CC) $(TOOL_CFLAGS) -static tests/load/$$l.c -o $(VM_BINS)/$$l -pthread || exit 1; done

check-vm: vm-bins ## boot other kernels in QEMU and test there [ARCH=arm64] [GUESTS="5.10 6.1"] [WS_VM_AT_ONCE=1]
	$(Q)tests/vm/check.sh $(ARCH) $(VM_BINS) $(O)/vm-$(ARCH) $(GUESTS)

.PHONY: vm-bins check-vm

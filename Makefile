# SPDX-License-Identifier: GPL-2.0-or-later
# waitscope. `make help` lists the targets.
#
#   O=DIR      build there (default: build)       V=1    show the commands
#   SAN=1      AddressSanitizer and UBSan (builds in $(O)-san unless O= is given)
#   -j1        one thing after another (default: as many at once as there are CPUs)
#   PREFIX=    install prefix (default /usr/local)  DESTDIR=  staging root

VERSION := 0.1.0
SAN ?=
ifdef SAN
O ?= build-san
endif
O ?= build
PREFIX ?= /usr/local
DESTDIR ?=
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
DOCDIR ?= $(PREFIX)/share/doc/waitscope
UNITDIR ?= $(PREFIX)/lib/systemd/system

CC ?= cc
HOSTCC ?= cc
CLANG ?= clang
BPFTOOL ?= bpftool
LLVM_OBJCOPY ?= llvm-objcopy
PKG_CONFIG ?= pkg-config
SCDOC ?= scdoc

ifdef V
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n' $(1) '$(2)'
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-print-directory
# All CPUs, unless the command line says how many (-j1). `make clean all` keeps its order.
ifeq ($(MAKELEVEL)$(filter clean deps%,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

LIBS := libbpf libdw libelf zlib libevent_core libevent_extra json-c libseccomp ncursesw
ifneq ($(filter-out clean deps deps-build deps-vm check-distros help format lint uninstall vmlinux-dump,$(or $(MAKECMDGOALS),all)),)
MISSING := $(strip $(foreach l,$(LIBS),$(shell $(PKG_CONFIG) --exists $(l) 2>/dev/null || echo $(l))))
MISSING += $(foreach t,$(CLANG) $(LLVM_OBJCOPY) $(BPFTOOL) $(SCDOC),$(if $(shell PATH="$$PATH:/usr/sbin:/sbin" command -v $(t)),,$(t)))
ifneq ($(strip $(MISSING)),)
$(error missing: $(strip $(MISSING)). 'make deps' installs what is needed on Debian, Ubuntu and Fedora (as root))
endif
endif
export PATH := $(PATH):/usr/sbin:/sbin

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	-Wno-unused-parameter -Wno-missing-field-initializers
CPPFLAGS += -D_GNU_SOURCE -DWS_VERSION='"$(VERSION)"' -Iinclude -Isrc -I$(O)/gen
CFLAGS ?= -O2 -g

# Zydis decodes x86-64 for the line source; Debian's package has no pkg-config file.
ZYDIS ?= $(if $(wildcard /usr/include/Zydis/Zydis.h),1)
ifeq ($(ZYDIS),1)
CPPFLAGS += -DWS_ZYDIS
LDLIBS_ZYDIS := -lZydis
endif
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(SANFLAGS) $(shell $(PKG_CONFIG) --cflags $(LIBS))
LDLIBS = $(shell $(PKG_CONFIG) --libs $(LIBS)) $(LDLIBS_ZYDIS) -liberty -lm
ifdef SAN
SANFLAGS := -DWS_SANITIZED -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
# Of waitscope itself, which reads what others wrote: position-independent, its linked tables read-only,
# its stack and its copies checked (as far as compiler and C library can; not beside ASan, which does it).
FORTIFY = $(if $(SAN),,$(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),$(FORTIFY_LEVEL)))
FORTIFY_LEVEL := $(lastword $(shell printf '\043include <features.h>\n__USE_FORTIFY_LEVEL\n' | \
	$(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -E -P - 2>/dev/null))
HARDEN_CFLAGS = -fPIE -fstack-protector-strong $(if $(FORTIFY),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(FORTIFY))
PIE ?= -pie
HARDEN_LDFLAGS = $(PIE) -Wl,-z,relro,-z,now,-z,noexecstack
SKELCFLAGS := -Wno-shadow
# __bpf_fastcall: some of libbpf's helpers have it from 1.5 on, where clang knows it (19). Registers are then kept over
# such a call on the stack, which kernels from 6.12 on take out again; for others the programs of --why took too much of it.
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Wshadow -Wno-unused-parameter -Wno-missing-declarations -Wno-visibility \
	-Wno-sign-compare -D__bpf_fastcall= -fdebug-compilation-dir=. -Ivmlinux -Iinclude -Ibpf

BPF_SRCS := $(wildcard bpf/*.bpf.c)
# Those that also come with raw tracepoints, for kernels without BTF.
BPF_RAW := sched_raw
# Those that also come with what --why takes.
BPF_WHY := sched_why
# Those that also come for a run that asks for nothing.
BPF_PLAIN := sched_plain
BPF_OBJS := $(BPF_SRCS:bpf/%.bpf.c=$(O)/bpf/%.bpf.o) $(BPF_RAW:%=$(O)/bpf/%.bpf.o) \
	$(BPF_WHY:%=$(O)/bpf/%.bpf.o) $(BPF_PLAIN:%=$(O)/bpf/%.bpf.o)
SKELS := $(BPF_OBJS:$(O)/bpf/%.bpf.o=$(O)/gen/%.skel.h)
SRCS := $(filter-out $(if $(filter 1,$(ZYDIS)),,src/insn/insn_x86.c),$(wildcard src/*.c src/*/*.c src/*/*/*.c))
OBJS := $(SRCS:%.c=$(O)/%.o)

# All but main, for programs that take parts of it: the linker finds out which.
LIB := $(O)/waitscope.a
$(LIB): $(filter-out $(O)/src/main.o,$(OBJS))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

all: $(O)/waitscope ## build $(O)/waitscope

$(O)/waitscope: $(OBJS)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(HARDEN_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(OBJS): ALL_CFLAGS += $(HARDEN_CFLAGS)
$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# A change of compiler or flags rebuilds everything; otherwise the files keep their time.
$(O)/flags: FLAGS = $(CC) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(HARDEN_CFLAGS)
$(O)/bpf-flags: FLAGS = $(CLANG) $(BPF_CFLAGS)
$(O)/fuzz-flags: FLAGS = $(CLANG) $(CPPFLAGS) $(FUZZ_FLAGS)
$(O)/flags $(O)/bpf-flags $(O)/fuzz-flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' > $@

# Skeletons are made before anything that may include them; -MMD then knows who does.
$(filter $(O)/src/source/% $(O)/src/names/%,$(OBJS)): | $(SKELS)

$(BPF_RAW:%=$(O)/bpf/%.bpf.o): BPF_DEFS := -DWS_RAW_TP
$(BPF_RAW:%=$(O)/bpf/%.bpf.o): $(O)/bpf/%_raw.bpf.o: bpf/%.bpf.c $(O)/bpf-flags
	$(bpf-object)
$(BPF_WHY:%=$(O)/bpf/%.bpf.o): BPF_DEFS := -DWS_WHY
$(BPF_WHY:%=$(O)/bpf/%.bpf.o): $(O)/bpf/%_why.bpf.o: bpf/%.bpf.c $(O)/bpf-flags
	$(bpf-object)
$(BPF_PLAIN:%=$(O)/bpf/%.bpf.o): BPF_DEFS := -DWS_PLAIN
$(BPF_PLAIN:%=$(O)/bpf/%.bpf.o): $(O)/bpf/%_plain.bpf.o: bpf/%.bpf.c $(O)/bpf-flags
	$(bpf-object)
$(O)/bpf/%.bpf.o: bpf/%.bpf.c $(O)/bpf-flags
	$(bpf-object)

$(O)/noline: scripts/noline.c
	@mkdir -p $(@D)
	$(call say,HOSTCC,$@)
	$(Q)$(HOSTCC) $(WARN) -O2 -o $@ $< -lelf
$(BPF_OBJS): | $(O)/noline

# Half of an object is what nobody reads at run time: the labels of basic blocks, which clang leaves in the
# symbol table, and line information (scripts/noline.c; BPF_LINES=1 keeps it, for a verifier's log).
define bpf-object
@mkdir -p $(@D)
$(call say,BPF,$@)
$(Q)$(CLANG) $(BPF_CFLAGS) $(BPF_DEFS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $(@:.bpf.o=.tmp.o) $<
$(Q)$(LLVM_OBJCOPY) -w --strip-symbol='LBB*' $(@:.bpf.o=.tmp.o)
$(if $(BPF_LINES),,$(Q)$(O)/noline $(@:.bpf.o=.tmp.o))
$(Q)$(BPFTOOL) gen object $@ $(@:.bpf.o=.tmp.o)
endef

$(O)/gen/%.skel.h: $(O)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# ---- words: the manual and the completions, both from or beside the option table ----
MAN := $(O)/waitscope.8
COMPLETIONS := $(O)/completions/waitscope $(O)/completions/_waitscope

words: $(MAN) $(COMPLETIONS) ## build the manual and the completions

$(MAN): docs/waitscope.8.scd
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)$(SCDOC) < $< > $@

# Of the command line, then of the subcommands; a line of one field begins each of those.
$(O)/options: $(O)/waitscope
	$(Q){ $< --dump-options && echo report && $< report --dump-options && \
		echo diff && $< diff --dump-options; } > $@

$(O)/completions/waitscope: completions/waitscope.bash.in
$(O)/completions/_waitscope: completions/_waitscope.in
$(COMPLETIONS): $(O)/options scripts/completions.awk
	@mkdir -p $(@D)
	$(call say,WORDS,$@)
	$(Q)awk -f scripts/completions.awk $(O)/options $(filter completions/%.in,$^) > $@

# ---- installing ----
install: $(O)/waitscope words ## install below DESTDIR/PREFIX
	install -D -m 755 $(O)/waitscope $(DESTDIR)$(SBINDIR)/waitscope
	install -D -m 644 $(MAN) $(DESTDIR)$(MANDIR)/man8/waitscope.8
	install -D -m 644 $(O)/completions/waitscope $(DESTDIR)$(BASHCOMPDIR)/waitscope
	install -D -m 644 $(O)/completions/_waitscope $(DESTDIR)$(ZSHCOMPDIR)/_waitscope
	install -D -m 755 docs/bisect.sh $(DESTDIR)$(DOCDIR)/bisect.sh
	install -d $(DESTDIR)$(UNITDIR)
	for unit in waitscope waitscope-metrics; do sed 's|@SBINDIR@|$(SBINDIR)|' packaging/$$unit.service.in \
		> $(DESTDIR)$(UNITDIR)/$$unit.service || exit 1; done
	install -m 644 packaging/waitscope-metrics.socket $(DESTDIR)$(UNITDIR)/waitscope-metrics.socket
	install -d $(DESTDIR)$(DOCDIR)/prometheus $(DESTDIR)$(DOCDIR)/kubernetes
	install -m 644 packaging/prometheus/* $(DESTDIR)$(DOCDIR)/prometheus
	install -m 644 packaging/kubernetes/* $(DESTDIR)$(DOCDIR)/kubernetes

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(SBINDIR)/waitscope $(DESTDIR)$(MANDIR)/man8/waitscope.8 \
		$(DESTDIR)$(BASHCOMPDIR)/waitscope $(DESTDIR)$(ZSHCOMPDIR)/_waitscope \
		$(DESTDIR)$(DOCDIR)/bisect.sh $(DESTDIR)$(UNITDIR)/waitscope.service \
		$(DESTDIR)$(UNITDIR)/waitscope-metrics.service $(DESTDIR)$(UNITDIR)/waitscope-metrics.socket
	rm -rf $(DESTDIR)$(DOCDIR)/prometheus $(DESTDIR)$(DOCDIR)/kubernetes

deps: ## install what is missing to build and to test (Debian, Ubuntu, Fedora; as root)
	$(Q)scripts/deps.sh build test

deps-build: ## ... only to build
	$(Q)scripts/deps.sh build

deps-vm: ## ... to boot other kernels, cross-build and try packages (Debian)
	$(Q)scripts/deps.sh build test vm

# ARGS replaces the options: make run ARGS='-d 30 --by comm'
run: $(O)/waitscope $(O)/tests/load/demo ## ten seconds of live tables beside a small load (as root)
	$(Q)scripts/run.sh $(O) $(ARGS)

# ---- the house ----
C_FILES := $(wildcard src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] include/*.h bpf/*.[ch] bpf/*/*.[ch] bench/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])

lint: ## check floors, sizes, format and scripts
	$(Q)scripts/lint.sh

format: ## let clang-format decide
	clang-format -i $(C_FILES)

vmlinux-dump: ## write all types of the running kernel to $(O)/vmlinux.h, for looking things up
	@mkdir -p $(O)
	$(Q)$(BPFTOOL) btf dump file /sys/kernel/btf/vmlinux format c > $(O)/vmlinux.h
	@echo $(O)/vmlinux.h

.PHONY: words install uninstall deps deps-build deps-vm run lint format vmlinux-dump

# ---- tests ----
include tests/tests.mk
-include mk/*.mk

clean: ## remove what was built
	$(Q)rm -rf $(O)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

FORCE:
.PHONY: all clean help FORCE

-include $(OBJS:.o=.d) $(BPF_OBJS:.o=.d)

# SPDX-License-Identifier: GPL-2.0-or-later
# Load programs for tests: plain C, nothing of ours in them.
LOAD_SRCS := $(wildcard tests/load/*.c)
LOAD_BINS := $(LOAD_SRCS:%.c=$(O)/%)

$(LOAD_SRCS:%.c=$(O)/%): $(O)/tests/load/%: $(O)/tests/load/%.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -pthread

# A 32-bit program, by a compiler for x86-64 alone.
ifeq ($(shell uname -m),x86_64)
LOAD_BINS += $(O)/tests/load/futex32
$(O)/tests/load/futex32: tests/load/i386/futex.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -m32 -std=gnu11 -O1 -g -Wall -ffreestanding -fno-stack-protector -fno-pic -no-pie -fcf-protection=none \
		-fno-asynchronous-unwind-tables -nostdlib -static -o $@ $<
endif

# Merged arms lie as each compiler puts them: tests/load/arms-COMPILER-LEVEL.
ARMS_CCS := $(foreach cc,gcc clang,$(if $(shell command -v $(cc)),$(cc)))
ARMS_BINS := $(foreach cc,$(ARMS_CCS),$(foreach o,O1 O2 O3,$(O)/tests/load/arms-$(cc)-$(o)))
$(ARMS_BINS): $(O)/tests/load/arms-%: tests/load/arms.c tests/load/load.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(word 1,$(subst -, ,$*)) $(CPPFLAGS) -std=gnu11 -g -$(word 2,$(subst -, ,$*)) -o $@ $< -pthread

# The same shapes of code in three languages: tests/load/shapes-COMPILER-LEVEL. Go has two levels, as it is and
# without optimisation.
SHAPES_C := $(foreach cc,$(ARMS_CCS),$(foreach o,O0 O1 O2 O3,$(O)/tests/load/shapes-$(cc)-$(o)))
SHAPES_RUST := $(if $(shell command -v rustc),$(foreach o,O0 O1 O2 O3,$(O)/tests/load/shapes-rustc-$(o)))
SHAPES_GO := $(if $(shell command -v go),$(foreach o,O0 O2,$(O)/tests/load/shapes-go-$(o)))
SHAPES_BINS := $(SHAPES_C) $(SHAPES_RUST) $(SHAPES_GO)
$(SHAPES_C): $(O)/tests/load/shapes-%: tests/load/shapes.c tests/load/load.h
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(word 1,$(subst -, ,$*)) $(CPPFLAGS) -std=gnu11 -g -$(word 2,$(subst -, ,$*)) -o $@ $< -pthread
$(SHAPES_RUST): $(O)/tests/load/shapes-rustc-O%: tests/load/shapes.rs
	@mkdir -p $(@D)
	$(call say,RUSTC,$@)
	$(Q)MAKEFLAGS= rustc -A warnings -g -C opt-level=$* -o $@ $<
$(SHAPES_GO): $(O)/tests/load/shapes-go-O%: tests/load/shapes.go
	@mkdir -p $(@D)
	$(call say,GO,$@)
	$(Q)GO111MODULE=off CGO_ENABLED=0 go build $(if $(filter 0,$*),-gcflags='-N -l') -o $@ $<

load: $(LOAD_BINS) $(ARMS_BINS) $(SHAPES_BINS) ## build the load programs for tests
.PHONY: load
-include $(LOAD_SRCS:%.c=$(O)/%.d)

# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets (libFuzzer, with ASan and UBSan): tests/fuzz/fuzz_NAME.c, seeds in tests/fuzz/corpus/NAME.
# tests/fuzz/limits: how large inputs get, where that is not 8 KB.
# By hand and for long: `make check-fuzz FUZZ_SECONDS=3600`, or build/fuzz/NAME DIR.
FUZZ_SECONDS ?= 3
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BINS := $(FUZZ_NAMES:%=$(O)/fuzz/%)
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
FUZZ_SRCS := $(CORE_SRCS) $(filter src/opts%,$(MAIN_SRCS)) $(SINK_SRCS) $(addprefix src/source/,btf_check.c cgroup.c glob.c mountinfo.c proc_text.c) \
	src/source/line/pmu.c src/source/line/line_shared.c src/source/contend/futex_place.c $(INSN_SRCS) src/names/slab_types.c \
	$(wildcard src/names/btf_*.c) src/names/kernel_syms.c \
	$(filter src/names/demangle% src/names/dwarf% src/names/elf% src/names/user_%,$(NAMES_SRCS)) src/names/debuginfod.c src/names/wire.c src/names/work.c src/names/opener_ask.c
FUZZ_OBJS := $(FUZZ_SRCS:%.c=$(O)/fuzz/%.o)

$(O)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call say,FUZZCC,$@)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 $(FUZZ_FLAGS) -Itests/fuzz -MMD -MP -c -o $@ $<

$(FUZZ_BINS): $(O)/fuzz/%: $(O)/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_OBJS)
	$(call say,LINK,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

fuzz: $(FUZZ_BINS) ## build the fuzz targets
check-fuzz: $(FUZZ_BINS) ## run each of them for FUZZ_SECONDS
	$(Q)tests/fuzz/run.sh $(O)/fuzz $(FUZZ_SECONDS) $(FUZZ_NAMES)

.PHONY: fuzz check-fuzz
-include $(FUZZ_OBJS:.o=.d) $(FUZZ_NAMES:%=$(O)/fuzz/tests/fuzz/fuzz_%.d)

# ---- clang-tidy (.clang-tidy) ----
TIDY ?= clang-tidy
TIDY_SRCS := $(CORE_SRCS) $(NAMES_SRCS) $(INSN_SRCS) $(SINK_SRCS) $(SOURCE_SRCS) $(MAIN_SRCS)

# bpftool's code is not ours to tidy: copies of the skeletons say so.
tidy: $(SKELS) ## clang-tidy over src
	@mkdir -p $(O)/tidy
	@for s in $(SKELS); do \
		{ echo '/* NOLINTBEGIN */'; cat $$s; echo '/* NOLINTEND */'; } > $(O)/tidy/$${s##*/}; done
	$(Q)$(TIDY) --quiet $(TIDY_SRCS) -- -std=gnu11 $(filter-out -I$(O)/gen,$(CPPFLAGS)) -isystem $(O)/tidy 2>/dev/null

.PHONY: tidy

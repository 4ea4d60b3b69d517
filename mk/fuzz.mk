# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets (libFuzzer, with ASan and UBSan): tests/fuzz/fuzz_NAME.c, seeds in tests/fuzz/corpus/NAME.
# tests/fuzz/limits: how large inputs get, where that is not 8 KB.
# By hand and for long: `make check-fuzz FUZZ_SECONDS=3600`, or build/fuzz/NAME DIR.
FUZZ_SECONDS ?= 3
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BINS := $(FUZZ_NAMES:%=$(O)/fuzz/%)
FUZZ_FLAGS := -O1 -gline-tables-only -DWS_SANITIZED -fno-omit-frame-pointer \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
# All of waitscope but main; each target takes what it needs out of the archive.
FUZZ_OBJS := $(patsubst $(O)/%,$(O)/fuzz/%,$(filter-out $(O)/src/main.o,$(OBJS)))
FUZZ_LIB := $(O)/fuzz/waitscope.a

$(FUZZ_OBJS): | $(SKELS)
# What a target compares when it looks at what came out tells the fuzzer nothing about inputs, nor does what draws cell
# by cell: each comparison is a call, most of the time of `tui`. Branches are traced all the same.
QUIET := $(FUZZ_NAMES:%=$(O)/fuzz/tests/fuzz/fuzz_%.o) $(O)/fuzz/src/sink/tui_canvas.o
$(QUIET): FUZZ_QUIET := -fno-sanitize-coverage=trace-cmp
$(O)/fuzz/%.o: %.c $(O)/fuzz-flags
	@mkdir -p $(@D)
	$(call say,FUZZCC,$@)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 $(FUZZ_FLAGS) $(FUZZ_QUIET) -Itests/fuzz -MMD -MP -c -o $@ $<

$(FUZZ_LIB): $(FUZZ_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(FUZZ_BINS): $(O)/fuzz/%: $(O)/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_LIB)
	$(call say,LINK,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

# What `make check` runs with the sanitizers is made of the same objects.
SAN_BINS := $(patsubst $(O)/%,$(O)/fuzz/%,$(UNIT_BINS) $(GOLDEN_BIN) $(COMPARE_BIN) $(NAMES_ASK))
SAN_TOOL := $(O)/fuzz/waitscope
SAN_OBJS := $(SAN_BINS:%=%.o) $(O)/fuzz/src/main.o
$(O)/fuzz/tests/unit/test_bucket.o: | $(O)/gen/boundaries.inc
$(O)/fuzz/tests/unit/test_text.o: | $(O)/gen/unseen.inc
$(SAN_BINS): %: %.o $(FUZZ_LIB)
	$(call say,LINK,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -o $@ $< $(UNTRACED) $(FUZZ_LIB) $(LDLIBS) -lcmocka

$(SAN_TOOL): $(O)/fuzz/src/main.o $(FUZZ_LIB)
	$(call say,LINK,$@)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -o $@ $^ $(LDLIBS)

# This one decodes all of libc: what the fuzzer wants to know of each branch takes longer than the decoding.
UNTRACED_OBJS := $(patsubst $(O)/%,$(O)/fuzz/untraced/%,$(filter $(O)/src/insn/%,$(OBJS)))
$(O)/fuzz/tests/unit/test_insn_x86: UNTRACED = $(UNTRACED_OBJS)
$(O)/fuzz/tests/unit/test_insn_x86: $(UNTRACED_OBJS)
$(UNTRACED_OBJS): $(O)/fuzz/untraced/%.o: %.c $(O)/fuzz-flags
	@mkdir -p $(@D)
	$(call say,FUZZCC,$@)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 $(FUZZ_FLAGS) -fno-sanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

fuzz: $(FUZZ_BINS) ## build the fuzz targets
check-fuzz: $(FUZZ_BINS) ## run each of them for FUZZ_SECONDS
	$(Q)tests/fuzz/run.sh $(O)/fuzz $(FUZZ_SECONDS) $(FUZZ_NAMES)

.PHONY: fuzz check-fuzz
-include $(FUZZ_OBJS:.o=.d) $(SAN_OBJS:.o=.d) $(UNTRACED_OBJS:.o=.d) $(FUZZ_NAMES:%=$(O)/fuzz/tests/fuzz/fuzz_%.d)

# ---- clang-tidy (.clang-tidy) ----
TIDY ?= clang-tidy
TIDY_SRCS := $(OBJS:$(O)/%.o=%.c)

# bpftool's code is not ours to tidy: copies of the skeletons say so.
tidy: $(SKELS) ## clang-tidy over src
	@mkdir -p $(O)/tidy
	@for s in $(SKELS); do \
		{ echo '/* NOLINTBEGIN */'; cat $$s; echo '/* NOLINTEND */'; } > $(O)/tidy/$${s##*/}; done
	$(Q)$(TIDY) --quiet $(TIDY_SRCS) -- -std=gnu11 $(filter-out -I$(O)/gen,$(CPPFLAGS)) -isystem $(O)/tidy 2>/dev/null

.PHONY: tidy

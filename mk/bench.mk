# SPDX-License-Identifier: GPL-2.0-or-later
# Cost and exactness beside the peers (bench/), and the verifier's work against its budget.
BENCH_O := $(O)/bench
BENCH_BINS := $(addprefix $(BENCH_O)/,attach progs pipe requests calls gaps)
BENCH_OBJS := $(patsubst bench/%.c,$(BENCH_O)/%.o,$(wildcard bench/*.bpf.c))

$(BENCH_BINS): $(BENCH_O)/%: bench/%.c tests/load/load.h tests/load/fs.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -Itests $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $< $(LDFLAGS) $(shell $(PKG_CONFIG) --libs libbpf) -pthread

$(BENCH_O)/%.bpf.o: bench/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF,$@)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c -o $@ $<

# The source's own code, on made-up histograms.
$(BENCH_O)/growth: bench/growth.c tests/load/load.h $(LIB)
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -Itests $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $< $(LIB) $(LDFLAGS) $(LDLIBS)

bench-bins: $(BENCH_O)/growth $(BENCH_BINS) $(BENCH_OBJS) $(LOAD_BINS) $(NAMES_ASK) $(O)/waitscope
.PHONY: bench-bins

check-insns: bench-bins $(O)/tests/kernel/test_walk ## what the verifier walks and what a wait executes, against tests/expect/{insns,calls}; the stack
	$(Q)O=$(O) python3 bench/insns.py
	$(Q)O=$(O) python3 bench/executed.py
	$(Q)O=$(O) python3 bench/stack.py

update-insns: bench-bins $(O)/tests/kernel/test_walk ## write tests/expect/{insns,calls} anew for the running kernel
	$(Q)O=$(O) python3 bench/insns.py --update
	$(Q)O=$(O) python3 bench/executed.py --update

bench: bench-bins ## cost and exactness beside the peers (BENCH=quick: under a minute; as root)
	$(Q)O=$(O) python3 bench/bench.py $(BENCH)

bench-doc: ## put the tables of the last make bench into docs/BENCHMARKS.md
	$(Q)O=$(O) python3 bench/doc.py

.PHONY: check-insns update-insns bench bench-doc

# SPDX-License-Identifier: GPL-2.0-or-later
# Golden tests: recorded frames through every sink (tests/golden/run.sh prints TAP).
GOLDEN_BIN := $(O)/tests/golden/render $(O)/tests/golden/again
GOLDEN_OBJS := $(O)/tests/golden/render.o $(O)/tests/golden/record.o $(O)/tests/golden/record_contended.o \
	$(O)/tests/golden/record_lines.o

$(O)/tests/golden/render: $(GOLDEN_OBJS)
$(O)/tests/golden/again: $(O)/tests/golden/again.o
$(GOLDEN_BIN): $(LIB)
	$(link-test)

golden: $(GOLDEN_BIN) ## recorded frames through every sink
	$(Q)tests/golden/run.sh $(O)/tests/golden/render

.PHONY: golden
-include $(GOLDEN_OBJS:.o=.d) $(O)/tests/golden/again.d

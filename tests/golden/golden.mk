# SPDX-License-Identifier: GPL-2.0-or-later
# Golden tests: recorded frames through every sink (tests/golden/run.sh prints TAP).
GOLDEN_BIN := $(O)/tests/golden/render

$(GOLDEN_BIN): $(O)/tests/golden/render.o $(LIB)
	$(link-test)

golden: $(GOLDEN_BIN) ## recorded frames through every sink
	$(Q)tests/golden/run.sh $(O)/tests/golden/render

.PHONY: golden
-include $(O)/tests/golden/render.d

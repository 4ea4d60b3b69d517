# SPDX-License-Identifier: GPL-2.0-or-later
# Golden tests: records through every sink (tests/golden/test_golden.py says how; TAP).
GOLDEN_BIN := $(O)/tests/golden/window

$(GOLDEN_BIN): $(O)/tests/golden/window.o $(LIB)
	$(link-test)

golden: $(GOLDEN_BIN) $(O)/waitscope ## records through every sink [UPDATE=1: write what comes out to expected/]
	$(Q)O=$(O) python3 tests/golden/test_golden.py $(if $(UPDATE),--update)

.PHONY: golden
-include $(O)/tests/golden/window.d

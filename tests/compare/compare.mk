# SPDX-License-Identifier: GPL-2.0-or-later
# Made-up runs, compared, for tests/compare/test_compare.py; and records with something wrong in them.
COMPARE_BIN := $(O)/tests/compare/pairs $(O)/tests/compare/mutants

$(COMPARE_BIN): $(O)/tests/compare/%: $(O)/tests/compare/%.o $(LIB)
	$(link-test)

-include $(COMPARE_BIN:=.d)

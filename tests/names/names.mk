# SPDX-License-Identifier: GPL-2.0-or-later
# Names: a program that asks src/names, for tests/names/test_names.py.
NAMES_ASK := $(O)/tests/names/ask

$(NAMES_ASK): $(O)/tests/names/ask.o $(LIB)
	$(link-test)

names: $(NAMES_ASK) ## build the program that asks for names
.PHONY: names
-include $(NAMES_ASK:=.d)

# And one that tries what the process that reads foreign files may not.
NAMES_WALLS := $(O)/tests/names/walls
$(NAMES_WALLS): $(O)/tests/names/walls.o $(LIB)
	$(link-test)
-include $(NAMES_WALLS:=.d)

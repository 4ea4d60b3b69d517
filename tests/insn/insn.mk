# SPDX-License-Identifier: GPL-2.0-or-later
# The arm64 decoder, for tests/insn/test_arm64.py.
INSN_TOOL := $(O)/tests/insn/arm64

$(INSN_TOOL): $(O)/tests/insn/arm64.o $(addprefix $(O)/src/insn/,insn_arm64.o insn_code.o insn_look.o)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^

-include $(INSN_TOOL:=.d)

# SPDX-License-Identifier: GPL-2.0-or-later
# Privileges, and what is left behind.
CYCLES ?= 40

check-privs: $(O)/waitscope $(O)/tests/load/locks ## capabilities: what it needs, what it keeps (as root)
	$(Q)tests/privs/privs.sh $<

check-cycles: $(O)/waitscope ## start and end it CYCLES times: nothing may be left (as root)
	$(Q)tests/privs/cycles.sh $< $(CYCLES)

.PHONY: check-privs check-cycles

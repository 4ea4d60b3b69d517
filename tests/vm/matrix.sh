#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# matrix.sh ARCH OUT_DIR: writes the table of kernels and sources in docs/KERNELS.md from what the
# guests of a complete run of check.sh reported. Other architectures' rows stay.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
page=$here/../../docs/KERNELS.md
arch=$1 out=$2
begin="<!-- kernels $arch: written by make check-vm ARCH=$arch -->"
end="<!-- kernels $arch: end -->"

table=$(mktemp)
trap 'rm -f "$table"' EXIT
{
	echo "$begin"
	awk -v a="$arch" -v out="$out" '$1 !~ /^#/ && $3 == a { print out "/" $1 "/tap" }' \
		"$here/guests.list" | xargs -d '\n' awk -v arch="$arch" -f "$here/matrix.awk"
	echo
	echo "One static binary, the same bytes, on all of them."
	echo "$end"
} >"$table"

if ! grep -qF "$begin" "$page" 2>/dev/null; then
	echo "matrix.sh: docs/KERNELS.md has no place for the table (a line '$begin')" >&2
	exit 1
fi
awk -v begin="$begin" -v end="$end" -v table="$table" '
	$0 == begin { while ((getline line < table) > 0) print line; inside = 1 }
	!inside { print }
	$0 == end { inside = 0 }
' "$page" >"$table.new"
cat "$table.new" >"$page"
rm -f "$table.new"

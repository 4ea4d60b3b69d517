#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh BINARY ARCH [quick]: is it really static, small, and the same when built in another directory? TAP.
# The other directory is a copy of what git knows of this one, changes included. quick: it is not built again.
set -u

binary=$1 arch=$2
limit=$((5200 * 1000)) # a third is BPF objects, a quarter the tables of the instruction decoder, a fifteenth ncurses and what it asks of the locale
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

result() { # STATUS NR TEXT
	if [ "$1" -eq 0 ]; then
		echo "ok $2 - $3"
	else
		echo "not ok $2 - $3"
		failed=1
	fi
}

[ "${3-}" = quick ] && echo "1..2" || echo "1..3"
! readelf -ldW "$binary" | grep -q 'INTERP\|(NEEDED)'
result $? 1 "$arch: no interpreter and no shared libraries"

size=$(wc -c <"$binary")
[ "$size" -le "$limit" ]
result $? 2 "$arch: $size bytes stripped, at most $limit"

[ "${3-}" != quick ] || exit $failed

other=$work/a/path/of/another/length
mkdir -p "$other"
(cd "$top" && git ls-files -z --cached --others --exclude-standard |
	tar -c --ignore-failed-read --null -T - 2>/dev/null) | tar -x -C "$other"
if ! log=$(env -u MAKEFLAGS -u MAKELEVEL make -C "$other" static ARCH="$arch" O=b 2>&1); then
	printf '%s\n' "$log" | tail -n 20 | sed 's/^/#   /'
fi
cmp "$binary" "$other/b/static-$arch/waitscope.stripped"
result $? 3 "$arch: the same bytes from another directory"
exit $failed

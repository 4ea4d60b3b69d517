#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# matrix.sh ARCH OUT_DIR: writes the table of kernels and sources in README.md from what the guests
# of a whole run of check.sh said. Other architectures' rows stay.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
readme=$here/../../README.md
arch=$1 out=$2
begin="<!-- kernels $arch: written by make check-vm ARCH=$arch -->"
end="<!-- kernels $arch: end -->"

join_lines() { # "a; b; c"
	paste -s -d ';' | sed 's/;/; /g'
}

row() { # GUEST DIR
	version=$(sed -n 's/^# kernel \([^ ]*\) .*/\1/p' "$2/tap")
	cpus=$(sed -n 's/^# kernel .*, \([0-9]* of [0-9]*\) CPUs$/\1/p' "$2/tap")
	passed=$(grep '^ok ' "$2/tap" | grep -vc '# SKIP')
	skipped=$(grep -c '^ok .*# SKIP' "$2/tap" || true)
	[ "$skipped" -eq 0 ] || passed="$passed, $skipped skipped"
	# Lines are "sched --slower     yes", "... yes (HOW)" or "... no: REASON"; reasons are told once.
	sources=$(sed -n 's/^# source \(.*[^ ]\)  *yes\( (.*)\)*$/\1/p' "$2/tap" | join_lines)
	how=$(sed -n 's/^# source .*[^ ]  *yes (\(.*\))$/\1/p' "$2/tap" | sort -u | join_lines)
	[ -z "$how" ] || sources="$sources ($how)"
	without=$(sed -n 's/^# source \(.*[^ ]\)  *no: .*/\1/p' "$2/tap" | join_lines)
	why=$(sed -n 's/^# source .*[^ ]  *no: //p' "$2/tap" | sort -u | join_lines)
	[ -z "$without" ] || sources="$sources; not: $without ($why)"
	printf '| %s | %s | %s | %s | %s |\n' "$1" "$version" "$cpus" "$sources" \
		"$passed"
}

table=$(mktemp)
trap 'rm -f "$table"' EXIT
{
	echo "$begin"
	echo "| guest ($arch) | kernel | CPUs online | sources | tests passed |"
	echo "|---|---|---|---|---|"
	awk -v a="$arch" '$1 !~ /^#/ && $3 == a { print $1 }' "$here/guests.list" |
		while read -r guest; do
			row "$guest" "$out/$guest"
		done
	echo
	echo "One static binary, the same bytes, on all of them."
	echo "$end"
} >"$table"

if ! grep -qF "$begin" "$readme" 2>/dev/null; then
	echo "matrix.sh: README.md has no place for the table (a line '$begin')" >&2
	exit 1
fi
awk -v begin="$begin" -v end="$end" -v table="$table" '
	$0 == begin { while ((getline line < table) > 0) print line; inside = 1 }
	!inside { print }
	$0 == end { inside = 0 }
' "$readme" >"$table.new"
cat "$table.new" >"$readme"
rm -f "$table.new"

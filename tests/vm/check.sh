#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh ARCH BIN_DIR OUT_DIR [GUEST...]: boots the guests of guests.list, one after the other, holds
# what they say against expect.list, and prints it as one TAP stream. When all guests have passed, the
# table of kernels in docs/KERNELS.md is written anew. WS_VM_UNTIL (seconds since 1970): a guest that would
# not end by then, if it took as long as the longest so far, is skipped and named.
set -u

here=$(cd "$(dirname "$0")" && pwd)
arch=$1 bins=$2 out=$3
shift 3
guests=$*
all=$(awk -v a="$arch" '$1 !~ /^#/ && $3 == a { print $1 }' "$here/guests.list")
[ -n "$guests" ] || guests=$all
nr=0 failed=0 skipped=0 longest_s=120 late=
until=${WS_VM_UNTIL:-0}
sha=$(sha256sum <"$bins/waitscope" | cut -d ' ' -f 1)

result() { # "ok" | "not ok", TEXT
	nr=$((nr + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $nr - $2"
}

# The reason expect.list gives for a skip of TEST in GUEST, or nothing.
expected_skip() {
	while read -r e_guest e_test e_what e_reason; do
		# shellcheck disable=SC2254 # globs, on purpose
		case $1 in
		$e_guest)
			case $2 in
			$e_test) [ "$e_what" = skip ] && printf '%s\n' "$e_reason" && return ;;
			esac
			;;
		esac
	done <"$here/expect.list"
}

# One TAP line of a guest: "ok 3 - NAME: text" or "ok 3 - NAME # SKIP reason".
judge() { # GUEST LINE
	name=$(printf '%s\n' "$2" | sed 's/^[a-z ]*[0-9]* - \([a-z0-9-]*\).*/\1/')
	text=${2#* - }
	expected=$(expected_skip "$1" "$name")
	case $2 in
	'ok '*'# SKIP'*)
		if [ -n "$expected" ]; then
			skipped=$((skipped + 1))
			result ok "$1 $name # SKIP $expected"
		else
			result 'not ok' "$1 $text: this skip is not in expect.list"
		fi
		;;
	'ok '*)
		if [ -n "$expected" ]; then
			result 'not ok' "$1 $text: passes, but expect.list has a skip: $expected"
		else
			result ok "$1 $text"
		fi
		;;
	*) result 'not ok' "$1 $text" ;;
	esac
}

run_guest() {
	dir=$out/$1
	begin=$(date +%s)
	if ! "$here/boot.sh" "$1" "$arch" "$bins" "$dir"; then
		result 'not ok' "$1-$arch runs to its end"
		sed 's/^/#   /' "$dir/why" 2>/dev/null
		return
	fi
	grep '^# ' "$dir/tap" | grep -v '^# END'
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*) judge "$1-$arch" "$line" ;;
		esac
	done <"$dir/tap"
	if grep -E 'Oops|kernel BUG|BUG: unable' "$dir/console" | sed 's/^/#   /' | grep .; then
		result 'not ok' "$1-$arch: the kernel stays whole"
	fi
	if grep -q "^# sha256 $sha\$" "$dir/tap"; then
		result ok "$1-$arch ran this very binary"
	else
		result 'not ok' "$1-$arch ran another binary than $sha"
	fi
	took_s=$(($(date +%s) - begin))
	[ "$took_s" -le "$longest_s" ] || longest_s=$took_s
	echo "# $1-$arch: $(cat "$dir/kernel"): $took_s s"
}

echo "# waitscope $arch, static: sha256 $sha"
for guest in $guests; do
	if [ "$until" -gt 0 ] && [ $(($(date +%s) + longest_s)) -gt "$until" ]; then
		late=1
		skipped=$((skipped + 1))
		result ok "$guest-$arch # SKIP no time left for it (make check-vm GUESTS=$guest)"
		continue
	fi
	run_guest "$guest"
done
echo "1..$nr"
echo "# $((nr - failed - skipped)) passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] || exit 1
[ "$guests" != "$all" ] || [ -n "$late" ] || "$here/matrix.sh" "$arch" "$out"

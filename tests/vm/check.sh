#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh ARCH BIN_DIR OUT_DIR [GUEST...]: boots the guests of guests.list, in its order and several at
# once, holds what they say against expect.list, and prints it in that order as one TAP stream. When all
# guests have passed, the table of kernels in docs/KERNELS.md is written anew.
#
# WS_VM_AT_ONCE	how many run at once; as many as there are CPUs
# WS_VM_UNTIL	seconds since 1970: a guest that would not end by then, if it took half as long again as the
#		shortest so far (the list begins with the longest), is skipped and named
set -u

here=$(cd "$(dirname "$0")" && pwd)
arch=$1 bins=$2 out=$3
shift 3
guests=$*
all=$(awk -v a="$arch" '$1 !~ /^#/ && $3 == a { print $1 }' "$here/guests.list")
[ -n "$guests" ] || guests=$all
nr=0 failed=0 skipped=0 late='' booters=''
until=${WS_VM_UNTIL:-0} at_once=${WS_VM_AT_ONCE:-$(nproc)}
sha=$(sha256sum <"$bins/waitscope" | cut -d ' ' -f 1)
state=$(mktemp -d) # a directory for each guest that was begun; `end`, when it ended, says how

case $at_once in
'' | *[!0-9]* | 0) echo "check.sh: WS_VM_AT_ONCE: '$at_once': not a number of guests" >&2; exit 2 ;;
esac

# Those that boot end what they started when they are told to.
finish() {
	# shellcheck disable=SC2086 # a list
	[ -z "$booters" ] || kill $booters 2>/dev/null
	wait
	rm -rf "$state"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ---- booting ----

# Would a guest that is booted now end too late?
too_late() {
	[ "$until" -gt 0 ] || return 1
	cat "$state"/*/took 2>/dev/null | sort -n | head -n 1 | {
		read -r shortest_s || shortest_s=120
		[ $(($(date +%s) + shortest_s * 3 / 2)) -gt "$until" ]
	}
}

# One of those that boot: takes the first guest that nobody has taken, until none is left.
boot_guests() {
	boot=
	trap '[ -z "$boot" ] || kill "$boot" 2>/dev/null; exit 143' TERM
	for guest in $guests; do
		mkdir "$state/$guest" 2>/dev/null || continue
		begin=$(date +%s) how=whole
		if too_late; then
			how=late
		else
			"$here/boot.sh" "$guest" "$arch" "$bins" "$out/$guest" >"$state/$guest/said" 2>&1 &
			boot=$!
			wait "$boot" || how=broken
			boot=
			seconds=$(($(date +%s) - begin))
			echo "$seconds" >"$state/$guest/seconds"
			[ "$how" = broken ] || echo "$seconds" >"$state/$guest/took"
		fi
		echo "$how" >"$state/$guest/end.new" && mv "$state/$guest/end.new" "$state/$guest/end"
	done
}

# Does one of them still run?
booting() {
	for booter in $booters; do
		kill -0 "$booter" 2>/dev/null && return 0
	done
	return 1
}

await_end() { # GUEST
	until [ -e "$state/$1/end" ]; do
		booting || [ -e "$state/$1/end" ] || { mkdir -p "$state/$1" && echo broken >"$state/$1/end"; }
		sleep 0.5
	done
}

# ---- telling ----

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

# All that a guest said, now that it has ended.
tell_guest() {
	dir=$out/$1
	cat "$state/$1/said" 2>/dev/null
	if [ "$(cat "$state/$1/end")" = broken ]; then
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
	echo "# $1-$arch: $(cat "$dir/kernel"): $(cat "$state/$1/seconds") s"
}

echo "# waitscope $arch, static: sha256 $sha"
begin_s=$(date +%s)
for _ in $(seq "$at_once"); do
	boot_guests &
	booters="$booters $!"
done
for guest in $guests; do
	await_end "$guest"
	if [ "$(cat "$state/$guest/end")" = late ]; then
		late=1
		skipped=$((skipped + 1))
		result ok "$guest-$arch # SKIP no time left for it (make check-vm GUESTS=$guest)"
		continue
	fi
	tell_guest "$guest"
done
echo "1..$nr"
echo "# $((nr - failed - skipped)) passed, $failed failed, $skipped skipped, in $(($(date +%s) - begin_s)) s, $at_once at once"
[ "$failed" -eq 0 ] || exit 1
[ "$guests" != "$all" ] || [ -n "$late" ] || "$here/matrix.sh" "$arch" "$out"

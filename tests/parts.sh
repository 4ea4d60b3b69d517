#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by .ci/run and all.sh, which run several commands: adds up the tests of all of them.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0
whole_s=${whole_s:-3480} # no part goes on for longer than this, counted from the start of the script

# What a log says: the plain line of counts, else its TAP.
counts() {
	grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1" | tail -n 1 | grep . ||
		awk '/^ok .*# SKIP/ { s++; next } /^ok / { p++ } /^not ok / { f++ }
			END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$1"
}

# part COMMAND: runs it and adds its counts. A command that fails without a failed test counts as one, as does
# one that runs no test.
part() {
	local p f s status limit_s=$((whole_s - SECONDS)) began=$SECONDS

	echo "== $1"
	timeout --kill-after=30 "$((limit_s > 0 ? limit_s : 1))" bash -c "$1" 2>&1 | tee "$log"
	status=${PIPESTATUS[0]}
	[ "$status" -ne 124 ] || echo "$0: no end after $limit_s s: $1"
	read -r p f s < <(counts "$log" | tr -cd "0-9 \n")
	if [ "$f" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$p" -eq 0 ]; }; then
		f=1
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	echo "== $((SECONDS - began)) s: $1"
	[ "$f" -eq 0 ]
}

# The last line, and whether all passed.
total() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

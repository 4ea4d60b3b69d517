#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The load of `make check-busy`: it is there while the command runs, and nothing of it is left after that.

setup() {
	for needed in stress-ng pgrep; do
		command -v "$needed" >/dev/null || skip "no $needed"
	done
	export TMPDIR="$BATS_TEST_TMPDIR"
	busy="$BATS_TEST_DIRNAME/../busy.sh"
	echo 'echo $PPID >"$TMPDIR/busy"; pgrep -P $PPID -x stress-ng >"$TMPDIR/load"; pgrep -c -P "$(cat "$TMPDIR/load")"' \
		>"$TMPDIR/look"
}

# Of this run: its files, and its processes.
left() {
	find "$TMPDIR" -name 'ws-busy-*'
	[ ! -e "$TMPDIR/load" ] || ! kill -0 "$(cat "$TMPDIR/load")" 2>/dev/null || cat "$TMPDIR/load"
}

@test "five processes are the load while the command runs; its status is passed on, and nothing is left" {
	run "$busy" sh -c '. "$TMPDIR/look"; ls "$TMPDIR" | grep -c ws-busy; exit 7'
	[ "$status" -eq 7 ]
	[ "${lines[0]}" -ge 5 ]
	[ "${lines[1]}" -eq 1 ]
	[ -z "$(left)" ]
}

@test "a signal ends the command first, then the load, and nothing is left" {
	for signal in INT TERM; do
		rm -f "$TMPDIR/load" "$TMPDIR/out" # "up" is this one's, not the one's before
		# A job of this shell ignores SIGINT, which a shell cannot undo: env can.
		env --default-signal=INT "$busy" sh -c '. "$TMPDIR/look"; trap "echo ended; exit 0" TERM
			echo up; while :; do sleep 0.1; done' >"$TMPDIR/out" &
		pid=$!
		until grep -qs up "$TMPDIR/out"; do
			kill -0 "$pid"
			sleep 0.1
		done
		kill -s "$signal" "$pid"
		status=0
		wait "$pid" || status=$?
		[ "$status" -eq "$([ "$signal" = INT ] && echo 130 || echo 143)" ]
		grep -q ended "$TMPDIR/out"
		[ -z "$(left)" ]
	done
}

@test "a load that ends before the command is a failure, with words" {
	BUSY_LIMIT_S=2 run "$busy" sleep 4
	[ "$status" -eq 1 ]
	[[ "$output" == *"the load ended before the command"* ]]
	[ -z "$(left)" ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input: exit 2, one line on stderr that quotes it and says what was expected, nothing on stdout.
# It is told before anything needs root or a kernel.

setup() {
	load common
}

# Every option and every mistake is a row of tests/unit/test_opts.c: here is how main says it.
@test "bad values are quoted, with what was expected" {
	ws -i 12abc
	refused 2 "'12abc'" expected
	ws --cpu=
	refused 2 "''" expected
	ws -s nope
	refused 2 "'nope'" "one of"
	ws 12abc
	refused 2 "'12abc'"
}

@test "watching needs something to watch" {
	ws -s watch -d 1
	refused 2 "'watch'" "--watch"
	ws --confirm 5 -d 1
	refused 2 "--confirm"
}

@test "contradictory options" {
	ws -p 1 -t 1 -d 1
	refused 2 "--tid"
}

@test "--help and --version go to stdout and exit 0" {
	ws --help
	[ "$status" -eq 0 ]
	[ -z "$err" ]
	grep -q -- "--slower=TIME" "$out"
	[ "$(wc -L <"$out")" -le 80 ]
	ws --version
	[ "$status" -eq 0 ]
	grep -Eq '^waitscope [0-9]+\.[0-9]+\.[0-9]+' "$out"
}

@test "--help to a full disk is a failure" {
	run bash -c "'$WS' --help >/dev/full"
	[ "$status" -eq 1 ]
	[[ $output == "waitscope: error: "* ]]
}

@test "bad input is told also to a user without rights" {
	need_root
	cp "$WS" "$BATS_TEST_TMPDIR/ws"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/ws"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$BATS_TEST_TMPDIR/ws" -i 12abc
	[ "$status" -eq 2 ]
	[[ $output == *"'12abc'"* ]]
}

quoted() { # STATUS TEXT
	refused "$1" "$2" 'a\x1b[2Jb\x0awaitscope: error: c'
	[[ $err != *[$'\e\u202e']* ]] || fail "raw: $err"
}

@test "what a user typed is quoted on one line, without escapes" {
	local evil=$'a\e[2Jb\nwaitscope: error: c\u202e'

	ws -s synth -d 0.1 -o "json:/nonexistent/$evil"
	quoted 1 "output file"
	ws -s synth -d 0.1 -- "/nonexistent/$evil"
	quoted 1 "command"
	[ "$(id -u)" -ne 0 ] || for option in --cgroup --btf; do
		ws -s sched -d 0.1 "$option" "/nonexistent/$evil"
		quoted 2 "$option"
	done
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input: exit 2, one line on stderr that quotes it and says what was expected, nothing on stdout.
# It is told before anything needs root or a kernel.

setup() {
	load common
}

# option | text | what the line must say besides the text
@test "bad values of options are quoted, with what was expected" {
	local option text words

	while IFS='|' read -r option text words; do
		ws "$option" "$text"
		refused 2 "'$text'" "$words" || fail "for $option $text"
	done <<-'END'
		-i|0|10ms
		-i|12abc|expected
		-i||expected
		-i|-1|expected
		-i|1e3|expected
		-i|99999999999999999999|expected
		-d|0|expected
		-d|5x|expected
		-w|abc|expected
		-P|101|below 100
		-P|0|above 0
		-P|50,,99|expected
		-P|abc|expected
		-n|-1|expected
		-n|many|expected
		-n|4294967296|expected
		-p|0|expected
		-p|1,x|expected
		-p|12abc|expected
		-p|-5|expected
		-t|1,,2|expected
		-t|99999999999|expected
		-b|color|expected
		--sort|p42|expected
		--precision|2|expected
		--precision|7|expected
		--precision|5.5|expected
		--max-keys|0|expected
		--cpu|3-1|expected
		--cpu|a|expected
		--cpu|0-|expected
		--stack-every|x|expected
		--stack-every|-1|expected
		--freq|0|expected
		--confirm|0|expected
		--confirm|1000001|expected
		--confirm|many|expected
		--watch||expected
		--freq|1e3|expected
		--dev||expected
		--slower|5|unit
		--slower|10parsecs|expected
		--color|pink|expected
		-o|xml|expected
		-o|json:|file
		-s|nope|one of
	END
}

@test "a bad INTERVAL or COUNT is quoted" {
	ws 12abc
	refused 2 "'12abc'"
	ws 0
	refused 2 "'0'"
	ws 1 x
	refused 2 "'x'"
	ws 1 0
	refused 2 "'0'"
	ws 1 2 3
	refused 2 "'3'"
}

@test "unknown options and missing values" {
	ws --no-such-option
	refused 2 "no-such-option"
	ws -p
	refused 2 "p"
	ws --
	refused 2 "--"
}

@test "watching needs something to watch" {
	ws -s watch -d 1
	refused 2 "'watch'" "--watch"
	ws --confirm 5 -d 1
	refused 2 "--confirm"
}

@test "contradictory options" {
	ws -s synth --follow -d 1
	refused 2 "--follow"
	ws -s synth -i 1 2
	refused 2 "2"
	ws -p 1 -t 1 -d 1
	refused 2 "--tid"
	ws -s line --by pid -d 1
	refused 2 "--by" "name their threads"
}

@test "two formats to stdout are refused" {
	ws -s synth -d 0.1 -o json -o csv
	refused 2 "stdout" || refused 2 "standard output"
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

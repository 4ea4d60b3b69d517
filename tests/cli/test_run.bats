#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A run from start to end, without a kernel: the synth source through loop and sinks.

setup() {
	load common
	jsonl=$BATS_TEST_TMPDIR/jsonl
}

teardown() {
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
}

# background ARG... : waitscope in the background with JSON in $jsonl; $pid. Returns once it runs.
background() {
	"$WS" -s synth -o "json:$jsonl" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	pid=$!
	for _ in $(seq 6000); do
		! grep -qs '"type":"meta"' "$jsonl" || return 0
		sleep 0.01
	done
	fail "no meta line: $(cat "$BATS_TEST_TMPDIR/err")"
}

ended() {
	status=0
	wait "$pid" || status=$?
	pid=
}

types() {
	jq -r .type "$jsonl" | uniq -c | awk '{ print $2 "*" $1 }' | tr '\n' ' '
}

@test "INTERVAL COUNT: that many intervals, then the final" {
	ws -s synth -o "json:$jsonl" 0.05 4
	[ "$status" -eq 0 ]
	[ -z "$err" ]
	[ "$(types)" = "meta*1 interval*4 final*1 " ]
	whole_json "$jsonl"
}

@test "-d ends in time, also without an interval of its own" {
	local begin=${EPOCHREALTIME/./}

	ws -s synth -o "json:$jsonl" -d 0.4 -i 0.1
	[ "$status" -eq 0 ]
	local took=$((${EPOCHREALTIME/./} - begin))
	[ "$took" -ge 400000 ] && [ "$took" -lt 20000000 ]
	[ "$(jq -r 'select(.type == "final").end' "$jsonl")" = "duration over" ]
}

@test "SIGINT and SIGTERM: exit 0 with a final report" {
	for sig in INT TERM; do
		rm -f "$jsonl"
		background -i 10
		kill -"$sig" "$pid"
		ended
		[ "$status" -eq 0 ]
		[ "$(types)" = "meta*1 interval*1 final*1 " ]
		whole_json "$jsonl"
	done
}

@test "SIGUSR1: a report now" {
	background -i 3600
	kill -USR1 "$pid"
	for _ in $(seq 6000); do
		! grep -q '"type":"interval"' "$jsonl" || break
		sleep 0.01
	done
	grep -q '"type":"interval"' "$jsonl"
	kill -0 "$pid"
	kill -INT "$pid"
	ended
	[ "$status" -eq 0 ]
}

@test "SIGHUP: a rotated file is opened again" {
	background -i 0.05
	sleep 0.2
	mv "$jsonl" "$jsonl.1"
	kill -HUP "$pid"
	sleep 0.3
	kill -INT "$pid"
	ended
	[ "$status" -eq 0 ]
	cat "$jsonl.1" "$jsonl" | jq -r 'select(.type == "interval").seq' >"$BATS_TEST_TMPDIR/seqs"
	seq "$(wc -l <"$BATS_TEST_TMPDIR/seqs")" | cmp - "$BATS_TEST_TMPDIR/seqs"
	[ "$(jq -r 'select(.type == "final").type' "$jsonl")" = final ]
}

@test "SIGHUP: both files of each format begin as a file does; a page is in the second alone" {
	local format file
	declare -A begins=([table]='waitscope' [csv]='type,seq,' [hlog]='#[Logged ' [html]='<!DOCTYPE' [perfetto]=$'\n')

	cd "$BATS_TEST_TMPDIR"
	background -i 0.05 -o table:table -o csv:csv -o hlog:hlog -o html:html -o perfetto:perfetto
	sleep 0.2
	for format in "${!begins[@]}"; do mv "$format" "$format.1"; done
	kill -HUP "$pid"
	sleep 0.3
	kill -INT "$pid"
	ended
	[ "$status" -eq 0 ]
	[ ! -s html.1 ] && cp html html.1
	for format in "${!begins[@]}"; do
		for file in "$format" "$format.1"; do
			head -c ${#begins[$format]} "$file" | cmp - <(printf %s "${begins[$format]}") || fail "$file"
		done
	done
}

@test "SIGHUP when the file cannot be opened again: exit 1 with the name" {
	mkdir "$BATS_TEST_TMPDIR/d"
	jsonl=$BATS_TEST_TMPDIR/d/f
	background -i 0.05
	rm -r "$BATS_TEST_TMPDIR/d"
	kill -HUP "$pid"
	ended
	[ "$status" -eq 1 ]
	grep -q "^waitscope: error: .*$jsonl" "$BATS_TEST_TMPDIR/err"
}

@test "a closed pipe is a quiet end, in every format" {
	for format in table json csv hlog; do
		run bash -c "set -o pipefail; '$WS' -s synth -o $format -i 0.02 | head -1 | grep -c ."
		[ "$status" -eq 0 ]
		[ "$output" = 1 ]
	done
}

@test "an unwritable output file: exit 1, its name and the reason" {
	ws -s synth -d 0.1 -o json:/nonexistent/file
	refused 1 "/nonexistent/file" "No such file or directory"
	ws -s synth -d 0.1 -o "json:$BATS_TEST_TMPDIR"
	refused 1 "$BATS_TEST_TMPDIR" "directory"
}

@test "a full disk: exit 1, the reason, in every format" {
	for format in table json csv hlog html perfetto; do
		ws -s synth -d 0.1 -o "$format:/dev/full"
		refused 1 "/dev/full" "No space left on device"
		run bash -c "'$WS' -s synth -d 0.1 -o $format >/dev/full"
		[ "$status" -eq 1 ]
		[[ $output == "waitscope: error: "*"standard output"*"No space left"* ]]
	done
}

@test "a disk that fills up: exit 1, and only whole JSON lines on it" {
	need_root
	local disk=$BATS_TEST_TMPDIR/disk

	mkdir "$disk"
	unshare --mount --propagation private bash -c '
		set -e
		mount -t tmpfs -o size=64k none "$1"
		status=0
		"$2" -s synth -i 0.02 -d 20 -o "json:$1/log" 2>"$3.err" || status=$?
		cp "$1/log" "$3.log"
		exit $status' - "$disk" "$WS" "$BATS_TEST_TMPDIR/full" && fail "it did not fail"
	grep -q "^waitscope: error: .*No space left on device" "$BATS_TEST_TMPDIR/full.err"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/full.err")" -eq 1 ]
	whole_json "$BATS_TEST_TMPDIR/full.log"
}

@test "nothing on stderr and no escape codes where no terminal is" {
	ws -s synth 0.05 3
	[ "$status" -eq 0 ]
	[ -z "$err" ]
	lacks -q $'\033' "$out"
	[ "$(wc -L <"$out")" -le 80 ]
}

@test "--color=always colours, NO_COLOR and never do not" {
	ws -s synth --color=always -d 0.1
	grep -q $'\033\[' "$out"
	NO_COLOR=1 ws -s synth -d 0.1
	lacks -q $'\033' "$out"
	ws -s synth --color=never -d 0.1
	lacks -q $'\033' "$out"
}

@test "several -o at once: each gets the whole" {
	ws -s synth -d 0.2 -o "json:$jsonl" -o "csv:$BATS_TEST_TMPDIR/csv" -o table
	[ "$status" -eq 0 ]
	[ "$(types)" = "meta*1 interval*1 final*1 " ]
	grep -q '^final,' "$BATS_TEST_TMPDIR/csv"
	grep -q "Wakeup latency" "$out"
}

@test "-- COMMAND: exit status and output are its own" {
	ws -s synth -o "json:$jsonl" -- sh -c 'echo hello; exit 7'
	[ "$status" -eq 7 ]
	[ "$(cat "$out")" = hello ]
	[ "$(jq -r 'select(.type == "final").end' "$jsonl")" = "command ended" ]
	ws -s synth -o "json:$jsonl" -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
}

@test "-- COMMAND that cannot be executed: exit 1, its name" {
	ws -s synth -- /nonexistent/program
	refused 1 "'/nonexistent/program'" "No such file"
	ws -s synth -- /etc/passwd
	refused 1 "'/etc/passwd'" "ermission denied"
	ws -s synth -- no-such-command-here
	refused 1 "'no-such-command-here'"
}

@test "-- COMMAND gets our caller's signals and no descriptors of ours" {
	local mine look='ls /proc/self/fd | wc -l; grep -E "SigBlk|SigIgn|SigCgt" /proc/self/status'
	for how in --default-signal --ignore-signal=INT,HUP,PIPE,XFSZ,USR1; do # as nohup and & do
		env "$how" "$WS" -s synth -o "json:$jsonl" -- bash -c "$look" >"$BATS_TEST_TMPDIR/out" </dev/null
		mine=$(env "$how" bash -c "$look" </dev/null 2>/dev/null 3>&-)
		[ "$(sed 1d "$BATS_TEST_TMPDIR/out")" = "$(printf '%s\n' "$mine" | sed 1d)" ]
		[ "$(head -1 "$BATS_TEST_TMPDIR/out")" -le "$((${mine%%$'\n'*} + 1))" ]
	done
}

@test "a reader that has gone before the first line is a quiet end too" {
	for format in table json csv hlog perfetto; do
		run bash -c "set -o pipefail; { sleep 0.1; exec '$WS' -s synth -o $format -d 0.1; } | true"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
	done
}

@test "a FIFO that nobody reads is an error, not a wait" {
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	run timeout -k 1 10 "$WS" -s synth -d 0.1 -o "json:$BATS_TEST_TMPDIR/fifo"
	[ "$status" -eq 1 ] || fail "exit $status: $output"
	[[ $output == "waitscope: error: "*"$BATS_TEST_TMPDIR/fifo': a FIFO that nobody reads"* ]]
	cat "$BATS_TEST_TMPDIR/fifo" >"$BATS_TEST_TMPDIR/read" &
	sleep 0.2
	timeout -k 1 10 "$WS" -s synth -d 0.1 -o "json:$BATS_TEST_TMPDIR/fifo"
	wait $!
	whole_json "$BATS_TEST_TMPDIR/read"
}

@test "a run that cannot open all of its files leaves them as they were" {
	local dir=$BATS_TEST_TMPDIR

	echo precious >"$dir/precious"
	ws -s synth -d 0.1 -o "json:$dir/precious" -o csv:/nonexistent/z
	refused 1 /nonexistent/z
	[ "$(cat "$dir/precious")" = precious ]
	"$WS" -s synth -d 0.1 -o "json:$dir/precious"
	lacks -qx precious "$dir/precious" # its name is in argv
	whole_json "$dir/precious"
}

@test "closed standard output: an error that says so, and no other file gets its bytes" {
	local dir=$BATS_TEST_TMPDIR

	run bash -c '"$1" -s synth -d 0.1 -o "csv:$2/f" -o table 2>&1 >&- <&-' - "$WS" "$dir"
	[ "$status" -eq 1 ] || fail "exit $status: $output"
	[[ $output == "waitscope: error: standard output is closed"* ]] || fail "$output"
	! grep -q waitscope "$dir/f" || fail "the table is in the CSV file"
	run bash -c '"$1" --version 2>&1 >&-' - "$WS"
	[ "$status" -eq 1 ]
	# Only what nobody asked for is closed: all is well.
	"$WS" -s synth -d 0.1 -o "csv:$dir/f" >&- 2>&- <&-
	[ "$(head -c 9 "$dir/f")" = type,seq, ]
	run bash -c '"$1" -q -s synth -o "csv:$2/f" -- readlink /proc/self/fd/2 2>&-' - "$WS" "$dir"
	[ "$output" = /dev/null ]
}

@test "a limit of the size of files: exit 1, its name, and only whole JSON lines" {
	local log=$BATS_TEST_TMPDIR/log

	run bash -c 'ulimit -f 40; exec "$1" -s synth -i 0.02 -d 20 -o "json:$2"' - "$WS" "$log"
	[ "$status" -eq 1 ] || fail "exit $status: $output"
	[[ $output == "waitscope: error: "*"$log': File too large" ]] || fail "$output"
	whole_json "$log"
	# COMMAND's own limit kills it as ever.
	run bash -c 'ulimit -c 0 -f 1; exec "$1" -q -s synth -o json:/dev/null -- dd if=/dev/zero "of=$2" bs=4k' - "$WS" "$log.2"
	[ "$status" -eq 153 ] || fail "exit $status: $output"
}

@test "who has privileges creates files for nobody else to read" {
	need_root
	local dir=$BATS_TEST_TMPDIR

	umask 022
	"$WS" -s synth -d 0.1 -o "json:$dir/new"
	[ "$(stat -c %a "$dir/new")" = 600 ]
	echo >"$dir/old"
	"$WS" -s synth -d 0.1 -o "json:$dir/old"
	[ "$(stat -c %a "$dir/old")" = 644 ]
	chmod 755 "$BATS_TEST_TMPDIR"
	mkdir -m 777 "$dir/all"
	install -m 755 "$WS" "$dir/all/ws"
	(cd "$dir/all" && setpriv --reuid 65534 --regid 65534 --clear-groups ./ws -s synth -d 0.1 -o json:plain)
	[ "$(stat -c %a "$dir/all/plain")" = 644 ]
}

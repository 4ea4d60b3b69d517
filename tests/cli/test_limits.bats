#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --fail-if and --bisect: every end there is, without a kernel.

setup() {
	load common
}

# gate LIMIT ARG...: a short run of made-up data, with a limit.
gate() {
	local limit=$1

	shift
	ws -q -s synth -d 100ms -o json --fail-if "$limit" "$@"
}

exceeded() { # STATUS LINE...: that many lines on stderr, each as given
	local want=$1

	shift
	[ "$status" -eq "$want" ] || fail "exit $status, expected $want: $err"
	[ "$err" = "$(printf '%s\n' "$@")" ] || fail "stderr: $err"
	whole_json "$out"
	[ "$(tail -n 1 "$out" | jq -r .type)" = final ] || fail "no final report"
}

# value FILTER: of the final report on stdout, by jq; the truth that limits are held against.
value() {
	tail -n 1 "$out" | jq -r ".metrics[] | select(.name == \"sched_wakeup_latency\" and .labels == {}) | $1"
}

@test "a limit that is not exceeded: 0, and not a word" {
	gate 'sched_wakeup_latency p99 > 1h'
	exceeded 0
	gate 'sched_wakeup_latency p50 < 1ns' --fail-if 'sched_wakeup_latency count<=0'
	exceeded 0
}

@test "limits are tested on the whole run, to the nanosecond and to the sample" {
	gate 'sched_wakeup_latency count > 1000000'
	local count max p50
	count=$(value .count) max=$(value .max) p50=$(value '.p["50"]')
	gate "sched_wakeup_latency count >= $count"
	exceeded 4 "waitscope: --fail-if 'sched_wakeup_latency count >= $count': it is $count, of $count samples"
	gate "sched_wakeup_latency count > $count"
	exceeded 0
	gate "sched_wakeup_latency max >= ${max}ns"
	[ "$status" -eq 4 ]
	gate "sched_wakeup_latency max > ${max}ns"
	exceeded 0
	gate "sched_wakeup_latency max < ${max}ns"
	exceeded 0
	gate "sched_wakeup_latency max <= ${max}ns"
	[ "$status" -eq 4 ]
	gate "sched_wakeup_latency p50 >= ${p50}ns"
	[ "$status" -eq 4 ]
	gate "sched_wakeup_latency p50 > ${p50}ns"
	exceeded 0
}

@test "each that is exceeded is named, with its numbers" {
	gate 'sched_wakeup_latency{cpu="1"} max > 1us' --fail-if 'sched_wakeup_latency p50 > 1h' \
		--fail-if 'sched_run_delay rate > 0.5'
	[ "$status" -eq 4 ]
	[ "$(wc -l <<< "$err")" -eq 2 ]
	[[ $err == *"--fail-if 'sched_wakeup_latency{cpu=\"1\"} max > 1us': it is "*", of 13 samples"* ]]
	[[ $err == *"--fail-if 'sched_run_delay rate > 0.5': it is "*" a second, of "*" samples"* ]]
}

@test "a metric without a whole, and labels that several have: each is tested" {
	gate 'ext4_op_latency{op="fsync"} count > 0'
	[ "$status" -eq 4 ]
	[[ $err == *': dev="'*'": '*'it is '* ]]
	gate 'ext4_op_latency count > 0'
	[ "$(wc -l <<< "$err")" -gt 1 ]
	gate 'ext4_es_lookups{result="miss"} count >= 1'
	[ "$status" -eq 4 ]
}

@test "a group of --by" {
	gate 'sched_wakeup_latency{pid="1"} count > 1000000' --by pid
	local pid
	pid=$(jq -r 'select(.type == "final").metrics[].labels.pid // empty' "$out" | head -n 1)
	gate "sched_wakeup_latency{pid=\"$pid\"} count > 0" --by pid
	[ "$status" -eq 4 ]
	gate "sched_wakeup_latency{pid=\"$pid\",comm=\"not its name\"} count > 0" --by pid
	[ "$status" -eq 2 ]
}

@test "what matches nothing is no pass: 2, before the run where that can be known" {
	local before=$SECONDS

	ws -s synth -d 1h -o json --fail-if 'sched_wakeup_latencyy p99 > 1ms'
	refused 2 "'sched_wakeup_latencyy' is no metric"
	ws -s synth -d 1h -o json --fail-if 'sched_wakeup_latency p101 > 1ms'
	refused 2 "'p101' is no STAT (expected p50 ... p99.99, min, max, mean, count, sum or rate)"
	ws -s synth -d 1h -o json --fail-if 'ext4_es_lookups p99 > 1ms'
	refused 2 "'p99' is nothing that a counter has (expected count or rate)"
	ws -s synth -d 1h -o json --fail-if 'sched_wakeup_latency p99 > 1'
	refused 2 "'1' is no time (expected one with its unit, such as 500us)"
	ws -s synth -d 1h -o json --fail-if 'sched_wakeup_latency p99 > +10%'
	refused 2 "'+10%' is relative to nothing (only where runs are compared)"
	ws -s synth -d 1h -o json --fail-if 'sched_wakeup_latency{pid="1"} p99 > 1ms'
	refused 2 'nothing in this run has these labels (expected --by)'
	[ $((SECONDS - before)) -lt 60 ]
}

@test "... and at its end else" {
	gate 'sched_wakeup_latency{cpu="99"} p99 > 1h'
	[ "$status" -eq 2 ]
	[[ $err == "waitscope: error: --fail-if "*": not tested: nothing in the report has these labels" ]]
	[ "$(tail -n 1 "$out" | jq -r .type)" = final ]
}

@test "a metric of a source that is not on" {
	need_root
	ws -s sched -d 1h -o json --fail-if 'lock_wait p99 > 1ms'
	refused 2 'no source that runs tells of lock_wait (expected lock in --source)'
}

@test "a report that nobody read is no reason to pass" {
	status=0
	"$WS" -q -s synth -i 20ms -d 300ms -o json --fail-if 'sched_wakeup_latency p99 > 1h' \
		2> "$BATS_TEST_TMPDIR/err" | head -n 1 > /dev/null || status=$?
	grep -q 'not tested: it ended before its last report' "$BATS_TEST_TMPDIR/err"
}

# ---- of records: waitscope report ----

# record NAME ARG...: $NAME.json of a run of made-up data.
record() {
	cd "$BATS_TEST_TMPDIR" || return
	"$WS" -q -s synth -o "json:$1.json" "${@:2}"
}

# again LIMIT ARG...: the limit on what report draws.
again() {
	ws report -o json --fail-if "$@"
}

@test "report: the limits of its final report, as a run's: to the nanosecond and to the sample" {
	record a -i 50ms -d 0.3
	again 'sched_wakeup_latency count > 1000000' a.json
	exceeded 0
	local count max
	count=$(value .count) max=$(value .max)
	for stat in "count >= $count" "max >= ${max}ns" "p99 > 1ns"; do
		again "sched_wakeup_latency $stat" a.json
		[ "$status" -eq 4 ]
		[[ $err == "waitscope: --fail-if 'sched_wakeup_latency $stat': it is "*", of "*" samples" ]] || fail "$err"
		[ "$(value .count)" -eq "$count" ]
	done
	again "sched_wakeup_latency count > $count" a.json
	exceeded 0
	again "sched_wakeup_latency max > ${max}ns" a.json -q
	exceeded 0
}

@test "report: of a part, of a record that was cut short, and of several: what is drawn is what is tested" {
	record a -i 50ms -d 0.3
	record b -i 50ms -d 0.2
	local all part count args
	all=$(jq 'select(.type == "final").metrics[] | select(.name == "sched_wakeup_latency" and .labels == {}).count' a.json b.json | awk '{ n += $1 } END { print n }')
	sed '$d' a.json > cut.json
	for args in "a.json b.json" "b.json --from 2 --to 3" "a.json --last 1" "cut.json -q"; do
		# shellcheck disable=SC2086 # words
		again 'sched_wakeup_latency count > 1000000' $args
		exceeded 0
		count=$(value .count)
		[ "$args" != "a.json b.json" ] || [ "$count" -eq "$all" ]
		[[ $args != *--* ]] || [ "$count" -lt "$all" ]
		# shellcheck disable=SC2086
		again "sched_wakeup_latency count > $((count - 1))" $args
		[ "$status" -eq 4 ]
		# shellcheck disable=SC2086
		again "sched_wakeup_latency count > $count" $args
		exceeded 0
	done
}

@test "report: each limit that is exceeded is named; groups and rows as recorded" {
	record a -b pid -d 100ms
	local pid
	pid=$(jq -r 'select(.type == "final").metrics[].labels.pid // empty' a.json | head -n 1)
	again "sched_wakeup_latency{pid=\"$pid\"} count > 0" a.json --fail-if 'sched_wakeup_latency p50 > 1h' \
		--fail-if 'sched_run_delay rate > 0.5' --fail-if 'ext4_es_lookups{result="miss"} count >= 1'
	[ "$status" -eq 4 ]
	[ "$(grep -c "^waitscope: --fail-if '" <<< "$err")" -ge 3 ]
	lacks -q 'p50 > 1h' <<< "$err"
}

@test "report: what matches nothing is no pass, nor is what nobody read" {
	record a -i 10ms -d 0.5
	again 'sched_wakeup_latencyy p99 > 1ms' a.json
	refused 2 "'sched_wakeup_latencyy' is no metric"
	again 'sched_wakeup_latency p99 > +10%' a.json
	refused 2 "'+10%' is relative to nothing (only where runs are compared)"
	again 'sched_wakeup_latency{cpu="99"} p99 > 1h' a.json --fail-if 'sched_wakeup_latency p99 > 1ns'
	[ "$status" -eq 2 ]
	[[ $err == *"waitscope: --fail-if 'sched_wakeup_latency p99 > 1ns': it is "*"error: --fail-if "*": not tested: nothing in the report has these labels" ]] || fail "$err"
	# It is known before anything is drawn what a record has no source, or no groups, for.
	jq -c 'if .type == "meta" then .sources = [{name: "sched", state: "on", hooks: []}, {name: "lock", state: "off", why: "x"}] else . end' a.json > sched.json
	ws report sched.json -o json --fail-if 'lock_wait p99 > 1ms'
	refused 2 "--fail-if 'lock_wait p99 > 1ms': no source of the record tells of lock_wait (expected lock in --source)"
	ws report sched.json -o json --fail-if 'sched_run_delay p99 > 1h'
	[ "$status" -eq 0 ]
	ws report a.json -o json --fail-if 'sched_wakeup_latency{pid="1"} p99 > 1h'
	refused 2 "nothing in this run has these labels (expected --by)"
	sed '1s/"name":"sched"/"name":"later"/' sched.json > later.json # of a newer version: who knows
	again 'lock_wait p99 > 1h' later.json
	[ "$(tail -n 1 "$out" | jq -r .type)" = final ]
	# Larger than what a pipe holds: it is found out before the end.
	[ "$(stat -c %s a.json)" -gt 500000 ]
	{
		status=0
		"$WS" report a.json -o json --fail-if 'sched_wakeup_latency p99 > 1h' 2> err || status=$?
		echo "$status" > status
	} | true
	[ "$(cat status)" -eq 1 ]
	grep -q 'not tested: it ended before its last report' err
}

@test "report --bisect: 0, 1, 125, 128" {
	record a -d 100ms
	again 'sched_wakeup_latency p99 > 1h' a.json --bisect
	exceeded 0
	again 'sched_wakeup_latency p99 > 1ns' a.json --bisect
	[ "$status" -eq 1 ]
	again 'sched_wakeup_latency{cpu="99"} p99 > 1h' a.json --bisect
	[ "$status" -eq 125 ]
	again 'sched_wakeup_latency p99 > 1ns' nowhere.json --bisect
	[ "$status" -eq 125 ]
	head -c 3000 a.json | tail -c 2000 > damaged.json
	again 'sched_wakeup_latency p99 > 1ns' damaged.json --bisect
	[ "$status" -eq 125 ]
	again 'sched_wakeup_latency p99 > 1ns' a.json --bisect --from 9
	[ "$status" -eq 125 ]
	# A wrong command line, wherever it is wrong, and whether or not the files are there.
	for args in "--fail-if x" "--bogus" "--rows x" "--from y" "-o pdf"; do
		# shellcheck disable=SC2086 # words
		again 'sched_wakeup_latency p99 > 1h' $args nowhere.json --bisect
		[ "$status" -eq 128 ] || fail "$args: $status"
	done
	again 'sched_wakeup_latency p99 > 1h' --bisect
	[ "$status" -eq 128 ]
	ws report a.json --bisect
	[ "$status" -eq 128 ]
	[[ $err == *"--bisect: nothing to decide by (it goes with --fail-if)"* ]]
}

# ---- the ends of a run ----

@test "COMMAND's own failure comes first" {
	gate 'sched_wakeup_latency p99 > 1h' -- true
	exceeded 0
	gate 'sched_wakeup_latency p99 > 1ns' -- true
	[ "$status" -eq 4 ]
	gate 'sched_wakeup_latency p99 > 1ns' -- sh -c 'exit 7'
	[ "$status" -eq 7 ]
}

@test "--bisect: 0 good, 1 bad, 125 not measured, 128 a wrong command line" {
	gate 'sched_wakeup_latency p99 > 1h' --bisect
	exceeded 0
	gate 'sched_wakeup_latency p99 > 1ns' --bisect
	[ "$status" -eq 1 ]
	gate 'sched_wakeup_latency{cpu="99"} p99 > 1h' --bisect
	[ "$status" -eq 125 ]
	gate 'sched_wakeup_latency p99 > 1ns' --bisect -- sh -c 'exit 4'
	[ "$status" -eq 125 ]
	gate 'sched_wakeup_latency p99 > 1ns' --bisect -- /nowhere
	[ "$status" -eq 125 ]
	gate 'sched_wakeup_latency p99 >> 1h' --bisect
	[ "$status" -eq 128 ]
	ws --no-such-option --bisect
	[ "$status" -eq 128 ]
	ws --bisect -s synth -d 100ms
	[ "$status" -eq 128 ]
	[[ $err == *"--bisect: nothing to decide by (it goes with --fail-if)"* ]]
	gate 'sched_wakeup_latency p99 > 1h' -p 12abc -- --bisect
	[ "$status" -eq 2 ]
}

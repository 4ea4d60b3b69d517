#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Whole runs of the made-up source, which has every kind of row, through every format.

setup() {
	load common
	CHECK=$ROOT/tests/golden/check.py
	SCHEMA=$ROOT/docs/waitscope.schema.json
	export PYTHONDONTWRITEBYTECODE=1
}

valid() { # table COLUMNS | json SCHEMA | csv
	python3 "$CHECK" "$@" "$out" || fail "check.py $*"
}

@test "JSON of every grouping keeps to its schema" {
	local by

	for by in cpu pid tid comm cgroup unit container file; do
		ws -s synth --by "$by" --slower 0 -o json 0.05 2
		[ "$status" -eq 0 ]
		valid json "$SCHEMA"
	done
	[ "$(jq -c 'select(.type == "slow" and .op)' "$out" | wc -l)" -ge 1000 ]
}

@test "CSV of every grouping is well formed" {
	local by

	for by in cpu pid tid comm cgroup unit container file; do
		ws -s synth --by "$by" -o csv 0.05 2
		[ "$status" -eq 0 ]
		valid csv
		grep -q ',lock_wait,kind,' "$out"
	done
}

@test "tables fit 80 columns, whatever is asked for" {
	local options

	while read -r options; do
		# shellcheck disable=SC2086 # words, on purpose
		ws -s synth $options 0.05 2
		[ "$status" -eq 0 ]
		valid table 80
	done <<-'END'
		-N
		--by pid
		--by tid -N
		--by cgroup --sort sum -P 1,10,25,50,75,90,95,99,99.9,99.99
		--by file -z -m
		--by comm -n 1 --sort name
		--by cpu -n 0 -T
	END
}

@test "the intervals add up to the final report: counters, operations, addresses" {
	ws -s synth -o json -d 0.3 0.1
	[ "$status" -eq 0 ]
	sums() { # TYPE
		jq -sc --arg type "$1" '[.[] | select(.type == $type)] | [
			[.[].metrics[] | {k: [.name, .labels], v: (.value // .count), b: (.blocked_ns // 0)}],
			[.[].tables.contended[] | {k: [.addr], v: .count, b: .wait_ns.sum}]
		] | add | group_by(.k) | map({k: .[0].k, v: (map(.v) | add), b: (map(.b) | add)})' "$out"
	}
	[ -n "$(sums final)" ]
	[ "$(sums interval)" = "$(sums final)" ]
}

@test "the contended table: locks, then what is idle, then others; -n spares the others" {
	ws -s synth -n 2 -i 0.1 -d 0.15
	[ "$status" -eq 0 ]
	sed -n '/^final/,$p' "$out" | sed -n '/^NAME .* KIND/,/^quality/p' >"$BATS_TEST_TMPDIR/rows"
	[ "$(grep -cE '^[^ ].* (rwlock:r|spinlock|mutex|futex) +[0-9]' "$BATS_TEST_TMPDIR/rows")" -eq 2 ]
	grep -q '^… 4 more (-n 0 shows all)$' "$BATS_TEST_TMPDIR/rows"
	grep -q '^(others: lock)' "$BATS_TEST_TMPDIR/rows"
	ws -s synth -n 0 -i 0.1 -d 0.15
	[ -z "$(grep ' more (' "$out")" ]
	[ "$(sed -n '/^final/,$p' "$out" | grep -n '^waiting for work' | cut -d: -f1)" -lt \
		"$(sed -n '/^final/,$p' "$out" | grep -n '^(others: lock)' | cut -d: -f1)" ]
}

@test "a run of one interval is one report: the final one" {
	for args in '0.2 1' '-d 0.2 0.2' '-d 0.1 1'; do
		# shellcheck disable=SC2086 # words of a command line
		ws -s synth $args
		[ "$(grep -c '^waitscope  ' "$out")" -eq 1 ]
		[ "$(grep -c '^final report after ' "$out")" -eq 1 ]
	done
	ws -s synth 0.2 2
	[ "$(grep -c '^waitscope  ' "$out")" -eq 3 ]
	ws -s synth -o json 0.2 1
	[ "$(jq -r .type "$out" | sort | uniq -c | tr -s ' \n' ' ')" = " 1 final 1 interval 1 meta " ]
}

@test "a run of one interval, asked by SIGUSR1: the report so far, and the rest" {
	local tries=0

	"$WS" -q -s synth -d 2 2 >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	until grep -q '^SigCgt:.*2..$' /proc/$pid/status; do # SIGUSR1 is caught
		kill -0 $pid || fail "it ended: $(cat "$BATS_TEST_TMPDIR/out")"
		[ $((tries += 1)) -le 150 ] || fail "SIGUSR1 is not caught: $(grep '^Sig' /proc/$pid/status)"
		sleep 0.01
	done
	sleep 0.2
	kill -USR1 $pid
	wait $pid
	[ "$(grep -c '^waitscope  ' "$BATS_TEST_TMPDIR/out")" -eq 3 ]
	[ "$(grep -c '^final report after ' "$BATS_TEST_TMPDIR/out")" -eq 1 ]
}

@test "lists of an option are lists in meta" {
	ws -s synth -o json -p 1,2 -p 3 --dev /x --dev 8:1 -d 0.05
	[ "$status" -eq 0 ]
	[ "$(head -n 1 "$out" | jq -c .filters)" = \
		'{"pid":["1","2","3"],"dev":["/x","8:1"],"follow":["no"]}' ]
}

# Rows below the head that begins with this word, once for each such head.
rows_below() { # WORD
	awk -v word="$1" '
		function end() { if (on) print n; on = 0 }
		/^(quality:|…|~|waiting|$)/ || / \((usec|msec|nsec)\) / || /^Extent status/ { end() }
		/^ *[A-Z]+ .* (max|total\/s|hit%)/ { end(); on = $1 == word; n = -1 }
		on { n++ }
		END { end() }' "$out"
}

@test "a window of 24, 30 or 40 lines has three rows of every table with waits, what was waited in all, and the foot" {
	local lines columns by word

	out=$BATS_TEST_TMPDIR/screen
	for columns in 80 100; do for lines in 24 30 40; do
		for by in '' pid tid comm cgroup; do
			python3 "$BATS_TEST_DIRNAME/ontty.py" $columns $lines "$WS" -s synth ${by:+--by $by} -d 0.5 0.3 >"$out"
			[ "$(wc -l <"$out")" -lt $lines ] || fail "$lines lines: $(wc -l <"$out")"
			tail -n 2 "$out" | grep -q '^quality: ' || fail "$lines lines, by '$by': $(cat "$out")"
			for part in '^Wakeup latency' '^    preempt-wait' '^    throttle-wait' '^    run-delay' '^ext4 operations' \
				'^Contended'; do
				grep -q "$part" "$out" || fail "$lines lines: no $part in $(cat "$out")"
			done
			if [ $lines -gt 24 ]; then # counters, which have no waits, give way first
				grep -q '^Extent status' "$out" || fail "$lines lines: $(cat "$out")"
			fi
			if [ -n "$by" ]; then
				word=$(echo $by | tr a-z A-Z)
				[ "$(rows_below $word | wc -l)" -eq $((lines > 24 ? 4 : 3)) ] || fail "by $by: $(cat "$out")"
			else # two mounts are all there are
				[ $lines -eq 24 ] || [ "$(rows_below MOUNT)" -eq 2 ] || fail "$lines lines: $(cat "$out")"
				[ "$(for word in CPU OP NAME; do rows_below $word; done | wc -l)" -eq 3 ]
			fi
			for word in CPU OP NAME ${by:+$word}; do
				for n in $(rows_below $word); do
					[ "$n" -ge 3 ] || fail "$lines lines, by '$by': $n rows of $word: $(cat "$out")"
				done
			done
		done
	done; done
}

@test "COLUMNS widens a table in a pipe; what is no number does not" {
	local columns

	for columns in 200 80 '' 0 12x -5; do
		COLUMNS=$columns run "$WS" -q -s synth --by pid -d 0.3
		[ "$status" -eq 0 ]
		case $columns in
		200) grep -q ' time%  *wakeup-50th  *wakeup-90th  *wakeup-99th  *wakeup-99.9th  *wakeups$' <<<"$output" || fail "$output" ;;
		*)
			! grep wakeup-50th <<<"$output"
			[ "$(wc -L <<<"$output")" -le 80 ] || fail "COLUMNS='$columns': $output"
			;;
		esac
	done
}

@test "a window too small for that: of the headline the groups or the sums, how many rows are missing, the foot" {
	local lines

	out=$BATS_TEST_TMPDIR/screen
	python3 "$BATS_TEST_DIRNAME/ontty.py" 80 10 "$WS" -s synth -d 0.5 0.3 >"$out"
	for part in preempt-wait throttle-wait run-delay; do
		grep -q "^    $part" "$out" || fail "$(cat "$out")"
	done
	for lines in 6 10 17; do
		python3 "$BATS_TEST_DIRNAME/ontty.py" 80 $lines "$WS" -s synth --by pid -d 0.5 0.3 >"$out"
		[ "$(wc -l <"$out")" -lt $lines ] || fail "$lines lines: $(cat "$out")"
		[ $lines -lt 10 ] || sed -n 2p "$out" | grep -q '^Wakeup latency' || fail "$(cat "$out")"
		tail -n 2 "$out" | head -n 1 |
			grep -qx '… [0-9]* more rows: a taller window, or -n 0 into a pipe' || fail "$(cat "$out")"
		tail -n 1 "$out" | grep -q '^quality: ' || fail "$(cat "$out")"
	done
}

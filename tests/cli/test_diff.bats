#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# waitscope diff: two records, and what becomes of all that can be wrong with them. The statistics are
# tests/compare's.

setup_file() {
	load common
	export A=$BATS_FILE_TMPDIR/a.json B=$BATS_FILE_TMPDIR/b.json
	"$WS" -q -s synth -o "json:$A" 10ms 60 # however late they are
	# the same, but wake-ups take 2^(16/32) = 1.41 times as long
	jq -c 'if .metrics then .metrics |= map(if .name == "sched_wakeup_latency" and .labels == {} then
		.buckets.offset += 16 | .sum = (.sum * 1.41421 | floor) | .min = (.min * 1.41421 | floor) |
		.max = (.max * 1.41421 | ceil) else . end) else . end' "$A" > "$B"
}

setup() {
	load common
	cd "$BATS_TEST_TMPDIR" || return
}

# row METRIC STAT: of the JSON on stdout.
row() {
	jq -c --arg m "$1" --arg s "$2" '.rows[] | select(.metric == $m and .labels == {} and .stat == $s)' "$out"
}

@test "what takes longer is slower, all else the same" {
	ws diff "$A" "$B" -o json
	[ "$status" -eq 0 ] && [ -z "$err" ]
	[ "$(jq -r .type "$out")" = diff ]
	[ "$(row sched_wakeup_latency p90 | jq -r .verdict)" = slower ]
	row sched_wakeup_latency mean | jq -e '.ratio > 1.40 and .ratio < 1.43 and .ci[0] <= .ratio and .ratio <= .ci[1]'
	# No difference; the same as far as --noise does not ask for more than the interval tells.
	jq -e '[.rows[] | select(.ratio == 1 and .ci)] | map((.verdict == "same") == (.ci[0] >= 1 / 1.03 or .ci[1] <= 1.03)) |
		length > 50 and all' "$out"
	[ "$(row sched_queue_to_run p90 | jq -r .verdict)" = same ]
	ws diff "$A" "$B" -o json --noise 1000
	[ "$(row sched_wakeup_latency rate | jq -r .verdict)" = same ]
	jq -e '.only_base == [] and .only_new == [] and .base.runs[0].intervals == .new.runs[0].intervals' "$out"
	ws diff "$B" "$A" -o json
	[ "$(row sched_wakeup_latency p90 | jq -r .verdict)" = faster ]
	ws diff "$A" "$A" -o json
	[ "$(jq -r '[.rows[].verdict] | unique | join(" ")' "$out")" = "same undecided" ]
	[ "$(jq '[.rows[] | select(.ratio != null and (.ratio - 1 | fabs) > 1e-9)] | length' "$out")" -eq 0 ]
}

@test "the table: worst first, and what it cannot say" {
	ws diff "$A" "$B" -n 2
	[ "$(grep -c '^slower' "$out")" -eq 2 ]
	grep -q 'one run each: what is said holds within these two runs only' "$out"
	grep -qE '^slower +p[0-9.]+ .* 1\.4[0-9]+ .*sched_wakeup_latency$' "$out"
	grep -qE '^\.\.\. [0-9]+ more' "$out"
	ws diff "$A,$A" "$B,$B"
	grep -q 'fewer than four runs a side' "$out"
	lacks -q ^slower "$out"
	ws diff "$A,$A,$A,$A" "$B,$B,$B,$B" -n 1
	grep -q '^slower .*sched_wakeup_latency$' "$out"
}

@test "the table says why it is undecided" {
	head -n 3 "$B" > short.json
	ws diff "$A" short.json
	grep -q '^undecided: a run of 2 intervals: fewer than 4 give no interval of confidence (record with a shorter --interval or for longer)$' "$out"
	lacks -qE '^(slower|faster|same) ' "$out"
	lacks -q 'samples beyond' "$out"
	ws diff "$A" "$B" -P 99.999 -n 0
	lacks -q 'interval of confidence' "$out"
	local few
	few=$(sed -nE 's/^undecided: ([0-9]+) percentiles with fewer than 10 samples beyond \(record for longer\)$/\1/p' "$out")
	[ "$few" -ge 1 ]
	[ "$few" -eq "$(grep -c '^undecided  *p99.999 ' "$out")" ]
	ws diff "$A" "$B" -P 50 -o csv # all that is percentiles has enough
	[ "$(awk -F, '$2 == "p50" && $9 < 10' "$out" | wc -l)" -eq 0 ]
	ws diff "$A" "$B" -P 50 -n 0
	local wide
	wide=$(sed -nE 's/^undecided: ([0-9]+) with no bound of their interval within --noise .*/\1/p' "$out")
	[ "$wide" -ge 1 ]
	[ "$wide" -eq "$(grep -c '^undecided  ' "$out")" ]
	ws diff "$A" "$B" -P 50 --noise 1000
	lacks -q '^undecided: ' "$out"
}

@test "no bound of an interval that says nothing: the other one, or none" {
	# One interval has a wait of two days: whoever draws it is a thousand times slower, whoever does not is as before.
	jq -c 'if .type == "interval" and .seq == 30 then .metrics |= map(if .name == "sched_wakeup_latency" and .labels == {} then
		(259 - .buckets.offset - (.buckets.counts | length)) as $n | .count += 1 | .sum += 2e14 | .max = 200000000000000 |
		.buckets.counts += [range($n) | 0] + [1] else . end) else . end' "$A" > once.json
	ws diff "$A" once.json -o json
	row sched_wakeup_latency sum | jq -e '.ci[0] > 0.01 and .ci[1] > 1000 and .ratio > 1000' # machines have it exactly
	ws diff "$A" once.json -n 0
	grep -qE '^undecided  sum  .*  [0-9],[0-9]{3}  over 0\.[0-9]{3}  +sched_wakeup_latency$|^undecided  sum  .* [0-9,]{5,7}  over [01]\.[0-9]{3}' "$out" ||
		fail "$(grep ' sum ' "$out")"
	ws diff once.json "$A" -n 0
	grep -qE '^undecided  sum  .*  under [0-9]\.[0-9]{3}  +sched_wakeup_latency$' "$out" || fail "$(grep ' sum ' "$out")"
	ws diff once.json once.json -n 0
	grep -qE '^undecided  sum  .*  1\.000  -  +sched_wakeup_latency$' "$out" || fail "$(grep ' sum ' "$out")"
	ws diff "$A" once.json -n 0 -o html
	grep -qE '<td data-v=[0-9.]{8,}>&gt;100</td>' "$out"
	# Neither a number that says nothing, nor one that is wider than its column.
	ws diff "$A" once.json -n 0
	[ -z "$(awk -F '  +' '/^(slower|faster|undecided|same) / && length($6) > 13' "$out")" ]
}

@test "a group that is all of its metric is not listed again, but named" {
	# The whole twice, once as a group; of another metric a group has a part.
	jq -c 'if .metrics then .metrics |= (. + map(select(.name == "sched_run_delay" and .labels == {}) | .labels = {"comm": "only"}) +
		map(select(.name == "sched_queue_to_run" and .labels == {}) | .labels = {"comm": "part"} | .count += 1 | .sum += 1 |
		.buckets.zero += 1 | .min = 0)) else . end' "$A" > one.json
	ws diff one.json one.json -n 0
	[ "$(grep -cE '^(same|undecided) .* sched_run_delay$' "$out")" -eq 7 ]
	lacks -q '^[su].* sched_run_delay{' "$out"
	grep -q '^all of its metric, not repeated: sched_run_delay{comm="only"}$' "$out"
	[ "$(grep -c 'not repeated' "$out")" -eq 1 ]
	[ "$(grep -cE '^(same|undecided) .* sched_queue_to_run{comm="part"}$' "$out")" -eq 7 ]
	ws diff one.json one.json -n 0 -o html
	[ "$(grep -c '<th scope=row>sched_run_delay{' "$out")" -eq 0 ]
	grep -q '<li>sched_run_delay{comm=&quot;only&quot;}</li>' "$out" || fail "$(grep -o '<li>sched_run[^/]*' "$out")"
	# Other programs get all of them.
	ws diff one.json one.json -o json
	[ "$(jq '[.rows[] | select(.metric == "sched_run_delay" and .labels.comm == "only")] | length' "$out")" -eq 7 ]
}

@test "a shift plot where the window has room: the interval on an axis around 1" {
	local tty=$BATS_TEST_DIRNAME/ontty.py

	# The three percentiles beyond the median. Of a sum and a mean the interval is wider on a busy machine,
	# where the record's intervals differ in length.
	ws diff "$A" "$B" -n 3
	lacks -q ' | ' "$out" # a file
	LC_ALL=C.UTF-8 python3 "$tty" 80 40 "$WS" diff "$A" "$B" -n 3 > narrow
	lacks -q '●' narrow
	LC_ALL=C.UTF-8 python3 "$tty" 140 40 "$WS" diff "$A" "$B" -n 3 > wide
	python3 "$tty" 140 40 env LC_ALL= LC_CTYPE=POSIX LANG=C.UTF-8 "$WS" diff "$A" "$B" -n 3 > ascii
	[ "$(grep -c '●' wide)" -eq 3 ] || fail "$(cat wide)"
	[ "$(grep -cP '^slower.*\| .*o.* sched_wakeup_latency$' ascii)" -eq 3 ] || fail "$(cat ascii)"
	lacks -qP '[^\x00-\x7f]' ascii
	# Each mark is where the head's axis says.
	python3 - ascii <<- 'END'
		import math, re, sys
		lines = [l.rstrip("\n") for l in open(sys.argv[1])]
		assert max(map(len, lines)) <= 140
		head = next(l for l in lines if l.startswith("verdict"))
		low, one, high = re.search(r"interval  ([0-9.]+) +(1) +([0-9.]+)  metric", head).groups()
		start, end = head.index(low, 60), head.index("  metric")
		assert abs(float(low) * float(high) - 1) < 0.02
		step = (end - start) // 2 / math.log(float(high))
		for line in lines:
		    if not line.startswith("slower"):
		        continue
		    ratio = float(re.search(r" ([0-9.]+)  [0-9.]+-[0-9.]+ ", line).group(1))
		    at = line.index("o", start) - start - (end - start) // 2
		    assert abs(at - math.log(ratio) * step) <= 1, (line, at)
	END
}

@test "JSON keeps to its schema" {
	local options

	"$WS" -q -s synth -b pid -i 10ms -d 100ms -o json:by.json
	for options in "$A $B" "$A,$A $B,$B -P 50,99.99" "$A $B --noise 0" "by.json by.json" "$A by.json --force -q"; do
		# shellcheck disable=SC2086 # words
		ws diff $options -o json
		[ "$status" -eq 0 ]
		python3 "$ROOT/tests/golden/check.py" json "$ROOT/docs/waitscope.schema.json" "$out" || fail "$options"
	done
	jq -e '[.rows[] | select(.ci == null)] | length > 0' "$out"
}

@test "CSV has as many rows, with as many fields" {
	ws diff "$A" "$B" -o json
	local rows
	rows=$(jq '.rows | length' "$out")
	ws diff "$A" "$B" -o csv
	[ "$(wc -l < "$out")" -eq $((rows + 1)) ]
	python3 -c 'import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
assert {len(r) for r in rows} == {10}, {len(r) for r in rows}' "$out"
	ws diff "$A" "$B" -o csv:x.csv
	[ ! -s "$out" ] && [ -s x.csv ]
}

@test "--fail-if: relative limits by the bound of the interval, absolute ones by the value" {
	ws diff "$A" "$B" -o json --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 4 ]
	[[ $err == "waitscope: --fail-if 'sched_wakeup_latency p90 > +10%': sched_wakeup_latency: "*'+41'* ]]
	ws diff "$A" "$A" -o json --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 0 ] && [ -z "$err" ]
	ws diff "$A" "$B" --fail-if 'sched_wakeup_latency p90 > +80%' --fail-if 'sched_wakeup_latency p90 > 1h'
	[ "$status" -eq 0 ]
	ws diff "$A" "$B" --fail-if 'sched_wakeup_latency p95 > 1ns'
	[ "$status" -eq 4 ]
	ws diff "$A" "$B" -o json --fail-if 'sched_run_delay{op="none"} p50 > +10%'
	[ "$status" -eq 2 ]
	[[ $err == *'not tested: '* ]]
	ws diff "$A" "$B" --fail-if 'sched_wakeup_latency max > +10%'
	refused 2 'diff does not compare that'
}

@test "--bisect: 0 good, 1 bad, 125 not measured or undecided, 128 a wrong command line" {
	ws diff "$A" "$A" --bisect --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 0 ]
	ws diff "$A" "$B" --bisect --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 1 ]
	head -n 3 "$B" > short.json
	ws diff "$A" short.json --bisect --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 125 ]
	ws diff "$A" nowhere.json --bisect --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 125 ]
	ws diff "$A" --bisect --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 128 ]
	ws diff "$A" "$B" --fail-if 'sched_wakeup_latency p90' --bisect
	[ "$status" -eq 128 ]
	ws diff "$A" "$B" --bisect
	[ "$status" -eq 128 ]
}

@test "a record that is cut short is read to its last whole line, with a note" {
	head -c $(($(wc -c < "$B") / 2)) "$B" > cut.json
	ws diff "$A" cut.json -o json
	[ "$status" -eq 0 ]
	[[ $err == "waitscope: note: diff: cut.json ends within line "*": read up to there" ]]
	[ "$(jq '.new.runs[0].intervals' "$out")" -eq $(($(wc -l < cut.json) - 1)) ]
}

@test "records in .gz, and from standard input" {
	gzip < "$A" > a.json.gz
	ws diff a.json.gz "$B" -o json
	[ "$status" -eq 0 ]
	jq 'del(.base)' "$out" > gz
	ws diff "$A" "$B" -o json
	jq 'del(.base)' "$out" | cmp gz -
	"$WS" diff - "$B" < a.json.gz > piped
	grep -q '^base  -  ' piped
}

@test "two commands may be compared; other filters may not" {
	local c

	for c in old new; do
		jq -c --arg c "$c" 'if .type == "meta" then .filters = {"command": [$c]} else . end' "$A" > $c.json
	done
	ws diff old.json new.json
	[ "$status" -eq 0 ]
	[[ $err == *'note: diff: new.json: other command than old.json: new, not old'* ]]
	ws report old.json new.json
	refused 1 'other command than old.json'
	jq -c 'if .type == "meta" then .filters = {"command": ["new"], "comm": ["x"]} else . end' "$A" > other.json
	ws diff old.json other.json
	refused 2 'other filters than old.json: comm=x, not none'
}

@test "a metric of a newer version is compared under its name" {
	jq -c 'if .metrics then .metrics |= map(if .name == "sched_wakeup_latency" then .name = "some_future_wait" else . end)
		else . end' "$B" > newer.json
	ws diff newer.json newer.json -o json
	[ "$status" -eq 0 ]
	jq -e '[.rows[] | select(.metric == "some_future_wait" and .labels == {})] | length == 7' "$out"
	jq -e '[.rows[] | select(.metric == "sched_wakeup_latency")] == []' "$out"
}

@test "what is only in one side is named" {
	jq -c 'if .metrics then .metrics |= map(select(.name != "sched_throttle_wait")) else . end' "$B" > less.json
	ws diff "$A" less.json -n 1
	grep -q '^only in base: sched_throttle_wait$' "$out"
	lacks -q '^only in new' "$out"
}

@test "of two precisions the coarser one is compared" {
	"$WS" -q -s synth -i 10ms -d 600ms --precision 3 -o json:coarse.json
	ws diff "$A" coarse.json -o json
	[ "$status" -eq 0 ]
	[[ $err == *'coarse.json: other --precision than '*': 3, not 5' ]]
	[ "$(row sched_wakeup_latency p90 | jq -r .verdict)" = same ]
	row sched_wakeup_latency p90 | jq -e '.ratio > 0.97 and .ratio < 1.03'
	{ cat "$A"; sed -n '3p' coarse.json; } > mixed.json
	ws diff mixed.json coarse.json -o json
	[ "$status" -eq 0 ]
	row sched_wakeup_latency p90 | jq -e '.ratio > 0.97 and .ratio < 1.03'
}

@test "other sources, filters or groups are refused, and with --force noted" {
	sed '1s/"name":"synth"/"name":"sched"/' "$B" > sched.json
	"$WS" -q -s synth --comm 'x*' -i 10ms -d 100ms -o json:filtered.json
	"$WS" -q -s synth -b pid -i 10ms -d 100ms -o json:by.json
	for row in 'sched.json|sources|sched, not synth' 'filtered.json|filters|comm=x*, not none' \
		'by.json|groups|pid, not none'; do
		IFS='|' read -r file what words <<< "$row"
		ws diff "$A" "$file"
		refused 2 "$file: other $what than $A: $words (--force compares them all the same)"
		ws diff "$A,$file" "$B"
		refused 2 "$file: other $what than $A"
		ws diff "$A" "$file" --force
		[ "$status" -eq 0 ]
		[ "$err" = "waitscope: note: diff: $file: other $what than $A: $words" ]
	done
	ws diff sched.json sched.json
	[ "$status" -eq 0 ] && [ -z "$err" ]
}

@test "what a fair comparison needs is noted where it differs" {
	while IFS='|' read -r change words; do
		jq -c "if .type == \"meta\" then $change else . end" "$B" > other.json
		ws diff "$A" other.json
		[ "$status" -eq 0 ]
		[[ $err == "waitscope: note: diff: other.json: other "$words ]] || fail "$change: $err"
		[ "$(wc -l <<< "$err")" -eq 1 ] || fail "$err"
		ws diff -q "$A" other.json
		[ -z "$err" ]
		ws diff other.json other.json
		[ -z "$err" ]
	done <<- 'END'
		.kernel = "6.1.0"|kernel than */a.json: 6.1.0, not *
		.cpus = 777|number of CPUs than */a.json: 777, not *
		.machine.cpu = "Pentium"|CPU model than */a.json: Pentium, not *
		.machine.governor = "powersave"|governor than */a.json: powersave, not *
		.machine.mitigations = ["mitigations=off", "pti=on"]|mitigations than */a.json: mitigations=off pti=on, not *
		.version = "0.1"|version of waitscope than */a.json: 0.1, not *
	END
	jq -c 'if .type == "meta" then .kernel = "6.1.0" | del(.machine) else . end' "$B" > older.json
	ws diff "$A,older.json" older.json
	[ "$status" -eq 0 ]
	[[ $err == *'older.json: other kernel than '*': 6.1.0, not '*' (and so of 1 more)'* ]] || fail "$err"
	[[ $err == *'other CPU model than '*': not known, not '* ]] || fail "$err"
}

@test "--run: both commands by turns, after a warm-up, and their records compared" {
	need_root
	export LOG=$BATS_TEST_TMPDIR/log
	ws diff --run 'echo a >> $LOG; sleep 0.01' 'echo b >> $LOG; sleep 0.01' -n 2 --keep kept -o json
	[ "$status" -eq 0 ] || fail "$err"
	[ -z "$err" ] || fail "$err"
	[ "$(tr -d '\n' < log)" = abbaab ]
	[ "$(cd kept && echo *)" = "base-1.json.gz base-2.json.gz new-1.json.gz new-2.json.gz" ]
	jq -e '.base.command == "echo a >> $LOG; sleep 0.01" and (.base.runs | length) == 2
		and .new.runs[1].file == "kept/new-2.json.gz" and (.rows | length) > 0' "$out"
	jq -c .rows "$out" > first
	# they are records as any other
	ws diff kept/base-1.json.gz,kept/base-2.json.gz kept/new-1.json.gz,kept/new-2.json.gz -o json:again
	[ "$status" -eq 0 ]
	jq -c .rows again | cmp - first
	# On a terminal it says how far it is.
	python3 "$BATS_TEST_DIRNAME/ontty.py" 100 40 "$WS" diff --run 'sleep 0.01' true -n 2 --keep shown > shown.out
	for line in 'warm-up, base' 'warm-up, new' 'run 1 of 2, base: sleep 0.01' 'run 2 of 2, new: true'; do
		grep -q "$line" shown.out || fail "$line: $(cat shown.out)"
	done
	ws diff --run true true --keep kept
	refused 2 "--keep 'kept': has new-1.json.gz"
	export TMPDIR=$BATS_TEST_TMPDIR
	ws diff --run 'sleep 0.01; echo noise' 'sleep 0.01' --runs 1 -n 1
	[ "$status" -eq 0 ]
	[[ $err == "waitscope: note: diff: records in $TMPDIR/waitscope-diff-"?????? ]] || fail "$err"
	[ -s "${err##* }/new-1.json.gz" ]
	grep -qx 'base  sleep 0.01; echo noise' "$out"
	lacks -qx noise "$out"
}

@test "--run: what fails is not compared" {
	need_root
	ws diff --run true 'exit 3' -n 1 --keep kept
	refused 1 "diff --run 'exit 3': exit status 3"
	ws diff --run true 'kill -9 $$' -n 1 --keep kept --bisect --fail-if 'sched_wakeup_latency p90 > +10%'
	[ "$status" -eq 125 ]
	ws diff --run 'sleep 300' 'sleep 300' --fail-if 'futex_wait p99 > +10%'
	refused 2 "no source of --run tells of futex_wait (expected futex in --source)"
	ws diff --run 'one' -n 1
	refused 2 'expected two commands'
	ws diff --run a b -n 0
	refused 2 "-n '0'"
	ws diff "$A" "$B" --runs 3
	refused 2 '--runs: goes with --run'
	ws diff "$A" "$B" --keep kept
	refused 2 '--keep: goes with --run'
	ws diff --run true true --keep /dev/null/x
	refused 1 "--keep: cannot make '/dev/null/x'"
}

@test "--run: interrupted, it compares what there is" {
	need_root
	local pid status=0
	"$WS" diff --run 'sleep 0.01' 'echo >> log; [ $(wc -l < log) -lt 3 ] || exec sleep 300' -n 9 --keep kept > out 2> err &
	pid=$!
	for _ in $(seq 300); do
		[ "$(cat log 2>/dev/null | wc -l)" -eq 3 ] && break
		sleep 0.1
	done
	kill -TERM $pid
	wait $pid || status=$?
	[ "$status" -eq 0 ] || fail "$(cat err)"
	grep -qE '^waitscope: note: diff: interrupted: [12] and 1 runs$' err || fail "$(cat err)"
	[ ! -e kept/new-2.json.gz ]
	grep -q '^base  sleep 0.01$' out
	rm log
	# Nothing that a command started lives on: no child of its shell, nor what that left behind.
	TMPDIR=$BATS_TEST_TMPDIR "$WS" diff --run 'sleep 311 & (sleep 312 & echo >> log; sleep 313; true); true' 'sleep 314' > out 2> err 3>&- &
	pid=$!
	for _ in $(seq 300); do
		[ -s log ] && break
		sleep 0.1
	done
	kill -TERM $pid
	wait $pid || status=$?
	[ "$status" -eq 1 ]
	for _ in $(seq 100); do
		ps -eo args | grep -qE '^sleep 31[1-4]$' || break
		sleep 0.1
	done
	ps -eo args | lacks -E '^sleep 31[1-4]$'
	grep -q 'error: diff --run: interrupted before a run of each had ended' err
}

@test "what cannot be compared" {
	ws diff
	refused 2 'nothing to compare'
	ws diff "$A"
	refused 2 'nothing to compare'
	ws diff "$A" "$B" "$A"
	refused 2 'one argument too many'
	ws diff "$A," "$B"
	refused 2 'has an empty file name'
	ws diff "$A" nowhere.json
	refused 1 "'nowhere.json'" 'No such file'
	head -n 1 "$A" > meta.json
	ws diff "$A" meta.json
	refused 1 'no intervals in it'
	echo '{"v":1,"type":"interval"}' > bad.json
	ws diff "$A" bad.json
	refused 1 'bad.json:1:'
	sed 1d "$A" > headless.json
	ws diff "$A" headless.json
	refused 1 'headless.json: no record of waitscope: it does not begin with a meta line'
	ws diff "$A" "$B" --noise many
	refused 2 "--noise 'many': expected a percentage such as 3"
	ws diff "$A" "$B" -o xml
	refused 2 "--output 'xml': expected table, json, csv or html"
	ws diff "$A" "$B" --zzz
	refused 2 "'--zzz': no option of it"
}

@test "a closed pipe is a quiet end, and limits are tested all the same" {
	local format

	for format in table json csv; do
		run bash -c 'set -o pipefail; "$WS" diff "$A" "$B" -n 0 -o '$format' | true'
		[ "$status" -eq 0 ] && [ -z "$output" ] || fail "$format: $status $output"
	done
	{
		status=0
		"$WS" diff "$A" "$B" --fail-if 'sched_wakeup_latency p90 > +10%' 2> err || status=$?
		echo "$status" > status
	} | true
	[ "$(cat status)" -eq 4 ]
	grep -q "^waitscope: --fail-if 'sched_wakeup_latency p90 > +10%': " err
}

@test "needs no privilege, and a full disk is told" {
	ws diff --help
	[ "$status" -eq 0 ]
	grep -q '^Usage: waitscope diff' "$out"
	[ "$(awk 'length > 90' "$out" | wc -l)" -eq 0 ]
	run bash -c '"$WS" diff "$A" "$B" > /dev/full'
	[ "$status" -eq 1 ]
	[[ $output == *'cannot write to standard output: No space left on device'* ]]
}

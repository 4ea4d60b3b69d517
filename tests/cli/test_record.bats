#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The record: JSON Lines in gzip members.

setup() {
	load common
	dir=$BATS_TEST_TMPDIR
	gz=$dir/r.json.gz
}

teardown() {
	[ -z "${pid:-}" ] || kill -KILL "$pid" 2>/dev/null || true
}

# background ARG... : waitscope with the record in $gz; returns once it has an interval.
background() {
	"$WS" -s synth -q -o "json:$gz" "$@" 2>"$dir/err" 3>&- &
	pid=$!
	for _ in $(seq 6000); do
		[ "$(zcat "$gz" 2>/dev/null | grep -c '"type":"interval"')" -lt 1 ] || return 0
		sleep 0.01
	done
	fail "no interval: $(cat "$dir/err")"
}

ended() {
	status=0
	wait "$pid" || status=$?
	pid=
}

# How many intervals, and whether each member alone is whole lines.
members() {
	python3 - "$1" <<'END'
import json, sys, zlib
data, kinds = open(sys.argv[1], "rb").read(), []
while data:
    z = zlib.decompressobj(31)
    text = z.decompress(data)
    assert z.eof, "a member without an end"
    assert text.endswith(b"\n")
    kinds.append("+".join(dict.fromkeys(json.loads(line)["type"] for line in text.splitlines())))
    data = z.unused_data
print(*kinds)
END
}

@test "json:FILE.gz: the same lines, a member for the start, each interval and the end" {
	"$WS" -s synth -q -o "json:$gz" -o "json:$dir/plain" --slower 1ms 0.05 3
	zcat "$gz" | cmp - "$dir/plain"
	[ "$(members "$gz")" = "meta slow+interval slow+interval slow+interval final" ]
	[ "$(stat -c %s "$gz")" -lt "$(($(stat -c %s "$dir/plain") / 4))" ]
}

@test "the record says on what machine it was made" {
	"$WS" -s synth -q -o "json:$gz" -d 0.05
	python3 - "$gz" <<- 'END'
		import glob, gzip, json, os, re, sys
		def line(path):
		    return open(path).readline().rstrip("\n")
		m = json.loads(gzip.open(sys.argv[1], "rt").readline())
		machine = m["machine"]
		models = re.findall(r"^model name\s*: (.*)$", open("/proc/cpuinfo").read(), re.M)
		assert not models or machine["cpu"] == models[0], machine["cpu"]
		governors = {line(p) for p in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")}
		wanted = governors.pop() if len(governors) == 1 else "mixed" if governors else None
		assert machine["governor"] == wanted, machine["governor"]
		flaws = {os.path.basename(p): line(p) for p in glob.glob("/sys/devices/system/cpu/vulnerabilities/*")}
		assert machine["vulnerabilities"] == flaws, machine["vulnerabilities"]
		words = line("/proc/cmdline").split()
		assert [w for w in machine["mitigations"] if w not in words] == []
		given = [w for w in words if re.match("(mitigations|pti|spectre_v2|mds|retbleed)=", w)]
		assert set(given) <= set(machine["mitigations"]), given
		assert m["kernel"] == os.uname().release and m["cpus"] == os.sysconf("SC_NPROCESSORS_ONLN")
		assert m["version"] and m["sources"][0]["name"] == "synth" and m["filters"] == {}
	END
}

@test "csv and tables into .gz, too" {
	for format in csv table; do
		"$WS" -s synth -q -o "$format:$dir/f.gz" 0.05 2
		zcat "$dir/f.gz" | grep -q "wakeup_latency\|Wakeup latency"
	done
}

@test "kill -9 loses one interval at most" {
	background -i 0.05
	sleep 0.3
	local before
	before=$(zcat "$gz" | jq -r 'select(.type == "interval").seq' | tail -n 1)
	kill -KILL "$pid"
	ended
	zcat "$gz" 2>/dev/null >"$dir/left" || true
	sed '/}$/!d' "$dir/left" | jq -r 'select(.type == "interval").seq' >"$dir/seqs"
	[ "$(wc -l <"$dir/seqs")" -ge "$before" ]
	seq "$(wc -l <"$dir/seqs")" | cmp - "$dir/seqs"
}

@test "SIGHUP: both files are records" {
	background -i 0.05 --slower 1ms
	mv "$gz" "$gz.1"
	kill -HUP "$pid"
	for _ in $(seq 6000); do
		! zcat "$gz" 2>/dev/null | grep -q '"type":"interval"' || break
		sleep 0.01
	done
	kill -INT "$pid"
	ended
	[ "$status" -eq 0 ]
	[[ $(members "$gz.1") == "meta slow+interval"* ]]
	[[ $(members "$gz") == "meta slow+interval"*" final" ]]
	zcat "$gz.1" "$gz" | jq -r 'select(.type == "interval").seq' >"$dir/seqs"
	seq "$(wc -l <"$dir/seqs")" | cmp - "$dir/seqs"
}

@test "a disk that fills up: exit 1, and what was written is whole" {
	need_root
	mkdir "$dir/disk"
	unshare --mount --propagation private bash -c '
		set -e
		mount -t tmpfs -o size=64k none "$1"
		status=0
		"$2" -s synth -i 0.02 -d 20 -o "json:$1/log.gz" 2>"$3" || status=$?
		cp "$1/log.gz" "$4"
		exit $status' - "$dir/disk" "$WS" "$dir/err" "$gz" && fail "it did not fail"
	grep -q "^waitscope: error: .*No space left on device" "$dir/err"
	[[ $(members "$gz") == "meta interval interval"* ]]
}

# ---- waitscope report ----

# record NAME ARG...: $dir/NAME.json, .csv and .table of one run.
record() {
	local name=$1
	shift
	"$WS" -s synth -q -o "json:$dir/$name.json" -o "csv:$dir/$name.csv" -o "table:$dir/$name.table" "$@"
}

# Of so many intervals of SECONDS each; a machine that stands still for longer than one leaves one out, so again then:
# record_even NAME SECONDS INTERVALS [OPTION...]
record_even() {
	local name=$1 each=$2 n=$3
	shift 3
	for _ in 1 2 3 4 5 6 7 8; do
		record "$name" "$@" "$each" "$n"
		if jq -es --argjson s "$each" 'map(select(.type == "interval").dur_ns) | all(. < 1.5e9 * $s)' "$dir/$name.json" >/dev/null; then
			return
		fi
	done
	fail "no intervals of $each s on this machine"
}

# The final's count of a metric's whole: counts FILE [METRIC]
counts() {
	jq -c --arg m "${2:-sched_wakeup_latency}" 'select(.type == "final") | .metrics[] |
		select(.name == $m and .labels == {}) | [.count, .sum, .min, .max, .buckets]' "$1"
}

@test "report: each format as the run wrote it, plain and .gz, byte for byte" {
	for options in "" "-b pid" "-b tid -P 50,99.99 --slower 2ms" "-b cgroup --precision 3" "-b file" "-b cpu"; do
		# shellcheck disable=SC2086 # words
		record a $options -i 0.05 -d 0.22
		gzip -c "$dir/a.json" >"$gz"
		for format in json csv table; do
			for file in "$dir/a.json" "$gz"; do
				ws report "$file" -o "$format"
				[ "$status" -eq 0 ] && [ -z "$err" ] || fail "$options: $status $err"
				cmp "$out" "$dir/a.$format"
			done
		done
	done
}

@test "report: of one interval, which the final says again" {
	record a -i 10 -d 0.05
	ws report "$dir/a.json"
	cmp "$out" "$dir/a.table"
}

@test "report: -z shows the totals that the run would have shown" {
	"$WS" -s synth -q -z -o "json:$dir/a.json" -o "table:$dir/z" 0.05 4
	ws report -z "$dir/a.json"
	# What the made-up source says of stacks is the same in each interval.
	diff <(grep -v ' at ' "$dir/z") <(grep -v ' at ' "$out")
}

@test "report: the tables' options, several outputs, files" {
	record a -b pid 0.05 3
	ws report "$dir/a.json" -n 2 -P 90 -m -T --sort count --color always -o "table:$dir/t" -o "json:$dir/j" -o csv
	[ "$status" -eq 0 ] || fail "$err"
	grep -q '90.0th' "$dir/t" && ! grep -q '50.0th' "$dir/t"
	grep -q 'msec' "$dir/t"
	grep -qE '[0-9]T[0-9:.]+Z' "$dir/t"
	grep -q $'\033\[' "$dir/t"
	[ "$(jq -r 'select(.type == "final") | .metrics[0].p | keys[]' "$dir/j")" = 90 ]
	head -n 1 "$out" | grep -q 'p90_ns'
	NO_COLOR=1 ws report "$dir/a.json"
	lacks -q $'\033' "$out"
}

@test "report: standard input, once" {
	record a 0.05 3
	gzip "$dir/a.json"
	"$WS" report - -o csv <"$dir/a.json.gz" | cmp - "$dir/a.csv"
	# shellcheck disable=SC2094
	run bash -c 'cat "$1" | "$2" report - --last 1' - "$dir/a.json.gz" "$WS"
	[ "$status" -eq 2 ]
	[[ $output == *"'standard input' cannot be read twice"* ]] || fail "$output"
}

@test "report: --from, --to, --last: a part, whose final is its sum" {
	record_even a 0.1 10 --slower 20ms
	seqs() { jq -r 'select(.type == "interval").seq' "$out" | tr '\n' ' '; }
	ws report "$dir/a.json" -o json --from 3 --to 5
	[ "$status" -eq 0 ] && [ -z "$err" ] || fail "$err"
	[ "$(seqs)" = "3 4 5 " ]
	whole_json "$out"
	[ "$(jq -r 'select(.type == "final").end' "$out")" = "part of a record" ]
	[ "$(jq -s 'map(select(.type == "interval").dur_ns) | add' "$out")" = "$(jq 'select(.type == "final").dur_ns' "$out")" ]
	[ "$(jq -s 'map(select(.type == "interval").metrics[0].count) | add' "$out")" = "$(jq 'select(.type == "final").metrics[0].count' "$out")" ]
	ws report "$dir/a.json" -o json --last 2
	[ "$(seqs)" = "9 10 " ]
	ws report "$dir/a.json" -o json --last 300ms
	[ "$(seqs)" = "8 9 10 " ]
	ws report "$dir/a.json" -o json --from 200ms --to 0.5s
	[ "$(seqs)" = "3 4 5 " ]
	ws report "$dir/a.json" -o json --from 2000-01-01T00:00:00Z --to '2100-01-01 00:00:00'
	[ "$(seqs)" = "1 2 3 4 5 6 7 8 9 10 " ]
	ws report "$dir/a.json" -o json --from "$(date -d '1 hour ago' +%FT%T)"
	[ "$(seqs)" = "1 2 3 4 5 6 7 8 9 10 " ]
	# Slow waits with their interval.
	"$WS" report "$dir/a.json" -o json --to 10 | jq -r .type | uniq -c | sed 1d >"$dir/all"
	for n in 1 2 3 4 5 6 7 8 9 10; do
		"$WS" report "$dir/a.json" -o json --from $n --to $n | jq -r .type | grep -v 'meta\|final'
	done | uniq -c | diff - <(sed '$d' "$dir/all")
}

@test "report: parts of a run add up to it" {
	record_even a 0.05 8 -b pid
	for span in "--to 2" "--from 3 --to 4" "--from 5 --to 6" "--from 7"; do
		# shellcheck disable=SC2086
		"$WS" report "$dir/a.json" $span -o "json:$dir/part${span//[^0-9]/}.json.gz"
	done
	ws report "$dir"/part*.json.gz -o "json:$dir/merged" -o table
	[ "$status" -eq 0 ] || fail "$err"
	for metric in sched_wakeup_latency sched_run_delay sched_preempt_wait; do
		[ -n "$(counts "$dir/a.json" $metric)" ]
		[ "$(counts "$dir/merged" $metric)" = "$(counts "$dir/a.json" $metric)" ]
	done
	rows='select(.type == "final") | .tables.contended | map([.source, .addr, .count, .wait_ns.sum, .wait_ns.buckets, .futex]) | sort'
	[ "$(jq -c "$rows" "$dir/merged")" = "$(jq -c "$rows" "$dir/a.json")" ]
	groups='select(.type == "final") | .metrics | map([.name, .labels, .count, .sum, .value, .buckets]) | sort'
	[ "$(jq -c "$groups" "$dir/merged")" = "$(jq -c "$groups" "$dir/a.json")" ]
	[ "$(jq -r 'select(.type == "final").end' "$dir/merged")" = "4 records" ]
}

@test "report: schemas scale down; other filters, sources or groups are refused" {
	for p in 3 5 6; do
		"$WS" -s synth -q --precision $p -o "json:$dir/$p.json" 0.05 2
	done
	ws report "$dir/6.json" "$dir/3.json" "$dir/5.json" -o "json:$dir/merged"
	[ "$status" -eq 0 ] || fail "$err"
	# The made-up waits are the same: three times those of schema 3.
	[ "$(counts "$dir/merged" | jq -c '[.[0], .[1], .[4].schema, .[4].counts]')" = \
		"$(counts "$dir/3.json" | jq -c '[.[0] * 3, .[1] * 3, .[4].schema, (.[4].counts | map(. * 3))]')" ]
	"$WS" -s synth -q --comm 'x*' -o "json:$dir/filtered.json" 0.05 2
	ws report "$dir/5.json" "$dir/filtered.json"
	refused 1 "filtered.json: other filters than" "5.json: comm=x*, not none" "--force"
	ws report "$dir/5.json" "$dir/filtered.json" --force -o json
	[ "$status" -eq 0 ] || fail "$err"
	"$WS" -s synth -q -b pid -o "json:$dir/by.json" 0.05 2
	ws report "$dir/5.json" "$dir/by.json"
	refused 1 "by.json: other groups than" "pid, not none"
	sed '1s/"name":"synth"/"name":"sched"/' "$dir/5.json" >"$dir/sched.json"
	ws report "$dir/5.json" "$dir/sched.json"
	refused 1 "other sources than" "sched, not synth"
}

@test "report: a record that was cut off is read to its last whole interval" {
	record a -i 0.05 -d 0.3
	lines=$(wc -l <"$dir/a.json")
	{
		head -n $((lines - 2)) "$dir/a.json"
		tail -n 2 "$dir/a.json" | head -c 5000
	} >"$dir/cut.json"
	ws report "$dir/cut.json" -o json
	[ "$status" -eq 0 ]
	[ "$err" = "waitscope: note: $dir/cut.json: ends early, within a line: the total is of its $((lines - 3)) whole intervals" ] || fail "$err"
	whole_json "$out"
	[ "$(jq -s 'map(select(.type == "interval").metrics[0].count) | add' "$out")" = "$(jq 'select(.type == "final").metrics[0].count' "$out")" ]
	ws report -q "$dir/cut.json"
	[ "$status" -eq 0 ] && [ -z "$err" ]
	grep -q 'record ends early' "$out"
	# Of a .gz at every byte of its last members.
	"$WS" -s synth -q -o "json:$gz" 0.05 3
	size=$(stat -c %s "$gz")
	for cut in 1 2 5 9 100 1000 5000 $((size / 2)); do
		head -c $((size - cut)) "$gz" >"$dir/cut.gz"
		ws report "$dir/cut.gz" -o json
		[ "$status" -eq 0 ] || fail "$cut: $err"
		whole_json "$out"
		# Less than 20 bytes are the end of a member whose lines are all there.
		[ $cut -lt 20 ] || [[ $err == *"note: "*"ends early"* ]] || fail "$cut: $err"
	done
	# The second file after a SIGHUP begins late.
	sed 2d "$dir/a.json" >"$dir/late.json"
	ws report "$dir/late.json"
	[[ $err == *"not from its first interval on"* ]] || fail "$err"
}

@test "report: what is no record, or damaged, is an error that says where" {
	ws report "$dir/none"
	refused 1 "cannot read '$dir/none'" "No such file"
	ws report "$dir"
	refused 1 "cannot read '$dir'" "directory"
	: >"$dir/empty"
	ws report "$dir/empty"
	refused 1 "empty: no record of waitscope"
	echo hello >"$dir/text"
	ws report "$dir/text"
	refused 1 "text:1: record: "
	record a 0.05 3
	sed 1d "$dir/a.json" >"$dir/headless"
	ws report "$dir/headless"
	refused 1 "no record of waitscope: it does not begin with a meta line"
	sed '3s/"count":[0-9]*/"count":7/' "$dir/a.json" >"$dir/wrong"
	ws report "$dir/wrong" -o "json:$dir/o"
	refused 1 "wrong:3: record: 'counts'"
	head -n 1 "$dir/a.json" >"$dir/meta"
	ws report "$dir/meta"
	[ "$status" -eq 1 ] && [[ $err == *"meta: no interval"* ]] || fail "$err"
	ws report "$dir/a.json" --from 9
	[ "$status" -eq 1 ] && [[ $err == *"no interval where it is asked for: it has those up to number 3"* ]] || fail "$err"
}

@test "report: usage" {
	ws report
	refused 2 "no FILE"
	ws report x -p 1
	refused 2 "'-p'" "no option of it"
	ws report x --bogus
	refused 2 "'--bogus'"
	ws report x --from yesterday
	refused 2 "--from 'yesterday'" "expected"
	ws report x --last 5 --from 3
	refused 2 "--last: contradicts --from"
	ws report x --from
	refused 2 "--from" "needs an argument"
	record a 0.05 1
	ws report "$dir/a.json" -n x
	refused 2 "--rows 'x'"
	ws report "$dir/a.json" -o pdf
	refused 2 "--output 'pdf'"
}

@test "report: a closed pipe is a quiet end, a full disk is not" {
	record a 0.02 20
	for format in table json csv; do
		run bash -c "set -o pipefail; '$WS' report '$dir/a.json' -o $format | head -1 | grep -c ."
		[ "$status" -eq 0 ]
		[ "$output" = 1 ]
		ws report "$dir/a.json" -o "$format:/dev/full"
		refused 1 "/dev/full" "No space left on device"
	done
}

@test "report needs no privileges, no BPF and no /sys" {
	need_root
	record a 0.05 2
	chmod 755 "$dir" "$BATS_TEST_TMPDIR"
	chmod 644 "$dir/a.json"
	install -m 755 "$WS" "$dir/ws"
	unshare --mount --propagation private bash -c '
		mount -t tmpfs none /sys
		exec setpriv --reuid 65534 --regid 65534 --clear-groups "$1/ws" report - <"$1/a.json"' - "$dir" >"$dir/o"
	cmp "$dir/o" "$dir/a.table"
}

@test "report: a record as Python's json.dumps writes it, blanks and \\u escapes, is the same" {
	for name in contended lines_pmu; do
		record=$ROOT/tests/golden/expected/$name.json
		python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    print(json.dumps(json.loads(line)))' "$record" >"$dir/blanks.json"
		grep -q "\[[0-9]*, " "$dir/blanks.json"
		"$WS" report "$record" -q -o "json:$dir/a.json"
		"$WS" report "$dir/blanks.json" -q -o "json:$dir/b.json"
		cmp "$dir/a.json" "$dir/b.json"
	done
}

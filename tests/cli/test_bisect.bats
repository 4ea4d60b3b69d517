#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/bisect.sh: git bisect run over 32 commits ends at the one that made a program wait longer.

BAD=21
BROKEN='3 16 17 24' # do not build; git's first choice is among them

setup() {
	load common
	command -v git >/dev/null || skip "no git"
	bisect=$ROOT/docs/bisect.sh
	dir=$BATS_TEST_TMPDIR
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	mkdir "$dir/repo" && cd "$dir/repo" || return
}

# history FUNCTION: 32 commits; FUNCTION good|bad|broken writes the files of each.
history() {
	local i what

	git init -q .
	for i in $(seq 32); do
		what=$([ "$i" -lt $BAD ] && echo good || echo bad)
		[[ " $BROKEN " != *" $i "* ]] || what=broken
		"$1" $what
		echo "$i" >commit
		git add -A && git commit -qm "$i"
	done
	git bisect start HEAD HEAD~31 >/dev/null
}

# found: git ended at the commit, and passed over what does not build.
found() {
	[ "$status" -eq 0 ] || fail "$(tail -n 20 "$dir/log")"
	grep -Eq "is the first '?bad'? commit" "$dir/log" || fail "$(cat "$dir/log")"
	[ "$(git log -1 --format=%s refs/bisect/bad)" = $BAD ] || fail "$(git bisect log)"
	git bisect log | grep -q '^# skip: .* 1[67]$'
	git bisect log | grep '^# skip' | sed 's/.* //' >"$dir/skipped"
	for i in $(cat "$dir/skipped"); do
		[[ " $BROKEN " == *" $i "* ]] || fail "$i was passed over"
	done
}

# A commit's program is a record: what it waited. The bad one's wakeups take four times as long.
synthetic() {
	case $1 in
	good) echo 'cp ../base.json record.json' ;;
	bad) echo 'jq -c "if .metrics then .metrics |= map(if .name == \"sched_wakeup_latency\" and .labels == {} then
		.buckets.offset += 64 | .sum *= 4 | .min *= 4 | .max *= 4 else . end) else . end" ../base.json >record.json' ;;
	broken) echo 'cc: error: no input files' ;;
	esac >build.sh
}

@test "records: the commit whose waits are longer, with no privileges" {
	"$WS" -q -s synth -d 50ms -o "json:$dir/base.json"
	local p50
	p50=$(jq 'select(.type == "final").metrics[] | select(.name == "sched_wakeup_latency" and .labels == {}).p["50"]' "$dir/base.json")
	history synthetic
	status=0
	git bisect run "$bisect" 'sh build.sh' "$WS" report record.json -q -o json:/dev/null --bisect \
		--fail-if "sched_wakeup_latency p50 > $((2 * p50))ns" >"$dir/log" 2>&1 || status=$?
	found
	# Three times each.
	[ $(($(grep -c '^waitscope: --fail-if' "$dir/log") % 3)) -eq 0 ]
}

# It computes until its child on the same CPU has ended; the bad one's child is there for 800 ms, in a real-time
# class, so that nothing but the program decides how long. Not at one go where that class has had its share, or
# the others have not had theirs: the sum tells. It never blocks, or a kernel whose fair class has a deadline
# server could let it run, and block, long before the child ends: then it would not wait. The child blocks each
# 20 ms: where a host hides a switch, the wait that it ended is known by the task's next one, which may come
# after the program's end is known, and with it the report. That may be one of many waits, not the only one.
traced() {
	cat >program.c <<END
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS $([ "$1" = bad ] && echo 800 || echo 0)

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(void)
{
	struct sched_param p = {.sched_priority = 1};
	int cpu = 0, status, ended;
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	if (!fork()) {
		long until;

		if (BUSY_MS && sched_setscheduler(0, SCHED_FIFO, &p))
			_exit(1);
		for (until = now_ms() + BUSY_MS; now_ms() < until; usleep(100)) {
			long pause = now_ms() + 20;

			while (now_ms() < pause && now_ms() < until)
				;
		}
		_exit(0);
	}
	while (!(ended = waitpid(-1, &status, WNOHANG)))
		;
	return ended < 0 || status != 0;
}
$([ "$1" = broken ] && echo '#error it does not build')
END
	echo program >.gitignore
}

@test "a program, built and traced at each step: the commit that makes it wait" {
	need_root
	chrt -f 1 true 2>/dev/null || skip "no real-time class"
	history traced
	status=0
	git bisect run "$bisect" 'cc -o program program.c' "$WS" -q -s sched -o json:/dev/null --bisect \
		--fail-if 'sched_run_delay sum > 400ms' -- ./program >"$dir/log" 2>&1 || status=$?
	found
	grep -q "^waitscope: --fail-if 'sched_run_delay sum > 400ms': it is " "$dir/log" || fail "$(cat "$dir/log")"
}

# ends STATUS TIMES BUILD COMMAND...: how the script ends, and how often it measured.
ends() {
	local want=$1 times=$2

	shift 2
	: >"$dir/count"
	status=0
	err=$(COUNT=$dir/count "$bisect" "$@" 2>&1 >/dev/null) || status=$?
	[ "$status" -eq "$want" ] || fail "exit $status, expected $want: $*: $err"
	[ "$(wc -l <"$dir/count")" -eq "$times" ] || fail "$(wc -l <"$dir/count") measurements: $*"
}

@test "bad each time is bad; one that is good is good; what is no answer ends the search" {
	measure='echo >>"$COUNT"; exit $1'
	ends 0 1 true sh -c "$measure" - 0
	ends 1 3 true sh -c "$measure" - 1
	RUNS=1 ends 1 1 true sh -c "$measure" - 1
	ends 0 2 true sh -c 'echo >>"$COUNT"; [ "$(wc -l <"$COUNT")" -eq 2 ]'
	ends 125 1 true sh -c "$measure" - 125
	ends 125 0 false sh -c "$measure" - 0
	ends 125 0 'if' sh -c "$measure" - 0
	ends 128 1 true sh -c "$measure" - 128
	ends 128 1 true sh -c "$measure" - 4 # --bisect was forgotten
	ends 128 0 true /nowhere/waitscope
	ends 128 0 true
	[[ $err == usage:* ]]
}

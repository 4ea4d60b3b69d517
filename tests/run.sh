#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# All tests. Each suite's TAP goes to $O/test-logs/SUITE.log; what failed is shown. A suite's line has its wall
# time and the CPU time of what it waited for; the last line is
#	N passed, N failed, N skipped
# First those that only compute, as many at once as there are CPUs (or -j N), at a low priority (nice 10: on a
# busy machine SCHED_IDLE would not come to an end), beside them, one by one, those that look at the time but
# mostly wait, and, also one by one, those that trace the machine and are in tests/beside, which says why; those of
# them that rest most of the time come behind those that wait. Then the
# rest of those that trace the machine, one by one and alone. What each has to say is said in the order below,
# whichever ends first.
# At the very end up to AGAIN (3) suites that look at the live machine and failed are run a second time, with nothing
# beside them, and that counts. They are named, and the first log stays (SUITE.first.log). All others count at once.
# AGAIN=0: none is run again.
# A skip that tests/expect/skips does not allow counts as failed. Words select suites by name:
#	tests/run.sh [-j N] [WORD...]		tests/run.sh kernel/slower unit
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL # a make that a test starts is no part of the one that started this
export O=${O:-build} LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 CMOCKA_MESSAGE_OUTPUT=TAP
SAN_O=${SAN_O:-}
LOGS=$O/test-logs
LIMIT_S=900 # of a suite: the longest takes 100 s alone, 280 were seen on a machine with ten times its load
passed=0 failed=0 skipped=0
jobs=$(nproc)
lane='' child='' number=0
AGAIN=${AGAIN:-3}

usage() {
	echo "usage: tests/run.sh [-j N] [WORD...], with N from 1 to 999" >&2
	exit 2
}

while getopts j: option; do
	[[ $option == j && $OPTARG =~ ^[1-9][0-9]{0,2}$ ]] || usage
	jobs=$OPTARG
done
shift $((OPTIND - 1))

# Each python3 that a version manager's script finds costs a tenth of a second and more, some thousand times.
if python=$(python3 -c 'import sys; print(sys.executable)'); then
	PATH=${python%/*}:$PATH
fi

summary() {
	cat "$STATE"/times.* 2>/dev/null | sort -rn | awk -v whole="$SECONDS" '
		NR <= 10 { slowest = slowest (NR > 1 ? ", " : "") $2 " " $1 }
		END { printf "%d:%02d minutes%s\n", whole / 60, whole % 60, slowest ? "; the slowest, in seconds: " slowest : "" }'
	[ ! -s "$STATE/again" ] || echo "run a second time: $(paste -sd ' ' "$STATE/again")"
	echo "$passed passed, $failed failed, $skipped skipped" | tee "$LOGS/summary"
}

# The results in a TAP log, one a line: ok|not ok|skip, TAB, name, TAB, reason. Also what TAP itself
# got wrong: a plan that was not kept.
results() {
	awk '
	function result(state, name, reason) { printf "%s\t%s\t%s\n", state, name, reason; n++ }
	/^1\.\.0/ { sub(/^1\.\.0 *(# *[Ss][Kk][Ii][Pp][^ ]* *)?/, ""); result("skip", "all", $0); next }
	/^1\.\.[0-9]+/ { planned += substr($0, 4); next }
	/^(not )?ok( |$)/ {
		state = /^not/ ? "not ok" : "ok"
		sub(/^(not )?ok *[0-9]* *(- *)?/, "")
		reason = ""
		if (match($0, /# *[Ss][Kk][Ii][Pp]/)) {
			reason = substr($0, RSTART + RLENGTH)
			sub(/^[^ ]* */, "", reason)
			$0 = substr($0, 1, RSTART - 1)
			state = "skip"
		}
		sub(/ +$/, "")
		tests++
		result(state, $0, reason)
	}
	END {
		if (tests != planned)
			result("not ok", "plan: " planned + 0 " tests announced, " tests + 0 " seen", "")
	}' "$1"
}

# allowed SUITE NAME REASON
allowed() {
	local suite name reason

	while IFS='|' read -r suite name reason; do
		case $suite in '' | '#'*) continue ;; esac
		# shellcheck disable=SC2053 # patterns, on purpose
		if [[ $1 == $suite && $2 == $name && $3 == $reason ]]; then
			return 0
		fi
	done < <(sed 's/[[:space:]]*|[[:space:]]*/|/g' tests/expect/skips)
	return 1
}

# cpu_ms NAME: sets it to the CPU time of all that this worker has started and waited for.
cpu_ms() {
	local of sum=0

	times >"$STATE/cpu.$lane" # a subshell would have times of its own
	for of in $(tail -n 1 "$STATE/cpu.$lane" | tr -d .s); do # 1m2.345s
		sum=$((sum + ${of%m*} * 60000 + 10#${of#*m}))
	done
	printf -v "$1" %d "$sum"
}

# count SUITE LOG STATUS SECONDS CPU_SECONDS: adds up, and says what went wrong.
count() {
	local ok=0 bad=0 skip=0 state name reason

	while IFS=$'\t' read -r state name reason; do
		if [ "$state" = skip ] && ! allowed "$1" "$name" "$reason"; then
			state="not ok" name="$name (skipped, which tests/expect/skips does not allow: $reason)"
		fi
		case $state in
		ok) ok=$((ok + 1)) ;;
		skip)
			skip=$((skip + 1))
			echo "  skipped: $name ($reason)"
			;;
		*)
			bad=$((bad + 1))
			echo "  FAILED: $name"
			;;
		esac
	done < <(results "$2")
	if [ "$3" -ne 0 ] && [ "$bad" -eq 0 ] && ! { [ "$3" -eq 77 ] && [ "$skip" -gt 0 ]; }; then
		bad=1
		echo "  FAILED: the suite ended with status $3"
	fi
	if [ "$bad" -gt 0 ] && postponed "$1"; then
		mv "$2" "${2%.log}.first.log"
		set -- "$1" "${2%.log}.first.log" "$3" "$4" "$5"
		echo "  $1 is run again at the end"
	else
		passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
	fi
	[ "$bad" -eq 0 ] || sed 's/^/    /' "$2" | grep -v '^    ok ' | tail -n 60
	printf '%-24s %4d s %4d CPU s %5d ok %s%s\n' "$1" "$4" "$5" "$ok" "$([ "$bad" -eq 0 ] || echo "$bad failed ")" \
		"$([ "$skip" -eq 0 ] || echo "$skip skipped ")"
}

# Whether what failed is for a second run. The lanes that ask are several processes.
postponed() {
	[ "$lane" != again ] && looks_at_machine "$1" || return 1
	(
		flock 8
		[ "$(wc -l <"$STATE/again")" -lt "$AGAIN" ] && echo "$1" >>"$STATE/again"
	) 8>"$STATE/again.lock"
}

# suite NAME COMMAND...: its TAP is on stdout. Done by the first worker of its lane that comes to it.
suite() {
	local name=$1 log=$LOGS/${1//\//-}.log status began took cpu_began cpu

	shift
	selected "$name" || return 0
	number=$((number + 1))
	if [ "$lane" = again ]; then
		grep -qxF "$name" "$STATE/again" || return 0
	else
		[[ $lane == "$(lane_of "$name")"* ]] || return 0
		mkdir "$STATE/$number" 2>/dev/null || return 0
	fi
	cpu_ms cpu_began
	began=${EPOCHREALTIME/[.,]/}
	timeout --kill-after=15 "$LIMIT_S" "$@" >"$log" 2>&1 </dev/null &
	child=$!
	wait "$child"
	status=$?
	# Reaped between bash's look and its wait: the status is there the next time.
	[ "$status" -ge 0 ] || {
		wait "$child"
		status=$?
	}
	child=
	took=$(((${EPOCHREALTIME/[.,]/} - began + 500000) / 1000000))
	cpu_ms cpu
	cpu=$(((cpu - cpu_began + 500) / 1000))
	echo "$took $name" >>"$STATE/times.$lane"
	if [ "$lane" = again ]; then
		count "$name" "$log" "$status" "$took" "$cpu"
		return
	fi
	count "$name" "$log" "$status" "$took" "$cpu" >"$STATE/$number/saying"
	mv "$STATE/$number/saying" "$STATE/$number/said"
	say
}

# Says what suites had to say: of each when all before it are done.
say() {
	local next

	exec 9>>"$STATE/next"
	flock 9
	next=$(tail -n 1 "$STATE/next")
	next=${next:-1}
	while [ -e "$STATE/$next/said" ]; do
		cat "$STATE/$next/said"
		next=$((next + 1))
		echo "$next" >&9
	done
	exec 9>&-
}

# What has ended when a signal came, though one before it has not.
say_rest() {
	local i

	say
	i=$(tail -n 1 "$STATE/next")
	for ((i = ${i:-1}; i <= 9999; i++)); do
		[ ! -e "$STATE/$i/said" ] || cat "$STATE/$i/said"
	done
}

beside=() beside_lanes=()
while IFS='|' read -r pattern where _; do
	case $pattern in '' | '#'*) continue ;; esac
	beside+=("$pattern") beside_lanes+=("$where")
done < <(sed 's/[[:space:]]*|[[:space:]]*/|/g' tests/beside)

# Of a suite that traces the machine: where those that compute may go on beside it, else alone.
tracing_lane_of() {
	local i

	for i in "${!beside[@]}"; do
		# shellcheck disable=SC2053 # a pattern, on purpose
		if [[ $1 == ${beside[i]} ]]; then
			case ${beside_lanes[i]} in
			rests) echo waits ;; # the same worker
			*) echo beside ;;
			esac
			return
		fi
	done
	echo traces
}

# What lists the kernel's programs wants no others there, so it is alone as well; so is a load for all CPUs. The insns
# suites load programs, and count what these are by the descriptors of the process that did.
lane_of() {
	case $1 in
	kernel/* | privs | cycles | readers/tui_live) tracing_lane_of "$1" ;;
	cli/busy) echo traces ;;
	export/* | names/worker | names/kernel* | cli/run | readers/tui) echo waits ;;
	*) echo computes ;;
	esac
}

words=("$@")
selected() {
	local word

	[ ${#words[@]} -gt 0 ] || return 0
	for word in "${words[@]}"; do
		[[ $1 != *"$word"* ]] || return 0
	done
	return 1
}

# one NAME COMMAND...: a program that has no TAP, as one test.
one() {
	# shellcheck disable=SC2016 # for the inner shell
	suite "$1" bash -c 'out=$("${@:2}" 2>&1); rc=$?; printf "%s\n" "$out" | sed "s/^/# /"; echo 1..1
		[ $rc -eq 0 ] || { echo "not ok 1 - $1"; exit 1; }; echo "ok 1 - $1"' - "$@"
}

# Long ones first, so that the CPUs end together.
all_suites() {
	for t in "$O"/tests/unit/test_*; do
		[ ! -x "$t" ] || suite "unit/${t##*/test_}" "$t"
	done
	if [ -n "$SAN_O" ]; then
		for t in "$SAN_O"/tests/unit/test_*; do
			[ ! -x "$t" ] || suite "san/${t##*/test_}" "$t"
		done
	fi
	fuzz=()
	for t in tests/fuzz/fuzz_*.c; do
		name=${t##*/fuzz_}
		fuzz+=("${name%.c}")
	done
	# What is new is found by hand (make check-fuzz): here each run has the same inputs.
	suite fuzz env FUZZ_RUNS=3000 tests/fuzz/run.sh "$O/fuzz" 1 "${fuzz[@]}"
	for t in tests/readers/test_*.py; do
		name=${t##*/test_}
		suite "readers/${name%.py}" python3 "$t"
	done
	suite golden python3 tests/golden/test_golden.py
	if [ -n "$SAN_O" ]; then
		suite san/golden env O="$SAN_O" python3 tests/golden/test_golden.py
	fi
	suite compare python3 tests/compare/test_compare.py
	suite bench python3 bench/test_added.py
	suite insn/arm64 python3 tests/insn/test_arm64.py
	suite compare/records python3 tests/compare/test_records.py
	one lint scripts/lint.sh
	for t in tests/cli/test_*.bats; do
		name=${t##*/test_}
		suite "cli/${name%.bats}" bats --tap "$t"
	done
	suite names python3 tests/names/test_names.py
	if [ -n "$SAN_O" ]; then
		suite san/names env O="$SAN_O" python3 tests/names/test_names.py
	fi
	suite names/worker python3 tests/names/test_worker.py
	for t in "$O"/tests/names/test_kernel_*; do
		[ ! -x "$t" ] || suite "names/${t##*/test_}" "$t"
	done
	for t in tests/names/test_kernel_*.py; do
		name=${t##*/test_}
		suite "names/${name%.py}" python3 "$t"
	done
	suite export/prom python3 tests/export/test_prom.py
	suite export/otlp python3 tests/export/test_otlp.py
	suite export/deploy python3 tests/export/test_deploy.py
	suite export/listen python3 tests/export/test_listen.py
	suite export/systemd python3 tests/export/test_systemd.py
	suite export/dashboard python3 tests/fleet/dashboard.py
	# Records of everything there is; what is larger than this has more of the same.
	mapfile -t records < <(find tests/golden/expected -name '*.json' -size -60k | sort)
	suite compare/mutants "$O/tests/compare/mutants" 3000 "${records[@]}"
	if [ -n "$SAN_O" ]; then
		suite san/mutants "$SAN_O/tests/compare/mutants" 1500 "${records[@]}"
	fi
	suite core-reloc tests/core-reloc/selftest.sh "$O/core-reloc/corecheck" "$O/core-reloc" tests/btf/*.btf
	ours=("$O"/bpf/sched_raw.bpf.o)
	for s in bpf/*.bpf.c; do
		s=${s##*/}
		ours+=("$O/bpf/${s%.c}.o")
	done
	suite core-reloc/ours "$O/core-reloc/corecheck" tests/core-reloc/absent.list tests/btf/*.btf -- "${ours[@]}"
	suite hardened tests/static/hardened.sh "$O"

	for t in tests/kernel/test_*.py; do
		name=${t##*/test_}
		suite "kernel/${name%.py}" python3 "$t"
	done
	suite kernel/bucket "$O/tests/kernel/test_bucket_bpf"
	suite kernel/shared "$O/tests/kernel/test_shared_bpf"
	suite kernel/walk "$O/tests/kernel/test_walk"
	suite kernel/line_pmu "$O/tests/kernel/test_line_pmu"
	suite kernel/line_feed tests/kernel/pmu.sh "$O/tests/kernel/test_line_feed"
	suite insns env O="$O" python3 bench/insns.py
	suite insns/executed env O="$O" python3 bench/executed.py
	suite insns/stack env O="$O" python3 bench/stack.py
	suite privs tests/privs/privs.sh "$O/waitscope"
	suite cycles tests/privs/cycles.sh "$O/waitscope" 24
}

# What is measured, or has to happen in time, is the live machine's.
looks_at_machine() {
	case $1 in
	kernel/* | names/worker | names/kernel* | export/* | cli/* | readers/tui* | */tui_cost | privs | cycles) ;;
	*) return 1 ;;
	esac
}

# In a process of its own: a worker, and what its suites add up to.
run_lane() { # traces | beside | waits | computes.N | again
	lane=$1 passed=0 failed=0 skipped=0
	trap 'trap "" INT TERM; end_child; exit 130' INT TERM
	trap 'echo "$passed $failed $skipped" >"$STATE/counts.$lane"' EXIT
	[[ $lane != computes.* ]] || renice -n 10 -p $BASHPID >/dev/null
	all_suites
}

# timeout is the leader of a process group, with all that its suite has started.
end_child() {
	[ -n "$child" ] || return 0
	kill -TERM -- "-$child" 2>/dev/null || kill -TERM "$child"
	wait "$child"
}

# lanes LANE...: beside one another, until all have ended.
lanes() {
	local pid lane pids=()

	[ "$interrupted" -eq 0 ] || return
	for lane; do
		run_lane "$lane" &
		pids+=($!)
	done
	workers=("${pids[@]}")
	for pid in "${pids[@]}"; do
		while kill -0 "$pid" 2>/dev/null; do
			wait "$pid" # a signal ends it early
		done
	done
	workers=()
	for lane; do
		read -r p f s < <(cat "$STATE/counts.$lane" || echo 0 1 0) # none: it was killed
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	done
}

mkdir -p "$LOGS"
STATE=$(mktemp -d "$LOGS/state.XXXXXX") || exit 1
trap 'rm -rf "$STATE"' EXIT
: >"$STATE/next"
: >"$STATE/again"
interrupted=0 workers=()
trap 'interrupted=1; [ ${#workers[@]} -eq 0 ] || kill -TERM "${workers[@]}" 2>/dev/null' INT TERM
mapfile -t computes < <(seq -f 'computes.%.0f' "$jobs")
if [ "$jobs" -eq 1 ]; then
	lanes computes.1
	lanes waits
	lanes beside
else
	lanes "${computes[@]}" waits beside
fi
lanes traces
[ ! -s "$STATE/again" ] || lanes again
if [ "$interrupted" -ne 0 ]; then
	say_rest
	echo interrupted
fi
summary
[ "$interrupted" -eq 0 ] || exit 130
[ "$failed" -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tests of `make check`. The TAP of each suite goes to $O/test-logs/SUITE.log; what failed is shown. The line of a
# suite has its wall time and the CPU time of the processes that it waited for. The last line is
#	N passed, N failed, N skipped
#
# Three kinds of suites, in lanes:
# - Suites that compute: as many at once as there are CPUs (or -j N), at nice 10 (SCHED_IDLE would starve on a busy
#   machine).
# - Suites that look at the time but mostly wait, and suites in tests/beside, which trace the machine and say there why
#   others do no harm: one of each at a time, beside those that compute.
# - All other suites that trace the machine: one at a time, alone, at the end.
# The output has the order below, whichever suite ends first.
#
# Words select suites by name. Without words all run but the suites and tests in tests/long; -a runs these as well, as
# make check-all does. With words or -a, WS_LONG=1 tells a test to try all of its builds, not only some. With SAN_O=DIR, what
# was built there with the sanitizers is tested in place of $O (all_suites says what).
#	tests/run.sh [-a] [-j N] [WORD...]		tests/run.sh kernel/slower unit
# ONE='name of a test' runs that test of a suite, where the suite can: what failed says how to repeat it.
#
# A failure that tests/quarantine names is reported and does not count. A skip that tests/expect/skips does not allow
# counts as a failure.
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL COLUMNS # a make that a test starts is no part of the one that started this
export O=${O:-build} LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 CMOCKA_MESSAGE_OUTPUT=TAP
SAN_O=${SAN_O:-}
LOGS=$O/test-logs
LIMIT_S=${LIMIT_S:-900} # of a suite: the longest takes 100 s alone, 280 were seen on a machine with ten times its load
UNIT_LIMIT_S=${UNIT_LIMIT_S:-60} # of a unit suite; three times that with the sanitizers, and for all of libc (insn_x86: 45 s seen)
passed=0 failed=0 skipped=0 all=''
jobs=$(nproc)
lane='' child='' number=0
ONE=${ONE:-}

usage() {
	echo "usage: tests/run.sh [-a] [-j N] [WORD...], with N from 1 to 999" >&2
	exit 2
}

while getopts aj: option; do
	case $option in
	a) all=1 ;;
	j)
		[[ $OPTARG =~ ^[1-9][0-9]{0,2}$ ]] || usage
		jobs=$OPTARG
		;;
	*) usage ;;
	esac
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
	[ ! -s "$STATE/long" ] || echo "only in make check-all: $(sort -u "$STATE/long" | paste -sd ' '), and single tests of others (tests/long)"
	[ ${#words[@]} -eq 0 ] || tests/changed.sh
	[ ! -s "$STATE/quarantined" ] || echo "quarantined: $(wc -l <"$STATE/quarantined") failed, in tests/quarantine until they are mended"
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
		sub(/ in [0-9]+ms *$/, "") # bats --timing
		sub(/ +$/, "")
		tests++
		result(state, $0, reason)
	}
	END {
		if (tests != planned)
			result("not ok", "plan: " planned + 0 " tests announced, " tests + 0 " seen", "")
	}' "$1"
}

# The lines of a table in tests/, without comments and without spaces around the bars.
table() {
	sed -e '/^#/d' -e '/^$/d' -e 's/[[:space:]]*|[[:space:]]*/|/g' "tests/$1"
}

declare -A tables
for t in expect/skips quarantine long beside; do
	tables[$t]=$(table "$t")
done

# listed TABLE SUITE [NAME [REASON]]: the first columns of a line are patterns that match these.
listed() {
	local line i of
	local -a fields

	while IFS= read -r line; do
		IFS='|' read -r -a fields <<<"$line"
		[ ${#fields[@]} -gt 0 ] || continue
		i=0
		for of in "${@:2}"; do
			# shellcheck disable=SC2053 # patterns, on purpose
			[[ $of == ${fields[i]} ]] || continue 2
			i=$((i + 1))
		done
		return 0
	done <<<"${tables[$1]}"
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
	local ok=0 bad=0 skip=0 held=0 first='' state name reason

	while IFS=$'\t' read -r state name reason; do
		if [ "$state" = skip ] && ! listed expect/skips "$1" "$name" "$reason"; then
			state="not ok" name="$name (skipped, which tests/expect/skips does not allow: $reason)"
		fi
		if [ "$state" != skip ] && listed quarantine "$1" "$name"; then
			echo "  quarantined: $([ "$state" = ok ] && echo passed || echo failed): $name"
			[ "$state" = ok ] || state=held
		fi
		case $state in
		ok) ok=$((ok + 1)) ;;
		skip)
			skip=$((skip + 1))
			echo "  skipped: $name ($reason)"
			;;
		held)
			held=$((held + 1))
			echo "$1: $name" >>"$STATE/quarantined"
			;;
		*)
			bad=$((bad + 1)) first=${first:-$name}
			echo "  FAILED: $name"
			;;
		esac
	done < <(results "$2")
	if [ "$3" -ne 0 ] && [ $((bad + held)) -eq 0 ] && ! { [ "$3" -eq 77 ] && [ "$skip" -gt 0 ]; }; then
		bad=1
		echo "  FAILED: the suite ended with status $3"
	fi
	[ "$3" -ne 124 ] || echo "  the suite was ended after $(limit_of "$1") s: its last test may hang"
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip + held))
	if [ "$bad" -gt 0 ]; then
		failures "$2"
		echo "  all of it: $2"
		echo "  repeat: make check TESTS=$1$(one_of "$1" "$first")"
	fi
	printf '%-24s %4d s %4d CPU s %5d ok %s%s%s\n' "$1" "$4" "$5" "$ok" "$([ "$bad" -eq 0 ] || echo "$bad failed ")" \
		"$([ "$held" -eq 0 ] || echo "$held quarantined ")" "$([ "$skip" -eq 0 ] || echo "$skip skipped ")"
}

# What a log says of its failures: each with the comments below it, and what no test said.
failures() {
	awk '
		/^not ok/ { show = 1; print; next }
		/^ok|^1\.\./ { show = 0; next }
		show || !/^#/ { print }' "$1" | sed 's/^/    /' | tail -n 60
}

# Of suites of which one test can be run: the words that do.
one_of() { # SUITE NAME
	case $1 in
	kernel/bucket | kernel/shared | kernel/walk | kernel/line_pmu | kernel/line_feed | export/* | names/kernel_*) ;;
	kernel/* | cli/* | golden | compare* | names | names/worker | readers/*)
		printf " ONE='%s'" "${2//\'/\'\\\'\'}"
		;;
	esac
}

limit_of() { # SUITE
	case $1 in
	*/insn_x86) echo $((UNIT_LIMIT_S * 3)) ;;
	unit/*) echo $((UNIT_LIMIT_S * (${#SAN_O} > 0 ? 3 : 1))) ;;
	plain/names | plain/golden) echo "$LIMIT_S" ;;
	plain/*) echo "$UNIT_LIMIT_S" ;;
	*) echo "$LIMIT_S" ;;
	esac
}

# later_of SUITE: its tests that are left to make check-all, as patterns, one a line.
later_of() {
	local line
	local -a fields

	[ ${#words[@]} -eq 0 ] && [ -z "$all" ] || return 0
	while IFS= read -r line; do
		IFS='|' read -r -a fields <<<"$line"
		# shellcheck disable=SC2053 # a pattern, on purpose
		[[ $1 != ${fields[0]-} ]] || echo "${fields[1]}"
	done <<<"${tables[long]}"
}

# The tests of a bats file that $LATER does not name, as an expression for bats -f.
bats_now() { # FILE
	local name pattern

	while IFS= read -r name; do
		while IFS= read -r pattern; do
			# shellcheck disable=SC2053 # a pattern, on purpose
			[[ $name != $pattern ]] || continue 2
		done <<<"$LATER"
		printf '%s\n' "$name"
	done < <(sed -n 's/^@test "\(.*\)" {$/\1/p' "$1") |
		sed 's/[^[:alnum:][:space:]]/\\&/g' | paste -sd '|' | sed 's/.*/^(&)$/'
}

# suite NAME COMMAND...: its TAP is on stdout. Done by the first worker of its lane that comes to it.
suite() {
	local name=$1 log=$LOGS/${1//\//-}.log status began took cpu_began cpu limit
	local -x LATER

	shift
	selected "$name" || return 0
	number=$((number + 1))
	[[ $lane == "$(lane_of "$name")"* ]] || return 0
	mkdir "$STATE/$number" 2>/dev/null || return 0
	case ${ONE:+$1} in
	python3) set -- "$@" "$ONE" ;;
	bats) set -- "$1" -f "^$(printf %s "$ONE" | sed 's/[^[:alnum:][:space:]]/\\&/g')\$" "${@:2}" ;;
	esac
	LATER=$(later_of "$name")
	[ -z "$LATER" ] || [ "$1" != bats ] || set -- bats -f "$(bats_now "${!#}")" "${@:2}"
	limit=$(limit_of "$name")
	cpu_ms cpu_began
	began=${EPOCHREALTIME/[.,]/}
	timeout --kill-after=15 "$limit" "$@" >"$log" 2>&1 </dev/null &
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
	[ -n "$pattern" ] || continue
	beside+=("$pattern") beside_lanes+=("$where")
done <<<"${tables[beside]}"

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
# suites load programs, and count what these are by the descriptors of the process that did. insns is alone: the verifier's
# work for ext4's programs grows with the number of mounted file systems, and other suites mount some.
lane_of() {
	case $1 in
	kernel/* | privs | cycles | readers/tui_live) tracing_lane_of "$1" ;;
	cli/busy | insns) echo traces ;;
	export/* | names/worker | names/kernel* | cli/run | readers/tui) echo waits ;;
	*) echo computes ;;
	esac
}

words=("$@")
export WS_LONG=
[ ${#words[@]} -eq 0 ] && [ -z "$all" ] || WS_LONG=1
selected() {
	local word

	if [ ${#words[@]} -eq 0 ]; then
		[ -z "$all" ] && listed long "$1" 'every test' || return 0
		echo "$1" >>"$STATE/long"
		return 1
	fi
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

# of DIR NAME COMMAND...: a suite of what was built in DIR.
of() {
	O=$1 suite "${@:2}"
}

# Long ones first, so that the CPUs end together. Where there is a build with the sanitizers, unit tests, golden tests,
# names and mutants are of that; -a runs them of both.
all_suites() {
	local own=${SAN_O:-$O} runs=500 mutants=1500

	[ -z "$all" ] || runs=3000 mutants=3000
	for t in "$own"/tests/unit/test_*; do
		case ${t##*/test_} in
		# They look at memory and time; fuzz has the decoder with the sanitizers.
		export | tui_cost | insn_x86) t=$O/tests/unit/${t##*/} ;;
		esac
		[ ! -x "$t" ] || suite "unit/${t##*/test_}" "$t"
	done
	fuzz=()
	for t in tests/fuzz/fuzz_*.c; do
		name=${t##*/fuzz_}
		fuzz+=("${name%.c}")
	done
	# What is new is found by hand (make check-fuzz): here each run has the same inputs.
	suite fuzz env FUZZ_RUNS=$runs tests/fuzz/run.sh "$O/fuzz" 1 "${fuzz[@]}"
	for t in tests/readers/test_*.py; do
		name=${t##*/test_}
		suite "readers/${name%.py}" python3 "$t"
	done
	of "$own" golden python3 tests/golden/test_golden.py
	suite compare python3 tests/compare/test_compare.py
	suite bench python3 bench/test_added.py
	suite insn/arm64 python3 tests/insn/test_arm64.py
	suite compare/records python3 tests/compare/test_records.py
	one lint scripts/lint.sh
	for t in tests/cli/test_*.bats; do
		name=${t##*/test_}
		suite "cli/${name%.bats}" bats --tap --timing "$t"
	done
	of "$own" names python3 tests/names/test_names.py
	# Not beside a memory of the sanitizers.
	[ "$own" = "$O" ] || suite names/memory python3 tests/names/test_names.py 'giving that memory back'
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
	suite compare/mutants "$own/tests/compare/mutants" "$mutants" "${records[@]}"
	if [ -n "$all" ] && [ "$own" != "$O" ]; then
		for t in "$O"/tests/unit/test_*; do
			[ ! -x "$t" ] || suite "plain/${t##*/test_}" "$t"
		done
		suite plain/golden python3 tests/golden/test_golden.py
		suite plain/names python3 tests/names/test_names.py
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

# In a process of its own: a worker, and what its suites add up to.
run_lane() { # traces | beside | waits | computes.N
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
if [ "$interrupted" -ne 0 ]; then
	say_rest
	echo interrupted
fi
summary
[ "$interrupted" -eq 0 ] || exit 130
[ "$failed" -eq 0 ]

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2086 # $as_ours is several words, on purpose
# cycles.sh WAITSCOPE CYCLES: starts and ends it again and again, by its own end, SIGINT, SIGTERM and
# SIGKILL in turn, the signals at moments that differ; then nothing may be left in the kernel. TAP.
set -u

tool=$1 cycles=$2 uid=54321
limit_kb=16384 # of kernel memory: noise of a machine at work; one leaked map is more after 100 cycles

if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP not root"
	exit 0
fi

# Programs of our user, and links of those programs, one a line. Maps have no user: they live as long as
# a program or a descriptor holds them, and our processes are gone; their memory would show.
ours() {
	for _ in $(seq 100); do # bpftool gives up when a link's program goes while it lists them
		lists=$(bpftool -j prog list && bpftool -j link list) && break
		sleep 0.05
	done
	printf '%s\n' "$lists" | jq -r -s --argjson uid $uid '
		(.[0] | map(select(.uid == $uid))) as $progs |
		($progs[] | "program \(.id) \(.name)"),
		(.[1][] | select(.prog_id as $p | any($progs[]; .id == $p)) | "link \(.id) \(.type)")'
}

kernel_kb() { # what the kernel holds and cannot give back
	awk '/^(SUnreclaim|Percpu|VmallocUsed):/ { kb += $2 } END { print kb }' /proc/meminfo
}

one() { # NUMBER
	case $(($1 % 4)) in
	0) $as_ours "$tool" -q -s sched -o json:/dev/null -d 10ms || echo "# cycle $1: exit $?"; return ;;
	1) sig=INT ;;
	2) sig=TERM ;;
	3) sig=KILL ;;
	esac
	$as_ours "$tool" -q -s sched -o json:/dev/null &
	pid=$!
	sleep "0.$(printf '%02d' $(($1 * 7 % 30)))"
	kill "-$sig" $pid 2>/dev/null
	wait $pid 2>/dev/null
}

# The kernel frees them a little after the last descriptor is closed.
left() {
	for _ in $(seq 60); do
		found=$(ours)
		[ -z "$found" ] && break
		sleep 0.5
	done
	printf '%s' "$found"
}

# Kernel memory that the cycles took. Others may take some meanwhile, and what is freed comes back late: a
# leak is there each time, so the least of three counts.
grown_kb() {
	least=
	for _ in 1 2 3; do
		kb_before=$(kernel_kb)
		i=0
		while [ $i -lt "$cycles" ]; do
			one $i >&2
			i=$((i + 1))
		done
		left >/dev/null
		kb=$(($(kernel_kb) - kb_before))
		[ -n "$least" ] && [ "$least" -le $kb ] || least=$kb
		[ "$least" -gt $limit_kb ] || break
	done
	echo "$least"
}

# A user of its own tells our programs from those of others on this machine. Words, not a function: in
# the background a function would be a shell of its own, and the signals would go to that.
as_ours="setpriv --reuid $uid --regid $uid --clear-groups --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
install -m 755 "$tool" "$work/waitscope"
tool=$work/waitscope
cd "$work" || exit 1

$as_ours "$tool" -q -s sched -o json:/dev/null &
pid=$!
seen=0
for _ in $(seq 60); do
	seen=$(ours | wc -l)
	[ "$seen" -eq 0 ] || break
	sleep 0.5
done
kill -KILL $pid
wait $pid 2>/dev/null
one 0
one 3
left >/dev/null
kb=$(grown_kb)
left=$(left)

failed=0
echo "1..3"
if [ "$seen" -gt 0 ]; then
	echo "ok 1 - $seen programs and links while it runs"
else
	echo "not ok 1 - no program seen while it runs: this test is blind"
	failed=1
fi
if [ -z "$left" ]; then
	echo "ok 2 - $cycles cycles leave no program and no link"
else
	echo "not ok 2 - $cycles cycles leave:"
	printf '%s\n' "$left" | sed 's/^/#   /'
	failed=1
fi
if [ $kb -le $limit_kb ]; then
	echo "ok 3 - $cycles cycles: kernel memory $kb KiB more, at most $limit_kb"
else
	echo "not ok 3 - $cycles cycles: kernel memory $kb KiB more, at most $limit_kb"
	failed=1
fi
exit $failed

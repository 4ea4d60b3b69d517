#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --check: what this machine can do, and what it cannot with the reason. --btf: types from a file.

bats_require_minimum_version 1.5.0

setup() {
	load common
	need_root
}

@test "--check: facts, then every way of every source" {
	run --separate-stderr "$WS" --check
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	for label in kernel user BTF 'task storage' lockdown 'locked memory' 'cgroup v2'; do
		grep -q "^$label  " <<<"$output"
	done
	grep -q "^kernel  *$(uname -r) $(uname -m), $(getconf _NPROCESSORS_ONLN) CPU" <<<"$output"
	grep -q '^sched  *yes$' <<<"$output"
	grep -q '^sched --slower  *\(yes$\|no: \)' <<<"$output"
	grep -q '^futex --why  *\(yes$\|no: \)\|^[^:]*futex --why.* no: ' <<<"$output"
	grep -q '^sched --by pid  *\(yes$\|no: \)' <<<"$output"
	for source in ext4 lock futex line watch; do
		grep -qE "(^|, )$source(,| ).*(yes|no: )" <<<"$output"
	done
	[ -z "$(grep '^synth' <<<"$output")" ]
}

@test "--check: a watch is tried on a variable of our own, if none is named" {
	[ "$(uname -m)" = x86_64 ] || skip "x86 only"
	run --separate-stderr "$WS" --check -s watch
	[ "$status" -eq 0 ]
	grep -q '^watch  *yes$' <<<"$output"
	run --separate-stderr "$WS" --check -s watch --watch 0x1000 -p $$
	[ "$status" -eq 3 ]
	grep -q "^watch  *no: --watch '0x1000': 0x1000 is not mapped in process $$" <<<"$output"
}

@test "--check: only the ways that mean something to a source" {
	run --separate-stderr "$WS" --check -s lock,line
	[ -z "$(grep -E '^line --(slower|why|by)' <<<"$output")" ]
	! grep -q '^lock  *yes' <<<"$output" || grep -q '^lock --by pid  ' <<<"$output"
	! grep -q '^lock  *yes' <<<"$output" || grep -q '^lock --slower  ' <<<"$output"
	! grep -q '^line  *yes' <<<"$output" || grep -q '^line -c CGROUP  ' <<<"$output"
}

@test "--check: the sources named, and no others" {
	run --separate-stderr "$WS" --check -s synth
	[ "$status" -eq 0 ]
	grep -q '^synth  *yes$' <<<"$output"
	[ -z "$(grep '^sched' <<<"$output")" ]
}

@test "--check where sched cannot run: exit 3, the reason, and no further ways" {
	run --separate-stderr unshare --mount --propagation private bash -c \
		"mount -t tmpfs none /sys/kernel/btf && exec '$WS' --check"
	[ "$status" -eq 3 ]
	grep -q '^BTF  *no: ' <<<"$output"
	grep -q '^sched  *no: .*BTF' <<<"$output"
	[ -z "$(grep '^sched --' <<<"$output")" ]
}

@test "--check leaves nothing attached" {
	before=$(bpf_ours)
	"$WS" --check >/dev/null
	left=$(bpf_left "$before")
	[ -z "$left" ] || fail "left: $left"
}

@test "--btf: the kernel's own types from a file do as well" {
	run --separate-stderr "$WS" --btf /sys/kernel/btf/vmlinux -s sched -o json -d 0.2
	[ "$status" -eq 0 ]
	grep -q '"type":"final"' <<<"$output"
}

@test "--btf: a file that is not there (2), or not BTF (3)" {
	run --separate-stderr "$WS" --btf /no/such/file -s sched -d 0.2
	[ "$status" -eq 2 ]
	[[ $stderr == "waitscope: error: --btf '/no/such/file': No such file or directory"* ]]
	run --separate-stderr "$WS" --btf "$BATS_TEST_FILENAME" -s sched -d 0.2
	[ "$status" -eq 3 ]
	[[ $stderr == "waitscope: error: --btf '$BATS_TEST_FILENAME': "*"(expected a kernel's BTF"* ]]
}

@test "--btf: a FIFO is refused at once (2)" {
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	run timeout -k 1 10 "$WS" --btf "$BATS_TEST_TMPDIR/fifo" -s sched -d 0.2
	[ "$status" -eq 2 ] || fail "exit $status: $output"
	[[ $output == "waitscope: error: --btf '$BATS_TEST_TMPDIR/fifo': not a regular file"* ]]
}

# sched's programs are loaded by these types: libbpf takes them as they are (and dies of some).
@test "--btf: types that refer to nothing or to themselves are refused before libbpf sees them (3)" {
	need_root
	local what

	"$ROOT/tests/cli/btf_mutants.py" "$ROOT/tests/btf/6.18-amd64.btf" "$BATS_TEST_TMPDIR"
	for what in typedef anonymous member name; do
		ws --btf "$BATS_TEST_TMPDIR/$what" -s sched -d 0.1
		refused 3 "--btf '$BATS_TEST_TMPDIR/$what'" "expected a kernel's BTF"
	done
}

# Bytes of the header, of types and of strings, changed: types may be whole and wrong then, and what the
# verifier makes of the programs decides.
@test "--btf: changed types are an error (3), or do no harm" {
	need_root
	local at file=$BATS_TEST_TMPDIR/btf

	for at in 8 12 16 20 24 28 32 36 40 44 48 52 56 64 1000 10004 20008 30000 40000 50000; do
		cp "$ROOT/tests/btf/6.18-amd64.btf" "$file"
		printf '\xff\xff\xff\x7f' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
		ws --btf "$file" -s sched -d 0.1
		[ "$status" -eq 3 ] || [ "$status" -eq 0 ] || fail "at $at: exit $status: $err"
		[ "$status" -eq 0 ] || refused 3 "waitscope: error:"
	done
}

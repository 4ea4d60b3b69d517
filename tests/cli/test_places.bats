#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad places: no rights, no BTF, no bpf(2), targets that are not there. Exit 3 where the machine or
# kernel cannot, one line that says what is missing, and no BPF object left behind.

bats_require_minimum_version 1.5.0

setup() {
	load common
	need_root
	before=$(bpf_ours)
}

teardown() {
	local left

	rm -rf "${copy:-}"
	left=$(bpf_left "$before")
	[ -z "$left" ] || fail "BPF objects left: $left"
}

# A copy that everybody may execute.
public_copy() {
	copy=$(mktemp -d)
	chmod 755 "$copy"
	cp "$WS" "$copy/waitscope"
	WS=$copy/waitscope
}

@test "not root: exit 3, and what it takes" {
	public_copy
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$WS" -d 0.1
	err=$stderr out=/dev/null
	refused 3 "not permitted" "root"
	[ -z "$output" ]
}

@test "root without CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN: exit 3" {
	run --separate-stderr setpriv --bounding-set -bpf,-perfmon,-sys_admin \
		--inh-caps -bpf,-perfmon,-sys_admin "$WS" -d 0.1
	err=$stderr out=/dev/null
	refused 3 "not permitted"
}

@test "no BTF: exit 3, and says so" {
	out=/dev/null
	run --separate-stderr unshare --mount --propagation private bash -c \
		"mount -t tmpfs none /sys/kernel/btf && exec '$WS' -d 0.1"
	err=$stderr
	refused 3 "BTF"
}

@test "no /sys: exit 3, and says so" {
	out=/dev/null
	run --separate-stderr unshare --mount --propagation private bash -c \
		"mount -t tmpfs none /sys && exec '$WS' -d 0.1"
	err=$stderr
	refused 3 "BTF" "/sys"
}

@test "a seccomp filter that has no bpf(2): exit 3, and says so" {
	ws_nobpf ENOSYS
	refused 3 "a seccomp filter refuses bpf(2)"
}

@test "bpf(2) refused by a sandbox: exit 3" {
	ws_nobpf EPERM
	refused 3 "not permitted"
}

ws_nobpf() {
	out=$BATS_TEST_TMPDIR/out
	status=0
	err=$("$LOAD/nobpf" "$1" "$WS" -d 0.1 2>&1 >"$out") || status=$?
}

@test "an unknown pid or tid: exit 2, quoted" {
	local gone

	sleep 0 &
	gone=$!
	wait "$gone"
	ws -p "$gone" -d 0.1
	refused 2 "'$gone'" "no such process"
	ws -t "$gone" -d 0.1
	refused 2 "'$gone'" "no such thread"
	ws -p "$$,$gone" -d 0.1
	refused 2 "$gone"
}

@test "a cgroup that is not there, is v1, or is no cgroup: exit 2, quoted" {
	ws -c /no/such/cgroup -d 0.1
	refused 2 "'/no/such/cgroup'" "cgroup"
	ws -c 18446744073709551615 -d 0.1
	refused 2 "'18446744073709551615'"
	ws -c /etc -d 0.1
	refused 2 "'/etc'" "cgroup"
	ws -c "" -d 0.1
	refused 2 "''"
}

@test "a cgroup v1 directory: exit 2, and says that it is v1" {
	local v1
	v1=$(awk '$(NF-2) == "cgroup" { print $5; exit }' /proc/self/mountinfo)
	[ -n "$v1" ] || skip "no cgroup v1 mount"
	ws -c "$v1" -d 0.1
	refused 2 "'$v1'" "v1"
}

@test "no cgroup v2 mounted: -c is exit 3, and says so" {
	run --separate-stderr unshare --mount --propagation private bash -c \
		"umount -l -a -t cgroup2 && exec '$WS' -c / -d 0.1"
	err=$stderr out=/dev/null
	refused 3 "cgroup v2"
}

@test "a CPU that is not there: exit 2, quoted" {
	ws --cpu 8191 -d 0.1
	refused 2 "'8191'"
}

@test "a bad --comm pattern: exit 2, quoted" {
	ws --comm 'a[' -d 0.1
	refused 2 "'a['"
	ws --comm '' -d 0.1
	refused 2 "''"
}

@test "a full disk with the real source: exit 1, no BPF object left" {
	ws -d 0.2 -o json:/dev/full
	refused 1 "/dev/full" "No space left on device"
}

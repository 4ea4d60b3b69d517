#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# privs.sh WAITSCOPE: what it may do as whom, and what it keeps. TAP; needs root, setpriv, setcap.
set -u

built=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
tool=$work/waitscope
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"

if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP not root: cannot become others"
	exit 0
fi
for need in setpriv setcap; do
	command -v $need >/dev/null || { echo "Bail out! missing: $need"; exit 1; }
done
chmod 755 "$work"
install -m 755 "$built" "$tool"
cd "$work" || exit 1

as_nobody() {
	setpriv --reuid nobody --regid nogroup --clear-groups "$@" 2>&1
}

# CapEff of a waitscope that runs with these arguments, hexadecimal.
effective_of() {
	"$@" -q -o json:/dev/null >/dev/null 2>&1 &
	pid=$!
	# Dropping is the last step of starting; wait for it, not for a fixed time.
	for _ in $(seq 300); do
		grep -qs '^NoNewPrivs:.1' "/proc/$pid/status" && break
		sleep 0.1
	done
	sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$pid/status"
	kill -INT "$pid"
	wait "$pid" 2>/dev/null
}

out=$(as_nobody "$tool" -s sched 1 1)
status=$?
expected="setcap cap_bpf,cap_perfmon=ep $tool"
expected_default="setcap cap_bpf,cap_perfmon,cap_syslog=ep $tool"
[ $status -eq 3 ] && [ -z "${out##*"$expected"*}" ]
result $? "without capabilities: exit 3 and the exact setcap line" "exit $status: $out"

out=$(as_nobody "$tool" --check)
status=$?
[ $status -eq 3 ] && [ -z "${out##*"$expected_default"*}" ]
result $? "--check without capabilities: exit 3 and the line" "exit $status: $out"
[ "$(echo "$out" | grep -c ' no: ')" -eq 3 ] && echo "$out" | grep -q '^sched, ext4, lock  *no: BPF' &&
	echo "$out" | grep -q "^futex  *no: BPF.*setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep $tool"
result $? "... once for those of a kind, with the sources named" "$out"

# What each choice of options asks for besides CAP_BPF and CAP_PERFMON.
while read -r more options; do
	# shellcheck disable=SC2086 # words of a command line
	out=$(as_nobody "$tool" $options -d 1)
	status=$?
	line="setcap cap_bpf,cap_perfmon$more=ep $tool)"
	[ $status -eq 3 ] && [ -z "${out##*"$line"*}" ]
	result $? "without capabilities, $options: the line has $more" "exit $status: $out"
done <<-'END'
	,cap_syslog -s lock
	,cap_sys_ptrace -s futex
	,cap_syslog,cap_sys_ptrace -s line,ext4
	,cap_dac_read_search -s ext4 --by file
END

out=$(as_nobody --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon "$tool" -o json 1 1)
status=$?
[ $status -eq 0 ] && [ -z "${out##*'"type":"final"'*}" ]
result $? "with ambient capabilities: every default source runs" "exit $status: $out"

out=$(as_nobody --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon "$tool" --check -s lock)
status=$?
[ $status -eq 0 ] && [ -z "${out##*"but for names of kernel code: addresses are hidden"*}" ]
result $? "without CAP_SYSLOG: --check says which names are missing" "exit $status: $out"

out=$(as_nobody --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon "$tool" -q -o json:/dev/null 1 1 -- \
	sed -n 's/^Cap\(Prm\|Eff\|Inh\|Amb\):[[:space:]]*//p' /proc/self/status | sort -u)
[ "$out" = 0000000000000000 ]
result $? "COMMAND gets none of them" "$out"

out=$(eval "$expected_default" 2>&1 && as_nobody "$tool" -o json 1 1)
status=$?
[ $status -eq 0 ] && [ -z "${out##*'"type":"final"'*}" ]
result $? "after that setcap line: every default source runs" "exit $status: $out"

# Without CAP_SYSLOG the kernel shows no addresses of its own: nor do we, in any format.
hidden=$work/hidden
loads=$(dirname "$built")/tests/load
install -m 755 "$built" "$hidden"
mkdir -m 777 "$work/out"
setcap cap_bpf,cap_perfmon=ep "$hidden"
echo | "$loads/locks" pipe 4 4500 >/dev/null &
load=$!
"$built" -q -s lock -n 1000 -o "json:$work/root.json" -d 4 1 &
root=$!
out=$(as_nobody "$hidden" -s lock -n 1000 -o "json:$work/out/json" -o "csv:$work/out/csv" -o "table:$work/out/table" -d 3 1)
status=$?
wait $root $load
[ $status -eq 0 ] && [ "$(echo "$out" | grep -c '^waitscope: note: the kernel hides its addresses from you (CAP_SYSLOG')" -eq 1 ]
result $? "without CAP_SYSLOG: a note says that addresses are hidden, once" "exit $status: $out"
out=$("$here/hidden.py" "$work/root.json" "$work/out/json" "$work/out/csv" "$work/out/table" 2>&1)
result $? "... and none is in JSON, CSV or the table; others stand for them" "$out"
out=$(as_nobody "$hidden" -s watch --watch 0xffffffff81000000:8 -d 0.2)
status=$?
[ $status -eq 2 ] && [ -z "${out##*"--watch '0xffffffff81000000:8': an address of the kernel's, which hides them"*}" ]
result $? "... and --watch tells nothing of what is mapped there, exit 2" "exit $status: $out"

# The binary still has its file capabilities: what its user chooses is not read with them.
cp /sys/kernel/btf/vmlinux "$work/types" && chmod 644 "$work/types"
out=$(as_nobody "$tool" -s sched --btf "$work/types" -d 0.2)
status=$?
[ $status -eq 2 ] && [ -z "${out##*"--btf '$work/types': refused"*}" ]
result $? "with file capabilities: --btf is refused, exit 2" "exit $status: $out"
out=$(as_nobody "$tool" -s sched --debuginfod -d 0.2)
status=$?
[ $status -eq 2 ] && [ -z "${out##*"--debuginfod: refused"*}" ]
result $? "with file capabilities: --debuginfod is refused, exit 2" "exit $status: $out"
out=$(as_nobody --inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon "$built" -s sched --btf "$work/types" -d 0.2)
status=$?
[ $status -eq 2 ] && [ -z "${out##*"refused: the kernel has BTF"*}" ]
result $? "not root, a kernel with BTF: --btf is refused, exit 2" "exit $status: $out"

# CAP_SYSLOG (bit 34), CAP_PERFMON (38), CAP_BPF (39): names of locks are looked for later.
out=$(effective_of setpriv --reuid nobody --regid nogroup --clear-groups "$tool" -s lock)
[ "$out" = 000000c400000000 ]
result $? "then, attached: those for the names of locks are left" "$out"

# What may be left: CAP_BPF (bit 39), and only where the kernel wants it for one's own maps.
out=$(effective_of setpriv --reuid nobody --regid nogroup --clear-groups "$tool" -s sched)
[ "$out" = 0000000000000000 ] || [ "$out" = 0000008000000000 ]
result $? "then, attached: no capability is left" "$out"

# CAP_SYS_ADMIN (bit 21) for the cost, CAP_DAC_OVERRIDE (bit 1) for the file.
out=$(effective_of "$built" -s sched)
[ "$out" = 0000000000200002 ]
result $? "as root, attached: only those for the cost and the output file are left" "$out"

echo "1..$nr"
exit $failed

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Does corecheck notice? selftest.sh CORECHECK PROBE_DIR FIXTURE.btf...: objects with a known fault must
# fail with the right words on 5.10; the good one must pass everywhere. TAP.
set -u

corecheck=$1 probes=$2
shift 2
absent=$(mktemp)
trap 'rm -f "$absent"' EXIT
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP not root: libbpf tests that BPF works before it relocates"
	exit 0
fi
echo "1..7"
out=$("$corecheck" "$absent" "$@" -- "$probes/good.bpf.o")
result $? "a guarded object passes on every kernel" "$out"

while IFS='|' read -r object words; do
	if out=$("$corecheck" "$absent" "$@" -- "$probes/$object.bpf.o"); then
		result 1 "$object is refused" "it passed"
	else
		printf '%s\n' "$out" | grep -q "$words"
		result $? "$object is refused: $words" "$out"
	fi
done <<'TABLE'
bad_unguarded|on 5.10-amd64: naive: byte_off of task_struct.__state: missing and unguarded
bad_args|on 5.10-amd64: sched_switch: no program fits (four takes 4 arguments, the kernel's has 3)
bad_size|on 7.2-amd64: wide: byte_off of task_struct.on_cpu: the kernel's has another size
bad_none|nothing was relocated
bad_ksym|waitscope_no_such_variable: no such kernel variable
TABLE

echo '* sched_switch not there at all' >"$absent"
out=$("$corecheck" "$absent" "$@" -- "$probes/good.bpf.o")
if [ $? -eq 1 ] && printf '%s\n' "$out" | grep -q "there, though absent.list says: not there at all"; then
	result 0 "a needless excuse is refused"
else
	result 1 "a needless excuse is refused" "$out"
fi
exit $failed

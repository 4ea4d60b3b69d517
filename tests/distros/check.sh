#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh OUT_DIR SUITE...: README's two commands, word for word, each suite in a fresh system of its own
# that has nothing yet, on a clean clone of what is committed here. TAP, with the tests' own counts in the last line:
#	N passed, N failed, N skipped
# TESTS=WORDS selects suites of `make check` as it does elsewhere. Downloaded packages stay in the cache; logs go to OUT_DIR.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$1
shift
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
# shellcheck source=tests/system.sh
. "$here/../system.sh"
root=
passed=0 not_passed=0 skipped=0

summary() {
	[ -z "$root" ] || end_system "$root"
	root=
	echo "1..$nr"
	echo "$passed passed, $not_passed failed, $skipped skipped"
}
trap 'summary; exit 130' INT TERM

# part STATUS TEXT LOG: one result of ours.
part() {
	if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else not_passed=$((not_passed + 1)); fi
	result "$1" "$2" "$3"
}

readme() { # END: the command of README that ends so
	grep -m 1 "^ *apt-get .*$1\$" "$top/README.md"
}

# in_clone NAME COMMAND: runs it in the clone; its output is in OUT_DIR/NAME.log
in_clone() {
	(ARCHIVES=$systems/archives-$suite inside "$root" "cd /root/waitscope && $2") >"$out/$1.log" </dev/null
}

first() {
	in_clone "$suite-run" "$run_command" && grep -q '^Wakeup latency' "$out/$suite-run.log" &&
		grep -q '^quality: ' "$out/$suite-run.log"
	part $? "$suite: $run_command" "$(tail -n 15 "$out/$suite-run.log")"
}

# A run counts when its last line says that nothing failed, and that something ran.
second() {
	in_clone "$suite-check" "$check_command"
	status=$?
	counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$out/$suite-check.log" | tail -n 1)
	echo "# $suite: ${counts:-no test ran}"
	read -r p f s <<-END
		$(printf '%s\n' "${counts:-0 0 0}" | tr -cd '0-9 \n')
	END
	passed=$((passed + p)) not_passed=$((not_passed + f)) skipped=$((skipped + s))
	[ "$status" -eq 0 ] && [ "$p" -gt 0 ] && [ "$f" -eq 0 ]
	part $? "$suite: $check_command" "$(grep 'FAILED: ' "$out/$suite-check.log" || tail -n 15 "$out/$suite-check.log")"
}

check_suite() { # SUITE
	suite=$1
	if ! base_system "$suite"; then
		part 1 "$suite: debootstrap" "$(tail -n 5 "$systems/$suite.log" 2>/dev/null)"
		return
	fi
	root=$(new_system "$suite")
	packages_reach "$root"
	mkdir -p "$systems/archives-$suite"
	if ! git clone -q --no-hardlinks "$top" "$root/root/waitscope"; then
		part 1 "$suite: a clone"
	else
		first
		second
		ARCHIVES=$systems/archives-$suite inside "$root" 'apt-get -qq autoclean' >/dev/null
	fi
	end_system "$root"
	root=
}

[ "$(id -u)" -eq 0 ] || { echo "Bail out! not root: chroot needs it"; exit 1; }
command -v debootstrap >/dev/null || { echo "Bail out! missing: debootstrap"; exit 1; }
run_command=$(readme 'make deps-build && make run')
check_command=$(readme 'make deps && make check')
if [ -z "$run_command" ] || [ -z "$check_command" ]; then
	echo "Bail out! README.md has not the two commands"
	exit 1
fi
mkdir -p "$out"
[ -z "$(git -C "$top" status --porcelain)" ] || echo "# what is not committed is not tried"
for s; do
	check_suite "$s"
done
summary
[ "$not_passed" -eq 0 ]

# shellcheck shell=sh disable=SC2034 # who sources it reads what it sets
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests that print TAP: `result` for each of them; the plan is theirs. `failed` is 1 if one did.
nr=0 failed=0

result() { # STATUS TEXT [LOG]
	nr=$((nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		printf '%s\n' "${3:-}" | sed 's/^/#   /'
		failed=1
	fi
}

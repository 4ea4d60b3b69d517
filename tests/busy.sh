#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# busy.sh COMMAND [ARG...]: runs COMMAND beside a load that keeps every CPU's run queue, the disk and the
# page cache busy: two spinners, two pairs that switch to each other all the time, and a writer. The
# status is COMMAND's. The load has its files in a directory of its own; both go when COMMAND ends, fails
# or is interrupted, and should this script be killed, the load ends by itself after BUSY_LIMIT_S (an hour).
set -eu

for needed in stress-ng pgrep; do
	command -v "$needed" >/dev/null || {
		echo "busy.sh: no $needed (make deps installs it)" >&2
		exit 1
	}
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/ws-busy-XXXXXX")
load='' child=''

# shellcheck disable=SC2317,SC2329 # the trap's
clean_up() {
	trap '' INT TERM HUP
	[ -z "$child" ] || { kill -TERM "$child" && wait "$child"; } 2>/dev/null || true
	[ -z "$load" ] || { kill -TERM "$load" && wait "$load"; } 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

stress-ng --cpu 2 --switch 2 --hdd 1 --temp-path "$dir" --timeout "${BUSY_LIMIT_S:-3600}" --quiet \
	</dev/null >"$dir/log" 2>&1 &
load=$!
# It is a load once all five are there; a stress-ng that refuses to start is no quiet machine.
tries=0
until [ "$(pgrep -P "$load" | wc -l)" -ge 5 ]; do
	tries=$((tries + 1))
	if [ "$tries" -gt 600 ] || ! kill -0 "$load" 2>/dev/null; then
		echo "busy.sh: stress-ng does not start:" >&2
		cat "$dir/log" >&2
		exit 1
	fi
	sleep 0.1
done

"$@" &
child=$!
status=0
wait "$child" || status=$?
child=''
# The command was beside the load to its end, or it says nothing about a busy machine.
if ! kill -0 "$load" 2>/dev/null; then
	echo "busy.sh: the load ended before the command:" >&2
	cat "$dir/log" >&2
	[ "$status" -ne 0 ] || status=1
fi
exit "$status"

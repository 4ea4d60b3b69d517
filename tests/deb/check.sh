#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh PACKAGE.deb SUITE...: installs, runs and removes the package in a fresh system of each release,
# made once by debootstrap and kept in the cache. Everything is mounted in a namespace of its own. TAP.
set -u

here=$(cd "$(dirname "$0")" && pwd)
deb=$1
shift
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"
# shellcheck source=tests/system.sh
. "$here/../system.sh"

files_of() {
	(cd "$1" && find . -xdev -path ./proc -prune -o -path ./sys -prune -o -path ./dev -prune -o \
		-path ./var/lib/dpkg -prune -o -path ./var/log -prune -o -path ./package.deb -prune -o -print | LC_ALL=C sort)
}

check_suite() { # SUITE
	if ! base_system "$1"; then
		result 1 "$1: debootstrap" "$(tail -n 5 "$systems/$1.log" 2>/dev/null)"
		return
	fi
	root=$(new_system "$1")
	cp "$deb" "$root/package.deb"
	files_of "$root" >"$root.before"
	out=$(inside "$root" 'dpkg -i /package.deb')
	result $? "$1: installs" "$out"
	out=$(inside "$root" 'waitscope --version && waitscope -s sched -o json 1 1 | tail -n 1 | grep "\"type\":\"final\""')
	result $? "$1: runs" "$out"
	out=$(inside "$root" 'cd /usr/lib/systemd/system &&
		test -e waitscope.service && test -e waitscope-metrics.service && test -e waitscope-metrics.socket &&
		! find /etc/systemd/system -name "waitscope*" | grep .')
	result $? "$1: brings the services and the socket, not enabled" "$out"
	out=$(inside "$root" 'dpkg --purge waitscope')
	result $? "$1: removes" "$out"
	files_of "$root" >"$root.after"
	out=$(diff "$root.before" "$root.after")
	result $? "$1: leaves no file behind" "$out"
	end_system "$root"
	rm -f "$root.before" "$root.after"
}

if [ "$(id -u)" -ne 0 ]; then
	echo "1..0 # SKIP not root: chroot needs it"
	exit 0
fi
command -v debootstrap >/dev/null || { echo "Bail out! missing: debootstrap"; exit 1; }
for suite; do
	check_suite "$suite"
done
echo "1..$nr"
exit $failed

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# check.sh PACKAGE.deb SUITE...: installs, runs and removes the package in a fresh system of each release,
# made once by debootstrap and kept in the cache. Everything is mounted in a namespace of its own. TAP.
set -u

here=$(cd "$(dirname "$0")" && pwd)
deb=$1
shift
cache=${WS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/waitscope}
# shellcheck source=tests/tap.sh
. "$here/../tap.sh"

base_system() { # SUITE: its tar file
	base=$cache/systems/$1.tar
	if [ ! -e "$base" ]; then
		mkdir -p "$cache/systems"
		new=$(mktemp -d "$cache/systems/new.XXXXXX")
		debootstrap --variant=minbase "$1" "$new" "$("$here/../vm/suite.sh" --mirror)" \
			>"$cache/systems/$1.log" 2>&1 &&
			tar -c -C "$new" . >"$base.part" && mv "$base.part" "$base"
		rm -rf "$new"
	fi
	[ -e "$base" ]
}

# Runs a script in the system with /proc and /sys; the mounts end with the namespace.
inside() { # ROOT SCRIPT
	# shellcheck disable=SC2016 # the inner shell expands
	unshare --mount --propagation private sh -c '
		mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
			mount --rbind /dev "$0/dev" && exec chroot "$0" sh -euc "$1"' "$1" "$2" 2>&1
}

files_of() {
	(cd "$1" && find . -xdev -path ./proc -prune -o -path ./sys -prune -o -path ./dev -prune -o \
		-path ./var/lib/dpkg -prune -o -path ./var/log -prune -o -path ./package.deb -prune -o -print | LC_ALL=C sort)
}

check_suite() { # SUITE
	if ! base_system "$1"; then
		result 1 "$1: debootstrap" "$(tail -n 5 "$cache/systems/$1.log" 2>/dev/null)"
		return
	fi
	root=$(mktemp -d "$cache/systems/run.XXXXXX")
	tar -x -C "$root" -f "$cache/systems/$1.tar"
	cp "$deb" "$root/package.deb"
	files_of "$root" >"$root.before"
	out=$(inside "$root" 'dpkg -i /package.deb')
	result $? "$1: installs" "$out"
	out=$(inside "$root" 'waitscope --version && waitscope -s sched -o json 1 1 | tail -n 1 | grep "\"type\":\"final\""')
	result $? "$1: runs" "$out"
	out=$(inside "$root" 'test ! -e /etc/systemd/system/multi-user.target.wants/waitscope.service &&
		test -e /usr/lib/systemd/system/waitscope.service')
	result $? "$1: brings the service, not enabled" "$out"
	out=$(inside "$root" 'dpkg --purge waitscope')
	result $? "$1: removes" "$out"
	files_of "$root" >"$root.after"
	out=$(diff "$root.before" "$root.after")
	result $? "$1: leaves no file behind" "$out"
	rm -rf "$root" "$root.before" "$root.after"
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

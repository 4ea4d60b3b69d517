#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Plants the three problems of TUTORIAL.md, until Ctrl-C, SIGTERM or ten minutes later; as root. It leaves nothing.
#
#	docs/tutorial.sh [SHOP]		SHOP is build/tests/load/shop unless given
#
# A service (orders), a computation in another cgroup (batch) and a program that fsyncs all the time (archive),
# on two CPUs and on an ext4 of their own in a file.
set -eu

shop=${1:-build/tests/load/shop}
dir=/run/shop
cgroups=$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
pids=

# Status 3: this machine cannot, and why.
cannot() {
	echo "tutorial: $*" >&2
	exit 3
}

# All of it, however far it came; twice does no harm.
clean() {
	trap '' INT TERM
	for pid in $pids; do
		kill -KILL "$pid" 2>/dev/null || :
	done
	wait
	for group in /orders /batch /archive ''; do
		[ ! -d "$cgroups/shop$group" ] || rmdir "$cgroups/shop$group" 2>/dev/null ||
			{ sleep 0.5 && rmdir "$cgroups/shop$group"; } || : # its last task is on its way out
	done
	! mountpoint -q "$dir/data" || umount "$dir/data"
	! mountpoint -q "$dir/cgroup" || umount "$dir/cgroup"
	rm -rf "$dir"
}

start() { # MODE [DIR]
	mkdir "$cgroups/shop/$1"
	mkfifo "$dir/$1"
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo $$ >"$0" && exec "$@"' "$cgroups/shop/$1/cgroup.procs" "$shop" "$@" >"$dir/$1" &
	pids="$pids $!"
	started=
	read -r started <"$dir/$1" || :
	[ "$started" = "$1" ] || cannot "$1 did not start"
}

[ -x "$shop" ] || cannot "no '$shop' (make tutorial builds it)"
[ "$(id -u)" = 0 ] || cannot "root is needed, for cgroups and a file system"
[ "$(nproc)" -ge 2 ] || cannot "two CPUs are needed"
grep -qw ext4 /proc/filesystems || cannot "this kernel has no ext4"
command -v mkfs.ext4 >/dev/null || cannot "no mkfs.ext4 (package e2fsprogs)"
grep -qw cgroup2 /proc/filesystems || cannot "this kernel has no cgroup v2"
mkdir "$dir" 2>/dev/null || cannot "$dir is there: another one runs, or was killed (kill -9 leaves it)"

trap clean EXIT
trap 'exit 0' INT TERM
mkdir "$dir/data"
if [ -z "$cgroups" ]; then
	cgroups=$dir/cgroup
	mkdir "$cgroups"
	mount -t cgroup2 none "$cgroups" || cannot "cgroup v2 cannot be mounted here"
fi
truncate -s 256M "$dir/image"
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$dir/image"
mount -o loop "$dir/image" "$dir/data" || cannot "no loop device: the file system cannot be mounted"
mkdir "$cgroups/shop"
start orders "$dir/data"
start batch
start archive "$dir/data"
echo "planted: orders, batch and archive run, on $dir/data; Ctrl-C ends them"
sleep 600 &
pids="$pids $!"
wait "$!"

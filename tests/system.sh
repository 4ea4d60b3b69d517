# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced: fresh systems of Debian's releases, made once by debootstrap and kept in the cache, from the mirror
# that this machine's own apt uses. `rm` the cache's systems/SUITE.tar to get today's.
systems=${WS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/waitscope}/systems

base_system() { # SUITE: its tar file is there; why not: systems/SUITE.log
	[ ! -e "$systems/$1.tar" ] || return 0
	mkdir -p "$systems"
	new=$(mktemp -d "$systems/new.XXXXXX")
	debootstrap --variant=minbase "$1" "$new" "$("$(dirname "$0")/../vm/suite.sh" --mirror)" >"$systems/$1.log" 2>&1 &&
		tar -c -C "$new" . >"$systems/$1.tar.part" && mv "$systems/$1.tar.part" "$systems/$1.tar"
	rm -rf "$new"
	[ -e "$systems/$1.tar" ]
}

new_system() { # SUITE: unpacks it and prints where
	n_root=$(mktemp -d "$systems/run.XXXXXX")
	tar -x -C "$n_root" -f "$systems/$1.tar"
	chmod 755 "$n_root" # apt and tests become users that are not root
	printf '%s\n' "$n_root"
}

# Runs a script in the system with /proc, /sys and /dev; its root is a mount point, as an installed system's is.
# The mounts are in a namespace and end with it, however this ends.
inside() { # ROOT SCRIPT
	# shellcheck disable=SC2016 # the inner shell expands
	unshare --mount --propagation private sh -c '
		mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" &&
			mount --rbind /dev "$0/dev" || exit 1
		if [ -n "${ARCHIVES:-}" ]; then mount --bind "$ARCHIVES" "$0/var/cache/apt/archives" || exit 1; fi
		exec chroot "$0" env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			DEBIAN_FRONTEND=noninteractive ${TESTS:+"TESTS=$TESTS"} sh -euc "$1"' "$1" "$2" 2>&1
}

# What apt and pip must know of this machine to reach theirs: proxies, whether lists may be old, whom else to trust.
packages_reach() { # ROOT
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	[ ! -e /etc/pip.conf ] || cp -L /etc/pip.conf "$1/etc/pip.conf"
	mkdir -p "$1/usr/local/share/ca-certificates" # the package takes them up when it is installed
	find /usr/local/share/ca-certificates -name '*.crt' -exec cp -L {} "$1/usr/local/share/ca-certificates/" \;
	apt-config dump | grep -E '^Acquire::(Check-Valid-Until|https?::Proxy) ' >"$1/etc/apt/apt.conf.d/90machine" || :
}

# Ends what still runs in there, and removes it.
end_system() { # ROOT
	for e_process in /proc/[0-9]*; do
		case $(readlink "$e_process/root" 2>/dev/null) in
		"$1" | "$1"/*) kill -KILL "${e_process#/proc/}" 2>/dev/null ;;
		esac
	done
	rm -rf "$1"
}

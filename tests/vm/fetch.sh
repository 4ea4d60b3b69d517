#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetch what the guests need, once, into the cache; prints the directory it lies in.
#
#	fetch.sh kernel NAME ARCH	vmlinuz, version (kernels.list says which package)
#	fetch.sh qemu ARCH		a QEMU for that guest, unpacked, not installed: run.sh starts it
#	fetch.sh sysroot ARCH		static libraries and headers for a cross build
#
# Kernels are kept until the cache is removed: `rm -r` their directory to get today's.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${WS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/waitscope}
export WS_CACHE="$cache"

die() { printf 'fetch.sh: %s\n' "$*" >&2; exit 1; }

suite() { "$here/suite.sh" "$@"; }

# download SUITE ARCH DIR PACKAGE...: the .debs, into DIR
download() {
	d_suite=$1 d_arch=$2 d_dir=$3
	shift 3
	mkdir -p "$d_dir"
	(cd "$d_dir" && suite "$d_suite" "$d_arch" apt-get -qq download "$@" >&2)
}

depends() { # SUITE ARCH PACKAGE: one a line
	suite "$1" "$2" apt-cache depends "$3" | sed -n 's/^ *Depends: \(linux-[^ <>]*\)$/\1/p'
}

# The meta package names the image; from 7.2 on that is a meta package itself, of linux-binary-*.
image_package() {
	p_image=$(depends "$1" "$2" "$3" | grep '^linux-image-' | head -n 1)
	[ -n "$p_image" ] || die "$3 in $1 ($2) depends on no linux-image package"
	p_binary=$(depends "$1" "$2" "$p_image" | grep '^linux-binary-' | head -n 1)
	printf '%s\n' "${p_binary:-$p_image}"
}

fetch_kernel() {
	name=$1 arch=$2
	row=$(awk -v n="$name" -v a="$arch" '$1 == n && $2 == a { print $3, $4 }' "$here/kernels.list")
	[ -n "$row" ] || die "no kernel '$name' for $arch in kernels.list"
	dir=$cache/kernels/$name-$arch
	if [ ! -e "$dir/version" ]; then
		suite=${row% *} meta=${row#* }
		package=$(image_package "$suite" "$arch" "$meta")
		rm -rf "$dir.part"
		download "$suite" "$arch" "$dir.part" "$package"
		deb=$(find "$dir.part" -name '*.deb')
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$dir.part" --wildcards './boot/vmlinuz-*' './usr/lib/modules/*/vmlinuz' \
				2>/dev/null || true # one of the two places; the next line looks
		image=$(find "$dir.part" -name 'vmlinuz*' -type f | head -n 1)
		[ -n "$image" ] || die "no vmlinuz in $package"
		mv "$image" "$dir.part/vmlinuz"
		dpkg-deb -f "$deb" Package Version | sed 's/^[A-Za-z]*: //' | paste -s -d ' ' \
			>"$dir.part/version"
		rm -rf "$deb" "$dir.part/boot" "$dir.part/usr" "$dir"
		mv "$dir.part" "$dir"
	fi
	printf '%s\n' "$dir"
}

# This machine's QEMU if it is 10 or newer. Older ones panic SMP guests from 6.12 on at random
# (7.2: 18 % of boots), so a newer one is unpacked from bookworm-backports.
fetch_qemu() {
	case $1 in
	amd64) binary=qemu-system-x86_64 package=qemu-system-x86 ;;
	arm64) binary=qemu-system-aarch64 package=qemu-system-arm ;;
	*) die "no guest architecture '$1' (expected amd64 or arm64)" ;;
	esac
	if have=$(command -v "$binary") &&
		"$have" --version | awk 'NR == 1 { exit !($4 + 0 >= 10) }'; then
		mkdir -p "$cache/qemu-system-$1"
		printf '#!/bin/sh\nexec %s "$@"\n' "$have" >"$cache/qemu-system-$1/run.sh"
		chmod +x "$cache/qemu-system-$1/run.sh"
		printf '%s\n' "$cache/qemu-system-$1"
		return
	fi
	dir=$cache/qemu-$1
	host=$(dpkg --print-architecture)
	if [ ! -x "$dir/run.sh" ]; then
		rm -rf "$dir.part"
		mkdir -p "$dir.part/partial"
		# With this machine's own package status: only what is missing here comes.
		suite bookworm,bookworm-backports "$host" apt-get -qq -y --no-install-recommends \
			-o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache::archives="$dir.part" \
			-t bookworm-backports --download-only install "$package" >&2
		for deb in "$dir.part"/*.deb; do
			dpkg-deb -x "$deb" "$dir.part/root"
		done
		rm -rf "$dir.part"/*.deb "$dir.part/partial" "$dir.part/lock"
		cat >"$dir.part/run.sh" <<-RUN
			#!/bin/sh
			root=\$(cd "\$(dirname "\$0")" && pwd)/root
			LD_LIBRARY_PATH=\$(printf '%s:' "\$root"/usr/lib/*-linux-gnu "\$root"/lib/*-linux-gnu)
			export LD_LIBRARY_PATH
			exec "\$root/usr/bin/$binary" -L "\$root/usr/share/qemu" -L "\$root/usr/share/seabios" "\$@"
		RUN
		chmod +x "$dir.part/run.sh"
		"$dir.part/run.sh" --version >&2 || die "the unpacked $binary does not start"
		rm -rf "$dir"
		mv "$dir.part" "$dir"
	fi
	printf '%s\n' "$dir"
}

# Packages of another architecture, unpacked side by side: what a cross build links, and busybox.
fetch_sysroot() {
	dir=$cache/sysroot-$1
	packages="libbpf-dev libelf-dev libdw-dev libbz2-dev liblzma-dev libiberty-dev zlib1g-dev libjson-c-dev libevent-dev
		busybox-static"
	if [ "$(cat "$dir/packages" 2>/dev/null)" != "$packages" ]; then
		# shellcheck disable=SC1091 # of this machine, not of ours
		codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-bookworm}")
		rm -rf "$dir.part"
		# shellcheck disable=SC2086 # a list
		download "$codename" "$1" "$dir.part" $packages
		for deb in "$dir.part"/*.deb; do
			dpkg-deb -x "$deb" "$dir.part"
		done
		rm -f "$dir.part"/*.deb
		printf '%s\n' "$packages" >"$dir.part/packages"
		rm -rf "$dir"
		mv "$dir.part" "$dir"
	fi
	printf '%s\n' "$dir"
}

usage="usage: fetch.sh kernel NAME ARCH | qemu ARCH | sysroot ARCH"
case ${1:-}-$# in
kernel-3) fetch_kernel "$2" "$3" ;;
qemu-2) fetch_qemu "$2" ;;
sysroot-2) fetch_sysroot "$2" ;;
*) die "$usage" ;;
esac

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetch what the guests need, once, into the cache; prints the directory it lies in.
#
#	fetch.sh kernel NAME ARCH	vmlinuz, version (kernels.list says which package)
#	fetch.sh modules NAME ARCH	its modules in kernels.list and what they need, as NAME.ko;
#					`load` lists them in the order of loading
#	fetch.sh qemu ARCH		a QEMU for that guest, unpacked, not installed: run.sh starts it
#	fetch.sh sysroot ARCH		static libraries and headers for a cross build
#	fetch.sh zydis			libZydis.a, which Debian has not: from its own source package
#	fetch.sh prometheus		Debian's prometheus and promtool, unpacked, not installed: nothing is
#					started
#	fetch.sh prometheus3		Prometheus 3 and its promtool, built from the Go module proxy: about 10 minutes, once
#	fetch.sh otlp			a Python environment with PyPI's opentelemetry-proto: bin/python
#	fetch.sh clang SUITE		the clang of another suite, unpacked, not installed: run.sh starts it
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

# The package the modules are in, of the very version vmlinuz came from: its own, up to 7.1.
modules_package() { # "PACKAGE VERSION"
	printf '%s\n' "$1" | sed 's/^linux-binary-/linux-modules-/; s/ /=/'
}

fetch_modules() {
	name=$1 arch=$2
	dir=$(fetch_kernel "$name" "$arch")
	row=$(awk -v n="$name" -v a="$arch" '$1 == n && $2 == a { print $3, $5 "," $6 }' "$here/kernels.list")
	wanted=$(printf '%s' "${row#* }" | tr , '\n' | grep -v '^-*$' | paste -s -d ,)
	[ -n "$wanted" ] || die "no modules of kernel '$name' for $arch in kernels.list"
	if [ "$(cat "$dir/modules/wanted" 2>/dev/null)" != "$wanted" ]; then
		rm -rf "$dir/modules.part"
		download "${row% *}" "$arch" "$dir/modules.part" "$(modules_package "$(cat "$dir/version")")" ||
			die "$(cat "$dir/version") is no longer there (rm -r $dir gets today's)"
		deb=$(find "$dir/modules.part" -name '*.deb')
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$dir/modules.part" --wildcards '*/lib/modules/*'
		unpack_modules "$dir/modules.part" "$wanted"
		rm -rf "$dir/modules"
		mv "$dir/modules.part" "$dir/modules"
	fi
	printf '%s\n' "$dir/modules"
}

# unpack_modules DIR NAME,...: they and what they need, uncompressed; the package goes.
unpack_modules() {
	lib=$(find "$1" -path '*/lib/modules/*' -name kernel -type d | head -n 1)
	depmod -b "${lib%/lib/modules/*}" "$(basename "$(dirname "$lib")")"
	for module in $(printf '%s' "$2" | tr , ' '); do
		# "kernel/fs/ext4/ext4.ko.xz: kernel/lib/crc16.ko.xz ...", to be loaded from the last on
		files=$(sed -n "s|:||; \|^[^ ]*/$module\.ko|p" "${lib%/kernel}/modules.dep")
		[ -n "$files" ] || die "no module '$module' in the package"
		printf '%s\n' "$files" | tr ' ' '\n' | tac | while read -r file; do
			out=$1/$(basename "${file%.xz}")
			[ ! -e "$out" ] || continue
			case $file in
			*.xz) xz -dc "${lib%/kernel}/$file" >"$out" ;;
			*) cp "${lib%/kernel}/$file" "$out" ;;
			esac
			basename "$out" >>"$1/load"
		done
	done
	printf '%s\n' "$2" >"$1/wanted"
	find "$1" -mindepth 1 ! -name "*.ko" ! -path "$1/load" ! -path "$1/wanted" -prune -exec rm -rf {} +
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
			-o DPkg::Lock::Timeout=300 -t bookworm-backports --download-only install "$package" >&2
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
	packages="libbpf-dev libelf-dev libdw-dev libbz2-dev liblzma-dev libiberty-dev zlib1g-dev libjson-c-dev libevent-dev libseccomp-dev libncurses-dev
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

# Only x86-64 code is decoded with it, so only such a build links it. Its headers, and those of
# Zycore, are the installed packages'.
fetch_zydis() {
	dir=$cache/zydis
	# shellcheck disable=SC1091 # of this machine, not of ours
	codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-bookworm}")
	if [ "$(cat "$dir/suite" 2>/dev/null)" != "$codename" ]; then
		command -v dpkg-source >/dev/null || die "dpkg-source is missing (package dpkg-dev)"
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		(
			cd "$dir.part"
			suite "$codename" source apt-get -qq --download-only source zydis >&2
			dpkg-source --no-check -x ./*.dsc tree >/dev/null
			for c in tree/src/*.c; do
				"${CC:-cc}" -std=c99 -O2 -ffunction-sections -fdata-sections \
					"-ffile-prefix-map=$PWD=." -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD \
					-Itree/include -Itree/src -c "$c" -o "$(basename "$c" .c).o"
			done
			ar rcD libZydis.a ./*.o
			rm -rf tree ./*.o ./zydis_*
			printf '%s\n' "$codename" >suite
		) || die "libZydis.a could not be built"
		rm -rf "$dir"
		mv "$dir.part" "$dir"
	fi
	printf '%s\n' "$dir"
}

# Installed, it would run as a service from then on.
fetch_prometheus() {
	dir=$cache/prometheus
	if [ ! -x "$dir/usr/bin/promtool" ]; then
		rm -rf "$dir.part"
		download bookworm "$(dpkg --print-architecture)" "$dir.part" prometheus
		dpkg-deb -x "$dir.part"/*.deb "$dir.part"
		rm -rf "$dir.part"/*.deb "$dir"
		mv "$dir.part" "$dir"
	fi
	printf '%s\n' "$dir"
}

# A module of its own that requires it. Without its discoveries of clouds, which nobody asks for here and whose
# modules are hundreds of megabytes, and without the pages of its web interface, which npm would have to build.
# Versions of what it needs are those of its own go.mod.
fetch_prometheus3() {
	version=v0.316.0 # of the module, whose tag is v3.16.0
	dir=$cache/prometheus3
	if [ "$(cat "$dir/version" 2>/dev/null)" != "$version" ] || [ ! -x "$dir/promtool" ]; then
		command -v go >/dev/null || die "go is missing (package golang-go)"
		rm -rf "$dir.part"
		mkdir -p "$dir.part"
		(
			cd "$dir.part"
			printf 'module prometheus3\n\ngo 1.26.7\n\nrequire github.com/prometheus/prometheus %s\n' "$version" >go.mod
			GOFLAGS="-mod=mod -p=2" nice -n 19 go build -tags netgo,remove_all_sd -trimpath -ldflags '-s -w' \
				-o ./ github.com/prometheus/prometheus/cmd/prometheus \
				github.com/prometheus/prometheus/cmd/promtool >&2
		) || die "Prometheus $version could not be built"
		printf '%s\n' "$version" >"$dir.part/version"
		rm -rf "$dir"
		mv "$dir.part" "$dir"
	fi
	printf '%s\n' "$dir"
}

fetch_otlp() {
	dir=$cache/otlp
	if ! "$dir/bin/python" -c 'import opentelemetry.proto' 2>/dev/null; then
		rm -rf "$dir"
		{ python3 -m venv "$dir" && "$dir/bin/pip" -q install opentelemetry-proto; } >&2
	fi
	printf '%s\n' "$dir"
}

# Its libraries and its C library come along, and its own loader starts it.
fetch_clang() {
	dir=$cache/clang-$1
	host=$(dpkg --print-architecture)
	if [ ! -x "$dir/run.sh" ]; then
		rm -rf "$dir.part"
		mkdir -p "$dir.part/debs/partial" "$dir.part/root"
		suite "$1" "$host" apt-get -qq -y --no-install-recommends -o Dir::Cache::archives="$dir.part/debs" \
			-o APT::Get::Download-Only=true install clang >&2
		for deb in "$dir.part"/debs/*.deb; do
			case ${deb##*/} in
			lib*-dev_* | gcc-* | g++-* | cpp-* | binutils*) ;; # not for BPF
			*) dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$dir.part/root" ;;
			esac
		done
		dpkg-deb --fsys-tarfile "$dir.part"/debs/libclang-common-*-dev_*.deb | tar -x -C "$dir.part/root"
		rm -rf "$dir.part/debs"
		cat >"$dir.part/run.sh" <<-'RUN'
			#!/bin/sh
			root=$(cd "$(dirname "$0")" && pwd)/root
			llvm=$(echo "$root"/usr/lib/llvm-*)
			for lib in "$root"/usr/lib/*-linux-gnu; do
				for loader in "$lib"/ld-linux-*.so.*; do
					exec "$loader" --library-path "$lib:$llvm/lib" "$llvm/bin/clang" \
						-resource-dir "$(echo "$root"/usr/lib/llvm-*/lib/clang/*)" "$@"
				done
			done
		RUN
		chmod +x "$dir.part/run.sh"
		"$dir.part/run.sh" --version >&2 || die "the unpacked clang of $1 does not start"
		rm -rf "$dir"
		mv "$dir.part" "$dir"
	fi
	printf '%s\n' "$dir"
}

usage="usage: fetch.sh kernel|modules NAME ARCH | qemu ARCH | sysroot ARCH | zydis | prometheus | prometheus3 | otlp | clang SUITE"
# Guests start side by side: the first fetches, the others wait and find it.
mkdir -p "$cache"
exec 9>"$cache/fetch.lock"
flock 9
case ${1:-}-$# in
kernel-3) fetch_kernel "$2" "$3" ;;
modules-3) fetch_modules "$2" "$3" ;;
qemu-2) fetch_qemu "$2" ;;
sysroot-2) fetch_sysroot "$2" ;;
zydis-1) fetch_zydis ;;
prometheus-1) fetch_prometheus ;;
prometheus3-1) fetch_prometheus3 ;;
otlp-1) fetch_otlp ;;
clang-2) fetch_clang "$2" ;;
*) die "$usage" ;;
esac

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what waitscope needs and the machine lacks; does nothing where all is there.
#
#	scripts/deps.sh [build] [test] [vm]	default: build test; vm: other kernels, arm64, packages
#
# A row: group, probe, packages on Debian and Ubuntu, packages on Fedora. Probes: c: a command,
# l: a library known to pkg-config, f: a file, s: sanitizers of the C compiler, p: a Python module,
# z: libFuzzer, d: a header that may lie in libiberty/.
set -eu

rows() {
	cat <<-'END'
		build c:cc gcc gcc
		build c:make make make
		build f:/usr/include/stdio.h libc6-dev glibc-devel
		build c:clang clang clang
		build c:llvm-objcopy llvm llvm
		build c:bpftool bpftool bpftool
		build c:pkg-config pkg-config pkgconf-pkg-config
		build c:scdoc scdoc scdoc
		build l:libbpf libbpf-dev libbpf-devel
		build l:libelf libelf-dev elfutils-libelf-devel
		build l:libdw libdw-dev elfutils-devel
		build d:demangle.h libiberty-dev binutils-devel
		build f:/usr/include/Zydis/Zydis.h libzydis-dev zydis-devel
		build l:zlib zlib1g-dev zlib-devel
		build l:libevent_core libevent-dev libevent-devel
		build l:json-c libjson-c-dev json-c-devel
		build l:libseccomp libseccomp-dev libseccomp-devel
		build l:ncursesw libncurses-dev ncurses-devel
		test s:address gcc libasan,libubsan
		test l:cmocka libcmocka-dev libcmocka-devel
		test c:bats bats bats
		test c:jq jq jq
		test c:git git git
		test c:shellcheck shellcheck ShellCheck
		test c:clang-format clang-format clang-tools-extra
		test c:zsh zsh zsh
		test c:man man-db man-db
		test c:perf linux-perf perf
		test c:python3 python3 python3
		test c:fio fio fio
		test c:stress-ng stress-ng stress-ng
		test c:pgrep procps procps-ng
		test c:mkfs.ext4 e2fsprogs e2fsprogs
		test c:mkfs.xfs xfsprogs xfsprogs
		test c:mkfs.btrfs btrfs-progs btrfs-progs
		test p:jsonschema python3-jsonschema python3-jsonschema
		test p:numpy python3-numpy python3-numpy
		test p:prometheus_client python3-prometheus-client python3-prometheus_client
		test p:google.protobuf python3-protobuf python3-protobuf
		test c:protoc protobuf-compiler protobuf-compiler
		test p:ensurepip python3-venv python3
		test c:strace strace strace
		test c:systemd-analyze systemd systemd
		test c:tmux tmux tmux
		test c:setcap libcap2-bin libcap
		test c:g++ g++ gcc-c++
		test c:objcopy binutils binutils
		test c:aarch64-linux-gnu-objdump binutils-aarch64-linux-gnu binutils-aarch64-linux-gnu
		test f:/usr/aarch64-linux-gnu/lib/libc.so.6 libc6-arm64-cross -
		test c:rustc rustc rust
		test c:go golang-go golang
		test c:gdb gdb gdb
		test c:dwz dwz dwz
		test l:libdebuginfod libdebuginfod-dev elfutils-debuginfod-client-devel
		test z:fuzzer libclang-rt-dev compiler-rt
		vm c:busybox busybox-static busybox
		vm c:cpio cpio cpio
		vm c:depmod kmod kmod
		vm c:xz xz-utils xz
		vm c:zstd zstd zstd
		vm c:lz4 lz4 lz4
		vm c:debootstrap debootstrap debootstrap
		vm c:crun crun crun
		vm c:skopeo skopeo skopeo
		vm f:/usr/share/containers/seccomp.json golang-github-containers-common containers-common
		vm c:clang-tidy clang-tidy clang-tools-extra
		vm c:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu
		vm f:/usr/aarch64-linux-gnu/lib/libc.a libc6-dev-arm64-cross -
	END
}

have() {
	case $1 in
	c:*) command -v "${1#c:}" >/dev/null ;;
	l:*) pkg-config --exists "${1#l:}" 2>/dev/null ;;
	f:*) [ -e "${1#f:}" ] ;;
	d:*) [ -e "/usr/include/${1#d:}" ] || [ -e "/usr/include/libiberty/${1#d:}" ] ;;
	p:*) python3 -c "import ${1#p:}" 2>/dev/null || /usr/bin/python3 -c "import ${1#p:}" 2>/dev/null ;;
	z:*) echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }' |
		clang -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null ;;
	s:*) echo 'int main(void) { return 0; }' |
		cc -fsanitize=address,undefined -x c -o /dev/null - 2>/dev/null ;;
	esac
}

# Packages of the groups asked for whose probe fails, by column $1 of the table.
missing() {
	rows | while read -r group probe debian fedora; do
		case " $groups " in
		*" $group "*) have "$probe" || case $1 in
			debian) echo "$debian" ;;
			fedora) echo "$fedora" | tr ',' '\n' ;;
			esac ;;
		esac
	done
}

die() {
	echo "deps: error: $*" >&2
	exit 1
}

# Ubuntu has bpftool and perf under other names.
debian_name() {
	if [ -n "$(apt-cache madison "$1")" ]; then
		echo "$1"
		return
	fi
	case $1 in
	bpftool) echo linux-tools-common linux-tools-generic ;;
	libclang-rt-dev) apt-cache depends clang |
		sed -n 's/.*Depends: clang-\([0-9]*\)$/libclang-rt-\1-dev/p' ;;
	linux-perf) echo linux-tools-generic ;;
	*) echo "$1" ;;
	esac
}

install_debian() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q -o Acquire::Retries=3 update
	names=
	for p in $packages; do
		names="$names $(debian_name "$p")"
	done
	# shellcheck disable=SC2086 # one word a package
	apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends $names
}

install_fedora() {
	# shellcheck disable=SC2086 # one word a package
	dnf install -y --setopt=install_weak_deps=False $packages
}

PATH=$PATH:/usr/sbin:/sbin
groups=${*:-build test}
for group in $groups; do
	case $group in
	build | test | vm) ;;
	*) die "'$group': not a group (one of: build, test, vm)" ;;
	esac
done
if command -v apt-get >/dev/null; then
	system=debian
elif command -v dnf >/dev/null; then
	system=fedora
else
	system=
fi

packages=$(missing "${system:-debian}" | sort -u | tr '\n' ' ')
if [ -z "$packages" ]; then
	echo "deps: all there ($groups)"
	exit 0
fi
[ -n "$system" ] || die "neither apt-get nor dnf here (install what these Debian packages hold: $packages)"
[ "$(id -u)" = 0 ] || die "missing: $packages(run as root to install them)"
echo "deps: installing $packages"
"install_$system"

packages=$(missing "$system" | sort -u | tr '\n' ' ')
[ -z "$packages" ] || die "still missing after the installation: $packages"

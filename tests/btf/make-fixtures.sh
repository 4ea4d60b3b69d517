#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# make-fixtures.sh MINBTF OUT_DIR [OBJECT...]: one BTF fixture for each kernel of kernels.list, and one of
# the running kernel. Types kept: those keep.list and the objects name.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
minbtf=$1 out=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

one() { # NAME KERNEL VERSION OBJECT...
	one_name=$1 one_kernel=$2 one_version=$3
	shift 3
	"$minbtf" "$out/$one_name.btf" "$one_kernel" "$here/keep.list" "$@"
	printf '%s\t%s\n' "$one_name" "$one_version" >>"$work/versions"
}

while read -r name arch _ _ modules _; do
	case $name in '' | '#'*) continue ;; esac
	dir=$("$here/../vm/fetch.sh" kernel "$name" "$arch" </dev/null)
	"$here/../core-reloc/unpack-kernel.sh" "$dir/vmlinuz" "$work/image"
	kos=
	if [ -n "${modules#-}" ]; then
		kos=$("$here/../vm/fetch.sh" modules "$name" "$arch" </dev/null)
		kos=$(printf '%s' "$modules" | tr , '\n' | sed "s|.*|$kos/&.ko|")
	fi
	# shellcheck disable=SC2086 # a list
	one "$name-$arch" "$work/image" "$(cat "$dir/version")" $kos "$@"
done <"$here/../vm/kernels.list"

# The running kernel adds its own version, so a fixture made elsewhere stays until someone replaces it.
machine=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
series=$(uname -r | cut -d. -f1-2)
if [ -r /sys/kernel/btf/vmlinux ] && [ ! -e "$out/$series-$machine.btf" ] ||
	grep -q "^$series-$machine	this machine" "$out/versions" 2>/dev/null; then
	one "$series-$machine" /sys/kernel/btf/vmlinux "this machine's $(uname -r | cut -d- -f1)" "$@"
fi
for old in "$out"/*.btf; do
	old=$(basename "$old" .btf)
	grep -q "^$old	" "$work/versions" || grep "^$old	" "$out/versions" >>"$work/versions" ||
		printf '%s\tunknown\n' "$old" >>"$work/versions"
done
sort -V "$work/versions" >"$out/versions"

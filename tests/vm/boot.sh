#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# boot.sh GUEST ARCH BIN_DIR OUT_DIR: boots one guest of guests.list with the static programs of BIN_DIR
# (waitscope, guest, load programs). What it printed is in OUT_DIR: tap, console, kernel. Exit 0: it ran
# to its end marker (whatever its tests say); 1: it did not, and OUT_DIR/why says what happened.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
guest=$1 arch=$2 bins=$3 out=$4
timeout=${WS_VM_TIMEOUT:-600}
begin=${WS_VM_BEGIN:-240} # seconds until its first test; most guests have ended by then

row=$(awk -v g="$guest" -v a="$arch" '$1 == g && $3 == a { print $2, $4 }' "$here/guests.list")
[ -n "$row" ] || { echo "boot.sh: no guest '$guest' for $arch in guests.list" >&2; exit 2; }
kernel=$("$here/fetch.sh" kernel "${row% *}" "$arch")
qemu=$("$here/fetch.sh" qemu "$arch")/run.sh
options=${row#* }

mkdir -p "$out"
rm -f "$out/tap" "$out/console" "$out/why"
cp "$kernel/version" "$out/kernel"

guest_busybox() {
	if [ "$arch" = "$(dpkg --print-architecture)" ]; then
		command -v busybox
	else
		find "$("$here/fetch.sh" sysroot "$arch")" -path '*bin/busybox'
	fi
}

# As it is: to unpack takes a guest long.
pack() { # ROOT INITRD
	(cd "$1" && find . | cpio --quiet -o -H newc -R 0:0) >"$2"
	rm -r "$1"
}

make_initrd() {
	root=$out/root
	rm -rf "$root"
	mkdir -p "$root/bin"
	chmod 755 "$root"
	cp "$here/guest/init" "$root/init"
	cp "$(guest_busybox)" "$root/bin/busybox"
	cp "$bins"/* "$root/bin/"
	chmod 755 "$root/init" "$root"/bin/*
	if [ -n "$modules" ]; then
		mkdir "$root/modules"
		cp "$modules"/*.ko "$modules/load" "$root/modules/"
	fi
	pack "$root" "$out/initrd"
}

# The guest becomes one of another that is booted in its place, by a QEMU in there: this machine's, with its
# libraries and their loader; of those that Debian builds, the one that can do microvm and little else.
make_outer() {
	[ "$arch" = "$(dpkg --print-architecture)" ] || {
		echo "boot.sh: $guest: only on $arch: a QEMU that runs here runs in it" >&2
		exit 2
	}
	root=$out/root tree=$(dirname "$qemu")/root
	[ -d "$tree" ] || tree=
	program=$tree/usr/bin/qemu-system-x86_64-microvm
	[ -x "$program" ] || program=$(command -v qemu-system-x86_64)
	rm -rf "$root"
	mkdir -p "$root/bin" "$root/lib64" "$root/qemu" "$root/guest"
	chmod 755 "$root"
	cp "$here/guest/outer" "$root/init"
	cp "$(guest_busybox)" "$root/bin/busybox"
	cp "$program" "$root/bin/qemu"
	LD_LIBRARY_PATH=$(printf '%s:' "$tree"/usr/lib/*-linux-gnu "$tree"/lib/*-linux-gnu) ldd "$program" |
		sed -n 's|^[^/]*\(/[^ ]*\) .*|\1|p' | xargs -I{} cp -L {} "$root/lib64/"
	for firmware in "$tree"/usr/share/*/bios-microvm.bin "$tree"/usr/share/*/linuxboot_dma.bin; do
		cp -L "$firmware" "$root/qemu/"
	done
	chmod 755 "$root/init" "$root"/bin/*
	cp -r "$outer/modules" "$root/modules"
	cp "$kernel/vmlinuz" "$root/guest/"
	mv "$out/initrd" "$root/guest/initrd"
	pack "$root" "$out/initrd"
	kernel=$outer memory=1024
}

# An ext4 of its own, that nobody else writes to. NVMe: its driver is in the cloud kernels themselves.
make_disk() {
	rm -f "$out/disk"
	truncate -s 64M "$out/disk"
	mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 "$out/disk"
	disk="-drive if=none,id=disk,format=raw,file=$out/disk -device nvme,drive=disk,serial=ws"
}

# What the options say, as arguments of QEMU ($smp, $disk, $clock) and of the kernel ($append).
smp=2 memory=512 append='' tests='ws.sched ws.waits ws.btf' modules='' disk='' clock='' outer=''
read_options() {
	for option in $(echo "$options" | tr , ' '); do
		case $option in
		smp=*) smp=${option#smp=} ;;
		online=*) append="$append maxcpus=${option#online=}" tests="$tests ws.online" ;;
		hotplug) tests="$tests ws.hotplug" ;;
		ext4) make_disk && tests="$tests ws.ext4" ;;
		modules) modules=$("$here/fetch.sh" modules "${row% *}" "$arch") && tests="$tests ws.modules" ;;
		nobtf) tests='ws.sched ws.nobtf' ;;
		icount) clock='-icount shift=3,sleep=off' tests=ws.line ;;
		refused) tests=ws.refused ;;
		steal) outer=$(dirname "$("$here/fetch.sh" modules 6.12 "$arch")") && tests=ws.steal smp=1 ;;
		scx) tests='ws.sched ws.waits ws.scx' ;;
		preempt) tests="$tests ws.preempt" ;;
		preempt=*) append="$append $option" tests="ws.preempt" ;;
		lockdown=*) append="$append lockdown=${option#lockdown=}" tests=ws.lockdown ;;
		*) echo "boot.sh: $guest: unknown option '$option' in guests.list" >&2; exit 2 ;;
		esac
	done
}

case $arch in
amd64) machine='-M pc' console=ttyS0 ;;
arm64) machine='-M virt' console=ttyAMA0 ;;
esac

# Ends a guest that hangs before its first test.
watch() { # PID
	trap 'kill "$nap"; exit 0' TERM
	sleep "$begin" &
	nap=$!
	wait "$nap"
	[ -s "$out/tap" ] || kill "$1"
}

# In the background: only so does a signal to us end it, too.
run() {
	# shellcheck disable=SC2086 # $machine, $disk and $clock are several words
	timeout "$timeout" "$qemu" $machine -cpu max -m "$memory" -smp "$smp" -nodefaults -display none \
		-no-reboot $disk $clock -kernel "$kernel/vmlinuz" -initrd "$out/initrd" \
		-append "console=$console panic=-1 quiet loglevel=4 $append $tests" \
		-serial "file:$out/console" -serial "file:$out/tap" </dev/null >"$out/qemu" 2>&1 &
	running=$!
	watch "$running" &
	watcher=$!
	wait "$running"
	ended=$?
	kill "$watcher" 2>/dev/null
	return "$ended"
}

running='' watcher=''
trap '[ -z "$running" ] || kill "$running" "$watcher" 2>/dev/null; exit 143' INT TERM

read_options
make_initrd
[ -z "$outer" ] || make_outer
for attempt in 1 2 3; do
	status=0
	run || status=$?
	if grep -q '^# END' "$out/tap" 2>/dev/null; then
		tr -d '\r' <"$out/tap" >"$out/tap.txt" && mv "$out/tap.txt" "$out/tap"
		rm -f "$out/initrd" "$out/disk"
		exit 0
	fi
	# Of an emulated guest neither a panic nor a hang before the first test is a test's result; anything else is.
	if grep -q 'Kernel panic\|Oops' "$out/console" 2>/dev/null; then
		echo "# $guest: kernel panic in attempt $attempt"
	elif [ ! -s "$out/tap" ]; then
		echo "# $guest: no test began in attempt $attempt"
	else
		break
	fi
done
{
	if [ "$status" -eq 124 ]; then
		echo "no end after $timeout s"
	elif [ ! -s "$out/tap" ]; then
		echo "no test began within $begin s (QEMU's exit status $status)"
	else
		echo "ended too early (QEMU's exit status $status)"
	fi
	cat "$out/qemu"
	tail -n 30 "$out/console" 2>/dev/null | tr -d '\r' || true
} >"$out/why"
exit 1

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# nobtf.sh COMMAND [ARG...]: becomes COMMAND, in a mount namespace of its own where the kernel shows no
# BTF. A copy of it lies in /sys/kernel/btf/copy, and goes with the namespace.
set -eu
# shellcheck disable=SC2016 # for the inner shell
exec unshare --mount --propagation private sh -euc '
	exec 3</sys/kernel/btf/vmlinux
	mount -t tmpfs none /sys/kernel/btf
	cat <&3 >/sys/kernel/btf/copy
	exec 3<&-
	exec "$@"' sh "$@"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pmu.sh COMMAND [ARG...]: becomes COMMAND, in a mount namespace of its own where sysfs offers a PMU with
# mem-loads: an event that any kernel has, page faults, of which every sample has an address.
set -eu
# shellcheck disable=SC2016 # for the inner shell
exec unshare --mount --propagation private sh -euc '
	pmu=/sys/bus/event_source/devices/cpu
	mount -t tmpfs none "${pmu%/*}"
	mkdir -p "$pmu/format" "$pmu/events"
	echo 1 >"$pmu/type"
	echo config1:0-15 >"$pmu/format/ldlat"
	echo config=2,ldlat=3 >"$pmu/events/mem-loads"
	exec "$@"' sh "$@"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Which commit made a program wait longer? For git bisect run:
#
#	git bisect start BAD GOOD
#	git bisect run bisect.sh BUILD waitscope -q --bisect --fail-if LIMIT [OPTION...] -- COMMAND [ARG...]
#
# BUILD is a line for the shell; a commit that it does not build is passed over. What follows it measures, and
# ends as --bisect does. A commit is bad if that says so RUNS times (default 3) in a row: whatever else the
# machine does makes waits longer, seldom shorter, so one good measurement is enough.
set -u

if [ $# -lt 2 ]; then
	echo "usage: [RUNS=3] $0 BUILD waitscope --bisect --fail-if LIMIT ... -- COMMAND [ARG...]" >&2
	exit 128
fi
build=$1
runs=${RUNS:-3}
shift

sh -c "$build" || exit 125
while :; do
	"$@"
	status=$?
	runs=$((runs - 1))
	case $status in
	1) [ "$runs" -gt 0 ] || exit 1 ;;
	0 | 125) exit $status ;;
	*) exit 128 ;; # no answer (no such program, no --bisect): git would call the commit bad
	esac
done

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make check-all: every suite, the guests of all kernels, the static binary, the packages. It may take an hour, more on
# a machine that is busy; what fails does not keep the rest from running. The last line counts all tests.
set -u
cd "$(dirname "$0")/.." || exit 1
whole_s=10800
. tests/parts.sh
part 'tests/run.sh -a'
# Shapes of code by compilers and levels, hot and control: all of them, of which the suite alone runs a few.
for build in {gcc,clang,rustc}-O{0,1,2,3} go-O{0,2}; do
	part "WS_SHAPES=$build tests/run.sh kernel/line_shapes"
done
part 'make deps-vm && make check-static && make check-vm'
part 'make check-deb'
total

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# make check-all: every suite, the guests of all kernels, the static binary, the packages. It may take an hour, more on
# a machine that is busy; what fails does not keep the rest from running. The last line counts all tests.
set -u
cd "$(dirname "$0")/.." || exit 1
whole_s=10800
. tests/parts.sh
part 'tests/run.sh -a'
part 'make deps-vm && make check-static && make check-vm'
part 'make check-deb'
total

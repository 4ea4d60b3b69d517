#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ten seconds of live tables beside a small load that ends by itself.
#
#	scripts/run.sh BUILD [OPTIONS OF WAITSCOPE]
set -eu

build=${1:?expected the build directory}
shift
[ $# -gt 0 ] || set -- -d 10
"$build/tests/load/demo" 12 &
load=$!
trap 'kill "$load" 2>/dev/null || :' EXIT
"$build/waitscope" "$@"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh BIN_DIR SECONDS NAME...: runs each fuzz target from its seeds and what earlier runs found (kept in
# BIN_DIR/found); it takes a second more. An input that breaks one stays in BIN_DIR, and one that takes 5 s
# breaks it. limits says how many bytes an input may have. FUZZ_RUNS=N: N inputs each instead, from the seeds
# alone: the same ones each time, on any machine. TAP.
set -u

here=$(cd "$(dirname "$0")" && pwd)
bins=$1 seconds=$2
shift 2
nr=0 failed=0 scratch=
ends=-max_total_time=$seconds
if [ -n "${FUZZ_RUNS:-}" ]; then
	ends="-runs=$FUZZ_RUNS -seed=1"
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
fi

echo "1..$#"
for name; do
	nr=$((nr + 1))
	found=${scratch:-$bins/found}/$name
	mkdir -p "$found"
	max_len=$(sed -n "s/^${name}[[:space:]]\{1,\}//p" "$here/limits")
	# shellcheck disable=SC2086 # words
	if out=$("$bins/$name" $ends -timeout=5 -rss_limit_mb=1024 \
		-max_len="${max_len:-8192}" -len_control=20 \
		-artifact_prefix="$bins/$name-" "$found" "$here/corpus/$name" 2>&1); then
		echo "ok $nr - $name: $(printf '%s\n' "$out" | sed -n 's/^Done \([0-9]*\) runs.*/\1 inputs/p')"
	else
		echo "not ok $nr - $name"
		printf '%s\n' "$out" | tail -n 40 | sed 's/^/#   /'
		failed=1
	fi
done
exit $failed

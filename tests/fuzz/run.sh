#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh BIN_DIR SECONDS NAME...: runs each fuzz target from its seeds and what earlier runs found (kept in
# BIN_DIR/found). An input that breaks one stays in BIN_DIR. FUZZ_SEED: the same inputs each time, as far as
# the time goes. TAP.
set -u

here=$(cd "$(dirname "$0")" && pwd)
bins=$1 seconds=$2
shift 2
nr=0 failed=0

echo "1..$#"
for name; do
	nr=$((nr + 1))
	found=$bins/found/$name
	mkdir -p "$found"
	if out=$("$bins/$name" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -timeout=30 -rss_limit_mb=1024 -max_len=8192 \
		-artifact_prefix="$bins/$name-" "$found" "$here/corpus/$name" 2>&1); then
		echo "ok $nr - $name: $(printf '%s\n' "$out" | sed -n 's/^Done \([0-9]*\) runs.*/\1 inputs/p')"
	else
		echo "not ok $nr - $name"
		printf '%s\n' "$out" | tail -n 40 | sed 's/^/#   /'
		failed=1
	fi
done
exit $failed

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Says which suites the files that differ from HEAD belong to, by the table in tests/suites. In the words of a line NAME
# stands for what `test_` is followed by in the file's name, FOLDER for its folder in tests/.
set -u
cd "$(dirname "$0")/.." || exit 1
changed=$({ git diff --name-only HEAD && git ls-files -o --exclude-standard; } 2>/dev/null) || exit 0
[ -n "$changed" ] || exit 0

words_of() { # FILE
	local pattern words name folder

	while IFS='|' read -r pattern words; do
		case $pattern in '' | '#'*) continue ;; esac
		# shellcheck disable=SC2053,SC2295 # a pattern, on purpose
		[[ $1 == ${pattern%%[[:space:]]*} ]] || continue
		name=${1##*/test_} folder=${1#tests/}
		words=${words//NAME/${name%%.*}}
		tr -s ' ' '\n' <<<"${words//FOLDER/${folder%%/*}}"
		return
	done <tests/suites
}

while IFS= read -r file; do
	words_of "$file"
done <<<"$changed" | grep . | sort -u | paste -sd ' ' |
	sed "s/.*/changed since HEAD: $(wc -l <<<"$changed") files, of make check TESTS='&'/"

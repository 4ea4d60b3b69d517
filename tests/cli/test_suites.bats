#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/run.sh and what it reads, in a tree with made-up suites.

setup() {
	load common
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree/tests/expect" "$tree/tests/kernel" "$tree/tests/cli" "$tree/tests/golden/expected" "$tree/out/tests/unit"
	cp "$ROOT/tests/run.sh" "$ROOT/tests/changed.sh" "$ROOT/tests/suites" "$ROOT/tests/tap.py" "$tree/tests"
	touch "$tree/tests/expect/skips" "$tree/tests/long" "$tree/tests/quarantine" "$tree/tests/beside"
	suite good 'ok 1 - a' 'ok 2 - b' '1..2'
}

# suite NAME LINE...: a unit test program that says this.
suite() {
	{
		echo '#!/bin/sh'
		printf "echo '%s'\n" "${@:2}"
		[ "${2#not}" = "$2" ] || echo exit 1
	} >"$tree/out/tests/unit/test_$1"
	chmod +x "$tree/out/tests/unit/test_$1"
}

suites() {
	SAN_O='' O=out run "$tree/tests/run.sh" "$@"
	echo "$output"
}

@test "what passed, by suite and in all" {
	suites unit/good
	[ "$status" -eq 0 ]
	grep -q '^unit/good .* 2 ok' <<<"$output"
	[ "${lines[-1]}" = "2 passed, 0 failed, 0 skipped" ]
}

@test "a failed test: what it said, where the rest is, and the command that repeats it" {
	suite bad 'not ok 1 - counts' '# expected 4, came 5' 'ok 2 - other' '# of no interest' '1..2'
	suites unit
	[ "$status" -eq 1 ]
	grep -qx '  FAILED: counts' <<<"$output"
	grep -qx '    # expected 4, came 5' <<<"$output"
	lacks -q 'no interest' <<<"$output"
	grep -qx '  all of it: out/test-logs/unit-bad.log' <<<"$output"
	grep -qx '  repeat: make check TESTS=unit/bad' <<<"$output"
	[ "${lines[-1]}" = "3 passed, 1 failed, 0 skipped" ]
}

@test "... of a suite that runs single tests: with the name of the test, which selects it" {
	printf '#!/usr/bin/env bats\n@test "a (b) isn'"'"'t" { false; }\n@test "c" { false; }\n' >"$tree/tests/cli/test_two.bats"
	suites cli/two
	grep -qxF "  repeat: make check TESTS=cli/two ONE='a (b) isn'\''t'" <<<"$output"
	[ "${lines[-1]}" = "0 passed, 2 failed, 0 skipped" ]
	ONE="a (b) isn't" suites cli/two
	[ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
}

@test "tests that were announced and not seen, a suite that dies, and one without end" {
	suite few 'ok 1 - a' '1..2'
	suites unit/few
	grep -qx '  FAILED: plan: 2 tests announced, 1 seen' <<<"$output"
	printf '#!/bin/sh\necho "ok 1 - a"; echo 1..1; exit 3\n' >"$tree/out/tests/unit/test_few"
	suites unit/few
	[ "$status" -eq 1 ]
	grep -qx '  FAILED: the suite ended with status 3' <<<"$output"
}

@test "skips: those that are allowed, and no others" {
	suite skips 'ok 1 - a # SKIP no bus' '1..1'
	suites unit/skips
	[ "$status" -eq 1 ]
	grep -q 'FAILED: a (skipped, which tests/expect/skips does not allow: no bus)' <<<"$output"
	echo 'unit/s* | a | no b*' >"$tree/tests/expect/skips"
	suites unit/skips
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "0 passed, 0 failed, 1 skipped" ]
}

@test "quarantine: such a test runs and is reported, and its failure does not count" {
	suite shaky 'not ok 1 - late by 3 ms' '1..1'
	echo 'unit/shaky | late* | 2026-01-01 | 3 ms, of 1' >"$tree/tests/quarantine"
	suites unit
	[ "$status" -eq 0 ]
	grep -qx '  quarantined: failed: late by 3 ms' <<<"$output"
	grep -q '^unit/shaky .* 1 quarantined' <<<"$output"
	grep -qx 'quarantined: 1 failed, in tests/quarantine until they are mended' <<<"$output"
	[ "${lines[-1]}" = "2 passed, 0 failed, 1 skipped" ]
	suite shaky 'ok 1 - late by 0 ms' '1..1'
	suites unit
	grep -qx '  quarantined: passed: late by 0 ms' <<<"$output"
	[ "${lines[-1]}" = "3 passed, 0 failed, 0 skipped" ]
	suite shaky 'ok 1 - late by 0 ms' 'not ok 2 - another' '1..2'
	suites unit
	grep -qx '  FAILED: another' <<<"$output"
	[ "${lines[-1]}" = "3 passed, 1 failed, 0 skipped" ]
}

@test "long suites: with -a and by name, not without words" {
	rm "$tree"/out/tests/unit/*
	suite slow 'ok 1 - a' '1..1'
	echo 'unit/sl* | every test | takes a minute' >"$tree/tests/long"
	suites unit
	[ "${lines[-1]}" = "1 passed, 0 failed, 0 skipped" ]
	# Nothing else is in the tree: all other suites fail, and these are not asked about here.
	suites
	grep -q '^only in make check-all: unit/slow, ' <<<"$output"
	lacks -q '^unit/slow ' <<<"$output"
	suites -a
	grep -q '^unit/slow .* 1 ok' <<<"$output"
}

@test "long tests of a suite: with -a and by name, not without words" {
	rm "$tree"/out/tests/unit/*
	printf '@test "%s" {\n\ttrue\n}\n' 'a (one)' 'b | two' >"$tree/tests/cli/test_both.bats"
	printf '%s\n' 'import tap' 'def test_one():' '    pass' 'def test_two():' '    pass' 'tap.run(test_one, test_two)' \
		>"$tree/tests/kernel/test_both.py"
	printf '%s\n' 'cli/both | b * two | takes a minute' 'kernel/both | test t* | the same' >"$tree/tests/long"
	export PYTHONPATH=$tree/tests
	suites
	grep -q '^cli/both .* 1 ok' <<<"$output"
	grep -q '^kernel/both .* 1 ok' <<<"$output"
	suites both
	[ "${lines[-1]}" = "4 passed, 0 failed, 0 skipped" ]
	suites -a
	grep -q '^cli/both .* 2 ok' <<<"$output"
	grep -q '^kernel/both .* 2 ok' <<<"$output"
}

@test "a unit suite that hangs is ended after its own limit" {
	printf '#!/bin/sh\necho 1..1\nsleep 30\n' >"$tree/out/tests/unit/test_hangs"
	chmod +x "$tree/out/tests/unit/test_hangs"
	export UNIT_LIMIT_S=1
	suites unit/hangs
	[ "$status" -eq 1 ]
	grep -qx '  the suite was ended after 1 s: its last test may hang' <<<"$output"
}

@test "the suites of the files that differ from HEAD" {
	cd "$tree"
	git init -q .
	git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a
	mkdir -p src/core src/sink
	touch src/core/limit.c tests/cli/test_new.bats
	git add tests src
	git -c user.name=a -c user.email=a@b commit -q -m b
	echo a >src/core/limit.c
	echo a >tests/cli/test_new.bats
	rm -r out
	touch src/sink/otlp_new.c
	run tests/changed.sh
	echo "$output"
	[ "$output" = "changed since HEAD: 3 files, of make check TESTS='cli/limits cli/new export/otlp unit'" ]
}

@test "every line of tests/suites is of files that there are" {
	cd "$ROOT"
	mapfile -t files < <(git ls-files)
	[ "${#files[@]}" -gt 0 ] || skip 'no git'
	while IFS='|' read -r pattern _; do
		case $pattern in '' | '#'*) continue ;; esac
		for file in "${files[@]}"; do
			# shellcheck disable=SC2053 # a pattern, on purpose
			[[ $file == ${pattern%%[[:space:]]*} ]] && continue 2
		done
		fail "no file is like $pattern"
	done <tests/suites
}

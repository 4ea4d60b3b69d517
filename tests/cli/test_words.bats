#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Words agree: option table, --help, manual, completions; metrics and JSON keys; README and Makefile.
# The build directory is $O (default: build).

setup_file() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	export BUILD=${O:-build}
	make -s words O="$BUILD" SAN="${SAN-}"
	"$BUILD/waitscope" --dump-options > "$BATS_FILE_TMPDIR/options"
	MANWIDTH=500 man -l --nh --nj "$BUILD/waitscope.8" | col -b > "$BATS_FILE_TMPDIR/manual"
}

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
	options=$BATS_FILE_TMPDIR/options
	manual=$BATS_FILE_TMPDIR/manual
}

# "--name" and "-x", each once, sorted.
table_options() {
	awk -F '\t' '{ print "--" $1; if ($2 != "-") print "-" $2 }' "$options" | sort -u
}

# The same from text whose option lines begin, after blanks, with a dash.
described_options() {
	sed -n 's/^ *\(-.*\)$/\1/p' | sed 's/  .*//' | grep -oE '(^|[ ,])--?[A-Za-z][A-Za-z-]*' |
		tr -d ' ,' | sort -u
}

same() { # FILE FILE
	diff -u "$1" "$2"
}

@test "--help names the options of the table, and no others" {
	"$BUILD/waitscope" --help | described_options > "$BATS_TEST_TMPDIR/help"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/help")" -gt 30 ]
	same <(table_options) "$BATS_TEST_TMPDIR/help"
}

@test "report, diff: --help, completions and manual have the options of their tables" {
	while read -r sub least section next own; do
		options=$BATS_TEST_TMPDIR/$sub
		"$BUILD/waitscope" "$sub" --dump-options > "$options"
		[ "$(wc -l < "$options")" -ge "$least" ]
		same <(table_options) <("$BUILD/waitscope" "$sub" --help | described_options)
		same <(table_options | grep '^--') <(complete_bash "$sub x --" | sort)
		"$BUILD/waitscope" --help | grep -q "^ *waitscope $sub "
		sed -n "/^$section\$/,/^$next\$/p" "$manual" > "$BATS_TEST_TMPDIR/man"
		sed -n "/^[[:blank:]]*$sub)/,/;;/p" "$BUILD/completions/_waitscope" > "$BATS_TEST_TMPDIR/zsh"
		while IFS=$'\t' read -r name key _; do
			if ! grep -qE -- "--$name\b|(^|[ ,])-$key\b" "$BATS_TEST_TMPDIR/man"; then
				echo "--$name: not in the manual under $section"
				false
			fi
			grep -qE -- "[{',*]--$name([=+,}[]|\$)" "$BATS_TEST_TMPDIR/zsh"
		done < "$options"
		# What it shares is what the main table has.
		grep -vE "^($own)\b" "$options" | cut -f 1-5 | while IFS= read -r row; do
			grep -qxF -- "$row" <(cut -f 1-5 "$BATS_FILE_TMPDIR/options")
		done
	done <<- 'END'
		report 15 REPORT SLOW.WAITS from|to|last|force
		diff 12 COMPARING OUTPUT noise|force|run|runs|keep|output
	END
}

@test "--help fits 80 columns" {
	{ "$BUILD/waitscope" --help; "$BUILD/waitscope" report --help; "$BUILD/waitscope" diff --help; } > "$BATS_TEST_TMPDIR/help"
	run awk 'length > 80' "$BATS_TEST_TMPDIR/help"
	[ -z "$output" ]
}

@test "--usage names every option by its short name, or else its long one" {
	"$BUILD/waitscope" --usage | grep -oE '\[--?[A-Za-z-]+' | tr -d '[' | sort -u > "$BATS_TEST_TMPDIR/usage"
	same <(awk -F '\t' '{ print $2 == "-" ? "--" $1 : "-" $2 }' "$options" | sort -u) \
		<(grep -vx -e '--' "$BATS_TEST_TMPDIR/usage")
}

@test "the manual has the options of the table under OPTIONS, and no others" {
	sed -n '/^OPTIONS$/,/^COMPARING$/p' "$manual" | described_options > "$BATS_TEST_TMPDIR/man"
	same <(table_options) "$BATS_TEST_TMPDIR/man"
}

@test "the manual says each option's argument as the table does" {
	while IFS=$'\t' read -r name key arg _; do
		if [ "$arg" = - ]; then continue; fi
		if ! grep -qF -- "--$name $arg" "$manual"; then
			echo "--$name $arg: not in the manual"
			false
		fi
	done < "$options"
}

@test "the manual names every word that an option takes" {
	while IFS=$'\t' read -r name key arg kind words _; do
		for word in ${words#-}; do
			if ! grep -qw -- "$word" "$manual"; then
				echo "--$name: $word: not in the manual"
				false
			fi
		done
	done < "$options"
}

@test "the manual names every metric" {
	"$BUILD/waitscope" -q -s synth -d 100ms -o json |
		jq -r 'select(.type == "final") | .metrics[].name' | sort -u > "$BATS_TEST_TMPDIR/metrics"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/metrics")" -ge 6 ]
	while read -r name; do
		if ! sed -n '/^WHAT IS MEASURED/,/^OPTIONS/p' "$manual" | grep -qx " *$name"; then
			echo "$name: not in the manual"
			false
		fi
	done < "$BATS_TEST_TMPDIR/metrics"
}

@test "the manual names every key of the JSON schema" {
	[ -e docs/waitscope.schema.json ]
	jq -r '.. | objects | .properties? // empty | keys[]' docs/waitscope.schema.json | sort -u > "$BATS_TEST_TMPDIR/keys"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/keys")" -ge 40 ]
	while read -r key; do
		if ! sed -n '/^ *json$/,/^ *csv$/p' "$manual" | grep -qw -- "$key"; then
			echo "$key: not in the manual"
			false
		fi
	done < "$BATS_TEST_TMPDIR/keys"
}

@test "the manual names every family that Prometheus gets beside the metrics" {
	"$BUILD/waitscope" -q -s synth -d 100ms -o prom | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' > "$BATS_TEST_TMPDIR/families"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/families")" -ge 12 ]
	grep -vE '^waitscope_(sched|ext4|jbd2|lock|futex|line)_|_(bpf_cpu_ratio|bpf_event_seconds)$' "$BATS_TEST_TMPDIR/families" |
		while read -r name; do
			if ! sed -n '/^ *prom$/,/^ *prom-proto$/p' "$manual" | grep -qw -- "$name"; then
				echo "$name: not in the manual"
				false
			fi
		done
}

@test "the manual names every column of CSV" {
	"$BUILD/waitscope" -q -s synth -P 99 -d 100ms -o csv | head -n 1 | tr ',' '\n' > "$BATS_TEST_TMPDIR/columns"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/columns")" -ge 30 ]
	while read -r column; do
		case $column in label[2-5]_*) continue ;; esac
		if ! sed -n '/^ *csv$/,/^SLOW/p' "$manual" | grep -qw -- "$column"; then
			echo "$column: not in the manual"
			false
		fi
	done < "$BATS_TEST_TMPDIR/columns"
}

@test "the manual explains every counter of quality" {
	"$BUILD/waitscope" -q -s synth -d 100ms -o json |
		jq -r 'select(.type == "final") | .quality | del(.complete) | keys[]' |
		grep -v in_flight_longest > "$BATS_TEST_TMPDIR/counters"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/counters")" -ge 8 ]
	while read -r counter; do
		if ! sed -n '/^QUALITY$/,/^SIGNALS$/p' "$manual" | grep -qx " *$counter"; then
			echo "$counter: not explained in the manual"
			false
		fi
	done < "$BATS_TEST_TMPDIR/counters"
}

@test "bash completes exactly the long options" {
	same <(table_options | grep '^--') <(complete_bash '--' | sort)
}

@test "zsh has every option" {
	for option in $(table_options); do
		if ! grep -qE -- "[{',*]$option([=+,}[]|\$)" "$BUILD/completions/_waitscope"; then
			echo "$option: not in zsh's completion"
			false
		fi
	done
}

@test "zsh takes the completion as its own" {
	command -v zsh > /dev/null || skip 'no zsh here'
	zsh -n "$BUILD/completions/_waitscope"
	head -n 1 "$BUILD/completions/_waitscope" | grep -qx '#compdef waitscope'
}

# Candidates, one a line, as bash would offer them after "waitscope WORDS".
complete_bash() {
	bash -c '
		. "$1/completions/waitscope"
		COMP_LINE="waitscope $2"
		COMP_POINT=${#COMP_LINE}
		read -ra COMP_WORDS <<<"$COMP_LINE"
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_waitscope
		((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"
	' - "$BUILD" "$1"
}

offers() { # WORDS EXPECTED...: exactly these, in any order
	local words=$1
	shift
	same <(printf '%s\n' "$@" | sort) <(complete_bash "$words" | sort)
}

@test "bash completes values" {
	offers '--by ' cpu pid tid comm cgroup unit container file
	offers '-b c' cpu comm cgroup container
	offers '-zb t' tid
	offers '--by=c' cpu comm cgroup container
	offers '--color ' auto always never
	offers '-s ' ext4 futex line lock sched synth watch
	offers '-s sched,s' sched,sched sched,synth
	# shellcheck disable=SC2046 # words: every format there is
	offers '-o ' $(awk -F '\t' '$1 == "output" { print $5 }' "$options")
	offers '-o j' json
	offers '--output=t' table tui
	[ -z "$(complete_bash '-d ')" ]
	[ -z "$(complete_bash '--bogus=')" ]
	[ -z "$(complete_bash '1 ')" ]
	offers 're' report
	offers 'report x --so' --sort
	offers 'report x --sort m' max
	offers 'report x -o j' json
	touch "$BATS_TEST_TMPDIR/waits.json.gz"
	offers "report $BATS_TEST_TMPDIR/wai" "$BATS_TEST_TMPDIR/waits.json.gz"
	offers 'd' diff
	offers 'diff x --no' --noise
	offers 'diff x --ru' --run --runs
	offers "diff --run x y --keep $BATS_TEST_TMPDIR/wai" "$BATS_TEST_TMPDIR/waits.json.gz"
	offers 'diff x y -o ta' table
	offers "diff $BATS_TEST_TMPDIR/wai" "$BATS_TEST_TMPDIR/waits.json.gz"
	offers "diff a,$BATS_TEST_TMPDIR/wai" "a,$BATS_TEST_TMPDIR/waits.json.gz"
}

@test "bash completes files after FORMAT:" {
	touch "$BATS_TEST_TMPDIR/waits.json"
	offers "-o json:$BATS_TEST_TMPDIR/wai" "$BATS_TEST_TMPDIR/waits.json"
	offers "--output=json:$BATS_TEST_TMPDIR/wai" "$BATS_TEST_TMPDIR/waits.json"
}

@test "bash completes pids, CPUs and names of tasks" {
	complete_bash '-p ' | grep -qx "$$"
	complete_bash "-p 1,$$" | grep -qx "1,$$"
	complete_bash '-t ' | grep -qx "$$"
	complete_bash '--cpu ' | grep -qx 0
	complete_bash '--cpu 0-' | grep -qx '0-0'
	complete_bash "--comm $(head -c 3 /proc/$$/comm)" | grep -q .
}

@test "bash completes mount points of ext4, and devices" {
	mount=$(awk '$3 == "ext4" { print $2; exit }' /proc/self/mounts)
	[ -z "$mount" ] || complete_bash '--dev ' | grep -qxF "$mount"
	offers '--dev /dev/nul' /dev/null
}

@test "bash completes the command after --" {
	complete_bash '-d 5 -- sor' | grep -qx sort
	touch "$BATS_TEST_TMPDIR/input"
	offers "-- sort $BATS_TEST_TMPDIR/inp" "$BATS_TEST_TMPDIR/input"
}

@test "bash completes cgroups below the mount" {
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	[ -n "$mount" ] || skip 'no cgroup v2 mounted'
	mkdir "$mount/ws-words-$$" 2> /dev/null || skip 'cannot make a cgroup'
	run complete_bash "-c /ws-words-$$"
	run2=$(complete_bash "-c $mount/ws-words-$$")
	rmdir "$mount/ws-words-$$"
	[ "$output" = "/ws-words-$$" ]
	[ "$run2" = "$mount/ws-words-$$" ]
}

@test "what README and CONTRIBUTING tell to make, make can" {
	make -s help | awk '{ print $1 }' > "$BATS_TEST_TMPDIR/targets"
	grep -ohE '(`|&& )make [a-z-]+' README.md CONTRIBUTING.md | awk '{ print $NF }' | grep -v '^install$' |
		sort -u > "$BATS_TEST_TMPDIR/told"
	[ "$(wc -l < "$BATS_TEST_TMPDIR/told")" -ge 5 ]
	while read -r target; do
		if ! grep -qx -- "$target" "$BATS_TEST_TMPDIR/targets"; then
			echo "make $target: no such target"
			false
		fi
	done < "$BATS_TEST_TMPDIR/told"
}

@test "options in README's examples exist" {
	for option in $(sed -n 's/^waitscope \([^#]*\).*/\1/p' README.md | grep -v '^report' | sed -E 's/(^| )-- .*//' | tr ' ' '\n' | grep '^-'); do
		table_options | grep -qx -- "$option"
	done
	"$BUILD/waitscope" report --dump-options > "$BATS_TEST_TMPDIR/report"
	options=$BATS_TEST_TMPDIR/report
	for option in $(sed -n 's/^waitscope report \([^#]*\).*/\1/p' README.md | tr ' ' '\n' | grep '^-'); do
		table_options | grep -qx -- "$option"
	done
}

@test "install and uninstall leave nothing" {
	dest=$BATS_TEST_TMPDIR/dest
	make -s install O="$BUILD" SAN="${SAN-}" DESTDIR="$dest" PREFIX=/usr
	for f in sbin/waitscope share/man/man8/waitscope.8 share/bash-completion/completions/waitscope \
		share/zsh/site-functions/_waitscope share/doc/waitscope/bisect.sh lib/systemd/system/waitscope.service; do
		[ -s "$dest/usr/$f" ]
	done
	grep -q '^ExecStart=/usr/sbin/waitscope ' "$dest/usr/lib/systemd/system/waitscope.service"
	make -s uninstall O="$BUILD" DESTDIR="$dest" PREFIX=/usr
	[ -z "$(find "$dest" -type f)" ]
}

@test "deps: nothing to do where all is there, and words for a group that is none" {
	run scripts/deps.sh build
	[ "$status" -eq 0 ]
	[ "$output" = 'deps: all there (build)' ]
	run scripts/deps.sh bulid
	[ "$status" -eq 1 ]
	[ "$output" = "deps: error: 'bulid': not a group (one of: build, test, vm)" ]
}

@test "pictures that README and the tutorial show are there, small, and drawn by scripts/pictures.py" {
	local page name names

	for page in README.md docs/TUTORIAL.md; do
		names=$(grep -o 'pictures/[a-z-]*\.\(png\|svg\)' "$page" | sort -u)
		[ -n "$names" ] || fail "$page shows none"
		for name in $names; do
			[ "$(stat -c %s "docs/$name")" -lt 200000 ] || fail "$page: $name is not there, or too large"
			grep -q "(\"${name#pictures/}\", " scripts/pictures.py || fail "$page: nobody draws $name"
		done
	done
}

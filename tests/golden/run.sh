#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Plays every record through every sink, compares with expected/, checks what came out, and prints TAP.
# run.sh [--update] [RENDER]; RENDER is build/tests/golden/render unless given (make golden).
#
# A record is JSON Lines, expected/NAME.json: written again it is the same bytes. fixtures/NAME.txt says how
# it is looked at (render.c); fixtures/NAME.jsonl is the record where not all of it is shown.
set -u
export TZ=UTC LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

update=
[ "${1-}" = --update ] && update=1 && shift
here=$(dirname "$0")
render=${1:-build/tests/golden/render}
schema=$here/../../docs/waitscope.schema.json
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
normal=$here/expected/normal.json
n=0
failed=0

# result RC NAME: the words in $tmp/why belong to a failure
result() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $n - $2"
	sed 's/^/# /' "$tmp/why"
}

# One process for all checks (checks.py); where it ended, so does this.
mkfifo "$tmp/asked" "$tmp/answered" || exit 1
python3 "$here/checks.py" <"$tmp/asked" >"$tmp/answered" &
exec 8>"$tmp/asked" 9<"$tmp/answered"

ask() { # CHECK ARG...: its status, and its words on standard output
	printf '%s\t' "$tmp/words" "$@" >&8
	echo >&8
	read -r answer <&9 || {
		echo "no answer from checks.py"
		return 1
	}
	cat "$tmp/words"
	return "$answer"
}

check() { # SINK FIXTURE OUTPUT
	case $1 in
	table)
		if grep -q '^# sections: ' "$2"; then
			ask check windows "$2" "$3"
			return
		fi
		# Slow waits into a pipe are not cut: no width to keep.
		columns=$(sed -n 's/^screen \([0-9]*\) .*/\1/p' "$2")
		resized=$(sed -n 's/^resize \([0-9]*\) .*/\1/p' "$2")
		grep -q '^options.*--slower' "$2" && ! grep -q '^screen.* tty' "$2" && columns=4096
		ask check table "${resized:-${columns:-80}}" "$3"
		;;
	json) ask check json "$schema" "$3" ;;
	csv) ask check csv "$3" ;;
	prom) ask check prom "$3" ;;
	hlog) [ -z "${4-}" ] || ask check_hlog "$4" "$3" ;;
	html) [ -z "${4-}" ] || ask check_html "$4" "$3" ;;
	perfetto) ask check_perfetto ${4+"$4"} "$3" ;;
	esac
}

record() { # FIXTURE
	name=$(basename "$1" .txt)
	if [ -e "$here/fixtures/$name.jsonl" ]; then
		echo "$here/fixtures/$name.jsonl"
	else
		echo "$here/expected/$name.json"
	fi
}

play() { # SINK FIXTURE [RECORD [FILE]]
	"$render" "$1" "$2" "${3:-$(record "$2")}" ${4+"$4"}
}

golden() { # SINK FIXTURE
	name=$(basename "$2" .txt).$1
	play "$1" "$2" >"$tmp/out" 2>"$tmp/why"
	rc=$?
	[ $rc -eq 0 ] && [ -n "$update" ] && [ "$1" != json ] && cp "$tmp/out" "$here/expected/$name"
	[ $rc -eq 0 ] && { diff -u "$here/expected/$name" "$tmp/out" >"$tmp/why" 2>&1; rc=$?; }
	result $rc "$name is as expected"
	check "$1" "$2" "$tmp/out" >"$tmp/why" 2>&1
	result $? "$name is well formed"
}

# What is not compared byte by byte is held against the same frames in JSON. A record that has no final report
# gets one, its last interval.
decoded() { # SINK FIXTURE
	name=$(basename "$2" .txt)
	cp "$here/expected/$name.json" "$tmp/json"
	set -- "$1" "$2" "$(record "$2")"
	if ! grep -q '"type":"final"' "$tmp/json" && ! grep -q '^\(next\|skip\)' "$2"; then
		grep '"type":"interval"' "$tmp/json" | tail -n 1 |
			sed 's/"type":"interval",\(.*\),"metrics":/"type":"final",\1,"end":"done","metrics":/' >"$tmp/final"
		cat "$tmp/final" >>"$tmp/json"
		set -- "$1" "$2" "$tmp/json"
	fi
	play "$@" >"$tmp/out" 2>"$tmp/why" && check "$1" "$2" "$tmp/out" "$tmp/json" >"$tmp/why" 2>&1
	result $? "$name.$1 is what JSON says"
}

# Each window from 2 lines to 70: the first rows, the foot, and what is left out adds up.
windows() { # FIXTURE COLUMNS [OPTION]
	{
		sed -n '/^next$/q; p' "$1" | sed "s/^options/& ${3-}/"
		grep -q '^options' "$1" || echo "options ${3-}"
		printf 'next\nnext\n'
		seq 2 70 | sed "s/.*/resize $2 &\nagain/"
	} >"$tmp/windows.txt"
	play table "$tmp/windows.txt" "$(record "$1")" >"$tmp/out" 2>"$tmp/why" &&
		ask check windows "$tmp/windows.txt" "$tmp/out" >"$tmp/why" 2>&1
	result $? "windows of $2 columns over $(basename "$1")${3:+, $3}"
}

# A file and standard output get the same bytes.
to_file() {
	play "$1" "$here/fixtures/normal.txt" "$normal" "$tmp/file" 2>"$tmp/why" &&
		play "$1" "$here/fixtures/normal.txt" | cmp - "$tmp/file" >"$tmp/why" 2>&1
	result $? "$1 into a file"
	rm -f "$tmp/file"
}

# SIGHUP after the file was moved away: each file is whole, and starts as a file does.
rotated() {
	printf 'next\nnext\nreopen\nnext\n' >"$tmp/rotate.txt"
	play "$1" "$tmp/rotate.txt" "$normal" "$tmp/file" 2>"$tmp/why"
	rc=$?
	for f in "$tmp/file" "$tmp/file.1"; do
		[ $rc -eq 0 ] && { check "$1" "$tmp/rotate.txt" "$f" >"$tmp/why" 2>&1; rc=$?; }
	done
	case $1 in
	table) head -c 9 "$tmp/file" ;;
	json) head -c 20 "$tmp/file" ;;
	csv | hlog | html) head -c 9 "$tmp/file" ;;
	perfetto) head -c 1 "$tmp/file" ;; # the first packet's tag
	esac >"$tmp/start"
	case $1 in
	table) printf 'waitscope' ;;
	json) printf '{"v":1,"type":"meta"' ;;
	csv) printf 'type,seq,' ;;
	hlog) printf '#[Logged ' ;;
	html) printf '<!DOCTYPE' ;;
	perfetto) printf '\n' ;;
	esac | cmp - "$tmp/start" >>"$tmp/why" 2>&1 || rc=1
	result $rc "$1 after its file was moved away"
	rm -f "$tmp/file" "$tmp/file.1"
}

full_disk() {
	play "$1" "$here/fixtures/normal.txt" >/dev/full 2>"$tmp/why"
	[ $? -eq 1 ] && grep -q 'standard output.*No space left' "$tmp/why"
	result $? "$1 to a full disk says so"
}

# The reader is gone before the first byte: no words.
closed_pipe() {
	mkfifo "$tmp/closed"
	{
		read -r _ <"$tmp/closed"
		play "$1" "$here/fixtures/normal.txt" 2>"$tmp/why"
		echo $? >"$tmp/rc"
	} | {
		exec <&-
		echo >"$tmp/closed"
	}
	[ "$(cat "$tmp/rc")" -eq 32 ] && [ ! -s "$tmp/why" ]
	result $? "$1 into a closed pipe ends quietly"
	rm -f "$tmp/closed"
}

for fixture in "$here"/fixtures/*.txt; do
	for sink in table json csv; do
		golden $sink "$fixture"
	done
	for sink in hlog html perfetto; do
		decoded $sink "$fixture"
	done
done
for fixture in "$here"/fixtures/windows*.txt; do
	for columns in 40 64 80 120 200; do
		windows "$fixture" $columns
	done
	windows "$fixture" 80 -T
	windows "$fixture" 80 '-n 4'
done
# Prometheus' text of some; what it says of all of them tests/export/test_prom.py holds against the records.
for name in empty one hostile; do
	golden prom "$here/fixtures/$name.txt"
done
for sink in table json csv hlog html perfetto; do
	to_file $sink
	rotated $sink
	full_disk $sink
	closed_pipe $sink
done
echo "1..$n"
[ $failed -eq 0 ]

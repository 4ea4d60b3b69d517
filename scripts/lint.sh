#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The house rules that a machine can check (CONTRIBUTING.md). Names every breach, then fails.
#
#	scripts/lint.sh [DIR]		default: the tree this script lies in
set -u

FILE_LINES=1500 # a file ends where its subject ends; past this it has two
FUNCTION_LINES=70
COLUMNS_MAX=100
FORMAT_VERSION=14 # others format some lines otherwise

cd "${1:-$(dirname "$0")/..}" || exit 2
breaches=0

breach() {
	printf '%s\n' "$*"
	breaches=$((breaches + 1))
}

# Runs a search; every line it prints is a breach, with WHY behind it.
forbid() { # WHY COMMAND...
	local why=$1 line
	shift
	while IFS= read -r line; do
		breach "$line  ($why)"
	done < <("$@")
}

# Ours: tracked files and new ones that are not ignored; outside git everything.
files() {
	if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -type f -printf '%P\n'
	fi | while IFS= read -r f; do
		if [ -f "$f" ]; then printf '%s\n' "$f"; fi
	done
}

pick() { # REGEX: of all files
	printf '%s\n' "${all[@]}" | grep -E "$1"
}

mapfile -t all < <(files | grep -vE '^(LICENSE$|tests/golden/expected/)') # not ours to shape
mapfile -t code < <(pick '^(src|include|bpf|tests|bench)/.*\.[ch]$')
mapfile -t kernel_code < <(pick '^(include|bpf)/.*\.[ch]$')
mapfile -t shell < <(pick '(\.sh|\.bash)$|^\.ci/run$')
mapfile -t spdx < <(pick '\.([ch]|sh|bats|py|mk|awk|in|scd)$|(^|/)Makefile$|^\.ci/run$')
mapfile -t spdx < <(printf '%s\n' "${spdx[@]}" | grep -v '^packaging/deb/control') # a package's fields have no comments

# ---- floors: include <- core <- names, insn <- source | sink <- main ----
LIBBPF='bpf/|[^>"]*\.skel\.h'
MAIN='(diff|listen|record_file|report|opts|opts_table|outputs|run|loop|command)\.h'
FD_IO='(unistd|fcntl|poll|termios)\.h|sys/(socket|epoll|ioctl|mman|stat|timerfd|signalfd|eventfd|wait)\.h'

floor() { # PATHS FORBIDDEN WHY: PATHS and FORBIDDEN are regular expressions, of paths and headers
	local f
	while IFS= read -r f; do
		forbid "$3" grep -HnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"](\.\./|src/)*($2)" "$f"
	done < <(printf '%s\n' "${code[@]}" | grep -E "$1")
}

floor '^include/' "core/|sink/|source/|std(io|lib)\.h|string\.h|$LIBBPF" 'include/ stands on nothing'
floor '^src/core/' "names/|insn/|sink/|source/|$MAIN|event2/|event\.h|$LIBBPF|$FD_IO" 'core is pure'
floor '^src/sink/' "source/|$MAIN|$LIBBPF" 'a sink knows frames, no source and no libbpf'
floor '^src/names/' "sink/|source/|$MAIN|event2/|event\.h|json" 'names stand on core: no source, no sink'
floor '^src/insn/' "names/|sink/|source/|$MAIN|event2/|event\.h|$LIBBPF|$FD_IO" 'insn stands on core, and is pure'
floor '^src/sink/' '(names|insn)/' 'a sink gets names as text'
floor '^src/source/' "sink/|$MAIN|event2/|event\.h" 'a source meets no sink and no loop'
floor '^src/[^/]*$' "$LIBBPF" 'main reaches the kernel through sources'

# Within source: what a source is, the rooms that all share (sys, filter, bpf, in this order), those between
# (inodes, cacheline), the sources; no source knows another one, but line, which watches lines.
ONES='inodes|cacheline|contend|ext4|line|sched|synth|times|watch'
floor '^src/source/[^/]+$' 'source/[^/]+/' 'what a source is knows none of them'
floor '^src/source/sys/' "source/(filter|bpf|$ONES)/" 'what the system is like knows no filter and no source'
floor '^src/source/filter/' "source/(bpf|$ONES)/" 'filters know no source'
floor '^src/source/bpf/' "source/($ONES)/" 'what sources share knows none of them'
floor '^src/source/inodes/' 'source/(cacheline|contend|ext4|line|sched|synth|watch)/' 'inode paths know no source'
floor '^src/source/cacheline/' 'source/(contend|ext4|line|sched|synth|watch)/' 'cache lines know no source'
floor '^src/source/contend/' 'source/(cacheline|ext4|line|sched|synth|watch)/' 'a source knows no other one'
floor '^src/source/ext4/' 'source/(cacheline|contend|line|sched|synth|watch)/' 'a source knows no other one'
floor '^src/source/line/' 'source/(contend|ext4|sched|synth)/' 'of the other sources line knows watch alone'
floor '^src/source/(sched|synth)/' 'source/(cacheline|contend|ext4|inodes|line|watch)/' 'a source knows no other one'
floor '^src/source/watch/' 'source/(contend|ext4|line|sched|synth)/' 'a source knows no other one'
floor '^src/source/times/' 'source/(cacheline|contend|ext4|inodes|line|sched|synth|watch)/' 'the account of time knows no source'

# ---- no circle of includes: of files, nor of rooms (directories) of src ----
includes() { # "FILE INCLUDED", of what lies in the tree
	printf '%s\n' "${code[@]}" | awk '
		NR == FNR { ours[$0]; files[NR] = $0; next }
		END {
			for (i = 1; i in files; i++)
				while ((getline line < files[i]) > 0) {
					if (line !~ /^[ \t]*#[ \t]*include[ \t]*"/)
						continue
					split(line, part, "\"")
					dir = files[i]
					sub(/[^\/]*$/, "", dir)
					n = split(dir " src/ include/ bpf/ tests/", where, " ")
					for (k = 1; k <= n; k++)
						if ((where[k] part[2]) in ours) {
							print files[i], where[k] part[2]
							break
						}
				}
		}' -
}

circles() { # of "FROM TO" lines: each circle in a line
	LC_ALL=C tsort 2>&1 >/dev/null | awk '
		/input contains a loop/ { if (loop) print "circle of includes:" loop; loop = ""; next }
		{ loop = loop " " $2 }
		END { if (loop) print "circle of includes:" loop }'
}

included=$(includes)
forbid 'one has to go' circles <<<"$included"
forbid 'one has to know the other alone' circles < <(awk '
	{ gsub(/[^\/]*( |$)/, " ") }
	$1 != $2 && /src\/.*src\// { print $1, $2 }' <<<"$included" | sort -u)

# ---- sizes ----
long_files() { # LIMIT FILE...
	local limit=$1 n name
	shift
	[ $# -gt 0 ] || return
	wc -l "$@" | while read -r n name; do
		if [ "$name" != total ] && [ "$n" -gt "$limit" ]; then echo "$name: $n lines"; fi
	done
}
# Not what is cut short for it: texts, and pictures in comments, which begin with a tab.
wide_lines() { # FILE...
	awk -v limit="$COLUMNS_MAX" '
		length($0) * 8 > limit && !/"/ && !/^[ \t]*\*\t/ {
			wide = $0
			while (match(wide, /\t/))
				wide = substr(wide, 1, RSTART - 1) substr("        ", (RSTART - 1) % 8 + 1) substr(wide, RSTART + 1)
			if (length(wide) > limit)
				printf "%s:%d: %d columns\n", FILENAME, FNR, length(wide)
		}' "$@" /dev/null
}
forbid "at most $COLUMNS_MAX" wide_lines "${code[@]}"
mapfile -t rest < <(printf '%s\n' "${code[@]}" | grep -vE '^(tests|bench)/')
forbid "at most $FILE_LINES" long_files "$FILE_LINES" "${code[@]}"
# Only a warning: a table or a switch may be the clearer for it.
awk -v limit="$FUNCTION_LINES" '
	/^\{/ { start = FNR }
	/^\}/ && start {
		if (FNR - start > limit)
			printf "warning: %s:%d: function of %d lines\n", FILENAME, start, FNR - start
		start = 0
	}' "${rest[@]}"

# ---- read-only data is read as what it is declared (DESIGN, rule 17) ----
# User space sets it after the compiler has seen its initialiser: reads by way of a pointer that has lost
# `volatile` may be taken from there. The compiler knows types, so it is asked.
bpf_syntax() { # OPTION... FILE
	clang -target bpf -mcpu=v3 -g -O2 -Ivmlinux -Iinclude -Ibpf -fsyntax-only -fno-caret-diagnostics -Wno-everything "$@"
}

volatile_lost() { # FILE...
	local f
	for f; do
		bpf_syntax -Wcast-qual -Wincompatible-pointer-types-discards-qualifiers "$f" 2>&1 |
			grep -E 'drops .*volatile|discards qualifiers|error:'
	done | sort -u
}

# A header of one file alone is a part of that file; one of several can be read, and compiled, by itself.
not_shared() { # HEADER...
	local h n
	for h; do
		n=$(grep -cE "^(bpf|tests|bench)/.* $h\$" <<<"$included")
		[ "$n" -ge 2 ] || echo "$h: included by $n"
		bpf_syntax -include "$h" -x c /dev/null 2>&1 | grep -m 1 'error:'
	done
}

mapfile -t programs < <(printf '%s\n' "${code[@]}" | grep '\.bpf\.c$')
if ! command -v clang >/dev/null; then
	breach "clang is missing ('make deps' installs it)"
elif [ ${#programs[@]} -gt 0 ]; then
	forbid 'a compiler may fold read-only data that is not read as volatile' volatile_lost "${programs[@]}"
	mapfile -t shared < <(pick '^bpf/lib/.*\.h$')
	forbid 'a header of bpf/lib is included by two files or more, and compiles by itself' not_shared "${shared[@]}"
fi

# ---- filters are asked in one place: what forgets one counts the wrong tasks, in silence ----
mapfile -t askers < <(printf '%s\n' "${kernel_code[@]}" | grep -vE '/(filter|follow)\.bpf\.h$|^include/')
forbid 'a single filter is known to filter.bpf.h alone: filter_early(), filter_late(), filter.asks_late' \
	grep -HnP '\bfilter\.(?!asks_|bpf\.h)\w' "${askers[@]}" /dev/null

# ---- a source says itself what it needs and which options are its own ----
sources=$(sed -n 's/^extern const struct source_ops source_\([a-z0-9]*\);/\1/p' src/source/source.h 2>/dev/null | paste -sd '|')
mapfile -t nameless < <(printf '%s\n' "${code[@]}" | grep -E '^src/[^/]*\.[ch]$|^src/source/privs\.[ch]$')
if [ -n "$sources" ]; then
	forbid 'no source by name: what it needs stands in its source_ops' \
		grep -HnE "\"($sources)\"|\bsource_($sources)\b" "${nameless[@]}" /dev/null
fi

# ---- tests whose failures do not count: few, and not for long ----
QUARANTINE=8
QUARANTINE_DAYS=14

quarantined() { # FILE: what is wrong with it
	local n=0 line since name today
	today=$(date +%s)
	while IFS= read -r line; do
		case $line in '' | '#'*) continue ;; esac
		n=$((n + 1))
		IFS='|' read -r _ name since what _ <<<"${line//[[:space:]]|[[:space:]]/|}"
		if [ -z "${what// /}" ] || ! [[ ${since// /} =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || ! since=$(date -d "$since" +%s 2>/dev/null); then
			echo "$1: '$line': expected SUITE | TEST | YYYY-MM-DD | what was seen"
		elif [ $(((today - since) / 86400)) -gt "$QUARANTINE_DAYS" ]; then
			echo "$1: '${name## }' is due, after $(((today - since) / 86400)) days"
		fi
	done <"$1"
	[ "$n" -le "$QUARANTINE" ] || echo "$1: $n tests"
}
[ ! -e tests/quarantine ] || forbid "mend or delete it: at most $QUARANTINE, for at most $QUARANTINE_DAYS days" quarantined tests/quarantine

# ---- what has no place in the tree ----
forbid 'no unfinished work' grep -InE '\b(TO''DO|FIX''ME|XX''X)\b' "${all[@]}"
forbid 'no trace prints' grep -HnE 'bpf_(trace_)?print''k' "${code[@]}"
# bpf/ and what it includes: clang refuses such a function where it is not inlined, and each version chooses otherwise.
forbid 'BPF has no aggregate returns: __always_inline, or an out parameter' \
	grep -HnE '^static (inline )?(struct|union) \w+ \w+\(' "${kernel_code[@]}" /dev/null
forbid 'trailing whitespace' grep -InE '[[:space:]]+$' "${all[@]}"
for f in "${spdx[@]}"; do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier: ' || breach "$f: no SPDX line in the first three"
done

# ---- tools ----
if ! command -v clang-format >/dev/null; then
	breach "clang-format is missing ('make deps' installs it)"
elif clang-format --version | grep -q "version $FORMAT_VERSION\."; then
	while IFS= read -r f; do
		breach "$f: not as clang-format wants it ('make format')"
	done < <(clang-format --dry-run "${code[@]}" 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning: code should be clang-formatted.*//p' | sort -u)
else
	echo "note: format not checked: it needs clang-format $FORMAT_VERSION"
fi
if ! command -v shellcheck >/dev/null; then
	breach "shellcheck is missing ('make deps' installs it)"
elif [ ${#shell[@]} -gt 0 ]; then
	shellcheck "${shell[@]}" || breach 'shellcheck found something'
fi

if [ "$breaches" -gt 0 ]; then
	echo "lint: $breaches breaches"
	exit 1
fi
echo 'lint: clean'

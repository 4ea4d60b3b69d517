#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# lint itself: it is quiet over a small clean tree, and every kind of breach makes it fail.

setup() {
	lint=$BATS_TEST_DIRNAME/../../scripts/lint.sh
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree"/{include,bpf/lib,scripts,vmlinux} "$tree"/src/{core,sink,source} "$tree"/tests/unit
	cp "$BATS_TEST_DIRNAME/../../.clang-format" "$tree"
	for f in src/core/a.c src/sink/a.c src/source/a.c src/a.c include/a.h; do
		put "$f" '#include "core/frame.h"'
	done
	put bpf/a.bpf.c 'int a;'
	put include/a.h ''
}

put() { # FILE TEXT: a source file that begins as it should
	printf '// SPDX-License-Identifier: GPL-2.0-or-later\n' > "$tree/$1"
	if [ -n "$2" ]; then printf '%s\n' "$2" >> "$tree/$1"; fi
}

breach() { # WORDS expected of lint
	run "$lint" "$tree"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"$1"* ]]
	[[ $output == *'lint: 1 breaches'* ]]
}

@test "a clean tree" {
	run "$lint" "$tree"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'lint: clean'* ]]
}

@test "a sink that includes a source" {
	put src/sink/a.c '#include "source/source.h"'
	breach 'src/sink/a.c:2:#include "source/source.h"'
}

@test "a sink that includes libbpf" {
	put src/sink/a.c '#include <bpf/libbpf.h>'
	breach 'a sink knows frames'
}

@test "a source that includes a sink, by a way round" {
	put src/source/a.c '#include "../sink/sink.h"'
	breach 'a source meets no sink'
}

@test "core that includes file descriptors" {
	put src/core/a.c '#include <unistd.h>'
	breach 'core is pure'
}

@test "core that includes the loop" {
	put src/core/a.c '#include <event2/event.h>'
	breach 'core is pure'
}

@test "core that includes names, or the decoder" {
	put src/core/a.c '#include "names/names.h"'
	breach 'core is pure'
	put src/core/a.c '#include "insn/insn.h"'
	breach 'core is pure'
}

@test "the decoder that includes a source" {
	mkdir "$tree/src/insn"
	put src/insn/a.c '#include "source/source.h"'
	breach 'insn stands on core'
}

@test "core that includes a skeleton" {
	put src/core/a.c '#include "sched.skel.h"'
	breach 'core is pure'
}

@test "include that stands on core" {
	put include/a.h '#include "core/hist.h"'
	breach 'include/ stands on nothing'
}

@test "what sources share that includes a source, or a room above its own" {
	put src/source/a.c '#include "source/sched/sched.h"'
	breach 'what a source is knows none of them'
	put src/source/a.c ''
	mkdir "$tree"/src/source/{sys,filter,bpf}
	put src/source/sys/a.c '#include "source/filter/filters.h"'
	breach 'what the system is like knows no filter'
	put src/source/sys/a.c ''
	put src/source/filter/a.c '#include "source/bpf/keyed.h"'
	breach 'filters know no source'
	put src/source/filter/a.c ''
	put src/source/bpf/a.c '#include "source/sched/sched.h"'
	breach 'what sources share knows none of them'
}

@test "a source that includes another" {
	mkdir "$tree/src/source/ext4"
	put src/source/ext4/a.c '#include "source/line/line.h"'
	breach 'a source knows no other one'
}

@test "the rooms between that include a source" {
	mkdir "$tree"/src/source/{cacheline,inodes}
	put src/source/inodes/a.c '#include "source/ext4/ext4.h"'
	breach 'inode paths know no source'
	put src/source/inodes/a.c ''
	put src/source/cacheline/a.c '#include "source/watch/watch.h"'
	breach 'cache lines know no source'
}

@test "line that includes watch, which does not include line" {
	mkdir "$tree"/src/source/{line,watch}
	put src/source/line/a.c '#include "source/watch/watch.h"'
	put src/source/watch/watch.h ''
	run "$lint" "$tree"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "headers that include each other, by a way round" {
	put src/core/a.h '#include "core/b.h"'
	put src/core/b.h '#include "core/c.h"'
	put src/core/c.h '#include "core/a.h"'
	breach 'circle of includes:'
	[[ $output == *'src/core/a.h'*'src/core/c.h'* ]]
}

@test "rooms that include each other" {
	mkdir "$tree"/src/sink/{one,two}
	put src/sink/one/a.c '#include "sink/two/b.h"'
	put src/sink/two/b.h ''
	put src/sink/two/a.c '#include "sink/one/a.h"'
	put src/sink/one/a.h ''
	breach 'circle of includes:'
	[[ $output == *'src/sink/one/'* ]]
}

@test "a struct that a BPF function returns, inlined or not" {
	put include/a.h 'static inline struct a decode(int word)'
	breach 'include/a.h:2:static inline struct a decode(int word)  (BPF has no aggregate returns'
	put include/a.h 'static __always_inline struct a decode(int word)'
	run "$lint" "$tree"
	[ "$status" -eq 0 ]
}

@test "main that includes libbpf" {
	put src/a.c '#include <bpf/bpf.h>'
	breach 'main reaches the kernel through sources'
}

@test "a file too long" {
	put src/a.c "$(yes 'int a;' | head -n 1500)"
	breach 'src/a.c: 1501 lines  (at most 1500)'
}

@test "a line too wide, but for a text or a picture" {
	put src/a.c "/* $(printf 'word %.0s' {1..20}) */"
	breach 'src/a.c:2: 106 columns  (at most 100)'
	put src/a.c "$(printf '/*\n *\t%s.\n */\nconst char a[] =\n\t"%s";' "$(printf 'word %.0s' {1..20})" "$(printf 'word %.0s' {1..20})")"
	run "$lint" "$tree"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a long function is a warning only" {
	put src/a.c "$(echo 'int f(void)'; echo '{'; yes '	a();' | head -n 71; echo '}')"
	run "$lint" "$tree"
	[ "$status" -eq 0 ]
	[[ $output == *'warning: src/a.c:3: function of 72 lines'* ]]
}

@test "a program that asks a single filter itself" {
	put bpf/a.bpf.h 'int a = filter.comm;'
	breach 'a single filter is known to filter.bpf.h alone'
	put bpf/a.bpf.h 'int a = filter.asks_late; /* filter.bpf.h */'
	run "$lint" "$tree"
	[ "$status" -eq 0 ]
}

@test "a header of bpf/lib for one file, or one that needs what stands above it" {
	put bpf/lib/a.bpf.h 'static int a;'
	put bpf/a.bpf.c '#include "lib/a.bpf.h"'
	breach 'bpf/lib/a.bpf.h: included by 1  (a header of bpf/lib'
	put bpf/b.bpf.c '#include "lib/a.bpf.h"'
	run "$lint" "$tree"
	[ "$status" -eq 0 ]
	for f in a b; do
		put bpf/$f.bpf.c "$(printf '%s\n' 'typedef int number;' '#include "lib/a.bpf.h"')"
	done
	put bpf/lib/a.bpf.h 'static number a;'
	breach 'a header of bpf/lib is included by two files or more, and compiles by itself'
}

@test "a source named by the main floor" {
	put src/source/source.h 'extern const struct source_ops source_disk;'
	put src/a.c 'int source_disk_reads;'
	run "$lint" "$tree"
	[ "$status" -eq 0 ]
	put src/a.c 'const char a[] = "disk";'
	breach 'no source by name'
}

@test "unfinished work" {
	put src/a.c "/* TO""DO: think */"
	breach 'no unfinished work'
}

@test "a trace print" {
	put bpf/a.bpf.c "void f(void); /* bpf_print""k(1) */"
	breach 'no trace prints'
}

# What reads a table that user space set. TEXT is the read.
reads() { # TEXT
	put bpf/a.h "$(printf '%s\n' 'struct table {' '	int n[4];' '};' 'const volatile struct table t;')"
	put bpf/a.bpf.c "$(printf '%s\n' '#include "a.h"' '#include "b.h"' 'int f(int i)' '{' "	return $1;" '}')"
	put bpf/b.h "$(printf '%s\n' 'int at(const struct table *t, int i);' \
		'int at_volatile(const volatile struct table *t, int i);')"
}

@test "read-only data read through a cast that drops volatile" {
	reads '((const struct table *)&t)->n[i]'
	breach 'a compiler may fold read-only data'
	[[ $output == *'bpf/a.bpf.c:6:'*'drops volatile qualifier'* ]]
}

@test "... by a cast to void *, or to no pointer to const" {
	reads '*(int *)(const void *)&t'
	breach 'drops volatile qualifier'
	reads '((struct table *)&t)->n[i]'
	breach 'drops const and volatile qualifiers'
}

@test "... by a call that takes no pointer to volatile" {
	reads 'at(&t, i)'
	breach 'discards qualifiers'
}

@test "read-only data read as what it is declared" {
	reads 'at_volatile(&t, i) + t.n[i & 3] + ((const volatile int *)&t)[1]'
	run "$lint" "$tree"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "BPF programs that the compiler cannot read" {
	put bpf/a.bpf.c '#include "nowhere.h"'
	breach "'nowhere.h' file not found"
}

quarantine() { # DAYS_AGO...
	local days
	mkdir -p "$tree/tests"
	for days; do echo "kernel/a | late $days | $(date -d "-$days days" +%F) | 3 ms"; done >"$tree/tests/quarantine"
}

@test "tests in quarantine, not for too long" {
	quarantine 0 13
	run "$lint" "$tree"
	[ "$status" -eq 0 ]
	quarantine 2 15
	breach "'late 15' is due, after 15 days"
}

@test "too many tests in quarantine" {
	quarantine 1 1 1 1 1 1 1 1 1
	breach 'tests/quarantine: 9 tests'
}

@test "a test in quarantine of which it is not said what was seen" {
	quarantine 1
	sed -i 's/ | 3 ms//' "$tree/tests/quarantine"
	breach 'expected SUITE | TEST | YYYY-MM-DD | what was seen'
}

@test "trailing whitespace" {
	printf 'words \n' > "$tree/notes.md"
	breach 'notes.md:1:words   (trailing whitespace)'
}

@test "no SPDX line" {
	echo 'int a;' > "$tree/src/a.c"
	breach 'src/a.c: no SPDX line'
}

@test "not as clang-format wants it" {
	clang-format --version | grep -q 'version 14\.' || skip 'clang-format is not version 14'
	put src/a.c 'int  a;'
	breach "src/a.c: not as clang-format wants it"
}

@test "a script that shellcheck refuses" {
	# shellcheck disable=SC2016 # not to be expanded
	printf '#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0-or-later\nls $1\n' > "$tree/scripts/a.sh"
	breach 'shellcheck found something'
}

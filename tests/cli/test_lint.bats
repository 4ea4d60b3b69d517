#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# lint itself: it is quiet over a small clean tree, and every kind of breach makes it fail.

setup() {
	lint=$BATS_TEST_DIRNAME/../../scripts/lint.sh
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree"/{include,bpf,scripts,vmlinux} "$tree"/src/{core,sink,source} "$tree"/tests/unit
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

@test "core that includes a skeleton" {
	put src/core/a.c '#include "sched.skel.h"'
	breach 'core is pure'
}

@test "include that stands on core" {
	put include/a.h '#include "core/hist.h"'
	breach 'include/ stands on nothing'
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
	put src/a.c "$(yes 'int a;' | head -n 500)"
	breach 'src/a.c: 501 lines  (at most 500)'
}

@test "a long function is a warning only" {
	put src/a.c "$(echo 'int f(void)'; echo '{'; yes '	a();' | head -n 71; echo '}')"
	run "$lint" "$tree"
	[ "$status" -eq 0 ]
	[[ $output == *'warning: src/a.c:3: function of 72 lines'* ]]
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

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# lint itself: it is quiet over a small clean tree, and every kind of breach makes it fail.

setup() {
	lint=$BATS_TEST_DIRNAME/../../scripts/lint.sh
	tree=$BATS_TEST_TMPDIR/tree
	mkdir -p "$tree"/{include,bpf,scripts} "$tree"/src/{core,sink,source} "$tree"/tests/unit
	cp "$BATS_TEST_DIRNAME/../../.clang-format" "$tree"
	for f in src/core/a.c src/sink/a.c src/source/a.c src/a.c bpf/a.bpf.c include/a.h; do
		put "$f" '#include "core/frame.h"'
	done
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

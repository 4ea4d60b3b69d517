#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hardened.sh BUILD_DIR [BINARY]: is BINARY (BUILD_DIR/waitscope) built so that a mistake in it is hard to use?
# BUILD_DIR has its objects: libraries that are linked in may be protected though we are not. TAP.
set -u

objects=$1/src binary=${2:-$1/waitscope}
nr=0
failed=0

result() { # STATUS TEXT
	nr=$((nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		failed=1
	fi
}

elf=$(readelf -hldW "$binary") && names=$(readelf -sW "$objects/check.o" "$objects/sink/out.o" "$objects/run.o") || exit 1
has() { printf '%s\n' "$elf" | grep -Eq "$1"; }
calls() { printf '%s\n' "$names" | grep -Eq "$1"; }

has 'Type: +DYN' && has '\(FLAGS_1\).*PIE'
result $? "position-independent"
has 'GNU_RELRO' && has '\(FLAGS(_1)?\).*NOW'
result $? "full RELRO"
has 'GNU_STACK.* RW ' && ! has 'LOAD.* RWE '
result $? "no memory that is written and executed"
! has '\(TEXTREL\)'
result $? "no relocations of code"
calls '__stack_chk_fail'
result $? "stack protector"
if calls '__asan_init'; then
	echo "ok $((nr += 1)) - FORTIFY # SKIP AddressSanitizer checks copies"
else
	calls '__(vsnprintf|fprintf)_chk'
	result $? "FORTIFY"
fi
echo "1..$nr"
exit $failed

# SPDX-License-Identifier: GPL-2.0-or-later
# What the command line tests share. $O is the build directory.
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
export WS=$ROOT/${O:-build}/waitscope
export LOAD=$ROOT/${O:-build}/tests/load

# ws ARG... : runs waitscope; $status, stdout in $out (a file), stderr in $err (text).
ws() {
	out=$BATS_TEST_TMPDIR/out
	status=0
	err=$("$WS" "$@" 2>&1 >"$out" </dev/null) || status=$?
}

# refused STATUS TEXT...: that status, one line on stderr in our form that has every TEXT, an empty
# stdout.
refused() {
	local want=$1 text

	shift
	[ "$status" -eq "$want" ] || fail "exit $status, expected $want: $err"
	[ "$(printf '%s\n' "$err" | wc -l)" -eq 1 ] || fail "not one line: $err"
	[[ $err == "waitscope: error: "* ]] || fail "not an error line: $err"
	for text; do
		[[ $err == *"$text"* ]] || fail "no '$text' in: $err"
	done
	[ ! -s "$out" ] || fail "stdout: $(head -c 300 "$out")"
}

fail() {
	printf '%s\n' "$*" >&2
	return 1
}

# Our programs in the kernel.
bpf_ours() {
	bpftool -j prog show | jq '.[] | select((.name // "") | startswith("ws_")).id' | sort
}

# bpf_left BEFORE: those that have come since and no process holds open: another run of the tool on this
# machine is no leak of ours. The kernel frees them a while after they are let go.
bpf_left() {
	local left

	for _ in $(seq 150); do
		left=$(comm -13 <(echo "$1") <(bpf_ours))
		[ -z "$left" ] || left=$(comm -23 <(echo "$left") <(bpf_held))
		[ -n "$left" ] || return 0
		sleep 0.1
	done
	echo "$left"
}

bpf_held() {
	sed -n 's/^prog_id:[[:space:]]*//p' /proc/[0-9]*/fdinfo/* 2>/dev/null | sort
}

# lacks ARG... : grep finds nothing. A command after ! never ends a test, unless it is the last one.
lacks() {
	! grep "$@"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip "not root"
}

# Every line of the file is whole JSON.
whole_json() {
	[ -z "$(tail -c 1 "$1")" ] || fail "the last line has no end"
	jq -e . "$1" >/dev/null || fail "not JSON lines: $(tail -c 200 "$1")"
}

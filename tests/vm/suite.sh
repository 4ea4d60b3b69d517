#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Use another suite of the distribution without touching the system's apt.
#
#	suite.sh SUITE ARCH COMMAND [ARG...]	runs `COMMAND ARG...` (apt-get, apt-cache) in that suite;
#						ARCH `source` has its source packages
#	suite.sh --mirror			prints the mirror
#
# SUITE may be several, with commas. Lists and state lie in the cache, one directory per suite and architecture. The mirror is the one
# this machine's own apt uses; WS_DEBIAN_MIRROR overrides it (for machines that do not run Debian).
set -eu

die() { printf 'suite.sh: %s\n' "$*" >&2; exit 1; }

find_mirror() {
	if [ -n "${WS_DEBIAN_MIRROR:-}" ]; then
		printf '%s\n' "$WS_DEBIAN_MIRROR"
		return
	fi
	# A release suite of Debian proper: not the security archive, not a third party's.
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(REPO_URI)|$(ORIGIN)|$(LABEL)' 'Created-By: Packages' |
		awk -F'|' '$2 == "Debian" && $3 == "Debian" { print $1; exit }'
}

mirror=$(find_mirror)
[ -n "$mirror" ] || die "no Debian mirror in this machine's apt configuration" \
	"(set WS_DEBIAN_MIRROR to one)"
if [ "$1" = --mirror ]; then
	printf '%s\n' "$mirror"
	exit
fi

suite=$1 arch=$2
shift 2
cache=${WS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/waitscope}
dir=$cache/apt/$suite-$arch

set_up() {
	mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/etc/preferences.d"
	: >"$dir/status"
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	signed=
	[ -r "$keyring" ] && signed=" signed-by=$keyring"
	type=deb
	if [ "$arch" = source ]; then
		type=deb-src arch=$(dpkg --print-architecture)
	fi
	printf '%s\n' "$suite" | tr , '\n' | while read -r one; do
		printf '%s [arch=%s%s] %s %s main\n' "$type" "$arch" "$signed" "$mirror" "$one"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-CONF
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Get::List-Cleanup "false";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
		Acquire::Retries "3";
		Dir::State "$dir";
		Dir::State::status "$dir/status";
		Dir::State::lists "$dir/lists";
		Dir::Cache "$dir";
		Dir::Cache::archives "$dir/archives";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/nonexistent";
		Dir::Etc::preferences "/nonexistent";
		Dir::Etc::preferencesparts "$dir/etc/preferences.d";
	CONF
}

# A suite is read again after a day, or when it was never read to the end.
if [ ! -e "$dir/updated" ] || [ -n "$(find "$dir/updated" -mtime +0)" ]; then
	set_up
	APT_CONFIG=$dir/apt.conf apt-get -qq update >&2
	: >"$dir/updated"
fi
APT_CONFIG=$dir/apt.conf exec "$@"

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mkdeb.sh BINARY ARCH VERSION WORDS_DIR OUT_DIR: a Debian package around the static binary. WORDS_DIR has
# waitscope.8 and completions/. The same input gives the same bytes.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
binary=$1 arch=$2 version=$3 words=$4 out=$5
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH="$epoch"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
doc=$root/usr/share/doc/waitscope

put() { # MODE FROM TO
	install -D -m "$1" "$2" "$root/$3"
}

put 755 "$binary" usr/sbin/waitscope
put 644 "$words/waitscope.8" usr/share/man/man8/waitscope.8
put 644 "$words/completions/waitscope" usr/share/bash-completion/completions/waitscope
put 644 "$words/completions/_waitscope" usr/share/zsh/vendor-completions/_waitscope
put 644 "$words/waitscope.service" usr/lib/systemd/system/waitscope.service
put 644 "$words/waitscope-metrics.service" usr/lib/systemd/system/waitscope-metrics.service
put 644 "$top/packaging/waitscope-metrics.socket" usr/lib/systemd/system/waitscope-metrics.socket
for file in prometheus/prometheus.yml prometheus/waitscope.rules.yml prometheus/waitscope-dashboard.json kubernetes/waitscope.yaml; do
	put 644 "$top/packaging/$file" "usr/share/doc/waitscope/$file"
done
put 755 "$top/docs/bisect.sh" usr/share/doc/waitscope/bisect.sh
put 644 "$top/packaging/deb/copyright" usr/share/doc/waitscope/copyright
gzip -9n "$root/usr/share/man/man8/waitscope.8"
printf 'waitscope (%s) unstable; urgency=medium\n\n  * %s\n\n -- %s  %s\n' "$version" \
	"Built from the sources of this version." "waitscope developers <waitscope@localhost>" \
	"$(date -u -R -d "@$epoch")" | gzip -9n >"$doc/changelog.Debian.gz"
chmod 644 "$doc/changelog.Debian.gz"

# What was linked in, as the licences of some of it ask: "source (= version)", one each.
built_using() {
	dpkg-query -W -f '${source:Package} (= ${source:Version})\n' libbpf-dev libelf-dev libdw-dev libiberty-dev libzydis-dev zlib1g-dev \
		libjson-c-dev libevent-dev libseccomp-dev libncurses-dev libc6-dev 2>/dev/null | sort -u | paste -s -d , | sed 's/,/, /g'
}

mkdir "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@SIZE@/$(du -sk "$root/usr" | cut -f 1)/" \
	-e "s/@BUILT_USING@/$(built_using)/" "$top/packaging/deb/control.in" >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 644 "$root/DEBIAN/control" "$root/DEBIAN/md5sums"
find "$root" -exec touch -h -d "@$epoch" {} +
mkdir -p "$out"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out/waitscope_${version}_$arch.deb"

// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/cgroup_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ID_DIGITS 64
#define UID_DIGITS 32
#define UID_LENGTH 36

/* One directory of a path. */
struct part {
	const char *s;
	size_t n;
};

static bool ends_in(struct part p, const char *end)
{
	size_t n = strlen(end);

	return p.n > n && !memcmp(p.s + p.n - n, end, n);
}

static bool is_hex(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] && strchr("0123456789abcdef", s[i]))
		i++;
	return i == n;
}

/*
 * A unit that has a cgroup, as systemd finds it (sd_pid_get_unit): the first that is no slice. What
 * would be taken for a file of the kernel's has a _ before it (cg_escape).
 */
static bool take_unit(struct cgroup_words *w, struct part p)
{
	static const char *const kinds[] = {".service", ".scope", ".socket", ".mount", ".swap"};

	if (ends_in(p, ".slice"))
		return false;
	if (p.n > 1 && *p.s == '_') {
		p.s++;
		p.n--;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (ends_in(p, kinds[i]) && p.n < sizeof(w->unit)) {
			memcpy(w->unit, p.s, p.n);
			w->unit[p.n] = '\0';
		}
	return true; /* whatever it is: below are no units of the system's */
}

/*
 * "<id>", "docker-<id>.scope", "cri-containerd-<id>.scope", "crio-<id>", "libpod-<id>.scope",
 * "kubepods-burstable-pod<uid>.slice:cri-containerd:<id>". What watches a container is not in it.
 */
static void take_container(struct cgroup_words *w, struct part p)
{
	size_t before;

	if (ends_in(p, ".scope"))
		p.n -= strlen(".scope");
	if (p.n < ID_DIGITS)
		return;
	before = p.n - ID_DIGITS;
	if (before && p.s[before - 1] != '-' && p.s[before - 1] != ':')
		return;
	if (ends_in((struct part){p.s, before}, "conmon-") || !is_hex(p.s + before, ID_DIGITS))
		return;
	memcpy(w->container_id, p.s + before, ID_DIGITS);
	w->container_id[ID_DIGITS] = '\0';
}

/* Is it a uid, with - or, in systemd's slices, _ between its parts? In out with -. */
static bool uid_of(struct part p, char out[UID_LENGTH + 1])
{
	size_t i;

	if (p.n == UID_DIGITS && is_hex(p.s, p.n)) {
		memcpy(out, p.s, p.n);
		out[p.n] = '\0';
		return true;
	}
	if (p.n != UID_LENGTH)
		return false;
	for (i = 0; i < UID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? p.s[i] != '-' && p.s[i] != '_' : !is_hex(p.s + i, 1))
			return false;
		out[i] = dash ? '-' : p.s[i];
	}
	out[i] = '\0';
	return true;
}

/* "pod<uid>", "kubepods-besteffort-pod<uid_with_underscores>.slice", the same before a colon */
static void take_pod(struct cgroup_words *w, struct part p)
{
	const char *colon = memchr(p.s, ':', p.n);
	char uid[UID_LENGTH + 1];

	if (colon)
		p.n = (size_t)(colon - p.s);
	if (ends_in(p, ".slice"))
		p.n -= strlen(".slice");
	for (size_t at = 0; at + 3 < p.n; at++)
		if (!memcmp(p.s + at, "pod", 3) && (!at || p.s[at - 1] == '-') &&
		    uid_of((struct part){p.s + at + 3, p.n - at - 3}, uid))
			memcpy(w->pod_uid, uid, sizeof(uid));
}

void cgroup_words(struct cgroup_words *w, const char *path)
{
	bool unit = false;

	memset(w, 0, sizeof(*w));
	while (*path) {
		struct part p = {path, strcspn(path, "/")};

		if (p.n) {
			unit = unit || take_unit(w, p);
			take_container(w, p);
			take_pod(w, p);
		}
		path += p.n + (path[p.n] == '/');
	}
}

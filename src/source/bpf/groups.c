// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cgroup_words.h"
#include "source/bpf/groups.h"

/* Of a cgroup that is gone before it was looked at there is a number alone ("id:17"). */
static char *cgroup_text(struct group_text *t, enum by_key by, const char *path)
{
	struct cgroup_words w;
	const char *word;

	if (by == BY_CGROUP || *path != '/')
		return strdup(path);
	cgroup_words(&w, path);
	word = by == BY_UNIT ? w.unit : w.container_id;
	if (by == BY_CONTAINER && *word)
		memcpy(t->pod, w.pod_uid, sizeof(w.pod_uid));
	return strdup(*word ? word : CGROUP_NONE);
}

void group_text_init(struct group_text *t, enum by_key by, const struct abi_key *key,
		     struct cgroup_names *names)
{
	memset(t, 0, sizeof(*t));
	if (by == BY_COMM)
		memcpy(t->comm, key->comm, ABI_COMM_LEN);
	else
		snprintf(t->id, sizeof(t->id), "%llu", (unsigned long long)key->id);
	if (by_cgroups(by))
		t->cgroup = cgroup_text(t, by, cgroup_name(names, key->id));
}

void group_text_free(struct group_text *t)
{
	free(t->cgroup);
}

uint32_t group_labels(struct group_text *t, enum by_key by, const struct keyed_row *row,
		      struct label labels[GROUP_LABELS])
{
	uint32_t n = 0;

	switch (by) {
	case BY_PID:
		labels[n++] = (struct label){"pid", t->id};
		labels[n++] = (struct label){"comm", row->comm};
		break;
	case BY_TID:
		snprintf(t->pid, sizeof(t->pid), "%llu", (unsigned long long)row->pid);
		labels[n++] = (struct label){"tid", t->id};
		labels[n++] = (struct label){"pid", t->pid};
		labels[n++] = (struct label){"comm", row->comm};
		break;
	case BY_COMM:
		labels[n++] = (struct label){"comm", t->comm};
		break;
	case BY_CGROUP:
		labels[n++] = (struct label){"cgroup", t->cgroup ? t->cgroup : "?"};
		break;
	case BY_UNIT:
		labels[n++] = (struct label){"unit", t->cgroup ? t->cgroup : "?"};
		break;
	case BY_CONTAINER:
		labels[n++] = (struct label){"container_id", t->cgroup ? t->cgroup : "?"};
		if (*t->pod)
			labels[n++] = (struct label){"pod_uid", t->pod};
		break;
	default:
		break;
	}
	return n;
}

uint32_t group_abi(enum by_key by)
{
	static const uint32_t of[] = {
		[BY_PID] = ABI_BY_PID,	   [BY_TID] = ABI_BY_TID,
		[BY_COMM] = ABI_BY_COMM,   [BY_CGROUP] = ABI_BY_CGROUP,
		[BY_UNIT] = ABI_BY_CGROUP, [BY_CONTAINER] = ABI_BY_CGROUP,
	};

	return (size_t)by < sizeof(of) / sizeof(of[0]) ? of[by] : ABI_BY_NONE;
}

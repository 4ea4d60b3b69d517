// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/clock.h"
#include "source/bpf/bpf_source.h"

static struct bpf_source *bpf_source_of(struct source *src)
{
	return (struct bpf_source *)src;
}

void bpf_source_init(struct bpf_source *b, const struct source_ops *ops)
{
	b->source.ops = ops;
	b->event_fd = b->cost.stats_fd = -1;
	b->ahead_ns = time_ns_ahead();
	filters_init(&b->filters);
}

void bpf_source_close(struct bpf_source *b)
{
	cost_sampler_close(&b->cost);
	if (b->event_fd >= 0)
		close(b->event_fd);
	filters_close(&b->filters);
	free(b->hooks);
}

/* ---- the object ---- */

static int fail(const struct bpf_source *b, struct err *e, int err, const char *what)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%s: %s", b->source.ops->name, what); /* fits */
	return bpf_fail(e, err, text);
}

int bpf_source_load(struct bpf_source *b, struct bpf_object_skeleton *skel, struct err *e)
{
	int ret = bpf_object__load_skeleton(skel);

	(void)malloc_trim(0); /* of the kernel's BTF: several MB */
	if (ret)
		return fail(b, e, ret, "load BPF programs");
	b->obj = *skel->obj;
	return bucket_check(b->obj, &b->schemas, b->source.ops->name, e);
}

int bpf_source_attach(const struct bpf_source *b, struct bpf_object_skeleton *skel, struct err *e)
{
	int ret = bpf_object__attach_skeleton(skel);

	return ret ? fail(b, e, ret, "attach BPF programs") : 0;
}

int bpf_source_add_hook(struct bpf_source *b, const char *name)
{
	const char **hooks = realloc(b->hooks, (b->nhooks + 2) * sizeof(*hooks));

	if (!hooks)
		return -ENOMEM;
	hooks[b->nhooks++] = name;
	hooks[b->nhooks] = NULL;
	b->hooks = hooks;
	return 0;
}

/* Sections are KIND/HOOK. A walk over tasks is no hook, and who traces a function's beginning
 * traces its end. */
int bpf_source_list_hooks(struct bpf_source *b, struct err *e)
{
	struct bpf_program *prog;
	int ret = 0;

	bpf_object__for_each_program(prog, b->obj)
	{
		const char *section = bpf_program__section_name(prog);
		const char *slash = strchr(section, '/');

		if (!ret && slash && bpf_program__fd(prog) >= 0 && strncmp(section, "iter/", 5) &&
		    strncmp(section, "fentry/", 7))
			ret = bpf_source_add_hook(b, slash + 1);
	}
	return ret ? err_sys(e, ret, "%s: hooks", b->source.ops->name) : 0;
}

const char *const *bpf_source_hooks(const struct source *src)
{
	return ((const struct bpf_source *)src)->hooks;
}

/* ---- counting ---- */

uint64_t bpf_source_time(const struct bpf_source *b, uint64_t ns)
{
	return ns + (uint64_t)b->ahead_ns;
}

uint64_t bpf_source_now(const struct bpf_source *b)
{
	return clock_mono_ns() - (uint64_t)b->ahead_ns;
}

/* The word the programs read; raising it ends the interval for them. The clock is read first: then
 * no wait seems longer than it is, whatever comes in between. */
static void set_epoch(struct bpf_source *b, uint64_t epoch)
{
	b->ended_ns = bpf_source_now(b);
	__atomic_store_n(b->epoch_word, epoch, __ATOMIC_SEQ_CST);
}

bool bpf_source_begin(struct bpf_source *b)
{
	b->misses_start = b->misses_seen = recursion_misses(b->obj);
	if (b->epoch)
		return false;
	set_epoch(b, ++b->epoch);
	return true;
}

int bpf_source_next_epoch(struct source *src, struct err *e)
{
	struct bpf_source *b = bpf_source_of(src);

	set_epoch(b, ++b->epoch);
	return 0;
}

int bpf_source_stop(struct source *src, struct err *e)
{
	struct bpf_source *b = bpf_source_of(src);

	b->stopped = true;
	set_epoch(b, 0);
	return 0;
}

uint64_t bpf_source_ended(const struct bpf_source *b)
{
	return b->stopped ? 0 : b->epoch - 1;
}

static void fill_quality(struct quality *q, const struct abi_counts *c, uint64_t misses,
			 const struct abi_in_flight *flight)
{
	*q = (struct quality){.recursion_misses = misses};
	counts_quality(c, q);
	q->in_flight = flight->count;
	q->longest_ns = flight->longest_ns;
	q->longest_tid = flight->tid;
	memcpy(q->longest_comm, flight->comm, sizeof(q->longest_comm));
}

void bpf_source_quality(struct bpf_source *b, const struct counts *c,
			const struct abi_in_flight *flight, struct source_report *r)
{
	uint64_t misses = recursion_misses(b->obj);

	fill_quality(&r->quality_interval, &c->interval, misses - b->misses_seen, flight);
	fill_quality(&r->quality_total, &c->total, misses - b->misses_start, flight);
	r->quality_total.missed += flight->unseen; /* an edge of the run, not of an interval */
	b->misses_seen = misses;
}

/* ---- waiting ---- */

int bpf_source_in_flight(const struct bpf_source *b, const struct bpf_link *link, int map_fd,
			 struct abi_in_flight *out)
{
	uint32_t key = 0;
	int ret;

	*out = (struct abi_in_flight){.at_ns = b->ended_ns};
	if (!link)
		return -ENOTSUP;
	if (bpf_map_update_elem(map_fd, &key, out, BPF_ANY))
		return -errno;
	ret = bpf_iter_run(link);
	if (!ret && bpf_map_lookup_elem(map_fd, &key, out))
		ret = -errno;
	return ret;
}

static int poll_one(struct bpf_source *b, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};

	if (fd < 0)
		return 0;
	if (b->event_fd < 0)
		b->event_fd = epoll_create1(EPOLL_CLOEXEC);
	return b->event_fd < 0 || epoll_ctl(b->event_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int bpf_source_poll(struct bpf_source *b, int fd, struct err *e)
{
	int ret = b->event_fd < 0 ? poll_one(b, b->filters.targets.epoll_fd) : 0;

	if (!ret)
		ret = poll_one(b, fd);
	return ret ? err_sys(e, ret, "%s: epoll", b->source.ops->name) : 0;
}

/* ---- the rest of source_ops ---- */

int bpf_source_event_fd(const struct source *src)
{
	return ((const struct bpf_source *)src)->event_fd;
}

int bpf_source_cost_begin(struct source *src, struct err *e)
{
	struct bpf_source *b = bpf_source_of(src);

	return cost_sampler_begin(&b->cost, b->obj, e);
}

int bpf_source_cost_end(struct source *src, struct self_cost *cost, struct err *e)
{
	struct bpf_source *b = bpf_source_of(src);

	return cost_sampler_end(&b->cost, b->obj, cost);
}

bool bpf_source_target_alive(struct source *src, char *why, size_t len)
{
	return filters_alive(&bpf_source_of(src)->filters, why, len);
}

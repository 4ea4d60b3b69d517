// SPDX-License-Identifier: GPL-2.0-or-later
/* Made-up contended addresses: named and not, kernel's and a process's, busy and idle, and others.
 */
#include <errno.h>
#include <stdlib.h>

#include "source/synth/synth.h"

static const struct site es_sites[] = {
	{0xffffffff8145a2bf, "ext4_es_lookup_extent+0x1f", 61},
	{0xffffffff81462d0c, "ext4_map_blocks+0x8c", 30},
};
static const struct site app_sites[] = {
	{0x5581a60c1234, "app`worker+0x18 (app.c:31)", 7},
	{0x5581a60c1300, "app`a\033]0;x\007+0x1", 2},
};
static const struct line_member members[] = {
	{"s_es_stats.es_stats_cache_hits.lock", 1344, 4, true},
	{"s_es_stats.es_stats_cache_hits.count", 1352, 8, true},
	{"s_es_stats.es_stats_cache_misses.lock", 1384, 24, true},
};
static const uint32_t cpus[SYNTH_CPUS] = {0, 1, 2, 3};

/* What holds of an address at all times; `task` is who waits at it. */
static const struct {
	struct contended c;
	uint32_t task, weight;
	bool futex, idle;
} addresses[] = {
	{.task = 0,
	 .weight = 40,
	 .c = {.source = "lock",
	       .kind = "rwlock:r",
	       .addr = 0xffff888104c3a7b8,
	       .name = "ext4_inode_info.i_es_lock",
	       .ncpus = 2,
	       .ntasks = 2,
	       .sites = es_sites,
	       .nsites = 2}},
	{.task = 4,
	 .weight = 10,
	 .c = {.source = "lock",
	       .kind = "spinlock",
	       .addr = 0xffff888104c3a540,
	       .name = "ext4_sb_info.s_es_stats.es_stats_cache_hits.lock",
	       .place = "/data",
	       .ncpus = 4,
	       .line = 0xffff888104c3a540,
	       .members = members,
	       .nmembers = 3}},
	{.task = 3,
	 .weight = 5,
	 .c = {.source = "lock",
	       .kind = "mutex",
	       .addr = 0xffff888104c3b000,
	       .name = "a\033[31mred\377,\"",
	       .place = "=1+2\n"}},
	{.task = 5,
	 .weight = 5,
	 .c = {.source = "lock", .kind = "spinlock", .addr = 0xffff888104c3c000}},
	{.task = 0,
	 .weight = 20,
	 .futex = true,
	 .c = {.source = "futex",
	       .kind = "futex",
	       .addr = 0x5581a60c4040,
	       .pid = 100,
	       .owner = "worker",
	       .name = "app`table.lock",
	       .place = "app.c:15",
	       .op = "wait",
	       .ncpus = 1,
	       .ntasks = 3,
	       .sites = app_sites,
	       .nsites = 2}},
	{.task = 2,
	 .weight = 10,
	 .futex = true,
	 .idle = true,
	 .c = {.source = "futex",
	       .kind = "futex",
	       .addr = 0x7f00deadbee0,
	       .pid = 200,
	       .owner = "a\033[31mred\007",
	       .op = "wait_bitset",
	       .ncpus = 1}},
	{.task = 1,
	 .weight = 10,
	 .c = {.source = "lock", .kind = "other", .other = true, .ncpus = 4}},
};

#define ADDRESSES (sizeof(addresses) / sizeof(addresses[0]))
#define WEIGHTS 100 /* all of them */

struct address {
	struct synth_group group;
	struct hist wait[2]; /* interval, total */
	struct futex_counts futex[2];
};

struct synth_locks {
	struct bucket_table table;
	uint64_t random;
	struct address v[ADDRESSES];
};

static void forget(struct synth_locks *l, int view)
{
	for (size_t i = 0; i < ADDRESSES; i++) {
		hist_reset(&l->v[i].wait[view]);
		l->v[i].futex[view] = (struct futex_counts){.idle = addresses[i].idle};
	}
}

static size_t draw_address(struct synth_locks *l)
{
	uint32_t at = synth_draw(&l->random, WEIGHTS);
	size_t i = 0;

	for (; i + 1 < ADDRESSES && at >= addresses[i].weight; i++)
		at -= addresses[i].weight;
	return i;
}

int synth_locks_make(struct synth_locks *l, uint32_t n)
{
	int ret = 0;

	forget(l, 0);
	for (; n && !ret; n--) {
		struct address *a = &l->v[draw_address(l)];
		uint64_t ns = synth_draw_wait(&l->random);
		uint32_t what = synth_draw(&l->random, 4);

		for (int view = 0; view < 2 && !ret; view++) {
			struct futex_counts *f = &a->futex[view];

			ret = hist_add(&a->wait[view], &l->table, f->idle ? 1000 * ns : ns);
			f->eagain += what == 0;
			f->timeouts += what == 1;
			f->wakes += what == 2;
			f->woken += what == 2 ? 2 : 0;
		}
	}
	return ret;
}

static int push_view(const struct synth_locks *l, struct contended_list *list, int view)
{
	int ret = 0;

	for (size_t i = 0; i < ADDRESSES && !ret; i++) {
		struct contended c = addresses[i].c;

		if (!l->v[i].wait[view].count)
			continue;
		if (l->v[i].group.nlabels)
			c.group = l->v[i].group.labels[0];
		c.wait = &l->v[i].wait[view];
		c.count = c.wait->count;
		c.cpus = cpus;
		c.futex = addresses[i].futex ? &l->v[i].futex[view] : NULL;
		c.class = wait_class_words[addresses[i].idle ? CLASS_WORK : CLASS_LOCK];
		ret = contended_push(list, &c);
	}
	return ret;
}

int synth_locks_collect(const struct synth_locks *l, struct source_report *r)
{
	int ret = push_view(l, &r->interval.contended, 0);

	return ret ? ret : push_view(l, &r->total.contended, 1);
}

void synth_locks_start(struct synth_locks *l)
{
	forget(l, 0);
	forget(l, 1);
	l->random = SYNTH_SEED + 2;
}

void synth_locks_close(struct synth_locks *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < ADDRESSES; i++)
		for (int view = 0; view < 2; view++)
			hist_free(&l->v[i].wait[view]);
	free(l);
}

int synth_locks_open(struct synth_locks **out, const struct config *cfg)
{
	struct synth_locks *l = calloc(1, sizeof(*l));
	int ret;

	*out = l;
	if (!l)
		return -ENOMEM;
	ret = bucket_table_init(&l->table, cfg->precision);
	for (size_t i = 0; i < ADDRESSES && !ret; i++) {
		synth_label_group(&l->v[i].group, &synth_tasks[addresses[i].task], cfg->by);
		for (int view = 0; view < 2 && !ret; view++) {
			hist_init(&l->v[i].wait[view], cfg->precision);
			ret = hist_reserve_all(&l->v[i].wait[view]);
		}
	}
	return ret;
}

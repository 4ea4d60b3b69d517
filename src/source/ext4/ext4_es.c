// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Extent status look-ups. Each CPU has a table of devices, mapped read-only; what was seen of it is
 * subtracted. A device has one slot on each CPU, and keeps it; what was looked up since the last
 * report is of the file system that is mounted from it now.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/ext4/ext4.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

static const char *const hit_kinds[ABI_ES_MISS] = {
	[ABI_ES_WRITTEN] = "written",
	[ABI_ES_UNWRITTEN] = "unwritten",
	[ABI_ES_DELAYED] = "delayed",
	[ABI_ES_HOLE] = "hole",
};

struct es_count {
	uint64_t interval[ABI_ES_RESULTS], total[ABI_ES_RESULTS];
};

struct es_dev {
	uint64_t fs;
	struct es_dev *next;
	struct es_count counts[]; /* of all CPUs together, then of each */
};

int ext4_es_open(struct ext4 *x, struct err *e)
{
	struct ext4_es *es = &x->es;
	size_t nslots = (size_t)x->ncpus * es->ndevs;
	int ret =
		mapped_open(&es->map, bpf_map__fd(x->skel->maps.es_counts),
			    nslots * sizeof(struct abi_ext4_es), "ext4: map the look-up counts", e);

	if (ret)
		return ret;
	es->last = &es->first;
	es->seen = calloc(nslots, sizeof(*es->seen));
	es->of = calloc(nslots, sizeof(*es->of));
	return es->seen && es->of ? 0 : err_sys(e, -ENOMEM, "ext4");
}

static struct es_dev *dev_get(struct ext4 *x, uint64_t fs)
{
	struct es_dev *d;

	for (d = x->es.first; d; d = d->next)
		if (d->fs == fs)
			return d;
	d = calloc(1, sizeof(*d) + (1 + x->ncpus) * sizeof(d->counts[0]));
	if (!d)
		return NULL;
	d->fs = fs;
	*x->es.last = d;
	x->es.last = &d->next;
	return d;
}

static void count_add(struct es_count *c, int i, uint64_t n)
{
	c->interval[i] += n;
	c->total[i] += n;
}

static int collect_slot(struct ext4 *x, uint32_t cpu, uint32_t slot)
{
	size_t at = (size_t)cpu * x->es.ndevs + slot;
	const struct abi_ext4_es *now = (const struct abi_ext4_es *)x->es.map.at + at;
	struct abi_ext4_es *seen = &x->es.seen[at];
	struct es_dev **of = &x->es.of[at];
	uint64_t fs;

	if (!now->dev)
		return 0;
	fs = ext4_dev_now(x->devs, (uint32_t)now->dev);
	if (*of && (*of)->fs == now->dev)
		(*of)->fs = fs; /* not known until now */
	if (!*of || (*of)->fs != fs)
		*of = dev_get(x, fs);
	if (!*of)
		return -ENOMEM;
	for (int i = 0; i < ABI_ES_RESULTS; i++) {
		uint64_t n = __atomic_load_n(&now->n[i], __ATOMIC_RELAXED);

		count_add(&(*of)->counts[0], i, n - seen->n[i]);
		count_add(&(*of)->counts[1 + cpu], i, n - seen->n[i]);
		seen->n[i] = n;
	}
	return 0;
}

int ext4_es_collect(struct ext4 *x)
{
	int ret = 0;

	for (struct es_dev *d = x->es.first; d; d = d->next)
		for (uint32_t i = 0; i <= x->ncpus; i++)
			memset(d->counts[i].interval, 0, sizeof(d->counts[i].interval));
	for (uint32_t cpu = 0; !ret && cpu < x->ncpus; cpu++)
		for (uint32_t slot = 0; !ret && slot < x->es.ndevs; slot++)
			ret = collect_slot(x, cpu, slot);
	return ret;
}

void ext4_es_forget(struct ext4 *x)
{
	for (struct es_dev *d = x->es.first; d; d = d->next)
		memset(d->counts, 0, (1 + x->ncpus) * sizeof(d->counts[0]));
}

int ext4_es_push_results(struct series_list *to, const struct series *like,
			 const uint64_t n[ABI_ES_RESULTS], bool kinds)
{
	struct series s = *like;
	struct label *label = &s.labels[s.nlabels++];
	uint64_t sum = 0;
	int ret;

	for (int i = 0; i < ABI_ES_RESULTS; i++)
		sum += n[i];
	if (!sum)
		return 0;
	s.desc = &metric_list[METRIC_EXT4_ES_LOOKUPS];
	*label = (struct label){"result", "hit"};
	s.value = sum - n[ABI_ES_MISS];
	ret = series_push(to, &s);
	label->value = "miss";
	s.value = n[ABI_ES_MISS];
	if (!ret)
		ret = series_push(to, &s);
	s.desc = &metric_list[METRIC_EXT4_ES_HITS];
	for (int i = 0; !ret && kinds && i < ABI_ES_MISS; i++) {
		*label = (struct label){"kind", hit_kinds[i]};
		s.value = n[i];
		ret = series_push(to, &s);
	}
	return ret;
}

static int push_count(struct ext4 *x, struct source_report *to, const struct es_dev *d,
		      const struct es_count *c, struct series s, bool kinds)
{
	int ret;

	ext4_label_dev(x, d->fs, &s);
	ret = ext4_es_push_results(&to->interval.series, &s, c->interval, kinds);
	return ret ? ret : ext4_es_push_results(&to->total.series, &s, c->total, kinds);
}

int ext4_es_push(struct ext4 *x, struct source_report *to)
{
	struct series s = {0};
	int ret = 0;

	for (struct es_dev *d = x->es.first; !ret && d; d = d->next)
		ret = push_count(x, to, d, &d->counts[0], s, true);
	s.nlabels = 1;
	for (struct es_dev *d = x->es.first; !ret && d; d = d->next) {
		for (uint32_t cpu = 0; !ret && cpu < x->ncpus; cpu++) {
			s.labels[0] = (struct label){"cpu", x->cpu_names[cpu]};
			ret = push_count(x, to, d, &d->counts[1 + cpu], s, x->cfg->by == BY_CPU);
		}
	}
	return ret;
}

void ext4_es_close(struct ext4_es *es)
{
	struct es_dev *d, *next;

	for (d = es->first; d; d = next) {
		next = d->next;
		free(d);
	}
	mapped_close(&es->map);
	free(es->seen);
	free(es->of);
}

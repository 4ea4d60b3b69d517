// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Extent status look-ups. Each CPU has a table of devices, mapped read-only; what was seen of it is
 * subtracted. A device has one slot on each CPU, and keeps it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/ext4/ext4.h"

struct es_count {
	uint64_t interval[ABI_ES_RESULTS], total[ABI_ES_RESULTS];
};

struct es_dev {
	uint32_t kdev;
	struct es_count all;
	struct es_count *cpus;
	struct es_dev *next;
};

struct ext4_es {
	struct ext4_es_args args;
	struct mapped map; /* struct abi_ext4_es by CPU and place, as are: */
	struct abi_ext4_es *seen;
	struct es_dev **of;
	struct es_dev *first, **last;
};

int ext4_es_open(struct ext4_es **out, const struct ext4_es_args *args, struct err *e)
{
	struct ext4_es *es = calloc(1, sizeof(*es));
	size_t nslots = (size_t)args->ncpus * args->ndevs;
	int ret;

	*out = es;
	if (!es)
		return err_sys(e, -ENOMEM, "ext4");
	es->args = *args;
	es->last = &es->first;
	ret = mapped_open(&es->map, args->map_fd, nslots * sizeof(struct abi_ext4_es),
			  "ext4: map the look-up counts", e);
	if (ret)
		return ret;
	es->seen = calloc(nslots, sizeof(*es->seen));
	es->of = calloc(nslots, sizeof(*es->of));
	if (!es->seen || !es->of)
		return err_sys(e, -ENOMEM, "ext4");
	return 0;
}

static struct es_dev *dev_get(struct ext4_es *es, uint32_t kdev)
{
	struct es_dev *d;

	for (d = es->first; d; d = d->next)
		if (d->kdev == kdev)
			return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->cpus = calloc(es->args.ncpus, sizeof(*d->cpus));
	if (!d->cpus) {
		free(d);
		return NULL;
	}
	d->kdev = kdev;
	*es->last = d;
	es->last = &d->next;
	return d;
}

static void count_add(struct es_count *c, int i, uint64_t n)
{
	c->interval[i] += n;
	c->total[i] += n;
}

static int collect_slot(struct ext4_es *es, uint32_t cpu, uint32_t slot)
{
	size_t at = (size_t)cpu * es->args.ndevs + slot;
	const struct abi_ext4_es *now = (const struct abi_ext4_es *)es->map.at + at;
	struct abi_ext4_es *seen = &es->seen[at];
	struct es_dev **of = &es->of[at];
	uint64_t n;
	int i;

	if (!now->dev)
		return 0;
	if (!*of)
		*of = dev_get(es, (uint32_t)now->dev);
	if (!*of)
		return -ENOMEM;
	for (i = 0; i < ABI_ES_RESULTS; i++) {
		n = __atomic_load_n(&now->n[i], __ATOMIC_RELAXED);
		count_add(&(*of)->all, i, n - seen->n[i]);
		count_add(&(*of)->cpus[cpu], i, n - seen->n[i]);
		seen->n[i] = n;
	}
	return 0;
}

int ext4_es_collect(struct ext4_es *es)
{
	struct es_dev *d;
	uint32_t cpu, slot;
	int ret = 0;

	for (d = es->first; d; d = d->next) {
		memset(d->all.interval, 0, sizeof(d->all.interval));
		for (cpu = 0; cpu < es->args.ncpus; cpu++)
			memset(d->cpus[cpu].interval, 0, sizeof(d->cpus[cpu].interval));
	}
	for (cpu = 0; !ret && cpu < es->args.ncpus; cpu++)
		for (slot = 0; !ret && slot < es->args.ndevs; slot++)
			ret = collect_slot(es, cpu, slot);
	return ret;
}

void ext4_es_forget(struct ext4_es *es)
{
	struct es_dev *d;

	for (d = es->first; d; d = d->next) {
		memset(&d->all, 0, sizeof(d->all));
		memset(d->cpus, 0, es->args.ncpus * sizeof(*d->cpus));
	}
}

static uint64_t sum_of(const uint64_t n[ABI_ES_RESULTS])
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < ABI_ES_RESULTS; i++)
		sum += n[i];
	return sum;
}

int ext4_es_push_results(struct series_list *to, const struct label *labels, uint32_t nlabels,
			 const uint64_t n[ABI_ES_RESULTS], bool kinds)
{
	struct series s = {.desc = &metric_list[METRIC_EXT4_ES_LOOKUPS], .nlabels = nlabels + 1};
	int i, ret;

	if (!sum_of(n))
		return 0;
	memcpy(s.labels, labels, nlabels * sizeof(*labels));
	s.labels[nlabels] = (struct label){"result", "hit"};
	s.value = sum_of(n) - n[ABI_ES_MISS];
	ret = series_push(to, &s);
	s.labels[nlabels].value = "miss";
	s.value = n[ABI_ES_MISS];
	if (!ret)
		ret = series_push(to, &s);
	s.desc = &metric_list[METRIC_EXT4_ES_HITS];
	for (i = 0; !ret && kinds && i < ABI_ES_MISS; i++) {
		s.labels[nlabels] = (struct label){"kind", ext4_es_hit_kinds[i]};
		s.value = n[i];
		ret = series_push(to, &s);
	}
	return ret;
}

static int push_count(struct source_report *to, const struct label *labels, uint32_t nlabels,
		      const struct es_count *c, bool kinds)
{
	int ret = ext4_es_push_results(&to->interval.series, labels, nlabels, c->interval, kinds);

	if (ret)
		return ret;
	return ext4_es_push_results(&to->total.series, labels, nlabels, c->total, kinds);
}

int ext4_es_push(struct ext4_es *es, struct source_report *to)
{
	struct label labels[SERIES_LABELS];
	struct es_dev *d;
	uint32_t cpu, n;
	int ret = 0;

	for (d = es->first; !ret && d; d = d->next) {
		n = ext4_names_labels(es->args.names, d->kdev, labels, 0);
		ret = push_count(to, labels, n, &d->all, true);
	}
	for (d = es->first; !ret && d; d = d->next) {
		for (cpu = 0; !ret && cpu < es->args.ncpus; cpu++) {
			labels[0] = (struct label){"cpu", es->args.cpu_names[cpu]};
			n = ext4_names_labels(es->args.names, d->kdev, labels, 1);
			ret = push_count(to, labels, n, &d->cpus[cpu], es->args.cpu_kinds);
		}
	}
	return ret;
}

void ext4_es_close(struct ext4_es *es)
{
	struct es_dev *d, *next;

	if (!es)
		return;
	for (d = es->first; d; d = next) {
		next = d->next;
		free(d->cpus);
		free(d);
	}
	mapped_close(&es->map);
	free(es->seen);
	free(es->of);
	free(es);
}

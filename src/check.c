// SPDX-License-Identifier: GPL-2.0-or-later
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "names/names.h"
#include "source/sys/machine.h"
#include "source/bpf/shared.h"
#include "source/source.h"

#define LABEL_WIDTH 18
#define LABELS_LEN 128

enum way_number { PLAIN, SLOWER, GROUPS, CGROUP, WHY, WAYS };

/* A way to use a source that asks more of the kernel than the plain one. */
static const struct way {
	const char *suffix; /* as on the command line; "" is the plain way */
	size_t means;	    /* a bool of struct source_ops: a source takes it; 0: all do */
	bool lacks;	    /* what it lacks is said, as of the plain way */
} ways[WAYS] = {
	[PLAIN] = {"", 0, true},
	[SLOWER] = {" --slower", offsetof(struct source_ops, slow), false},
	[GROUPS] = {" --by pid", offsetof(struct source_ops, groups), false},
	[CGROUP] = {" -c CGROUP", 0, false},
	[WHY] = {" --why", offsetof(struct source_ops, why), true},
};

static void take_way(struct config *cfg, enum way_number number)
{
	static char root[] = "/", *list[] = {root};

	if (number == SLOWER) {
		cfg->slower = true;
		cfg->slower_ns = 1000000;
	}
	if (number == WHY)
		cfg->why = true;
	if (number == GROUPS)
		cfg->by = BY_PID;
	if (number == CGROUP)
		cfg->filter.late[ABI_FILTER_CGROUP] = (struct str_list){list, 1};
}

static int ignore_slow(void *ctx, const struct slow *w)
{
	return 0;
}

/* And, once, the parts that it lacks all the same. */
static void print_yes(const struct source *src, const char *label, bool lacks, FILE *out)
{
	const char *const *l = lacks && src->ops->lacks ? src->ops->lacks(src) : NULL;
	const char *how = src->ops->how ? src->ops->how(src) : NULL;

	fprintf(out, how ? "%-*s yes (%s)\n" : "%-*s yes\n", LABEL_WIDTH, label, how);
	for (; l && *l; l++)
		fprintf(out, "%-*s but for %s\n", LABEL_WIDTH, "", *l);
}

/* Refusals for one reason are one line: "sched, ext4   no: BPF: not permitted (...)". */
struct refusals {
	char labels[LABELS_LEN]; /* "" : none */
	struct err why;
};

static void print_refusals(struct refusals *r, FILE *out)
{
	if (r->labels[0])
		fprintf(out, "%-*s no: %s\n", LABEL_WIDTH, r->labels, r->why.text);
	r->labels[0] = '\0';
}

static void add_refusal(struct refusals *r, const char *label, const struct err *why, FILE *out)
{
	size_t n = strlen(r->labels);

	if (n && (strcmp(r->why.text, why->text) || n + strlen(label) + 3 > sizeof(r->labels))) {
		print_refusals(r, out);
		n = 0;
	}
	snprintf(r->labels + n, sizeof(r->labels) - n, "%s%s", n ? ", " : "", label); /* fits */
	r->why = *why;
}

/* Loads and attaches, says so, and lets go again. 0, or negative with the reason. */
static int try_way(const struct source_ops *ops, const struct config *base, enum way_number way,
		   const char *label, struct refusals *before, FILE *out, struct err *why)
{
	struct config cfg = *base; /* borrowed: only what the way sets is its own */
	struct names_shared names = {.args = {.btf = base->btf, .debuginfod = base->debuginfod}};
	struct shared_maps shared = {{0}};
	struct source_args args = {
		.cfg = &cfg, .on_slow = ignore_slow, .names = &names, .shared = &shared};
	struct source *src = NULL;
	int ret;

	take_way(&cfg, way);
	ret = source_open(ops, &src, &args, why);
	if (!ret) {
		print_refusals(before, out);
		print_yes(src, label, ways[way].lacks, out);
		ops->close(src);
	}
	shared_close(&shared);
	names_shared_close(&names);
	return ret;
}

/* Does it run in its plain way? Where not, there is no use in asking for more. */
static bool check_source(const struct source_ops *ops, const struct config *given,
			 struct refusals *no, FILE *out)
{
	struct config cfg = *given; /* borrowed */
	char *name = (char *)ops->name;

	if (!source_asked(given, ops)) /* what it would take to name it */
		cfg.sources = (struct str_list){&name, 1};
	for (enum way_number i = PLAIN; i < WAYS; i++) {
		struct err why = {0};
		char label[64];
		int ret;

		if (ways[i].means && !*(const bool *)((const char *)ops + ways[i].means))
			continue;
		snprintf(label, sizeof(label), "%s%s", ops->name, ways[i].suffix);
		ret = try_way(ops, &cfg, i, label, no, out, &why);
		if (ret && !why.text[0])
			err_set(&why, EXIT_CANNOT, ret, "%s", strerror(-ret));
		if (ret)
			add_refusal(no, label, &why, out);
		if (ret && !i)
			return false;
	}
	return true;
}

/* All that are of a kernel, if none is named. As a run: of those named all must, of the default
 * ones it takes one. */
int check_run(const struct config *cfg, FILE *out, bool *can, struct err *e)
{
	struct machine_fact facts[MACHINE_FACTS];
	size_t i, n = machine_facts(facts, cfg), run = 0;
	struct refusals no = {0};

	for (i = 0; i < n; i++)
		fprintf(out, "%-*s %s\n", LABEL_WIDTH, facts[i].name, facts[i].text);
	for (i = 0; source_list[i]; i++) {
		const struct source_ops *ops = source_list[i];

		if (cfg->sources.n ? !source_asked(cfg, ops) : ops->made_up)
			continue;
		if (check_source(ops, cfg, &no, out))
			run += source_asked(cfg, ops);
	}
	print_refusals(&no, out);
	*can = cfg->sources.n ? run == cfg->sources.n : run > 0;
	if (fflush(out))
		return err_sys(e, -errno, "cannot write to standard output");
	if (ferror(out)) /* before: errno is another's by now */
		return err_sys(e, -EIO, "cannot write to standard output");
	return 0;
}

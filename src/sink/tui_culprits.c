// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: what tasks waited for, as rows and as details:
 *
 *	waited for
 *	  cc1                  1,203   61.2 %   10.4 s in 1,203 waits  task
 *	  (soft interrupts)    4,921    3.1 %   527 ms in 4,921 waits  softirq
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/culprit.h"
#include "sink/printer.h"
#include "sink/tui.h"

#define NAME 40 /* columns of a name in a list */

/* "app 42": the labels of who waited. */
static const char *victim_name(const struct culprit *k, char *out, size_t len)
{
	struct series s = {.nlabels = k->nvictim};

	memcpy(s.labels, k->victim, k->nvictim * sizeof(k->victim[0]));
	return tui_label_text(&s, 0, out, len);
}

void tui_culprit_name(const struct tui *t, const struct culprit *k, char *out, size_t len)
{
	char victim[TUI_NAME] = "";

	if (k->nvictim)
		victim_name(k, victim, sizeof(victim));
	(void)snprintf(out, len, "%s%s%s%s", victim, victim[0] ? " for " : "",
		       t->page == TUI_SCHED || victim[0] ? "" : "waited for ",
		       name_culprit(k).s); /* a name is cut */
}

const char *tui_culprit_text(const struct culprit *k, uint64_t of_ns, char *out, size_t len)
{
	(void)snprintf(out, len, "%6s %%   %s in %s wait%s", word_share(k->wait_ns, of_ns, 1).s,
		       word_duration(k->wait_ns).s, word_count(k->count).s,
		       k->count == 1 ? "" : "s"); /* fits */
	return out;
}

void tui_culprit_cell(const struct tui *t, const struct tui_row *r, char *out, size_t len)
{
	char text[192];

	(void)snprintf(out, len, "%s  %s",
		       tui_culprit_text(r->r.k, r->s->sum_ns, text, sizeof(text)),
		       name_clean(r->r.k->kind).s); /* fits */
}

/* ---- details ---- */

static int by_wait(const void *a, const void *b)
{
	const struct culprit *x = *(const struct culprit *const *)a;
	const struct culprit *y = *(const struct culprit *const *)b;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns > y->wait_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static void list_pairs(struct tui_list *l, const struct culprit **v, size_t n, uint64_t sum,
		       bool victims)
{
	char name[TUI_NAME], cut[4 * NAME + 1], text[192];

	qsort(v, n, sizeof(*v), by_wait);
	for (size_t i = 0; i < n; i++) {
		line_cut(cut, sizeof(cut),
			 victims ? victim_name(v[i], name, sizeof(name)) : name_culprit(v[i]).s,
			 NAME);
		tui_list_add(l, TUI_PLAIN, "%s   %s",
			     tui_culprit_text(v[i], sum, text, sizeof(text)), cut);
	}
}

/* Those of a frame that a group waited for (`k` NULL), or all that waited for `k`. The first label
 * is who it is; the others describe it. */
static void list_matching(struct tui_list *l, const struct frame *f, const struct series *group,
			  const struct culprit *k)
{
	const struct culprit **v = calloc(f->nculprits + 1, sizeof(*v));
	uint64_t sum = 0;
	size_t n = 0;

	for (size_t i = 0; v && i < f->nculprits; i++) {
		const struct culprit *one = &f->culprits[i];

		if (!one->wait_ns || !one->nvictim)
			continue;
		if (k ? culprit_compare(one, k) != 0
		      : strcmp(one->victim[0].key, group->labels[0].key) ||
				    strcmp(one->victim[0].value, group->labels[0].value))
			continue;
		sum += one->wait_ns;
		v[n++] = one;
	}
	if (n)
		tui_list_add(l, TUI_HEADING, k ? "Who waited for it" : "What it waited for");
	if (!v)
		tui_list_add(l, TUI_PLAIN, "no memory for what was waited for");
	else
		list_pairs(l, v, n, sum, k != NULL);
	free(v);
}

void tui_detail_waited_for(struct tui_list *l, const struct series *s)
{
	const char *by = view_by(l->t->cfg->by);

	if (by && s->nlabels && !strcmp(s->labels[0].key, by))
		list_matching(l, tui_frame(l->t), s, NULL);
}

void tui_detail_culprit(struct tui_list *l, const struct culprit *k)
{
	const struct frame *f = tui_frame(l->t);
	char text[TUI_NAME];

	tui_list_add(l, TUI_HEADING, "Of all that was waited for a CPU");
	tui_list_add(l, TUI_PLAIN, "%s",
		     tui_culprit_text(k, culprit_sum(f, NULL), text, sizeof(text)));
	if (k->count)
		tui_list_add(l, TUI_PLAIN, "%s of each of these waits",
			     word_duration(k->wait_ns / k->count).s);
	if (k->cgroup)
		tui_list_add(l, TUI_PLAIN, "cgroup %s", name_clean(k->cgroup).s);
	list_matching(l, f, NULL, k);
}

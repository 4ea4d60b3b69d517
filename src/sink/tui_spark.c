// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A row's p99 over time. What it was in a report that is kept does not change, and to find a row in
 * each of sixty reports takes longer than to draw it: those of the rows drawn last are remembered.
 */
#include <math.h>
#include <stdlib.h>

#include "sink/table.h"
#include "sink/tui.h"

#define POINTS \
	128u /* reports, a power of two: no window has more columns for it than SPARKS_MOST */
#define SPARKS_MOST 120
#define ROWS 1024u /* a power of two: ten times those that one sees */
#define NOTHING (-1.0f)

static const struct quantile p99 = {PPB_P99, "99"};

/* Of reports [from, to), at most POINTS of them. */
struct spark {
	uint64_t id, from, to;
	float v[POINTS]; /* log2 of ns */
};

struct tui_sparks {
	struct spark v[ROWS];
};

void tui_sparks_free(struct tui_sparks *s)
{
	free(s);
}

/* The row as it is found in other reports: a group's is the series that is shown of it. */
static uint64_t id_of(const struct tui_row *r)
{
	struct view_row shown = r->r;

	if (!shown.s || r->kind != TUI_ROW_GROUP)
		return r->id;
	shown.first = NULL;
	return tui_row_id(&shown, 0);
}

/* Its place, whoever had it before. Without memory it is worked out anew each time. */
static struct spark *place(struct tui *t, uint64_t id, struct spark *own)
{
	struct spark *s = own;

	if (!t->sparks)
		t->sparks = calloc(1, sizeof(*t->sparks));
	if (t->sparks)
		s = &t->sparks->v[(id >> 32 ^ id) % ROWS];
	if (s == own || s->id != id)
		s->from = s->to = 0;
	s->id = id;
	return s;
}

static float value_in(const struct tui *t, const struct tui_row *r, uint64_t number)
{
	const struct hist *h = tui_hist_at(t, &r->r, number);
	uint64_t ns;

	if (!h || !h->count)
		return NOTHING;
	ns = hist_quantile(h, &p99).ns;
	return log2f((float)(ns ? ns : 1));
}

/* Makes it hold [from, to), no more than POINTS. */
static void fill(const struct tui *t, const struct tui_row *r, struct spark *s, uint64_t from,
		 uint64_t to)
{
	if (s->from == s->to || to < s->from || from > s->to)
		s->from = s->to = from;
	while (s->to < to) {
		s->v[s->to % POINTS] = value_in(t, r, s->to);
		s->to++;
		if (s->to - s->from > POINTS)
			s->from++;
	}
	while (s->from > from) {
		s->from--;
		s->v[s->from % POINTS] = value_in(t, r, s->from);
		if (s->to - s->from > POINTS)
			s->to--;
	}
}

/* In each of the last intervals; the scale is its own, from its lowest to its highest. */
void tui_draw_spark(struct tui *t, size_t line, size_t x, size_t width, const struct tui_row *r,
		    enum tui_style style)
{
	uint64_t n = width < SPARKS_MOST ? width : SPARKS_MOST, to = tui_last_shown(t) + 1, from;
	float low = INFINITY, high = -INFINITY, v;
	struct spark own, *s = place(t, id_of(r), &own);

	from = to > n ? to - n : 0;
	if (from < t->keep.gone)
		from = t->keep.gone;
	fill(t, r, s, from, to);
	for (uint64_t i = from; i < to; i++) {
		v = s->v[i % POINTS];
		low = v >= 0 ? fminf(low, v) : low;
		high = v >= 0 ? fmaxf(high, v) : high;
	}
	for (uint64_t i = from; i < to; i++) {
		/* Less than an octave is no climb: it stays near the middle. */
		float part = 0.5f + (s->v[i % POINTS] - (low + high) / 2) / fmaxf(high - low, 2);

		if (s->v[i % POINTS] >= 0)
			tui_bar(&t->canvas, line, x + width - (size_t)(to - i),
				1 + (unsigned int)(part * (TUI_EIGHTHS - 1) + 0.5f), style);
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of a frame is what adding it to an empty one makes; it outlives the frame, and stays so.
 */
#include <errno.h>
#include <string.h>

#include "core/frame_own.h"
#include "tui_frames.h"

static void assert_same_hist(const struct hist *a, const struct hist *b)
{
	assert_int_equal(!a, !b);
	if (!a)
		return;
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->sum_ns, b->sum_ns);
	assert_int_equal(a->min_ns, b->min_ns);
	assert_int_equal(a->max_ns, b->max_ns);
	assert_int_equal(a->zero, b->zero);
	assert_int_equal(a->schema, b->schema);
	assert_true(a->packed && b->packed);
	assert_int_equal(a->len, b->len);
	if (a->len)
		assert_memory_equal(a->bytes, b->bytes, a->len);
}

static void assert_same_series(const struct series *a, const struct series *b)
{
	assert_ptr_equal(a->desc, b->desc);
	assert_int_equal(a->nlabels, b->nlabels);
	for (uint32_t i = 0; i < a->nlabels; i++) {
		assert_string_equal(a->labels[i].key, b->labels[i].key);
		assert_string_equal(a->labels[i].value, b->labels[i].value);
	}
	assert_int_equal(a->value, b->value);
	assert_int_equal(!a->split, !b->split);
	if (a->split)
		assert_memory_equal(a->split, b->split, sizeof(*a->split));
	assert_same_hist(a->hist, b->hist);
}

TEST(same)
{
	struct made *m = groups(3, GROUPS), *again = groups(3, GROUPS);
	struct frame_own *added = frame_own_new(), *copied;
	const struct frame *a, *b;

	assert_int_equal(hist_merge(&m->h[1], &m->h[0]), 0);
	m->s[0].split = &(struct split){.blocked_ns = 7, .run_queue_ns = 8};
	hist_free(&m->h[2]); /* none came */
	assert_int_equal(frame_own_add(added, &m->f, FRAME_THEN), 0);
	copied = frame_own_copy(&m->f);
	assert_non_null(copied);
	m->s[0].split = NULL;
	drop(m);
	a = frame_own_view(added);
	b = frame_own_view(copied);
	assert_true(a && b);
	assert_ptr_equal(frame_own_view(copied), b); /* as often as one likes */
	assert_int_equal(a->nseries, b->nseries);
	assert_true(a->nseries > GROUPS);
	for (size_t i = 0; i < a->nseries; i++)
		assert_same_series(&a->series[i], &b->series[i]);
	assert_int_equal(a->ncontended, b->ncontended);
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->dur_ns, b->dur_ns);
	/* Each is found, wherever one thinks it is, and what it has not is not. */
	for (size_t i = 0; i < again->f.nseries; i++) {
		assert_ptr_equal(frame_own_find_series(copied, &again->s[i], SIZE_MAX),
				 &b->series[i]);
		assert_ptr_equal(frame_own_find_series(copied, &again->s[i], i + 1), &b->series[i]);
		assert_ptr_equal(frame_own_find_series(copied, &again->s[i], i), &b->series[i]);
	}
	again->s[again->n - 1].labels[0].value = "no such group";
	assert_null(frame_own_find_series(copied, &again->s[again->n - 1], SIZE_MAX));
	drop(again);
	frame_own_free(added);
	frame_own_free(copied);
}

TEST(stays)
{
	struct made *m = usual(1);
	struct frame_own *copied = frame_own_copy(&m->f);

	assert_non_null(copied);
	assert_int_equal(frame_own_add(copied, &m->f, FRAME_THEN), -EINVAL);
	assert_int_equal(frame_own_subtract(copied, &m->f), -EINVAL);
	assert_int_equal(frame_own_rescale(copied, BUCKET_SCHEMA_MIN), -EINVAL);
	frame_own_free(copied);
	drop(m);
}

TEST(empty)
{
	const struct frame f = {.type = FRAME_FINAL, .end = "over"};
	struct frame_own *copied = frame_own_copy(&f);
	const struct series s = {.desc = metric_find("sched_wakeup_latency")};

	assert_non_null(copied);
	assert_int_equal(frame_own_view(copied)->nseries, 0);
	assert_string_equal(frame_own_view(copied)->end, "over");
	assert_null(frame_own_find_series(copied, &s, 0));
	frame_own_free(copied);
}

static int set_up(void **state)
{
	return bucket_table_init(&table, 5);
}

int main(void)
{
	return unit_main(set_up, NULL);
}

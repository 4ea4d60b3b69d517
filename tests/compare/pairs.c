// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pairs of sides, compared: for test_compare.py. Reads lines, "-" for stdin:
 *
 *	pair			what came before is compared and printed, one JSON object
 *	side base|new		the runs that follow are its
 *	run
 *	interval DUR_NS SUM_NS MIN_NS MAX_NS INDEX:COUNT...	Prometheus' index, schema 5
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/compare.h"

#define RUNS 16

struct pair_side {
	struct compare_run runs[RUNS];
	struct compare_row rows[RUNS];
	const struct compare_run *run_list[RUNS];
	struct compare_row *row_list[RUNS];
	size_t n;
};

static const struct quantile quantiles[] = {
	{500000000, "50"}, {900000000, "90"}, {990000000, "99"}, {999000000, "99.9"}};
#define NQ (sizeof(quantiles) / sizeof(quantiles[0]))

static void begin_run(struct pair_side *s)
{
	if (s->n == RUNS)
		errx(1, "too many runs");
	compare_run_init(&s->runs[s->n]);
	compare_row_init(&s->rows[s->n]);
	s->run_list[s->n] = &s->runs[s->n];
	s->row_list[s->n] = &s->rows[s->n];
	s->n++;
}

static void add_interval(struct pair_side *s, char *words, struct hist *h)
{
	char *word, *save = NULL, *end;
	uint64_t v[4] = {0}, n;
	int i, at;

	hist_reset(h);
	for (i = 0; i < 4; i++) {
		word = strtok_r(i ? NULL : words, " \n", &save);
		v[i] = word ? strtoull(word, NULL, 10) : 0;
	}
	while ((word = strtok_r(NULL, " \n", &save))) {
		at = (int)strtol(word, &end, 10);
		n = strtoull(end + 1, NULL, 10);
		if (*end != ':' || hist_add_slot(h, (uint32_t)(at - hist_schema_base(5)), n))
			errx(1, "bad bucket '%s'", word);
	}
	h->sum_ns = v[1];
	h->min_ns = v[2];
	h->max_ns = v[3];
	compare_run_next(&s->runs[s->n - 1], v[0]);
	if (compare_row_add(&s->rows[s->n - 1], &s->runs[s->n - 1], h))
		errx(1, "a row could not be added to");
}

static void print_pair(struct compare_work *k, struct pair_side sides[2])
{
	struct compare_side in[2];
	struct compare_result r, *list = &r;
	size_t i;

	for (i = 0; i < 2; i++)
		in[i] = (struct compare_side){sides[i].run_list, sides[i].row_list, sides[i].n};
	if (compare_rows(k, &in[0], &in[1], quantiles, NQ, &r) ||
	    compare_decide(&list, 1, COMPARE_NOISE))
		errx(1, "a pair could not be compared");
	printf("{\"blocks\":[%u,%u],\"few_runs\":%d,\"stats\":{", r.block_base, r.block_new,
	       r.few_runs);
	for (i = 0; i < NQ + COMPARE_MORE; i++) {
		static const char *const more[] = {"mean", "rate", "sum"};
		const struct compare_stat *s = &r.stats[i];

		printf("%s\"%s%s\":{\"base\":%.6f,\"new\":%.6f,\"ratio\":%.6f,\"ci\":[%.6f,%.6f],"
		       "\"p\":%.6g,\"beyond\":%" PRIu64 ",\"verdict\":\"%s\"}",
		       i ? "," : "", i < NQ ? "p" : "", i < NQ ? quantiles[i].text : more[i - NQ],
		       s->base, s->new, s->ratio, s->lo, s->hi, s->p, s->beyond,
		       compare_verdict_text(s->verdict));
	}
	printf("}}\n");
	for (i = 0; i < 2 * RUNS; i++)
		compare_row_free(&sides[i / RUNS].rows[i % RUNS]);
	sides[0].n = sides[1].n = 0;
}

int main(void)
{
	static struct pair_side sides[2];
	struct compare_work *k = compare_work_new();
	struct pair_side *s = sides;
	struct hist h;
	char *line = NULL;
	size_t size = 0;

	if (!k)
		errx(1, "no memory");
	hist_init(&h, 5);
	while (getline(&line, &size, stdin) > 0) {
		if (!strncmp(line, "interval ", 9))
			add_interval(s, line + 9, &h);
		else if (!strncmp(line, "run", 3))
			begin_run(s);
		else if (!strncmp(line, "side ", 5))
			s = &sides[line[5] == 'n'];
		else if (!strncmp(line, "pair", 4))
			print_pair(k, sides);
		else
			errx(1, "what is '%s'?", line);
	}
	free(line);
	hist_free(&h);
	compare_work_free(k);
	return 0;
}

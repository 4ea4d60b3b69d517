// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the records of both sides, a line at a time, and what of the answer is too slow. */
#include "diff.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/text.h"
#include "meta_same.h"
#include "outputs.h"
#include "record_file.h"
#include "source/privs.h"

#define QUOTED 128
#define KEY_LEN 1024

struct reader {
	struct diff *d;
	struct arena memory; /* of rows */
	void *index;	     /* struct diff_row by key: a tree */
	FILE *notes;	     /* NULL: none are wanted */
	bool force;
	struct err *e;
};

static int no_memory(struct reader *r)
{
	return err_sys(r->e, -ENOMEM, "diff");
}

/* ---- rows ---- */

static int by_key(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return strcmp(x->key, y->key);
}

static struct diff_row *new_row(struct reader *r, const struct diff_row *wanted,
				const struct series *s)
{
	struct diff *d = r->d;
	struct diff_row *row = arena_take(&r->memory, sizeof(*row));
	struct diff_row **v = reallocarray(d->rows, d->nrows + 1, sizeof(*v));

	if (v)
		d->rows = v;
	if (!row || !v)
		return NULL;
	row->desc = metric_keep(s->desc, &r->memory);
	row->key = arena_text(&r->memory, wanted->key);
	row->hash = wanted->hash;
	for (uint32_t i = 0; i < s->nlabels; i++) {
		if (series_label_describes(s, i))
			continue;
		row->labels[row->nlabels++] =
			(struct label){arena_text(&r->memory, s->labels[i].key),
				       arena_text(&r->memory, s->labels[i].value)};
		if (!row->labels[row->nlabels - 1].key || !row->labels[row->nlabels - 1].value)
			return NULL;
	}
	d->rows[d->nrows++] = row; /* from here on it is freed with all others */
	for (int side = 0; side < DIFF_SIDES; side++) {
		row->rows[side] = calloc(d->sides[side].nfiles, sizeof(*row->rows[side]));
		row->given[side] = calloc(d->sides[side].nfiles, sizeof(*row->given[side]));
		if (!row->rows[side] || !row->given[side])
			return NULL;
	}
	return row->desc && row->key && tsearch(row, &r->index, by_key) ? row : NULL;
}

static int add_series(struct reader *r, int side, size_t file, const struct series *s)
{
	struct diff_row *row, **found, wanted = {0};
	char key[KEY_LEN];
	size_t len;
	int ret;

	/* CPUs are not compared: of two runs they are not the same ones, whatever their numbers. */
	if (!s->hist || series_label(s, "cpu") || !s->hist->count)
		return 0;
	len = series_key_text(key, sizeof(key), s);
	if (!len)
		return err_set(r->e, EXIT_FAILED, -EOVERFLOW, "diff: labels of %s: too long",
			       s->desc->name);
	wanted.key = key;
	wanted.hash = text_hash(key, len);
	found = tfind(&wanted, &r->index, by_key);
	row = found ? *found : new_row(r, &wanted, s);
	if (!row)
		return no_memory(r);
	row->in[side] = true;
	row->given[side][file] = &row->rows[side][file];
	ret = compare_row_add(row->given[side][file], &r->d->sides[side].files[file].run, s->hist);
	return ret ? no_memory(r) : 0;
}

/* ---- records ---- */

static int add_record(struct reader *r, int side, size_t file, const struct record *rec)
{
	struct diff_file *f = &r->d->sides[side].files[file];
	int ret = 0;

	if (rec->type != RECORD_INTERVAL)
		return 0;
	f->intervals++;
	f->dur_ns += rec->frame.dur_ns;
	compare_run_next(&f->run, rec->frame.dur_ns);
	for (size_t i = 0; !ret && i < rec->frame.nseries; i++)
		ret = add_series(r, side, file, &rec->frame.series[i]);
	return ret;
}

static int read_records(struct reader *r, int side, size_t file, struct record_file *in)
{
	struct record rec;
	int ret;

	record_init(&rec);
	while ((ret = record_file_next(in, &rec, r->e)) > 0) {
		ret = add_record(r, side, file, &rec);
		if (ret)
			break;
	}
	record_free(&rec);
	return ret;
}

/* The first of all is what the others are held against. */
static int read_head(struct reader *r, struct diff_file *f, struct record_file *in)
{
	const struct diff_file *first = &r->d->sides[DIFF_BASE].files[0];
	int ret = record_file_begin(in, &f->head, r->e);

	if (ret || f == first || r->force)
		return ret;
	return meta_check_same(&(struct meta_named){first->path, &first->head.meta},
			       &(struct meta_named){f->path, &f->head.meta}, true, "compares them",
			       EXIT_USAGE, r->e);
}

static int read_file(struct reader *r, int side, size_t file)
{
	struct diff_file *f = &r->d->sides[side].files[file];
	struct record_file in = {0};
	int ret = record_file_open(&in, f->path, r->e);

	compare_run_init(&f->run);
	if (!ret)
		ret = read_head(r, f, &in);
	if (!ret)
		ret = read_records(r, side, file, &in);
	if (!ret && in.cut && r->notes) /* killed while it wrote */
		fprintf(r->notes,
			"waitscope: note: diff: %s ends within line %" PRIu64
			": read up to there\n",
			in.name, in.number);
	if (!ret && !f->intervals)
		ret = err_set(r->e, EXIT_FAILED, -ENODATA,
			      "diff: %s: no intervals in it (expected what -o json:FILE wrote)",
			      in.name);
	record_file_close(&in);
	return ret;
}

/* In what the runs are not of the same kernel, machine, ...: the difference may be that. */
static int note_differences(struct reader *r)
{
	const struct diff_side *s = r->d->sides;
	size_t n = 0, i;
	struct meta_named *list = calloc(s[0].nfiles + s[1].nfiles, sizeof(*list));

	if (!list)
		return no_memory(r);
	for (int side = 0; side < DIFF_SIDES; side++)
		for (i = 0; i < s[side].nfiles; i++)
			list[n++] = (struct meta_named){s[side].files[i].path,
							&s[side].files[i].head.meta};
	meta_note_differences(list, n, "diff", r->notes);
	free(list);
	return 0;
}

/* ---- comparing ---- */

static int compare_doubles(double x, double y)
{
	return (x > y) - (x < y);
}

/* Rows with the same numbers on both sides stand together, of these what has the fewest labels
 * first. */
static int compare_numbers(const void *a, const void *b)
{
	const struct diff_row *x = *(struct diff_row *const *)a, *y = *(struct diff_row *const *)b;
	const struct compare_stat *p = x->result.stats + x->result.nquantiles;
	const struct compare_stat *q = y->result.stats + y->result.nquantiles;
	int order = strcmp(x->desc->name, y->desc->name);

	order = order
			?: (x->result.count_base > y->result.count_base) -
				   (x->result.count_base < y->result.count_base);
	order = order
			?: (x->result.count_new > y->result.count_new) -
				   (x->result.count_new < y->result.count_new);
	for (size_t i = 0; !order && i < COMPARE_MORE; i++)
		order = compare_doubles(p[i].base, q[i].base)
				?: compare_doubles(p[i].new, q[i].new);
	return order;
}

static int compare_for_repeats(const void *a, const void *b)
{
	const struct diff_row *x = *(struct diff_row *const *)a, *y = *(struct diff_row *const *)b;
	int order = compare_numbers(a, b);

	return order ?: (x->nlabels > y->nlabels) - (x->nlabels < y->nlabels);
}

/* Has a group all the labels that what it may be a group of has? */
static bool is_group_of(const struct diff_row *r, const struct diff_row *whole)
{
	uint32_t i, j;

	for (i = 0; i < whole->nlabels; i++) {
		for (j = 0; j < r->nlabels; j++)
			if (!strcmp(whole->labels[i].key, r->labels[j].key) &&
			    !strcmp(whole->labels[i].value, r->labels[j].value))
				break;
		if (j == r->nlabels)
			return false;
	}
	return r->nlabels > whole->nlabels;
}

static int find_repeats(struct diff *d)
{
	struct diff_row **v = calloc(d->nrows + 1, sizeof(struct diff_row *));
	size_t n = 0, i, from = 0;

	if (!v)
		return -ENOMEM;
	for (i = 0; i < d->nrows; i++)
		if (d->rows[i]->in[DIFF_BASE] && d->rows[i]->in[DIFF_NEW])
			v[n++] = d->rows[i];
	qsort(v, n, sizeof(struct diff_row *), compare_for_repeats);
	for (i = 1; i < n; i++) {
		if (compare_numbers(&v[from], &v[i]))
			from = i;
		else if (is_group_of(v[i], v[from]))
			v[i]->repeats = v[from];
	}
	free(v);
	return 0;
}

static int compare_all(struct diff *d, double noise, struct err *e)
{
	struct compare_result **list = calloc(d->nrows + 1, sizeof(struct compare_result *));
	struct compare_work *work = compare_work_new();
	size_t i, n = 0;
	int ret = list && work ? 0 : -ENOMEM;

	for (i = 0; !ret && i < d->nrows; i++) {
		struct diff_row *r = d->rows[i];
		struct compare_side side[DIFF_SIDES];
		int s;

		if (!r->in[DIFF_BASE] || !r->in[DIFF_NEW])
			continue;
		for (s = 0; s < DIFF_SIDES; s++)
			side[s] = (struct compare_side){d->sides[s].runs, r->given[s],
							d->sides[s].nfiles};
		ret = compare_rows(work, &side[DIFF_BASE], &side[DIFF_NEW], d->quantiles,
				   d->nquantiles, &r->result);
		list[n++] = &r->result;
	}
	if (!ret)
		ret = compare_decide(list, n, noise) ?: find_repeats(d);
	compare_work_free(work);
	free(list);
	return ret ? err_sys(e, ret, "diff") : 0;
}

/* ---- limits ---- */

/* Which of a row's statistics; d->quantiles has those that limits ask for. */
static size_t stat_of(const struct diff *d, const struct limit *l)
{
	size_t i = 0;

	if (l->stat == LIMIT_MEAN)
		return d->nquantiles + COMPARE_MEAN;
	if (l->stat == LIMIT_RATE)
		return d->nquantiles + COMPARE_RATE;
	if (l->stat == LIMIT_SUM)
		return d->nquantiles + COMPARE_SUM;
	while (d->quantiles[i].ppb != l->quantile.ppb)
		i++;
	return i;
}

/* The bound of the interval that says least: what is not certain is not exceeded. */
static double relative_bound(const struct limit *l, const struct compare_stat *s)
{
	return l->op == LIMIT_ABOVE || l->op == LIMIT_AT_LEAST ? s->lo : s->hi;
}

static int test_limit(const struct diff *d, const struct limit *l, FILE *notes, int *status,
		      struct err *e)
{
	char quoted[QUOTED], key[QUOTED], base[24], new[24];
	size_t i, stat = stat_of(d, l), tested = 0;
	bool whole = false;

	text_clean(quoted, sizeof(quoted), l->text, SIZE_MAX);
	for (i = 0; i < d->nrows; i++)
		whole |= d->rows[i]->desc == l->desc && !d->rows[i]->nlabels;
	for (i = 0; i < d->nrows; i++) {
		const struct diff_row *r = d->rows[i];
		const struct compare_stat *s = &r->result.stats[stat];
		struct series as = {.desc = r->desc, .nlabels = r->nlabels};

		memcpy(as.labels, r->labels, sizeof(as.labels));
		if (!r->in[DIFF_BASE] || !r->in[DIFF_NEW] || !limit_selects(l, &as, whole))
			continue;
		if (l->relative && s->hi <= 0)
			continue;
		tested++;
		if (!limit_exceeded(l, l->relative ? relative_bound(l, s) : s->new))
			continue;
		*status = EXIT_LIMIT;
		text_clean(key, sizeof(key), r->key, SIZE_MAX);
		fprintf(notes, "waitscope: --fail-if '%s': %s: %s, from %s", quoted, key,
			diff_value_text(d, stat, s->new, new),
			diff_value_text(d, stat, s->base, base));
		if (s->hi > 0)
			fprintf(notes, ": %+.1f %% (95 %%: %+.1f to %+.1f)", 100 * (s->ratio - 1),
				100 * (s->lo - 1), 100 * (s->hi - 1));
		fputc('\n', notes);
	}
	return tested ? 0
		      : err_set(e, EXIT_USAGE, -ENOENT,
				"--fail-if '%s': not tested: nothing in both records has these labels and enough samples",
				quoted);
}

static int test_limits(const struct diff *d, const struct diff_opts *o, FILE *notes, int *status,
		       struct err *e)
{
	int ret = 0, one;

	for (size_t i = 0; i < o->limits.n; i++) {
		one = test_limit(d, &o->limits.v[i], notes, status, e);
		ret = ret ? ret : one;
	}
	return ret;
}

/* ---- the whole ---- */

static int open_side(struct diff_side *s, const struct str_list *paths)
{
	s->nfiles = paths->n;
	s->files = calloc(paths->n, sizeof(*s->files));
	s->runs = calloc(paths->n, sizeof(*s->runs));
	if (!s->files || !s->runs)
		return -ENOMEM;
	for (size_t i = 0; i < paths->n; i++) {
		s->files[i].path = paths->v[i];
		record_init(&s->files[i].head);
		s->runs[i] = &s->files[i].run;
	}
	return 0;
}

static void keep_row(void *row)
{
}

static void close_all(struct reader *r)
{
	struct diff *d = r->d;

	tdestroy(r->index, keep_row);
	for (int side = 0; side < DIFF_SIDES; side++) {
		for (size_t i = 0; i < d->nrows; i++) {
			struct diff_row *row = d->rows[i];

			for (size_t j = 0; row->rows[side] && j < d->sides[side].nfiles; j++)
				compare_row_free(&row->rows[side][j]);
			free(row->rows[side]);
			free(row->given[side]);
		}
		for (size_t i = 0; d->sides[side].files && i < d->sides[side].nfiles; i++)
			record_free(&d->sides[side].files[i].head);
		free(d->sides[side].files);
		free(d->sides[side].runs);
	}
	free(d->rows);
	arena_free(&r->memory);
}

static int print_all(const struct diff *d, const struct diff_opts *o, FILE *out, struct err *e)
{
	FILE *f = o->path ? fopen(o->path, "we") : out;
	int ret = 0, closed = 0;

	if (!f)
		return err_sys(e, -errno, "cannot write to '%s'", o->path);
	if (o->format == DIFF_JSON)
		ret = diff_print_json(d, f);
	else if (o->format == DIFF_HTML)
		ret = diff_print_html(d, f);
	else if (o->format == DIFF_CSV)
		diff_print_csv(d, f);
	else
		diff_print_table(d, f);
	if (!ret && (fflush(f) || ferror(f)))
		ret = errno ? -errno : -EIO;
	if (o->path)
		closed = fclose(f);
	if (ret == -EPIPE) /* nobody reads us any more: a quiet end */
		return 0;
	return ret || closed ? err_sys(e, ret ? ret : -errno, "cannot write to %s",
				       o->path ? o->path : "standard output")
			     : 0;
}

static int run_diff(struct reader *r, struct diff_opts *o, FILE *out, FILE *notes, int *status)
{
	struct config cfg = {0};
	struct sink_args args = {.cfg = &cfg, .path = o->path};
	struct diff *d = r->d;
	int side, ret = o->run ? diff_run(o, notes, r->e) : 0;

	(void)signal(SIGPIPE, SIG_IGN); /* the write says EPIPE, or EFBIG */
	(void)signal(SIGXFSZ, SIG_IGN);
	for (side = 0; !ret && side < DIFF_SIDES; side++) {
		if (open_side(&d->sides[side], &o->sides[side]))
			ret = no_memory(r);
		d->sides[side].command = o->run ? o->words[side] : NULL;
	}
	for (side = 0; side < DIFF_SIDES; side++)
		for (size_t i = 0; !ret && i < d->sides[side].nfiles; i++)
			ret = read_file(r, side, i);
	if (!ret && r->notes)
		ret = note_differences(r);
	if (!ret)
		ret = compare_all(d, o->noise, r->e);
	/* Room for more than a table is what a window has, not a file. */
	screen_args(&args);
	d->columns = args.tty ? args.columns : 0;
	d->utf8 = screen_utf8();
	if (!ret)
		ret = print_all(d, o, out, r->e);
	return ret ? ret : test_limits(d, o, notes, status, r->e);
}

int diff_main(int argc, char **argv, FILE *out, FILE *notes, int *status, bool *bisect, bool *began,
	      struct err *e)
{
	struct diff d = {0};
	struct diff_opts o;
	struct reader r = {.d = &d, .e = e};
	int ret = diff_opts_read(&o, argc, argv, out, e);

	if (!ret)
		ret = privs_return(e);
	*status = EXIT_DONE;
	*bisect = o.bisect;
	if (!ret && !o.printed) {
		*began = true;
		memcpy(d.quantiles, o.quantiles, sizeof(d.quantiles));
		d.nquantiles = o.nquantiles;
		d.most = o.rows;
		r.force = o.force;
		r.notes = o.quiet ? NULL : notes;
		ret = run_diff(&r, &o, out, notes, status);
		close_all(&r);
	}
	diff_opts_free(&o);
	return ret;
}

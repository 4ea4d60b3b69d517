// SPDX-License-Identifier: GPL-2.0-or-later
#include "meta_same.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

#define COMMAND "command" /* as src/meta.c calls it among the filters */
#define TEXT 4096
#define SHOWN 100

static void sources_text(const struct meta *m, char *out, size_t size)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < m->nsources && at < size; i++)
		if (m->sources[i].on)
			at += (size_t)snprintf(out + at, size - at, "%s%s", at ? "," : "",
					       m->sources[i].name);
}

static void filters_text(const struct meta *m, char *out, size_t size)
{
	size_t at = 0;

	(void)snprintf(out, size, "none"); /* fits */
	for (size_t i = 0; i < m->nfilters && at < size; i++)
		if (strcmp(m->filters[i].key, COMMAND))
			at += (size_t)snprintf(out + at, size - at, "%s%s=%s", at ? " " : "",
					       m->filters[i].key, m->filters[i].value);
}

static void command_text(const struct meta *m, char *out, size_t size)
{
	(void)snprintf(out, size, "none"); /* fits */
	for (size_t i = 0; i < m->nfilters; i++)
		if (!strcmp(m->filters[i].key, COMMAND))
			(void)snprintf(out, size, "%s",
				       m->filters[i].value); /* a long one is cut */
}

static void groups_text(const struct meta *m, char *out, size_t size)
{
	(void)snprintf(out, size, "%s", m->options && m->options->by ? m->options->by : "none");
}

static void word_text(const char *word, char *out, size_t size)
{
	(void)snprintf(out, size, "%s", word ? word : "not known"); /* cut alike on both sides */
}

static void kernel_text(const struct meta *m, char *out, size_t size)
{
	word_text(m->kernel, out, size);
}

static void cpus_text(const struct meta *m, char *out, size_t size)
{
	(void)snprintf(out, size, "%u", m->cpus); /* fits */
}

static void cpu_text(const struct meta *m, char *out, size_t size)
{
	word_text(m->machine ? m->machine->cpu : NULL, out, size);
}

static void governor_text(const struct meta *m, char *out, size_t size)
{
	word_text(m->machine ? m->machine->governor : NULL, out, size);
}

static void mitigations_text(const struct meta *m, char *out, size_t size)
{
	const char *const *w = m->machine ? m->machine->mitigations : NULL;
	size_t at = 0;

	word_text(w ? "by default" : NULL, out, size);
	for (; w && *w && at < size; w++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", at ? " " : "", *w);
}

static void version_text(const struct meta *m, char *out, size_t size)
{
	word_text(m->version, out, size);
}

static void precision_text(const struct meta *m, char *out, size_t size)
{
	(void)snprintf(out, size, "%u", m->options ? m->options->precision : 0); /* fits */
}

static const struct row {
	const char *what;
	void (*text)(const struct meta *m, char *out, size_t size);
	bool must; /* be the same */
} rows[] = {
	{"sources", sources_text, true},
	{"filters", filters_text, true},
	{"groups", groups_text, true},
	{"command", command_text, true},
	{"kernel", kernel_text, false},
	{"number of CPUs", cpus_text, false},
	{"CPU model", cpu_text, false},
	{"governor", governor_text, false},
	{"mitigations", mitigations_text, false},
	{"version of waitscope", version_text, false},
	{"--precision", precision_text, false},
};

static bool same(const struct row *row, const struct meta_named *a, const struct meta_named *b,
		 char ours[TEXT], char theirs[TEXT])
{
	row->text(a->meta, ours, TEXT);
	row->text(b->meta, theirs, TEXT);
	return !strcmp(ours, theirs);
}

int meta_check_same(const struct meta_named *a, const struct meta_named *b, bool commands,
		    const char *does, enum ws_exit exit, struct err *e)
{
	char ours[TEXT], theirs[TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].must && !(commands && rows[i].text == command_text) &&
		    !same(&rows[i], a, b, ours, theirs))
			return err_set(e, exit, -EINVAL,
				       "%s: other %s than %s: %.*s, not %.*s (--force %s all the "
				       "same)",
				       b->name, rows[i].what, a->name, SHOWN, theirs, SHOWN, ours,
				       does);
	return 0;
}

void meta_note_differences(const struct meta_named *list, size_t n, const char *who, FILE *notes)
{
	char ours[TEXT], theirs[TEXT], name[2][SHOWN], clean[2][2 * SHOWN];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t differ = 0, first = 0;

		for (size_t j = n; --j > 0;)
			if (!same(&rows[i], &list[0], &list[j], ours, theirs)) {
				differ++;
				first = j;
			}
		if (!differ)
			continue;
		(void)same(&rows[i], &list[0], &list[first], ours, theirs); /* for the texts */
		fprintf(notes, "waitscope: note: %s: %s: other %s than %s: %s, not %s", who,
			text_clean(name[1], SHOWN, list[first].name, SIZE_MAX), rows[i].what,
			text_clean(name[0], SHOWN, list[0].name, SIZE_MAX),
			text_clean(clean[1], sizeof(clean[1]), theirs, SIZE_MAX),
			text_clean(clean[0], sizeof(clean[0]), ours, SIZE_MAX));
		if (differ > 1)
			fprintf(notes, " (and so of %zu more)", differ - 1);
		fputc('\n', notes);
	}
}

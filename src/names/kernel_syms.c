// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

#define SYMBOL_BYTES_MAX (1U << 20) /* what is further from its symbol does not belong to it */
#define MODULE_MARK '\1'	    /* between a symbol and its module, in names */
#define DATA_BIT (1U << 31)	    /* of ksym.name */

static int bad_line(struct err *e, const char *line, const char *expected)
{
	return err_set(e, EXIT_FAILED, -EINVAL, "kallsyms '%.*s': expected %s",
		       (int)strcspn(line, "\n"), line, expected);
}

/* A word without blanks and control characters, cut to the room; its end, or NULL if it is empty.
 */
static const char *take_word(const char *p, const char *stop, char *out, size_t len)
{
	size_t n = 0, i;

	while ((unsigned char)p[n] > ' ' && p[n] != 0x7f && !strchr(stop, p[n]))
		n++;
	for (i = 0; i < n && i + 1 < len; i++)
		out[i] = p[i];
	out[i] = '\0';
	return n ? p + n : NULL;
}

static const char *take_hex(const char *p, uint64_t *out)
{
	int digits = 0;

	for (*out = 0; isxdigit((unsigned char)*p); p++, digits++) {
		int c = tolower((unsigned char)*p);

		*out = *out << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return digits == 8 || digits == 16 ? p : NULL;
}

int ksym_line_parse(const char *line, struct ksym_line *out, struct err *e)
{
	const char *p = take_hex(line, &out->addr);

	out->module[0] = '\0';
	if (!p || *p++ != ' ')
		return bad_line(e, line, "an address of 8 or 16 hexadecimal digits and a blank");
	out->type = *p;
	if (!isalpha((unsigned char)*p++) || *p++ != ' ')
		return bad_line(e, line, "a letter for the type and a blank");
	p = take_word(p, "", out->name, sizeof(out->name));
	if (!p)
		return bad_line(e, line, "a name");
	if (*p == '\t') {
		if (*++p != '[')
			return bad_line(e, line, "a module in brackets");
		p = take_word(p + 1, "]", out->module, sizeof(out->module));
		if (!p || *p++ != ']')
			return bad_line(e, line, "a module in brackets");
	}
	return !*p || !strcmp(p, "\n") ? 0 : bad_line(e, line, "nothing more");
}

static int names_add(struct ksyms *s, const struct ksym_line *l, uint32_t *at)
{
	size_t n = strlen(l->name), m = strlen(l->module), need = n + m + 2;
	bool data = l->type && strchr("dDbB", l->type);

	if (s->names_len + need > s->names_cap) {
		size_t cap = s->names_cap ? s->names_cap + s->names_cap / 4 + need : 1U << 20;
		char *p = cap < DATA_BIT ? realloc(s->names, cap) : NULL;

		if (!p)
			return -ENOMEM;
		s->names = p;
		s->names_cap = cap;
	}
	*at = (uint32_t)s->names_len | (data ? DATA_BIT : 0);
	memcpy(s->names + s->names_len, l->name, n + 1);
	if (m) {
		s->names[s->names_len + n] = MODULE_MARK;
		memcpy(s->names + s->names_len + n + 1, l->module, m + 1);
		n += m + 1;
	}
	s->names_len += n + 1;
	return 0;
}

/* The type is no help in telling data from code: on 7.2 all of the image is "T". */
static void note_landmark(struct ksyms *s, const struct ksym_line *l)
{
	if (l->module[0])
		return;
	if (!strcmp(l->name, "init_task"))
		s->data = true;
	else if (!strcmp(l->name, "_etext"))
		s->etext = l->addr;
	else if (!strcmp(l->name, "_end"))
		s->end = l->addr;
}

static bool is_data(const struct ksyms *s, const struct ksym *sym)
{
	return sym->name & DATA_BIT || (sym->addr >= s->etext && sym->addr < s->end);
}

/*
 * Code, and data that can be written; of the rest the places only, for they end what lies before
 * them. The padding before a function (__pfx_) is none, and would double the table.
 */
static int add_line(struct ksyms *s, const struct ksym_line *l)
{
	bool wanted = strchr("tTwWdDbB", l->type) != NULL;
	uint32_t name = 0;
	int ret;

	if (!strncmp(l->name, "__pfx_", 6))
		return 0;
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap + s->cap / 4 : 1U << 16;
		struct ksym *v = realloc(s->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->v = v;
		s->cap = cap;
	}
	ret = wanted ? names_add(s, l, &name) : 0;
	if (ret)
		return ret;
	note_landmark(s, l);
	s->v[s->n++] = (struct ksym){.addr = l->addr, .name = name};
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct ksym *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* Of several at one place the first in the file, as the kernel prints it. */
	return x->name < y->name ? -1 : x->name > y->name;
}

static void shrink(struct ksyms *s)
{
	void *v = s->n ? realloc(s->v, s->n * sizeof(*s->v)) : NULL;
	void *names = s->names_len ? realloc(s->names, s->names_len) : NULL;

	if (v) {
		s->v = v;
		s->cap = s->n;
	}
	if (names) {
		s->names = names;
		s->names_cap = s->names_len;
	}
}

static int read_lines(struct ksyms *s, FILE *f)
{
	static const struct ksym_line none = {.name = ""};
	struct ksym_line l = {0};
	char *line = NULL;
	size_t cap = 0, hidden = 0;
	uint32_t zero;
	int ret = names_add(s, &none, &zero); /* offset 0 is "" */

	while (!ret && getline(&line, &cap, f) > 0) {
		if (ksym_line_parse(line, &l, NULL))
			continue;
		hidden += !l.addr;
		if (l.addr)
			ret = add_line(s, &l);
	}
	if (!ret && ferror(f))
		ret = -EIO;
	s->hidden = !s->n && hidden;
	free(line);
	return ret;
}

int ksyms_read(struct ksyms *s, FILE *f)
{
	size_t i;
	int ret;

	ksyms_free(s);
	ret = read_lines(s, f);
	if (ret) {
		ksyms_free(s);
		return ret;
	}
	for (i = 1; i < s->n && by_addr(&s->v[i - 1], &s->v[i]) <= 0; i++)
		;
	if (i < s->n) /* modules come in the order they were loaded */
		qsort(s->v, s->n, sizeof(*s->v), by_addr);
	shrink(s);
	return 0;
}

void ksyms_free(struct ksyms *s)
{
	free(s->v);
	free(s->names);
	memset(s, 0, sizeof(*s));
}

/* Of several symbols at one place the first that has a name, as the kernel does. */
bool ksyms_find(const struct ksyms *s, uint64_t addr, bool data, struct ksym_at *out)
{
	size_t end = array_upto(s->v, s->n, sizeof(*s->v), addr), i = end - 1;

	if (!end || (data && !s->data))
		return false;
	while (i && s->v[i - 1].addr == s->v[i].addr)
		i--;
	while (i + 1 < end && !s->v[i].name)
		i++;
	if (!s->v[i].name || is_data(s, &s->v[i]) != data ||
	    addr - s->v[i].addr >= SYMBOL_BYTES_MAX)
		return false;
	out->start = s->v[i].addr;
	out->end = end < s->n ? s->v[end].addr : out->start + SYMBOL_BYTES_MAX;
	out->name = s->names + (s->v[i].name & ~DATA_BIT);
	out->name_len = (int)strcspn(out->name, "\1");
	out->module = out->name[out->name_len] ? out->name + out->name_len + 1 : "";
	return true;
}

uint64_t ksyms_addr(const struct ksyms *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].name && !strcmp(s->names + (s->v[i].name & ~DATA_BIT), name))
			return s->v[i].addr;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/printer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/culprit.h"
#include "core/text.h"

#define ELLIPSIS "…"

static const char *const style_on[] = {
	[STYLE_DIM] = "\033[2m",
	[STYLE_BOLD] = "\033[1m",
	[STYLE_HEADLINE] = "\033[1;36m",
	[STYLE_BAD] = "\033[1;31m",
};

struct word word_count(uint64_t n)
{
	struct word w;

	format_count(w.s, sizeof(w.s), n);
	return w;
}

struct word word_rate(uint64_t n, uint64_t dur_ns)
{
	struct word w;

	format_rate(w.s, sizeof(w.s), n, dur_ns);
	return w;
}

struct word word_time(uint64_t ns, enum unit unit)
{
	struct word w;

	format_time(w.s, sizeof(w.s), ns, unit);
	return w;
}

struct word word_duration(uint64_t ns)
{
	struct word w;

	format_duration(w.s, sizeof(w.s), ns);
	return w;
}

struct word word_share(uint64_t part, uint64_t all, int most)
{
	struct word w;

	format_share(w.s, sizeof(w.s), part, all, most);
	return w;
}

struct word word_did(const struct holder *h, size_t i)
{
	const struct {
		const char *did;
		uint64_t ns;
	} parts[HOLDER_DID] = {{"running", h->running_ns},
			       {"runnable", h->runnable_ns},
			       {"throttled", h->throttled_ns},
			       {"blocked", h->blocked_ns}};
	struct word w = {""};

	if (parts[i].ns)
		(void)snprintf(w.s, sizeof(w.s), "%s %.40s %%", parts[i].did,
			       word_share(parts[i].ns, h->wait_ns, 0).s); /* fits */
	return w;
}

struct word word_seen(const struct holder *h)
{
	struct word w = {""};

	if (h->took_ns < h->wait_ns - h->wait_ns / 200)
		(void)snprintf(w.s, sizeof(w.s), " (%.40s %% seen)",
			       word_share(h->took_ns, h->wait_ns, 0).s); /* fits */
	return w;
}

struct name name_clean(const char *raw)
{
	struct name n;

	text_clean(n.s, sizeof(n.s), raw ? raw : "?", SIZE_MAX);
	return n;
}

struct name name_culprit(const struct culprit *k)
{
	char raw[CULPRIT_NAME_BYTES];

	return name_clean(culprit_name(k, raw, sizeof(raw)));
}

void text_join(char *out, size_t len, const char *sep, const char *raw)
{
	size_t at = strlen(out);

	(void)snprintf(out + at, len - at, "%s%s", at ? sep : "", name_clean(raw).s); /* cut */
}

void line_start(struct line *l)
{
	l->len = 0;
	l->text[0] = '\0';
}

static bool continues(char c)
{
	return (c & 0xc0) == 0x80;
}

void line_add(struct line *l, const char *fmt, ...)
{
	size_t left = sizeof(l->text) - l->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, left, fmt, ap);
	va_end(ap);
	if (n < 0) {
		l->text[l->len] = '\0';
		return;
	}
	if ((size_t)n < left) {
		l->len += (size_t)n;
		return;
	}
	/* Full: step back over a character that was split. */
	l->len = sizeof(l->text) - 1;
	while (l->len && continues(l->text[l->len - 1]))
		l->len--;
	if (l->len && (unsigned char)l->text[l->len - 1] >= 0xc0)
		l->len--;
	l->text[l->len] = '\0';
}

size_t line_width(const struct line *l)
{
	return text_width(l->text);
}

static void line_spaces(struct line *l, size_t n)
{
	line_add(l, "%*s", (int)(n < LINE_BYTES ? n : LINE_BYTES), "");
}

void line_to(struct line *l, size_t column)
{
	size_t width = line_width(l);

	if (width < column)
		line_spaces(l, column - width);
}

void line_left(struct line *l, const char *text, size_t width)
{
	size_t w = text_width(text);

	line_add(l, "%s", text);
	if (w < width)
		line_spaces(l, width - w);
}

void line_right(struct line *l, const char *text, size_t width)
{
	size_t w = text_width(text);

	if (w < width)
		line_spaces(l, width - w);
	line_add(l, "%s", text);
}

/* Bytes of the character at s, and the columns it takes. */
static size_t char_bytes(const char *s, size_t *columns)
{
	char one[8] = {*s};
	size_t n = 1;

	while (continues(s[n]) && n < sizeof(one) - 1) {
		one[n] = s[n];
		n++;
	}
	*columns = text_width(one);
	return n;
}

/* Bytes of text that fill at most `width` columns. */
static size_t fit_bytes(const char *text, size_t width)
{
	size_t used = 0, bytes = 0, n, w;

	while (text[bytes]) {
		n = char_bytes(text + bytes, &w);
		if (used + w > width)
			break;
		used += w;
		bytes += n;
	}
	return bytes;
}

/* Is there nothing to be cut, or no room for an ellipsis? Then that is done. */
static bool cut_is_done(char *out, size_t outlen, const char *text, size_t width)
{
	size_t len = strlen(text);

	if (text_width(text) <= width && len < outlen) {
		memcpy(out, text, len + 1);
		return true;
	}
	out[0] = '\0';
	return !width || outlen < sizeof(ELLIPSIS);
}

char *line_cut(char *out, size_t outlen, const char *text, size_t width)
{
	size_t bytes;

	if (cut_is_done(out, outlen, text, width))
		return out;
	bytes = fit_bytes(text, width - 1);
	while (bytes + sizeof(ELLIPSIS) > outlen || (bytes && continues(text[bytes])))
		bytes--;
	memcpy(out, text, bytes);
	memcpy(out + bytes, ELLIPSIS, sizeof(ELLIPSIS));
	return out;
}

char *line_cut_start(char *out, size_t outlen, const char *text, size_t width)
{
	const char *from = text;
	size_t w;

	if (cut_is_done(out, outlen, text, width))
		return out;
	while (*from && (text_width(from) > width - 1 || strlen(from) + sizeof(ELLIPSIS) > outlen))
		from += char_bytes(from, &w);
	memcpy(out, ELLIPSIS, sizeof(ELLIPSIS) - 1);
	memcpy(out + sizeof(ELLIPSIS) - 1, from, strlen(from) + 1);
	return out;
}

char *line_cut_middle(char *out, size_t outlen, const char *text, size_t width)
{
	size_t head = width / 3, bytes;

	/* It fits, or is too narrow for a middle. */
	if (!head || text_width(text) <= width)
		return line_cut(out, outlen, text, width);
	bytes = fit_bytes(text, head);
	if (bytes + sizeof(ELLIPSIS) > outlen)
		return line_cut(out, outlen, text, width);
	memcpy(out, text, bytes);
	line_cut_start(out + bytes, outlen - bytes, text + bytes, width - head);
	return out;
}

void printer_text(struct printer *p, enum style style, const char *text)
{
	char cut[LINE_BYTES + sizeof(ELLIPSIS)];
	bool color = p->color && style != STYLE_PLAIN;
	size_t len;

	for (size_t i = 0; i < PRINTER_VARIANTS; i++)
		p->lines[i] += p->variants >> i & 1;
	if (p->quiet)
		return;
	line_cut(cut, sizeof(cut), text, p->columns);
	for (len = strlen(cut); len && cut[len - 1] == ' '; len--)
		;
	if (color && len)
		out_text(p->out, style_on[style]);
	out_put(p->out, cut, len);
	if (color && len)
		out_text(p->out, "\033[0m");
	out_text(p->out, p->in_place ? "\033[K\n" : "\n");
}

void printer_line(struct printer *p, enum style style, const struct line *l)
{
	printer_text(p, style, l->text);
}

void printer_wrap(struct printer *p, enum style style, struct line *l, const char *item,
		  size_t indent)
{
	/* The spaces an item begins with set it apart from its neighbour, not from the edge. */
	if (line_width(l) > indent && line_width(l) + text_width(item) >= p->columns) {
		printer_line(p, style, l);
		line_start(l);
		line_spaces(l, indent);
		item += strspn(item, " ");
	}
	line_add(l, "%s", item);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What --watch names: ADDR|SYMBOL[+OFFSET][:LEN].
 *
 *	0x55d0c0ffee40:16	app_counters	libfoo.so`table+0x40:8	jiffies
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "source/privs.h"
#include "source/watch/watch.h"

#define LEN_MAX (ABI_WATCH_SLOTS * WATCH_SLOT_BYTES)
#define LINE_BYTES 64U
#define KERNEL_LOWEST 0xff00000000000000ULL /* with five levels; with four it is higher */
#define QUOTE 128

struct watch_spec {
	const char *text;   /* as given */
	char quoted[QUOTE]; /* printable */
	char name[NAME_LEN];
	uint64_t addr;
	uint64_t size; /* of the symbol; 0: an address, or not told */
	uint64_t offset;
	uint64_t len; /* 0: not given */
};

#define bad(s, e, fmt, ...) \
	err_set(e, EXIT_USAGE, -EINVAL, "--watch '%s': " fmt, (s)->quoted, ##__VA_ARGS__)

/* A whole number, with 0x in hexadecimal. */
static bool number(const char *text, size_t len, uint64_t *out)
{
	char copy[32], *end;
	int base = len > 2 && text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10;

	if (!len || len >= sizeof(copy) || !isdigit((unsigned char)text[0]))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	errno = 0;
	*out = strtoull(copy, &end, base);
	return !errno && !*end;
}

static int take_apart(struct watch_spec *s, struct err *e)
{
	const char *colon = strrchr(s->text, ':'), *plus;
	size_t len;

	if (colon && (colon == s->text || colon[-1] == ':'))
		colon = NULL; /* C++ names have pairs of them */
	len = colon ? (size_t)(colon - s->text) : strlen(s->text);
	if (colon && (!number(colon + 1, strlen(colon + 1), &s->len) ||
		      !(s->len == 1 || s->len == 2 || s->len == 4 ||
			(s->len && s->len <= LEN_MAX && s->len % WATCH_SLOT_BYTES == 0))))
		return bad(s, e, "LEN '%.20s': expected 1, 2, 4, 8, 16, 24 or 32 bytes", colon + 1);
	plus = memchr(s->text, '+', len);
	if (plus) {
		if (!number(plus + 1, len - (size_t)(plus + 1 - s->text), &s->offset))
			return bad(s, e, "expected SYMBOL+OFFSET, a number of bytes");
		len = (size_t)(plus - s->text);
	}
	if (!len || len >= sizeof(s->name))
		return bad(s, e, "expected ADDR|SYMBOL[+OFFSET][:LEN]");
	memcpy(s->name, s->text, len);
	s->name[len] = '\0';
	return 0;
}

static int user_symbol(struct watch_source *w, struct watch_spec *s, struct err *e)
{
	uint32_t pid = w->cfg->filter.pids.v[0];
	int ret = names_user_symbol(w->m.names, pid, s->name, &s->addr, &s->size);

	switch (ret) {
	case 0:
		return 1;
	case -ENOENT:
		return 0;
	case -ENOTUNIQ:
		return bad(s, e,
			   "process %" PRIu32
			   " has several variables of that name (give the address)",
			   pid);
	default:
		return err_set(e, EXIT_FAILED, ret, "--watch '%s': maps of process %" PRIu32 ": %s",
			       s->quoted, pid, strerror(-ret));
	}
}

static int kernel_symbol(struct watch_source *w, struct watch_spec *s, struct err *e)
{
	bool pid = w->cfg->filter.pids.n == 1;
	int ret = names_kernel_symbol(w->m.names, s->name, &s->addr);

	if (!ret)
		return 0;
	if (!pid)
		return err_set(
			e, EXIT_USAGE, ret,
			"--watch '%s': no variable of the kernel's%s (a process's needs -p PID)",
			s->quoted,
			ret == -EOPNOTSUPP ? ", which tells of code only (CONFIG_KALLSYMS_ALL)"
			: ret == -EACCES   ? ", which hides addresses (CAP_SYSLOG)"
					   : "");
	return bad(s, e, "process %" PRIu32 " has no variable of that name, nor has the kernel%s",
		   w->cfg->filter.pids.v[0],
		   strchr(s->name, '.') ? " (a member: as VARIABLE+OFFSET)" : "");
}

static int find(struct watch_source *w, struct watch_spec *s, struct err *e)
{
	int ret;

	if (number(s->name, strlen(s->name), &s->addr))
		return 0;
	if (isdigit((unsigned char)s->name[0]))
		return bad(s, e, "expected an address such as 0x55d0c0ffee40, or a symbol");
	ret = w->cfg->filter.pids.n == 1 ? user_symbol(w, s, e) : 0;
	if (ret < 0)
		return ret;
	return ret ? 0 : kernel_symbol(w, s, e);
}

/* What is not said: 8 bytes, or as many of them as the variable has. */
static void default_len(struct watch_spec *s)
{
	uint64_t left = s->size > s->offset ? s->size - s->offset : WATCH_SLOT_BYTES;

	if (s->len)
		return;
	s->len = WATCH_SLOT_BYTES;
	while (s->size && (s->len > left || s->addr % s->len))
		s->len /= 2;
}

static int check_user(struct watch_source *w, const struct watch_spec *s, struct err *e)
{
	const struct filter *f = &w->cfg->filter;

	if (f->pids.n != 1)
		return bad(s, e, "an address of a process's: expected one -p PID, whose it is%s",
			   f->pids.n ? " (there are several)" : "");
	if (f->follow)
		return bad(s, e, "contradicts --follow (a child's memory is another's)");
	if (!names_user_mapped(w->m.names, f->pids.v[0], s->addr))
		return bad(s, e, "0x%" PRIx64 " is not mapped in process %" PRIu32, s->addr,
			   f->pids.v[0]);
	w->user_pid = f->pids.v[0];
	return 0;
}

/*
 * Intel's processors refuse a breakpoint at an address that cannot be (its upper bits are not all
 * like the last that is translated: bit 47, or bit 56 where the kernel uses five levels of page
 * tables); AMD's take it, and it is never hit. The kernel's own reader knows which it is here, and
 * says -ERANGE of such an address, or -EFAULT; what no processor has is told without asking.
 */
static int check_kernel(struct watch_source *w, const struct watch_spec *s, struct err *e)
{
	int ret = s->addr < KERNEL_LOWEST ? -ERANGE : -EACCES;

	/* The answer would tell where the kernel is, one question at a time. */
	if (ret == -EACCES && !privs_kernel_shown(w->m.names))
		return err_set(
			e, EXIT_USAGE, ret,
			"--watch '%s': an address of the kernel's, which hides them from you "
			"(CAP_SYSLOG, kernel.kptr_restrict)",
			s->quoted);
	if (ret == -EACCES)
		ret = names_kernel_mapped(w->m.names, s->addr);
	if (ret == -ERANGE)
		return bad(s, e,
			   "0x%" PRIx64
			   " is not mapped in the kernel: no address is there, of this "
			   "processor as the kernel uses it",
			   s->addr);
	if (ret == -EFAULT)
		return bad(s, e, "0x%" PRIx64 " is not mapped in the kernel", s->addr);
	return 0; /* where it cannot be told the breakpoint's own errors do */
}

static int check_address(struct watch_source *w, const struct watch_spec *s, struct err *e)
{
	uint64_t step = s->len < WATCH_SLOT_BYTES ? s->len : WATCH_SLOT_BYTES;

	if (s->addr % step)
		return bad(s, e,
			   "0x%" PRIx64 " is not aligned: expected a multiple of %" PRIu64
			   " for %" PRIu64 " bytes (LEN 1, 2 or 4 watches fewer)",
			   s->addr, step, s->len);
	if (s->addr % LINE_BYTES + s->len > LINE_BYTES)
		return bad(s, e, "crosses a cache line at 0x%" PRIx64 " (give each line its own)",
			   (s->addr | (LINE_BYTES - 1)) + 1);
	return s->addr & KERNEL_HALF ? check_kernel(w, s, e) : check_user(w, s, e);
}

static int add_slots(struct watch_source *w, const struct watch_spec *s, struct err *e)
{
	uint32_t step = s->len < WATCH_SLOT_BYTES ? (uint32_t)s->len : WATCH_SLOT_BYTES;
	char other[QUOTE];
	uint64_t at;

	for (at = s->addr; at < s->addr + s->len; at += step) {
		for (size_t k = 0; k < w->nslots; k++)
			if (w->slots[k].addr < at + step && at < w->slots[k].addr + w->slots[k].len)
				return bad(s, e, "0x%" PRIx64 " is watched already, by '%s'", at,
					   text_clean(other, sizeof(other), w->slots[k].text,
						      SIZE_MAX));
		if (w->nslots == ABI_WATCH_SLOTS)
			return bad(
				s, e,
				"too many: there are %d debug registers, of 8 aligned bytes each",
				ABI_WATCH_SLOTS);
		w->slots[w->nslots++] = (struct watch_slot){at, step, s->text};
	}
	if (!watch_line_at(w, s->addr))
		w->lines[w->nlines++] = (struct watch_line){
			.key = {.line = s->addr >> ABI_LINE_SHIFT,
				.tgid = s->addr & KERNEL_HALF ? 0 : w->user_pid},
			.addr = s->addr,
		};
	return 0;
}

int watch_resolve(struct watch_source *w, struct err *e)
{
	const struct str_list *given = &w->cfg->watches;
	int ret = 0;

	for (size_t i = 0; !ret && i < given->n; i++) {
		struct watch_spec s = {.text = given->v[i]};

		(void)text_clean(s.quoted, sizeof(s.quoted), s.text, SIZE_MAX);
		ret = take_apart(&s, e);
		if (!ret)
			ret = find(w, &s, e);
		if (ret)
			break;
		s.addr += s.offset;
		default_len(&s);
		ret = check_address(w, &s, e);
		if (!ret)
			ret = add_slots(w, &s, e);
	}
	return ret;
}

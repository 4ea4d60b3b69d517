// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * New instruction pointers: the code around them, as BPF copied it, becomes a recipe in the map
 * that BPF asks from then on. How much is decoded in a turn is bounded; what waits longer is
 * counted as pending by BPF, sample by sample.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "insn/insn.h"
#include "source/line/line.h"

#include "line.skel.h" /* needs abi_line.h */

#define TURN_NS 100000000L
#define TURN_BUDGET_NS 5000000ULL    /* of decoding: at most 5 % of a CPU */
#define PROCESSES_PER_TURN 8	     /* whose maps are read */
#define PROCESSES_MAX 4096	     /* remembered to have been read */
#define READ_AGAIN_NS 10000000000ULL /* a number may be another process's by then */
#define FORGET_AT_PERCENT 75	     /* of the map: then the oldest processes' pointers make room */

/* ---- windows of code, as BPF copied them ---- */

/* Decoded ones are remembered: a loop has many pointers, and all in a slot come with the same
 * bytes. */
#define WINDOWS_MAX 64 /* of 32 kB */

struct window {
	struct cache_item item;
	uint64_t slot;
	uint64_t image; /* and number of the process */
	struct insn_code *code;
};

static int compare_window(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return (x->image > y->image) - (x->image < y->image);
}

static void drop_window(void *item)
{
	struct window *w = item;

	insn_code_close(w->code);
	free(w);
}

/* The pieces that were read around the pointer, without a gap. */
static void readable(const struct abi_window *r, size_t at, size_t *first, size_t *end)
{
	size_t k = at / ABI_WINDOW_PIECE, n;

	for (n = k; n < ABI_WINDOW_PIECES && r->pieces >> n & 1; n++)
		;
	*end = n * ABI_WINDOW_PIECE;
	if (*end < at)
		*end = at;
	if (at % ABI_WINDOW_PIECE && n == k)
		k++; /* its own is not there: nor is what lies before it in it */
	for (n = k; n && r->pieces >> (n - 1) & 1; n--)
		;
	*first = n * ABI_WINDOW_PIECE;
}

/* What can have run before a pointer; INSN_UNDECODED also where the code could not be read, or
 * without memory. */
static enum insn_found recipe(struct cache *windows, const struct abi_window *r,
			      struct insn_answer *out)
{
	size_t at = r->key.ip - abi_window_base(r->key.ip), first, end;
	struct window like = {
		.slot = r->key.ip / ABI_WINDOW_SLOT,
		.image = (uint64_t)r->key.image << 32 | r->key.tgid,
	};
	struct window *w;

	out->n = 0;
	readable(r, at, &first, &end);
	if (first >= at)
		return INSN_UNDECODED; /* the page of its code is not there */
	cache_trim(windows);
	w = cache_get(windows, &like, sizeof(like));
	if (!w)
		return INSN_UNDECODED;
	if (!w->code || !insn_code_is(w->code, r->code + first, end - first)) {
		insn_code_close(w->code); /* programs that make code make it anew */
		if (insn_code_open(&w->code, r->code + first, end - first))
			return INSN_UNDECODED;
	}
	return insn_code_recipe(w->code, at - first, out);
}

/* ---- into the map ---- */

/* Whose maps were read, and when. */
struct process {
	struct cache_item item;
	uint64_t id; /* image and number */
	uint64_t at_ns;
};

static int compare_process(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static uint32_t state_of(enum insn_found found)
{
	switch (found) {
	case INSN_RECIPE:
		return ABI_IP_RECIPE;
	case INSN_NO_OPERAND:
		return ABI_IP_NO_OPERAND;
	case INSN_NOT_COMPUTABLE:
		return ABI_IP_NOT_COMPUTABLE;
	case INSN_AMBIGUOUS:
		return ABI_IP_AMBIGUOUS;
	default:
		return ABI_IP_UNDECODED;
	}
}

static void guard_fill(struct abi_ip *ip, const struct insn_guard *g)
{
	ip->guard = (struct abi_guard){
		.value = g->value,
		.reg = g->reg,
		.bytes = g->bytes,
		.equal = (__u8)state_of(g->found[0]),
		.other = (__u8)state_of(g->found[1]),
	};
	memmove(ip->recipes + ABI_GUARDED, ip->recipes,
		(ABI_CANDIDATES - ABI_GUARDED) * sizeof(ip->recipes[0]));
	memcpy(ip->recipes, g->r, sizeof(g->r));
	ip->all &= ip->n <= ABI_CANDIDATES - ABI_GUARDED;
	ip->n = ip->n > ABI_CANDIDATES - ABI_GUARDED ? ABI_CANDIDATES : ip->n + ABI_GUARDED;
}

/* The map is nearly full: what came first goes. If it is still sampled it comes again. */
static void forget_oldest(struct line_ips *p)
{
	uint32_t keep = (uint32_t)((uint64_t)p->max * FORGET_AT_PERCENT / 100);

	while (p->n >= keep) {
		(void)bpf_map_delete_elem(p->map_fd, &p->known[p->first]); /* -ENOENT is fine */
		p->first = (p->first + 1) % p->max;
		p->n--;
	}
}

/*
 * Its maps, while it is there: names outlive it then. A storm of short processes is not worth all
 * that reading: those that are not remembered here come with their next new code.
 */
static void note_process(struct line_ips *p, uint32_t tgid, uint32_t image, uint64_t ip)
{
	struct process like = {.id = (uint64_t)image << 32 | tgid}, *one;
	uint64_t now = clock_mono_ns();

	one = cache_find(&p->processes, &like);
	if ((one && now - one->at_ns < READ_AGAIN_NS) || p->reads >= PROCESSES_PER_TURN)
		return;
	p->reads++;
	names_note(p->names, (struct name_process){tgid, 0}, ip, NAME_INSN);
	cache_trim(&p->processes);
	one = cache_get(&p->processes, &like, sizeof(like));
	if (one)
		one->at_ns = now;
}

void line_ips_process(struct line_ips *p, uint32_t tgid)
{
	note_process(p, tgid, 0, 0);
}

static int on_new(void *ctx, const void *data, size_t size)
{
	struct line_ips *p = ctx;
	const struct abi_window *r = data;
	struct insn_answer answer;
	struct abi_ip ip = {0};

	if (size < sizeof(*r))
		return 0; /* not ours */
	ip.state = state_of(recipe(&p->windows, r, &answer));
	ip.n = (__u16)answer.n;
	ip.all = answer.all;
	ip.space = r->space;
	memcpy(ip.recipes, answer.r, answer.n * sizeof(answer.r[0]));
	if (answer.guard.bytes)
		guard_fill(&ip, &answer.guard);
	if (r->key.tgid)
		note_process(p, r->key.tgid, r->key.image, r->key.ip);
	(void)bpf_map_update_elem(p->map_fd, &r->key, &ip, BPF_EXIST); /* gone: it comes again */
	p->known[(p->first + p->n++) % p->max] = r->key;
	forget_oldest(p);
	return clock_mono_ns() >= p->turn_ends_ns;
}

int line_ips_open(struct line_source *s, struct err *e)
{
	struct itimerspec every = {{0, TURN_NS}, {0, TURN_NS}};
	struct line_ips *p = &s->ips;
	int ret;

	cache_init(&p->windows, WINDOWS_MAX, compare_window, drop_window);
	cache_init(&p->processes, PROCESSES_MAX, compare_process, free);
	p->names = s->m.names;
	p->map_fd = bpf_map__fd(s->skel->maps.ips);
	p->max = bpf_map__max_entries(s->skel->maps.ips);
	p->known = calloc(p->max, sizeof(*p->known));
	if (!p->known)
		return err_sys(e, -ENOMEM, "line");
	p->ring = (struct ring){.what = "line: new instruction pointers", .fn = on_new, .ctx = p};
	ret = ring_open(&p->ring, bpf_map__fd(s->skel->maps.new_ips), e);
	if (ret)
		return ret;
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (p->timer_fd < 0 || timerfd_settime(p->timer_fd, 0, &every, NULL))
		return err_sys(e, -errno, "line: timer");
	return 0;
}

int line_ips_drain(struct line_ips *p, struct err *e)
{
	uint64_t turns;
	int ret;

	if (read(p->timer_fd, &turns, sizeof(turns)) < 0) {
		if (errno == EAGAIN)
			return 0; /* woken for another's sake: not our turn yet */
		return err_sys(e, -errno, "line: timer");
	}
	p->turn_ends_ns = clock_mono_ns() + TURN_BUDGET_NS;
	p->reads = 0;
	ret = ring_drain(&p->ring, e);
	return ret < 0 ? ret : 1; /* what is left waits for the next turn: that is the bound */
}

void line_ips_close(struct line_ips *p)
{
	ring_close(&p->ring);
	if (p->timer_fd >= 0)
		close(p->timer_fd);
	cache_clear(&p->processes);
	cache_clear(&p->windows);
	free(p->known);
}

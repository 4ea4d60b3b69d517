// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looking back from a pointer: what touched memory last, in all ways that lead there.
 *
 *	     test  %eax, %eax
 *	     je    1f
 *	     incq  shared
 *	     jmp   2f
 *	1:   incq  own		a sample at 2 is behind either of them
 *	2:   ...
 *
 * It passes jumps, and branches that were taken: what a loop waits for is often sampled at its
 * head. It stops at a branch that was not, with which a block ends, at calls and returns.
 *
 * Ways that differ are told apart by what a branch asked, if the register is at 2 what it was: here
 * eax is 0 if the code came by 1. It is looked at what is left if the register has the branch's
 * value, and what if it has not: ways whose branches would then have gone elsewhere are none, as
 * far back as that can be followed (EXPLORE_FAR). The program that samples asks the register. This
 * is no guess: what is left has run, or nothing has that is known.
 */
#include <stdbool.h>
#include <string.h>

#include "insn/insn_flow.h"

#define WALK_MAX 64	/* instructions, and bytes like jumps, that one look back comes by */
#define TESTS_MAX 4	/* that are tried, to decide between ways */
#define EXPLORE_FAR 40	/* instructions back, to find out whether a way can have been gone */
#define EXPLORE_MAX 160 /* in all */

/* What is taken for granted of a register, as a branch would ask. */
struct assumption {
	struct insn_test t;
	bool equal;
};

struct walk {
	const struct insn_code *c;
	const struct assumption *given; /* NULL: nothing */
	struct insn_test *tests;	/* those that were come by, TESTS_MAX at most; or NULL */
	unsigned int ntests;
	unsigned int explored; /* steps of looking further back than for operands */
	size_t pointer;
	unsigned int come_by;
	bool nothing;	/* a way on which no memory was touched, or which is not known */
	bool somewhere; /* one on which the address is gone */
	bool more;	/* than there is room for */
	struct insn_answer *out;
};

/* Whether an atomic did it is not part of the place: the arms of a jump past a lock prefix differ
 * in nothing else. */
static bool agree(const struct abi_recipe *a, const struct abi_recipe *b)
{
	return insn_same_address(a, b) && a->size == b->size &&
	       !((a->flags ^ b->flags) & ~RECIPE_LOCKED);
}

static void add_candidate(struct walk *w, const struct abi_recipe *r)
{
	struct insn_answer *a = w->out;
	unsigned int k;

	for (k = 0; k < a->n; k++)
		if (agree(&a->r[k], r)) {
			a->r[k].flags &= r->flags;
			return;
		}
	if (a->n == INSN_CANDIDATES)
		w->more = true;
	else
		a->r[a->n++] = *r;
}

static void from_all(struct walk *w, size_t at, unsigned int steps, uint64_t since);

/* ---- which ways can have been gone, by what branches asked ---- */

/* Is there a jump to it? */
static bool is_target(struct walk *w, size_t at)
{
	uint16_t k;

	for (k = w->c->first[at]; k != INSN_NOWHERE && w->come_by++ < WALK_MAX; k = w->c->next[k])
		if (insn_code_jump(w->c, k) != INSN_NOWHERE)
			return true;
	return false;
}

static void keep_test(struct walk *w, const struct insn_test *t)
{
	unsigned int k;

	for (k = 0; w->tests && k < w->ntests; k++)
		if (w->tests[k].reg == t->reg && w->tests[k].bytes == t->bytes &&
		    w->tests[k].value == t->value)
			return;
	if (w->tests && w->ntests < TESTS_MAX)
		w->tests[w->ntests++] = *t;
}

/* Can the branch at `branch` have jumped, or not have? What it asked about has to be what it was:
 * `since` says what was written after it. */
static bool can_go(struct walk *w, size_t branch, bool jumped, uint64_t since)
{
	const struct insn_code *c = w->c;
	size_t back = insn_code_previous(c, branch);
	struct insn_test t;

	if (!c->machine->test || !back || !insn_code_step(c, branch - back) ||
	    !c->machine->test(c->code, c->bytes, branch - back, branch, &t) || since >> t.reg & 1 ||
	    is_target(w, branch))
		return true;
	keep_test(w, &t);
	if (!w->given || t.reg != w->given->t.reg || t.bytes != w->given->t.bytes)
		return true;
	if (t.value == w->given->t.value)
		return (w->given->equal == t.jumps_if) == jumped;
	return !w->given->equal || !t.jumps_if == jumped; /* it is another value */
}

static bool can_come(struct walk *w, size_t at, unsigned int steps, uint64_t since);

/* The same for code that ends with the instruction at `from`. */
static bool can_come_by(struct walk *w, size_t from, bool falls, unsigned int steps, uint64_t since)
{
	const struct insn_code *c = w->c;
	struct abi_recipe r;
	uint64_t writes = 0;

	switch (c->way[from]) {
	case INSN_JUMPS:
		return !falls && can_come(w, from, steps, since);
	case INSN_BRANCHES:
		return can_go(w, from, !falls, since) && can_come(w, from, steps, since);
	case INSN_STOPS:
		return false;
	case INSN_FLOWS:
	case INSN_PADS:
	case INSN_REPEATS:
		(void)c->machine->effect(c->code, c->bytes, from, w->pointer, since, &writes, &r);
		return can_come(w, from, steps, since | writes);
	default:
		return true; /* a call: nobody knows what it wrote */
	}
}

/*
 * Can the code have come to `at`, or does every way there go by a branch that would have gone the
 * other way? It can where nobody knows: at a function's beginning, and when this took too long.
 */
static bool can_come(struct walk *w, size_t at, unsigned int steps, uint64_t since)
{
	const struct insn_code *c = w->c;
	size_t back = insn_code_previous(c, at), from;
	bool known = false;
	uint16_t k;

	if (++steps > EXPLORE_FAR || ++w->explored > EXPLORE_MAX || !back)
		return true;
	from = at - back;
	if (insn_code_step(c, from) == back) {
		known = c->way[from] != INSN_STOPS && c->way[from] != INSN_JUMPS;
		if (can_come_by(w, from, true, steps, since))
			return true;
	}
	for (k = c->first[at]; k != INSN_NOWHERE; k = c->next[k]) {
		if (++w->explored > EXPLORE_MAX)
			return true;
		from = insn_code_jump(c, k);
		if (from == INSN_NOWHERE)
			continue;
		known = true;
		if (can_come_by(w, from, false, steps, since))
			return true;
	}
	return !known && c->way[at] != INSN_PADS;
}

static bool possible(struct walk *w, size_t at, uint64_t since)
{
	return (!w->given && !w->tests) || can_come(w, at, 0, since) || !w->given;
}

/* The address is gone from the registers, but may lie on the stack still. */
static bool in_slot(struct walk *w, size_t at, uint64_t since, struct abi_recipe *r)
{
	size_t before[INSN_SLOT_FAR], from = at, back, n;

	if (!w->c->machine->slot)
		return false;
	for (n = 0; n < INSN_SLOT_FAR && !is_target(w, from); n++) {
		back = insn_code_previous(w->c, from);
		if (!back || insn_code_step(w->c, from - back) != back ||
		    w->c->way[from - back] != INSN_FLOWS)
			break;
		before[n] = from -= back;
	}
	return w->c->machine->slot(w->c->code, w->c->bytes, at, before, n, since, r);
}

/* The instruction at `at` ran; `steps` others between it and the pointer. */
static void look_at(struct walk *w, size_t at, unsigned int steps, uint64_t since)
{
	const struct insn_code *c = w->c;
	struct abi_recipe r = {0}, slot = {0};
	uint64_t writes = 0;
	enum insn_found found =
		c->machine->effect(c->code, c->bytes, at, w->pointer, since, &writes, &r);

	if (found == INSN_NOT_COMPUTABLE && in_slot(w, at, since, &r))
		found = INSN_RECIPE;
	else if (found == INSN_RECIPE && !(r.flags & RECIPE_WRITE) &&
		 in_slot(w, at, since, &slot)) {
		/* the store comes by a pointer from the same slot, loaded anew */
		c->machine->infer(c->code + w->pointer, c->bytes - w->pointer, &slot);
		r.flags |= slot.flags & (RECIPE_WRITE | RECIPE_INFERRED);
	}
	switch (found) {
	case INSN_RECIPE:
		r.back = (int16_t)((int64_t)w->pointer - (int64_t)at);
		if (possible(w, at, since | writes))
			add_candidate(w, &r);
		return;
	case INSN_NOT_COMPUTABLE:
		w->somewhere |= possible(w, at, since | writes);
		return;
	default:
		from_all(w, at, steps + 1, since | writes);
	}
}

/* The instruction at `from` jumps to where we are, or (`falls`) ends there. */
static void from_one(struct walk *w, size_t from, bool falls, unsigned int steps, uint64_t since)
{
	switch (w->c->way[from]) {
	case INSN_JUMPS:
		if (!falls)
			from_all(w, from, steps + 1, since);
		return;
	case INSN_BRANCHES:
		if (!can_go(w, from, !falls, since))
			return;
		if (!falls)
			from_all(w, from, steps + 1, since);
		else
			w->nothing |= possible(w, from, since);
		return;
	case INSN_STOPS:
		return;
	case INSN_FLOWS:
	case INSN_PADS:
	case INSN_REPEATS:
		look_at(w, from, steps, since);
		return;
	default:
		w->nothing = true;
	}
}

/* The one before in memory, and what is left of it when a jump goes past its prefix. How many can
 * go on to where we are. */
static unsigned int fall(struct walk *w, size_t at, unsigned int steps, uint64_t since)
{
	size_t back = insn_code_previous(w->c, at), k;
	unsigned int n = 0;

	for (k = back; k; k -= k < w->c->machine->align ? k : w->c->machine->align) {
		size_t from = at - k;

		if (insn_code_step(w->c, from) != k || (k != back && !is_target(w, from)))
			continue;
		n += w->c->way[from] != INSN_STOPS && w->c->way[from] != INSN_JUMPS;
		from_one(w, from, true, steps, since);
	}
	return n;
}

static void from_all(struct walk *w, size_t at, unsigned int steps, uint64_t since)
{
	const struct insn_code *c = w->c;
	uint16_t k = at < c->bytes ? c->first[at] : INSN_NOWHERE;
	unsigned int n;

	if (steps > INSN_LOOK_BACK || w->come_by++ >= WALK_MAX) {
		w->nothing |= possible(w, at, since);
		return;
	}
	n = fall(w, at, steps, since);
	for (; k != INSN_NOWHERE && w->come_by++ < WALK_MAX; k = c->next[k]) {
		size_t from = insn_code_jump(c, k);

		if (from == INSN_NOWHERE)
			continue;
		n++;
		from_one(w, from, false, steps, since);
	}
	w->nothing |= k != INSN_NOWHERE; /* more than are looked at */
	/* nobody is known to come: padding, or the first of a function, of a switch's case */
	if (!n && (at == w->pointer || c->way[at] != INSN_PADS))
		w->nothing = true;
}

static enum insn_found look(struct walk *w, size_t at)
{
	const struct insn_code *c = w->c;
	struct insn_answer *out = w->out;
	unsigned int k;

	out->n = 0;
	from_all(w, at, 0, 0);
	if (at < c->bytes && insn_code_step(c, at) && c->way[at] == INSN_REPEATS)
		look_at(w, at, 0, 0); /* interrupted in between */
	for (k = 0; k < out->n; k++)
		if (!(out->r[k].flags & RECIPE_WRITE))
			c->machine->infer(c->code + at, c->bytes - at, &out->r[k]);
	if (!out->n)
		return w->somewhere ? INSN_NOT_COMPUTABLE : INSN_NO_OPERAND;
	out->all = !w->nothing && !w->somewhere && !w->more;
	return out->n > 1 || !out->all ? INSN_AMBIGUOUS : INSN_RECIPE;
}

/* What is known if the test came out as given. */
static enum insn_found look_given(const struct insn_code *c, size_t at, const struct insn_test *t,
				  bool equal, struct abi_recipe *out)
{
	struct assumption given = {.t = *t, .equal = equal};
	struct insn_answer answer;
	struct walk w = {.c = c, .pointer = at, .given = &given, .out = &answer};
	enum insn_found found = look(&w, at);

	if (found == INSN_RECIPE)
		*out = answer.r[0];
	return found;
}

/* The test that decides most: on both of its sides, or on one. */
static void find_guard(const struct insn_code *c, size_t at, const struct insn_test *tests,
		       unsigned int n, struct insn_guard *out)
{
	unsigned int k, side, decided, most = 0;

	for (k = 0; k < n && most < 2; k++) {
		struct insn_guard g = {
			.value = tests[k].value, .reg = tests[k].reg, .bytes = tests[k].bytes};

		decided = 0;
		for (side = 0; side < 2; side++) {
			g.found[side] = look_given(c, at, &tests[k], !side, &g.r[side]);
			decided += g.found[side] != INSN_AMBIGUOUS;
		}
		if (decided > most) {
			most = decided;
			*out = g;
		}
	}
}

enum insn_found insn_code_recipe(const struct insn_code *c, size_t at, struct insn_answer *out)
{
	struct insn_test tests[TESTS_MAX];
	struct walk w = {.c = c, .pointer = at, .tests = tests, .out = out};
	enum insn_found found;

	memset(out, 0, sizeof(*out));
	if (at > c->bytes || at % c->machine->align || !insn_code_previous(c, at))
		return INSN_UNDECODED;
	found = look(&w, at);
	if (found == INSN_AMBIGUOUS)
		find_guard(c, at, tests, w.ntests, &out->guard);
	return found;
}

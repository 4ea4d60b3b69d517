/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of insn: what a machine's decoder says of single instructions. */
#ifndef WS_INSN_FLOW_H
#define WS_INSN_FLOW_H

#include "insn/insn.h"

/* Where it goes on, and whether looking back may pass it. */
enum insn_way {
	INSN_FLOWS,    /* to the next one */
	INSN_PADS,     /* the same, and does nothing: may lie where nobody comes */
	INSN_REPEATS,  /* to itself, then to the next one: a repeated string instruction */
	INSN_BREAKS,   /* comes back to the next one, after code that we do not follow */
	INSN_STOPS,    /* not to the next one: a return, a jump to where a register says */
	INSN_JUMPS,    /* to its target alone */
	INSN_BRANCHES, /* to its target, or to the next one */
	INSN_CALLS,    /* to its target; comes back to the next one */
};

struct insn_step {
	uint8_t len; /* bytes; 0: no instruction */
	uint8_t way;
};

/* What a branch asks: is the register, of 4 or 8 bytes, of that value? */
struct insn_test {
	uint64_t value;
	uint8_t reg;
	uint8_t bytes;
	bool jumps_if; /* it is (else: it is not) */
};

#define INSN_SLOT_FAR 4 /* instructions before an access that may have made its address */

struct insn_machine {
	size_t align;	   /* of instructions */
	const char *doubt; /* insn_doubt(); or NULL */
	struct insn_step (*step)(const uint8_t *code, size_t bytes);
	/* Do these bytes look like a jump, a branch or a call with a target? Where that is, from
	 * the first of them. Quick: asked of every byte. */
	bool (*jump)(const uint8_t *code, size_t bytes, int64_t *target);
	/*
	 * What the instruction at code[at] does to memory, as the registers are at code[pointer],
	 * between which instructions wrote `since` (bit per register). Not INSN_AMBIGUOUS. `back`
	 * is not filled. Its own writes come in *writes.
	 */
	enum insn_found (*effect)(const uint8_t *code, size_t bytes, size_t at, size_t pointer,
				  uint64_t since, uint64_t *writes, struct abi_recipe *r);
	/*
	 * effect() could not compute the address of the instruction at code[at]: was its base
	 * loaded from a slot of the stack by the n instructions before it (their offsets, the last
	 * one first; nobody jumps in between)? Then the recipe, but for `back`. NULL: not known of
	 * this machine.
	 */
	bool (*slot)(const uint8_t *code, size_t bytes, size_t at, const size_t *before, size_t n,
		     uint64_t since, struct abi_recipe *r);
	/* Is the branch at code[branch], right behind the instruction at code[at], such a test?
	 * NULL: not known of this machine. */
	bool (*test)(const uint8_t *code, size_t bytes, size_t at, size_t branch,
		     struct insn_test *t);
	/* insn_access(); NULL: not known of this machine. */
	size_t (*access)(const uint8_t *code, size_t before, size_t after, uint8_t *flags);
	/* A load at the pointer: does the code from there store to the same operand? */
	void (*infer)(const uint8_t *ip, size_t after, struct abi_recipe *r);
};

extern const struct insn_machine insn_x86, insn_arm64;

#define INSN_NOWHERE UINT16_MAX
#define INSN_UNKNOWN UINT8_MAX

struct insn_code {
	const struct insn_machine *machine;
	size_t bytes;
	uint8_t *code;
	/* By the offset of an instruction's first byte; found out when asked for. */
	uint8_t *len; /* 0: none begins here; INSN_UNKNOWN */
	uint8_t *way;
	uint8_t *begins; /* does the code come by it? INSN_UNKNOWN */
	/* Bytes that look like jumps, by their offsets. */
	uint16_t *first; /* jump to each offset */
	uint16_t *next;	 /* jump to the same one */
};

/* Length of the instruction at `at`, whose way is known from then on; 0: none that is valid. */
size_t insn_code_step(const struct insn_code *c, size_t at);
/* Bytes at `at` look like a jump: is it one? Its first byte, with its prefixes, or INSN_NOWHERE. */
size_t insn_code_jump(const struct insn_code *c, size_t at);
/* insn_code_open() with a machine's decoder. All that a build has can be tested anywhere. */
int insn_code_open_as(struct insn_code **out, const struct insn_machine *m, const uint8_t *code,
		      size_t bytes);
/* How long the instruction is that ends at code[at]; 0: none is known. */
size_t insn_code_previous(const struct insn_code *c, size_t at);
/* All of this for one pointer: `before` bytes end there, `after` bytes begin there. `out` is
 * written for INSN_RECIPE only. */
enum insn_found insn_recipe_as(const struct insn_machine *m, const uint8_t *code, size_t before,
			       size_t after, struct abi_recipe *out);

/* x86: bytes from the previous instruction's start to the pointer, 0 if not found. */
size_t insn_x86_previous(const uint8_t *code, size_t before);
size_t insn_x86_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags);

static inline bool insn_same_address(const struct abi_recipe *a, const struct abi_recipe *b)
{
	return a->disp == b->disp && a->base == b->base && a->index == b->index &&
	       a->shift == b->shift && a->extend == b->extend;
}

#endif

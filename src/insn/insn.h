/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memory did the code just before a sampled instruction pointer touch? Pure: bytes in, recipe
 * out.
 *
 * A timer interrupt is taken after the stalled instruction has retired, so the answer is the
 * instruction that ran before, or, where its consumer stalled, one up to three back in the same
 * run of code. Which one that was is known where but one can have been: jumps lead to many places
 * (insn_code.c). A load that is followed in its block by a store to the same operand counts as a
 * write: in read-modify-write code the samples are on the load.
 */
#ifndef WS_INSN_H
#define WS_INSN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recipe.h"

/* x86: with 64 bytes before a pointer its predecessor is found rightly in 99.99 % of libc's
 * instructions, with 32 in 99.8 %. */
#define INSN_BEFORE 64
#define INSN_AFTER 32
#define INSN_LOOK_BACK 3
#define INSN_LEN_MAX 15
#define INSN_CODE_MAX 4096 /* bytes that are decoded together */
#define INSN_CANDIDATES ABI_CANDIDATES

enum insn_found {
	INSN_RECIPE,
	INSN_NO_OPERAND,     /* nothing before it in its run of code touches memory */
	INSN_NOT_COMPUTABLE, /* a register of the address is gone, or it has many addresses */
	INSN_UNDECODED,	     /* no instruction boundary found, or no decoder in this build */
	INSN_AMBIGUOUS,	     /* it can be come to in several ways, which touch different memory */
};

/*
 * What decides between ways: the test of a branch before the pointer, of a register that nobody
 * wrote since. What is known if it is equal comes first. bytes 0: none does.
 */
struct insn_guard {
	uint64_t value;
	uint8_t reg;
	uint8_t bytes;
	enum insn_found found[2];
	struct abi_recipe r[2]; /* of INSN_RECIPE */
};

/* INSN_RECIPE: one. INSN_AMBIGUOUS: at least one; those that there was room for. */
struct insn_answer {
	uint32_t n;
	bool all; /* no other way leads there: one of them has run */
	struct abi_recipe r[INSN_CANDIDATES];
	struct insn_guard guard; /* of INSN_AMBIGUOUS */
};

/* A stretch of code. */
struct insn_code;

/* Is there a decoder for this machine's code in this build? */
bool insn_available(void);

/* What is not known of this machine's interrupts, "WHAT: WHY"; NULL: all that matters was measured.
 */
const char *insn_doubt(void);

/* Copies `code`. 0, -ENOMEM; -EINVAL: more than INSN_CODE_MAX bytes, or no decoder. */
int insn_code_open(struct insn_code **out, const uint8_t *code, size_t bytes);
void insn_code_close(struct insn_code *c); /* NULL is fine */
/* Is it of these very bytes? */
int insn_code_is(const struct insn_code *c, const uint8_t *code, size_t bytes);
/* What ran before code[at], where an instruction begins. `out` is written in any case. What is
 * found out about the code is kept. */
enum insn_found insn_code_recipe(const struct insn_code *c, size_t at, struct insn_answer *out);

/*
 * What the instruction that ends at the pointer did to memory: RECIPE_READ, _WRITE, _LOCKED; 0
 * where that cannot be told (a string move: which of its ends?). Not looked back, nothing inferred:
 * the pointer is that of a breakpoint's trap. Returns the bytes from its beginning to the pointer:
 * 0 for a repeated string instruction, whose pointer is its own until it is through.
 */
size_t insn_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags);

#endif

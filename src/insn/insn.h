/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memory did the code just before a sampled instruction pointer touch? Pure: bytes in, recipe
 * out.
 *
 * A timer interrupt is taken after the stalled instruction has retired, so the answer is the
 * previous instruction, or, where its consumer stalled, one up to three back in the same block. A
 * load that is followed in its block by a store to the same operand counts as a write: in
 * read-modify-write code the samples are on the load.
 */
#ifndef WS_INSN_H
#define WS_INSN_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "recipe.h"

/* What the samplers copy around a new instruction pointer: with 64 bytes before it its predecessor
 * is found rightly in 99.99 % of libc's instructions, with 32 in 99.8 %. */
#define INSN_BEFORE 64
#define INSN_AFTER 32
#define INSN_LOOK_BACK 3

enum insn_found {
	INSN_RECIPE,
	INSN_NO_OPERAND,     /* nothing before it in its block touches memory */
	INSN_NOT_COMPUTABLE, /* a register of the address is gone, or it has many addresses */
	INSN_UNDECODED,	     /* no instruction boundary found, or no decoder in this build */
};

/* Is there a decoder for this machine's code in this build? */
int insn_available(void);

/* What is not known of this machine's interrupts, "WHAT: WHY"; NULL: all that matters was measured.
 */
const char *insn_doubt(void);

/* `before` bytes end at the instruction pointer, `after` bytes begin there. `out` is written for
 * INSN_RECIPE only. */
enum insn_found insn_recipe(const uint8_t *code, size_t before, size_t after,
			    struct abi_recipe *out);

/*
 * What the instruction that ends at the pointer did to memory: RECIPE_READ, _WRITE, _LOCKED; 0
 * where that cannot be told (a string move: which of its ends?). Not looked back, nothing inferred:
 * the pointer is that of a breakpoint's trap. Returns the bytes from its beginning to the pointer:
 * 0 for a repeated string instruction, whose pointer is its own until it is through.
 */
size_t insn_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags);
size_t insn_x86_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags);

/* The machines' own; all that a build has can be tested on any machine. */
enum insn_found insn_x86_recipe(const uint8_t *code, size_t before, size_t after,
				struct abi_recipe *out); /* with Zydis */
enum insn_found insn_arm64_recipe(const uint8_t *code, size_t before, size_t after,
				  struct abi_recipe *out);

/* x86: bytes from the previous instruction's start to the pointer, 0 if not found; how many of the
 * tries agree is in *votes if not NULL. */
size_t insn_x86_previous(const uint8_t *code, size_t before, unsigned int *votes);

#endif

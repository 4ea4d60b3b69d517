/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recipes: how the address that an instruction touched follows from the registers some instructions
 * later. User space decodes the code around a sampled instruction pointer once (src/insn); BPF and
 * host evaluate the same way.
 *
 *	address = base + extend(index) << shift + disp (+ the thread's TLS base)
 *
 * Code that is not optimised loads a pointer from its stack and overwrites it with what it points
 * to (mov -8(%rbp),%rax; mov (%rax),%rax). The pointer is in its slot still: an indirect recipe.
 *
 *	address = *(base + low half of disp) + extend(index) << shift + high half of disp
 */
#ifndef WS_RECIPE_H
#define WS_RECIPE_H

/*
 * Registers as the samplers hand them over. x86-64: rax rcx rdx rbx rsp rbp rsi rdi r8-r15, rip.
 * arm64: x0-x30, sp, pc.
 */
#define RECIPE_REGS 33
#define RECIPE_X86_RSP 4
#define RECIPE_X86_RBP 5
#define RECIPE_X86_RIP 16
#define RECIPE_ARM64_SP 31
#define RECIPE_ARM64_PC 32
#define RECIPE_NONE 0xff

#define RECIPE_READ 1U
#define RECIPE_WRITE 2U
#define RECIPE_LOCKED 4U    /* atomic: lock prefix, xchg, LSE, exclusive pair */
#define RECIPE_INFERRED 8U  /* the write is that of a later store to the same operand */
#define RECIPE_TLS 16U	    /* add the thread's TLS base (fs) */
#define RECIPE_INDIRECT 32U /* the base is what lies in a slot of the stack: recipe_slot() */

/* How the index is made 64 bits wide. */
#define RECIPE_EXTEND_NONE 0
#define RECIPE_EXTEND_UXTW 1
#define RECIPE_EXTEND_SXTW 2

#define ABI_CANDIDATES 5 /* of a place in code that can be come to in several ways */

struct abi_recipe {
	__s64 disp; /* RECIPE_INDIRECT: two of 32 bits, see recipe_disps() */
	__u8 base;  /* number of a register, or RECIPE_NONE */
	__u8 index; /* the same */
	__u8 shift; /* of the index, 0..4 */
	__u8 extend;
	__u8 size;  /* bytes touched, 1..64 */
	__u8 flags; /* RECIPE_READ ... */
	__s16 back; /* bytes from the instruction's first one to the sampled pointer; it may lie
		     * ahead of it: a jump came back */
};

_Static_assert(sizeof(struct abi_recipe) == 16, "abi_recipe size");

/* A branch's test of a register that is still what it was: which way was taken follows from it. */
struct abi_guard {
	__u64 value;
	__u8 reg;
	__u8 bytes; /* of the register: 4 or 8; 0: there is no test */
	__u8 equal; /* what is known if it has the value: ABI_IP_* */
	__u8 other; /* and if it has not */
	__u32 pad;
};

_Static_assert(sizeof(struct abi_guard) == 16, "abi_guard size");

static inline __u64 recipe_register(const __u64 *regs, __u8 reg)
{
	return reg < RECIPE_REGS ? regs[reg] : 0;
}

static inline int guard_equal(const struct abi_guard *g, const __u64 *regs)
{
	__u64 is = recipe_register(regs, g->reg);

	return (g->bytes == 4 ? (__u32)is : is) == g->value;
}

/* The displacements of an indirect recipe: of the slot, and of what lies behind its pointer. */
static inline __s64 recipe_disps(__s32 slot, __s32 behind)
{
	return (__s64)((__u64)(__u32)behind << 32 | (__u32)slot);
}

/* Address of the 8 bytes that hold the pointer of an indirect recipe. */
static inline __u64 recipe_slot(const struct abi_recipe *r, const __u64 *regs)
{
	return recipe_register(regs, r->base) + (__u64)(__s64)(__s32)r->disp;
}

static inline __u64 recipe_index(const struct abi_recipe *r, const __u64 *regs)
{
	__u64 index = recipe_register(regs, r->index);

	if (r->extend == RECIPE_EXTEND_UXTW)
		index = (__u32)index;
	else if (r->extend == RECIPE_EXTEND_SXTW)
		index = (__u64)(__s64)(__s32)index;
	return index << (r->shift & 7);
}

/* Of an indirect recipe, with the pointer that was read. */
static inline __u64 recipe_behind(const struct abi_recipe *r, const __u64 *regs, __u64 pointer)
{
	return pointer + recipe_index(r, regs) + (__u64)(r->disp >> 32);
}

/* Of all others. */
static inline __u64 recipe_address(const struct abi_recipe *r, const __u64 *regs, __u64 tls)
{
	return recipe_register(regs, r->base) + recipe_index(r, regs) + (__u64)r->disp +
	       (r->flags & RECIPE_TLS ? tls : 0);
}

#endif

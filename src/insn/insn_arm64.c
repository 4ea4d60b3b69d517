// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * arm64, by hand: instructions are words, and those that touch memory fall into a few classes (Arm
 * ARM, C4.1 "A64 instruction set encoding", loads and stores). What is not in the table below has
 * no operand that we know of, or has many (structures of vectors, tags).
 *
 *	bits 29-27, 25-24 pick the class; Rn (9-5) is the base, Rt (4-0) what is loaded or stored
 */
#include <stdbool.h>
#include <string.h>

#include "insn/insn_flow.h"

#define LOOK_AHEAD 8
#define NOP 0xd503201fU
#define ZR 31 /* as Rt or Rm the zero register, as Rn the stack pointer */

/* What one instruction does to memory and to registers. */
struct a64 {
	bool touches, many; /* many: no one address, or none that we can tell */
	bool hint;	    /* a prefetch */
	bool writeback;
	uint64_t writes; /* bit per general register, sp is bit 31 */
	struct abi_recipe r;
};

static uint32_t bits(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & ((2U << (high - low)) - 1);
}

static int64_t sign_extend(uint32_t v, unsigned int width)
{
	return (int64_t)((uint64_t)v << (64 - width)) >> (64 - width);
}

static uint8_t way_of(uint32_t w)
{
	if (bits(w, 30, 26) == 0x05) /* b, bl */
		return bits(w, 31, 31) ? INSN_CALLS : INSN_JUMPS;
	if (bits(w, 31, 24) == 0x54 || /* b.cond */
	    bits(w, 30, 25) == 0x1a || /* cbz, cbnz */
	    bits(w, 30, 25) == 0x1b || /* tbz, tbnz */
	    bits(w, 30, 25) == 0x3a)   /* cbgt, cbeq .. of two registers, or of an immediate */
		return INSN_BRANCHES;
	if (bits(w, 31, 25) == 0x6b) /* blr; br, ret, eret */
		return bits(w, 23, 21) == 1 ? INSN_BREAKS : INSN_STOPS;
	if (bits(w, 31, 24) == 0xd4) /* brk; svc, hvc */
		return bits(w, 23, 21) == 1 ? INSN_STOPS : INSN_BREAKS;
	return w == NOP ? INSN_PADS : INSN_FLOWS;
}

static void operand(struct a64 *a, uint32_t w, uint32_t size, uint32_t flags)
{
	a->touches = true;
	a->r.base = (uint8_t)bits(w, 9, 5);
	a->r.index = RECIPE_NONE;
	a->r.size = (uint8_t)size;
	a->r.flags = (uint8_t)flags;
}

/* A general register that the instruction loads; the zero register takes nothing. */
static void loads(struct a64 *a, uint32_t reg)
{
	if (reg != ZR)
		a->writes |= 1ULL << reg;
}

/* Exclusive, ordered, compare and swap: size 00100 user o2 L o1 Rs o0 Rt2 Rn Rt */
static void exclusive(struct a64 *a, uint32_t w)
{
	bool o2 = bits(w, 23, 23), load = bits(w, 22, 22), o1 = bits(w, 21, 21);
	bool user = bits(w, 24, 24); /* as user space may: o1 is 0, cas and casp differ in size */
	bool swap = user ? o2 : o1 && (o2 || !bits(w, 31, 31));
	bool pair = user ? o2 && !bits(w, 31, 31) : !o2 && o1;
	uint32_t size = 1U << bits(w, 31, 30);

	if (user && o1)
		return; /* not allocated */
	if (pair)
		size = bits(w, 30, 30) ? 16 : 8; /* two of 8 or of 4 */
	if (swap) {				 /* cas, casp: Rs comes back as what was there */
		operand(a, w, size, RECIPE_READ | RECIPE_WRITE | RECIPE_LOCKED);
		loads(a, bits(w, 20, 16));
		if (pair)
			loads(a, bits(w, 20, 16) | 1);
		return;
	}
	operand(a, w, size, (load ? RECIPE_READ : RECIPE_WRITE) | (o2 ? 0 : RECIPE_LOCKED));
	if (load) {
		loads(a, bits(w, 4, 0));
		if (pair)
			loads(a, bits(w, 14, 10));
	} else if (!o2) {
		loads(a, bits(w, 20, 16)); /* did it succeed */
	}
}

/* Size and direction of ldr, str and their kin; false: a prefetch (sz 3, opc 2), or not allocated.
 */
static bool access_of(uint32_t w, uint32_t *size, bool *load, bool *general)
{
	uint32_t sz = bits(w, 31, 30), opc = bits(w, 23, 22);

	*general = !bits(w, 26, 26);
	if (*general) {
		if (sz == 3 && opc >= 2)
			return false; /* prfm */
		*size = 1U << sz;
		*load = opc != 0;
	} else {
		if (opc >= 2 && sz)
			return false;
		*size = opc >= 2 ? 16 : 1U << sz;
		*load = opc & 1;
	}
	return true;
}

/* Atomic memory operations: size 111 0 00 A R 1 Rs o3 opc 00 Rn Rt */
static void atomic(struct a64 *a, uint32_t w)
{
	uint32_t size = 1U << bits(w, 31, 30), o3 = bits(w, 15, 15), opc = bits(w, 14, 12);

	if (bits(w, 26, 26)) { /* ldfadd, ldbfmax ..: floats of 2 bytes at least */
		if (!opc || opc >= 4)
			operand(a, w, size == 1 ? 2 : size,
				RECIPE_READ | RECIPE_WRITE | RECIPE_LOCKED);
		return;
	}
	if (o3 && opc == 4) /* ldapr */
		operand(a, w, size, RECIPE_READ);
	else if (o3 && opc && opc < 4 && size <= 2) /* rcwclr, rcwswp, rcwset: of 8 bytes */
		operand(a, w, 8, RECIPE_READ | RECIPE_WRITE | RECIPE_LOCKED);
	else if (o3 && opc) /* 64 bytes at once, and others */
		a->many = a->touches = true;
	else
		operand(a, w, size, RECIPE_READ | RECIPE_WRITE | RECIPE_LOCKED);
	loads(a, bits(w, 4, 0));
}

/* A pair in order: sz 011001 0 L 0 Rt2 opc 10 Rn Rt; opc 0: with writeback */
static void ordered_pair(struct a64 *a, uint32_t w)
{
	uint32_t opc = bits(w, 15, 12), one = bits(w, 30, 30) ? 8 : 4;
	bool load = bits(w, 22, 22);

	if (opc > 1 && opc != 5 && opc != 7) /* ldiapp, stilp; ldap, stlp; ldapp */
		return;
	operand(a, w, 2 * one, load ? RECIPE_READ : RECIPE_WRITE);
	a->writeback = !opc;
	if (!load)
		return; /* the base has moved there before */
	loads(a, bits(w, 4, 0));
	loads(a, bits(w, 20, 16));
	if (a->writeback)
		a->r.disp = -2 * (int64_t)one; /* it has moved on */
}

/*
 * Later atomics, guarded stacks' stores: sz 011001 A R 1 Rs o3 opc how Rn Rt
 * how 0: of 16 bytes (swpp, ldclrp, rcwsetp), 1: as user space may (ldtadd, swpt), 2 and 3:
 * read-check-write's compare and swap
 */
static void wide(struct a64 *a, uint32_t w)
{
	uint32_t o3_opc = bits(w, 15, 12), how = bits(w, 11, 10);
	uint32_t both = RECIPE_READ | RECIPE_WRITE | RECIPE_LOCKED;

	if (bits(w, 31, 21) == 0x6c8 && bits(w, 20, 16) == ZR && how == 3) { /* gcsstr, gcssttr */
		operand(a, w, 8, RECIPE_WRITE);
	} else if (!bits(w, 21, 21)) {
		if (!bits(w, 23, 23) && how == 2)
			ordered_pair(a, w);
	} else if (bits(w, 31, 31)) {
		return; /* tags */
	} else if (how == 0) {
		operand(a, w, 16, both);
		loads(a, bits(w, 4, 0));
		loads(a, bits(w, 20, 16));
	} else if (how == 1) {
		operand(a, w, bits(w, 30, 30) ? 8 : 4, both);
		loads(a, bits(w, 4, 0));
	} else if (!o3_opc) {
		operand(a, w, how == 3 ? 16 : 8, both);
		loads(a, bits(w, 20, 16));
		if (how == 3)
			loads(a, bits(w, 20, 16) | 1);
	}
}

/* ldapur, stlur: sz 011 V 01 opc 0 imm9 how Rn Rt */
static void ordered_unscaled(struct a64 *a, uint32_t w)
{
	uint32_t size = 0, how = bits(w, 11, 10);
	bool load = false, general = false;

	if (how != (bits(w, 26, 26) ? 2 : 0) || !access_of(w, &size, &load, &general))
		return;
	operand(a, w, size, load ? RECIPE_READ : RECIPE_WRITE);
	a->r.disp = sign_extend(bits(w, 20, 12), 9);
	if (load && general)
		loads(a, bits(w, 4, 0));
}

static void set_index(struct a64 *a, uint32_t w, uint32_t size)
{
	uint32_t option = bits(w, 15, 13), shift = 0;

	if (bits(w, 20, 16) == ZR)
		return;
	while (bits(w, 12, 12) && 1U << shift < size)
		shift++;
	a->r.shift = (uint8_t)shift;
	a->r.index = (uint8_t)bits(w, 20, 16);
	if (option == 2)
		a->r.extend = RECIPE_EXTEND_UXTW;
	else if (option == 6)
		a->r.extend = RECIPE_EXTEND_SXTW;
}

/* ldr, str ...: immediate (unscaled, before, after, unsigned) or register offset */
static void single(struct a64 *a, uint32_t w)
{
	uint32_t size = 0, form = bits(w, 11, 10);
	bool load = false, general = false;

	if (!bits(w, 24, 24) && bits(w, 21, 21) && form != 2) {
		if (!form)
			atomic(a, w);
		return; /* pointer authentication's loads: not decoded */
	}
	if (!access_of(w, &size, &load, &general)) {
		a->hint = general && bits(w, 23, 22) == 2;
		return;
	}
	operand(a, w, size, load ? RECIPE_READ : RECIPE_WRITE);
	if (load && general)
		loads(a, bits(w, 4, 0));
	if (bits(w, 24, 24)) {
		a->r.disp = (int64_t)bits(w, 21, 10) * size;
	} else if (bits(w, 21, 21)) {
		set_index(a, w, size);
	} else {
		a->r.disp = sign_extend(bits(w, 20, 12), 9);
		a->writeback = form & 1;
		if (form == 1)
			a->r.disp = -a->r.disp; /* the base has moved on */
		else if (form == 3)
			a->r.disp = 0; /* it has moved there before */
	}
}

/* ldp, stp, with opc 3 as user space may: opc 101 V mode L imm7 Rt2 Rn Rt */
static void pair(struct a64 *a, uint32_t w)
{
	uint32_t opc = bits(w, 31, 30), mode = bits(w, 24, 23);
	bool load = bits(w, 22, 22), general = !bits(w, 26, 26);
	uint32_t one = general ? (opc & 2 ? 8 : 4) : opc == 3 ? 16 : 4U << opc;
	int64_t disp = sign_extend(bits(w, 21, 15), 7) * (int64_t)one;

	if (general && opc == 1 && !load)
		return; /* tags */
	operand(a, w, 2 * one, load ? RECIPE_READ : RECIPE_WRITE);
	if (load && general) {
		loads(a, bits(w, 4, 0));
		loads(a, bits(w, 14, 10));
	}
	a->writeback = mode & 1;
	a->r.disp = mode == 1 ? -disp : mode == 3 ? 0 : disp;
}

/* ldr of a literal: its address is the instruction's own, which is behind the pointer. */
static void literal(struct a64 *a, uint32_t w)
{
	uint32_t opc = bits(w, 31, 30);
	bool general = !bits(w, 26, 26);

	a->hint = opc == 3 && general;
	if (opc == 3)
		return;
	operand(a, w, general ? (opc == 1 ? 8 : 4) : 4U << opc, RECIPE_READ);
	a->r.base = RECIPE_ARM64_PC;
	a->r.disp = sign_extend(bits(w, 23, 5), 19) * 4;
	if (general)
		loads(a, bits(w, 4, 0));
}

/*
 * Rd of arithmetic. 31 is the stack pointer only where a plain add, sub or mask of an immediate, or
 * of an extended register, goes there.
 */
static void other_writes(struct a64 *a, uint32_t w)
{
	uint32_t op = bits(w, 28, 25), rd = bits(w, 4, 0);
	bool sp = (bits(w, 28, 23) == 0x22 && !bits(w, 29, 29)) ||   /* add, sub */
		  bits(w, 28, 23) == 0x23 ||			     /* addg, subg */
		  (bits(w, 28, 23) == 0x24 && bits(w, 30, 29) != 3); /* and, orr, eor */

	sp |= bits(w, 28, 21) == 0x59 && !bits(w, 29, 29); /* add, sub of an extended register */
	if ((op & 0xe) == 8 || (op & 7) == 5) {
		if (rd != ZR || sp)
			a->writes |= 1ULL << rd;
	} else if (op == 2) {
		a->writes |= 1ULL << rd; /* SVE: counts go to Rd, or to the stack pointer */
	} else if ((op & 7) == 7 || bits(w, 31, 21) == 0x6a9) {
		loads(a, rd); /* vectors: Rd may be general, so it is taken to be; mrs, sysl */
	} else if (bits(w, 31, 20) == 0xd57) {
		loads(a, rd); /* mrrs: a pair */
		loads(a, rd | 1);
	} else if (w == 0xd503251f) {
		loads(a, 16); /* chkfeat x16, a hint */
	}
}

/* Memory all the same, where nothing was decoded. */
static bool other_memory(uint32_t w)
{
	uint32_t op2 = bits(w, 7, 5);

	return (bits(w, 27, 27) && !bits(w, 25, 25)) ||	    /* loads and stores: tags, copies, .. */
	       (bits(w, 31, 31) && bits(w, 28, 25) == 2) || /* SVE's */
	       bits(w, 31, 25) == 0x70 ||		    /* SME's */
	       (bits(w, 31, 25) == 0x50 && !bits(w, 23, 23)) || /* several vectors at once */
	       (bits(w, 31, 8) == 0xd50b74 && (op2 == 1 || op2 == 3 || op2 == 4)); /* dc zva */
}

static struct a64 decode(uint32_t w)
{
	struct a64 a = {0};

	if (bits(w, 29, 24) == 0x08 || bits(w, 29, 24) == 0x09)
		exclusive(&a, w);
	else if (bits(w, 29, 27) == 7 && !bits(w, 25, 25))
		single(&a, w);
	else if (bits(w, 29, 27) == 5 && !bits(w, 25, 25))
		pair(&a, w);
	else if (bits(w, 29, 27) == 3 && bits(w, 25, 24) == 0)
		literal(&a, w);
	else if (bits(w, 29, 24) == 0x19 && (bits(w, 21, 21) || bits(w, 11, 10)))
		wide(&a, w);
	else if (bits(w, 29, 27) == 3 && bits(w, 25, 24) == 1 && !bits(w, 21, 21))
		ordered_unscaled(&a, w);
	if (!a.touches && !a.hint) {
		a.many = a.touches = other_memory(w);
		other_writes(&a, w);
	}
	return a;
}

static uint32_t word_at(const uint8_t *code)
{
	uint32_t w;

	memcpy(&w, code, sizeof(w));
	return w; /* code is little-endian, also on big-endian machines, which we do not run on */
}

static bool writes_address_of(uint64_t writes, const struct abi_recipe *r)
{
	return (r->base <= ZR && (writes >> r->base & 1)) ||
	       (r->index <= ZR && (writes >> r->index & 1));
}

static uint64_t all_writes(const struct a64 *a)
{
	return a->writes | (a->writeback ? 1ULL << a->r.base : 0);
}

/* As on x86: a store to the same operand further down the block makes it a write. */
static void infer_write(const uint8_t *ip, size_t after, struct abi_recipe *r)
{
	size_t k;

	for (k = 0; k < LOOK_AHEAD && 4 * (k + 1) <= after; k++) {
		struct a64 a = decode(word_at(ip + 4 * k));
		uint8_t way = way_of(word_at(ip + 4 * k));

		if (way != INSN_FLOWS && way != INSN_PADS)
			return;
		if (a.touches && !a.many && (a.r.flags & RECIPE_WRITE) && !a.writeback &&
		    r->base != RECIPE_ARM64_PC && insn_same_address(r, &a.r)) {
			r->flags |= RECIPE_WRITE | RECIPE_INFERRED |
				    (a.r.flags & RECIPE_LOCKED); /* ldxr ... stxr */
			return;
		}
		if (writes_address_of(all_writes(&a), r))
			return;
	}
}

static struct insn_step step(const uint8_t *code, size_t bytes)
{
	if (bytes < 4)
		return (struct insn_step){0};
	return (struct insn_step){.len = 4, .way = way_of(word_at(code))};
}

static bool jump(const uint8_t *code, size_t bytes, int64_t *target)
{
	uint32_t w = bytes < 4 ? 0 : word_at(code), high = 23, low = 5;

	switch (way_of(w)) {
	case INSN_JUMPS:
	case INSN_CALLS:
		high = 25;
		low = 0;
		break;
	case INSN_BRANCHES:
		if (bits(w, 30, 25) == 0x1b)
			high = 18;
		else if (bits(w, 30, 25) == 0x3a)
			high = 13;
		break;
	default:
		return false;
	}
	*target = sign_extend(bits(w, high, low), high - low + 1) * 4;
	return true;
}

static enum insn_found effect(const uint8_t *code, size_t bytes, size_t at, size_t pointer,
			      uint64_t since, uint64_t *writes, struct abi_recipe *r)
{
	struct a64 a = decode(word_at(code + at));

	*writes = all_writes(&a);
	if (!a.touches)
		return INSN_NO_OPERAND;
	if (a.many || writes_address_of(since | a.writes, &a.r))
		return INSN_NOT_COMPUTABLE;
	*r = a.r;
	if (r->base == RECIPE_ARM64_PC)
		r->disp += (int64_t)at - (int64_t)pointer;
	return INSN_RECIPE;
}

const struct insn_machine insn_arm64 = {
	.align = 4,
	.doubt = "a measured skid: how far behind the instruction that they wait for arm64 "
		 "processors take the clock's interrupt was never seen on hardware; a row may "
		 "blame a neighbour",
	.step = step,
	.jump = jump,
	.effect = effect,
	.infer = infer_write,
};

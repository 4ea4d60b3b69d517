// SPDX-License-Identifier: GPL-2.0-or-later
/* x86-64 by Zydis. */
#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <string.h>

#include "insn/insn_flow.h"

#define LOOK_AHEAD 8 /* instructions that a read-modify-write may take */

struct insn {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decoder(ZydisDecoder *d)
{
	return ZYAN_SUCCESS(ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

static bool decode(const ZydisDecoder *d, const uint8_t *code, size_t len, struct insn *out)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(d, code, len, &out->i, out->op));
}

/* ---- where an instruction goes ---- */

static bool repeats(const ZydisDecodedInstruction *i)
{
	return i->attributes &
	       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static enum insn_way way_of(const ZydisDecodedInstruction *i)
{
	bool direct = i->raw.imm[0].is_relative;

	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_INT3: /* between functions, and behind jumps that must not be guessed */
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		return INSN_STOPS;
	default:
		break;
	}
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return INSN_BRANCHES;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? INSN_JUMPS : INSN_STOPS;
	case ZYDIS_CATEGORY_CALL:
		return direct ? INSN_CALLS : INSN_BREAKS;
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		return INSN_PADS;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSRET:
		return INSN_STOPS;
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
		return INSN_BREAKS;
	default:
		return repeats(i) ? INSN_REPEATS : INSN_FLOWS;
	}
}

static bool ends_block(enum insn_way way)
{
	return way != INSN_FLOWS && way != INSN_PADS && way != INSN_REPEATS;
}

static struct insn_step step(const uint8_t *code, size_t bytes)
{
	ZydisDecodedInstruction i;
	ZydisDecoder d;

	if (!decoder(&d) || !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code, bytes, &i)))
		return (struct insn_step){0};
	return (struct insn_step){
		.len = i.length,
		.way = (uint8_t)way_of(&i),
	};
}

/* By its bytes: jcc, loop, jmp and call with 8 or 32 bits of distance. */
static bool jump(const uint8_t *code, size_t bytes, int64_t *target)
{
	size_t len = 0;
	int32_t distance;

	if ((code[0] & 0xf0) == 0x70 || (code[0] & 0xfc) == 0xe0 || code[0] == 0xeb) {
		if (bytes < 2)
			return false;
		*target = 2 + (int8_t)code[1];
		return true;
	}
	if ((code[0] & 0xfe) == 0xe8)
		len = 1;
	else if (code[0] == 0x0f && bytes > 1 && (code[1] & 0xf0) == 0x80)
		len = 2;
	if (!len || bytes < len + sizeof(distance))
		return false;
	memcpy(&distance, code + len, sizeof(distance));
	*target = (int64_t)(len + sizeof(distance)) + distance;
	return true;
}

/* ---- registers ---- */

/* Number of a general register or of rip; RECIPE_NONE for none, -1 for what we cannot know. */
static int register_number(ZydisRegister reg)
{
	if (reg == ZYDIS_REGISTER_NONE)
		return RECIPE_NONE;
	if (reg == ZYDIS_REGISTER_RIP) /* has no larger one: Zydis would say NONE */
		return RECIPE_X86_RIP;
	if (ZydisRegisterGetClass(reg) != ZYDIS_REGCLASS_GPR64)
		return -1; /* 32-bit addresses, vectors of them (VSIB) */
	return ZydisRegisterGetId(reg);
}

/* Bit per general register that it writes. */
static uint64_t all_writes(const struct insn *n)
{
	uint64_t writes = 0;
	ZyanU8 k;

	for (k = 0; k < n->i.operand_count; k++) {
		const ZydisDecodedOperand *o = &n->op[k];
		ZydisRegister wide;

		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_IP)
			continue;
		wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value);
		if (ZydisRegisterGetClass(wide) == ZYDIS_REGCLASS_GPR64)
			writes |= 1ULL << ZydisRegisterGetId(wide);
	}
	return writes;
}

static bool writes_address_of(uint64_t writes, const struct abi_recipe *r)
{
	return (r->base < RECIPE_X86_RIP && (writes >> r->base & 1)) ||
	       (r->index < RECIPE_X86_RIP && (writes >> r->index & 1));
}

/* ---- one instruction's operand ---- */

/* Operands that no data goes through: padding, hints, flushes. */
static bool touches_nothing(const struct insn *n)
{
	switch (n->i.meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_CLDEMOTE:
		return true;
	default:
		return n->i.mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
	}
}

/* The memory operand: an explicit one before that of the stack. NULL: none. */
static const ZydisDecodedOperand *memory_operand(const struct insn *n)
{
	const ZydisDecodedOperand *hidden = NULL;
	ZyanU8 k;

	if (touches_nothing(n))
		return NULL;
	for (k = 0; k < n->i.operand_count; k++) {
		const ZydisDecodedOperand *o = &n->op[k];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    !o->size)
			continue;
		if (o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
			return o;
		if (!hidden)
			hidden = o;
	}
	return hidden;
}

static uint8_t operand_flags(const struct insn *n, const ZydisDecodedOperand *o)
{
	uint8_t flags = 0;

	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		flags |= RECIPE_READ;
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		flags |= RECIPE_WRITE;
	if ((n->i.attributes & ZYDIS_ATTRIB_HAS_LOCK) || n->i.mnemonic == ZYDIS_MNEMONIC_XCHG)
		flags |= RECIPE_LOCKED;
	if (o->mem.segment == ZYDIS_REGISTER_FS)
		flags |= RECIPE_TLS;
	return flags;
}

/* bt, bts ... with the bit's number in a register reach as far from their operand as that says. */
static bool bit_string(const struct insn *n)
{
	switch (n->i.mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTC:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTS:
		return n->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default:
		return false;
	}
}

/* The operand as it stands; false if it has no one address that registers tell. `behind`: bytes
 * from the instruction's end to the pointer. */
static bool operand_recipe(const struct insn *n, const ZydisDecodedOperand *o, size_t behind,
			   struct abi_recipe *r)
{
	int base = register_number(o->mem.base), index = register_number(o->mem.index);
	size_t size = o->size / 8;

	if (base < 0 || index < 0 || o->mem.type != ZYDIS_MEMOP_TYPE_MEM || size > 64 || !size ||
	    o->mem.segment == ZYDIS_REGISTER_GS || n->i.address_width != 64 || bit_string(n))
		return false; /* gs: per-CPU data, by nature not shared */
	if (repeats(&n->i))
		return false; /* a stretch, not an address */
	*r = (struct abi_recipe){
		.disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0,
		.base = (uint8_t)base,
		.index = (uint8_t)index,
		.size = (uint8_t)size,
		.flags = operand_flags(n, o),
	};
	while (index != RECIPE_NONE && o->mem.scale >> (r->shift + 1))
		r->shift++;
	if (base == RECIPE_X86_RIP)
		r->disp -= (int64_t)behind; /* relative to this instruction's end */
	return true;
}

/* push and pop move the register that their operand's address is made of, by a known amount. */
static bool undo_stack(const struct insn *n, const ZydisDecodedOperand *o, struct abi_recipe *r)
{
	if (r->base != RECIPE_X86_RSP || r->index != RECIPE_NONE ||
	    o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
		return false;
	if (n->i.mnemonic == ZYDIS_MNEMONIC_PUSH || n->i.mnemonic == ZYDIS_MNEMONIC_PUSHFQ)
		r->disp = 0; /* now points at what was pushed */
	else if (n->i.mnemonic == ZYDIS_MNEMONIC_POP || n->i.mnemonic == ZYDIS_MNEMONIC_POPFQ)
		r->disp = -(int64_t)r->size;
	else
		return false;
	return true;
}

/* ---- a base that lies on the stack still ---- */

static uint64_t bit_of(int reg)
{
	return reg >= 0 && reg < RECIPE_X86_RIP ? 1ULL << reg : 0;
}

/* mov DISP(%rbp or %rsp), REG: all 8 bytes of it. */
static bool loads_slot(const struct insn *n, int *reg, uint8_t *base, int32_t *disp)
{
	const ZydisDecodedOperand *from = &n->op[1];
	int by;

	if (n->i.mnemonic != ZYDIS_MNEMONIC_MOV || n->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    from->type != ZYDIS_OPERAND_TYPE_MEMORY || from->size != 64 ||
	    from->mem.index != ZYDIS_REGISTER_NONE || from->mem.segment == ZYDIS_REGISTER_FS ||
	    from->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	by = register_number(from->mem.base);
	*reg = register_number(n->op[0].reg.value);
	*base = (uint8_t)by;
	*disp = (int32_t)(from->mem.disp.has_displacement ? from->mem.disp.value : 0);
	return *reg >= 0 && (by == RECIPE_X86_RSP || by == RECIPE_X86_RBP);
}

/* add SOURCE, REG: a register, which is to be the index, or a value. */
static bool adds(const struct insn *n, int reg, uint64_t gone, struct abi_recipe *r, int64_t *disp)
{
	const ZydisDecodedOperand *what = &n->op[1];
	int index;

	if (n->i.mnemonic != ZYDIS_MNEMONIC_ADD || n->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    register_number(n->op[0].reg.value) != reg)
		return false;
	if (what->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		*disp += what->imm.value.s;
		return true;
	}
	if (what->type != ZYDIS_OPERAND_TYPE_REGISTER || r->index != RECIPE_NONE)
		return false;
	index = register_number(what->reg.value);
	if (index < 0 || index == reg || gone & bit_of(index))
		return false;
	r->index = (uint8_t)index;
	r->shift = 0;
	return true;
}

static bool slot(const uint8_t *code, size_t bytes, size_t at, const size_t *before, size_t n,
		 uint64_t since, struct abi_recipe *r)
{
	const ZydisDecodedOperand *o;
	struct insn access, one;
	int64_t behind;
	ZydisDecoder d;
	int base, reg;
	int32_t disp;
	size_t k;

	if (!decoder(&d) || !decode(&d, code + at, bytes - at, &access))
		return false;
	o = memory_operand(&access);
	since |= all_writes(&access);
	if (!o || !operand_recipe(&access, o, 0, r) || r->base >= RECIPE_X86_RIP ||
	    r->flags & RECIPE_TLS || (r->index != RECIPE_NONE && since & bit_of(r->index)))
		return false;
	base = r->base;
	behind = r->disp;
	for (k = 0; k < n && decode(&d, code + before[k], bytes - before[k], &one); k++) {
		if (loads_slot(&one, &reg, &r->base, &disp) && reg == base) {
			if (since & bit_of(r->base) || (int32_t)behind != behind)
				return false;
			r->disp = recipe_disps(disp, (int32_t)behind);
			r->flags |= RECIPE_INDIRECT;
			return true;
		}
		o = memory_operand(&one);
		if (o && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return false; /* into the slot? */
		if (all_writes(&one) & bit_of(base) && !adds(&one, base, since, r, &behind))
			return false;
		since |= all_writes(&one) & ~bit_of(base);
	}
	return false;
}

/* infer_write() for an indirect recipe: the store has the pointer in a register, which was loaded
 * from the same slot anew. */
static bool infer_indirect(const struct insn *n, const ZydisDecodedOperand *o, struct abi_recipe *r,
			   int *pointer)
{
	struct abi_recipe other;
	uint8_t base;
	int32_t disp;
	int reg;

	if (o && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && operand_recipe(n, o, 0, &other) &&
	    other.base == *pointer && other.disp == r->disp >> 32 && other.index == r->index &&
	    other.shift == r->shift) {
		r->flags |= RECIPE_WRITE | RECIPE_INFERRED;
		return true;
	}
	if (loads_slot(n, &reg, &base, &disp) && base == r->base && disp == (int32_t)r->disp)
		*pointer = reg;
	else if (*pointer >= 0 && all_writes(n) & bit_of(*pointer))
		*pointer = -1;
	return false;
}

/* A load whose block goes on to store to the same operand? */
static void infer_write(const uint8_t *ip, size_t after, struct abi_recipe *r)
{
	const ZydisDecodedOperand *o;
	struct abi_recipe other;
	ZydisDecoder d;
	struct insn n;
	size_t at = 0, k;
	int pointer = -1;

	if (!decoder(&d))
		return;
	for (k = 0; k < LOOK_AHEAD && decode(&d, ip + at, after - at, &n); k++) {
		at += n.i.length;
		if (ends_block(way_of(&n.i)))
			return;
		o = memory_operand(&n);
		if (r->flags & RECIPE_INDIRECT && infer_indirect(&n, o, r, &pointer))
			return;
		/* rip: `behind` is negative here, the pointer lies before the instruction */
		if (!(r->flags & RECIPE_INDIRECT) && o &&
		    (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    operand_recipe(&n, o, -at, &other) && insn_same_address(r, &other) &&
		    !((r->flags ^ other.flags) & RECIPE_TLS)) {
			r->flags |= RECIPE_WRITE | RECIPE_INFERRED;
			return;
		}
		if (writes_address_of(all_writes(&n), r))
			return;
	}
}

static enum insn_found effect(const uint8_t *code, size_t bytes, size_t at, size_t pointer,
			      uint64_t since, uint64_t *writes, struct abi_recipe *r)
{
	const ZydisDecodedOperand *o;
	struct insn n;
	ZydisDecoder d;

	if (!decoder(&d) || !decode(&d, code + at, bytes - at, &n))
		return INSN_NO_OPERAND; /* it has been decoded before */
	*writes = all_writes(&n);
	o = memory_operand(&n);
	if (!o)
		return INSN_NO_OPERAND;
	if (!operand_recipe(&n, o, pointer - (at + n.i.length), r))
		return INSN_NOT_COMPUTABLE;
	if (!undo_stack(&n, o, r) && writes_address_of(*writes, r))
		return INSN_NOT_COMPUTABLE;
	return writes_address_of(since, r) ? INSN_NOT_COMPUTABLE : INSN_RECIPE;
}

/* test %reg,%reg or cmp $value,%reg, then je or jne. */
static bool test(const uint8_t *code, size_t bytes, size_t at, size_t branch, struct insn_test *t)
{
	struct insn compare, jcc;
	ZydisRegister reg, wide;
	ZydisDecoder d;

	if (!decoder(&d) || !decode(&d, code + at, bytes - at, &compare) ||
	    !decode(&d, code + branch, bytes - branch, &jcc))
		return false;
	if (jcc.i.mnemonic != ZYDIS_MNEMONIC_JZ && jcc.i.mnemonic != ZYDIS_MNEMONIC_JNZ)
		return false;
	reg = compare.op[0].reg.value;
	if (compare.op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    (compare.op[0].size != 32 && compare.op[0].size != 64))
		return false;
	if (compare.i.mnemonic == ZYDIS_MNEMONIC_TEST &&
	    compare.op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && compare.op[1].reg.value == reg)
		t->value = 0;
	else if (compare.i.mnemonic == ZYDIS_MNEMONIC_CMP &&
		 compare.op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		t->value = compare.op[1].imm.value.u;
	else
		return false;
	wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	t->reg = (uint8_t)ZydisRegisterGetId(wide);
	t->bytes = (uint8_t)(compare.op[0].size / 8);
	if (t->bytes == 4)
		t->value = (uint32_t)t->value;
	t->jumps_if = jcc.i.mnemonic == ZYDIS_MNEMONIC_JZ;
	return true;
}

/* ---- the instruction that a breakpoint's trap came after ---- */

/* Of two operands in memory neither of which is written down (movs, cmps) it is not known which. */
static uint8_t access_flags(const struct insn *n)
{
	const ZydisDecodedOperand *o = memory_operand(n);
	unsigned int hidden = 0;
	ZyanU8 k;

	if (!o)
		return 0;
	for (k = 0; k < n->i.operand_count; k++)
		hidden += n->op[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			  n->op[k].visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
	if (o->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT && hidden > 1)
		return 0;
	return operand_flags(n, o) & (RECIPE_READ | RECIPE_WRITE | RECIPE_LOCKED);
}

size_t insn_x86_previous(const uint8_t *code, size_t before)
{
	struct insn_code *c;
	size_t back;

	if (before > INSN_BEFORE) {
		code += before - INSN_BEFORE;
		before = INSN_BEFORE;
	}
	if (insn_code_open_as(&c, &insn_x86, code, before))
		return 0;
	back = insn_code_previous(c, before);
	insn_code_close(c);
	return back;
}

size_t insn_x86_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags)
{
	size_t back = insn_x86_previous(code, before);
	ZydisDecoder d;
	struct insn n;

	*flags = 0;
	if (!decoder(&d))
		return 0;
	if (back && decode(&d, code + before - back, back, &n) && !ends_block(way_of(&n.i)))
		*flags = access_flags(&n);
	if (*flags)
		return back;
	if (decode(&d, code + before, after, &n) && repeats(&n.i) && memory_operand(&n)) {
		*flags = access_flags(&n);
		return 0;
	}
	return back;
}

const struct insn_machine insn_x86 = {
	.align = 1,
	.step = step,
	.jump = jump,
	.effect = effect,
	.slot = slot,
	.test = test,
	.access = insn_x86_access,
	.infer = infer_write,
};

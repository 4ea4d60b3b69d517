// SPDX-License-Identifier: GPL-2.0-or-later
/* x86-64 by Zydis. */
#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <string.h>

#include "insn/insn.h"

#define STARTS 16    /* tries to fall into step with the code */
#define LOOK_AHEAD 8 /* instructions that a read-modify-write may take */
#define CHAIN (INSN_LOOK_BACK + 1)

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

/* ---- where the previous instruction begins ---- */

/* Length of the instruction at each offset before the pointer; 0: none that is valid. */
static void lengths(const ZydisDecoder *d, const uint8_t *code, size_t before, uint8_t *len)
{
	ZydisDecodedInstruction i;
	size_t at;

	for (at = 0; at < before; at++)
		len[at] = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(d, NULL, code + at,
								     before - at, &i))
				  ? i.length
				  : 0;
}

/* Follows the code from `at`; true if it comes to the pointer: then its last steps, latest first.
 */
static bool follow(const uint8_t *len, size_t before, size_t at, size_t chain[CHAIN])
{
	size_t k;

	memset(chain, 0xff, CHAIN * sizeof(*chain));
	while (at < before && len[at]) {
		for (k = CHAIN - 1; k; k--)
			chain[k] = chain[k - 1];
		chain[0] = at;
		at += len[at];
	}
	return at == before && chain[0] != SIZE_MAX;
}

/* Code falls into step after a few instructions whatever byte one starts at: most tries agree. */
static unsigned int vote(const ZydisDecoder *d, const uint8_t *code, size_t before,
			 size_t chain[CHAIN])
{
	unsigned int votes[INSN_BEFORE] = {0}, most = 0;
	size_t one[CHAIN], start, n = before < STARTS ? before : STARTS;
	uint8_t len[INSN_BEFORE];

	lengths(d, code, before, len);
	for (start = 0; start < n; start++) {
		if (!follow(len, before, start, one))
			continue;
		if (++votes[one[0]] > most) {
			most = votes[one[0]];
			memcpy(chain, one, sizeof(one));
		}
	}
	return most;
}

size_t insn_x86_previous(const uint8_t *code, size_t before, unsigned int *votes)
{
	size_t chain[CHAIN];
	unsigned int most;
	ZydisDecoder d;

	if (votes)
		*votes = 0;
	if (!decoder(&d) || !before)
		return 0;
	if (before > INSN_BEFORE) {
		code += before - INSN_BEFORE;
		before = INSN_BEFORE;
	}
	most = vote(&d, code, before, chain);
	if (votes)
		*votes = most;
	return most ? before - chain[0] : 0;
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

static bool writes_register(const struct insn *n, int number)
{
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
		if (ZydisRegisterGetClass(wide) == ZYDIS_REGCLASS_GPR64 &&
		    ZydisRegisterGetId(wide) == number)
			return true;
	}
	return false;
}

static bool writes_address_of(const struct insn *n, const struct abi_recipe *r)
{
	return (r->base != RECIPE_NONE && r->base != RECIPE_X86_RIP &&
		writes_register(n, r->base)) ||
	       (r->index != RECIPE_NONE && writes_register(n, r->index));
}

/* ---- one instruction's operand ---- */

/* It may come from elsewhere, or go there: what lies before is not what ran before. */
static bool ends_block(const struct insn *n)
{
	switch (n->i.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
		return true;
	default:
		return false;
	}
}

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
	if (n->i.attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
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

static bool same_operand(const struct abi_recipe *a, const struct abi_recipe *b)
{
	return a->disp == b->disp && a->base == b->base && a->index == b->index &&
	       a->shift == b->shift && (a->flags & RECIPE_TLS) == (b->flags & RECIPE_TLS);
}

/* A load whose block goes on to store to the same operand? */
static void infer_write(const ZydisDecoder *d, const uint8_t *ip, size_t after,
			struct abi_recipe *r)
{
	const ZydisDecodedOperand *o;
	struct abi_recipe other;
	struct insn n;
	size_t at = 0, k;

	for (k = 0; k < LOOK_AHEAD && decode(d, ip + at, after - at, &n); k++) {
		at += n.i.length;
		if (ends_block(&n))
			return;
		o = memory_operand(&n);
		/* rip: `behind` is negative here, the pointer lies before the instruction */
		if (o && (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    operand_recipe(&n, o, -at, &other) && same_operand(r, &other)) {
			r->flags |= RECIPE_WRITE | RECIPE_INFERRED;
			return;
		}
		if (writes_address_of(&n, r))
			return;
	}
}

enum insn_found insn_x86_recipe(const uint8_t *code, size_t before, size_t after,
				struct abi_recipe *out)
{
	const ZydisDecodedOperand *o = NULL;
	struct insn later[CHAIN], *n = later;
	size_t chain[CHAIN], k, j;
	struct abi_recipe r;
	ZydisDecoder d;

	if (before > INSN_BEFORE) {
		code += before - INSN_BEFORE;
		before = INSN_BEFORE;
	}
	if (!decoder(&d) || !vote(&d, code, before, chain))
		return INSN_UNDECODED;
	for (k = 0; k < CHAIN && chain[k] != SIZE_MAX; k++) {
		n = &later[k];
		if (!decode(&d, code + chain[k], before - chain[k], n))
			return INSN_UNDECODED;
		if (ends_block(n))
			return INSN_NO_OPERAND;
		o = memory_operand(n);
		if (o)
			break;
	}
	if (!o)
		return INSN_NO_OPERAND;
	if (!operand_recipe(n, o, before - chain[k] - n->i.length, &r))
		return INSN_NOT_COMPUTABLE;
	if (!undo_stack(n, o, &r) && writes_address_of(n, &r))
		return INSN_NOT_COMPUTABLE;
	for (j = 0; j < k; j++)
		if (writes_address_of(&later[j], &r))
			return INSN_NOT_COMPUTABLE;
	r.back = (uint8_t)(before - chain[k]);
	if (!(r.flags & RECIPE_WRITE))
		infer_write(&d, code + before, after, &r);
	*out = r;
	return INSN_RECIPE;
}

/* ---- the instruction that a breakpoint's trap came after ---- */

static bool repeats(const struct insn *n)
{
	return n->i.attributes &
	       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

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

size_t insn_x86_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags)
{
	size_t back = insn_x86_previous(code, before, NULL);
	ZydisDecoder d;
	struct insn n;

	*flags = 0;
	if (!decoder(&d))
		return 0;
	if (back && decode(&d, code + before - back, back, &n) && !ends_block(&n))
		*flags = access_flags(&n);
	if (*flags)
		return back;
	if (decode(&d, code + before, after, &n) && repeats(&n) && memory_operand(&n)) {
		*flags = access_flags(&n);
		return 0;
	}
	return back;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* This machine's decoder; none if this build has none for it. */
#include "insn/insn_flow.h"

#if defined(__aarch64__)
#define HERE insn_arm64
#elif defined(__x86_64__) && defined(WS_ZYDIS)
#define HERE insn_x86
#else
#define HERE none
static const struct insn_machine none;
#endif

bool insn_available(void)
{
	return HERE.step;
}

const char *insn_doubt(void)
{
	return HERE.doubt;
}

int insn_code_open(struct insn_code **out, const uint8_t *code, size_t bytes)
{
	return insn_code_open_as(out, &HERE, code, bytes);
}

size_t insn_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags)
{
	*flags = 0;
	return HERE.access ? HERE.access(code, before, after, flags) : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can have run before a pointer, by the window of code that came with it. */
#ifndef WS_LINE_CODE_H
#define WS_LINE_CODE_H

#include <linux/types.h>

#include "abi_line.h"
#include "core/cache.h"
#include "insn/insn.h"

/* A cache of decoded windows, a bounded number of them; cache_clear() ends it. */
void line_codes_init(struct cache *windows);
/* As insn_code_recipe(); also INSN_UNDECODED where the code could not be read, or without memory.
 */
enum insn_found line_code_recipe(struct cache *windows, const struct abi_window *r,
				 struct insn_answer *out);

#endif

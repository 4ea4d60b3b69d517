/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pseudonyms for the kernel's addresses, where the kernel does not show them to who runs us:
 * between the sources, which need the real ones, and the sinks, which never see them. Pure: the
 * caller brings the key.
 *
 *	0xffff888103a5c018	lock at offset 0x18 of its cache line
 *	0xd2f06b3e81c45498	its pseudonym in this run: the same in every report, and
 *				at 0x18, too
 *
 * A keyed hash (SipHash-2-4) of the cache line's address takes the place of bits 6 to 62; bit 63,
 * which says that it is the kernel's, and the place on the line stay. So what lies on one line
 * still does, and different lines have different pseudonyms (of a million, two are the same in one
 * run out of 300,000). Without the key nothing can be learnt from them, also not by comparing runs.
 */
#ifndef WS_HIDE_H
#define WS_HIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/frame.h"

#define HIDE_KEY_BYTES 16

struct hide {
	bool on;
	uint64_t key[2];
	struct arena arena; /* what the rows of the last hide_rows point to */
};

/* A new key (random bytes); from now on addresses are hidden. */
void hide_begin(struct hide *h, const uint8_t key[HIDE_KEY_BYTES]);
/* SipHash-2-4 of eight bytes, the lowest first. */
uint64_t hide_hash(const struct hide *h, uint64_t v);
/* The pseudonym of a kernel address (bit 63 is set), any other as it is. */
uint64_t hide_addr(const struct hide *h, uint64_t addr);
/*
 * A text that is about kernel address `addr`: that alone ("0xffff888103a5c018") becomes its
 * pseudonym. A kernel address within other words becomes "(hidden)", and not its pseudonym: file
 * names are among such words, and who may choose one could try out guesses. The text itself if it
 * has none; NULL: no memory.
 */
const char *hide_text(struct hide *h, uint64_t addr, const char *text);
/*
 * All kernel addresses in rows, in place; what they point to is copied where it changes, and lives
 * until the next hide_forget. 0 or -ENOMEM. Nothing happens while it is not on.
 */
int hide_rows(struct hide *h, struct contended *rows, size_t n);
/* The same of what a slow wait was for, of which *held is a copy. */
int hide_held(struct hide *h, struct slow_held *held);
void hide_forget(struct hide *h); /* the copies: before the rows of a new report */
void hide_end(struct hide *h);

#endif

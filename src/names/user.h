/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses in processes: what the worker does for main (names.h says what of). */
#ifndef WS_NAMES_USER_H
#define WS_NAMES_USER_H

#include "names/names.h"
#include "names/opener.h"
#include "names/user_proc.h"
#include "names/work.h"

#define USER_SOON_NS 100000000ULL /* for a look-up that somebody may soon wait for */
/* For one that main waits for: as long as it does, which it knows better. */
#define USER_AWAITED_NS NAMES_REPORT_NS
#define USER_TRY_NS 900000000ULL    /* for one try when nobody waits: then the file is refused */
#define USER_TRIES_NS 6000000000ULL /* for all that came to nothing */

struct user;

/* opener and work (with its list of what is refused) outlive it. 0 or negative errno. */
int user_open(struct user **out, bool debuginfod, struct opener *opener, struct work *work);
void user_close(struct user *u); /* NULL is fine */
void user_trim(struct user *u);

enum user_done {
	USER_DONE,    /* there is no more to say */
	USER_LATER,   /* there may be, to who asks again with soon false */
	USER_REFUSED, /* there may be, but that is not looked for any more */
};

struct user_ask {
	uint64_t addr;
	enum name_what what;
	uint32_t frame; /* of code */
	bool soon;	/* somebody waits */
	/* Called with what is cheap to know, before more is looked for. */
	void (*region)(void *ctx, const struct name *name);
	void *ctx;
};

int user_process(struct user *u, uint32_t pid);
enum user_done user_name(struct user *u, struct name_process who, const struct user_ask *ask,
			 struct name *out);
int user_symbol(struct user *u, uint32_t pid, const char *symbol, uint64_t *addr, uint64_t *size);
bool user_mapped(struct user *u, uint32_t pid, uint64_t addr);

#endif

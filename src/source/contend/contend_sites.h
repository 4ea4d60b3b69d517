/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of contend: where it is waited, as the described waits tell it. */
#ifndef WS_CONTEND_SITES_H
#define WS_CONTEND_SITES_H

#include "core/cache.h"
#include "source/contend/contend.h"

/* Code, named. A process's addresses mean something in it alone. */
struct code {
	struct cache_item item;
	uint64_t ip;
	uint32_t pid;
	bool skip; /* its caller is what matters */
	bool late; /* there may be more to say of it: asked for again after a while */
	uint64_t asked_ns;
	char *sym;
};

void codes_init(struct cache *codes);
/* The innermost caller of what is to be skipped; the outermost known if all is. NULL: no stack, or
 * no memory. Valid until the next call. */
const struct code *codes_site(struct cache *codes, const struct contend_args *args,
			      const struct abi_contend_sample *s);

/* Of a row. */
struct sites {
	struct site *v;	    /* in order of appearance; v[].sym is theirs */
	struct site *shown; /* for a frame */
	size_t n;
	uint64_t others; /* at code that found no room */
};

int sites_count(struct sites *s, const struct code *code);
/* For a frame: the most frequent first, those without room last; *n of them. Valid until the next
 * call; NULL: none. */
const struct site *sites_show(struct sites *s, size_t *n);
void sites_free(struct sites *s);

#endif
